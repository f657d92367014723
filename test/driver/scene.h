/* SPDX-License-Identifier: BSD-3-Clause
 * Loopback ranks whose contexts drivers may run. Include cmocka.h first. */
#ifndef TEST_DRIVER_SCENE_H
#define TEST_DRIVER_SCENE_H

#include "nbcoll/driver.h"
#include "nbcoll/schedule.h"

#include "crew.h"
#include "world.h"

enum { SCENE_RANKS = 4 };

static const uint64_t deadline = 60000000000u;

/* Ranks with a communicator; none is in a driver. */
void scene_open(world *w, int ranks, const nbcoll_observer *observer);

/* A driver with a thread of its own that has the contexts from `first` up to `end`. */
nbcoll_driver *scene_drive(world *w, int first, int end);

/* Frees the driver first. */
void scene_close(world *w, nbcoll_driver *driver);

/* Waits until the request has ended, for half a minute, calling nothing of the library; the test fails else. */
void scene_watch(nbcoll_request request);

nbcoll_driver_counts scene_counts(const nbcoll_driver *driver);

/* Runs the test on one core, with all threads that it makes: a thread that wakes another one is often replaced by it
 * before it has gone on. */
void scene_on_one_core(void (*test)(void **state), void **state);

/* Waits until the driver of these ranks sleeps. */
void scene_rest(const world *w, int first, int end);

#endif
