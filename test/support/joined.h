/* SPDX-License-Identifier: BSD-3-Clause
 * Worlds whose ranks lie on nodes: within each node a loopback of its own, and one that joins them all. */
#ifndef JOINED_H
#define JOINED_H

#include "nbcoll/nodes.h"
#include "nbcoll/verify.h"
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

/* The i-th of some placements of so many ranks on uneven nodes, of 1 to 5 sizes that begin again where there are more
 * ranks: by node, round robin and at random. To be freed. */
enum { JOINED_PLACEMENTS = 9 };
nbcoll_nodes *joined_placement(int i, int ranks, uint64_t seed);

/* ---- 2 to 16 ranks on 1 to 5 nodes ------------------------------------------------------------------------------- */

enum { JOINED_RANKS = 16, JOINED_COUNT = 5, JOINED_NUMBERINGS = NBCOLL_NUMBERING_RANDOM + 1 };

/* So many ranks on exactly `count` nodes, or one on each if there are fewer; of sizes that the seed chooses, which are
 * not all the same if they need not be. To be freed. */
nbcoll_nodes *joined_on(int ranks, int count, nbcoll_numbering numbering, uint64_t seed);

/* The i-th of JOINED_SAMPLE, which together have every pair of ranks and nodes, of ranks and numbering, and of nodes
 * and numbering. Of turn 0, 1 and 2 together: every triple. */
enum { JOINED_SAMPLE = (JOINED_RANKS - 1) * JOINED_COUNT };
nbcoll_nodes *joined_sample(int i, int turn, uint64_t seed, nbcoll_numbering *numbering);

/* What a test has had of that. */
typedef struct joined_cover {
    uint8_t had[JOINED_RANKS + 1][JOINED_COUNT + 1][JOINED_NUMBERINGS];
} joined_cover;

/* Fails the test unless the nodes are uneven where they can be, and numbered so. */
void joined_cover_add(joined_cover *c, const nbcoll_nodes *nodes, nbcoll_numbering numbering);
/* Fail the test, and say what is missing, unless it has had every pair; every triple. */
void joined_cover_has_pairs(const joined_cover *c);
void joined_cover_has_all(const joined_cover *c);

#endif
