/* SPDX-License-Identifier: BSD-3-Clause
 * A collective by nodes may have any algorithm of the catalogue between its leaders: barrier, broadcast, reduction and
 * allreduction are composed of a node's phase over exposures and of each of those, and proved on uneven nodes, of 3, 1
 * and 4 ranks in turn, for 1 to 17 ranks and all roots, numbered by node and round robin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <nbcoll/pattern.h>
#include <nbcoll/schedule.h>
#include <nbcoll/verify.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

enum { MOST = 17 };

static nbcoll_build *between_leaders;

static nbcoll_build *in_node(nbcoll_operation operation)
{
    return nbcoll_algorithm_find(operation, "slots")->build;
}

/* What this rank's node has, to its leader, whose `to` it comes to. */
static nbcoll_step combine(nbcoll_builder *b, const nbcoll_args *a, int leader, nbcoll_addr to)
{
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, nbcoll_node_place(b->nodes, leader), a->count);
    inside.send = a->send;
    inside.recv = to;
    return nbcoll_within_node(b, b->nodes, &inside, in_node(NBCOLL_OPERATION_REDUCE), NBCOLL_START);
}

static void show(nbcoll_builder *b, const nbcoll_args *a, int leader, nbcoll_step after)
{
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_BCAST, nbcoll_node_place(b->nodes, leader), a->count);
    inside.recv = a->recv;
    nbcoll_within_node(b, b->nodes, &inside, in_node(NBCOLL_OPERATION_BCAST), after);
}

static int leader_of(const nbcoll_builder *b, int root)
{
    return nbcoll_node_leader(b->nodes, nbcoll_node_of(b->nodes, b->rank), root);
}

static void barrier(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_build *inside = in_node(NBCOLL_OPERATION_BARRIER);
    nbcoll_step all = nbcoll_within_node(b, b->nodes, a, inside, NBCOLL_START);
    all = nbcoll_between_nodes(b, b->nodes, -1, a, between_leaders, all);
    nbcoll_within_node(b, b->nodes, a, inside, all);
}

static void bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_args between = *a;
    between.root = nbcoll_node_of(b->nodes, a->root);
    nbcoll_step have = nbcoll_between_nodes(b, b->nodes, a->root, &between, between_leaders, NBCOLL_START);
    show(b, a, leader_of(b, a->root), have);
}

static void reduce(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_args between = *a;
    int leader = leader_of(b, a->root);
    between.root = nbcoll_node_of(b->nodes, a->root);
    between.send = nbcoll_add_scratch(b, a->bytes);
    nbcoll_step sum = combine(b, a, leader, between.send);
    nbcoll_between_nodes(b, b->nodes, a->root, &between, between_leaders, sum);
}

static void allreduce(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_args between = *a;
    int leader = leader_of(b, -1);
    between.send = nbcoll_add_scratch(b, a->bytes);
    nbcoll_step sum = combine(b, a, leader, between.send);
    show(b, a, leader, nbcoll_between_nodes(b, b->nodes, -1, &between, between_leaders, sum));
}

static const struct composed {
    nbcoll_operation operation;
    nbcoll_build *build;
} composed[] = {{NBCOLL_OPERATION_BARRIER, barrier},
                {NBCOLL_OPERATION_BCAST, bcast},
                {NBCOLL_OPERATION_REDUCE, reduce},
                {NBCOLL_OPERATION_ALLREDUCE, allreduce}};

static void it_is_proved(const nbcoll_algorithm *algorithm, nbcoll_numbering numbering)
{
    static const int room[] = {3, 1, 4};
    static const size_t counts[] = {0, 7};
    int is_barrier = algorithm->operation == NBCOLL_OPERATION_BARRIER;
    nbcoll_placement placement = {sizeof placement, room, LENGTH(room), numbering, 0, 0};
    nbcoll_grid grid = {sizeof grid, .fewest = 1, .most = MOST, .root = -1, .counts = is_barrier ? 1 : LENGTH(counts),
                        .count = counts, .placement = &placement};
    nbcoll_case c = {.size = sizeof c, .operation = algorithm->operation, .node = NBCOLL_CASE_BY_NODE,
                     .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}, .segment = 12};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status = nbcoll_verify_grid(algorithm, &grid, &c, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s, %s between leaders: %d ranks, root %d, count %zu, numbering %d: %s: %s",
                 nbcoll_operation_name(c.operation), algorithm->name, c.ranks, c.root, c.count, (int)numbering,
                 nbcoll_status_name(status), why.text);
}

static void any_algorithm_may_run_between_leaders(void **state)
{
    const struct composed *hierarchical = *state;
    const nbcoll_algorithm *between;
    unsigned proved = 0;
    for (; (between = nbcoll_algorithm_at(hierarchical->operation, proved)); proved++) {
        nbcoll_algorithm whole = *between;
        between_leaders = between->build;
        whole.build = hierarchical->build;
        whole.flags = (whole.flags | NBCOLL_ALGORITHM_REORDERS) & ~NBCOLL_ALGORITHM_REPRODUCIBLE;
        it_is_proved(&whole, NBCOLL_NUMBERING_BLOCK);
        it_is_proved(&whole, NBCOLL_NUMBERING_ROUND_ROBIN);
    }
    print_message("%s: %u algorithms\n", nbcoll_operation_name(hierarchical->operation), proved);
    assert_true(proved > 3);
}

int main(void)
{
    struct CMUnitTest tests[LENGTH(composed)];
    for (size_t i = 0; i < LENGTH(composed); i++)
        tests[i] = (struct CMUnitTest){nbcoll_operation_name(composed[i].operation),
                                       any_algorithm_may_run_between_leaders, NULL, NULL, (void *)&composed[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
