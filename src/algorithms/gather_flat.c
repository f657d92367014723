/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of long blocks: each rank sends its own to the root, so that every byte moves once. Source: the flat tree
 * of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_gather_flat;

void nbcolli_gather_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank != a->root) {
        nbcoll_send(b, a->root, a->send, a->bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        nbcoll_recv(b, peer, nbcoll_at(a->recv, (size_t)peer * a->bytes), a->bytes);
    }
    if (!a->in_place)
        nbcoll_copy(b, nbcoll_at(a->recv, (size_t)a->root * a->bytes), a->send, a->bytes);
}
