/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks whose communicator's calls relays carry out, moved by the ranks' engines or by agents of nodes of two: all
 * stepped by the test's thread, in a seeded order. */
#ifndef TEST_RELAY_CARRIED_H
#define TEST_RELAY_CARRIED_H

#include "nbcoll/offload.h"
#include "nbcoll/relay.h"
#include "world.h"

enum { RANKS = 5, NEAR = 2, AT_ONCE = 2, MANY = 9, BYTES = 13, LONG = 100, LOOKS = 4000 };

extern int carried_by_agents; /* they move them, in this run of the tests */

typedef struct carried {
    world w;
    nbcoll_agent *agent[RANKS]; /* of the first rank of each node, by agents */
    unsigned late;              /* bits of ranks that call nothing */
    nbcoll_relays *relays[RANKS];
    unsigned char send[RANKS][MANY][BYTES], recv[RANKS][MANY][RANKS * BYTES];
    nbcoll_request request[RANKS][MANY];
} carried;

/* Fragments of 8 bytes, two a block; calls of up to 16 bytes are carried. */
nbcoll_relays_config carried_config(nbcoll_topology_kind kind);

/* Opens ranks, by agents on nodes of two with an agent for each node; relays on one of them; or all that, and fills
 * `send`. Broadcasts that are not carried go along a chain, which a late rank breaks. */
void carried_open_ranks(carried *p, int ranks, const nbcoll_context_config *context, const nbcoll_comm_config *config);
nbcoll_status carried_open_relays(carried *p, int rank, nbcoll_relays_config config);
void carried_open(carried *p, int ranks, nbcoll_relays_config config, const nbcoll_context_config *context);
/* Until all have the relays. */
void carried_await(carried *p);
void carried_close_relays(carried *p);
void carried_close_ranks(carried *p);
void carried_close(carried *p); /* both */

/* One progress of each rank that is not late, and of each agent; or so many. */
void carried_step(carried *p);
void carried_steps(carried *p, int many);

/* Until all have ended; well. */
void carried_settle(carried *p, size_t n, nbcoll_request q[], nbcoll_status s[]);
void carried_finish_all(carried *p, size_t n, nbcoll_request q[]);

/* An allgather of the o-th blocks: starts it; has its data at a rank that has ended it; ends it on all ranks. */
void carried_gather(carried *p, int rank, int o);
void carried_has_gathered(const carried *p, int rank, int o);
void carried_finish(carried *p, int o);

#endif
