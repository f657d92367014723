/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast, scatter, gather and reduction along the minimum spanning tree: the ranks are halved again and again; the
 * root of the whole stands for its half, the end that is farther off for the other one, and each split is a message
 * between the two. All groups are consecutive ranks: blocks lie in one piece, operands stand in rank order, and roots
 * need no renumbering. ceil(log2 P) messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn,
 * "Collective communication: theory, practice, and experience" (2007); MST in Ramos et al., Table I and section 3.3. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_bcast_spanning_tree, nbcolli_scatter_spanning_tree, nbcolli_gather_spanning_tree,
    nbcolli_reduce_spanning_tree;

/* The ranks low .. high - 1, and who stands for them. */
typedef struct nbcolli_spanning_group {
    int low, high, root;
} nbcolli_spanning_group;

/* Makes `mine` the half that has `rank`, and returns the other one. */
static nbcolli_spanning_group nbcolli_spanning_split(nbcolli_spanning_group *mine, int rank)
{
    int middle = mine->low + (mine->high - mine->low) / 2;
    nbcolli_spanning_group lower = {mine->low, middle, mine->low}, upper = {middle, mine->high, mine->high - 1};

    (mine->root < middle ? &lower : &upper)->root = mine->root;
    *mine = rank < middle ? lower : upper;
    return rank < middle ? upper : lower;
}

static size_t nbcolli_spanning_bytes(const nbcoll_args *a, int first, int end)
{
    return (size_t)(end - first) * a->bytes;
}

void nbcolli_bcast_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_group mine = {0, b->ranks, a->root};
    nbcoll_step data = NBCOLL_START;

    while (mine.high - mine.low > 1) {
        int had = mine.root == b->rank;
        nbcolli_spanning_group other = nbcolli_spanning_split(&mine, b->rank);
        if (had)
            nbcoll_after(b, nbcoll_add_send(b, other.root, a->recv, a->bytes), data);
        else if (mine.root == b->rank)
            data = nbcoll_add_recv(b, other.root, a->recv, a->bytes);
    }
}

void nbcolli_scatter_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_group mine = {0, b->ranks, a->root};
    nbcoll_addr room = a->send; /* for the blocks of the ranks from `first` on */
    nbcoll_step data = NBCOLL_START;
    int first = 0, is_placed = a->in_place;

    while (mine.high - mine.low > 1) {
        int had = mine.root == b->rank;
        nbcolli_spanning_group other = nbcolli_spanning_split(&mine, b->rank);
        if (had) {
            nbcoll_addr half = nbcoll_at(room, nbcolli_spanning_bytes(a, first, other.low));
            nbcoll_after(b, nbcoll_add_send(b, other.root, half, nbcolli_spanning_bytes(a, other.low, other.high)),
                         data);
        } else if (mine.root == b->rank) {
            size_t bytes = nbcolli_spanning_bytes(a, mine.low, mine.high);
            first = mine.low;
            is_placed = mine.high - mine.low == 1;
            room = is_placed ? a->recv : nbcoll_add_scratch(b, bytes);
            data = nbcoll_add_recv(b, other.root, room, bytes);
        }
    }
    if (!is_placed)
        nbcoll_after(
            b, nbcoll_add_copy(b, a->recv, nbcoll_at(room, nbcolli_spanning_bytes(a, first, b->rank)), a->bytes), data);
}

void nbcolli_gather_spanning_tree(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_spanning_group mine = {0, b->ranks, a->root};
    nbcoll_addr room = a->recv;
    nbcoll_step give = NBCOLL_START;
    int first = 0, is_placed = a->in_place;

    while (mine.high - mine.low > 1) {
        int had = mine.root == b->rank;
        nbcolli_spanning_group other = nbcolli_spanning_split(&mine, b->rank);
        if (had) {
            nbcoll_addr half = nbcoll_at(room, nbcolli_spanning_bytes(a, first, other.low));
            nbcoll_step take = nbcoll_add_recv(b, other.root, half, nbcolli_spanning_bytes(a, other.low, other.high));
            if (give != NBCOLL_START)
                nbcoll_after(b, give, take);
        } else if (mine.root == b->rank) {
            size_t bytes = nbcolli_spanning_bytes(a, mine.low, mine.high);
            first = mine.low;
            is_placed = mine.high - mine.low == 1;
            room = is_placed ? a->send : nbcoll_add_scratch(b, bytes);
            give = nbcoll_add_send(b, other.root, room, bytes);
        }
    }
    if (is_placed)
        return;
    nbcoll_step own = nbcoll_add_copy(b, nbcoll_at(room, nbcolli_spanning_bytes(a, first, b->rank)), a->send, a->bytes);
    if (give != NBCOLL_START)
        nbcoll_after(b, give, own);
}

/* What this rank has of its group, and since when; it gives that away where another stands for both halves. */
typedef struct nbcolli_spanning_sum {
    nbcoll_addr at;
    nbcoll_step since;
} nbcolli_spanning_sum;

static nbcolli_spanning_sum nbcolli_spanning_reduce(nbcoll_builder *b, const nbcoll_args *a,
                                                    nbcolli_spanning_group mine)
{
    int root = mine.root, is_whole = mine.high - mine.low == b->ranks;

    if (mine.high - mine.low == 1)
        return (nbcolli_spanning_sum){a->send, NBCOLL_START};
    nbcolli_spanning_group other = nbcolli_spanning_split(&mine, b->rank);
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
    nbcolli_spanning_reduce(b, a, (nbcolli_spanning_group){0, b->ranks, a->root});
}
