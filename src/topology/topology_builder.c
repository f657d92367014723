/* SPDX-License-Identifier: BSD-3-Clause
 * Topologies being written down; and the two that need no more than that: direct, and a ring, where each hop has a
 * relay.
 */
#include "topology.h"

void nbcolli_relay_next(nbcolli_topology_builder *w)
{
    if (w->relay)
        w->relay[w->relays] = (nbcoll_relay){.source = &w->end[w->ends], .destination = &w->end[w->ends]};
    w->relays++;
}

/* Puts an end among the last `count` ones, in order. */
static void nbcolli_topology_builder_end(nbcolli_topology_builder *w, uint32_t count, nbcoll_relay_end end)
{
    nbcoll_relay_end *at = &w->end[w->ends];
    for (; count && (at[-1].rank > end.rank || (at[-1].rank == end.rank && at[-1].relay > end.relay)); count--, at--)
        *at = at[-1];
    *at = end;
}

void nbcolli_relay_from(nbcolli_topology_builder *w, int rank, uint32_t relay, uint32_t origins)
{
    if (w->relay) {
        nbcoll_relay *r = &w->relay[w->relays - 1];
        nbcolli_topology_builder_end(w, r->sources++, (nbcoll_relay_end){rank, relay, origins});
        r->destination = &w->end[w->ends + 1];
    }
    w->ends++;
}

void nbcolli_relay_to(nbcolli_topology_builder *w, int rank, uint32_t relay, uint32_t origins)
{
    if (w->relay)
        nbcolli_topology_builder_end(w, w->relay[w->relays - 1].destinations++,
                                     (nbcoll_relay_end){rank, relay, origins});
    w->ends++;
}

void nbcolli_wire_direct(nbcolli_topology_builder *w)
{
    nbcolli_relay_next(w);
    for (int rank = 0; rank < w->ranks; rank++)
        if (rank != w->rank)
            nbcolli_relay_to(w, rank, 1, 1);
    if (w->ranks > 1)
        nbcolli_relay_next(w);
    for (int rank = 0; rank < w->ranks; rank++)
        if (rank != w->rank)
            nbcolli_relay_from(w, rank, 0, 1);
}

void nbcolli_wire_ring(nbcolli_topology_builder *w)
{
    for (int hop = 0; hop < w->ranks; hop++) {
        nbcolli_relay_next(w);
        if (hop > 0)
            nbcolli_relay_from(w, w->rank ? w->rank - 1 : w->ranks - 1, (uint32_t)hop - 1, 1);
        if (hop < w->ranks - 1)
            nbcolli_relay_to(w, w->rank < w->ranks - 1 ? w->rank + 1 : 0, (uint32_t)hop + 1, 1);
    }
}
