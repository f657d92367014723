/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors: reduced up a tree to rank 0, then broadcast down the same one. Operands stand in rank
 * order. At most 2 ceil(log2 P) messages after each other. Source: Ramos et al., Table I, Reduce + Bcast, along the
 * minimum spanning tree; and along the binomial one, as in Ramos' thesis (2013), section 4.1.2. */
#include "algorithms.h"

static void nbcolli_reduce_then_bcast(nbcoll_builder *b, const nbcoll_args *a, nbcoll_build *up, nbcoll_build *down)
{
    nbcoll_args reduce = *a, bcast = *a;

    reduce.operation = NBCOLL_OPERATION_REDUCE;
    bcast.operation = NBCOLL_OPERATION_BCAST;
    up(b, &reduce);
    /* Only rank 0 has the result before; in place, it comes to where the operand was. */
    if (!b->rank || a->in_place)
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    down(b, &bcast);
}

void nbcolli_allreduce_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_then_bcast(b, a, nbcolli_reduce_binomial, nbcolli_bcast_binomial);
}

void nbcolli_allreduce_reduce_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_then_bcast(b, a, nbcolli_reduce_spanning_tree, nbcolli_bcast_spanning_tree);
}
