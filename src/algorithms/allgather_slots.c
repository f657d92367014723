/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather through shared memory: each rank exposes its block to all others, and fetches theirs, the next rank's first
 * so that not all read the same one. Source: the slots of Ramos et al., section 3.4. */
#include "algorithms.h"

void nbcolli_allgather_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_expose_to_all(b, a->send, a->bytes);
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, b->rank, b->ranks);
        nbcoll_add_fetch(b, peer, nbcoll_at(a->recv, (size_t)peer * a->bytes), a->bytes);
    }
    if (!a->in_place) /* nobody waits for that */
        nbcoll_add_copy(b, nbcoll_at(a->recv, (size_t)b->rank * a->bytes), a->send, a->bytes);
}
