/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of short blocks of different known lengths, up a binomial tree: each rank collects the blocks of its subtree
 * and sends them to its parent. Scatter down it is the mirror image, as in blocks_binomial. At most ceil(log2 P)
 * messages after each other. Source: as there; here the root's blocks may lie anywhere, so that it brings them into
 * relative order in scratch memory, too. */
#include "algorithms.h"

/* The bytes of `blocks` blocks, from that of relative rank `first` on. */
static size_t nbcolli_vblocks_bytes(const nbcolli_rooted *p, int first, int blocks)
{
    int ranks = p->b->ranks;
    return nbcolli_blocks_bytes(p->b, p->a, nbcoll_absolute(first, p->a->root, ranks), blocks);
}

/* At the root: the blocks of a child's subtree, at `room` as they travel by `step`, and in their places. */
static void nbcolli_vblocks_pack(const nbcolli_rooted *p, int child, int blocks, nbcoll_addr room,
                                 nbcoll_step step)
{
    for (int i = 0; i < blocks; i++) {
        nbcoll_region place = nbcolli_rooted_place(p, nbcoll_absolute(child + i, p->a->root, p->b->ranks));
        nbcolli_rooted_order(p, step, nbcolli_rooted_copy(p, room, place.at, place.bytes));
        room = nbcoll_at(room, place.bytes);
    }
}

static void nbcolli_vblocks_binomial(const nbcolli_rooted *p)
{
    int ranks = p->b->ranks, me = nbcoll_relative(p->b->rank, p->a->root, ranks);
    int size = nbcoll_binomial_size(me, ranks);
    size_t own = nbcolli_vblocks_bytes(p, me, 1), all = nbcolli_vblocks_bytes(p, me, size);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(p->b, all) : p->own;
    nbcoll_step above = NBCOLL_START;

    if (me)
        above = nbcolli_rooted_pass(p, nbcoll_absolute(nbcoll_binomial_parent(me), p->a->root, ranks), 1, room, all);
    if (me && size > 1)
        nbcolli_rooted_order(p, nbcolli_rooted_copy(p, p->own, room, own), above);
    if (!me && !p->a->in_place)
        nbcolli_rooted_copy(p, p->own, nbcolli_rooted_place(p, p->b->rank).at, own);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, nbcolli_vblocks_bytes(p, me, child - me));
        int peer = nbcoll_absolute(child, p->a->root, ranks);
        nbcoll_step step = nbcolli_rooted_pass(p, peer, 0, at, nbcolli_vblocks_bytes(p, child, blocks));
        if (me)
            nbcolli_rooted_order(p, step, above);
        else
            nbcolli_vblocks_pack(p, child, blocks, at, step);
    }
}

void nbcolli_gatherv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vblocks_binomial(&(nbcolli_rooted){b, a, a->recv, a->send, 1});
}

void nbcolli_scatterv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vblocks_binomial(&(nbcolli_rooted){b, a, a->send, a->recv, 0});
}
