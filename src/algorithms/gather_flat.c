/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of long blocks, or of blocks of whatever length: each rank sends its own to the root, so that every byte moves
 * once: all receives at once, or each when the one before has ended. Source: the flat tree over nonblocking and over
 * blocking primitives of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_gather_flat, nbcolli_gather_flat_sequential;

static void nbcolli_gather_directly(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    nbcoll_step before = NBCOLL_START;
    nbcoll_region from = nbcoll_send_block(b, a, a->root), to;

    if (b->rank != a->root) {
        nbcoll_add_send(b, a->root, from.at, from.bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        to = nbcoll_recv_block(b, a, peer);
        nbcoll_step take = nbcoll_add_recv(b, peer, to.at, to.bytes);
        nbcoll_after(b, take, before);
        before = is_sequential ? take : NBCOLL_START;
    }
    to = nbcoll_recv_block(b, a, a->root);
    if (!a->in_place)
        nbcoll_add_copy(b, to.at, from.at, from.bytes);
}

void nbcolli_gather_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_gather_directly(b, a, 0);
}

void nbcolli_gather_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_gather_directly(b, a, 1);
}
