/* SPDX-License-Identifier: BSD-3-Clause
 * Exclusive scan along the ranks: each takes the prefix of the ranks below, which is its result, and passes it on
 * combined with its own operand. P - 1 messages after each other. The definition, made a schedule. */
#include "algorithms.h"

void nbcolli_exscan_linear(nbcoll_builder *b, const nbcoll_args *a)
{
    int is_last = b->rank == b->ranks - 1;
    nbcoll_addr sum = a->send, in = a->recv;
    nbcoll_step since = NBCOLL_START;

    if (b->rank > 0) {
        int waits = a->in_place && !is_last; /* the operand is still needed where the result belongs */
        if (waits)
            in = nbcoll_add_scratch(b, a->bytes);
        since = nbcoll_add_recv(b, b->rank - 1, in, a->bytes);
        if (is_last)
            return;
        sum = nbcoll_add_scratch(b, a->bytes);
        nbcoll_step combine = nbcoll_add_combine(b, sum, in, a->send, a->count, a->reduction);
        nbcoll_after(b, combine, since);
        since = combine;
        if (waits)
            nbcoll_after(b, nbcoll_add_copy(b, a->recv, in, a->bytes), combine);
    }
    if (!is_last)
        nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, sum, a->bytes), since);
}
