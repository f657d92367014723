/* SPDX-License-Identifier: BSD-3-Clause
 * Who has a core for itself. A rank that waits may spin only where nobody else needs its core meanwhile; where ranks
 * take turns on a core it yields, and all that ranks do takes longer. What counts are the ranks' affinity masks, all
 * together: ranks that are bound to a core each have enough of them, and two that are bound to the same one have not,
 * however many cores the machine has. */
#ifndef NBCOLLI_HOST_CROWDING_H
#define NBCOLLI_HOST_CROWDING_H

#include <stdint.h>

#define NBCOLLI_CORES 1024      /* those that an affinity mask of ours can name */
#define NBCOLLI_CROWD_RANKS 256 /* whose masks are compared, at most */

/* A set of cores, as sched_getaffinity names them. An empty one: not known. */
typedef struct nbcolli_cores {
    uint64_t word[NBCOLLI_CORES / 64];
} nbcolli_cores;

/* Those where the calling thread may run. */
nbcolli_cores nbcolli_cores_allowed(void);
int nbcolli_cores_count(const nbcolli_cores *set);

/* How many ranks each core must run at least, so that there is a place for `rank` and for all that compete with it for
 * places. 1: there are enough cores. Where cores have n places, ranks without one compete for those cores that lack the
 * most places for the ranks confined to them (Hall's condition), and with each rank that is confined to these; the
 * answer is the least n at which this rank is none of them. 0: its mask is not known. Such ranks do not count. */
uint32_t nbcolli_ranks_per_core(const nbcolli_cores of[], int ranks, int rank);

#endif
