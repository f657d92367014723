/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier by a flat gather and a flat broadcast of nothing: rank 0 hears of all, then tells all. Two messages after
 * each other, 2 (P - 1) of them at rank 0. Source: Ramos et al., Table I, Gather + Bcast. */
#include "algorithms.h"

void nbcolli_barrier_gather_bcast(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank) {
        nbcoll_add_send(b, 0, a->recv, 0);
        nbcoll_add_recv(b, 0, a->recv, 0);
        return;
    }
    nbcoll_step all = nbcoll_add_join(b);
    for (int peer = 1; peer < b->ranks; peer++) {
        nbcoll_after(b, all, nbcoll_add_recv(b, peer, a->recv, 0));
        nbcoll_after(b, nbcoll_add_send(b, peer, a->recv, 0), all);
    }
}
