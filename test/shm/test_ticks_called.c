/* SPDX-License-Identifier: BSD-3-Clause
 * What the host gets from a tick that it calls itself, in place of a handler: a pass, but nothing that is not safe in a
 * handler. That waits for a call. (At any moment: test_ticks.) */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "nbcoll/schedule.h"

#include "ended.h"
#include "operation.h"
#include "ranks.h"

enum { LARGE = 200000, TICKS = 2000 };

static volatile int is_in_tick;

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
    heard = (told){0, 0, 0}; /* in the barrier, too, a rank may have waited long enough for that */
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

static void *take_memory(void *user, size_t bytes, size_t align)
{
    (void)user;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

/* Who still reads it finds nothing. */
static void give_memory(void *user, void *memory, size_t bytes)
{
    (void)user;
    for (size_t i = 0; memory && i < bytes; i++)
        ((volatile unsigned char *)memory)[i] = 0xdb;
    free(memory);
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

/* Rank 0's tick meets the last vote, which rank 1 sends when rank 0 has armed once, and made a pass since. */
static void arm_after_the_vote(int rank, void *user)
{
    nbcoll_status s = NBCOLL_AGAIN;
    nbcoll_request q;
    nbcoll_comm *made;
    pair *p = user;
    member m;

    join(rank, p, &m);
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_idup(m.comm, &made, &q));
        for (; s == NBCOLL_AGAIN; s = nbcoll_arm(m.context))
            CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
        CHECK_STATUS(NBCOLL_OK, s);
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    }
    step_with(p, 1);
    if (rank == 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_idup(m.comm, &made, &q));
    step_with(p, 2);
    if (rank == 0) {
        tick_on(&m);
        CHECK_STATUS(NBCOLL_PENDING, nbcoll_tick(m.context)); /* the rest is a call's */
        CHECK_STATUS(NBCOLL_AGAIN, nbcoll_arm(m.context));
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
        CHECK(has_ended(q));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
    leave(&m);
}

static void who_arms_does_not_sleep_on_what_they_leave(void **state)
{
    (void)state;
    both(arm_after_the_vote, 0);
    both(arm_after_the_vote, NBCOLL_SHM_NO_BULK);
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
    if (rank == 0)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &q));
    step_with(p, 1); /* rank 0 has joined, and begun */
    if (rank == 1)
        kill(getpid(), SIGKILL);
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
        cmocka_unit_test(who_arms_does_not_sleep_on_what_they_leave),
        cmocka_unit_test(they_do_nothing_inside_the_library_and_before_a_sleep),
        cmocka_unit_test(a_death_is_told_by_the_next_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
