/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce, allreduce, scan and exclusive scan directly: a rank that has a result gets all operands of it from where they
 * are, and combines them from that of rank 0 on, so that all ranks get the same bits. One message after each other.
 * Source: the flat trees of Ramos et al., Table I; there the reductions over blocking primitives, here the sequential
 * form of reduce, take one operand after the other. */
#include "algorithms.h"

/* Does the result of rank `to` have the operand of rank `from`? */
static int nbcolli_flat_has(const nbcoll_args *a, int to, int from)
{
    if (a->operation == NBCOLL_OPERATION_REDUCE)
        return to == a->root;
    if (a->operation == NBCOLL_OPERATION_SCAN)
        return from <= to;
    return a->operation == NBCOLL_OPERATION_ALLREDUCE || from < to;
}

/* What is known of the first operands, and since which step. */
typedef struct nbcolli_flat_sum {
    nbcoll_addr at;
    nbcoll_step since;
    int is_mine; /* not to be written */
} nbcolli_flat_sum;

/* Sends this rank's operand to all that need it. In place, returns the step since which the operand has left. */
static nbcoll_step nbcolli_flat_give(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step left = NBCOLL_START;

    for (int i = 1; i < b->ranks; i++) {
        int to = nbcoll_absolute(i, b->rank, b->ranks);
        if (!nbcolli_flat_has(a, to, b->rank))
            continue;
        nbcoll_step give = nbcoll_add_send(b, to, a->send, a->bytes);
        if (a->in_place && left == NBCOLL_START)
            left = nbcoll_add_join(b);
        if (a->in_place)
            nbcoll_after(b, left, give);
    }
    return left;
}

static void nbcolli_flat_combine(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    nbcoll_step left = nbcolli_flat_give(b, a), before = NBCOLL_START;
    nbcolli_flat_sum sum = {a->recv, NBCOLL_START, 0};
    int last = b->ranks - 1;

    while (last >= 0 && !nbcolli_flat_has(a, b->rank, last))
        last--;
    if (!last && nbcolli_flat_has(a, b->rank, b->rank) && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    for (int from = 0; from <= last; from++) {
        nbcolli_flat_sum next = {a->send, NBCOLL_START, from == b->rank};
        if (!next.is_mine) {
            next.at = last ? nbcoll_add_scratch(b, a->bytes) : a->recv;
            next.since = nbcoll_add_recv(b, from, next.at, a->bytes);
            nbcoll_after(b, next.since, last ? before : left);
            before = is_sequential ? next.since : NBCOLL_START;
        }
        if (from) {
            nbcoll_addr to = from == last ? a->recv : sum.is_mine ? next.at : sum.at;
            nbcoll_step step = nbcoll_add_combine(b, to, sum.at, next.at, a->count, a->reduction);
            nbcoll_after(b, step, sum.since);
            nbcoll_after(b, step, next.since);
            if (from == last)
                nbcoll_after(b, step, left);
            next = (nbcolli_flat_sum){to, step, 0};
        }
        sum = next;
    }
}

void nbcolli_combine_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_combine(b, a, 0);
}

void nbcolli_combine_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_flat_combine(b, a, 1);
}
