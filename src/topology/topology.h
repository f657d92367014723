/* SPDX-License-Identifier: BSD-3-Clause
 * How topologies are written down. */
#ifndef NBCOLLI_TOPOLOGY_H
#define NBCOLLI_TOPOLOGY_H

#include "nbcoll/relay.h"
#include "../offload/arena.h"

#define NBCOLLI_TOPOLOGY_PORTS 2 /* where 0 is asked for */

/* A topology being written, twice: first it is counted, then filled in. Of a relay, all sources come first. */
typedef struct nbcolli_topology_builder {
    int rank, ranks;
    int64_t ports;
    const struct nbcolli_between *between; /* of a hierarchical topology: those of the nodes */
    uint32_t relays, ends;
    nbcoll_relay *relay; /* null: it is counted */
    nbcoll_relay_end *end;
} nbcolli_topology_builder;

typedef void nbcolli_wire(nbcolli_topology_builder *w);

/* Begins the next relay; joins it to the one that is named. */
void nbcolli_relay_next(nbcolli_topology_builder *w);
void nbcolli_relay_from(nbcolli_topology_builder *w, int rank, uint32_t relay, uint32_t origins);
void nbcolli_relay_to(nbcolli_topology_builder *w, int rank, uint32_t relay, uint32_t origins);

nbcolli_wire nbcolli_wire_direct, nbcolli_wire_ring, nbcolli_wire_exchange, nbcolli_wire_bruck, nbcolli_wire_cayley;

/* Makes the topology that `wire` writes down for that rank. */
nbcoll_status nbcolli_topology_write(nbcolli_wire *wire, nbcolli_topology_builder w, const char *name,
                                     const nbcoll_host *host, nbcoll_topology **out);

/* What hierarchical topologies are made of: the topologies of the nodes, as if each were one rank. */
typedef struct nbcolli_between {
    nbcolli_arena arena;
    const nbcoll_nodes *nodes;
    const char *name;
    nbcoll_topology **topology; /* [nodes] */
    uint32_t **passed;      /* [nodes][relays]: ranks whose blocks come there */
} nbcolli_between;

/* Opens it, whatever it returns; makes the topology of a rank; closes it. */
nbcoll_status nbcolli_between_open(nbcolli_between *p, nbcoll_topology_kind kind, unsigned ports,
                                   const nbcoll_nodes *nodes, const nbcoll_host *host);
nbcoll_status nbcolli_between_wire(const nbcolli_between *p, int rank, nbcoll_topology **out);
void nbcolli_between_close(nbcolli_between *p);

#endif
