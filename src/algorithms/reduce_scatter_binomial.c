/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of short vectors: reduced up a binomial tree to rank 0, then scattered down one. Operands stand in
 * rank order. At most 2 ceil(log2 P) messages after each other. Source: Thakur, Rabenseifner, Gropp, "Optimization of
 * collective communication operations in MPICH" (2005), its older way for operations that do not commute. */
#include "algorithms.h"

void nbcolli_reduce_scatter_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_args reduce = *a, scatter = *a;

    reduce.operation = NBCOLL_OPERATION_REDUCE;
    reduce.counts = NULL;
    reduce.count = a->counts ? a->count : a->count * (size_t)b->ranks;
    reduce.bytes = reduce.count * a->element;
    reduce.recv = nbcoll_add_scratch(b, b->rank ? 0 : reduce.bytes);
    reduce.in_place = 0;
    nbcolli_reduce_binomial(b, &reduce);
    /* Rank 0 has nothing to scatter before; in place, blocks come to where operands were. */
    if (!b->rank || a->in_place)
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    scatter.operation = a->counts ? NBCOLL_OPERATION_SCATTERV : NBCOLL_OPERATION_SCATTER;
    scatter.send = reduce.recv;
    scatter.in_place = 0;
    nbcolli_scatter_binomial(b, &scatter);
}
