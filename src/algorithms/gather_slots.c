/* SPDX-License-Identifier: BSD-3-Clause
 * Gather through shared memory: each rank exposes its block to the root, which fetches them all. Source: the slots of
 * Ramos et al., section 3.4. */
#include "algorithms.h"

void nbcolli_gather_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part mine = {a->root, 0, nbcoll_span(a->send, a->bytes)};

    if (b->rank != a->root) {
        nbcoll_add_expose(b, 1, &mine);
        return;
    }
    for (int peer = 0; peer < b->ranks; peer++)
        if (peer != b->rank)
            nbcoll_add_fetch(b, peer, nbcoll_at(a->recv, (size_t)peer * a->bytes), a->bytes);
    if (!a->in_place) /* nobody waits for that */
        nbcoll_add_copy(b, nbcoll_at(a->recv, (size_t)b->rank * a->bytes), a->send, a->bytes);
}
