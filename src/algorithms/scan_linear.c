/* SPDX-License-Identifier: BSD-3-Clause
 * Inclusive scan along the ranks: each takes the prefix of the ranks below, combines, and passes it on. P - 1 messages
 * after each other; one of the vector's length a rank. The definition, made a schedule. */
#include "algorithms.h"

void nbcolli_scan_linear(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr sum = a->recv;
    nbcoll_step since = NBCOLL_START;

    if (b->rank > 0) {
        nbcoll_addr in = nbcoll_add_scratch(b, a->bytes);
        nbcoll_step take = nbcoll_add_recv(b, b->rank - 1, in, a->bytes);
        since = nbcoll_add_combine(b, a->recv, in, a->send, a->count, a->reduction);
        nbcoll_after(b, since, take);
    } else if (!a->in_place) {
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
        sum = a->send;
    }
    if (b->rank < b->ranks - 1)
        nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, sum, a->bytes), since);
}
