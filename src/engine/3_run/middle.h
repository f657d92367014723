/* SPDX-License-Identifier: BSD-3-Clause
 * Middles of operations that the communicator's agent carries out, where runs do the rest: programs in the place of a
 * step (6_progress/offloaded.h). If such an operation fails the agents have nothing more to do together: what one of
 * them awaits another one may never send. So all that they have ends, on each rank that learns of it. */
#ifndef NBCOLLI_ENGINE_RUN_MIDDLE_H
#define NBCOLLI_ENGINE_RUN_MIDDLE_H

#include "../1_state/context.h"

/* Puts a request into the context's list of those that agents carry out. */
void nbcolli_middle_list(nbcoll_context *c, nbcolli_request *r);

/* Its step is ready: the drain hands its program over. */
void nbcolli_middle_begin(nbcolli_run *run);

/* An operation has failed here. `tell`: the other ranks do not know yet, of whom some may have ended it well. */
void nbcolli_middle_fail(const nbcoll_schedule *s, nbcoll_comm *comm, int tell);

/* Nothing that agents of the communicator have to do ends well any more, as `why` says; each rank does this once. */
void nbcolli_agents_end(nbcoll_comm *comm, nbcoll_status why, int tell);

#endif
