/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms with parameters are proved for 1 to 33 ranks with ports from one to more than there are ranks, trees of
 * one to many children a rank, and segments from single bytes on; and the parameters do something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

#ifdef __SANITIZE_ADDRESS__
#define MOST (getenv("NBCOLL_FULL") ? 33 : 13)
#else
#define MOST 33
#endif

static const size_t counts[] = {0, 13};
static const unsigned few[] = {1, 2, 3, 5, 40, UINT32_MAX};
static const size_t segments[] = {1, 5, 16, 1000};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static void prove(nbcoll_operation operation, const char *name, nbcoll_case c)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(operation, name);
    nbcoll_grid grid = {.size = sizeof grid, .fewest = 1, .most = MOST, .root = -1, .all_blocks = 1,
                        .counts = LENGTH(counts), .count = counts};
    nbcoll_refutation why = {.size = sizeof why};
    assert_non_null(algorithm);
    c.size = sizeof c;
    c.operation = operation;
    c.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
    nbcoll_status status = nbcoll_verify_grid(algorithm, &grid, &c, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, in place %d, segment %zu, arity %u, ports %u: %s: %s",
                 nbcoll_operation_name(operation), name, c.ranks, c.root, c.count, c.in_place, c.segment, c.arity,
                 c.ports, nbcoll_status_name(status), why.text);
}

static void any_number_of_ports_will_do(void **state)
{
    static const char *const names[] = {"exchange", "exchange_pipelined", "bruck_ports", "bruck_pipelined"};
    (void)state;
    for (size_t i = 0; i < LENGTH(few); i++) {
        prove(NBCOLL_OPERATION_BARRIER, "dissemination_ports", (nbcoll_case){.ports = few[i]});
        for (size_t k = 0; k < LENGTH(names); k++)
            for (int in_place = 0; in_place < (i < 3 ? 3 : 1); in_place++) {
                nbcoll_case c = {.ports = few[i], .in_place = in_place};
                prove(NBCOLL_OPERATION_ALLGATHER, names[k], c);
                if (i < 3)
                    prove(NBCOLL_OPERATION_ALLGATHERV, names[k], c);
            }
    }
}

static void cayleys_trees_have_one_to_four_ports(void **state)
{
    (void)state;
    for (unsigned ports = 1; ports <= 4; ports++) {
        int in_place = (int)ports % 3;
        prove(NBCOLL_OPERATION_ALLGATHER, "cayley", (nbcoll_case){.ports = ports});
        prove(NBCOLL_OPERATION_ALLGATHER, "cayley", (nbcoll_case){.ports = ports, .in_place = in_place});
        prove(NBCOLL_OPERATION_ALLGATHERV, "cayley", (nbcoll_case){.ports = ports, .in_place = in_place});
    }
}

static void trees_have_any_number_of_children(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(few); i++) {
        prove(NBCOLL_OPERATION_BCAST, "tree", (nbcoll_case){.arity = few[i]});
        prove(NBCOLL_OPERATION_BCAST, "tree_pipelined", (nbcoll_case){.arity = few[i], .segment = 16});
    }
}

/* Lanes, and so the levels that are the ranks' own, mean nothing for a proof, which is of all orders. */
static void binomial_trees_are_split_anywhere(void **state)
{
    static const nbcoll_operation trees[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
                                             NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE};
    (void)state;
    for (size_t i = 0; i < LENGTH(trees); i++)
        for (unsigned split = 1; split <= 3; split++)
            prove(trees[i], "binomial", (nbcoll_case){.split = split});
}

static void pipelines_have_segments_of_any_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(segments); i++) {
        prove(NBCOLL_OPERATION_BCAST, "tree_pipelined", (nbcoll_case){.segment = segments[i]});
        prove(NBCOLL_OPERATION_BCAST, "chain_pipelined", (nbcoll_case){.segment = segments[i]});
    }
}

/* The messages that rank `rank` of 27 sends, with 13 floats a block. */
static unsigned sends_of(nbcoll_operation operation, const char *name, int rank, nbcoll_case c)
{
    nbcoll_schedule *s;
    const nbcoll_step_view *v;
    unsigned sends = 0;
    c.size = sizeof c;
    c.operation = operation;
    c.ranks = 27;
    c.count = 13;
    c.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
    assert_int_equal(nbcoll_build_case(nbcoll_algorithm_find(operation, name), &c, rank, NULL, &s), NBCOLL_OK);
    for (nbcoll_step step = 0; (v = nbcoll_schedule_step(s, step)); step++)
        sends += v->kind == NBCOLL_SEND;
    nbcoll_schedule_free(s);
    return sends;
}

static void each_round_uses_all_ports(void **state)
{
    (void)state;
    for (int rank = 0; rank < 27; rank++) { /* 27 = 3^3: three rounds of two */
        assert_int_equal(sends_of(NBCOLL_OPERATION_ALLGATHER, "exchange", rank, (nbcoll_case){.ports = 2}), 6);
        assert_int_equal(sends_of(NBCOLL_OPERATION_ALLGATHER, "bruck_ports", rank, (nbcoll_case){.ports = 2}), 6);
        assert_int_equal(sends_of(NBCOLL_OPERATION_BARRIER, "dissemination_ports", rank, (nbcoll_case){.ports = 2}), 6);
        assert_int_equal(sends_of(NBCOLL_OPERATION_ALLGATHER, "bruck_ports", rank, (nbcoll_case){.ports = 26}), 26);
    }
}

/* Without concatenation, a rank sends as many blocks as before, each by itself. */
static void without_concatenation_each_block_is_a_message(void **state)
{
    (void)state;
    for (int rank = 0; rank < 27; rank++) {
        nbcoll_case c = {.ports = 2};
        assert_int_equal(sends_of(NBCOLL_OPERATION_ALLGATHER, "exchange_pipelined", rank, c), 26);
        assert_int_equal(sends_of(NBCOLL_OPERATION_ALLGATHER, "bruck_pipelined", rank, c), 26);
    }
}

/* The same steps, with the same bytes and peers? */
static int same_steps(const nbcoll_schedule *x, const nbcoll_schedule *y)
{
    for (nbcoll_step step = 0;; step++) {
        const nbcoll_step_view *a = nbcoll_schedule_step(x, step), *b = nbcoll_schedule_step(y, step);
        if (!a || !b)
            return a == b;
        if (a->kind != b->kind || a->peer != b->peer || a->write.bytes != b->write.bytes ||
            a->read[0].bytes != b->read[0].bytes || a->before != b->before)
            return 0;
    }
}

/* Does the parameter change the schedule of any rank? */
static int does_something(const nbcoll_algorithm *algorithm, const nbcoll_case *with)
{
    nbcoll_case without = *with;
    int differs = 0;
    without.segment = without.arity = without.ports = without.leaders = 0;
    for (int rank = 0; rank < with->ranks; rank++) {
        nbcoll_schedule *x, *y;
        assert_int_equal(nbcoll_build_case(algorithm, &without, rank, NULL, &x), NBCOLL_OK);
        assert_int_equal(nbcoll_build_case(algorithm, with, rank, NULL, &y), NBCOLL_OK);
        differs |= !same_steps(x, y);
        nbcoll_schedule_free(x);
        nbcoll_schedule_free(y);
    }
    return differs;
}

static void flags_say_which_parameters_an_algorithm_reads(void **state)
{
    static const struct {
        uint32_t flag;
        nbcoll_case with;
    } parameter[] = {{NBCOLL_ALGORITHM_SEGMENT, {.segment = 4096}},
                     {NBCOLL_ALGORITHM_ARITY, {.arity = 3}},
                     {NBCOLL_ALGORITHM_PORTS, {.ports = 5}},
                     {NBCOLL_ALGORITHM_LEADERS, {.leaders = 3}}};
    static const int room[] = {4, 4, 5}; /* ranks of nodes, for those that go by nodes */
    const nbcoll_placement placement = {sizeof placement, room, 3, NBCOLL_NUMBERING_BLOCK, 0, 0};
    const nbcoll_algorithm *algorithm;
    nbcoll_nodes *nodes;
    (void)state;
    assert_int_equal(nbcoll_nodes_place(&placement, 13, NULL, &nodes), NBCOLL_OK);
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            for (size_t k = 0; k < LENGTH(parameter); k++) {
                nbcoll_case c = parameter[k].with;
                c.size = sizeof c;
                c.operation = algorithm->operation;
                c.ranks = c.node = 13; /* all share memory: what is exposed is not lowered */
                if (algorithm->flags & NBCOLL_ALGORITHM_NODES) {
                    c.nodes = nodes;
                    c.node = NBCOLL_CASE_BY_NODE;
                }
                c.count = 10000;
                c.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
                c.known = (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) != 0;
                if (does_something(algorithm, &c) != ((algorithm->flags & parameter[k].flag) != 0))
                    fail_msg("%s/%s: flag %u", nbcoll_operation_name(algorithm->operation), algorithm->name,
                             (unsigned)parameter[k].flag);
            }
    nbcoll_nodes_free(nodes);
}

static void arity_and_segment_count_the_messages_of_the_root(void **state)
{
    (void)state;
    assert_int_equal(sends_of(NBCOLL_OPERATION_BCAST, "tree", 0, (nbcoll_case){.arity = 0}), 4);
    assert_int_equal(sends_of(NBCOLL_OPERATION_BCAST, "tree", 0, (nbcoll_case){.arity = 3}), 3);
    assert_int_equal(sends_of(NBCOLL_OPERATION_BCAST, "chain_pipelined", 0, (nbcoll_case){.segment = 13}), 4);
    nbcoll_case halves = {.arity = 2, .segment = 26};
    assert_int_equal(sends_of(NBCOLL_OPERATION_BCAST, "tree_pipelined", 0, halves), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ports_will_do),
        cmocka_unit_test(cayleys_trees_have_one_to_four_ports),
        cmocka_unit_test(trees_have_any_number_of_children),
        cmocka_unit_test(binomial_trees_are_split_anywhere),
        cmocka_unit_test(pipelines_have_segments_of_any_length),
        cmocka_unit_test(each_round_uses_all_ports),
        cmocka_unit_test(without_concatenation_each_block_is_a_message),
        cmocka_unit_test(flags_say_which_parameters_an_algorithm_reads),
        cmocka_unit_test(arity_and_segment_count_the_messages_of_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
