/* SPDX-License-Identifier: BSD-3-Clause
 * Programs of ranks: several operations in flight at once, what is computed meanwhile, and in which order ranks wait. A
 * barrier of four ranks has two rounds of 100 + 1000 + 100 ns; a second one, started right after it, is 200 ns behind,
 * as its messages find the core at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

#define RANKS 4
#define ONE 2400 /* a barrier alone */
#define TWO 2600 /* two at once */

#define START {NBCOLL_SIM_START, 0, 0, 0}
#define WAIT(n) {NBCOLL_SIM_WAIT, n, 0, 0}
#define COMPUTE(ns, test) {NBCOLL_SIM_COMPUTE, 0, ns, test}

static scene barriers(uint32_t operations, nbcoll_sim_rank *rank)
{
    scene s = scene_of(NBCOLL_OPERATION_BARRIER, "dissemination", RANKS, 0);
    scene_loggp(&s, 1000, 100, 0, 0);
    s.config.operations = operations;
    s.result.rank = rank;
    return s;
}

/* Plays this program on all ranks. */
#define PLAY(s, ...)                                                                                                   \
    do {                                                                                                               \
        const nbcoll_sim_action actions[] = {__VA_ARGS__};                                                             \
        (s)->config.program = (nbcoll_sim_program){actions, sizeof actions / sizeof *actions};                         \
        scene_play(s);                                                                                                 \
    } while (0)

static void operations_overlap(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[2][RANKS];
    scene s = barriers(2, rank[0]);
    PLAY(&s, START, WAIT(0), START, WAIT(1));
    assert_int_equal(s.result.last, 2 * ONE);
    PLAY(&s, START, START, WAIT(0), WAIT(1));
    assert_int_equal(s.result.last, TWO);
    assert_int_equal(s.result.first, ONE);
    assert_int_equal(s.result.messages, 2 * 2 * RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(rank[0][r].waited, ONE);
        assert_int_equal(rank[1][r].started, 100); /* behind the first one's send */
        assert_int_equal(rank[1][r].waited, TWO);
        assert_int_equal(rank[1][r].cpu, 400);
    }
}

/* All start, and wait for all. */
static void no_program_starts_all(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[2][2][RANKS];
    scene s = barriers(2, rank[0][0]);
    scene_play(&s);
    s.result.rank = rank[1][0];
    PLAY(&s, START, START);
    assert_memory_equal(rank[0], rank[1], sizeof rank[0]);
    assert_int_equal(s.result.waited, TWO);
}

static void the_last_wait_first(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[2][RANKS];
    scene s = barriers(2, rank[0]);
    PLAY(&s, START, START, WAIT(1), WAIT(0), WAIT(1));
    assert_int_equal(rank[0][0].ended, ONE);
    assert_int_equal(rank[0][0].waited, TWO);
    assert_int_equal(rank[1][0].waited, TWO);
}

/* Ranks that wait in different orders do not hang. */
static void ranks_wait_in_their_own_order(void **state)
{
    (void)state;
    const nbcoll_sim_action up[] = {START, START, WAIT(0), WAIT(1)}, down[] = {START, START, WAIT(1), WAIT(0)};
    const nbcoll_sim_program programs[RANKS] = {{up, 4}, {down, 4}, {down, 4}, {up, 4}};
    scene s = barriers(2, NULL);
    s.config.programs = programs;
    assert_int_equal(scene_play(&s), TWO);
}

/* Between the waits a rank is away: what came meanwhile is taken up when it ends to compute, or tests. */
static void computing_between_waits(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[2][RANKS];
    scene s = barriers(2, rank[0]);
    PLAY(&s, START, START, WAIT(0), COMPUTE(50, 0), WAIT(1));
    assert_int_equal(s.result.waited, TWO);
    PLAY(&s, START, START, WAIT(0), COMPUTE(1000, 0), WAIT(1));
    assert_int_equal(s.result.waited, ONE + 1000 + 100);
    PLAY(&s, START, START, WAIT(0), COMPUTE(1000, 150), WAIT(1));
    assert_int_equal(rank[1][0].ended, ONE + 150 + 100);
    assert_int_equal(s.result.waited, ONE + 1000 + 100);
}

/* The second barrier finds the first one's messages; but starting it takes the time of what there is to do. */
static void a_start_advances_what_is_in_flight(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[2][RANKS];
    scene s = barriers(2, rank[0]);
    PLAY(&s, START, COMPUTE(2000, 0), START, WAIT(0), WAIT(1));
    /* Computing ends at 2100; then a receive, the second round's send, and the second barrier. */
    assert_int_equal(rank[1][0].started, 2300);
    assert_int_equal(rank[0][0].ended, 2300 + 1000 + 100);
}

/* ---- two operations -------------------------------------------------------------------------------------------- */

/* Operation 0 is a broadcast, 1 another one of more bytes from the same root: who took one's message for the other's
 * would be told that lengths differ. */
static nbcoll_status build_two(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    scene *s = user;
    s->c.count = operation ? 500 : 10;
    return scene_build(s, operation, rank, out);
}

static void operations_do_not_mix(void **state)
{
    (void)state;
    const nbcoll_sim_action root[] = {START, START}, leaf[] = {START, COMPUTE(9000, 0), START};
    const nbcoll_sim_program programs[2] = {{root, 2}, {leaf, 3}};
    nbcoll_sim_rank rank[2][2];
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 2, 0);
    scene_loggp(&s, 1000, 100, 0, 1);
    s.config.operations = 2;
    s.config.programs = programs;
    s.result.rank = rank[0];
    assert_int_equal(scene_simulate(&s, build_two, &s), NBCOLL_OK);
    assert_int_equal(s.result.bytes, 510);
    assert_int_equal(rank[0][1].ended, 9000 + 100);
    assert_int_equal(rank[1][1].started, 9000 + 100);
    assert_int_equal(rank[1][1].ended, 9000 + 200);
    assert_int_equal(rank[1][0].ended, 200);
}

/* A thousand starts of the same: all runs share one shape. */
static void equal_operations_are_kept_once(void **state)
{
    (void)state;
    scene s = barriers(1000, NULL);
    scene_play(&s);
    assert_int_equal(s.result.shapes, 1);
    assert_int_equal(s.result.messages, 1000 * 2 * RANKS);
}

typedef struct counted {
    scene *s;
    unsigned built;
} counted;

static nbcoll_status build_counted(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    counted *c = user;
    c->built++;
    return build_two(c->s, operation % 2, rank, out);
}

/* Broadcasts of two lengths in turn: two are built for each rank, and the play is that of six. */
static void what_repeats_is_built_once(void **state)
{
    enum { ALL = 6 };
    (void)state;
    nbcoll_sim_rank rank[2][ALL][2];
    nbcoll_sim_result result[2];
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 2, 0);
    counted c = {.s = &s};
    scene_loggp(&s, 1000, 100, 0, 1);
    s.config.operations = ALL;
    for (int i = 0; i < 2; i++) {
        c.built = 0;
        s.config.repeat = i ? 2 : 0;
        s.result.rank = rank[i][0];
        assert_int_equal(scene_simulate(&s, build_counted, &c), NBCOLL_OK);
        assert_int_equal(c.built, i ? 2 * 2 : ALL * 2);
        result[i] = s.result;
    }
    assert_memory_equal(rank[0], rank[1], sizeof rank[0]);
    assert_int_equal(result[0].messages, result[1].messages);
    assert_int_equal(result[0].bytes, result[1].bytes);
    assert_int_equal(result[1].bytes, 3 * 510);
}

/* Programs that only lie elsewhere are the same. */
static void equal_programs_play_alike(void **state)
{
    (void)state;
    const nbcoll_sim_action actions[] = {START, COMPUTE(777, 50), START};
    const nbcoll_sim_program programs[RANKS] = {{actions, 3}, {actions, 3}, {actions, 3}, {actions, 3}};
    nbcoll_sim_rank rank[2][2][RANKS];
    scene s = barriers(2, rank[0][0]);
    s.config.program = programs[0];
    scene_play(&s);
    s.config.programs = programs;
    s.result.rank = rank[1][0];
    scene_play(&s);
    assert_memory_equal(rank[0], rank[1], sizeof rank[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_overlap),
        cmocka_unit_test(no_program_starts_all),
        cmocka_unit_test(the_last_wait_first),
        cmocka_unit_test(ranks_wait_in_their_own_order),
        cmocka_unit_test(computing_between_waits),
        cmocka_unit_test(a_start_advances_what_is_in_flight),
        cmocka_unit_test(operations_do_not_mix),
        cmocka_unit_test(equal_operations_are_kept_once),
        cmocka_unit_test(what_repeats_is_built_once),
        cmocka_unit_test(equal_programs_play_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
