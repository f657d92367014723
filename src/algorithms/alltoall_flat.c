/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all, every block straight to its place: P - 1 messages a rank, the nearest above first, so that not all go to
 * one rank at a time; all of them posted at once. Serves bound blocks too. Source: Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH" (2005), which uses it for blocks of middle length. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_alltoall_flat;

void nbcolli_alltoall_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks;
    nbcoll_region from = nbcoll_send_block(b, a, me), to = nbcoll_recv_block(b, a, me);

    if (!a->in_place)
        nbcoll_copy(b, to.at, from.at, from.bytes);
    for (int i = 1; i < ranks; i++) {
        int above = nbcoll_absolute(i, me, ranks), below = a->in_place ? above : nbcoll_relative(me, i, ranks);
        nbcoll_step left = NBCOLL_START;
        from = nbcoll_send_block(b, a, above);
        to = nbcoll_recv_block(b, a, below);
        if (a->in_place) { /* what leaves goes aside, so that its place is free for what comes */
            nbcoll_addr aside = nbcoll_scratch(b, from.bytes);
            left = nbcoll_copy(b, aside, from.at, from.bytes);
            from.at = aside;
        }
        nbcoll_after(b, nbcoll_send(b, above, from.at, from.bytes), left);
        nbcoll_after(b, nbcoll_recv(b, below, to.at, to.bytes), left);
    }
}
