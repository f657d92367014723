/* SPDX-License-Identifier: BSD-3-Clause
 * Who hears from a test that a request has ended has had its callback, also where a tick has ended it while the test
 * ran other callbacks. The tick comes after each instruction in turn (under a sanitizer, each fourth one), from such a
 * callback to the end of the test: the processor's trap flag raises a signal after each one (x86-64). */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "nbcoll/driver.h"

#include "ranks.h"

#ifdef __x86_64__
#include <x86intrin.h>

enum { TRAP_FLAG = 0x100, SOME = 20, MOST = 100000 };

/* How far both ranks are in test k of rank 0: that is in its callback; rank 1 has called what the test is about; the
 * test is over. */
enum { IS_CALLED_BACK = 1, HAS_CALLED, IS_OVER, STEPS = 3 };

typedef struct scene {
    nbcoll_shm_config config;
    atomic_int step, is_last;
} scene;

static scene *both;
static nbcoll_context *context;
static int left, ticks, told; /* instructions before the tick; ticks that made a pass; calls of the callback */

static void go_on(int k, int step)
{
    atomic_store(&both->step, STEPS * k + step);
}

static void wait_for(int k, int step)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    while (atomic_load(&both->step) < STEPS * k + step) {
        CHECK(clock_ns() < late);
        sched_yield();
    }
}

static void trapped(int number, siginfo_t *info, void *machine)
{
    ucontext_t *at = machine;
    (void)number, (void)info;
    if (left-- > 0)
        return;
    at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    ticks += nbcoll_tick(context) == NBCOLL_OK;
}

/* Rank 1 calls the second barrier now; each instruction from here on raises a signal. */
static void first_is_over(nbcoll_request request, nbcoll_status status, void *user)
{
    int k = *(int *)user;
    (void)request;
    CHECK(status == NBCOLL_OK);
    go_on(k, IS_CALLED_BACK);
    wait_for(k, HAS_CALLED);
    __writeeflags(__readeflags() | TRAP_FLAG);
}

static void second_is_over(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request, (void)user;
    CHECK(status == NBCOLL_OK);
    told++;
}

/* Test k, with its tick. Returns whether it had so many instructions. */
static int test_with_tick(const member *m, int k)
{
    nbcoll_request first, second;
    nbcoll_status status = NBCOLL_PENDING;

    told = 0;
    left = k * sampled(4);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m->comm, &first));
    CHECK_STATUS(NBCOLL_OK, nbcoll_on_done(first, first_is_over, &k));
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m->comm, &second));
    CHECK_STATUS(NBCOLL_OK, nbcoll_on_done(second, second_is_over, NULL));
    while (status == NBCOLL_PENDING) {
        status = nbcoll_test(&second);
        __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
    }
    CHECK(status == NBCOLL_OK && told == 1);
    return left < 0;
}

static void tick_and_test(member *m)
{
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    int k = -1;

    context = m->context;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_start(m->context, 0, 0));
    do {
        CHECK(++k < MOST);
        if (!test_with_tick(m, k))
            atomic_store(&both->is_last, 1);
        go_on(k, IS_OVER);
    } while (!atomic_load(&both->is_last));
    CHECK(k * sampled(4) > SOME && ticks * sampled(4) > SOME);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tick_stop(m->context));
}

static void call_when_called_back(member *m)
{
    nbcoll_request first, second;

    for (int k = 0; !atomic_load(&both->is_last); k++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m->comm, &first));
        wait_for(k, IS_CALLED_BACK);
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m->comm, &second));
        go_on(k, HAS_CALLED);
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&first, 30 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&second, 30 * SECOND));
        wait_for(k, IS_OVER);
    }
}

static void run(int rank, void *user)
{
    nbcoll_shm_config config;
    member m;

    both = user;
    config = both->config;
    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    (rank == 0 ? tick_and_test : call_when_called_back)(&m);
    member_leave(&m);
}
#endif

static void who_hears_of_an_end_has_had_its_callback(void **state)
{
    (void)state;
#ifdef __x86_64__
    const crew two = PROCESSES_2;
    scene *s = shared_memory(sizeof *s);
    s->config = (nbcoll_shm_config){.size = sizeof s->config, .id = fresh_id(), .ranks = 2};
    crew_succeeds(&two, run, s);
    munmap(s, sizeof *s);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_hears_of_an_end_has_had_its_callback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
