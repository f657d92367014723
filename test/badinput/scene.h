/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that a test steps, by a clock that it moves. */
#ifndef NBCOLL_TEST_SCENE_H
#define NBCOLL_TEST_SCENE_H

#include "world.h"

#define SCENE_MS 1000000

typedef struct scene {
    world w;
    uint64_t clock;
    int silent; /* a rank that computes outside the library, or -1 */
    nbcoll_context_config config;
} scene;

/* Sets all but the world. */
void scene_set(scene *s);

void scene_open(scene *s, int ranks, int variant, const nbcoll_comm_config *comm);

/* A millisecond in which all look, but for the one that computes; n of them. */
void scene_pass(scene *s);
void scene_passes(scene *s, int n);

/* Looks until all of n requests have ended; returns the milliseconds, or fails after `limit`. */
int scene_settle(scene *s, size_t n, nbcoll_request q[], nbcoll_status status[], int limit);

/* The failure's text, also where the room for it is short. */
void failure_says(const nbcoll_failure *failure, const char *wanted);

/* The failure of the rank's communicator. */
void scene_says(scene *s, int rank, nbcoll_status status, const char *wanted);

#endif
