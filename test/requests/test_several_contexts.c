/* SPDX-License-Identifier: BSD-3-Clause
 * Requests of several contexts waited for at once: the waiter sleeps on all of them. And what went wrong on one
 * communicator, though something else went wrong on another since. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "world.h"

enum { WORLDS = 3, LOOKS = 3000 };

/* Counts how often the clock is looked at: about as often as a waiter looks that does not sleep. */
static uint64_t counting_clock(void *user)
{
    struct timespec t;
    ++*(uint64_t *)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void waiting_for_several_contexts_sleeps(void **state)
{
    uint64_t looks = 0;
    nbcoll_context_config config = {.size = sizeof config,
                                    .host = {.size = sizeof config.host, .user = &looks, .now = counting_clock}};
    nbcoll_request q[WORLDS], other;
    nbcoll_status status;
    size_t index, ended, indices[WORLDS];
    static world w[WORLDS];

    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        world_open(&w[i], 2, NULL, &config, NULL);
        EXPECT(OK, nbcoll_ibarrier(w[i].comm[0], &q[i]));
    }
    looks = 0;
    EXPECT(ERR_TIMEOUT, nbcoll_wait_all(WORLDS, q, NULL, 300000000));
    assert_in_range(looks, 1, LOOKS);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(WORLDS, q, &index, 300000000));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_some(WORLDS, q, &ended, indices, NULL, 300000000));
    assert_in_range(looks, 1, 3 * LOOKS);
    for (int i = 0; i < WORLDS; i++) {
        EXPECT(OK, nbcoll_ibarrier(w[i].comm[1], &other));
        world_settle(&w[i], 1, &other, &status);
        EXPECT(OK, status);
    }
    EXPECT(OK, nbcoll_wait_all(WORLDS, q, NULL, NBCOLL_FOREVER));
    for (int i = 0; i < WORLDS; i++)
        world_close(&w[i]);
}

/* The last of the worlds ends its barrier while another thread sleeps on all. */
static void wake(world *w, int rank, void *user)
{
    world *all = user;
    nbcoll_request q[WORLDS];

    (void)w;
    for (int i = 0; i < WORLDS; i++)
        EXPECT(OK, nbcoll_ibarrier(all[i].comm[rank], &q[i]));
    EXPECT(OK, nbcoll_wait_all(WORLDS, q, NULL, 60000000000u));
}

static void each_of_them_wakes_the_waiter(void **state)
{
    static world w[WORLDS];

    (void)state;
    for (int i = 0; i < WORLDS; i++)
        world_open(&w[i], 2, NULL, NULL, NULL);
    for (int round = 0; round < 20; round++)
        world_threads(&w[0], wake, w);
    for (int i = 0; i < WORLDS; i++)
        world_close(&w[i]);
}

static void a_communicator_keeps_what_its_failure_was_about(void **state)
{
    nbcoll_comm *twin[2];
    nbcoll_request q[2], p;
    nbcoll_failure f;
    nbcoll_status s[2];
    world w;

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &twin[r], &q[r]));
    world_finish(&w, 2, q);
    EXPECT(OK, nbcoll_comm_failure(w.comm[0], &f));
    EXPECT(OK, f.status);
    assert_int_equal(f.rank, -1);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_cancel(q[0]));
    for (int i = 0; i < 10; i++)
        world_step(&w);
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    world_settle(&w, 2, q, s);
    EXPECT(ERR_CANCELLED, s[1]);
    EXPECT(OK, nbcoll_ibarrier(twin[1], &p));
    EXPECT(OK, nbcoll_cancel(p));
    world_settle(&w, 1, &p, s);
    EXPECT(OK, nbcoll_last_failure(w.context[1], &f));
    assert_ptr_equal(f.comm, twin[1]);
    assert_int_equal(f.rank, 1);
    EXPECT(OK, nbcoll_comm_failure(w.comm[1], &f));
    EXPECT(ERR_CANCELLED, f.status);
    assert_ptr_equal(f.comm, w.comm[1]);
    assert_int_equal(f.rank, 0);
    EXPECT(ERR_NULL, nbcoll_comm_failure(NULL, &f));
    EXPECT(ERR_NULL, nbcoll_comm_failure(w.comm[0], NULL));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_for_several_contexts_sleeps),
        cmocka_unit_test(each_of_them_wakes_the_waiter),
        cmocka_unit_test(a_communicator_keeps_what_its_failure_was_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
