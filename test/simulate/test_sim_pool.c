/* SPDX-License-Identifier: BSD-3-Clause
 * Progress cores that work for all ranks of a node, and figures 2 to 4 of Denis et al. (split.h): a transfer takes a
 * core one unit, the drivers' levels are folded onto the cores that the ranks leave, and a level ends before the next
 * begins. Then the same tree as the graph of steps that it is, which has no levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <nbcoll/pattern.h>
#include <nbcoll/split.h>

#include "scene.h"

enum { CORES = 64, SPLITS = 4, UNIT = 1000 };

/* ---- the paper's discipline -------------------------------------------------------------------------------------- */

typedef struct levels {
    int ranks;
    unsigned split;
    nbcoll_operation like; /* BCAST: a transfer takes one unit; SCATTER: as many as there are blocks in it */
} levels;

static int height_of(int ranks)
{
    int height = 0;
    while (1 << height < ranks)
        height++;
    return height;
}

/* All ranks have come here: messages to rank 0 and back, which cost nothing. */
static nbcoll_step meet(nbcoll_builder *b, nbcoll_step before)
{
    nbcoll_addr nowhere = {NBCOLL_BUFFER_RECV, 0};
    if (b->rank) {
        nbcoll_after(b, nbcoll_add_send(b, 0, nowhere, 0), before);
        return nbcoll_add_recv(b, 0, nowhere, 0);
    }
    nbcoll_step all = nbcoll_add_join(b);
    nbcoll_after(b, all, before);
    for (int r = 1; r < b->ranks; r++)
        nbcoll_after(b, all, nbcoll_add_recv(b, r, nowhere, 0));
    for (int r = 1; r < b->ranks; r++)
        nbcoll_after(b, nbcoll_add_send(b, r, nowhere, 0), all);
    return all;
}

/* Down a binomial tree: a transfer is a copy, which takes units of the core on whose lane it is; each level begins when
 * all have ended the one before. */
static nbcoll_status build_levels(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const levels *l = user;
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = l->ranks};
    nbcoll_step last = NBCOLL_START;
    nbcoll_builder *b;
    (void)operation;

    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    nbcoll_addr from = nbcoll_add_scratch(b, CORES * UNIT), to = nbcoll_add_scratch(b, CORES * UNIT);
    for (int apart = 1 << height_of(l->ranks) >> 1; apart; apart >>= 1) {
        if (rank % (2 * apart) == 0 && rank + apart < l->ranks) {
            size_t units = l->like == NBCOLL_OPERATION_SCATTER ? (size_t)apart : 1;
            nbcoll_step transfer = nbcoll_add_copy(b, to, from, units * UNIT);
            nbcoll_after(b, transfer, last);
            nbcoll_set_lane(b, transfer, apart >> l->split ? NBCOLL_LANE_PROGRESS : NBCOLL_LANE_CALLER);
            last = transfer;
        }
        last = meet(b, last);
    }
    return nbcoll_builder_finish(b, out);
}

static scene machine(int ranks)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", ranks, 8);
    s.model.node = (uint32_t)ranks;
    s.model.progress = (uint32_t)(CORES - ranks);
    s.model.lanes = s.model.pool = 1;
    s.model.copy = 1000;
    return s;
}

/* Of the tree as it is: the paper's equation 3 counts one transfer too many in the last level of these. */
static int is_miscounted(int ranks)
{
    return ranks == 43 || ranks == 55 || ranks == 57 || ranks == 61 || ranks == 63;
}

static uint64_t levels_take(nbcoll_operation like, int ranks, unsigned split, uint64_t compute)
{
    levels l = {ranks, split, like};
    scene s = machine(ranks);
    if (compute)
        scene_program(&s, 0, compute, 0);
    assert_int_equal(scene_simulate(&s, build_levels, &l), NBCOLL_OK);
    return compute ? s.result.waited : s.result.last;
}

static uint64_t model(nbcoll_operation like, int ranks, unsigned split, nbcoll_split_part part)
{
    return (uint64_t)(nbcoll_split_time(like, ranks, CORES, split, part) * UNIT + 0.5);
}

static void check_figure(nbcoll_operation like, int computes, nbcoll_split_part part)
{
    for (int ranks = 2; ranks < CORES; ranks++)
        for (unsigned split = 0; split < SPLITS; split++) {
            uint64_t compute = computes ? model(like, ranks, 0, NBCOLL_SPLIT_COMPUTATION) : 0;
            if (!is_miscounted(ranks) || split)
                assert_int_equal(levels_take(like, ranks, split, compute), model(like, ranks, split, part));
        }
}

static void level_by_level_it_takes_what_figure_2_says(void **state)
{
    (void)state;
    check_figure(NBCOLL_OPERATION_BCAST, 0, NBCOLL_SPLIT_STARTED);
}

static void beside_a_computation_it_takes_what_figure_3_says(void **state)
{
    (void)state;
    check_figure(NBCOLL_OPERATION_BCAST, 1, NBCOLL_SPLIT_OVERLAPPED);
}

static void with_blocks_that_double_it_takes_what_figure_4_says(void **state)
{
    (void)state;
    check_figure(NBCOLL_OPERATION_SCATTER, 0, NBCOLL_SPLIT_STARTED);
    check_figure(NBCOLL_OPERATION_SCATTER, 1, NBCOLL_SPLIT_OVERLAPPED);
}

/* ---- without levels ---------------------------------------------------------------------------------------------- */

static uint64_t graph_takes(int ranks, unsigned split, uint64_t compute)
{
    scene s = machine(ranks);
    s.c.split = split;
    s.model.inside.o_send = UNIT;
    s.model.copy = 0;
    if (compute)
        scene_program(&s, 0, compute, 0);
    scene_play(&s);
    return compute ? s.result.waited : s.result.last;
}

static void a_graph_is_never_slower_than_levels(void **state)
{
    int faster = 0;
    (void)state;
    for (int ranks = 2; ranks < CORES; ranks++) {
        uint64_t graph = graph_takes(ranks, 0, 0), in_levels = levels_take(NBCOLL_OPERATION_BCAST, ranks, 0, 0);
        assert_true(graph <= in_levels);
        faster += graph < in_levels;
    }
    assert_true(faster > 0);
    print_message("a graph is faster with %d of %d numbers of ranks\n", faster, CORES - 2);
}

static unsigned best_of(int ranks)
{
    uint64_t compute = model(NBCOLL_OPERATION_BCAST, ranks, 0, NBCOLL_SPLIT_COMPUTATION), least = UINT64_MAX;
    unsigned best = 0;
    for (unsigned split = 0; split < SPLITS; split++) {
        uint64_t takes = graph_takes(ranks, split, compute);
        if (takes < least) {
            least = takes;
            best = split;
        }
    }
    return best;
}

/* The model switches at 52, 58 and 62. */
static void a_graph_wants_its_levels_split_off_later(void **state)
{
    int first[SPLITS] = {0};
    (void)state;
    for (int ranks = CORES - 1; ranks > 1; ranks--)
        first[best_of(ranks)] = ranks;
    for (int ranks = 2; ranks < CORES; ranks++)
        assert_int_equal(best_of(ranks), nbcoll_split_steps(NBCOLL_OPERATION_BCAST, ranks, CORES));
    print_message("S = 1 from %d, 2 from %d, 3 from %d ranks\n", first[1], first[2], first[3]);
    assert_int_equal(first[1], 55);
    assert_int_equal(first[2], 59);
    assert_int_equal(first[3], 62);
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

/* Ranks 0 and 2 of 4 have one core each by place, which they share; in a pool of two there is one for each. */
static void a_pool_leaves_no_core_idle_while_somebody_waits(void **state)
{
    (void)state;
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 4, 8);
    s.model.inside.o_send = UNIT;
    s.model.node = 4;
    s.model.progress = 2;
    assert_int_equal(scene_play(&s), 3 * UNIT);
    s.model.pool = 1;
    assert_int_equal(scene_play(&s), 2 * UNIT);
    s.model.pool = 2;
    assert_int_equal(scene_simulate(&s, scene_build, &s), NBCOLL_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_leaves_no_core_idle_while_somebody_waits),
        cmocka_unit_test(level_by_level_it_takes_what_figure_2_says),
        cmocka_unit_test(beside_a_computation_it_takes_what_figure_3_says),
        cmocka_unit_test(with_blocks_that_double_it_takes_what_figure_4_says),
        cmocka_unit_test(a_graph_is_never_slower_than_levels),
        cmocka_unit_test(a_graph_wants_its_levels_split_off_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
