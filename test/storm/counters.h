/* SPDX-License-Identifier: BSD-3-Clause
 * Counters near their ends. */
#ifndef STORM_COUNTERS_H
#define STORM_COUNTERS_H

#include "nbcoll/nbcoll.h"

/* The last one is reached: starts are refused then (edition 9 of plans). */
enum { COUNTER_ENDS = 4 };

/* As if so many operations, and communicators of this endpoint, had been before: by all ranks alike, between two
 * operations. `which` end counts from 1. */
void counters_advance(nbcoll_comm *comm, int which);

#endif
