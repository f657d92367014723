/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast, scatter, gather and reduction along the minimum spanning tree: the ranks are halved again and again; the
 * root of the whole stands for its half, the end that is farther off for the other one, and each split is a message
 * between the two. All groups are consecutive ranks: blocks lie in one piece, operands stand in rank order, and roots
 * need no renumbering. ceil(log2 P) messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn,
 * "Collective communication: theory, practice, and experience" (2007); MST in Ramos et al., Table I and section 3.3. */
#include "algorithms.h"

static size_t nbcolli_spanning_bytes(const nbcoll_args *a, int first, int end)
{
    return (size_t)(end - first) * a->bytes;
}

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
static void nbcolli_spanning_order(nbcoll_builder *b, nbcoll_step farther, nbcoll_step above, int is_gather)
{
    if (!is_gather)
        nbcoll_after(b, farther, above);
    else if (above != NBCOLL_START)
        nbcoll_after(b, above, farther);
}

/* Blocks up the tree (gather), or down it (scatter), its mirror image: every message goes the other way, and every edge
 * is turned round. `all`: the root's buffer of all blocks; `own`: this rank's block. */
static void nbcolli_spanning_blocks(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr all, nbcoll_addr own,
                                    int is_gather)
{
    nbcoll_group mine = {0, b->ranks, a->root};
    nbcoll_addr room = all; /* for the blocks of the ranks from `first` on */
    nbcoll_step above = NBCOLL_START;
    int first = 0, is_placed = a->in_place;

    while (mine.high - mine.low > 1) {
        int had = mine.root == b->rank;
        nbcoll_group other = nbcoll_group_halve(&mine, b->rank);
        if (had) {
            nbcoll_addr half = nbcoll_at(room, nbcolli_spanning_bytes(a, first, other.low));
            size_t bytes = nbcolli_spanning_bytes(a, other.low, other.high);
            nbcoll_step step =
                is_gather ? nbcoll_add_recv(b, other.root, half, bytes) : nbcoll_add_send(b, other.root, half, bytes);
            nbcolli_spanning_order(b, step, above, is_gather);
        } else if (mine.root == b->rank) {
            size_t bytes = nbcolli_spanning_bytes(a, mine.low, mine.high);
            first = mine.low;
            is_placed = mine.high - mine.low == 1;
            room = is_placed ? own : nbcoll_add_scratch(b, bytes);
            above =
                is_gather ? nbcoll_add_send(b, other.root, room, bytes) : nbcoll_add_recv(b, other.root, room, bytes);
        }
    }
    if (is_placed)
        return;
    nbcoll_addr place = nbcoll_at(room, nbcolli_spanning_bytes(a, first, b->rank));
    nbcoll_step copy = is_gather ? nbcoll_add_copy(b, place, own, a->bytes) : nbcoll_add_copy(b, own, place, a->bytes);
    nbcolli_spanning_order(b, copy, above, is_gather);
}

void nbcolli_scatter_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_blocks(b, a, a->send, a->recv, 0);
}

void nbcolli_gather_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_blocks(b, a, a->recv, a->send, 1);
}

/* What this rank has of its group, and since when; it gives that away where another stands for both halves. */
typedef struct nbcolli_spanning_sum {
    nbcoll_addr at;
    nbcoll_step since;
} nbcolli_spanning_sum;

static nbcolli_spanning_sum nbcolli_spanning_reduce(nbcoll_builder *b, const nbcoll_args *a,
                                                    nbcoll_group mine)
{
    int root = mine.root, is_whole = mine.high - mine.low == b->ranks;

    if (mine.high - mine.low == 1)
        return (nbcolli_spanning_sum){a->send, NBCOLL_START};
    nbcoll_group other = nbcoll_group_halve(&mine, b->rank);
    nbcolli_spanning_sum sum = nbcolli_spanning_reduce(b, a, mine);
    if (mine.root != b->rank)
        return sum;
    if (root != b->rank) {
        nbcoll_after(b, nbcoll_add_send(b, root, sum.at, a->bytes), sum.since);
        return sum;
    }
    nbcoll_addr in = nbcoll_add_scratch(b, a->bytes), to = is_whole ? a->recv : in;
    nbcoll_step take = nbcoll_add_recv(b, other.root, in, a->bytes);
    nbcoll_step step = other.low < mine.low ? nbcoll_add_combine(b, to, in, sum.at, a->count, a->reduction)
                                            : nbcoll_add_combine(b, to, sum.at, in, a->count, a->reduction);
    nbcoll_after(b, step, take);
    nbcoll_after(b, step, sum.since);
    return (nbcolli_spanning_sum){to, step};
}

void nbcolli_reduce_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    nbcolli_spanning_reduce(b, a, (nbcoll_group){0, b->ranks, a->root});
}
