/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions whose order matters, on nodes with domains, whatever the numbering of the ranks: what combines by nodes or
 * domains in another order serves none of them, also where a rule names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "nbcoll/verify.h"

enum { RANKS = 24 };

static const int room[] = {3, 1, 4};

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    (void)user, (void)result, (void)left, (void)right, (void)count, (void)type;
    return NBCOLL_OK;
}

static const nbcoll_host_op ordered = {.size = sizeof(nbcoll_host_op), .combine = combine};

/* What serves the call where a rule names that algorithm. */
static nbcoll_choice chosen(const nbcoll_nodes *nodes, const nbcoll_algorithm *named, nbcoll_op op, uint32_t flags)
{
    const nbcoll_rule rule = {.algorithm = named};
    nbcoll_terms terms = {.size = sizeof terms, .ranks = RANKS, .flags = flags,
                          .between = {.alpha_ns = 1500, .beta_ps = 200, .overhead_ns = 200},
                          .large = NBCOLL_BY_COST, .nodes = nodes, .nodes_share = 1,
                          .rules = &rule, .rule_count = 1};
    size_t counts[RANKS];
    nbcoll_args a = {.size = sizeof a, .operation = named->operation, .count = 9, .counts = counts,
                     .reduction = {NBCOLL_DOUBLE, op}};
    nbcoll_choice c = {.size = sizeof c};
    for (int i = 0; i < RANKS; i++)
        counts[i] = a.count;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_OK);
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_OK);
    return c;
}

static void judge(const nbcoll_nodes *nodes, const nbcoll_algorithm *named)
{
    int reorders = (named->flags & NBCOLL_ALGORITHM_REORDERS) != 0;
    assert_ptr_equal(chosen(nodes, named, NBCOLL_SUM, 0).algorithm, named);
    nbcoll_choice c = chosen(nodes, named, nbcoll_op_of(&ordered), 0);
    assert_int_equal(c.algorithm == named, !reorders);
    assert_false(c.algorithm->flags & NBCOLL_ALGORITHM_REORDERS);
    c = chosen(nodes, named, NBCOLL_SUM, NBCOLL_REPRODUCIBLE);
    assert_ptr_not_equal(c.algorithm, named);
    assert_true(c.algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE);
}

static void no_rule_has_an_order_changed_that_matters(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE,
                                                  NBCOLL_OPERATION_REDUCE_SCATTER,
                                                  NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK, NBCOLL_OPERATION_SCAN,
                                                  NBCOLL_OPERATION_EXSCAN};
    const nbcoll_algorithm *named;
    unsigned hierarchical = 0, by_domains = 0;
    (void)state;
    for (int numbering = 0; numbering < 3 * 2; numbering++) {
        const nbcoll_placement placement = {sizeof placement, room, 3, (nbcoll_numbering)(numbering / 2), 5,
                                            2 * (numbering % 2)};
        nbcoll_nodes *nodes;
        assert_int_equal(nbcoll_nodes_place(&placement, RANKS, NULL, &nodes), NBCOLL_OK);
        for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
            for (unsigned i = 0; (named = nbcoll_algorithm_at(operations[o], i)); i++)
                if (named->flags & NBCOLL_ALGORITHM_NODES) {
                    judge(nodes, named);
                    hierarchical++;
                    by_domains += (named->flags & NBCOLL_ALGORITHM_DOMAINS) != 0;
                }
        nbcoll_nodes_free(nodes);
    }
    assert_true(hierarchical > by_domains && by_domains > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_rule_has_an_order_changed_that_matters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
