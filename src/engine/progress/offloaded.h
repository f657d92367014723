/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out. Those that are all a program take no tag and no slot, and know no
 * messages of the core's: the agents' queue pairs keep their order, and tell of a rank that is lost. Others are *cut*:
 * runs like any, but for their middle, which is the program.
 *
 * A start gives a program that is all of an operation to the agent, if it is its turn; else progress does so later, as
 * it does with a middle whose step is ready. The request goes to progress as all others do, which alone watches the
 * agent and learns of the end.
 *
 * Programs come to the agents of all ranks in the order of the starts, which is that in which tags are given, whatever
 * is ready first: each waits for its turn, which passes from one to the next, so that nobody else takes it; and then
 * until an agent's process has room for it on its desk, where earlier ones are. What a program waits for is earlier
 * operations, and ranks that have not started this one; so each comes to its turn. */
#ifndef NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H
#define NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H

#include "nbcoll/offload.h"
#include "../state/context.h"

static inline int nbcolli_is_offloaded(const nbcolli_request *r)
{
    return r->schedule && (r->schedule->program || r->schedule->is_cut);
}

/* Is all of it a program? */
static inline int nbcolli_is_program(const nbcolli_request *r)
{
    return r->schedule && r->schedule->program && !r->schedule->is_cut;
}

/* Its place in the order, on the caller's side; at its turn the agent has it. Nothing has happened on an error. */
nbcoll_status nbcolli_offloaded_give(nbcolli_request *r);

/* Of a cut one: can the agent have the buffers that its middle touches? */
int nbcolli_offloaded_has_buffers(nbcolli_request *r);

/* From now on it is progress's. */
void nbcolli_offloaded_take(nbcolli_request *r);

/* If the communicator's agent has failed: its queue pairs tell only those who have opened theirs, so all members are
 * told, once. */
void nbcolli_offloaded_tell(nbcoll_comm *comm);

/* This rank is about to sleep on its poller: their ends wake it. 0: they may not, or one has ended. */
int nbcolli_offloaded_arm(nbcoll_context *c);

/* Gives the agent programs whose turn has come, and ends those whose programs have ended. Returns whether there was
 * anything. */
int nbcolli_offloaded_look(nbcoll_context *c);

#endif
