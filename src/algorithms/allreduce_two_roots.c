/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors along the binomial tree with two roots that barrier_binomial describes. Each half is
 * reduced to its root, the two exchange what they have, and both hand the result down. Operands stand in rank order,
 * combined along the tree that splits n ranks behind the largest power of two below n. At most
 * 2 ceil(log2 P) - 1 messages after each other. Source: Ramos et al., Table I, names BTe for allreduce; what was built
 * here is this library's. */
#include "algorithms.h"

/* What this rank has combined; the step that last reads the operand where it was. */
typedef struct nbcolli_two_roots_sum {
    nbcolli_sum sum;
    nbcoll_step used;
} nbcolli_two_roots_sum;

/* Combines with what `peer` sends; a rank below stands to the left. */
static void nbcolli_two_roots_combine(nbcoll_builder *b, const nbcoll_args *a, nbcolli_two_roots_sum *s, int peer,
                                   int is_result)
{
    nbcolli_sum its = nbcolli_sum_take(b, peer, nbcoll_add_scratch(b, a->bytes), a->bytes), before = s->sum;

    s->sum = nbcolli_sum_with(b, a, is_result ? a->recv : its.at, a->bytes, before, peer, its);
    if (before.since == NBCOLL_START) {
        if (a->in_place)
            nbcoll_after(b, s->sum.since, s->used);
        s->used = s->sum.since;
    }
}

static void nbcolli_two_roots_send_up(nbcoll_builder *b, const nbcoll_args *a, nbcolli_two_roots_sum *s, int peer)
{
    nbcoll_step give = nbcolli_sum_give(b, peer, s->sum, a->bytes);
    if (s->sum.since == NBCOLL_START)
        s->used = give;
}

void nbcolli_allreduce_two_roots(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks, second = nbcoll_binomial_first(0, ranks), is_root = !me || me == second;
    int size = me ? nbcoll_binomial_size(me, ranks) : second;
    int above = is_root ? second - me : nbcoll_binomial_parent(me);
    nbcolli_two_roots_sum s = {{a->send, NBCOLL_START}, NBCOLL_START};

    if (ranks == 1) {
        if (!a->in_place)
            nbcoll_add_copy(b, a->recv, a->send, a->bytes);
        return;
    }
    /* The nearest child first: it has the ranks just above those combined so far. */
    for (int gap = 1; gap < size; gap = gap < size - gap ? 2 * gap : size)
        nbcolli_two_roots_combine(b, a, &s, me + gap, 0);
    nbcolli_two_roots_send_up(b, a, &s, above);
    if (is_root) {
        nbcolli_two_roots_combine(b, a, &s, above, 1);
    } else {
        s.sum.since = nbcoll_add_recv(b, above, a->recv, a->bytes);
        if (a->in_place)
            nbcoll_after(b, s.sum.since, s.used);
    }
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child))
        if (child != second)
            nbcoll_after(b, nbcoll_add_send(b, child, a->recv, a->bytes), s.sum.since);
}
