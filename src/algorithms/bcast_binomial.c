/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast down a binomial tree: receive from the parent, then feed the children, largest subtree first. At most
 * ceil(log2 P) messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication:
 * theory, practice, and experience" (2007), the minimum spanning tree. */
#include "algorithms.h"

void nbcolli_bcast_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, me = nbcoll_relative(b->rank, a->root, ranks);
    nbcoll_step data = NBCOLL_START;

    if (me) {
        data = nbcoll_add_recv(b, nbcoll_absolute(nbcoll_binomial_parent(me), a->root, ranks), a->recv, a->bytes);
        nbcoll_set_split_lane(b, data, a->split, me - nbcoll_binomial_parent(me), NBCOLL_LANE_CALLER);
    }
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        nbcoll_step give = nbcoll_add_send(b, nbcoll_absolute(child, a->root, ranks), a->recv, a->bytes);
        nbcoll_set_split_lane(b, give, a->split, child - me, NBCOLL_LANE_CALLER);
        nbcoll_after(b, give, data);
    }
}
