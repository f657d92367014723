/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction of short vectors through shared memory: each rank exposes its vector to the root, which combines them
 * where they lie, in rank order: those of lower ranks from the left, nearest first, then those of higher ranks from the
 * right. Source: the slots of Ramos et al., section 3.4. */
#include "algorithms.h"

void nbcolli_reduce_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part mine = {a->root, 0, nbcoll_span(a->send, a->bytes)};
    nbcoll_step sum = NBCOLL_START;

    if (b->rank != a->root) {
        nbcoll_add_expose(b, 1, &mine);
        return;
    }
    if (!a->in_place)
        sum = nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    for (int i = 1; i < b->ranks; i++) {
        int peer = i <= b->rank ? b->rank - i : i;
        nbcoll_side side = i <= b->rank ? NBCOLL_LEFT : NBCOLL_RIGHT;
        nbcoll_step next = nbcoll_add_fetch_reduce(b, peer, a->recv, side, a->count, a->reduction);
        nbcoll_after(b, next, sum);
        sum = next;
    }
}
