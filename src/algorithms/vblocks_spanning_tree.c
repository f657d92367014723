/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of blocks of different known lengths down the minimum spanning tree: the ranks are halved again and again,
 * and each time who stands for all of them sends the blocks of the other half in one message. Gather up it is the
 * mirror image: every message goes the other way, and every edge is turned round. The root's blocks may lie anywhere:
 * in scratch memory it brings those of a half side by side. ceil(log2 P) messages after each other. Source: MST of
 * Scatter(v) and Gather(v) in Ramos et al., Table I; Chan et al. as for the spanning tree of equal blocks. */
#include "algorithms.h"

typedef struct nbcolli_vspanning_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_addr own; /* this rank's block, where it has one of its own */
    int is_gather;
} nbcolli_vspanning_plan;

/* Of the blocks of the ranks low .. high - 1. */
static size_t nbcolli_vspanning_bytes(const nbcolli_vspanning_plan *p, int low, int high)
{
    return nbcoll_block_sum(p->a->counts, low, high - low, p->b->ranks) * p->a->element;
}

/* The blocks of a group at `at`, to the peer (is_down: farther from the root), or in a gather from it. */
static nbcoll_step nbcolli_vspanning_move(const nbcolli_vspanning_plan *p, int peer, int is_down, nbcoll_addr at,
                                          nbcoll_group blocks)
{
    size_t bytes = nbcolli_vspanning_bytes(p, blocks.low, blocks.high);
    return is_down == p->is_gather ? nbcoll_add_recv(p->b, peer, at, bytes) : nbcoll_add_send(p->b, peer, at, bytes);
}

/* A block where it is nearer to the root, and farther from it. */
static nbcoll_step nbcolli_vspanning_copy(const nbcolli_vspanning_plan *p, nbcoll_addr nearer, nbcoll_addr farther,
                                          size_t bytes)
{
    return p->is_gather ? nbcoll_add_copy(p->b, nearer, farther, bytes) : nbcoll_add_copy(p->b, farther, nearer, bytes);
}

/* Blocks pass the step that is nearer to the root first, in a gather last. */
static void nbcolli_vspanning_order(const nbcolli_vspanning_plan *p, nbcoll_step nearer, nbcoll_step farther)
{
    nbcoll_after(p->b, p->is_gather ? nearer : farther, p->is_gather ? farther : nearer);
}

static nbcoll_region nbcolli_vspanning_place(const nbcolli_vspanning_plan *p, int rank)
{
    return p->is_gather ? nbcoll_recv_block(p->b, p->a, rank) : nbcoll_send_block(p->b, p->a, rank);
}

/* At the root: the message of a half, and its blocks in their places. */
static void nbcolli_vspanning_pack(const nbcolli_vspanning_plan *p, nbcoll_group half)
{
    nbcoll_addr room = nbcoll_add_scratch(p->b, nbcolli_vspanning_bytes(p, half.low, half.high));
    nbcoll_step message = nbcolli_vspanning_move(p, half.root, 1, room, half);

    for (int rank = half.low; rank < half.high; rank++) {
        nbcoll_region place = nbcolli_vspanning_place(p, rank);
        nbcolli_vspanning_order(p, nbcolli_vspanning_copy(p, place.at, room, place.bytes), message);
        room = nbcoll_at(room, place.bytes);
    }
}

static void nbcolli_vspanning_tree(const nbcolli_vspanning_plan *p)
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
            nbcolli_vspanning_order(p, above, nbcolli_vspanning_move(p, other.root, 1, half, other));
        } else if (mine.root == me) {
            first = mine.low;
            if (mine.high - mine.low > 1)
                room = nbcoll_add_scratch(p->b, nbcolli_vspanning_bytes(p, mine.low, mine.high));
            above = nbcolli_vspanning_move(p, other.root, 0, room, mine);
            if (mine.high - mine.low > 1)
                nbcolli_vspanning_order(
                    p, above,
                    nbcolli_vspanning_copy(p, nbcoll_at(room, nbcolli_vspanning_bytes(p, first, me)), p->own, own));
        }
    }
    if (me == root && !p->a->in_place)
        nbcolli_vspanning_copy(p, nbcolli_vspanning_place(p, me).at, p->own, own);
}

void nbcolli_scatterv_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vspanning_tree(&(nbcolli_vspanning_plan){b, a, a->recv, 0});
}

void nbcolli_gatherv_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vspanning_tree(&(nbcolli_vspanning_plan){b, a, a->send, 1});
}
