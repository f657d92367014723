/* SPDX-License-Identifier: BSD-3-Clause
 * Worlds whose ranks lie on nodes: within each node a loopback of its own, and one that joins them all. */
#ifndef JOINED_H
#define JOINED_H

#include "nbcoll/nodes.h"
#include "world.h"

enum { JOINED_NODES = 16 };

typedef struct joined {
    world w; /* its loopback is the one that reaches all */
    nbcoll_nodes *nodes;
    nbcoll_loopback *inside[JOINED_NODES];
    nbcoll_endpoint *near[WORLD_MOST]; /* of each rank, within its node */
} joined;

/* Ranks on nodes, their endpoints and contexts; communicators are the caller's to make. `inside` configures what the
 * nodes have, `between` what joins them; `ranks` is set here; any may be null. */
void joined_open_contexts(joined *j, const nbcoll_nodes *nodes, const nbcoll_loopback_config *inside,
                          const nbcoll_loopback_config *between, const nbcoll_context_config *context);
/* The same, and a communicator of all over both. */
void joined_open(joined *j, const nbcoll_nodes *nodes, const nbcoll_loopback_config *inside,
                 const nbcoll_loopback_config *between, const nbcoll_context_config *context,
                 const nbcoll_comm_config *comm);
nbcoll_status joined_icreate(joined *j, int rank, const nbcoll_comm_config *comm, nbcoll_request *request);
/* Contexts that the test has freed, and set to null, are passed over. */
void joined_close(joined *j);

/* The i-th of some placements of so many ranks on 1 to 5 nodes, uneven ones: by node, round robin and at random. To be
 * freed. */
enum { JOINED_PLACEMENTS = 9 };
nbcoll_nodes *joined_placement(int i, int ranks, uint64_t seed);

#endif
