/* SPDX-License-Identifier: BSD-3-Clause
 * What a communicator says of itself to those who choose and build its schedules. */
#ifndef NBCOLLI_ENGINE_COMM_TERMS_H
#define NBCOLLI_ENGINE_COMM_TERMS_H

#include "../state/context.h"

/* What a rank says of its shared memory in a vote: the ranks' common bits count. */
typedef enum nbcolli_shared { NBCOLLI_SHARES_WITH_SOME = 1, NBCOLLI_SHARES_WITH_ALL = 3 } nbcolli_shared;

/* What the vote over it says of this rank's shared memory. */
uint32_t nbcolli_area_shares(const nbcoll_comm *over);

/* Does this one ask for them, and can it have them, as far as this rank knows? */
int nbcolli_area_suits(const nbcoll_comm *comm);

/* Can communicators whose first endpoint this is have cells? Those hold short keys of what is registered once and for
 * all, and who fetches has nothing to register. */
int nbcolli_area_is_possible(const nbcolli_link *link);

#endif
