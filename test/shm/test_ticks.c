/* SPDX-License-Identifier: BSD-3-Clause
 * Ticks: a signal's handler progresses what the program does not look at, whatever it has interrupted, and leaves to
 * the program what is not safe there (what that is: test_ticks_called). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "nbcoll/loopback.h"

#include "operation.h"
#include "ranks.h"

enum { RANKS = 4, AT_ONCE = 4, PERIOD_US = 50 };

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
        cmocka_unit_test(a_signal_in_use_keeps_its_handler_and_one_without_is_refused),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(transports_that_do_not_promise_it_are_refused),
        cmocka_unit_test(they_may_come_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
