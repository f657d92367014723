/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of long blocks: the root sends each rank its own, so that every byte moves once. Source: the flat tree
 * of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scatter_flat;

void nbcolli_scatter_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank != a->root) {
        nbcoll_recv(b, a->root, a->recv, a->bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        nbcoll_send(b, peer, nbcoll_at(a->send, (size_t)peer * a->bytes), a->bytes);
    }
    if (!a->in_place)
        nbcoll_copy(b, a->recv, nbcoll_at(a->send, (size_t)a->root * a->bytes), a->bytes);
}
