/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of equal blocks: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_SCATTER_BLOCK_ALGORITHMS(X)                                                                     \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_binomial, binomial, NBCOLLI_REPRODUCIBLE,                                   \
      nbcolli_cost_binomial(c, P, n, 0, n, 1) + nbcolli_cost_binomial(c, P, 0, m, 0, 0))                               \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE,                                       \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, m))                                                                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving, halving, NBCOLLI_REORDERS,                                         \
      nbcolli_cost_halving(c, 1, 0) + m * c->copy + x * (nbcolli_cost_neighbour(c, n) + n * c->gamma +                 \
      nbcolli_cost_neighbour(c, m)))                                                                                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving_sequential, halving_sequential, NBCOLLI_REORDERS, NBCOLLI_NO_COST)  \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring, ring, NBCOLLI_REORDERS, nbcolli_cost_ring(c, m, m))                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring_sequential, ring_sequential, NBCOLLI_REORDERS, NBCOLLI_NO_COST)        \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical, hierarchical, NBCOLLI_REORDERS | NBCOLLI_BY_NODES,            \
      nbcolli_cost_nodes_reduce_scatter(c, 0))                                                                         \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical_ordered, hierarchical_ordered, NBCOLLI_BY_NODES,               \
      nbcolli_cost_nodes_reduce_scatter(c, 1))
NBCOLLI_TABLE(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
const nbcolli_algorithms nbcolli_algorithms_reduce_scatter_block = NBCOLLI_ALL_OF(reduce_scatter_block);

NBCOLLI_PLAIN_FORMS(reduce_scatter_block, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(REDUCE_SCATTER_BLOCK, 0))
