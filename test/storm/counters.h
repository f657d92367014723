/* SPDX-License-Identifier: BSD-3-Clause
 * Counters near their ends; and what only who knows the engine reads of a message. */
#ifndef STORM_COUNTERS_H
#define STORM_COUNTERS_H

#include "nbcoll/nbcoll.h"
#include "nbcoll/transport.h"

/* The last one is reached: starts are refused then (edition 9 of plans). */
enum { COUNTER_ENDS = 4 };

/* As if so many operations, and communicators of this endpoint, had been before: by all ranks alike, between two
 * operations. `which` end counts from 1. */
void counters_advance(nbcoll_comm *comm, int which);

/* As if this rank's endpoint had made all communicators that it can, but for so many; how many there are left. */
void counters_leave(nbcoll_comm *comm, int serials);
uint32_t counters_left(const nbcoll_comm *comm);

/* Of a message that says what a rank has called: 1 + the tag; of another one 0. */
uint64_t counters_said(const nbcoll_header *header);

#endif
