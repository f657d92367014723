/* SPDX-License-Identifier: BSD-3-Clause
 * Gather and scatter of long blocks, or of blocks of whatever length: each goes directly between its rank and the root,
 * so that every byte moves once. The root posts all messages at once, or each when the one before has ended. Source:
 * the flat tree over nonblocking and over blocking primitives of Ramos' thesis (2013), section 4.1.2. */
#include "algorithms.h"

static void nbcolli_flat_blocks(nbcoll_builder *b, const nbcoll_args *a, int is_gather, int is_sequential)
{
    const nbcolli_rooted p = {.b = b, .a = a, .is_gather = is_gather};
    nbcoll_region own = (is_gather ? nbcoll_send_block : nbcoll_recv_block)(b, a, a->root);
    nbcoll_step before = NBCOLL_START;

    if (b->rank != a->root) {
        nbcolli_rooted_pass(&p, a->root, 1, own.at, own.bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        nbcoll_region block = nbcolli_rooted_place(&p, peer);
        nbcoll_step step = nbcolli_rooted_pass(&p, peer, 0, block.at, block.bytes);
        nbcoll_after(b, step, before);
        before = is_sequential ? step : NBCOLL_START;
    }
    if (!a->in_place)
        nbcolli_rooted_copy(&p, own.at, nbcolli_rooted_place(&p, a->root).at, own.bytes);
}

void nbcolli_gather_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_blocks(b, a, 1, 0);
}

void nbcolli_gather_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_blocks(b, a, 1, 1);
}

void nbcolli_scatter_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_blocks(b, a, 0, 0);
}

void nbcolli_scatter_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_blocks(b, a, 0, 1);
}
