/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier through shared memory: rank 0 hears of all by empty exposures, and tells all by one. Source: gather and
 * broadcast, Ramos' thesis (2013), Table 4.1, over slots. */
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_barrier_slots;

void nbcolli_barrier_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part here = {0, 0, nbcoll_span(a->recv, 0)};

    if (b->rank != 0) {
        nbcoll_add_expose(b, 1, &here);
        nbcoll_add_fetch(b, 0, a->recv, 0);
        return;
    }
    nbcoll_step all = nbcoll_add_join(b);
    for (int peer = 1; peer < b->ranks; peer++)
        nbcoll_after(b, all, nbcoll_add_fetch(b, peer, a->recv, 0));
    nbcoll_after(b, nbcoll_add_expose_to_all(b, a->recv, 0), all);
}
