/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals that the host handles, every hundred microseconds: they disturb neither the opening nor any collective. By
 * cells and by process_vm_readv, and in fragments; with SA_RESTART and without.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <cmocka.h>

#include "operation.h"
#include "ranks.h"

enum { EVERY_US = 100, RANKS = 3, OPENINGS = 10 };

struct plan {
    nbcoll_shm_config config;
    uint64_t seed;
    int sa_flags;
};

struct opening {
    nbcoll_shm_id id[OPENINGS];
    int sa_flags;
};

static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

static void storm(int sa_flags, int every_us)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = sa_flags};
    struct itimerval timer = {{0, every_us}, {0, every_us}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* Every collective, with data that goes by messages, by cells, and by many chunks. */
static void all_collectives(int rank, void *user)
{
    static const size_t counts[] = {5, 700, 40000};
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    uint64_t random = p->seed;
    member m;

    config.rank = rank;
    storm(p->sa_flags, EVERY_US);
    member_join(&m, &config, NULL);
    for (int i = 0; i < NBCOLL_OPERATION_COUNT; i++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            operation o = operation_random(&random, RANKS, 0);
            o.what = (nbcoll_operation)(i);
            o.count = counts[k];
            share s = share_make(&o, rank, RANKS);
            CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, m.comm, 30 * SECOND));
            operation_check(&o, &s, rank, RANKS);
            share_free(&s);
        }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
    storm(p->sa_flags, 0);
    CHECK(signals > 10);
}

static void try_all(uint32_t flags, int sa_flags)
{
    crew three = PROCESSES_3;
    struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = RANKS, .flags = flags}, seed_of_test(),
                     sa_flags};
    crew_succeeds(&three, all_collectives, &p);
}

static void collectives_under_signals(void **state)
{
    (void)state;
    try_all(0, 0);
    try_all(0, SA_RESTART);
}

static void collectives_in_fragments_under_signals(void **state)
{
    (void)state;
    try_all(NBCOLL_SHM_NO_CMA, 0);
    try_all(NBCOLL_SHM_NO_CMA, SA_RESTART);
}

/* By messages only. */
static void collectives_without_bulk_under_signals(void **state)
{
    (void)state;
    try_all(NBCOLL_SHM_NO_BULK, 0);
}

static void open_and_close(int rank, void *user)
{
    const struct opening *o = user;
    nbcoll_shm_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    nbcoll_endpoint *ep = NULL;

    storm(o->sa_flags, EVERY_US);
    for (int i = 0; i < OPENINGS; i++) {
        config.id = o->id[i];
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
        nbcoll_endpoint_close(ep);
    }
    storm(o->sa_flags, 0);
    CHECK(signals > 0);
}

static void openings_under_signals(void **state)
{
    static const int sa_flags[] = {0, SA_RESTART};
    crew three = PROCESSES_3;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct opening o = {.sa_flags = sa_flags[i]};
        for (int k = 0; k < OPENINGS; k++)
            o.id[k] = fresh_id();
        crew_succeeds(&three, open_and_close, &o);
    }
}

/* Rank 1 sleeps for its peer while signals come. */
static void wait_long(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    member m;

    config.rank = rank;
    storm(p->sa_flags, 10 * EVERY_US);
    member_join(&m, &config, NULL);
    for (uint64_t start = clock_ns(); rank == 0 && clock_ns() - start < SECOND / 4;)
        poll(NULL, 0, 10);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
    storm(p->sa_flags, 0);
}

static void a_sleep_under_signals(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = 2}};
    (void)state;
    crew_succeeds(&two, wait_long, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_under_signals),
        cmocka_unit_test(collectives_in_fragments_under_signals),
        cmocka_unit_test(collectives_without_bulk_under_signals),
        cmocka_unit_test(openings_under_signals),
        cmocka_unit_test(a_sleep_under_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
