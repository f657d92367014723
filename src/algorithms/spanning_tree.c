/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast, scatter, gather and reduction along the minimum spanning tree: the ranks are halved again and again; the
 * root of the whole stands for its half, the end that is farther off for the other one, and each split is a message
 * between the two. All groups are consecutive ranks: blocks lie in one piece, operands stand in rank order, and roots
 * need no renumbering. ceil(log2 P) messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn,
 * "Collective communication: theory, practice, and experience" (2007); MST in Ramos et al., Table I and section 3.3. */
#include "algorithms.h"

void nbcolli_bcast_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_group mine = {0, b->ranks, a->root};
    nbcoll_step data = NBCOLL_START;

    while (mine.high - mine.low > 1) {
        int had = mine.root == b->rank;
        nbcoll_group other = nbcoll_group_halve(&mine, b->rank);
        if (had)
            nbcoll_after(b, nbcoll_add_send(b, other.root, a->recv, a->bytes), data);
        else if (mine.root == b->rank)
            data = nbcoll_add_recv(b, other.root, a->recv, a->bytes);
    }
}

/* Blocks pass the step that is farther from the root before `above`, if there is one, or after it. */
static void nbcolli_spanning_order(const nbcolli_rooted *p, nbcoll_step farther, nbcoll_step above)
{
    if (above != NBCOLL_START)
        nbcolli_rooted_order(p, farther, above);
}

/* Blocks up the tree (gather), or down it (scatter), its mirror image: every message goes the other way, and every edge
 * is turned round. Where blocks have lengths of their own the root's may lie anywhere. */
static void nbcolli_spanning_blocks(const nbcolli_rooted *p)
{
    const nbcoll_args *a = p->a;
    int me = p->b->rank, first = 0, is_placed = a->in_place, packs = me == a->root && a->counts;
    nbcoll_group mine = {0, p->b->ranks, a->root};
    nbcoll_addr room = p->all; /* for the blocks of the ranks from `first` on */
    nbcoll_step above = NBCOLL_START;

    while (mine.high - mine.low > 1) {
        int had = mine.root == me;
        nbcoll_group other = nbcoll_group_halve(&mine, me);
        if (had && packs) {
            nbcolli_rooted_pack(p, other.root, other.low, other.high - other.low);
        } else if (had) {
            nbcoll_addr half = nbcoll_at(room, nbcolli_blocks_bytes(p->b, a, first, other.low - first));
            size_t bytes = nbcolli_blocks_bytes(p->b, a, other.low, other.high - other.low);
            nbcolli_spanning_order(p, nbcolli_rooted_pass(p, other.root, 0, half, bytes), above);
        } else if (mine.root == me) {
            size_t bytes = nbcolli_blocks_bytes(p->b, a, mine.low, mine.high - mine.low);
            first = mine.low;
            is_placed = mine.high - mine.low == 1;
            room = is_placed ? p->own : nbcoll_add_scratch(p->b, bytes);
            above = nbcolli_rooted_pass(p, other.root, 1, room, bytes);
        }
    }
    if (is_placed)
        return;
    nbcoll_addr place = packs ? nbcolli_rooted_place(p, me).at
                              : nbcoll_at(room, nbcolli_blocks_bytes(p->b, a, first, me - first));
    nbcolli_spanning_order(p, nbcolli_rooted_copy(p, p->own, place, nbcolli_blocks_bytes(p->b, a, me, 1)), above);
}

void nbcolli_scatter_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_blocks(&(nbcolli_rooted){b, a, a->send, a->recv, 0});
}

void nbcolli_gather_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_blocks(&(nbcolli_rooted){b, a, a->recv, a->send, 1});
}

/* What this rank has of its group; it gives that away where another stands for both halves. */
static nbcolli_sum nbcolli_spanning_reduce(nbcoll_builder *b, const nbcoll_args *a,
                                                    nbcoll_group mine)
{
    int root = mine.root, is_whole = mine.high - mine.low == b->ranks;

    if (mine.high - mine.low == 1)
        return (nbcolli_sum){a->send, NBCOLL_START};
    nbcoll_group other = nbcoll_group_halve(&mine, b->rank);
    nbcolli_sum sum = nbcolli_spanning_reduce(b, a, mine);
    if (mine.root != b->rank)
        return sum;
    if (root != b->rank) {
        nbcolli_sum_give(b, root, sum, a->bytes);
        return sum;
    }
    nbcolli_sum its = nbcolli_sum_take(b, other.root, nbcoll_add_scratch(b, a->bytes), a->bytes);
    return nbcolli_sum_with(b, a, is_whole ? a->recv : its.at, a->bytes, sum, other.root, its);
}

void nbcolli_reduce_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    nbcolli_spanning_reduce(b, a, (nbcoll_group){0, b->ranks, a->root});
}
