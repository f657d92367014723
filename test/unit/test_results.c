/* SPDX-License-Identifier: BSD-3-Clause
 * Every algorithm of the table gives what its operation says, its steps played in seeded orders; reductions are
 * combined in the order, and along the tree, that the algorithm's flags promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "player.h"

static uint64_t dice = 20251;

static void gives_the_right_result(const crowd *all)
{
    for (int is_rendezvous = 0; is_rendezvous < 2; is_rendezvous++) {
        uint64_t seed = dice;
        if (!plays(all, is_rendezvous, &dice))
            fail_msg("%s/%s, %d ranks, root %d, count %zu, op %s, in place %d, rendezvous %d, dice %llu",
                     nbcoll_operation_name(all->args.operation), all->algorithm->name, all->ranks, all->args.root,
                     all->args.count, nbcoll_op_name(all->args.reduction.op), all->args.in_place, is_rendezvous,
                     (unsigned long long)seed);
    }
}

/* The next number of ranks to be tried; 34 is the end. The address sanitizer gets few of them. */
static int next_ranks(int ranks)
{
#ifdef __SANITIZE_ADDRESS__
    if (!getenv("NBCOLL_FULL"))
        return ranks < 9 ? ranks + 1 : ranks < 17 ? 17 : 34;
#endif
    return ranks + (ranks < 17 ? 1 : ranks < 31 ? 14 : 1);
}

static void play_all(const nbcoll_algorithm *algorithm, nbcoll_op op)
{
    static const size_t counts[] = {0, 1, 7, 37};
    int modes = algorithm->operation == NBCOLL_OPERATION_BARRIER ? 1 : has_root(algorithm->operation) ? 2 : 3;
    for (int ranks = 1; ranks <= 33; ranks = next_ranks(ranks))
        for (int i = 0, root; (root = crowd_root(algorithm->operation, ranks, i)) >= 0; i++)
            for (int c = 0; c < modes * (int)LENGTH(counts); c++) {
                nbcoll_args args = args_of(algorithm, counts[c / modes], root);
                args.in_place = c % modes;
                args.reduction.op = op;
                crowd all = crowd_open(algorithm, args, ranks);
                gives_the_right_result(&all);
                crowd_close(&all);
            }
}

static void play_operation(nbcoll_operation operation)
{
    for (unsigned i = 0; nbcoll_algorithm_at(operation, i); i++)
        play_all(nbcoll_algorithm_at(operation, i), NBCOLL_SUM);
}

static void barrier_ends_on_all_ranks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_BARRIER);
}

static void bcast_gives_everyone_the_roots_vector(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_BCAST);
}

static void scatter_gives_each_rank_its_block(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCATTER);
}

static void gather_gives_the_root_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_GATHER);
}

static void allgather_gives_everyone_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLGATHER);
}

static void reduce_gives_the_root_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE);
}

static void allreduce_gives_everyone_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLREDUCE);
}

static void scatterv_gives_each_rank_its_block(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCATTERV);
}

static void gatherv_gives_the_root_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_GATHERV);
}

static void allgatherv_gives_everyone_all_blocks(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLGATHERV);
}

static void alltoall_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALL);
}

static void alltoallv_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALLV);
}

static void alltoallw_gives_each_rank_its_block_of_every_other(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_ALLTOALLW);
}

static void reduce_scatter_gives_each_rank_its_block_of_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE_SCATTER);
}

static void reduce_scatter_block_gives_each_rank_its_block_of_the_sum(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK);
}

static void scan_gives_each_rank_the_sum_up_to_its_own(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_SCAN);
}

static void exscan_gives_each_rank_the_sum_below_its_own(void **state)
{
    (void)state;
    play_operation(NBCOLL_OPERATION_EXSCAN);
}

/* Plays those algorithms that reduce, and have these of the flags. */
static void play_reductions(nbcoll_op op, uint32_t flags, uint32_t having)
{
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            if (reduces((nbcoll_operation)operation) && (algorithm->flags & flags) == having)
                play_all(algorithm, op);
    }
}

static void reductions_keep_rank_order_unless_they_say_otherwise(void **state)
{
    (void)state;
    play_reductions(NBCOLL_PROD, NBCOLL_ALGORITHM_REORDERS, 0);
}

static void reproducible_reductions_are_combined_along_the_tree(void **state)
{
    (void)state;
    play_reductions(NBCOLL_MAX, NBCOLL_ALGORITHM_REPRODUCIBLE, NBCOLL_ALGORITHM_REPRODUCIBLE);
}

static void each_reduction_has_a_reproducible_algorithm(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        unsigned found = 0;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            found += algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE;
        assert_int_equal(found > 0, reduces((nbcoll_operation)operation));
    }
}

static void allreduce_gives_all_ranks_the_same_bits(void **state)
{
    (void)state;
    for (unsigned i = 0; nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i); i++)
        play_all(nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i), NBCOLL_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_ends_on_all_ranks),
        cmocka_unit_test(bcast_gives_everyone_the_roots_vector),
        cmocka_unit_test(scatter_gives_each_rank_its_block),
        cmocka_unit_test(gather_gives_the_root_all_blocks),
        cmocka_unit_test(allgather_gives_everyone_all_blocks),
        cmocka_unit_test(reduce_gives_the_root_the_sum),
        cmocka_unit_test(allreduce_gives_everyone_the_sum),
        cmocka_unit_test(scatterv_gives_each_rank_its_block),
        cmocka_unit_test(gatherv_gives_the_root_all_blocks),
        cmocka_unit_test(allgatherv_gives_everyone_all_blocks),
        cmocka_unit_test(alltoall_gives_each_rank_its_block_of_every_other),
        cmocka_unit_test(alltoallv_gives_each_rank_its_block_of_every_other),
        cmocka_unit_test(alltoallw_gives_each_rank_its_block_of_every_other),
        cmocka_unit_test(reduce_scatter_gives_each_rank_its_block_of_the_sum),
        cmocka_unit_test(reduce_scatter_block_gives_each_rank_its_block_of_the_sum),
        cmocka_unit_test(scan_gives_each_rank_the_sum_up_to_its_own),
        cmocka_unit_test(exscan_gives_each_rank_the_sum_below_its_own),
        cmocka_unit_test(reductions_keep_rank_order_unless_they_say_otherwise),
        cmocka_unit_test(reproducible_reductions_are_combined_along_the_tree),
        cmocka_unit_test(each_reduction_has_a_reproducible_algorithm),
        cmocka_unit_test(allreduce_gives_all_ranks_the_same_bits),
    };
    print_message("seed %llu\n", (unsigned long long)dice);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
