/* SPDX-License-Identifier: BSD-3-Clause
 * Topologies: making. */
#include "topology.h"

NBCOLLI_TELLS(nbcoll_topology_name, nbcoll_topology_kind, NBCOLL_TOPOLOGY_LIST, NBCOLLI_TEXT_OF, "?")

/* What a caller gets, in one block with its relays and their ends. */
typedef struct nbcolli_topology {
    nbcoll_topology made;
    nbcoll_host host;
    size_t memory;
} nbcolli_topology;

nbcoll_status nbcolli_topology_write(nbcolli_wire *wire, nbcolli_topology_builder w, const char *name,
                                     const nbcoll_host *host, nbcoll_topology **out)
{
    wire(&w);
    size_t head = nbcolli_lines(sizeof(nbcolli_topology)), relays = nbcolli_lines(w.relays * sizeof *w.relay);
    size_t bytes = head + relays + w.ends * sizeof *w.end;
    nbcolli_topology *made = nbcolli_alloc(host, bytes, 64);
    if (!made)
        return NBCOLL_ERR_MEMORY;
    w.relay = (nbcoll_relay *)(void *)((char *)made + head);
    w.end = (nbcoll_relay_end *)(void *)((char *)made + head + relays);
    w.relays = w.ends = 0;
    wire(&w);
    *made = (nbcolli_topology){{sizeof made->made, name, w.rank, w.ranks, w.relays, w.ends, w.relay}, *host, bytes};
    *out = &made->made;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_topology_make(nbcoll_topology_kind kind, unsigned ports, int ranks, int rank,
                                   const nbcoll_host *host, nbcoll_topology **out)
{
    static nbcolli_wire *const wire[] = {nbcolli_wire_direct, nbcolli_wire_ring, nbcolli_wire_exchange,
                                         nbcolli_wire_bruck, nbcolli_wire_cayley};
    nbcoll_host own = {.size = sizeof own};

    if (!out)
        return NBCOLL_ERR_NULL;
    if (host && nbcolli_copy_tagged(&own, host, sizeof own) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return NBCOLL_ERR_RANK;
    if ((unsigned)kind >= NBCOLL_TOPOLOGY_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    nbcolli_topology_builder w = {.rank = rank, .ranks = ranks, .ports = ports ? ports : NBCOLLI_TOPOLOGY_PORTS};
    return nbcolli_topology_write(wire[kind], w, nbcoll_topology_name(kind), &own, out);
}

void nbcoll_topology_free(nbcoll_topology *topology)
{
    if (!topology)
        return;
    nbcolli_topology *made = (nbcolli_topology *)(void *)topology; /* it begins so */
    nbcoll_host host = made->host;
    nbcolli_free(&host, made, made->memory);
}
