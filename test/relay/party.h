/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks on nodes, whose leaders' agents move relays: all stepped by the test's thread, in a seeded order. */
#ifndef TEST_RELAY_PARTY_H
#define TEST_RELAY_PARTY_H

#include "nbcoll/offload.h"
#include "nbcoll/relay.h"
#include "world.h"

enum { PARTY_RANKS = 16, PARTY_SHAPE = 9, PARTY_MANY = 9, PARTY_BYTES = 13, PARTY_LOOKS = 6000, PARTY_AT_ONCE = 2 };

typedef struct party {
    world w;
    int nodes;
    int leader[PARTY_RANKS];          /* of each node */
    nbcoll_agent *agent[PARTY_RANKS]; /* of each node */
    nbcoll_relays *relays[PARTY_RANKS];
    unsigned late; /* bits of ranks that call nothing */
    unsigned idle; /* bits of nodes whose agents call nothing */
    unsigned char send[PARTY_RANKS][PARTY_MANY][PARTY_BYTES];
    unsigned char recv[PARTY_RANKS][PARTY_MANY][PARTY_RANKS * PARTY_BYTES];
    uint64_t number[PARTY_RANKS][PARTY_MANY];
    nbcoll_transport unshared; /* of the rank that shares no memory */
    const nbcoll_host *host; /* of contexts, communicators, relays and agents; null: none */
} party;

/* Relays by agents: fragments of 8 bytes, two a block, two operations at once. */
nbcoll_relays_config party_config(nbcoll_topology_kind kind);

/* Opens ranks on nodes of these sizes, up to the first 0, and their agents; then relays, until all have them. */
void party_open(party *p, const int sizes[], const nbcoll_host *host);
/* The same, where one rank, `alone`, shares no memory; -1: none. */
void party_open_without(party *p, const int sizes[], const nbcoll_host *host, int alone);
void party_open_relays(party *p, nbcoll_relays_config config);
/* Closes relays on all ranks that are not late, stepping; then agents and ranks. */
void party_close_relays(party *p);
void party_close(party *p);

/* One look of each rank that is not late, and of each agent that is not idle. */
void party_step(party *p);

nbcoll_status party_start(party *p, int rank, int o);
int party_has_block(const party *p, int rank, int o, int of);
/* Have the blocks of all who are not late come to all who are not late? */
int party_all_have_come(const party *p, int o);
/* Steps until the operation has ended at that rank. */
void party_finish(party *p, int rank, uint64_t number);

#endif
