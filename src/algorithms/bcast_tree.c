/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast down a tree in which every rank has as many children as can be, up to `arity` (four), numbered level by
 * level from the root; whole, or pipelined: in segments of at most `segment` bytes (65536), which a rank passes on one
 * by one. With one child a rank the tree is a chain. Source: the four-ary tree and the pipelines of Ramos' thesis
 * (2013), section 4.1.2. */
#include "algorithms.h"

#define NBCOLLI_TREE_ARITY 4
#define NBCOLLI_TREE_SEGMENT 65536

static int nbcolli_tree_segments(const nbcoll_args *a)
{
    return nbcoll_segments(a->bytes, a->segment ? a->segment : NBCOLLI_TREE_SEGMENT);
}

static void nbcolli_tree_bcast(nbcoll_builder *b, const nbcoll_args *a, int64_t arity, int segments)
{
    int64_t me = nbcoll_relative(b->rank, a->root, b->ranks), child = me * arity + 1;

    for (int i = 0; i < segments; i++) {
        nbcoll_addr at = nbcoll_at(a->recv, nbcoll_block_offset(a->bytes, segments, i));
        size_t bytes = nbcoll_block_length(a->bytes, segments, i);
        nbcoll_step data = NBCOLL_START;
        if (me)
            data = nbcoll_add_recv(b, nbcoll_absolute((int)((me - 1) / arity), a->root, b->ranks), at, bytes);
        for (int64_t k = child; k < b->ranks && k < child + arity; k++)
            nbcoll_after(b, nbcoll_add_send(b, nbcoll_absolute((int)k, a->root, b->ranks), at, bytes), data);
    }
}

void nbcolli_bcast_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_tree_bcast(b, a, a->arity ? a->arity : NBCOLLI_TREE_ARITY, 1);
}

void nbcolli_bcast_tree_pipelined(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_tree_bcast(b, a, a->arity ? a->arity : NBCOLLI_TREE_ARITY, nbcolli_tree_segments(a));
}

void nbcolli_bcast_chain_pipelined(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_tree_bcast(b, a, 1, nbcolli_tree_segments(a));
}
