/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks and their cores do to an operation: noise, late arrival, computing with and without tests, cores that are
 * shared or do nothing but progress; and that the same seed gives the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

#define RANKS 64
#define MS UINT64_C(1000000)

/* A barrier on a machine where each round takes 100 + 1000 + 100 ns. */
static scene barrier(int ranks)
{
    scene s = scene_of(NBCOLL_OPERATION_BARRIER, "dissemination", ranks, 0);
    scene_loggp(&s, 1000, 100, 0, 0);
    return s;
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    (void)state;
    nbcoll_sim_rank ranks[3][RANKS];
    nbcoll_sim_result results[3];
    for (int i = 0; i < 3; i++) {
        scene s = scene_of(NBCOLL_OPERATION_ALLREDUCE, "ring", RANKS, 10000);
        assert_int_equal(nbcoll_sim_model_find("cluster", &s.model), NBCOLL_OK);
        assert_int_equal(nbcoll_sim_noise_find("tick", &s.config.noise), NBCOLL_OK);
        s.config.noise.phase = NBCOLL_SIM_RANDOM;
        s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_SCATTERED, 0, 3 * MS};
        s.config.seed = i < 2 ? 7 : 8;
        s.result.rank = ranks[i];
        scene_play(&s);
        s.result.rank = NULL;
        results[i] = s.result;
    }
    assert_memory_equal(&results[0], &results[1], sizeof results[0]);
    assert_memory_equal(ranks[0], ranks[1], sizeof ranks[0]);
    assert_memory_not_equal(ranks[0], ranks[2], sizeof ranks[0]);
}

/* Pulses of 100 ms take 20% of the cores' time: work of 100 s takes 125 s. Give or take where
 * the first and the last pulse lie. */
static void pulses_take_their_part(void **state)
{
    (void)state;
    scene s = barrier(16);
    assert_int_equal(nbcoll_sim_noise_find("pulses", &s.config.noise), NBCOLL_OK);
    assert_int_equal(s.config.noise.length, 100 * MS);
    assert_int_equal(s.config.noise.length * 5, s.config.noise.period);
    scene_program(&s, 100000 * MS, 0, 0);
    nbcoll_sim_rank rank[16];
    s.result.rank = rank;
    scene_play(&s);
    for (int r = 0; r < 16; r++)
        assert_in_range(rank[r].started, 124800 * MS, 125200 * MS);
}

/* At any time, the first moment too, about a fifth of the cores is away. */
static void a_fifth_of_the_cores_is_away(void **state)
{
    (void)state;
    scene s = barrier(1000);
    nbcoll_sim_rank rank[1000];
    int away = 0;
    assert_int_equal(nbcoll_sim_noise_find("pulses", &s.config.noise), NBCOLL_OK);
    scene_program(&s, 1, 0, 0);
    s.result.rank = rank;
    scene_play(&s);
    for (int r = 0; r < 1000; r++)
        away += rank[r].started > 1;
    assert_in_range(away, 150, 250);
}

/* One core that is away when the barrier begins delays all ranks, by a pulse. */
static void a_pulse_delays_everyone(void **state)
{
    (void)state;
    scene s = barrier(RANKS);
    uint64_t quiet = scene_play(&s);
    s.config.noise = (nbcoll_sim_noise){1000 * MS, 100 * MS, 1000, NBCOLL_SIM_TOGETHER};
    assert_int_equal(scene_play(&s), quiet + 100 * MS);
    s.config.noise.share = 0;
    assert_int_equal(scene_play(&s), quiet);
}

/* Whole periods later a core that has its own place finds the same; one whose places change does not. */
static int finds_the_same(nbcoll_sim_phase phase)
{
    scene s = barrier(RANKS);
    nbcoll_sim_rank rank[2][RANKS];
    int same = 1, late = 0;
    s.config.noise = (nbcoll_sim_noise){1000, 100, 1000, phase};
    for (uint64_t i = 0; i < 2; i++) {
        scene_program(&s, 450 + i * 900, 0, 0);
        s.result.rank = rank[i];
        scene_play(&s);
    }
    for (int r = 0; r < RANKS; r++) {
        same &= rank[1][r].started == rank[0][r].started + 1000;
        late += rank[0][r].started > 450;
    }
    assert_in_range(late, 1, RANKS - 1);
    return same;
}

static void pulses_have_their_places(void **state)
{
    (void)state;
    assert_true(finds_the_same(NBCOLL_SIM_APART));
    assert_false(finds_the_same(NBCOLL_SIM_RANDOM));
}

static void all_wait_for_a_late_rank(void **state)
{
    (void)state;
    scene s = barrier(RANKS);
    nbcoll_sim_rank rank[RANKS];
    uint64_t punctual = scene_play(&s);
    s.result.rank = rank;
    s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, 5, 9 * MS};
    assert_int_equal(scene_play(&s), 9 * MS + punctual);
    assert_int_equal(rank[5].started, 9 * MS);
    assert_int_equal(rank[4].started, 0);
    assert_true(s.result.first >= 9 * MS);
    s.config.arrival.pattern = NBCOLL_SIM_RISING;
    scene_play(&s);
    assert_int_equal(rank[RANKS - 1].started, 9 * MS);
    assert_int_equal(rank[21].started, 3 * MS);
    s.config.arrival.pattern = NBCOLL_SIM_SCATTERED;
    scene_play(&s);
    for (int r = 0; r < RANKS; r++)
        assert_in_range(rank[r].started, 0, 9 * MS);
}

/* A root does not wait for the leaves of its tree. */
static void a_late_leaf_delays_itself_only(void **state)
{
    (void)state;
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", RANKS, 8);
    nbcoll_sim_rank rank[RANKS];
    scene_loggp(&s, 1000, 100, 0, 0);
    uint64_t punctual = scene_play(&s);
    s.result.rank = rank;
    s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, RANKS - 1, MS};
    assert_int_equal(scene_play(&s), MS + 100);
    for (int r = 0; r < RANKS - 1; r++)
        assert_true(rank[r].ended <= punctual);
}

/* Four ranks, two rounds. While they compute nothing moves but in start and tests; then all that came is taken up. */
static void progress_is_made_in_tests(void **state)
{
    (void)state;
    scene s = barrier(4);
    assert_int_equal(scene_play(&s), 2400);
    scene_program(&s, 0, 10000, 0);
    /* In start the first send; in wait the first receive, which came long ago, and the second round. */
    assert_int_equal(scene_play(&s), 10000 + 100 + 100 + 100 + 1000 + 100);
    /* Tests at 100 + 2000 k: the first message is there at 1100, taken at 2100; the second is sent by 2300 and there at
     * 3300, and 2000 after the end of that test it is taken. */
    scene_program(&s, 0, 10000, 2000);
    assert_int_equal(scene_play(&s), 4300 + 100);
    assert_int_equal(s.result.waited, 10000 + 400);
    /* Somebody else's core: as if nobody computed. */
    s.model.node = 4;
    s.model.progress = 4;
    assert_int_equal(scene_play(&s), 2400);
    assert_int_equal(s.result.waited, 10000);
    /* One for four ranks: their sends begin one after the other. */
    s.model.progress = 1;
    assert_true(scene_play(&s) > 2400);
    assert_int_equal(s.result.waited, 10000);
}

static void ranks_that_share_a_core_take_turns(void **state)
{
    (void)state;
    scene s = barrier(8);
    scene_program(&s, 1000, 0, 0);
    s.model.node = 4;
    uint64_t alone = scene_play(&s);
    s.model.cores = 2;
    nbcoll_sim_rank rank[8];
    s.result.rank = rank;
    assert_true(scene_play(&s) > alone + 1000);
    for (int r = 0; r < 8; r++)
        assert_int_equal(rank[r].started, 2000);
}

static void each_rank_may_have_its_own_program(void **state)
{
    (void)state;
    nbcoll_sim_action soon[] = {{NBCOLL_SIM_COMPUTE, 0, 50, 0}, {.act = NBCOLL_SIM_START}};
    nbcoll_sim_action late[] = {{NBCOLL_SIM_COMPUTE, 0, 7000, 0}, {.act = NBCOLL_SIM_START}};
    nbcoll_sim_program programs[4] = {{0}, {soon, 2}, {late, 2}, {0}};
    scene s = barrier(4);
    s.config.programs = programs;
    assert_int_equal(scene_play(&s), 7000 + 2400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bits), cmocka_unit_test(pulses_take_their_part),
        cmocka_unit_test(a_pulse_delays_everyone),           cmocka_unit_test(all_wait_for_a_late_rank),
        cmocka_unit_test(pulses_have_their_places),          cmocka_unit_test(a_fifth_of_the_cores_is_away),
        cmocka_unit_test(a_late_leaf_delays_itself_only),    cmocka_unit_test(progress_is_made_in_tests),
        cmocka_unit_test(ranks_that_share_a_core_take_turns), cmocka_unit_test(each_rank_may_have_its_own_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
