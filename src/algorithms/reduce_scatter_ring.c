/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter round a ring: the partial result of a block goes past all ranks once, the last of which is its owner.
 * No rank sends more than the vector. A block's operands are combined in ring order, for commutative reductions.
 * Source: the bucket algorithm of Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
 * practice, and experience" (2007); BKT in Ramos et al., Table I, in whose sequential form a rank posts one transfer
 * each way at a time. */
#include "algorithms.h"

static void nbcolli_bucket_build(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    int ranks = b->ranks, left = nbcoll_relative(b->rank, 1 % ranks, ranks);
    int right = nbcoll_absolute(1 % ranks, b->rank, ranks);
    nbcoll_region part = nbcoll_send_block(b, a, left); /* what goes next */
    nbcoll_step combined = NBCOLL_START;
    nbcoll_step clear = a->in_place && ranks > 1 ? nbcoll_add_join(b) : NBCOLL_START; /* all operands have been read */

    for (int i = 1; i < ranks; i++) {
        nbcoll_region own = nbcoll_send_block(b, a, nbcoll_relative(left, i, ranks));
        nbcoll_addr in = nbcoll_add_scratch(b, own.bytes), to = i < ranks - 1 || a->in_place ? in : a->recv;
        nbcoll_step give = nbcoll_add_send(b, right, part.at, part.bytes),
                    take = nbcoll_add_recv(b, left, in, own.bytes);
        nbcoll_after(b, give, combined);
        if (is_sequential)
            nbcoll_after(b, take, combined);
        if (a->in_place && i == 1)
            nbcoll_after(b, clear, give);
        part = nbcoll_span(to, own.bytes);
        combined = nbcoll_add_combine(b, to, in, own.at, nbcoll_elements(own.bytes, a->element), a->reduction);
        nbcoll_after(b, combined, take);
        if (a->in_place)
            nbcoll_after(b, clear, combined);
        if (is_sequential)
            nbcoll_after(b, combined, give);
    }
    if (ranks == 1 && a->in_place)
        return;
    if (ranks == 1)
        nbcoll_add_copy(b, a->recv, a->send, part.bytes);
    else if (a->in_place) /* the result lies where operands were */
        nbcoll_after(b, nbcoll_add_copy(b, a->recv, part.at, part.bytes), clear);
}

void nbcolli_reduce_scatter_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bucket_build(b, a, 0);
}

void nbcolli_reduce_scatter_ring_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bucket_build(b, a, 1);
}
