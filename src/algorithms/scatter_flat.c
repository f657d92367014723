/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of long blocks, or of blocks of whatever length: the root sends each rank its own, so that every byte moves
 * once: all sends at once, or each when the one before has ended. Source: the flat tree over nonblocking and over
 * blocking primitives of Ramos' thesis (2013), section 4.1.2. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scatter_flat, nbcolli_scatter_flat_sequential;

static void nbcolli_scatter_directly(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    nbcoll_step before = NBCOLL_START;
    nbcoll_region from, to = nbcoll_recv_block(b, a, a->root);

    if (b->rank != a->root) {
        nbcoll_add_recv(b, a->root, to.at, to.bytes);
        return;
    }
    for (int i = 1; i < b->ranks; i++) {
        int peer = nbcoll_absolute(i, a->root, b->ranks);
        from = nbcoll_send_block(b, a, peer);
        nbcoll_step give = nbcoll_add_send(b, peer, from.at, from.bytes);
        nbcoll_after(b, give, before);
        before = is_sequential ? give : NBCOLL_START;
    }
    from = nbcoll_send_block(b, a, a->root);
    if (!a->in_place)
        nbcoll_add_copy(b, to.at, from.at, from.bytes);
}

void nbcolli_scatter_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_scatter_directly(b, a, 0);
}

void nbcolli_scatter_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_scatter_directly(b, a, 1);
}
