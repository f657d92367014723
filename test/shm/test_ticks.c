/* SPDX-License-Identifier: BSD-3-Clause
 * Ticks: a signal's handler progresses what the program does not look at, whatever it has interrupted, and leaves to
 * the program what is not safe there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "nbcoll/loopback.h"
#include "nbcoll/schedule.h"

#include "ended.h"
#include "operation.h"
#include "ranks.h"

enum { RANKS = 4, AT_ONCE = 4, PERIOD_US = 50, LARGE = 200000, TICKS = 2000 };

static const uint64_t period = PERIOD_US * 1000;

/* ---- at any moment ----------------------------------------------------------------------------------------------- */

typedef struct plan {
    nbcoll_shm_config config;
    uint64_t seed, until;
    _Atomic uint64_t passes, outside; /* of all ranks: ticks that made a pass; that came at all */
    atomic_int is_over;
} plan;

static _Thread_local uint64_t passes, came;
static _Thread_local volatile int is_in_tick;

static void on_tick(int number, siginfo_t *info, void *machine)
{
    is_in_tick = 1;
    nbcoll_status s = nbcoll_tick(info->si_value.sival_ptr);
    is_in_tick = 0;
    (void)number;
    (void)machine;
    came++;
    passes += s == NBCOLL_OK;
    if (s != NBCOLL_OK && s != NBCOLL_PENDING)
        abort();
}

static void handle_ticks(void)
{
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(SIGRTMIN, &action, NULL) == 0);
}

static void *take_memory(void *user, size_t bytes, size_t align)
{
    (void)user;
    CHECK(!is_in_tick);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give_memory(void *user, void *memory, size_t bytes)
{
    (void)user;
    CHECK(!is_in_tick);
    for (size_t i = 0; memory && i < bytes; i++)
        ((volatile unsigned char *)memory)[i] = 0xdb; /* who still reads it finds nothing */
    free(memory);
}

/* Into malloc, free and stdio, of which ticks must know nothing. */
static void churn(FILE *nowhere, uint64_t *random)
{
    void *block[64] = {NULL};
    for (int i = 0; i < 300; i++) {
        void **at = &block[random_of(random) % 64];
        free(*at);
        *at = malloc(1 + random_of(random) % 3000);
        fprintf(nowhere, "%p %d %f", *at, i, (double)i);
    }
    for (int i = 0; i < 64; i++)
        free(block[i]);
}

static void work(int rank, void *user)
{
    plan *p = user;
    nbcoll_context_config memory = {.size = sizeof memory,
                                    .host = {.size = sizeof memory.host, .alloc = take_memory, .free = give_memory}};
    nbcoll_shm_config config = p->config;
    uint64_t random = p->seed, own = p->seed + 1 + (uint64_t)rank;
    FILE *nowhere = fopen("/dev/null", "w");
    nbcoll_request q[AT_ONCE];
    operation o[AT_ONCE];
    share s[AT_ONCE];
    int is_over = 0;
    member m;

    config.rank = rank;
    member_join(&m, &config, &memory);
    CHECK(nowhere);
    handle_ticks();
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(m.context, SIGRTMIN, period));
    while (!is_over) {
        for (int i = 0; i < AT_ONCE; i++) {
            o[i] = operation_random(&random, RANKS, i ? 50 : 20000);
            s[i] = share_make(&o[i], rank, RANKS);
            CHECK_STATUS(NBCOLL_OK, operation_start(&o[i], &s[i], m.comm, &q[i]));
        }
        for (uint64_t n = random_of(&own) % 4; n; n--)
            churn(nowhere, &own);
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(AT_ONCE, q, NULL, 60 * SECOND));
        for (int i = 0; i < AT_ONCE; i++) {
            operation_check(&o[i], &s[i], rank, RANKS);
            share_free(&s[i]);
        }
        is_over = clock_ns() > p->until;
        CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(&is_over, 1, NBCOLL_INT32, 0, m.comm, 60 * SECOND));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(m.context));
    atomic_fetch_add(&p->passes, passes);
    atomic_fetch_add(&p->outside, came);
    fclose(nowhere);
    member_leave(&m);
}

/* Each 50 us, for a second or a minute, as processes, as threads, with and without process_vm_readv. */
static void they_may_come_at_any_moment(void **state)
{
    const crew crews[] = {CREW(1, 1, 1, 1), CREW(1, 3)};
    plan *p = shared_memory(sizeof *p);
    (void)state;
    p->seed = seed_of_test();
    for (int i = 0; i < 2; i++) {
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS,
                                        .flags = i ? NBCOLL_SHM_NO_CMA : 0};
        p->until = clock_ns() + (is_full() ? 30 : 1) * SECOND;
        crew_succeeds(&crews[i], work, p);
    }
    printf("%llu ticks, of which %llu made a pass\n", (unsigned long long)p->outside, (unsigned long long)p->passes);
    assert_true(p->passes > 0);
    munmap(p, sizeof *p);
}

/* ---- what they do, and what they leave --------------------------------------------------------------------------- */

/* Two ranks that tick when they like: the host calls nbcoll_tick itself. */
typedef struct pair {
    nbcoll_shm_config config;
    atomic_int steps;
} pair;

static void join_as(int rank, const pair *p, member *m, const nbcoll_context_config *as)
{
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    member_join(m, &config, as);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 10 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(m->context, 0, 0));
}

static void join(int rank, const pair *p, member *m)
{
    join_as(rank, p, m, NULL);
}

static void leave(member *m)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 10 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(m->context));
    member_leave(m);
}

static void both(rank_main *main, uint32_t flags)
{
    const crew two = PROCESSES_2;
    pair *p = shared_memory(sizeof *p);
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 2, .flags = flags};
    crew_succeeds(&two, main, p);
    munmap(p, sizeof *p);
}

/* Makes passes by ticks alone. */
static void watch(const member *m, nbcoll_request q)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    while (!has_ended(q)) {
        nbcoll_status s = nbcoll_tick(m->context);
        CHECK(s == NBCOLL_OK || s == NBCOLL_PENDING);
        CHECK(clock_ns() < late);
        sched_yield();
    }
}

/* The other rank has come as far. */
static void step_with(pair *p, int step)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    for (atomic_fetch_add(&p->steps, 1); atomic_load(&p->steps) < 2 * step;) {
        CHECK(clock_ns() < late);
        sched_yield();
    }
}

static void end_by_ticks_alone(int rank, void *user)
{
    static const size_t counts[] = {1, 500, 20000, LARGE};
    member m;

    join(rank, user, &m);
    for (int i = 0; i < 4; i++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
            operation o = {.what = (nbcoll_operation)what, .count = counts[i], .seed = (uint64_t)what,
                           .how = {NBCOLL_INT32, NBCOLL_SUM}};
            share s = share_make(&o, rank, 2);
            nbcoll_request q;
            CHECK_STATUS(NBCOLL_OK, operation_start(&o, &s, m.comm, &q));
            watch(&m, q);
            CHECK_STATUS(NBCOLL_OK, nbcoll_test(&q));
            operation_check(&o, &s, rank, 2);
            share_free(&s);
            CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND)); /* so that none comes too early */
        }
    leave(&m);
}

static void operations_end_by_ticks_alone(void **state)
{
    (void)state;
    both(end_by_ticks_alone, 0);
    both(end_by_ticks_alone, NBCOLL_SHM_NO_BULK);
}

static int combined;

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    (void)user, (void)type;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)result)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
    combined++;
    return NBCOLL_OK;
}

/* Ticks that make passes, as long as there is something for them; a tick too soon after a long one makes none. */
static void tick_on(const member *m)
{
    uint64_t until = clock_ns() + SECOND / 5;
    for (int n = 0; n < TICKS && clock_ns() < until;)
        n += nbcoll_tick(m->context) == NBCOLL_OK;
}

static void leave_the_hosts_operation(int rank, void *user)
{
    static int32_t mine[LARGE], sum[LARGE];
    const nbcoll_host_op op = {.size = sizeof op, .combine = combine, .commutative = 1};
    nbcoll_request q;
    pair *p = user;
    member m;

    join(rank, p, &m);
    for (int i = 0; i < LARGE; i++)
        mine[i] = rank + i;
    CHECK_STATUS(NBCOLL_OK, nbcoll_ireduce(mine, sum, LARGE, NBCOLL_INT32, (nbcoll_op)(uintptr_t)&op, 0, m.comm, &q));
    int before = combined; /* by the start, which may */
    step_with(p, 1);
    tick_on(&m);
    CHECK(combined == before);
    CHECK(rank != 0 || !has_ended(q));
    step_with(p, 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    for (int i = 0; i < LARGE && rank == 0; i++)
        CHECK(sum[i] == 2 * i + 1);
    CHECK(rank != 0 || combined > before);
    leave(&m);
}

static void the_hosts_operation_is_left_to_a_call(void **state)
{
    (void)state;
    both(leave_the_hosts_operation, 0);
    both(leave_the_hosts_operation, NBCOLL_SHM_NO_BULK);
}

static nbcoll_status count_call(void *user, const nbcoll_memory regions[])
{
    (void)regions;
    ++*(int *)user;
    return NBCOLL_OK;
}

/* Rank 1 receives what rank 0 sends, copies it, calls, and copies again. */
static nbcoll_schedule *with_a_call(int rank, int *calls)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    const nbcoll_addr in = {NBCOLL_BUFFER_RECV, 0}, middle = {NBCOLL_BUFFER_RECV, 4}, out = {NBCOLL_BUFFER_RECV, 8};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    CHECK_STATUS(NBCOLL_OK, nbcoll_builder_open(&config, &b));
    if (rank == 0)
        nbcoll_add_send(b, 1, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 4);
    else {
        nbcoll_step copy = nbcoll_add_copy(b, middle, in, 4);
        nbcoll_step call = nbcoll_add_call(b, count_call, calls, 0, NULL, 0, NULL);
        nbcoll_after(b, copy, nbcoll_add_recv(b, 0, in, 4));
        nbcoll_after(b, call, copy);
        nbcoll_after(b, nbcoll_add_copy(b, out, middle, 4), call);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void leave_the_call(int rank, void *user)
{
    int32_t sent = 7, got[3] = {0};
    nbcoll_request q;
    int calls = 0;
    pair *p = user;
    member m;

    join(rank, p, &m);
    nbcoll_schedule *s = with_a_call(rank, &calls);
    if (rank == 0)
        step_with(p, 1); /* rank 1 has begun */
    CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_start(s, &sent, got, m.comm, &q));
    if (rank == 1)
        step_with(p, 1);
    step_with(p, 2); /* rank 0 has sent */
    for (uint64_t late = clock_ns() + 30 * SECOND; rank == 1 && *(volatile int32_t *)&got[1] != 7;) {
        nbcoll_tick(m.context);
        CHECK(clock_ns() < late);
    }
    tick_on(&m);
    CHECK(calls == 0 && got[2] == 0 && (rank == 0 || !has_ended(q)));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    CHECK(rank == 0 || (calls == 1 && got[2] == 7));
    CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(s));
    leave(&m);
}

static void a_call_step_is_left_to_a_call(void **state)
{
    (void)state;
    both(leave_the_call, 0);
}

static void count_end(nbcoll_request q, nbcoll_status s, void *user)
{
    (void)q;
    *(int *)user += s == NBCOLL_OK;
}

static void leave_the_callback(int rank, void *user)
{
    int32_t value = rank;
    nbcoll_request q;
    int ends = 0;
    member m;

    join(rank, user, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&value, 1, NBCOLL_INT32, 0, m.comm, &q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_on_done(q, count_end, &ends));
    watch(&m, q);
    for (int i = 0; i < TICKS; i++)
        nbcoll_tick(m.context);
    CHECK(ends == (rank == 0 && ends)); /* the root's start may have ended it */
    CHECK(value == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    CHECK(ends == 1);
    leave(&m);
}

static void the_callback_is_left_to_a_call(void **state)
{
    (void)state;
    both(leave_the_callback, 0);
}

/* What the watcher has been told of the operation that it waits for. */
typedef struct told {
    int waits, ends, in_ticks;
} told;

static void note(void *user, const nbcoll_event *event)
{
    told *t = user;
    t->waits += event->peer >= 0;
    t->ends += event->peer < 0;
    t->in_ticks += is_in_tick;
}

static void leave_the_watcher(int rank, void *user)
{
    told heard = {0, 0, 0};
    const nbcoll_observer watcher = {sizeof watcher, &heard, note};
    nbcoll_context_config watched = {.size = sizeof watched, .watcher = &watcher};
    uint64_t late = clock_ns() + 30 * SECOND;
    int32_t value = rank;
    nbcoll_request q;
    pair *p = user;
    member m;

    join_as(rank, p, &m, &watched);
    if (rank == 1)
        step_with(p, 1); /* rank 0 has been told for whom it waits */
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&value, 1, NBCOLL_INT32, 1, m.comm, &q));
    while (rank == 0 && !heard.waits) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
        CHECK(clock_ns() < late);
    }
    if (rank == 0)
        step_with(p, 1);
    is_in_tick = 1;
    while (*(volatile int32_t *)&value != 1) {
        nbcoll_tick(m.context);
        CHECK(clock_ns() < late);
    }
    tick_on(&m);
    is_in_tick = 0;
    CHECK(heard.in_ticks == 0 && heard.ends == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    CHECK(heard.ends == (rank == 0));
    leave(&m);
}

static void what_the_watcher_is_told_is_left_to_a_call(void **state)
{
    (void)state;
    both(leave_the_watcher, 0);
    both(leave_the_watcher, NBCOLL_SHM_NO_BULK);
}

/* What comes when there is neither an operation nor room for it waits for a call, and so does all that comes later. */
static void come_too_early(int rank, void *user)
{
    enum { MANY = 40 };
    int32_t value[MANY], late = rank;
    nbcoll_request q[MANY], other;
    pair *p = user;
    member m;

    join(rank, p, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&late, 1, NBCOLL_INT32, 1, m.comm, &other)); /* keeps rank 0 outstanding */
    for (int i = 0; i < MANY && rank == 0; i++) {
        value[i] = i;
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 0, m.comm, &q[i]));
    }
    step_with(p, 1);
    tick_on(&m);
    step_with(p, 2);
    for (int i = 0; i < MANY && rank == 1; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 0, m.comm, &q[i]));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(MANY, q, NULL, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&other, 30 * SECOND));
    for (int i = 0; i < MANY; i++)
        CHECK(value[i] == i);
    leave(&m);
}

static void messages_without_room_wait_for_a_call(void **state)
{
    (void)state;
    both(come_too_early, NBCOLL_SHM_NO_BULK);
}

/* A tick leaves a communicator that is to be made; the one that it is made over is freed then. */
static void free_the_parent(int rank, void *user)
{
    nbcoll_context_config memory = {.size = sizeof memory,
                                    .host = {.size = sizeof memory.host, .alloc = take_memory, .free = give_memory}};
    uint64_t late = clock_ns() + 30 * SECOND;
    pair *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_status s;
    nbcoll_comm *made;
    nbcoll_request q;
    member m;

    config.rank = rank;
    member_join(&m, &config, &memory);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(m.context, 0, 0));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_idup(m.comm, &made, &q));
    step_with(p, 1);
    while ((s = nbcoll_comm_free(m.comm)) == NBCOLL_ERR_BUSY) {
        CHECK(clock_ns() < late);
        nbcoll_tick(m.context);
    }
    CHECK_STATUS(NBCOLL_OK, s);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    m.comm = made;
    leave(&m);
}

static void what_they_leave_of_a_communicator_outlives_its_parent(void **state)
{
    (void)state;
    both(free_the_parent, 0);
}

/* ---- when they do nothing ---------------------------------------------------------------------------------------- */

static nbcoll_status inside;

static nbcoll_status tick_inside(void *user, void *result, const void *left, const void *right, size_t count,
                                 nbcoll_type type)
{
    inside = nbcoll_tick(user);
    return combine(NULL, result, left, right, count, type);
}

static void do_nothing_inside(int rank, void *user)
{
    int32_t mine = 1, sum = 0;
    nbcoll_request q;
    pair *p = user;
    member m;
    int fd;

    join(rank, p, &m);
    CHECK_STATUS(NBCOLL_PENDING, nbcoll_tick(m.context)); /* nothing is outstanding */
    const nbcoll_host_op op = {.size = sizeof op, .user = m.context, .combine = tick_inside, .commutative = 1};
    inside = NBCOLL_OK;
    CHECK_STATUS(NBCOLL_OK, nbcoll_ireduce(&mine, &sum, 1, NBCOLL_INT32, (nbcoll_op)(uintptr_t)&op, 0, m.comm, &q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    CHECK(rank != 0 || (inside == NBCOLL_PENDING && sum == 2));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if (rank == 0) { /* armed */
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&mine, 1, NBCOLL_INT32, 1, m.comm, &q));
        CHECK_STATUS(NBCOLL_OK, nbcoll_fd(m.context, &fd));
        for (nbcoll_status s = NBCOLL_AGAIN; s != NBCOLL_OK;) {
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
            s = nbcoll_arm(m.context);
            CHECK(s == NBCOLL_OK || s == NBCOLL_AGAIN);
        }
        CHECK_STATUS(NBCOLL_PENDING, nbcoll_tick(m.context));
        step_with(p, 1);
    } else {
        step_with(p, 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&mine, 1, NBCOLL_INT32, 1, m.comm, &q));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    leave(&m);
}

static void they_do_nothing_inside_the_library_and_before_a_sleep(void **state)
{
    (void)state;
    both(do_nothing_inside, 0);
}

static void die_while_the_other_ticks(int rank, void *user)
{
    nbcoll_failure failure;
    nbcoll_request q;
    pair *p = user;
    member m;

    join(rank, p, &m);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &q));
    for (uint64_t until = clock_ns() + SECOND / 2; clock_ns() < until;)
        nbcoll_tick(m.context);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_wait(&q, 10 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
    CHECK(failure.rank == 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(m.context));
    member_leave(&m);
}

static void a_death_is_told_by_the_next_call(void **state)
{
    const crew two = PROCESSES_2;
    pair *p = shared_memory(sizeof *p);
    int status[2];
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 2};
    assert_true(crew_run(&two, die_while_the_other_ticks, p, status));
    assert_int_equal(status[0], 0);
    assert_true(WIFSIGNALED(status[1]));
    munmap(p, sizeof *p);
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

static uint64_t some_clock(void *user)
{
    (void)user;
    return clock_ns();
}

static nbcoll_context *context_over(const nbcoll_shm_config *shm, const nbcoll_context_config *config)
{
    nbcoll_endpoint *ep;
    nbcoll_context *c;
    nbcoll_comm *comm;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(shm, &ep));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, config, &c));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(c, ep, NULL, &comm, 10 * SECOND));
    return c;
}

static volatile sig_atomic_t own_signals;

static void on_own(int number)
{
    (void)number;
    own_signals++;
}

/* The library installs no handler: it refuses a signal that has none, and leaves the host's as it is. */
static void use_signals(int rank, void *user)
{
    nbcoll_shm_config alone = {.size = sizeof alone, .id = fresh_id(), .ranks = 1};
    nbcoll_context *c = context_over(&alone, NULL);
    struct sigaction now;
    sigset_t blocked;
    (void)rank, (void)user;

    signal(SIGRTMIN, SIG_DFL);
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, SIGRTMIN, period)); /* it would end the program */
    signal(SIGRTMIN, SIG_IGN);
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, SIGRTMIN, period));
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, 1000, period));
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, -1, period));
    signal(SIGRTMIN, on_own); /* of something else that the host does */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, SIGRTMIN, period));
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(c, SIGRTMIN, period));
    for (uint64_t late = clock_ns() + 30 * SECOND; !own_signals && clock_ns() < late;)
        ;
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(c));
    CHECK(own_signals > 0 && sigaction(SIGRTMIN, NULL, &now) == 0 && now.sa_handler == on_own);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(c));
}

static void a_signal_in_use_keeps_its_handler_and_one_without_is_refused(void **state)
{
    const crew one = CREW(1);
    (void)state;
    crew_succeeds(&one, use_signals, NULL);
}

static void be_refused(int rank, void *user)
{
    nbcoll_shm_config alone = {.size = sizeof alone, .id = fresh_id(), .ranks = 1};
    nbcoll_context_config any = {.size = sizeof any, .flags = NBCOLL_ANY_THREAD};
    nbcoll_context *empty, *c = context_over(&alone, NULL);
    sigset_t ticks;
    int status;
    (void)rank, (void)user;

    CHECK_STATUS(NBCOLL_ERR_NULL, nbcoll_tick_start(NULL, 0, 0));
    CHECK_STATUS(NBCOLL_ERR_NULL, nbcoll_tick_stop(NULL));
    CHECK_STATUS(NBCOLL_ERR_NULL, nbcoll_tick(NULL));
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick(c));
    CHECK_STATUS(NBCOLL_ERR_ARGUMENT, nbcoll_tick_stop(c));
    handle_ticks();
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, SIGRTMIN, NBCOLL_TICK_LEAST - 1));
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(c, SIGRTMIN, period));
    CHECK_STATUS(NBCOLL_ERR_BUSY, nbcoll_tick_start(c, SIGRTMIN, period));
    CHECK_STATUS(NBCOLL_ERR_BUSY, nbcoll_context_free(c));
    CHECK_STATUS(NBCOLL_ERR_BUSY, nbcoll_context_abandon(c, NULL, NULL));
    errno = 77;
    nbcoll_tick(c);
    CHECK(errno == 77);
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &ticks, NULL); /* one that comes in a fork, tsan hands to the child, too */
    pid_t child = fork(); /* which has no timer */
    if (child == 0)
        _exit(nbcoll_tick(c) != NBCOLL_ERR_FORKED || nbcoll_tick_start(c, 0, 0) != NBCOLL_ERR_FORKED ||
              nbcoll_tick_stop(c) != NBCOLL_ERR_FORKED);
    pthread_sigmask(SIG_UNBLOCK, &ticks, NULL);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(c));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(c));

    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &empty));
    CHECK_STATUS(NBCOLL_ERR_UNSUPPORTED, nbcoll_tick_start(empty, 0, 0));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(empty));
    alone.id = fresh_id();
    c = context_over(&alone, &any);
    CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_tick_start(c, SIGRTMIN, period)); /* for such there are threads */
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(c));
}

static void bad_input_is_refused(void **state)
{
    const crew one = CREW(1);
    (void)state;
    crew_succeeds(&one, be_refused, NULL);
}

static void be_refused_by_a_transport(int rank, void *user)
{
    nbcoll_loopback_config world = {.size = sizeof world, .ranks = 1};
    const nbcoll_host host = {.size = sizeof host, .now = some_clock};
    nbcoll_shm_config alone = {.size = sizeof alone, .host = &host, .id = fresh_id(), .ranks = 1};
    nbcoll_loopback *loopback;
    nbcoll_endpoint *ep;
    nbcoll_comm *comm;
    (void)rank, (void)user;

    nbcoll_context *c = context_over(&alone, NULL);
    CHECK_STATUS(NBCOLL_ERR_UNSUPPORTED, nbcoll_tick_start(c, 0, 0)); /* the host's clock may do anything */
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(c));
    alone.host = NULL;
    alone.id = fresh_id();
    c = context_over(&alone, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(c, 0, 0));
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_create(&world, &loopback));
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_open(loopback, 0, &ep));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(c, ep, NULL, &comm, 10 * SECOND));
    CHECK_STATUS(NBCOLL_ERR_UNSUPPORTED, nbcoll_tick(c));
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(c));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(c));
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_free(loopback));
}

static void transports_that_do_not_promise_it_are_refused(void **state)
{
    const crew one = CREW(1);
    (void)state;
    crew_succeeds(&one, be_refused_by_a_transport, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_end_by_ticks_alone),
        cmocka_unit_test(the_hosts_operation_is_left_to_a_call),
        cmocka_unit_test(a_call_step_is_left_to_a_call),
        cmocka_unit_test(the_callback_is_left_to_a_call),
        cmocka_unit_test(what_the_watcher_is_told_is_left_to_a_call),
        cmocka_unit_test(messages_without_room_wait_for_a_call),
        cmocka_unit_test(what_they_leave_of_a_communicator_outlives_its_parent),
        cmocka_unit_test(they_do_nothing_inside_the_library_and_before_a_sleep),
        cmocka_unit_test(a_death_is_told_by_the_next_call),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(a_signal_in_use_keeps_its_handler_and_one_without_is_refused),
        cmocka_unit_test(transports_that_do_not_promise_it_are_refused),
        cmocka_unit_test(they_may_come_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
