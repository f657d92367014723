/* SPDX-License-Identifier: BSD-3-Clause
 * The choice on several nodes: rules may name their number, hierarchical algorithms are chosen for their cost there and
 * only there, and one node is chosen for as if nothing was said of nodes. Rules with parameters that their algorithm
 * does not read are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/select.h>
#include <nbcoll/verify.h>

static nbcoll_nodes *nodes_of(int room, int ranks)
{
    const nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    nbcoll_nodes *nodes;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
    return nodes;
}

/* Messages between nodes are ten times as dear as inside. */
static nbcoll_terms terms_of(int ranks, const nbcoll_nodes *nodes)
{
    return (nbcoll_terms){.size = sizeof(nbcoll_terms), .ranks = ranks, .large = NBCOLL_BY_COST,
                          .between = {.alpha_ns = 3000, .overhead_ns = 300, .beta_ps = 100, .gap_ns = 150,
                                      .eager = 16384},
                          .nodes = nodes, .nodes_share = 1,
                          .inside = {.alpha_ns = 300, .overhead_ns = 30, .beta_ps = 100, .eager = 16384},
                          .interfaces = 1};
}

static nbcoll_choice chosen(const nbcoll_terms *terms, nbcoll_operation operation, size_t count)
{
    size_t counts[64];
    nbcoll_args a = {.size = sizeof a, .operation = operation, .count = count, .counts = counts,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}};
    nbcoll_choice c = {.size = sizeof c};
    for (int i = 0; i < terms->ranks; i++)
        counts[i] = count;
    assert_int_equal(nbcoll_args_complete(&a, 0, terms->ranks), NBCOLL_OK);
    assert_int_equal(nbcoll_select(terms, &a, &c), NBCOLL_OK);
    return c;
}

static void on_several_nodes_hierarchical_algorithms_are_chosen_for_their_cost(void **state)
{
    nbcoll_nodes *several = nodes_of(8, 64), *one = nodes_of(64, 64);
    nbcoll_terms hierarchical = terms_of(64, several), on_one = terms_of(64, one), flat = terms_of(64, NULL);
    (void)state;
    nbcoll_choice c = chosen(&hierarchical, NBCOLL_OPERATION_ALLREDUCE, 1000);
    assert_int_equal(c.reason, NBCOLL_REASON_COST);
    assert_true(c.algorithm->flags & NBCOLL_ALGORITHM_NODES);
    for (int o = 0; o < NBCOLL_OPERATION_COUNT; o++)
        for (size_t count = 8; count < 1 << 20; count *= 16) {
            if (o == NBCOLL_OPERATION_ALLTOALLV || o == NBCOLL_OPERATION_ALLTOALLW || o == NBCOLL_OPERATION_BARRIER)
                continue;
            nbcoll_choice x = chosen(&on_one, (nbcoll_operation)o, count);
            nbcoll_choice y = chosen(&flat, (nbcoll_operation)o, count);
            assert_ptr_equal(x.algorithm, y.algorithm);
            assert_false(x.algorithm->flags & NBCOLL_ALGORITHM_NODES);
        }
    nbcoll_nodes_free(several);
    nbcoll_nodes_free(one);
}

static uint64_t cost_of(const nbcoll_terms *terms, const char *algorithm)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLREDUCE, .count = 10000,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}};
    uint64_t ns = 0;
    assert_int_equal(nbcoll_args_complete(&a, 0, terms->ranks), NBCOLL_OK);
    nbcoll_status s = nbcoll_predict(terms, &a, nbcoll_algorithm_find(a.operation, algorithm), &ns);
    assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_UNSUPPORTED);
    return ns;
}

/* A leader combines what its domain has while others do, instead of all of its node: less where a domain is nearer. */
static void where_domains_are_known_reductions_that_go_by_them_have_their_cost(void **state)
{
    static const int room = 16;
    nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0, 4};
    nbcoll_nodes *flat = nodes_of(16, 64), *deep;
    (void)state;
    assert_int_equal(nbcoll_nodes_place(&placement, 64, NULL, &deep), NBCOLL_OK);
    nbcoll_terms without = terms_of(64, flat), with = terms_of(64, deep), near = with, apart = with;
    near.domain = with.inside;
    near.domain.beta_ps /= 2;
    apart.nodes_share = 0;
    assert_int_equal(cost_of(&without, "hierarchical_domains"), 0);
    assert_int_equal(cost_of(&apart, "hierarchical_domains"), 0);
    assert_true(cost_of(&with, "hierarchical_domains") < cost_of(&with, "hierarchical"));
    assert_true(cost_of(&near, "hierarchical_domains") < cost_of(&with, "hierarchical_domains"));
    nbcoll_nodes_free(flat);
    nbcoll_nodes_free(deep);
}

/* Of a ring one message leaves a node in a round, of pairs that of every rank. */
static void a_shared_interface_is_dear_where_many_messages_leave_a_node(void **state)
{
    nbcoll_nodes *several = nodes_of(8, 64);
    nbcoll_terms shared = terms_of(64, several), own = shared;
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLGATHER, .count = 4096,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}};
    const nbcoll_algorithm *ring = nbcoll_algorithm_find(a.operation, "ring"),
                           *pairs = nbcoll_algorithm_find(a.operation, "recursive_doubling");
    uint64_t ns[4];
    (void)state;
    own.interfaces = 8;
    assert_int_equal(nbcoll_args_complete(&a, 0, 64), NBCOLL_OK);
    assert_int_equal(nbcoll_predict(&shared, &a, ring, &ns[0]), NBCOLL_OK);
    assert_int_equal(nbcoll_predict(&own, &a, ring, &ns[1]), NBCOLL_OK);
    assert_int_equal(nbcoll_predict(&shared, &a, pairs, &ns[2]), NBCOLL_OK);
    assert_int_equal(nbcoll_predict(&own, &a, pairs, &ns[3]), NBCOLL_OK);
    assert_int_equal(ns[0], ns[1]);
    assert_true(ns[2] > 3 * ns[3]);
    nbcoll_nodes_free(several);
}

/* A communicator knows its nodes, and one level of prices. */
static void without_prices_inside_nodes_the_choice_is_that_of_one(void **state)
{
    nbcoll_nodes *several = nodes_of(8, 64);
    nbcoll_terms hierarchical = terms_of(64, several), flat = terms_of(64, NULL);
    (void)state;
    hierarchical.inside.eager = 0;
    flat.interfaces = hierarchical.interfaces = flat.between.gap_ns = hierarchical.between.gap_ns = 0;
    for (size_t count = 8; count < 1 << 20; count *= 16) {
        nbcoll_choice x = chosen(&hierarchical, NBCOLL_OPERATION_ALLGATHER, count);
        assert_ptr_equal(x.algorithm, chosen(&flat, NBCOLL_OPERATION_ALLGATHER, count).algorithm);
    }
    nbcoll_nodes_free(several);
}

static void rules_name_nodes(void **state)
{
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "flat"), .fewest_nodes = 2,
                              .most_nodes = 4};
    (void)state;
    for (int count = 1; count <= 8; count *= 2) {
        nbcoll_nodes *nodes = nodes_of(16 / count, 16);
        nbcoll_terms terms = terms_of(16, nodes);
        terms.rules = &rule;
        terms.rule_count = 1;
        assert_int_equal(chosen(&terms, NBCOLL_OPERATION_BCAST, 100000).reason == NBCOLL_REASON_RULE,
                         count == 2 || count == 4);
        nbcoll_nodes_free(nodes);
    }
}

static void refused(nbcoll_rule rule, nbcoll_status why)
{
    size_t which = 7;
    rule.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "flat");
    assert_int_equal(nbcoll_rules_check(&rule, 1, &which), why);
    assert_int_equal(which, 0);
}

static void rules_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    refused((nbcoll_rule){.segment = 4096}, NBCOLL_ERR_UNSUPPORTED);
    refused((nbcoll_rule){.arity = 2}, NBCOLL_ERR_UNSUPPORTED);
    refused((nbcoll_rule){.ports = 2}, NBCOLL_ERR_UNSUPPORTED);
    refused((nbcoll_rule){.split = 2}, NBCOLL_ERR_UNSUPPORTED);
    refused((nbcoll_rule){.leaders = 2}, NBCOLL_ERR_UNSUPPORTED);
    refused((nbcoll_rule){.fewest_nodes = 3, .most_nodes = 2}, NBCOLL_ERR_CONFIG);
    refused((nbcoll_rule){.fewest_nodes = -1}, NBCOLL_ERR_CONFIG);
    const nbcoll_rule good = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "tree"), .arity = 2};
    assert_int_equal(nbcoll_rules_check(&good, 1, NULL), NBCOLL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_several_nodes_hierarchical_algorithms_are_chosen_for_their_cost),
        cmocka_unit_test(where_domains_are_known_reductions_that_go_by_them_have_their_cost),
        cmocka_unit_test(a_shared_interface_is_dear_where_many_messages_leave_a_node),
        cmocka_unit_test(without_prices_inside_nodes_the_choice_is_that_of_one),
        cmocka_unit_test(rules_name_nodes),
        cmocka_unit_test(rules_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
