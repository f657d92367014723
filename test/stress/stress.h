/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank does under stress, over any transport: many operations in flight on several communicators, started in an
 * order of the rank's own (the same within a communicator) and waited for in another. */
#ifndef STRESS_H
#define STRESS_H

#include <stdint.h>

#include "nbcoll/driver.h"
#include "nbcoll/nbcoll.h"
#include "operation.h"

enum { STRESS_RANKS = 8, STRESS_COMMS = 3, STRESS_OPERATIONS = 1000 };

typedef struct stress {
    uint64_t seed;
    int ranks;                /* STRESS_RANKS at most */
    nbcoll_driver *driver[2]; /* null; or rank r's context is in driver[r % 2] */
    nbcoll_comm_config limits;
    uint32_t credits;
    int operations; /* so many of these; may be lowered */
    operation operation[STRESS_OPERATIONS];
    int comm[STRESS_OPERATIONS]; /* of each */
} stress;

/* The same for all ranks, without drivers. Prints the seed. */
void stress_make(stress *s, int ranks, uint64_t seed);

/* Runs it all on this rank, whose end is given away, and checks each value. When something is wrong, or nothing has
 * ended for a minute, it says so, dumps the unfinished steps, and aborts. */
void stress_run(const stress *s, int rank, nbcoll_endpoint *ep);

/* The same on all ranks, as threads over a loopback with these flags. */
void stress_over_loopback(const stress *s, uint32_t flags);

#endif
