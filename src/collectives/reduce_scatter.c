/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_SCATTER_ALGORITHMS(X)                                                                           \
    X(REDUCE_SCATTER, reduce_scatter_binomial, binomial, NBCOLLI_REPRODUCIBLE)                                         \
    X(REDUCE_SCATTER, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE)                                             \
    X(REDUCE_SCATTER, reduce_scatter_halving, halving, NBCOLLI_REORDERS)                                               \
    X(REDUCE_SCATTER, reduce_scatter_halving_sequential, halving_sequential, NBCOLLI_REORDERS)                         \
    X(REDUCE_SCATTER, reduce_scatter_ring, ring, NBCOLLI_REORDERS)                                                     \
    X(REDUCE_SCATTER, reduce_scatter_ring_sequential, ring_sequential, NBCOLLI_REORDERS)                               \
    X(REDUCE_SCATTER, reduce_scatter_hierarchical, hierarchical,                                                       \
      NBCOLLI_REORDERS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                                            \
    X(REDUCE_SCATTER, reduce_scatter_hierarchical_ordered, hierarchical_ordered,                                       \
      NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(reduce_scatter, REDUCE_SCATTER)
const nbcolli_algorithms nbcolli_algorithms_reduce_scatter = NBCOLLI_ALL_OF(nbcolli_table_reduce_scatter);

NBCOLLI_FORMS(reduce_scatter,
              (const void *send, void *recv, const size_t counts[], nbcoll_type type, nbcoll_op op,),
              .args = {.operation = NBCOLL_OPERATION_REDUCE_SCATTER, .reduction = {type, op}},
              .send = send, .recv = recv, .blocks = {[1] = {.counts = counts}})
