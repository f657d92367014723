/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of short blocks of different known lengths, up a binomial tree: each rank collects the blocks of its subtree
 * and sends them to its parent. Scatter down it is the mirror image, as in blocks_binomial. At most ceil(log2 P)
 * messages after each other. Source: as there; here the root's blocks may lie anywhere, so that it brings them into
 * relative order in scratch memory, too. */
#include "algorithms.h"

typedef struct nbcolli_vblocks_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_addr own; /* this rank's block, where it has one of its own */
    int is_gather;
} nbcolli_vblocks_plan;

/* The bytes of `blocks` blocks, from that of relative rank `first` on. */
static size_t nbcolli_vblocks_bytes(const nbcolli_vblocks_plan *p, int first, int blocks)
{
    int ranks = p->b->ranks;
    return nbcoll_block_sum(p->a->counts, nbcoll_absolute(first, p->a->root, ranks), blocks, ranks) * p->a->element;
}

/* The message with the relative rank `peer`, which is nearer to the root or farther from it. */
static nbcoll_step nbcolli_vblocks_move(const nbcolli_vblocks_plan *p, int peer, int is_nearer, nbcoll_addr at,
                                        size_t bytes)
{
    int rank = nbcoll_absolute(peer, p->a->root, p->b->ranks);
    return is_nearer == p->is_gather ? nbcoll_add_send(p->b, rank, at, bytes) : nbcoll_add_recv(p->b, rank, at, bytes);
}

/* Blocks pass the step that is farther from the root before the nearer one, or after it. */
static void nbcolli_vblocks_order(const nbcolli_vblocks_plan *p, nbcoll_step farther, nbcoll_step nearer)
{
    nbcoll_after(p->b, p->is_gather ? nearer : farther, p->is_gather ? farther : nearer);
}

/* A block between where it is farther from the root, and where it is nearer. */
static nbcoll_step nbcolli_vblocks_copy(const nbcolli_vblocks_plan *p, nbcoll_addr farther, nbcoll_addr nearer,
                                        size_t bytes)
{
    return p->is_gather ? nbcoll_add_copy(p->b, nearer, farther, bytes) : nbcoll_add_copy(p->b, farther, nearer, bytes);
}

static nbcoll_region nbcolli_vblocks_place(const nbcolli_vblocks_plan *p, int rank)
{
    return p->is_gather ? nbcoll_recv_block(p->b, p->a, rank) : nbcoll_send_block(p->b, p->a, rank);
}

/* At the root: the blocks of a child's subtree, at `room` as they travel by `step`, and in their places. */
static void nbcolli_vblocks_pack(const nbcolli_vblocks_plan *p, int child, int blocks, nbcoll_addr room,
                                 nbcoll_step step)
{
    for (int i = 0; i < blocks; i++) {
        nbcoll_region place = nbcolli_vblocks_place(p, nbcoll_absolute(child + i, p->a->root, p->b->ranks));
        nbcolli_vblocks_order(p, step, nbcolli_vblocks_copy(p, room, place.at, place.bytes));
        room = nbcoll_at(room, place.bytes);
    }
}

static void nbcolli_vblocks_binomial(const nbcolli_vblocks_plan *p)
{
    int ranks = p->b->ranks, me = nbcoll_relative(p->b->rank, p->a->root, ranks);
    int size = nbcoll_binomial_size(me, ranks);
    size_t own = nbcolli_vblocks_bytes(p, me, 1), all = nbcolli_vblocks_bytes(p, me, size);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(p->b, all) : p->own;
    nbcoll_step above = NBCOLL_START;

    if (me)
        above = nbcolli_vblocks_move(p, nbcoll_binomial_parent(me), 1, room, all);
    if (me && size > 1)
        nbcolli_vblocks_order(p, nbcolli_vblocks_copy(p, p->own, room, own), above);
    if (!me && !p->a->in_place)
        nbcolli_vblocks_copy(p, p->own, nbcolli_vblocks_place(p, p->b->rank).at, own);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, nbcolli_vblocks_bytes(p, me, child - me));
        nbcoll_step step = nbcolli_vblocks_move(p, child, 0, at, nbcolli_vblocks_bytes(p, child, blocks));
        if (me)
            nbcolli_vblocks_order(p, step, above);
        else
            nbcolli_vblocks_pack(p, child, blocks, at, step);
    }
}

void nbcolli_gatherv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vblocks_binomial(&(nbcolli_vblocks_plan){b, a, a->send, 1});
}

void nbcolli_scatterv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_vblocks_binomial(&(nbcolli_vblocks_plan){b, a, a->recv, 0});
}
