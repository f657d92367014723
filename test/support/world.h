/* SPDX-License-Identifier: BSD-3-Clause
 * All ranks of a loopback world in one test: each with a context, an endpoint and a communicator; stepped by the test's
 * thread in a seeded order, or run by threads of their own. Stepping goes on no longer than a watchdog allows: it then
 * prints the steps that have not ended, and fails the test. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "nbcoll/loopback.h"
#include "nbcoll/nbcoll.h"
#include "nbcoll/schedule.h"
#include "watch.h"

enum { WORLD_MOST = 64, WORLD_STAGING = 20000 };

typedef struct world {
    int ranks;
    uint64_t random; /* state; seeds the order of stepping */
    nbcoll_loopback *loopback;
    nbcoll_endpoint *endpoint[WORLD_MOST];
    nbcoll_context *context[WORLD_MOST];
    nbcoll_comm *comm[WORLD_MOST];
    watch watch[WORLD_MOST]; /* observes the contexts that the test observes not itself */
} world;

/* Any of the configurations may be null; `ranks` of the loopback's is set here. The seed of the loopback's also seeds
 * the stepping. Fails the test on any error. world_open leaves every rank with a communicator of all,
 * which exposes memory where that is shared (native.h), unless its configuration has rules. */
void world_open_contexts(world *w, int ranks, const nbcoll_loopback_config *loopback,
                         const nbcoll_context_config *context);
void world_open(world *w, int ranks, const nbcoll_loopback_config *loopback, const nbcoll_context_config *context,
                const nbcoll_comm_config *comm);
void world_close(world *w);

/* Steps the ranks until each request has ended; statuses[i] (may be null) is how. world_finish wants them OK. */
void world_settle(world *w, size_t n, nbcoll_request requests[], nbcoll_status statuses[]);
void world_finish(world *w, size_t n, nbcoll_request requests[]);

/* What nbcoll_arm says when it has said once that operations have ended since the last time. */
nbcoll_status world_arm(const world *w, int rank);
/* Where a test steps by itself: fails it, and says what has not ended, unless it is in time. */
void world_watchdog(const world *w, int is_in_time);
/* One progress of each rank, in a random order. */
void world_step(world *w);

/* Runs main(w, rank, user) on one thread for each rank, and joins them. Assertions there fail the test. */
void world_threads(world *w, void (*main)(world *w, int rank, void *user), void *user);

/* The call returns this status; else both are printed, also from a thread, and the test fails. */
#define EXPECT(status, call) world_expect(NBCOLL_##status, call, #call, __FILE__, __LINE__)
void world_expect(nbcoll_status wanted, nbcoll_status is, const char *call, const char *file, int line);

/* Loopbacks from the comfortable one (0) to less comfortable ones: with and without bulk data, lending, reordering with
 * this seed, with room for one small message only; then some that put large data, and some that share memory. */
enum { WORLD_PUTS = 7, WORLD_SHARED = 9, WORLD_VARIANTS = 12 };
nbcoll_loopback_config world_variant(int variant, uint64_t seed);

/* The next pseudo-random number of a state (splitmix64). */
uint64_t world_random(uint64_t *state);

#endif
