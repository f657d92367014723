/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_ALGORITHMS(X)                                                                                   \
    X(REDUCE, reduce_binomial, binomial, NBCOLLI_REPRODUCIBLE | NBCOLLI_SPLIT,                                         \
      nbcolli_cost_binomial(c, P, n, 0, n, 1))                                                                         \
    X(REDUCE, reduce_pairwise, pairwise, 0,                                                                            \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_TAKES, 0))                  \
    X(REDUCE, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE,                                                     \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_TAKES, 0))                  \
    X(REDUCE, reduce_slots, slots, NBCOLLI_EXPOSES, nbcolli_cost_collected(c, n, n))                                   \
    X(REDUCE, combine_flat, flat, 0, nbcolli_cost_flat(c, n, NBCOLLI_COST_TAKES, n))                                   \
    X(REDUCE, combine_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                            \
    X(REDUCE, reduce_spanning_tree, spanning_tree, 0, NBCOLLI_NO_COST)                                                 \
    X(REDUCE, reduce_hierarchical, hierarchical, NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_BY_NODES,                \
      nbcolli_cost_nodes_reduce(c))                                                                                    \
    X(REDUCE, reduce_hierarchical_ordered, hierarchical_ordered, NBCOLLI_SEGMENT | NBCOLLI_BY_NODES,                   \
      nbcolli_cost_nodes_reduce(c))                                                                                    \
    X(REDUCE, reduce_hierarchical_domains, hierarchical_domains,                                                       \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_BY_DOMAINS | NBCOLLI_EXPOSES,                                       \
      nbcolli_cost_domains_reduce(c))
NBCOLLI_TABLE(reduce, REDUCE)
const nbcolli_algorithms nbcolli_algorithms_reduce = NBCOLLI_ALL_OF(reduce);

NBCOLLI_PLAIN_FORMS(reduce, (NBCOLLI_COMBINED int root,), NBCOLLI_COMBINED_SAID(REDUCE, root))
