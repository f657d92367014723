/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors through shared memory: rank 0 combines the vectors where they lie, in rank order, and
 * exposes the result to all. Source: the slots of Ramos et al., section 3.4. */
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allreduce_slots;

void nbcolli_allreduce_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part mine = {0, 0, nbcoll_span(a->send, a->bytes)};
    nbcoll_step sum = NBCOLL_START;

    if (b->rank != 0) {
        nbcoll_step given = nbcoll_add_expose(b, 1, &mine);
        nbcoll_step result = nbcoll_add_fetch(b, 0, a->recv, a->bytes);
        if (a->in_place)
            nbcoll_after(b, result, given);
        return;
    }
    if (!a->in_place)
        sum = nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    for (int peer = 1; peer < b->ranks; peer++) {
        nbcoll_step next = nbcoll_add_fetch_reduce(b, peer, a->recv, NBCOLL_RIGHT, a->count, a->reduction);
        nbcoll_after(b, next, sum);
        sum = next;
    }
    nbcoll_after(b, nbcoll_add_expose_to_all(b, a->recv, a->bytes), sum);
}
