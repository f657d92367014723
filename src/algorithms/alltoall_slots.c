/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all through shared memory: each rank exposes its blocks, a part for each other rank, and fetches its own from
 * all of them, the next rank's first so that not all read the same one. Source: the slots of Ramos et al.,
 * section 3.4. */
#include "algorithms.h"

void nbcolli_alltoall_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part *part = nbcoll_builder_parts(b, (size_t)b->ranks);
    /* In place, what leaves goes aside, so that its place is free for what comes. */
    nbcoll_addr aside = a->in_place ? nbcoll_add_scratch(b, (size_t)b->ranks * a->bytes) : a->send;
    nbcoll_step left = NBCOLL_START;

    for (int i = 1; part && i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, b->rank, b->ranks);
        part[i - 1] = (nbcoll_part){peer, 0, nbcoll_span(nbcoll_at(aside, (size_t)peer * a->bytes), a->bytes)};
    }
    if (a->in_place)
        left = nbcoll_add_copy(b, aside, a->recv, (size_t)b->ranks * a->bytes);
    nbcoll_after(b, nbcoll_add_expose(b, (size_t)b->ranks - 1, part), left);
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, b->rank, b->ranks);
        nbcoll_after(b, nbcoll_add_fetch(b, peer, nbcoll_recv_block(b, a, peer).at, a->bytes), left);
    }
    if (!a->in_place) /* nobody waits for that */
        nbcoll_add_copy(b, nbcoll_recv_block(b, a, b->rank).at, nbcoll_send_block(b, a, b->rank).at, a->bytes);
}
