/* SPDX-License-Identifier: BSD-3-Clause
 * Gather up a binomial tree: each rank collects the blocks of its whole subtree and sends them to its parent. Scatter
 * down it is the mirror image: every message goes the other way, and every edge is turned round. At most ceil(log2 P)
 * messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
 * practice, and experience" (2007), the minimum spanning tree. Blocks travel in relative order; in the root's buffer
 * they lie in rank order, so that the one subtree that passes the last rank comes as two messages. */
#include "algorithms.h"

/* `blocks` blocks at `at` between this rank and the one so far `away`: below 0, nearer to the root; else farther. */
static nbcoll_step nbcolli_blocks_move(const nbcolli_rooted *p, int away, nbcoll_addr at, int blocks)
{
    int ranks = p->b->ranks, root = p->a->root, me = nbcoll_relative(p->b->rank, root, ranks);
    int peer = nbcoll_absolute(me + away, root, ranks), is_nearer = away < 0;
    size_t bytes = (size_t)blocks * p->a->bytes;
    nbcoll_step move = nbcolli_rooted_pass(p, peer, is_nearer, at, bytes);
    nbcoll_set_split_lane(p->b, move, p->a->split, is_nearer ? -away : away,
                          p->is_gather ? NBCOLL_LANE_START : NBCOLL_LANE_CALLER);
    return move;
}

static void nbcolli_blocks_root(const nbcolli_rooted *p)
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
        nbcolli_rooted_copy(p, p->own, nbcoll_at(p->all, (size_t)root * p->a->bytes), p->a->bytes);
}

static void nbcolli_blocks_binomial(const nbcolli_rooted *p)
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
            nbcolli_rooted_order(p, step, head);
        if (first + blocks > unwrapped)
            nbcolli_rooted_order(p, step, tail);
    }
    if (size > 1)
        nbcolli_rooted_order(p, nbcolli_rooted_copy(p, p->own, room, p->a->bytes), head);
}

void nbcolli_gather_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_rooted){b, a, a->recv, a->send, 1});
}

void nbcolli_scatter_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_rooted){b, a, a->send, a->recv, 0});
}
