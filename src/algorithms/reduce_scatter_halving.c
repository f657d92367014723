/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter by recursive halving: with each partner a rank exchanges half of what it still has to combine, the
 * farthest partner first; ranks in excess of a power of two are folded into a neighbour. For commutative operations.
 * At most floor(log2 P) + 2 messages after each other; but for the folding no rank sends more than the vector. Source:
 * Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005); BDE in Ramos et
 * al., Table I, in whose sequential form a rank posts one exchange at a time. */
#include "algorithms.h"

/* The partial results of the blocks of the ranks numbered (as nbcoll_fold does) low .. high - 1, and since which step;
 * with each of these goes the block of a rank folded into it. */
typedef struct nbcolli_halving_state {
    int low, high;
    nbcolli_sum sum;
    int is_sequential;
} nbcolli_halving_state;

static size_t nbcolli_halving_bytes(const nbcoll_builder *b, const nbcoll_args *a, int low, int high)
{
    int first = nbcoll_unfold(low, b->ranks), blocks = nbcoll_unfold(high, b->ranks) - first;
    return nbcolli_blocks_bytes(b, a, first, blocks);
}

/* Combines `bytes` at `kept` with what the peer sends for them. */
static void nbcolli_halving_take(nbcoll_builder *b, const nbcoll_args *a, nbcolli_halving_state *s, int peer,
                                 nbcoll_addr kept, size_t bytes)
{
    nbcolli_sum its = nbcolli_sum_take(b, peer, nbcoll_add_scratch(b, bytes), bytes), mine = {kept, s->sum.since};

    s->sum = nbcolli_sum_of(b, a, its.at, bytes, its, mine);
    if (s->is_sequential)
        nbcoll_after(b, its.since, mine.since);
}

/* Gives the half that `me` is not in, and keeps the other. */
static nbcoll_step nbcolli_halving_exchange(nbcoll_builder *b, const nbcoll_args *a, nbcolli_halving_state *s, int me)
{
    int half = (s->high - s->low) / 2, middle = s->low + half, is_upper = me >= middle;
    size_t lower = nbcolli_halving_bytes(b, a, s->low, middle), upper = nbcolli_halving_bytes(b, a, middle, s->high);
    nbcoll_addr there = nbcoll_at(s->sum.at, lower);
    int peer = nbcoll_unfold(is_upper ? me - half : me + half, b->ranks);
    nbcoll_step give = nbcoll_add_send(b, peer, is_upper ? s->sum.at : there, is_upper ? lower : upper);
    nbcoll_after(b, give, s->sum.since);
    nbcolli_halving_take(b, a, s, peer, is_upper ? there : s->sum.at, is_upper ? upper : lower);
    *(is_upper ? &s->low : &s->high) = middle;
    if (s->is_sequential)
        nbcoll_after(b, s->sum.since, give);
    return give;
}

static void nbcolli_halving_build(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    int ranks = b->ranks, pair = nbcoll_fold_peer(b->rank, ranks), me = nbcoll_fold(b->rank, ranks);
    size_t own = nbcoll_send_block(b, a, b->rank).bytes;
    nbcolli_halving_state s = {0, nbcoll_power(ranks), {a->send, NBCOLL_START}, is_sequential};
    nbcoll_step left = NBCOLL_START; /* the operands that went from where they were */

    if (me < 0) {
        left = nbcoll_add_send(b, pair, a->send, nbcolli_halving_bytes(b, a, 0, s.high));
        nbcoll_step back = nbcoll_add_recv(b, pair, a->recv, own);
        if (a->in_place)
            nbcoll_after(b, back, left);
        return;
    }
    if (pair >= 0)
        nbcolli_halving_take(b, a, &s, pair, a->send, nbcolli_halving_bytes(b, a, 0, s.high));
    while (s.high - s.low > 1) {
        int is_original = s.sum.since == NBCOLL_START;
        nbcoll_step give = nbcolli_halving_exchange(b, a, &s, me);
        left = is_original ? give : left;
    }
    if (pair >= 0)
        nbcoll_after(b, nbcoll_add_send(b, pair, nbcoll_at(s.sum.at, own), nbcoll_send_block(b, a, pair).bytes),
                     s.sum.since);
    if (ranks == 1 && a->in_place)
        return;
    nbcoll_step place = nbcoll_add_copy(b, a->recv, s.sum.at, own);
    nbcoll_after(b, place, s.sum.since);
    if (a->in_place)
        nbcoll_after(b, place, left);
}

void nbcolli_reduce_scatter_halving(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_halving_build(b, a, 0);
}

void nbcolli_reduce_scatter_halving_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_halving_build(b, a, 1);
}
