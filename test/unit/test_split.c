/* SPDX-License-Identifier: BSD-3-Clause
 * Split trees: which levels of a binomial tree are on which lane, and the model that says how many should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "algorithms.h"
#include "nbcoll/pattern.h"
#include "nbcoll/split.h"

static const nbcoll_operation split_trees[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER,
                                               NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_REDUCE,
                                               NBCOLL_OPERATION_ALLREDUCE};

enum { LANES = NBCOLL_LANE_START + 1 };

/* Sends and receives of all ranks, by lane. */
static void count_transfers(nbcoll_operation operation, int ranks, int root, unsigned split, int sends[LANES],
                            int receives[LANES])
{
    const nbcoll_algorithm *binomial = nbcoll_algorithm_find(operation, "binomial");
    nbcoll_args a = args_of(binomial, 1, has_root(operation) ? root : 0);

    a.split = split;
    for (int lane = 0; lane < LANES; lane++)
        sends[lane] = receives[lane] = 0;
    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
        nbcoll_schedule *s;
        assert_int_equal(nbcoll_build_schedule(binomial, &a, &config, &s), NBCOLL_OK);
        nbcoll_schedule_info info = {.size = sizeof info};
        assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
        for (nbcoll_step i = 0; i < info.steps; i++) {
            const nbcoll_step_view *view = nbcoll_schedule_step(s, i);
            sends[view->lane] += view->kind == NBCOLL_SEND;
            receives[view->lane] += view->kind == NBCOLL_RECV;
        }
        nbcoll_schedule_free(s);
    }
}

static int goes_down(nbcoll_operation operation)
{
    return is_one_of(operation, BIT(BCAST) | BIT(SCATTER) | BIT(ALLREDUCE));
}

static int goes_up(nbcoll_operation operation)
{
    return is_one_of(operation, BIT(GATHER) | BIT(REDUCE) | BIT(ALLREDUCE));
}

static void the_last_levels_are_the_callers_and_those_above_the_drivers(void **state)
{
    (void)state;
    int sends[LANES], receives[LANES];
    for (size_t i = 0; i < LENGTH(split_trees); i++)
        for (int ranks = 1; ranks <= 33; ranks++)
            for (unsigned split = 1; split <= 7; split++) {
                int trees = split_trees[i] == NBCOLL_OPERATION_ALLREDUCE ? 2 : 1, last = 0;
                for (int rank = 1; rank < ranks; rank++) /* its edge upwards */
                    last += rank - nbcoll_binomial_parent(rank) < 1 << split;
                count_transfers(split_trees[i], ranks, 0, split, sends, receives);
                assert_int_equal(sends[NBCOLL_LANE_CALLER], goes_down(split_trees[i]) ? last : 0);
                assert_int_equal(sends[NBCOLL_LANE_START], goes_up(split_trees[i]) ? last : 0);
                assert_int_equal(sends[NBCOLL_LANE_PROGRESS], trees * (ranks - 1 - last));
                assert_int_equal(sends[NBCOLL_LANE_ANY], 0);
                assert_memory_equal(sends, receives, sizeof sends);
            }
}

/* What passes the last rank comes as two messages, and a reduction's result makes one step more to its root. */
static void both_ends_of_a_transfer_are_on_the_same_lane_whatever_the_root(void **state)
{
    (void)state;
    int sends[LANES], receives[LANES];
    for (size_t i = 0; i < LENGTH(split_trees); i++)
        for (int ranks = 2; ranks <= 17; ranks++)
            for (int root = 1; root < ranks; root++) {
                count_transfers(split_trees[i], ranks, root, 1, sends, receives);
                assert_memory_equal(sends, receives, sizeof sends);
                assert_int_equal(sends[NBCOLL_LANE_ANY], 0);
            }
}

static void without_a_split_a_tree_runs_wherever_it_is_advanced(void **state)
{
    (void)state;
    int sends[LANES], receives[LANES];
    for (size_t i = 0; i < LENGTH(split_trees); i++) {
        count_transfers(split_trees[i], 16, 3, 0, sends, receives);
        assert_true(sends[NBCOLL_LANE_ANY] >= 15);
        assert_int_equal(sends[NBCOLL_LANE_CALLER] + sends[NBCOLL_LANE_START] + sends[NBCOLL_LANE_PROGRESS], 0);
    }
}

/* ---- the model ------------------------------------------------------------------------------------------------- */

/* From `first` ranks on, so many levels are best, until the next row. */
typedef struct switching {
    int first;
    unsigned split;
} switching;

static void check_rows(nbcoll_operation operation, int cores, const switching table[], size_t n, int best)
{
    double least = 0;
    int at = 0;
    for (int ranks = 2; ranks < cores; ranks++) {
        size_t i = n - 1;
        while (table[i].first > ranks)
            i--;
        unsigned split = nbcoll_split_levels(operation, ranks, cores);
        double time = nbcoll_split_time(operation, ranks, cores, split, NBCOLL_SPLIT_OVERLAPPED);
        assert_int_equal(split, table[i].split);
        if (!at || time < least) {
            least = time;
            at = ranks;
        }
    }
    assert_int_equal(at, best);
}

static void on_64_cores_the_model_switches_where_the_paper_says(void **state)
{
    (void)state;
    const switching table[] = {{2, 0}, {52, 1}, {58, 2}, {62, 3}};
    check_rows(NBCOLL_OPERATION_BCAST, 64, table, LENGTH(table), 51);
    check_rows(NBCOLL_OPERATION_REDUCE, 64, table, LENGTH(table), 51);
    assert_int_equal(nbcoll_split_levels(NBCOLL_OPERATION_BCAST, 57, 64), 1);
}

static void on_48_cores_the_best_number_of_ranks_is_that_measured(void **state)
{
    (void)state;
    const switching table[] = {{2, 0}, {39, 1}, {44, 2}, {47, 3}};
    check_rows(NBCOLL_OPERATION_BCAST, 48, table, LENGTH(table), 38);
}

static void where_blocks_double_towards_the_root_levels_are_split_off_later(void **state)
{
    (void)state;
    const switching table[] = {{2, 0}, {58, 1}, {60, 2}, {61, 3}, {63, 4}};
    check_rows(NBCOLL_OPERATION_SCATTER, 64, table, LENGTH(table), 60);
    check_rows(NBCOLL_OPERATION_GATHER, 64, table, LENGTH(table), 60);
}

/* First rank numbers of S = 1, 2, 3; simulate/test_sim_pool compares each with what is best there. */
static void check_steps(nbcoll_operation operation, int cores, const int first[3])
{
    for (int ranks = 2; ranks < cores; ranks++) {
        unsigned split = nbcoll_split_steps(operation, ranks, cores);
        unsigned expected = (ranks >= first[0]) + (ranks >= first[1]) + (ranks >= first[2]);
        assert_int_equal(split < 3 ? split : 3, expected);
    }
}

static void without_levels_they_are_split_off_later(void **state)
{
    (void)state;
    check_steps(NBCOLL_OPERATION_BCAST, 64, (int[]){55, 59, 62});
    check_steps(NBCOLL_OPERATION_REDUCE, 64, (int[]){55, 59, 62});
    check_steps(NBCOLL_OPERATION_BCAST, 48, (int[]){41, 45, 47});
    check_steps(NBCOLL_OPERATION_SCATTER, 64, (int[]){58, 60, 62});
}

static double time_of(nbcoll_operation operation, int ranks, int cores, unsigned split, nbcoll_split_part part)
{
    return nbcoll_split_time(operation, ranks, cores, split, part);
}

static void the_equations_are_those_of_the_paper(void **state)
{
    (void)state;
    const nbcoll_operation bcast = NBCOLL_OPERATION_BCAST, allreduce = NBCOLL_OPERATION_ALLREDUCE;
    assert_float_equal(time_of(bcast, 48, 64, 0, NBCOLL_SPLIT_BLOCKING), 6, 1e-6);
    assert_float_equal(time_of(bcast, 48, 64, 0, NBCOLL_SPLIT_COMPUTATION), 8, 1e-6);
    /* 16 ranks, one core: 15 transfers in turn; with the last level at the ranks 7 and 1. */
    assert_float_equal(time_of(bcast, 16, 17, 0, NBCOLL_SPLIT_STARTED), 15, 1e-6);
    assert_float_equal(time_of(bcast, 16, 17, 1, NBCOLL_SPLIT_STARTED), 8, 1e-6);
    assert_float_equal(time_of(bcast, 16, 17, 9, NBCOLL_SPLIT_STARTED), 4, 1e-6);
    assert_float_equal(time_of(allreduce, 16, 17, 1, NBCOLL_SPLIT_STARTED), 16, 1e-6);
    /* The computation beside an allreduce is one: 2 levels at the ranks, 14 transfers beside 10 * 17 / 16. */
    assert_float_equal(time_of(allreduce, 16, 17, 1, NBCOLL_SPLIT_OVERLAPPED), 2 + 14, 1e-6);
    assert_float_equal(time_of(allreduce, 16, 20, 1, NBCOLL_SPLIT_OVERLAPPED), 2 + 12.5, 1e-6);
}

/* A start and its wait by drivers alone, level by level of the tree that is really there. */
static double time_of_the_tree(int ranks, int cores)
{
    double sum = 0;
    for (int gap = 1; gap < ranks; gap *= 2) {
        int transfers = 0;
        for (int rank = 1; rank < ranks; rank++)
            transfers += rank - nbcoll_binomial_parent(rank) == gap;
        sum += (double)((transfers + cores - 1) / cores);
    }
    return sum;
}

/* Equation 3 has one transfer too many in the last level of an odd number of ranks. */
static void on_64_cores_the_papers_levels_take_longer_than_the_tree_for_five_numbers_of_ranks(void **state)
{
    (void)state;
    for (int ranks = 2; ranks < 64; ranks++) {
        int is_longer = ranks == 43 || ranks == 55 || ranks == 57 || ranks == 61 || ranks == 63;
        double model = time_of(NBCOLL_OPERATION_BCAST, ranks, 64, 0, NBCOLL_SPLIT_STARTED);
        assert_float_equal(model - time_of_the_tree(ranks, 64 - ranks), is_longer, 1e-6);
    }
}

static void the_model_says_nothing_without_a_core_to_spare_or_a_tree(void **state)
{
    (void)state;
    assert_float_equal(time_of(NBCOLL_OPERATION_BCAST, 64, 64, 0, NBCOLL_SPLIT_BLOCKING), 0, 1e-6);
    assert_float_equal(time_of(NBCOLL_OPERATION_BCAST, 0, 64, 0, NBCOLL_SPLIT_BLOCKING), 0, 1e-6);
    assert_float_equal(time_of(NBCOLL_OPERATION_ALLTOALL, 8, 64, 0, NBCOLL_SPLIT_BLOCKING), 0, 1e-6);
    assert_int_equal(nbcoll_split_levels(NBCOLL_OPERATION_BCAST, 64, 64), 0);
    assert_int_equal(nbcoll_split_levels(NBCOLL_OPERATION_SCAN, 57, 64), 0);
    assert_int_equal(nbcoll_split_steps(NBCOLL_OPERATION_BCAST, 64, 64), 0);
    assert_int_equal(nbcoll_split_steps(NBCOLL_OPERATION_BCAST, 0, 64), 0);
    assert_int_equal(nbcoll_split_steps(NBCOLL_OPERATION_SCAN, 62, 64), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_levels_are_the_callers_and_those_above_the_drivers),
        cmocka_unit_test(both_ends_of_a_transfer_are_on_the_same_lane_whatever_the_root),
        cmocka_unit_test(without_a_split_a_tree_runs_wherever_it_is_advanced),
        cmocka_unit_test(on_64_cores_the_model_switches_where_the_paper_says),
        cmocka_unit_test(on_48_cores_the_best_number_of_ranks_is_that_measured),
        cmocka_unit_test(where_blocks_double_towards_the_root_levels_are_split_off_later),
        cmocka_unit_test(without_levels_they_are_split_off_later),
        cmocka_unit_test(the_equations_are_those_of_the_paper),
        cmocka_unit_test(on_64_cores_the_papers_levels_take_longer_than_the_tree_for_five_numbers_of_ranks),
        cmocka_unit_test(the_model_says_nothing_without_a_core_to_spare_or_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
