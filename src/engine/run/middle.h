/* SPDX-License-Identifier: BSD-3-Clause
 * Middles of operations that the communicator's agent carries out, where runs do the rest: programs in the place of a
 * step (progress/offloaded.h). If such an operation fails the agents have nothing more to do together: what one of
 * them awaits another one may never send. So all that they have ends, on each rank that learns of it. */
#ifndef NBCOLLI_ENGINE_RUN_MIDDLE_H
#define NBCOLLI_ENGINE_RUN_MIDDLE_H

#include "../state/context.h"

/* Puts a request into the context's list of those that agents carry out. */
void nbcolli_middle_list(nbcoll_context *c, nbcolli_request *r);

/* Its step is ready, or that before which it needs scratch memory of the agent's: the drain goes on with it. */
void nbcolli_middle_begin(nbcolli_run *run);

/* Does it wait for scratch memory, rather than for its program? Of one in the list. */
int nbcolli_middle_lacks_room(const nbcolli_run *run);

/* It gets that, if it is its turn, and there is room. Turns are in the order of the calls, as those of programs: an
 * operation that has room ends without later ones, and then gives it back, so each one's turn comes. */
int nbcolli_middle_take_room(nbcolli_run *run);

/* The run is over. */
void nbcolli_middle_give_room(nbcolli_run *run);

/* An operation has failed here. `tell`: the other ranks do not know yet, of whom some may have ended it well. */
void nbcolli_middle_fail(const nbcoll_schedule *s, nbcoll_comm *comm, int tell);

/* Nothing that agents of the communicator have to do ends well any more, as `why` says; each rank does this once. */
void nbcolli_agents_end(nbcoll_comm *comm, nbcoll_status why, int tell);

#endif
