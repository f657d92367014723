/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCATTER_ALGORITHMS(X)                                                                                  \
    X(SCATTER, scatter_binomial, binomial, NBCOLLI_SPLIT,                                                              \
      nbcolli_cost_own_block(c, m) + nbcolli_cost_binomial(c, P, 0, m, 0, 0))                                          \
    X(SCATTER, scatter_flat, flat, 0, nbcolli_cost_own_block(c, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_SENDS, 0))   \
    X(SCATTER, scatter_slots, slots, NBCOLLI_EXPOSES, nbcolli_cost_parts(c, m))                                        \
    X(SCATTER, scatter_spanning_tree, spanning_tree, 0, NBCOLLI_NO_COST)                                               \
    X(SCATTER, scatter_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                           \
    X(SCATTER, scatter_hierarchical, hierarchical, NBCOLLI_BY_NODES, nbcolli_cost_nodes_scatter(c))
NBCOLLI_TABLE(scatter, SCATTER)
const nbcolli_algorithms nbcolli_algorithms_scatter = NBCOLLI_ALL_OF(scatter);

NBCOLLI_PLAIN_FORMS(scatter, (NBCOLLI_MOVED int root,), NBCOLLI_MOVED_SAID(SCATTER, root))
