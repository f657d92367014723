/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of long blocks, or of blocks of whatever length: each rank sends its own to the root, so that every byte moves
 * once. Source: the flat tree of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_gather_flat;

void nbcolli_gather_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region from = nbcoll_send_block(b, a, a->root), to;

    if (b->rank != a->root) {
        nbcoll_send(b, a->root, from.at, from.bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        to = nbcoll_recv_block(b, a, peer);
        nbcoll_recv(b, peer, to.at, to.bytes);
    }
    to = nbcoll_recv_block(b, a, a->root);
    if (!a->in_place)
        nbcoll_copy(b, to.at, from.at, from.bytes);
}
