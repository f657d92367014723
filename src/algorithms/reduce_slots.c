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
    nbcolli_sum_fetch(b, a, a->recv, a->count, sum);
}
