/* SPDX-License-Identifier: BSD-3-Clause
 * Gather through shared memory: each rank exposes its block to the root, which fetches them all. Source: the slots of
 * Ramos et al., section 3.4. */
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_gather_slots;

void nbcolli_gather_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part mine = {a->root, 0, nbcoll_span(a->send, a->bytes)};

    if (b->rank != a->root) {
        nbcoll_add_expose(b, 1, &mine);
        return;
    }
    for (int peer = 0; peer < b->ranks; peer++) {
        nbcoll_addr place = nbcoll_at(a->recv, (size_t)peer * a->bytes);
        if (peer != b->rank)
            nbcoll_add_fetch(b, peer, place, a->bytes);
        else if (!a->in_place)
            nbcoll_add_copy(b, place, a->send, a->bytes);
    }
}
