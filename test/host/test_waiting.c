/* SPDX-License-Identifier: BSD-3-Clause
 * How a rank passes time while it waits: whether it spins, yields or sleeps. The program is linked so that the
 * library's yields and sleeps come here first (--wrap), and its clock is the test's. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "world.h"

static uint64_t now;
static int yields, sleeps;
static long switches; /* of the thread, as the system is made to say */
static enum { TO_NOBODY, TO_OTHERS, UNTOLD } yield_switches = TO_OTHERS;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    yields++;
    switches += yield_switches == TO_OTHERS;
    return 0;
}

int __real_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage)
{
    (void)who;
    *usage = (struct rusage){.ru_nivcsw = switches};
    return yield_switches == UNTOLD ? -1 : 0;
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
    (void)fds;
    (void)n;
    (void)mask;
    sleeps++;
    now += (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
    return 0;
}

/* Each look at the clock takes a nanosecond. A waiting rank looks at it once in 16 looks for what it waits for. */
static uint64_t clock_of_test(void *user)
{
    (void)user;
    return ++now;
}

/* A rank waits as long for another one, where the transport says that so many take turns on a core. */
static void wait_in_vain(uint32_t turns, uint64_t ns)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_context_config context = {.size = sizeof context,
                                     .host = {.size = sizeof context.host, .now = clock_of_test}};
    nbcoll_request q[2];
    world w;

    world_open_contexts(&w, 2, &loopback, &context);
    for (int r = 0; r < 2; r++) {
        w.endpoint[r]->limits.ranks_per_core = turns;
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    }
    world_finish(&w, 2, q);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    yields = sleeps = 0;
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], ns));
    int y = yields, s = sleeps;
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    world_finish(&w, 2, q);
    world_close(&w);
    yields = y;
    sleeps = s;
}

static void a_rank_with_a_core_of_its_own_spins(void **state)
{
    (void)state;
    wait_in_vain(1, 100);
    assert_int_equal(yields, 0);
    assert_int_equal(sleeps, 0);
}

static void a_rank_that_takes_turns_yields_at_once(void **state)
{
    (void)state;
    wait_in_vain(2, 3);
    assert_in_range(yields, 16, 100);
    assert_int_equal(sleeps, 0);
}

/* Two ranks need two cores. */
static void without_an_answer_all_ranks_need_the_cores_of_the_rank(void **state)
{
    cpu_set_t all, one;
    int cores;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    cores = CPU_COUNT(&all);
    wait_in_vain(0, 3);
    assert_true(cores < 2 ? yields > 0 : yields == 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    wait_in_vain(0, 3);
    assert_true(yields > 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* Long enough to sleep in any case. */
static int yields_before_a_sleep(void)
{
    wait_in_vain(2, 1000);
    assert_true(sleeps > 0);
    return yields;
}

static void yields_that_switch_to_others_go_on_for_long(void **state)
{
    (void)state;
    yield_switches = TO_OTHERS;
    assert_true(yields_before_a_sleep() >= 100);
}

static void after_a_few_yields_that_switch_to_nobody_a_rank_sleeps(void **state)
{
    (void)state;
    yield_switches = TO_NOBODY;
    assert_in_range(yields_before_a_sleep(), 8, 15);
}

static void where_the_system_tells_nothing_yields_count_as_switches(void **state)
{
    (void)state;
    yield_switches = UNTOLD;
    assert_true(yields_before_a_sleep() >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_with_a_core_of_its_own_spins),
        cmocka_unit_test(a_rank_that_takes_turns_yields_at_once),
        cmocka_unit_test(without_an_answer_all_ranks_need_the_cores_of_the_rank),
        cmocka_unit_test(yields_that_switch_to_others_go_on_for_long),
        cmocka_unit_test(after_a_few_yields_that_switch_to_nobody_a_rank_sleeps),
        cmocka_unit_test(where_the_system_tells_nothing_yields_count_as_switches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
