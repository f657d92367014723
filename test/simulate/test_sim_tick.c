/* SPDX-License-Identifier: BSD-3-Clause
 * The timer of the simulated machine: while a rank computes, a tick takes up what has come, as a test does, and costs
 * the computation its time, whether there is something to take up or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

enum { L = 1500, COMPUTE = 100000 };

/* A chain of three ranks; all compute after the start, so that the middle one passes the message on when it is inside
 * the library. */
static scene chain(nbcoll_sim_rank rank[3], uint64_t tick, uint64_t cost)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "chain_pipelined", 3, 8);
    scene_loggp(&s, L, 0, 0, 0);
    s.c.segment = 64;
    s.model.tick = tick;
    s.model.tick_cost = cost;
    s.result.rank = rank;
    return s;
}

static void without_a_timer_messages_wait_for_the_end_of_the_computation(void **state)
{
    nbcoll_sim_rank rank[3];
    (void)state;
    scene s = chain(rank, 0, 0);
    scene_program(&s, 0, COMPUTE, 0);
    scene_play(&s);
    assert_int_equal(rank[1].ended, COMPUTE);
    assert_int_equal(s.result.waited, COMPUTE + L);
}

static void a_tick_takes_up_what_has_come(void **state)
{
    nbcoll_sim_rank rank[3];
    (void)state;
    scene s = chain(rank, 10000, 0);
    scene_program(&s, 0, COMPUTE, 0);
    scene_play(&s);
    assert_int_equal(rank[1].ended, 10000); /* came at 1500 */
    assert_int_equal(rank[2].ended, 20000); /* came at 11500 */
    assert_int_equal(s.result.waited, COMPUTE);
}

static void tests_and_ticks_each_take_up_what_comes_before_the_other(void **state)
{
    nbcoll_sim_rank rank[3];
    (void)state;
    scene s = chain(rank, 10000, 0);
    scene_program(&s, 0, COMPUTE, 7000);
    scene_play(&s);
    assert_int_equal(rank[1].ended, 7000);
    assert_int_equal(rank[2].ended, 10000); /* came at 8500 */
}

static void ticks_take_their_time_of_the_computation(void **state)
{
    nbcoll_sim_rank rank[3];
    (void)state;
    scene s = chain(rank, 10000, 1000);
    scene_program(&s, 0, COMPUTE, 0);
    scene_play(&s);
    assert_int_equal(s.result.waited, COMPUTE + COMPUTE / 9000 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_timer_messages_wait_for_the_end_of_the_computation),
        cmocka_unit_test(a_tick_takes_up_what_has_come),
        cmocka_unit_test(tests_and_ticks_each_take_up_what_comes_before_the_other),
        cmocka_unit_test(ticks_take_their_time_of_the_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
