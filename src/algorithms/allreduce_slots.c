/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors through shared memory: each rank exposes its vector once, to all, and combines those of
 * all where they lie, in rank order, so that all ranks get the same bits. Source: the slots of Ramos et al., section
 * 3.4. */
#include "algorithms.h"

void nbcolli_allreduce_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step given = nbcoll_add_expose_to_all(b, a->send, a->bytes), sum = NBCOLL_START;
    nbcoll_addr to = a->in_place ? nbcoll_add_scratch(b, a->bytes) : a->recv;

    for (int rank = 0; rank < b->ranks; rank++) {
        nbcoll_step next = rank == 0 && b->rank == 0 ? nbcoll_add_copy(b, to, a->send, a->bytes)
                           : rank == 0               ? nbcoll_add_fetch(b, 0, to, a->bytes)
                           : rank == b->rank
                               ? nbcoll_add_combine(b, to, to, a->send, a->count, a->reduction)
                               : nbcoll_add_fetch_reduce(b, rank, to, NBCOLL_RIGHT, a->count, a->reduction);
        nbcoll_after(b, next, sum);
        sum = next;
    }
    if (a->in_place) { /* the others read the operand there */
        nbcoll_step result = nbcoll_add_copy(b, a->recv, to, a->bytes);
        nbcoll_after(b, result, sum);
        nbcoll_after(b, result, given);
    }
}
