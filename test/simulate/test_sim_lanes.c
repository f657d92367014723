/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes in the simulator: progress cores leave to a rank what is its own. With a transfer that takes a core one unit,
 * and one progress core for all, a split tree takes what the model of Denis et al. says (split.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <nbcoll/split.h>

#include "scene.h"

enum { UNIT = 1000 };

static scene split_tree(nbcoll_operation operation, int ranks, unsigned split)
{
    scene s = scene_of(operation, "binomial", ranks, 8);
    s.c.split = split;
    s.model.inside.o_send = UNIT;
    s.model.node = (uint32_t)ranks;
    s.model.progress = 1;
    s.model.lanes = 1;
    return s;
}

static uint64_t model(nbcoll_operation operation, int ranks, unsigned split)
{
    return (uint64_t)nbcoll_split_time(operation, ranks, ranks + 1, split, NBCOLL_SPLIT_STARTED) * UNIT;
}

static void a_split_tree_takes_what_the_model_says(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 64; ranks *= 2)
        for (unsigned split = 0; split <= 7; split++) {
            scene down = split_tree(NBCOLL_OPERATION_BCAST, ranks, split);
            assert_int_equal(scene_play(&down), model(NBCOLL_OPERATION_BCAST, ranks, split));
            scene up = split_tree(NBCOLL_OPERATION_REDUCE, ranks, split < 2 ? split : 1);
            assert_int_equal(scene_play(&up), model(NBCOLL_OPERATION_REDUCE, ranks, split < 2 ? split : 1));
        }
}

/* Up the tree, a second level waits for messages of the first: the start that would wait for them, as the model has it,
 * returns instead, and the progress core does what it has left. */
static void a_second_level_upwards_is_left_to_the_progress_core(void **state)
{
    (void)state;
    for (int ranks = 4; ranks <= 64; ranks *= 2) {
        scene one = split_tree(NBCOLL_OPERATION_REDUCE, ranks, 1), two = split_tree(NBCOLL_OPERATION_REDUCE, ranks, 2);
        assert_int_equal(scene_play(&two), scene_play(&one));
    }
}

/* All ranks start, wait for what is the starts' own if asked to, and compute. */
static uint64_t plays_upwards(scene *s, int waits, uint64_t compute)
{
    const nbcoll_sim_action waiting[] = {{.act = NBCOLL_SIM_START},
                                         {.act = NBCOLL_SIM_WAIT_STARTED},
                                         {.act = NBCOLL_SIM_COMPUTE, .compute = compute}};
    const nbcoll_sim_action going_on[] = {waiting[0], waiting[2]};

    s->config.program = waits ? (nbcoll_sim_program){waiting, 3} : (nbcoll_sim_program){going_on, 2};
    scene_play(s);
    return s->result.waited;
}

static void starts_that_wait_take_what_the_model_says(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 64; ranks *= 2)
        for (unsigned split = 0; split <= 7; split++) {
            scene up = split_tree(NBCOLL_OPERATION_REDUCE, ranks, split);
            assert_int_equal(plays_upwards(&up, 1, 0), model(NBCOLL_OPERATION_REDUCE, ranks, split));
        }
}

/* Of 4 ranks rank 3, the leaf below rank 2, is late by 10: rank 2 computes meanwhile, or waits for it and then
 * computes; rank 1, a leaf, waits for nobody. */
static void a_late_child_holds_up_those_whose_starts_wait(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[4];
    scene s = split_tree(NBCOLL_OPERATION_REDUCE, 4, 2);
    s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, 3, 10 * UNIT};
    s.result.rank = rank;
    assert_int_equal(plays_upwards(&s, 0, 50 * UNIT), (10 + 1 + 50) * UNIT);
    assert_int_equal(rank[2].waited, 50 * UNIT);
    assert_int_equal(plays_upwards(&s, 1, 50 * UNIT), (10 + 1 + 1 + 50) * UNIT);
    assert_int_equal(rank[2].waited, (10 + 1 + 1 + 50) * UNIT);
    assert_int_equal(rank[1].waited, (1 + 50) * UNIT);
}

/* 16 ranks: the progress core's 7 transfers beside the computation, then the last level, of one. */
static void only_what_is_the_ranks_own_takes_time_of_its_computation(void **state)
{
    (void)state;
    scene s = split_tree(NBCOLL_OPERATION_BCAST, 16, 1);
    scene_program(&s, 0, 20 * UNIT, 0);
    scene_play(&s);
    assert_int_equal(s.result.waited, (20 + 1) * UNIT);
    scene_program(&s, 0, 2 * UNIT, 0);
    scene_play(&s);
    assert_int_equal(s.result.waited, (7 + 1) * UNIT);
    scene whole = split_tree(NBCOLL_OPERATION_BCAST, 16, 0);
    scene_program(&whole, 0, 20 * UNIT, 0);
    scene_play(&whole);
    assert_int_equal(whole.result.waited, 20 * UNIT);
}

/* The root is late by 3: what the others' starts could not do, since it waits for messages, the progress core does. */
static void what_a_start_has_left_the_progress_core_does(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[4];
    scene s = split_tree(NBCOLL_OPERATION_REDUCE, 4, 2);
    scene_program(&s, 0, 50 * UNIT, 0);
    s.result.rank = rank;
    scene_play(&s);
    /* Rank 3 sends in its start; rank 2 must wait for that, and has returned by then. */
    assert_int_equal(rank[3].ended, UNIT);
    assert_int_equal(rank[2].ended, 2 * UNIT);
    assert_int_equal(rank[0].ended, 2 * UNIT);
    assert_int_equal(s.result.waited, (50 + 1) * UNIT);
}

static void a_progress_core_that_sleeps_takes_its_time_to_begin(void **state)
{
    (void)state;
    scene s = split_tree(NBCOLL_OPERATION_BCAST, 2, 0);
    assert_int_equal(scene_play(&s), UNIT);
    s.model.inside.latency = 50;
    uint64_t awake = scene_play(&s);
    s.model.wake = 300;
    assert_int_equal(scene_play(&s), awake + 300);
}

static void without_lanes_progress_cores_do_all(void **state)
{
    (void)state;
    for (unsigned split = 0; split < 3; split++) {
        scene s = split_tree(NBCOLL_OPERATION_BCAST, 16, split);
        s.model.lanes = 0;
        assert_int_equal(scene_play(&s), 15 * UNIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_tree_takes_what_the_model_says),
        cmocka_unit_test(a_second_level_upwards_is_left_to_the_progress_core),
        cmocka_unit_test(starts_that_wait_take_what_the_model_says),
        cmocka_unit_test(a_late_child_holds_up_those_whose_starts_wait),
        cmocka_unit_test(only_what_is_the_ranks_own_takes_time_of_its_computation),
        cmocka_unit_test(what_a_start_has_left_the_progress_core_does),
        cmocka_unit_test(a_progress_core_that_sleeps_takes_its_time_to_begin),
        cmocka_unit_test(without_lanes_progress_cores_do_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
