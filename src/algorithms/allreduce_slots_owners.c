/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of long vectors through shared memory: each rank exposes to each other one that one's block of its vector,
 * combines the blocks of all that are its own where they lie, and exposes what comes out to all, who fetch it. A rank
 * combines the vector (P - 1) / P times and copies as much, where by slots it combines it P - 1 times; all ranks get
 * the same bits. Operands of lower ranks are combined from the left, nearest first, then those of higher ones from the
 * right. Source: the slots of Ramos et al., section 3.4; the blocks, as in reduce_scatter_owners.c. */
#include "algorithms.h"

/* This rank's block of the result, and the step since which it stands there. */
static nbcoll_step nbcolli_slots_owners_combine(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region to = nbcolli_vector_block(b, a, a->recv, b->rank);
    size_t count = nbcoll_block_length(a->count, b->ranks, b->rank);
    nbcoll_step sum = NBCOLL_START;

    if (!a->in_place)
        sum = nbcoll_add_copy(b, to.at, nbcolli_vector_block(b, a, a->send, b->rank).at, to.bytes);
    return nbcolli_sum_fetch(b, a, to.at, count, sum);
}

void nbcolli_allreduce_slots_owners(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part *part = nbcoll_builder_parts(b, (size_t)b->ranks);

    for (int i = 1; part && i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, b->rank, b->ranks);
        part[i - 1] = (nbcoll_part){peer, 0, nbcolli_vector_block(b, a, a->send, peer)};
    }
    nbcoll_step given = nbcoll_add_expose(b, (size_t)b->ranks - 1, part);
    nbcoll_region mine = nbcolli_vector_block(b, a, a->recv, b->rank);
    nbcoll_step sum = nbcolli_slots_owners_combine(b, a);

    nbcoll_after(b, nbcoll_add_expose_to_all(b, mine.at, mine.bytes), sum);
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_relative(b->rank, i, b->ranks);
        nbcoll_region block = nbcolli_vector_block(b, a, a->recv, peer);
        nbcoll_step got = nbcoll_add_fetch(b, peer, block.at, block.bytes);
        if (a->in_place) /* others read their operands there */
            nbcoll_after(b, got, given);
    }
}
