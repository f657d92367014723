/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLREDUCE_ALGORITHMS(X)                                                                                \
    X(ALLREDUCE, allreduce_recursive_doubling, recursive_doubling, 0,                                                  \
      nbcolli_cost_rounds(c, D, n, n, 0) + x * (2 * nbcolli_cost_neighbour(c, n) + n * c->gamma))                      \
    X(ALLREDUCE, allreduce_ring, ring, NBCOLLI_REORDERS,                                                               \
      nbcolli_cost_ring(c, m, m) + nbcolli_cost_ring(c, m, 0) + (P - 1) * nbcolli_cost_rewritten(c, m))                \
    X(ALLREDUCE, allreduce_groups, groups, NBCOLLI_REPRODUCIBLE, nbcolli_cost_rounds(c, L, n, n, 0))                   \
    X(ALLREDUCE, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE,                                                  \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, 0) +                  \
      nbcolli_cost_rewritten(c, m))                                                                                    \
    X(ALLREDUCE, allreduce_slots, slots, NBCOLLI_EXPOSES,                                                              \
      nbcolli_cost_fetches(c, P - 1, n, n, n) + nbcolli_cost_staging(c, n) + n * c->copy)                             \
    X(ALLREDUCE, combine_flat, flat, 0, nbcolli_cost_flat(c, n, NBCOLLI_COST_BOTH, 0) + (P - 1) * (n * c->gamma))      \
    X(ALLREDUCE, allreduce_binomial, binomial, NBCOLLI_REPRODUCIBLE | NBCOLLI_SPLIT, NBCOLLI_NO_COST)                  \
    X(ALLREDUCE, allreduce_recursive_doubling_sequential, recursive_doubling_sequential, 0, NBCOLLI_NO_COST)           \
    X(ALLREDUCE, allreduce_two_roots, two_roots, NBCOLLI_REPRODUCIBLE, NBCOLLI_NO_COST)                                \
    X(ALLREDUCE, allreduce_reduce_bcast, reduce_bcast, 0, NBCOLLI_NO_COST)                                             \
    X(ALLREDUCE, allreduce_halving, halving, 0,                                                                        \
      nbcolli_cost_halving(c, 1, 1) + nbcolli_cost_halving(c, 0, 1) + x * (2 * nbcolli_cost_neighbour(c, n) +          \
      n * c->gamma) + nbcolli_cost_rewritten(c, n - m))                                                                \
    X(ALLREDUCE, allreduce_hierarchical, hierarchical, NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_BY_NODES,          \
      nbcolli_cost_nodes_allreduce(c))                                                                                 \
    X(ALLREDUCE, allreduce_hierarchical_ordered, hierarchical_ordered, NBCOLLI_SEGMENT | NBCOLLI_BY_NODES,             \
      nbcolli_cost_nodes_allreduce(c))                                                                                 \
    X(ALLREDUCE, allreduce_hierarchical_domains, hierarchical_domains,                                                 \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_BY_DOMAINS | 2 * NBCOLLI_EXPOSES,                                   \
      nbcolli_cost_domains_allreduce(c))                                                                               \
    X(ALLREDUCE, allreduce_slots_owners, slots_owners, 2 * NBCOLLI_EXPOSES | NBCOLLI_TOGETHER,                         \
      m * c->copy + nbcolli_cost_fetches(c, P - 1, m, n - m, m) + (P < 3) * nbcolli_cost_staging(c, m) +              \
      nbcolli_cost_fetches(c, P - 1, m, m, 0) + nbcolli_cost_staging(c, m) + nbcolli_cost_kept(c, m))
NBCOLLI_TABLE(allreduce, ALLREDUCE)
const nbcolli_algorithms nbcolli_algorithms_allreduce = NBCOLLI_ALL_OF(allreduce);

NBCOLLI_PLAIN_FORMS(allreduce, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(ALLREDUCE, 0))
