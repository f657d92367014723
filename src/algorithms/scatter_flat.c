/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of long blocks, or of blocks of whatever length: the root sends each rank its own, so that every byte moves
 * once. Source: the flat tree of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scatter_flat;

void nbcolli_scatter_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region from, to = nbcoll_recv_block(b, a, a->root);

    if (b->rank != a->root) {
        nbcoll_recv(b, a->root, to.at, to.bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        from = nbcoll_send_block(b, a, peer);
        nbcoll_send(b, peer, from.at, from.bytes);
    }
    from = nbcoll_send_block(b, a, a->root);
    if (!a->in_place)
        nbcoll_copy(b, to.at, from.at, from.bytes);
}
