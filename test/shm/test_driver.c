/* SPDX-License-Identifier: BSD-3-Clause
 * Drivers over shared memory: ranks that are processes and threads, some with a driver and some without; and a rank
 * that is killed while another one computes, and only its driver waits.
 */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/driver.h"

#include "../../src/engine/state/context.h"
#include "ended.h"
#include "operation.h"
#include "ranks.h"

enum { RANKS = 4, OPERATIONS = 120, AT_ONCE = 4, MANY = 30000 };

typedef struct plan {
    nbcoll_shm_config config;
    operation operation[OPERATIONS];
    uint64_t seed;
} plan;

static nbcoll_driver *drive(const member *m)
{
    nbcoll_driver *driver;
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_create(NULL, &driver));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_add(driver, m->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_start(driver));
    return driver;
}

static void join(int rank, const nbcoll_shm_config *all, member *m)
{
    nbcoll_context_config context = {.size = sizeof context, .flags = NBCOLL_ANY_THREAD};
    nbcoll_shm_config config = *all;
    config.rank = rank;
    member_join(m, &config, &context);
}

/* Calls nothing. */
static void watch(nbcoll_request request)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    while (!has_ended(request)) {
        CHECK(clock_ns() < late);
        sched_yield();
    }
}

/* The last rank has no driver. */
static void work(int rank, void *user)
{
    const plan *p = user;
    uint64_t random = p->seed + (uint64_t)rank;
    nbcoll_request q[AT_ONCE];
    share s[AT_ONCE];
    member m;

    join(rank, &p->config, &m);
    nbcoll_driver *driver = rank < RANKS - 1 ? drive(&m) : NULL;
    for (int first = 0; first < OPERATIONS; first += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            s[i] = share_make(&p->operation[first + i], rank, RANKS);
            CHECK_STATUS(NBCOLL_OK, operation_start(&p->operation[first + i], &s[i], m.comm, &q[i]));
        }
        for (int i = 0; driver && random_of(&random) % 2 && i < AT_ONCE; i++)
            watch(q[i]);
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(AT_ONCE, q, NULL, 60 * SECOND));
        for (int i = 0; i < AT_ONCE; i++) {
            operation_check(&p->operation[first + i], &s[i], rank, RANKS);
            share_free(&s[i]);
        }
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_free(driver));
    member_leave(&m);
}

static void operations_end_with_the_right_values(void **state)
{
    const crew crews[] = {CREW(1, 1, 1, 1), CREW(1, 3), CREW(RANKS)};
    uint64_t random = seed_of_test();
    plan *p = shared_memory(sizeof *p);
    (void)state;
    for (int i = 0; i < 3; i++) {
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS,
                                        .flags = i ? NBCOLL_SHM_NO_CMA : 0};
        p->seed = random_of(&random);
        for (int k = 0; k < OPERATIONS; k++)
            p->operation[k] = operation_random(&random, RANKS, k % 3 ? 50 : MANY);
        crew_succeeds(&crews[i], work, p);
    }
    munmap(p, sizeof *p);
}

typedef struct death {
    nbcoll_shm_config config;
    atomic_int waiting; /* ranks that have started what rank 1 will never join */
} death;

static void die_while_drivers_wait(int rank, void *user)
{
    death *d = user;
    nbcoll_request q;
    nbcoll_failure failure;
    member m;

    join(rank, &d->config, &m);
    nbcoll_driver *driver = drive(&m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    while (rank == 1)
        if (atomic_load(&d->waiting) == 2)
            kill(getpid(), SIGKILL);
        else
            sched_yield();
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &q));
    atomic_fetch_add(&d->waiting, 1);
    uint64_t from = clock_ns();
    watch(q);
    rank_in_time(clock_ns() - from, 2 * SECOND);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_test(&q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
    CHECK(failure.rank == 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_free(driver));
    member_leave(&m);
}

static void a_death_is_told_by_the_driver_alone(void **state)
{
    const crew three = PROCESSES_3;
    death *d = shared_memory(sizeof *d);
    int status[3], tries = 0;
    (void)state;
    do {
        *d = (death){.config = {.size = sizeof d->config, .id = fresh_id(), .ranks = 3}};
        assert_true(crew_run(&three, die_while_drivers_wait, d, status));
        assert_int_equal(status[0], 0);
        assert_true(WIFSIGNALED(status[1]));
        assert_int_equal(status[2], 0);
    } while (crew_was_late(&tries));
    munmap(d, sizeof *d);
}

/* Rank 0 has no operation outstanding, and calls nothing until its driver has been woken, not by the time. */
static void die_beside_an_idle_driver(int rank, void *user)
{
    nbcoll_driver_counts before = {.size = sizeof before}, after = before;
    nbcoll_failure failure;
    death *d = user;
    member m;

    join(rank, &d->config, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    nbcoll_driver *driver = drive(&m); /* beside a wait it would sleep without listening, for that does */
    if (rank == 1) {
        while (!atomic_load(&d->waiting))
            sched_yield();
        kill(getpid(), SIGKILL);
    }
    for (struct timespec rest = {0, 1000000}; atomic_load(&m.context->driven.state) != NBCOLLI_DRIVE_IDLE;)
        nanosleep(&rest, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_count(driver, &before));
    atomic_store(&d->waiting, 1);
    uint64_t late = clock_ns() + 30 * SECOND;
    do { /* nothing that enters the context */
        CHECK(clock_ns() < late);
        sched_yield();
        CHECK_STATUS(NBCOLL_OK, nbcoll_driver_count(driver, &after));
    } while (after.sleeps - after.rings == before.sleeps - before.rings);
    CHECK(after.looks == before.looks);
    do {
        CHECK(clock_ns() < late);
        sched_yield();
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_failure(m.comm, &failure));
    } while (failure.status != NBCOLL_ERR_PEER_LOST);
    CHECK(failure.rank == 1);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_barrier(m.comm, 10 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_free(driver));
    member_leave(&m);
}

static void a_death_wakes_an_idle_driver(void **state)
{
    const crew two = PROCESSES_2;
    death *d = shared_memory(sizeof *d);
    int status[2];
    (void)state;
    d->config = (nbcoll_shm_config){.size = sizeof d->config, .id = fresh_id(), .ranks = 2};
    assert_true(crew_run(&two, die_beside_an_idle_driver, d, status));
    assert_int_equal(status[0], 0);
    assert_true(WIFSIGNALED(status[1]));
    munmap(d, sizeof *d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_end_with_the_right_values),
        cmocka_unit_test(a_death_is_told_by_the_driver_alone),
        cmocka_unit_test(a_death_wakes_an_idle_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
