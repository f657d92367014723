/* SPDX-License-Identifier: BSD-3-Clause
 * Choosing an algorithm: what the cost model says, what rules say, and which of them is stronger. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms.h"
#include "nbcoll/select.h"
#include "nbcoll/split.h"
#include "nbcoll/verify.h"

static const nbcoll_terms by_cost = {.size = sizeof by_cost, .ranks = 4,
                                     .between = {.alpha_ns = 1000, .beta_ps = 500, .overhead_ns = 100},
                                     .large = NBCOLL_BY_COST};

static nbcoll_args call(nbcoll_operation operation, size_t count, int ranks)
{
    static size_t counts[64];
    nbcoll_args a = args_of(small_one((int)operation), count, 0);
    for (int i = 0; i < 64; i++)
        counts[i] = count;
    a.counts = counts;
    assert_int_equal(nbcoll_args_complete(&a, 0, ranks), NBCOLL_OK);
    return a;
}

static nbcoll_choice choice_of(const nbcoll_terms *terms, nbcoll_operation operation, size_t count)
{
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_args a = call(operation, count, terms->ranks);
    assert_int_equal(nbcoll_select(terms, &a, &choice), NBCOLL_OK);
    assert_int_equal(choice.algorithm->operation, operation);
    return choice;
}

static const nbcoll_algorithm *named(nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(operation, name);
    assert_non_null(algorithm);
    return algorithm;
}

/* ---- the cost model ---------------------------------------------------------------------------------------------- */

static uint64_t predicted(nbcoll_terms terms, nbcoll_operation operation, const char *name, size_t count, int ranks)
{
    uint64_t ns = 0;
    terms.ranks = ranks;
    nbcoll_args a = call(operation, count, ranks);
    assert_int_equal(nbcoll_predict(&terms, &a, named(operation, name), &ns), NBCOLL_OK);
    return ns;
}

/* A message takes alpha + 2 overheads + its bytes; of several, each further one an overhead or its bytes more.
 * Elements have 8 bytes. */
static void costs_are_those_of_the_formulas(void **state)
{
    (void)state;
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BARRIER, "dissemination", 0, 5), 3 * 1000 + 6 * 100);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BCAST, "binomial", 100, 8), 3 * 1000 + 6 * 100 + 3 * 800 / 2);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BCAST, "scatter_ring", 100, 8),
                     8 * (1000 + 200 + 100 / 2) + 6 * 100);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BCAST, "flat", 10, 8), 1000 + 200 + 80 / 2 + 6 * 100);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_GATHER, "flat", 100, 8), 1000 + 200 + 7 * 800 / 2);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_ALLGATHER, "ring", 100, 8),
                     7 * 1000 + 14 * 100 + 7 * 800 / 2);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 100, 8),
                     3 * 1000 + 6 * 100 + 6 * 800 / 2);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 100, 9),
                     5 * 1000 + 10 * 100 + 9 * 800 / 2);
}

static void long_messages_count_as_three(void **state)
{
    (void)state;
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BCAST, "binomial", 512, 8), 3 * 1000 + 6 * 100 + 3 * 4096 / 2);
    assert_int_equal(predicted(by_cost, NBCOLL_OPERATION_BCAST, "binomial", 513, 8),
                     9 * 1000 + 18 * 100 + 3 * 4104 / 2);
}

/* Four times the price of a byte that is sent; and a get. */
static void handling_a_byte_and_getting_have_prices_of_their_own(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.between.gamma_ps = 2000;
    terms.between.get_ns = 700;
    assert_int_equal(predicted(terms, NBCOLL_OPERATION_REDUCE, "binomial", 100, 2), 1000 + 200 + 800 / 2 + 800 * 2);
    assert_int_equal(predicted(terms, NBCOLL_OPERATION_BCAST, "flat", 1000, 2), 3 * (1000 + 200) + 700 + 8000 / 2);
    terms.between.eager = 8000;
    assert_int_equal(predicted(terms, NBCOLL_OPERATION_BCAST, "flat", 1000, 2), 1000 + 200 + 8000 / 2);
}

/* With the prices of shared memory. Where the halves of an allreduce go to the other rank from the result, which is
 * written again the next time, combining all of it on both sides is cheaper; messages between machines copy it. */
static void what_others_read_of_a_result_in_shared_memory_is_dear_to_write_again(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.ranks = 2;
    terms.between.alpha_ns = 350;
    terms.between.beta_ps = 130;
    terms.between.gamma_ps = 40;
    terms.between.overhead_ns = 60;
    for (size_t count = 1 << 15; count <= 1 << 20; count *= 2) {
        terms.shared = 1;
        assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, count).algorithm->name, "recursive_doubling");
        terms.shared = 0;
        assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, count).algorithm->name, "ring");
    }
}

/* As shm prices ranks of which eight share a core: a message that waits for another one waits for a turn of all. */
static void crowded_ranks_choose_what_takes_one_hop(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.shared = 1;
    for (unsigned turns = 2; turns <= 8; turns *= 2) {
        terms.ranks = 2 * (int)turns;
        terms.between.alpha_ns = 5000 * turns;
        terms.between.beta_ps = 130 * turns;
        terms.between.gamma_ps = 40 * turns;
        terms.between.overhead_ns = 60 * turns;
        terms.between.get_ns = 900 * turns;
        assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_BARRIER, 0).algorithm->name, "slots");
        assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 1).algorithm->name, "slots");
        assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, 1).algorithm->name, "slots");
    }
}

/* By the prices of eight ranks on two cores the root that combines alone has a core for itself. */
static void what_one_rank_does_alone_is_priced_without_its_cores_other_ranks(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms, .ranks = 8, .staging = 4 << 20,
                          .between = {.alpha_ns = 20000, .beta_ps = 520, .overhead_ns = 240, .gamma_ps = 160,
                                      .eager_ps = 720, .get_ns = 3600, .eager = 4096},
                          .shared = 1, .large = NBCOLL_BY_COST};
    (void)state;
    for (size_t count = 100000; count <= 4000000; count *= 2) { /* of bytes: double */
        uint64_t alone[2], all[2];
        for (unsigned i = 0; i < 2; i++) {
            terms.ranks_per_core = i ? 4 : 0;
            alone[i] = predicted(terms, NBCOLL_OPERATION_REDUCE, "flat", count, 8);
            all[i] = predicted(terms, NBCOLL_OPERATION_ALLGATHER, "ring", count, 8);
        }
        assert_ptr_equal(choice_of(&terms, NBCOLL_OPERATION_REDUCE, count).algorithm,
                         named(NBCOLL_OPERATION_REDUCE, "slots"));
        assert_true(4 * alone[1] > alone[0] && 3 * alone[1] < alone[0]);
        assert_int_equal(all[1], all[0]);
    }
    terms.ranks_per_core = UINT32_MAX;
    assert_true(predicted(terms, NBCOLL_OPERATION_REDUCE, "slots", 100000, 8) > 0);
}

/* By the prices of four ranks that share cores: what a scatter's root shows its readers is spread over cells, which of
 * three ranks costs more than two messages; more bytes take a look at a table, and who lends memory waits for its
 * readers, which is one more turn of its core. */
static void different_parts_go_by_cells_where_these_are_cheaper(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms, .ranks = 4, .staging = 4 << 20,
                          .between = {.alpha_ns = 10182, .beta_ps = 85, .overhead_ns = 60, .eager_ps = 180,
                                      .get_ns = 900, .fetch_ns = 900, .eager = 4096},
                          .shared = 1, .large = NBCOLL_BY_COST};
    static const nbcoll_operation parts[] = {NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_ALLTOALL};
    static const nbcoll_operation alike[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_GATHER,
                                             NBCOLL_OPERATION_ALLGATHER};
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(choice_of(&terms, parts[i], 1).algorithm, named(parts[i], i ? "flat" : "slots"));
        assert_ptr_equal(choice_of(&terms, parts[i], 8192).algorithm, named(parts[i], "slots"));
    }
    assert_ptr_equal(choice_of(&terms, NBCOLL_OPERATION_SCATTER, 10).algorithm,
                     named(NBCOLL_OPERATION_SCATTER, "slots"));
    assert_ptr_equal(choice_of(&terms, NBCOLL_OPERATION_SCATTER, 512).algorithm,
                     named(NBCOLL_OPERATION_SCATTER, "flat"));
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(choice_of(&terms, alike[i], 1).algorithm, named(alike[i], "slots"));
    terms.ranks = 3;
    assert_ptr_not_equal(choice_of(&terms, NBCOLL_OPERATION_SCATTER, 1).algorithm,
                         named(NBCOLL_OPERATION_SCATTER, "slots"));
}

/* Of four ranks, each of which fetches three parts of 8 bytes: three times the difference; where terms say nothing,
 * five posts. Parts that are alike have no table. */
static void a_table_of_parts_costs_what_the_terms_say(void **state)
{
    static const uint32_t tables[] = {0, 300, 1300};
    nbcoll_terms terms = {.size = sizeof terms, .ranks = 4,
                          .between = {.alpha_ns = 350, .beta_ps = 130, .overhead_ns = 60},
                          .shared = 1, .large = NBCOLL_BY_COST};
    const nbcoll_algorithm *of_parts = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALL, "slots"),
                           *of_one = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "slots");
    nbcoll_args a = {.size = sizeof a, .count = 8, .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}};
    uint64_t parts[3], alike[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        terms.table_ns = tables[i];
        a.operation = NBCOLL_OPERATION_ALLTOALL;
        assert_int_equal(nbcoll_args_complete(&a, 0, 4), NBCOLL_OK);
        assert_int_equal(nbcoll_predict(&terms, &a, of_parts, &parts[i]), NBCOLL_OK);
        a.operation = NBCOLL_OPERATION_ALLGATHER;
        assert_int_equal(nbcoll_args_complete(&a, 0, 4), NBCOLL_OK);
        assert_int_equal(nbcoll_predict(&terms, &a, of_one, &alike[i]), NBCOLL_OK);
    }
    assert_int_equal(parts[1], parts[0]);
    assert_int_equal(parts[2], parts[1] + 3 * 1000);
    assert_int_equal(alike[1], alike[0]);
    assert_int_equal(alike[2], alike[0]);
}

static void the_cheapest_parameters_come_with_the_algorithm(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.ranks = 64;
    nbcoll_choice barrier = choice_of(&terms, NBCOLL_OPERATION_BARRIER, 0);
    nbcoll_choice bcast = choice_of(&terms, NBCOLL_OPERATION_BCAST, 10000);
    assert_string_equal(barrier.algorithm->name, "dissemination_ports");
    assert_int_equal(barrier.ports, 8);
    assert_string_equal(bcast.algorithm->name, "tree_pipelined");
    assert_int_equal(bcast.segment, 4096);
    assert_true(bcast.arity >= 2);
    nbcoll_args a = call(NBCOLL_OPERATION_BARRIER, 0, 64); /* those that are given stay */
    a.ports = 1;
    assert_int_equal(nbcoll_select(&terms, &a, &barrier), NBCOLL_OK);
    assert_true(barrier.ports <= 1);
}

static void more_segments_than_credits_are_long_messages(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.ranks = 3;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 64 * 4096 / 8).segment, 4096);
    terms.credits = 64;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 64 * 4096 / 8).segment, 4096);
    terms.credits = 63;
    assert_true(choice_of(&terms, NBCOLL_OPERATION_BCAST, 64 * 4096 / 8).segment != 4096);
}

static void costs_beyond_all_numbers_are_the_greatest_number(void **state)
{
    nbcoll_terms terms = by_cost;
    nbcoll_args a = call(NBCOLL_OPERATION_BCAST, SIZE_MAX / 64, 4);
    uint64_t ns = 0;
    (void)state;
    terms.between.beta_ps = UINT32_MAX;
    assert_int_equal(nbcoll_predict(&terms, &a, small_one(NBCOLL_OPERATION_BCAST), &ns), NBCOLL_OK);
    assert_true(ns == UINT64_MAX);
    terms.ranks = INT_MAX;
    assert_int_equal(nbcoll_predict(&terms, &a, small_one(NBCOLL_OPERATION_BCAST), &ns), NBCOLL_OK);
}

/* Each rank of it passes on 8 bytes; going along it rank by rank would take minutes. */
static void the_cost_of_the_longest_chain_is_known_at_once(void **state)
{
    (void)state;
    assert_true(predicted(by_cost, NBCOLL_OPERATION_BCAST, "chain_pipelined", 1, INT_MAX) ==
                (uint64_t)(INT_MAX - 1) * (1000 + 200 + 8 / 2));
}

static void the_cheapest_algorithm_that_may_serve_is_chosen(void **state)
{
    static const size_t counts[] = {0, 1, 100, 3000, 1000000};
    const nbcoll_algorithm *other;
    nbcoll_terms terms = by_cost;
    (void)state;
    for (terms.ranks = 1; terms.ranks <= 33; terms.ranks++)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (size_t k = 0; k < LENGTH(counts) && !is_one_of((nbcoll_operation)operation, rows); k++) {
                nbcoll_args a = call((nbcoll_operation)operation, counts[k], terms.ranks);
                nbcoll_choice c = choice_of(&terms, (nbcoll_operation)operation, counts[k]);
                uint64_t least, ns;
                assert_int_equal(c.reason, NBCOLL_REASON_COST);
                assert_int_equal(nbcoll_predict(&terms, &a, c.algorithm, &least), NBCOLL_OK);
                for (unsigned i = 0; (other = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
                    if (nbcoll_predict(&terms, &a, other, &ns) == NBCOLL_OK)
                        assert_true(least <= ns);
            }
}

static void small_data_take_few_messages_and_large_data_few_bytes(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.ranks = 64;
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 10).algorithm->name, "tree");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 1000000).algorithm->name, "chain_pipelined");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLTOALL, 1).algorithm->name, "bruck");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLTOALL, 100000).algorithm->name, "flat");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, 1).algorithm->name, "recursive_doubling");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, 1000000).algorithm->name, "owners");
}

static void a_limit_of_the_host_replaces_the_cost_model(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.large = 80;
    nbcoll_choice small = choice_of(&terms, NBCOLL_OPERATION_BCAST, 9);
    nbcoll_choice large = choice_of(&terms, NBCOLL_OPERATION_BCAST, 10);
    assert_string_equal(small.algorithm->name, "binomial");
    assert_string_equal(large.algorithm->name, "scatter_ring");
    assert_int_equal(small.reason, NBCOLL_REASON_SIZE);
    assert_int_equal(large.reason, NBCOLL_REASON_SIZE);
    assert_int_equal(large.bytes, 80);
}

/* What a cell holds is there at once; more is got, which takes longer than a short message, but not than a long one. */
static void exposures_compete_where_all_share_memory(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.between.get_ns = 1500;
    assert_string_not_equal(choice_of(&terms, NBCOLL_OPERATION_GATHER, 1).algorithm->name, "slots");
    terms.shared = 1;
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_GATHER, 1).algorithm->name, "slots");
    assert_string_not_equal(choice_of(&terms, NBCOLL_OPERATION_GATHER, 11).algorithm->name, "slots");
    assert_string_not_equal(choice_of(&terms, NBCOLL_OPERATION_GATHER, 512).algorithm->name, "slots");
    assert_string_equal(choice_of(&terms, NBCOLL_OPERATION_GATHER, 513).algorithm->name, "slots");
    for (size_t count = 513; count < 1000000; count *= 2)
        assert_string_not_equal(choice_of(&terms, NBCOLL_OPERATION_REDUCE, count).algorithm->name, "slots");
}

static void without_costs_shared_memory_is_stronger_than_size(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.shared = 1;
    terms.large = 80;
    nbcoll_choice c = choice_of(&terms, NBCOLL_OPERATION_BCAST, 100000);
    assert_string_equal(c.algorithm->name, "slots");
    assert_int_equal(c.reason, NBCOLL_REASON_SHARED);
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, 100000).reason, NBCOLL_REASON_SIZE);
}

static void where_the_bits_must_be_the_same_only_algorithms_that_keep_them_are_compared(void **state)
{
    nbcoll_terms terms = by_cost;
    (void)state;
    terms.flags = NBCOLL_REPRODUCIBLE;
    for (size_t count = 1; count < 1000000; count *= 10)
        assert_true(choice_of(&terms, NBCOLL_OPERATION_ALLREDUCE, count).algorithm->flags &
                    NBCOLL_ALGORITHM_REPRODUCIBLE);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static nbcoll_choice by_rules(const nbcoll_rule rules[], size_t n, int ranks, size_t count, int shared, uint32_t flags)
{
    nbcoll_terms terms = by_cost;
    terms.ranks = ranks;
    terms.shared = shared;
    terms.flags = flags;
    terms.rules = rules;
    terms.rule_count = n;
    return choice_of(&terms, rules[0].algorithm->operation, count);
}

static void a_rule_is_stronger_than_shared_memory_and_cost(void **state)
{
    const nbcoll_rule rule = {.algorithm = named(NBCOLL_OPERATION_BCAST, "hierarchical"), .segment = 7, .arity = 8,
                              .leaders = 9};
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        nbcoll_choice c = by_rules(&rule, 1, 4, 1, shared, 0);
        assert_ptr_equal(c.algorithm, rule.algorithm);
        assert_int_equal(c.reason, NBCOLL_REASON_RULE);
        assert_int_equal(c.rule, 0);
        assert_int_equal(c.segment, 7);
        assert_int_equal(c.arity, 8);
        assert_int_equal(c.leaders, 9);
    }
}

static void the_first_rule_that_fits_counts(void **state)
{
    const nbcoll_rule rules[] = {{.algorithm = named(NBCOLL_OPERATION_BCAST, "binomial"), .fewest = 3, .most = 4},
                                 {.algorithm = named(NBCOLL_OPERATION_REDUCE, "pairwise")},
                                 {.algorithm = named(NBCOLL_OPERATION_BCAST, "scatter_ring")}};
    static const size_t expected[] = {2, 0, 0, 2};
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks++)
        assert_int_equal(by_rules(rules, 3, ranks, 1, 0, 0).rule, expected[ranks - 2]);
}

static void a_rule_fits_from_its_first_byte_to_below_its_last(void **state)
{
    const nbcoll_rule rule = {.algorithm = named(NBCOLL_OPERATION_BCAST, "scatter_ring"), .from = 16, .below = 32};
    (void)state;
    for (size_t count = 0; count < 8; count++) /* of 8 bytes */
        assert_int_equal(by_rules(&rule, 1, 4, count, 0, 0).reason == NBCOLL_REASON_RULE, count == 2 || count == 3);
}

static void a_rule_fits_its_topology(void **state)
{
    nbcoll_rule rule = {.algorithm = named(NBCOLL_OPERATION_BCAST, "scatter_ring")};
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        rule.sharing = NBCOLL_SHARED;
        assert_int_equal(by_rules(&rule, 1, 4, 9, shared, 0).reason == NBCOLL_REASON_RULE, shared);
        rule.sharing = NBCOLL_NOT_SHARED;
        assert_int_equal(by_rules(&rule, 1, 4, 9, shared, 0).reason == NBCOLL_REASON_RULE, !shared);
    }
}

/* A rule that names the tree leaves open where it is split; split.h says by how many levels. */
static void trees_are_split_by_the_cores_of_drivers(void **state)
{
    nbcoll_rule rule = {.algorithm = named(NBCOLL_OPERATION_BCAST, "binomial")};
    nbcoll_terms terms = by_cost;
    const int room = 32;
    const nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    nbcoll_nodes *two;
    (void)state;
    terms.ranks = 57;
    terms.rules = &rule;
    terms.rule_count = 1;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 0);
    terms.progress_cores = 7;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 1);
    terms.progress_cores = 1;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split,
                     nbcoll_split_steps(NBCOLL_OPERATION_BCAST, 57, 58));
    terms.progress_cores = UINT32_MAX;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 0);
    terms.progress_cores = 7;
    rule.split = 3;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 3);
    rule = (nbcoll_rule){.algorithm = named(NBCOLL_OPERATION_BCAST, "tree")};
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 0);
    rule.algorithm = named(NBCOLL_OPERATION_BCAST, "binomial");
    assert_int_equal(nbcoll_nodes_place(&placement, 57, NULL, &two), NBCOLL_OK);
    terms.nodes = two;
    assert_int_equal(choice_of(&terms, NBCOLL_OPERATION_BCAST, 9).split, 0);
    nbcoll_nodes_free(two);
}

static void a_rule_whose_algorithm_may_not_serve_is_passed_over(void **state)
{
    const nbcoll_rule ring = {.algorithm = named(NBCOLL_OPERATION_ALLREDUCE, "ring")};
    const nbcoll_rule counted = {.algorithm = named(NBCOLL_OPERATION_GATHERV, "binomial")};
    nbcoll_terms terms = by_cost;
    nbcoll_choice c = {.size = sizeof c};
    (void)state;
    assert_int_equal(by_rules(&ring, 1, 4, 9, 0, 0).reason, NBCOLL_REASON_RULE);
    assert_int_equal(by_rules(&ring, 1, 4, 9, 0, NBCOLL_REPRODUCIBLE).reason, NBCOLL_REASON_COST);
    assert_int_equal(by_rules(&counted, 1, 4, 9, 0, 0).reason, NBCOLL_REASON_RULE);
    terms.rules = &counted;
    terms.rule_count = 1;
    nbcoll_args a = call(NBCOLL_OPERATION_GATHERV, 9, 4);
    a.counts = NULL;
    assert_int_equal(nbcoll_args_complete(&a, 0, 4), NBCOLL_OK);
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_OK);
    assert_string_equal(c.algorithm->name, "flat");
}

static void impossible_rules_are_refused(void **state)
{
    static const nbcoll_algorithm short_one = {.size = 8, .name = "x"};
    const nbcoll_algorithm *good = small_one(NBCOLL_OPERATION_BCAST);
    const nbcoll_rule bad[] = {{.algorithm = good, .fewest = -1},
                               {.algorithm = good, .most = -1},
                               {.algorithm = good, .fewest = 3, .most = 2},
                               {.algorithm = good, .from = 3, .below = 3},
                               {.algorithm = good, .sharing = (nbcoll_sharing)3},
                               {.algorithm = &short_one}};
    nbcoll_rule rules[2] = {{.algorithm = good}};
    size_t which = 9;
    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        rules[1] = bad[i];
        assert_int_equal(nbcoll_rules_check(rules, 2, &which), NBCOLL_ERR_CONFIG);
        assert_int_equal(which, 1);
    }
    rules[1] = (nbcoll_rule){.segment = 1};
    assert_int_equal(nbcoll_rules_check(rules, 2, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_rules_check(NULL, 1, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_rules_check(rules, NBCOLL_RULES + 1, NULL), NBCOLL_ERR_LIMIT);
    assert_int_equal(nbcoll_rules_check(rules, 1, NULL), NBCOLL_OK);
    assert_int_equal(nbcoll_rules_check(NULL, 0, NULL), NBCOLL_OK);
}

static void rules_that_differ_in_anything_but_their_line_have_another_hash(void **state)
{
    const nbcoll_algorithm *binomial = named(NBCOLL_OPERATION_BCAST, "binomial");
    const nbcoll_rule base = {.algorithm = binomial};
    const nbcoll_rule other[] = {{.algorithm = named(NBCOLL_OPERATION_BCAST, "scatter_ring")},
                                 {.algorithm = named(NBCOLL_OPERATION_REDUCE, "binomial")},
                                 {.algorithm = binomial, .fewest = 1},
                                 {.algorithm = binomial, .most = 1},
                                 {.algorithm = binomial, .from = 1},
                                 {.algorithm = binomial, .below = 1},
                                 {.algorithm = binomial, .sharing = NBCOLL_SHARED},
                                 {.algorithm = binomial, .segment = 1},
                                 {.algorithm = binomial, .arity = 1},
                                 {.algorithm = binomial, .ports = 1}};
    const nbcoll_rule elsewhere = {.algorithm = binomial, .line = 5}, swapped[] = {other[0], base},
                      ordered[] = {base, other[0]};
    uint32_t hash = nbcolli_rules_hash(&base, 1);
    (void)state;
    for (size_t i = 0; i < LENGTH(other); i++)
        assert_int_not_equal(nbcolli_rules_hash(&other[i], 1), hash);
    assert_int_equal(nbcolli_rules_hash(&elsewhere, 1), hash);
    assert_int_not_equal(nbcolli_rules_hash(swapped, 2), nbcolli_rules_hash(ordered, 2));
    assert_int_equal(nbcolli_rules_hash(NULL, 0), 0);
    assert_int_not_equal(hash, 0);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void bad_questions_are_refused_and_change_nothing(void **state)
{
    nbcoll_args a = call(NBCOLL_OPERATION_BCAST, 1, 4);
    nbcoll_choice c = {.size = sizeof c, .rule = 77};
    nbcoll_terms terms = by_cost;
    uint64_t ns = 5;
    (void)state;
    assert_int_equal(nbcoll_select(NULL, &a, &c), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_select(&terms, NULL, &c), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_select(&terms, &a, NULL), NBCOLL_ERR_NULL);
    terms.ranks = 0;
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_ERR_RANK);
    terms = by_cost;
    terms.rule_count = 1;
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_ERR_NULL);
    terms.rule_count = 0;
    terms.size = 0;
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_ERR_CONFIG);
    terms = by_cost;
    assert_int_equal(nbcoll_predict(&terms, &a, NULL, &ns), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_predict(&terms, &a, small_one(NBCOLL_OPERATION_REDUCE), &ns), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_predict(&terms, &a, named(NBCOLL_OPERATION_BCAST, "slots"), &ns), NBCOLL_ERR_UNSUPPORTED);
    a.operation = NBCOLL_OPERATION_COUNT;
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_ERR_ARGUMENT);
    c.size = 0;
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_ERR_CONFIG);
    assert_int_equal(c.rule, 77);
    assert_int_equal(ns, 5);
}

static void reasons_have_names(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_reason_name(NBCOLL_REASON_COST), "COST");
    assert_string_equal(nbcoll_reason_text(NBCOLL_REASON_RULE), "a rule says so");
    assert_string_equal(nbcoll_reason_name(NBCOLL_REASON_COUNT), "?");
    assert_string_equal(nbcoll_reason_text(NBCOLL_REASON_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_those_of_the_formulas),
        cmocka_unit_test(long_messages_count_as_three),
        cmocka_unit_test(costs_beyond_all_numbers_are_the_greatest_number),
        cmocka_unit_test(the_cost_of_the_longest_chain_is_known_at_once),
        cmocka_unit_test(the_cheapest_algorithm_that_may_serve_is_chosen),
        cmocka_unit_test(small_data_take_few_messages_and_large_data_few_bytes),
        cmocka_unit_test(a_limit_of_the_host_replaces_the_cost_model),
        cmocka_unit_test(handling_a_byte_and_getting_have_prices_of_their_own),
        cmocka_unit_test(what_others_read_of_a_result_in_shared_memory_is_dear_to_write_again),
        cmocka_unit_test(crowded_ranks_choose_what_takes_one_hop),
        cmocka_unit_test(what_one_rank_does_alone_is_priced_without_its_cores_other_ranks),
        cmocka_unit_test(a_table_of_parts_costs_what_the_terms_say),
        cmocka_unit_test(the_cheapest_parameters_come_with_the_algorithm),
        cmocka_unit_test(more_segments_than_credits_are_long_messages),
        cmocka_unit_test(exposures_compete_where_all_share_memory),
        cmocka_unit_test(different_parts_go_by_cells_where_these_are_cheaper),
        cmocka_unit_test(without_costs_shared_memory_is_stronger_than_size),
        cmocka_unit_test(where_the_bits_must_be_the_same_only_algorithms_that_keep_them_are_compared),
        cmocka_unit_test(a_rule_is_stronger_than_shared_memory_and_cost),
        cmocka_unit_test(the_first_rule_that_fits_counts),
        cmocka_unit_test(a_rule_fits_from_its_first_byte_to_below_its_last),
        cmocka_unit_test(a_rule_fits_its_topology),
        cmocka_unit_test(trees_are_split_by_the_cores_of_drivers),
        cmocka_unit_test(a_rule_whose_algorithm_may_not_serve_is_passed_over),
        cmocka_unit_test(impossible_rules_are_refused),
        cmocka_unit_test(rules_that_differ_in_anything_but_their_line_have_another_hash),
        cmocka_unit_test(bad_questions_are_refused_and_change_nothing),
        cmocka_unit_test(reasons_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
