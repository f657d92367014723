/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors by recursive doubling; ranks in excess of a power of two are folded into a neighbour, who
 * sends them the result. Operands stand in rank order, and both ends of an exchange combine the same two in the same
 * order, so that all ranks get the same bits. At most ceil(log2 P) + 1 messages after each other. Source: Thakur,
 * Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005); BDE in Ramos et al.,
 * Table I, in whose sequential form a rank posts one exchange at a time.
 *
 * Each round has scratch memory of its own, which also takes its result: receives are posted from the start, and no
 * combination waits for a send to end. */
#include "algorithms.h"

/* What this rank has combined so far. */
typedef struct nbcolli_allreduce_state {
    nbcolli_sum sum;
    nbcoll_step first_send; /* reads the operand where it was */
    int is_sequential;
} nbcolli_allreduce_state;

/* Combines with what `peer` sends, which stands to the left or right of what is known. */
static void nbcolli_allreduce_take(nbcoll_builder *b, const nbcoll_args *a, nbcolli_allreduce_state *d, int peer,
                                   int is_last)
{
    nbcolli_sum its = nbcolli_sum_take(b, peer, nbcoll_add_scratch(b, a->bytes), a->bytes), before = d->sum;

    d->sum = nbcolli_sum_with(b, a, is_last ? a->recv : its.at, a->bytes, before, peer, its);
    if (is_last && a->in_place)
        nbcoll_after(b, d->sum.since, d->first_send);
    if (d->is_sequential)
        nbcoll_after(b, its.since, before.since);
}

static void nbcolli_doubling_allreduce(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    int ranks = b->ranks, pair = nbcoll_fold_peer(b->rank, ranks), me = nbcoll_fold(b->rank, ranks);
    int power = nbcoll_power(ranks);
    nbcolli_allreduce_state d = {{a->send, NBCOLL_START}, NBCOLL_START, is_sequential};

    if (me < 0) {
        nbcoll_step give = nbcolli_sum_give(b, pair, d.sum, a->bytes),
                    take = nbcoll_add_recv(b, pair, a->recv, a->bytes);
        if (a->in_place)
            nbcoll_after(b, take, give);
        return;
    }
    if (ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    if (pair >= 0)
        nbcolli_allreduce_take(b, a, &d, pair, 0);
    for (int mask = 1; mask < power; mask = mask < power - mask ? 2 * mask : power) {
        int peer = nbcoll_unfold(me ^ mask, ranks);
        nbcoll_step give = nbcolli_sum_give(b, peer, d.sum, a->bytes);
        if (mask == 1 && pair < 0)
            d.first_send = give;
        nbcolli_allreduce_take(b, a, &d, peer, mask == power - mask);
        if (is_sequential)
            nbcoll_after(b, d.sum.since, give);
    }
    if (pair >= 0)
        nbcolli_sum_give(b, pair, d.sum, a->bytes);
}

void nbcolli_allreduce_recursive_doubling(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_doubling_allreduce(b, a, 0);
}

void nbcolli_allreduce_recursive_doubling_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_doubling_allreduce(b, a, 1);
}
