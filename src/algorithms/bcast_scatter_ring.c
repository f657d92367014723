/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast of long vectors: the root gives every rank one block, then the blocks go round a ring. No rank sends more
 * than twice the vector. Source: Barnett and others, "Interprocessor collective communication library (InterCom)"
 * (1994), scatter and collect; here the scatter is direct, so that every block takes one hop to the rank that starts it
 * on its way. */
#include "algorithms.h"

static nbcoll_region nbcolli_bcast_block(const nbcoll_builder *b, const nbcoll_args *a, int i)
{
    return nbcoll_span(nbcoll_at(a->recv, nbcoll_block_offset(a->bytes, b->ranks, i)),
                       nbcoll_block_length(a->bytes, b->ranks, i));
}

/* The root has everything, so that nobody sends it anything. */
static void nbcolli_bcast_scatter_ring_root(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, right = nbcoll_absolute(1 % ranks, b->rank, ranks);

    for (int i = 1; i < ranks; i++) {
        nbcoll_region block = nbcolli_bcast_block(b, a, i);
        nbcoll_add_send(b, nbcoll_absolute(i, b->rank, ranks), block.at, block.bytes);
    }
    for (int i = ranks; i > 1; i--) {
        nbcoll_region block = nbcolli_bcast_block(b, a, i % ranks);
        nbcoll_add_send(b, right, block.at, block.bytes);
    }
}

/* Block i is that of relative rank i: what a rank got in one step of the ring it passes on in the next. */
void nbcolli_bcast_scatter_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, me = nbcoll_relative(b->rank, a->root, ranks);

    if (!me) {
        nbcolli_bcast_scatter_ring_root(b, a);
        return;
    }
    int left = nbcoll_absolute(me - 1, a->root, ranks), right = nbcoll_absolute((me + 1) % ranks, a->root, ranks);
    nbcoll_region block = nbcolli_bcast_block(b, a, me);
    nbcoll_step data = nbcoll_add_recv(b, a->root, block.at, block.bytes);
    for (int i = 1; i < ranks; i++) {
        if (right != a->root)
            nbcoll_after(b, nbcoll_add_send(b, right, block.at, block.bytes), data);
        block = nbcolli_bcast_block(b, a, nbcoll_relative(me, i, ranks));
        data = nbcoll_add_recv(b, left, block.at, block.bytes);
    }
}
