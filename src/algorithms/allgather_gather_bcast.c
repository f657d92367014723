/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of short blocks, also of different known lengths: gathered at rank 0, then broadcast. Up a binomial tree
 * and down the same one, at most 2 ceil(log2 P) messages after each other; or directly and down the minimum spanning
 * tree, at most ceil(log2 P) + 1, P - 1 of which come to rank 0 at once. Source: the binomial tree of Ramos' thesis
 * (2013), Table 4.1, and its Gather(v) + Bcast, also in Ramos et al., Table I. */
#include "algorithms.h"

static void nbcolli_gather_then_bcast(nbcoll_builder *b, const nbcoll_args *a, nbcoll_build *up, nbcoll_build *down)
{
    nbcoll_args gather = *a, bcast = *a;
    size_t at = 0;

    gather.operation = a->counts ? NBCOLL_OPERATION_GATHERV : NBCOLL_OPERATION_GATHER;
    bcast.operation = NBCOLL_OPERATION_BCAST;
    bcast.bytes = a->counts ? a->bytes : a->bytes * (size_t)b->ranks;
    if (a->counts) /* they may lie anywhere, and not alike on all ranks */
        bcast.recv = nbcoll_add_scratch(b, bcast.bytes);
    gather.recv = bcast.recv;
    gather.displs = NULL;
    gather.in_place = a->in_place && !a->counts;
    up(b, &gather);
    /* Only rank 0 has to wait for all; in place, the result comes to where the block was. */
    if (!b->rank || gather.in_place)
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    down(b, &bcast);
    if (!a->counts)
        return;
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    for (int i = 0; i < b->ranks; i++) {
        nbcoll_region to = nbcoll_recv_block(b, a, i);
        if (i != b->rank || !a->in_place)
            nbcoll_add_copy(b, to.at, nbcoll_at(bcast.recv, at), to.bytes);
        at += to.bytes;
    }
}

void nbcolli_allgather_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_gather_then_bcast(b, a, nbcolli_gather_binomial, nbcolli_bcast_binomial);
}

void nbcolli_allgather_gather_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_gather_then_bcast(b, a, nbcolli_gather_flat, nbcolli_bcast_spanning_tree);
}
