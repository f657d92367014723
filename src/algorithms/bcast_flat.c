/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast from the root to everyone directly: all sends at once, or each when the one before has ended. Source: the
 * flat tree over nonblocking and over blocking primitives of Ramos et al., Table I and Figure 2. */
#include "algorithms.h"

static void nbcolli_bcast_directly(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    nbcoll_step before = NBCOLL_START;

    if (b->rank != a->root)
        nbcoll_add_recv(b, a->root, a->recv, a->bytes);
    for (int i = 1; b->rank == a->root && i < b->ranks; i++) {
        nbcoll_step give = nbcoll_add_send(b, nbcoll_absolute(i, a->root, b->ranks), a->recv, a->bytes);
        nbcoll_after(b, give, before);
        before = is_sequential ? give : NBCOLL_START;
    }
}

void nbcolli_bcast_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bcast_directly(b, a, 0);
}

void nbcolli_bcast_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bcast_directly(b, a, 1);
}
