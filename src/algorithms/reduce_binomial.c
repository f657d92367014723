/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction of short vectors up a binomial tree over the ranks as they are numbered, so that every operand stands in
 * rank order; one message more when the root is not rank 0. At most ceil(log2 P) + 1 messages after each other. Source:
 * Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005). */
#include "algorithms.h"

void nbcolli_reduce_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, size = nbcoll_binomial_size(me, b->ranks), is_root = me == a->root;
    nbcoll_addr sum = a->send, result = a->recv;
    nbcoll_step summed = NBCOLL_START, send_read = NBCOLL_START;

    /* The nearest child first: it has the ranks just above those combined so far. */
    for (int gap = 1; gap < size; gap = gap < size - gap ? 2 * gap : size) {
        nbcoll_addr in = nbcoll_add_scratch(b, a->bytes);
        nbcoll_step take = nbcoll_add_recv(b, me + gap, in, a->bytes);
        if (gap == 1 && (me || !is_root))
            result = in;
        nbcoll_step combine = nbcoll_add_combine(b, result, sum, in, a->count, a->reduction);
        nbcoll_set_split_lane(b, take, a->split, gap, NBCOLL_LANE_START);
        nbcoll_set_split_lane(b, combine, a->split, gap, NBCOLL_LANE_START);
        nbcoll_after(b, combine, take);
        nbcoll_after(b, combine, summed);
        send_read = gap == 1 ? combine : send_read;
        sum = result;
        summed = combine;
    }
    if (b->ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    int up = me ? nbcoll_binomial_parent(me) : a->root;
    if (up != me) {
        nbcoll_step give = nbcoll_add_send(b, up, sum, a->bytes);
        nbcoll_set_split_lane(b, give, a->split, me ? me - up : b->ranks, NBCOLL_LANE_START);
        nbcoll_after(b, give, summed);
        send_read = size == 1 ? give : send_read;
    }
    if (is_root && me) {
        nbcoll_step take = nbcoll_add_recv(b, 0, a->recv, a->bytes);
        nbcoll_set_split_lane(b, take, a->split, b->ranks, NBCOLL_LANE_START);
        if (a->in_place)
            nbcoll_after(b, take, send_read);
    }
}
