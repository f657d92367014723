/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of equal blocks: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_SCATTER_BLOCK_ALGORITHMS(X)                                                                     \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_binomial, binomial, NBCOLLI_REPRODUCIBLE)                                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE)                                       \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving, halving, NBCOLLI_REORDERS)                                         \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving_sequential, halving_sequential, NBCOLLI_REORDERS)                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring, ring, NBCOLLI_REORDERS)                                               \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring_sequential, ring_sequential, NBCOLLI_REORDERS)                         \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical, hierarchical,                                                 \
      NBCOLLI_REORDERS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                                            \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical_ordered, hierarchical_ordered,                                 \
      NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
const nbcolli_algorithms nbcolli_algorithms_reduce_scatter_block = NBCOLLI_ALL_OF(nbcolli_table_reduce_scatter_block);

NBCOLLI_PLAIN_FORMS(reduce_scatter_block, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(REDUCE_SCATTER_BLOCK, 0))
