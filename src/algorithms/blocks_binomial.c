/* SPDX-License-Identifier: BSD-3-Clause
 * Gather up a binomial tree: each rank collects the blocks of its whole subtree and sends them to its parent. Scatter
 * down it is the mirror image: every message goes the other way, and every edge is turned round. At most ceil(log2 P)
 * messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory,
 * practice, and experience" (2007), the minimum spanning tree. Blocks travel in relative order; in the root's buffer
 * they lie in rank order, so that the one subtree that passes the last rank comes as two messages; or, where they have
 * lengths of their own, anywhere, so that the root brings them into relative order in scratch memory, too. */
#include "algorithms.h"

/* The bytes of `blocks` blocks, from that of relative rank `first` on. */
static size_t nbcolli_binomial_bytes(const nbcolli_rooted *p, int first, int blocks)
{
    return nbcolli_blocks_bytes(p->b, p->a, nbcoll_absolute(first, p->a->root, p->b->ranks), blocks);
}

/* Blocks at `at` between this rank and the one so far `away`: below 0, nearer to the root; else farther. */
static nbcoll_step nbcolli_blocks_move(const nbcolli_rooted *p, int away, nbcoll_addr at, size_t bytes)
{
    int ranks = p->b->ranks, root = p->a->root, me = nbcoll_relative(p->b->rank, root, ranks);
    int peer = nbcoll_absolute(me + away, root, ranks), is_nearer = away < 0;
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
        if (p->a->counts) {
            nbcolli_rooted_pack(p, peer, peer, size);
            continue;
        }
        nbcolli_blocks_move(p, child, nbcolli_rooted_place(p, peer).at, (size_t)unwrapped * p->a->bytes);
        if (unwrapped < size)
            nbcolli_blocks_move(p, child, p->all, (size_t)(size - unwrapped) * p->a->bytes);
    }
    if (!p->a->in_place)
        nbcolli_rooted_copy(p, p->own, nbcolli_rooted_place(p, root).at, nbcolli_binomial_bytes(p, 0, 1));
}

static void nbcolli_blocks_binomial(const nbcolli_rooted *p)
{
    int ranks = p->b->ranks, root = p->a->root, me = nbcoll_relative(p->b->rank, root, ranks);

    if (!me) {
        nbcolli_blocks_root(p);
        return;
    }
    int size = nbcoll_binomial_size(me, ranks), above = nbcoll_binomial_parent(me);
    int unwrapped = above || p->a->counts ? size : nbcoll_binomial_unwrapped(me, root, ranks);
    size_t all = nbcolli_binomial_bytes(p, me, size), whole = nbcolli_binomial_bytes(p, me, unwrapped);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(p->b, all) : p->own;
    nbcoll_step head = nbcolli_blocks_move(p, above - me, room, whole), tail = NBCOLL_START;
    if (unwrapped < size)
        tail = nbcolli_blocks_move(p, above - me, nbcoll_at(room, whole), all - whole);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int first = child - me, blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, nbcolli_binomial_bytes(p, me, first));
        nbcoll_step step = nbcolli_blocks_move(p, first, at, nbcolli_binomial_bytes(p, child, blocks));
        if (first < unwrapped)
            nbcolli_rooted_order(p, step, head);
        if (first + blocks > unwrapped)
            nbcolli_rooted_order(p, step, tail);
    }
    if (size > 1)
        nbcolli_rooted_order(p, nbcolli_rooted_copy(p, p->own, room, nbcolli_binomial_bytes(p, me, 1)), head);
}

void nbcolli_gather_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_rooted){b, a, a->recv, a->send, 1});
}

void nbcolli_scatter_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_binomial(&(nbcolli_rooted){b, a, a->send, a->recv, 0});
}
