/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of blocks of different known lengths down the minimum spanning tree: the ranks are halved again and again,
 * and each time who stands for all of them sends the blocks of the other half in one message. Gather up it is the
 * mirror image: every message goes the other way, and every edge is turned round. The root's blocks may lie anywhere:
 * in scratch memory it brings those of a half side by side. ceil(log2 P) messages after each other. Source: MST of
 * Scatter(v) and Gather(v) in Ramos et al., Table I; Chan et al. as for the spanning tree of equal blocks. */
#include "algorithms.h"

/* Of the blocks of the ranks low .. high - 1. */
static size_t nbcolli_vspanning_bytes(const nbcolli_rooted *p, int low, int high)
{
    return nbcolli_blocks_bytes(p->b, p->a, low, high - low);
}

/* The blocks of a group at `at`, to the peer (is_down: farther from the root), or in a gather from it. */
static nbcoll_step nbcolli_vspanning_move(const nbcolli_rooted *p, int peer, int is_down, nbcoll_addr at,
                                          nbcoll_group blocks)
{
    return nbcolli_rooted_pass(p, peer, !is_down, at, nbcolli_vspanning_bytes(p, blocks.low, blocks.high));
}

/* At the root: the message of a half, and its blocks in their places. */
static void nbcolli_vspanning_pack(const nbcolli_rooted *p, nbcoll_group half)
{
    nbcoll_addr room = nbcoll_add_scratch(p->b, nbcolli_vspanning_bytes(p, half.low, half.high));
    nbcoll_step message = nbcolli_vspanning_move(p, half.root, 1, room, half);

    for (int rank = half.low; rank < half.high; rank++) {
        nbcoll_region place = nbcolli_rooted_place(p, rank);
        nbcolli_rooted_order(p, message, nbcolli_rooted_copy(p, room, place.at, place.bytes));
        room = nbcoll_at(room, place.bytes);
    }
}

static void nbcolli_vspanning_tree(const nbcolli_rooted *p)
{
    int me = p->b->rank, root = p->a->root, first = 0;
    nbcoll_group mine = {0, p->b->ranks, root};
    nbcoll_addr room = p->own; /* of all but the root: for the blocks of the ranks from `first` on */
    nbcoll_step above = NBCOLL_START;
    size_t own = nbcolli_vspanning_bytes(p, me, me + 1);

    while (mine.high - mine.low > 1) {
        int had = mine.root == me;
        nbcoll_group other = nbcoll_group_halve(&mine, me);
        if (had && me == root)
            nbcolli_vspanning_pack(p, other);
        else if (had) {
            nbcoll_addr half = nbcoll_at(room, nbcolli_vspanning_bytes(p, first, other.low));
            nbcolli_rooted_order(p, nbcolli_vspanning_move(p, other.root, 1, half, other), above);
        } else if (mine.root == me) {
            first = mine.low;
            if (mine.high - mine.low > 1)
                room = nbcoll_add_scratch(p->b, nbcolli_vspanning_bytes(p, mine.low, mine.high));
            above = nbcolli_vspanning_move(p, other.root, 0, room, mine);
            if (mine.high - mine.low > 1)
                nbcolli_rooted_order(
                    p, nbcolli_rooted_copy(p, p->own, nbcoll_at(room, nbcolli_vspanning_bytes(p, first, me)), own),
                    above);
        }
    }
    if (me == root && !p->a->in_place)
        nbcolli_rooted_copy(p, p->own, nbcolli_rooted_place(p, me).at, own);
}

void nbcolli_scatterv_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vspanning_tree(&(nbcolli_rooted){b, a, a->send, a->recv, 0});
}

void nbcolli_gatherv_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vspanning_tree(&(nbcolli_rooted){b, a, a->recv, a->send, 1});
}
