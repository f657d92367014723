/* SPDX-License-Identifier: BSD-3-Clause
 * How wirings are written down. */
#ifndef NBCOLLI_WIRING_H
#define NBCOLLI_WIRING_H

#include "nbcoll/relay.h"
#include "../offload/arena.h"

#define NBCOLLI_WIRING_PORTS 2 /* where 0 is asked for */

/* A wiring being written, twice: first it is counted, then filled in. Of a relay, all sources come first. */
typedef struct nbcolli_wirer {
    int rank, ranks;
    int64_t ports;
    const struct nbcolli_between *between; /* of a wiring by nodes: those of the nodes */
    uint32_t relays, ends;
    nbcoll_relay *relay; /* null: it is counted */
    nbcoll_relay_end *end;
} nbcolli_wirer;

typedef void nbcolli_wire(nbcolli_wirer *w);

/* Begins the next relay; joins it to the one that is named. */
void nbcolli_relay_next(nbcolli_wirer *w);
void nbcolli_relay_from(nbcolli_wirer *w, int rank, uint32_t relay, uint32_t origins);
void nbcolli_relay_to(nbcolli_wirer *w, int rank, uint32_t relay, uint32_t origins);

nbcolli_wire nbcolli_wire_direct, nbcolli_wire_ring, nbcolli_wire_exchange, nbcolli_wire_bruck, nbcolli_wire_cayley;

/* Makes the wiring that `wire` writes down for that rank. */
nbcoll_status nbcolli_wiring_write(nbcolli_wire *wire, nbcolli_wirer w, const char *name, const nbcoll_host *host,
                                   nbcoll_wiring **out);

/* What wirings by nodes are made of: the wirings of the nodes, as if each were one rank. */
typedef struct nbcolli_between {
    nbcolli_arena arena;
    const nbcoll_nodes *nodes;
    const char *name;
    nbcoll_wiring **wiring; /* [nodes] */
    uint32_t **passed;      /* [nodes][relays]: ranks whose blocks come there */
} nbcolli_between;

/* Opens it, whatever it returns; makes the wiring of a rank; closes it. */
nbcoll_status nbcolli_between_open(nbcolli_between *p, nbcoll_wiring_kind kind, unsigned ports,
                                   const nbcoll_nodes *nodes, const nbcoll_host *host);
nbcoll_status nbcolli_between_wire(const nbcolli_between *p, int rank, nbcoll_wiring **out);
void nbcolli_between_close(nbcolli_between *p);

#endif
