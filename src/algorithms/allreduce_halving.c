/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of long vectors as reduce-scatter by recursive halving and allgather by recursive doubling; ranks in excess
 * of a power of two are folded into a neighbour. The nearest partners halve first, so that operands stand in rank
 * order. At most 2 floor(log2 P) + 2 messages after each other; but for the folding no rank sends more than twice the
 * vector. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005),
 * Rabenseifner's algorithm, where the farthest halve first. */
#include "algorithms.h"

typedef struct nbcolli_rabenseifner_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    int me, power;    /* this rank's number, of so many */
    int low, high;    /* the blocks it stands for, of `power` */
    nbcolli_sum sum;  /* of these */
    nbcoll_step left; /* what went from where the operands were */
} nbcolli_rabenseifner_plan;

static size_t nbcolli_rabenseifner_place(const nbcolli_rabenseifner_plan *p, int block)
{
    return nbcoll_block_offset(p->a->count, p->power, block) * p->a->element;
}

/* Combines the blocks `low` .. `high` - 1, which this rank keeps, with the peer's. */
static void nbcolli_rabenseifner_keep(nbcolli_rabenseifner_plan *p, int peer, int low, int high)
{
    size_t bytes = nbcolli_rabenseifner_place(p, high) - nbcolli_rabenseifner_place(p, low);
    nbcoll_addr kept = nbcoll_at(p->sum.at, nbcolli_rabenseifner_place(p, low) - nbcolli_rabenseifner_place(p, p->low));
    nbcolli_sum its = nbcolli_sum_take(p->b, peer, nbcoll_add_scratch(p->b, bytes), bytes);
    nbcoll_addr to = high - low == 1 ? nbcoll_at(p->a->recv, nbcolli_rabenseifner_place(p, low)) : its.at;

    p->sum = nbcolli_sum_with(p->b, p->a, to, bytes, (nbcolli_sum){kept, p->sum.since}, peer, its);
    p->low = low;
    p->high = high;
}

static void nbcolli_rabenseifner_scatter(nbcolli_rabenseifner_plan *p, int mask)
{
    int middle = p->low + (p->high - p->low) / 2, is_upper = (p->me & mask) != 0;
    int low = is_upper ? p->low : middle, high = is_upper ? middle : p->high; /* what goes */
    int peer = nbcoll_unfold(p->me ^ mask, p->b->ranks);
    nbcoll_addr from = nbcoll_at(p->sum.at, nbcolli_rabenseifner_place(p, low) - nbcolli_rabenseifner_place(p, p->low));
    nbcoll_step give =
        nbcoll_add_send(p->b, peer, from, nbcolli_rabenseifner_place(p, high) - nbcolli_rabenseifner_place(p, low));

    nbcoll_after(p->b, give, p->sum.since);
    if (p->sum.since == NBCOLL_START)
        p->left = give;
    nbcolli_rabenseifner_keep(p, peer, is_upper ? middle : p->low, is_upper ? p->high : middle);
}

/* Exchanges finished blocks. In place, they come to where operands were, which are free since the step `clear`. */
static void nbcolli_rabenseifner_gather(nbcolli_rabenseifner_plan *p, int mask, nbcoll_step clear, int is_last)
{
    int blocks = p->high - p->low, other = p->me & mask ? p->low - blocks : p->high;
    int peer = nbcoll_unfold(p->me ^ mask, p->b->ranks);
    size_t mine = nbcolli_rabenseifner_place(p, p->low), theirs = nbcolli_rabenseifner_place(p, other);
    nbcoll_step give =
        nbcoll_add_send(p->b, peer, nbcoll_at(p->a->recv, mine), nbcolli_rabenseifner_place(p, p->high) - mine);
    nbcoll_step take = nbcoll_add_recv(p->b, peer, nbcoll_at(p->a->recv, theirs),
                                       nbcolli_rabenseifner_place(p, other + blocks) - theirs);

    nbcoll_after(p->b, give, p->sum.since);
    nbcoll_after(p->b, take, p->left != NBCOLL_START && mask == 1 && p->a->in_place ? p->left : clear);
    p->low = p->low < other ? p->low : other;
    p->high = p->low + 2 * blocks;
    if (is_last)
        return;
    nbcoll_step both = nbcoll_add_join(p->b);
    nbcoll_after(p->b, both, take);
    nbcoll_after(p->b, both, p->sum.since);
    p->sum.since = both;
}

void nbcolli_allreduce_halving(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, pair = nbcoll_fold_peer(b->rank, ranks), power = nbcoll_power(ranks);
    nbcolli_rabenseifner_plan p = {b, a,     nbcoll_fold(b->rank, ranks), power,
                                   0, power, {a->send, NBCOLL_START},     NBCOLL_START};

    if (p.me < 0) {
        nbcoll_step give = nbcoll_add_send(b, pair, a->send, a->bytes),
                    take = nbcoll_add_recv(b, pair, a->recv, a->bytes);
        if (a->in_place)
            nbcoll_after(b, take, give);
        return;
    }
    if (ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    if (pair >= 0)
        nbcolli_rabenseifner_keep(&p, pair, 0, power);
    for (int mask = 1; mask < power; mask = mask < power - mask ? 2 * mask : power)
        nbcolli_rabenseifner_scatter(&p, mask);
    nbcoll_step clear = a->in_place ? p.sum.since : NBCOLL_START;
    for (int mask = power / 2; mask; mask /= 2)
        nbcolli_rabenseifner_gather(&p, mask, clear, mask == 1 && pair < 0);
    if (pair >= 0)
        nbcoll_after(b, nbcoll_add_send(b, pair, a->recv, a->bytes), p.sum.since);
}
