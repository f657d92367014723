/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of short blocks, also of different known lengths: gathered up a binomial tree to rank 0, then broadcast
 * down one. At most 2 ceil(log2 P) messages after each other. Source: Ramos et al., Table I, Gather(v) + Bcast. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allgather_gather_bcast, nbcolli_gather_binomial, nbcolli_gatherv_binomial, nbcolli_bcast_binomial;

void nbcolli_allgather_gather_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_args gather = *a, bcast = *a;
    size_t at = 0;

    gather.operation = a->counts ? NBCOLL_OPERATION_GATHERV : NBCOLL_OPERATION_GATHER;
    bcast.operation = NBCOLL_OPERATION_BCAST;
    bcast.bytes = a->counts ? a->bytes : a->bytes * (size_t)b->ranks;
    if (a->counts) /* they may lie anywhere, and not alike on all ranks */
        bcast.recv = nbcoll_scratch(b, bcast.bytes);
    gather.recv = bcast.recv;
    gather.displs = NULL;
    gather.in_place = a->in_place && !a->counts;
    (a->counts ? nbcolli_gatherv_binomial : nbcolli_gather_binomial)(b, &gather);
    /* Only rank 0 has to wait for all; in place, the result comes to where the block was. */
    if (!b->rank || gather.in_place)
        nbcoll_stage(b, NBCOLL_DEPENDENT);
    nbcolli_bcast_binomial(b, &bcast);
    if (!a->counts)
        return;
    nbcoll_stage(b, NBCOLL_DEPENDENT);
    for (int i = 0; i < b->ranks; i++) {
        nbcoll_region to = nbcoll_recv_block(b, a, i);
        if (i != b->rank || !a->in_place)
            nbcoll_copy(b, to.at, nbcoll_at(bcast.recv, at), to.bytes);
        at += to.bytes;
    }
}
