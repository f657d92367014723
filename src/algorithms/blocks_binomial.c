/* SPDX-License-Identifier: BSD-3-Clause
 * Gather up a binomial tree: each rank collects the blocks of its whole subtree and sends them to its parent. Scatter
 * down it is the mirror image: every message goes the other way, and every edge is turned round. At most ceil(log2 P)
 * messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
 * practice, and experience" (2007), the minimum spanning tree. Blocks travel in relative order; in the root's buffer
 * they lie in rank order, so that the one subtree that passes the last rank comes as two messages. */
#include "algorithms.h"

typedef struct nbcolli_blocks_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_addr all, own; /* the root's buffer of all blocks; this rank's block */
    int is_gather;
} nbcolli_blocks_plan;

/* `blocks` blocks at `at` between this rank and the one so far `away`: below 0, nearer to the root; else farther. */
static nbcoll_step nbcolli_blocks_move(const nbcolli_blocks_plan *p, int away, nbcoll_addr at, int blocks)
{
    int ranks = p->b->ranks, root = p->a->root, me = nbcoll_relative(p->b->rank, root, ranks);
    int peer = nbcoll_absolute(me + away, root, ranks), is_nearer = away < 0;
    size_t bytes = (size_t)blocks * p->a->bytes;
    nbcoll_step move = is_nearer == p->is_gather ? nbcoll_add_send(p->b, peer, at, bytes)
                                                 : nbcoll_add_recv(p->b, peer, at, bytes);
    nbcoll_set_split_lane(p->b, move, p->a->split, is_nearer ? -away : away,
                          p->is_gather ? NBCOLL_LANE_START : NBCOLL_LANE_CALLER);
    return move;
}

/* Blocks pass the step that is farther from the root before the nearer one, or after it. */
static void nbcolli_blocks_order(const nbcolli_blocks_plan *p, nbcoll_step farther, nbcoll_step nearer)
{
    nbcoll_after(p->b, p->is_gather ? nearer : farther, p->is_gather ? farther : nearer);
}

static nbcoll_step nbcolli_blocks_copy_own(const nbcolli_blocks_plan *p, nbcoll_addr place)
{
    return p->is_gather ? nbcoll_add_copy(p->b, place, p->own, p->a->bytes)
                        : nbcoll_add_copy(p->b, p->own, place, p->a->bytes);
}

static void nbcolli_blocks_root(const nbcolli_blocks_plan *p)
{
    int ranks = p->b->ranks, root = p->a->root;

    for (int child = nbcoll_binomial_first(0, ranks); child > 0; child = nbcoll_binomial_next(0, child)) {
        int peer = nbcoll_absolute(child, root, ranks), size = nbcoll_binomial_size(child, ranks);
        int unwrapped = nbcoll_binomial_unwrapped(child, root, ranks);
        nbcolli_blocks_move(p, child, nbcoll_at(p->all, (size_t)peer * p->a->bytes), unwrapped);
        if (unwrapped < size)
            nbcolli_blocks_move(p, child, p->all, size - unwrapped);
    }
    if (!p->a->in_place)
        nbcolli_blocks_copy_own(p, nbcoll_at(p->all, (size_t)root * p->a->bytes));
}

static void nbcolli_blocks_binomial(const nbcolli_blocks_plan *p)
{
    int ranks = p->b->ranks, root = p->a->root, me = nbcoll_relative(p->b->rank, root, ranks);

    if (!me) {
        nbcolli_blocks_root(p);
        return;
    }
    int size = nbcoll_binomial_size(me, ranks), above = nbcoll_binomial_parent(me);
    int unwrapped = above ? size : nbcoll_binomial_unwrapped(me, root, ranks);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(p->b, (size_t)size * p->a->bytes) : p->own;
    nbcoll_step head = nbcolli_blocks_move(p, above - me, room, unwrapped), tail = NBCOLL_START;
    if (unwrapped < size)
        tail = nbcolli_blocks_move(p, above - me, nbcoll_at(room, (size_t)unwrapped * p->a->bytes), size - unwrapped);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int first = child - me, blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, (size_t)first * p->a->bytes);
        nbcoll_step step = nbcolli_blocks_move(p, first, at, blocks);
        if (first < unwrapped)
            nbcolli_blocks_order(p, step, head);
        if (first + blocks > unwrapped)
            nbcolli_blocks_order(p, step, tail);
    }
    if (size > 1)
        nbcolli_blocks_order(p, nbcolli_blocks_copy_own(p, room), head);
}

void nbcolli_gather_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_blocks_plan){b, a, a->recv, a->send, 1});
}

void nbcolli_scatter_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_blocks_plan){b, a, a->send, a->recv, 0});
}
