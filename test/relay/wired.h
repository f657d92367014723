/* SPDX-License-Identifier: BSD-3-Clause
 * The topologies of all ranks, and copies of them that a test may spoil. */
#ifndef TEST_RELAY_WIRED_H
#define TEST_RELAY_WIRED_H

#include "nbcoll/relay.h"
#include "nbcoll/verify.h"

enum { WIRED_MOST = 128 };

typedef struct wired {
    int ranks;
    nbcoll_topology *made[WIRED_MOST];
    const nbcoll_topology *topology[WIRED_MOST];
    nbcoll_relay_refutation why;
} wired;

/* Fails the test if they cannot be made. */
void wired_open(wired *p, nbcoll_topology_kind kind, unsigned ports, int ranks);
/* By nodes, ranks numbered over them. */
void wired_open_nodes(wired *p, nbcoll_topology_kind kind, unsigned ports, const nbcoll_nodes *nodes);
void wired_close(wired *p);

/* The table of so many ranks on nodes of these sizes, dealt in turns; the caller frees it. */
nbcoll_nodes *wired_nodes(int ranks, const int room[], size_t rooms, nbcoll_numbering numbering, uint64_t seed);

/* Fails the test, and prints why, unless it is OK; plays these topologies, with two fragments a block. */
void wired_must(const wired *p, nbcoll_status status);
void wired_play(wired *p, const uint32_t started[], uint32_t at_once, uint32_t operations, uint64_t seed);

/* The destinations (or sources) of a relay, to be spoiled, and how many there are. */
nbcoll_relay_end *wired_ends(wired *p, int rank, uint32_t relay, int is_source, uint32_t **count);

#endif
