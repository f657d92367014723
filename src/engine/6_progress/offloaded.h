/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out. They take no tag and no slot, and know no messages of the core's:
 * the agents' queue pairs keep their order, and tell of a rank that is lost. A start gives the program to the agent on
 * the caller's side, so programs come there in the order in which tags are given; the request goes to progress as all
 * others do, which alone watches the agent and learns of the end. */
#ifndef NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H
#define NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H

#include "nbcoll/offload.h"
#include "../1_state/context.h"

static inline int nbcolli_is_offloaded(const nbcolli_request *r)
{
    return r->schedule && r->schedule->program;
}

/* Gives its program to the agent, on the caller's side. Nothing has happened on an error. */
nbcoll_status nbcolli_offloaded_give(nbcolli_request *r);

/* From now on it is progress's. */
void nbcolli_offloaded_take(nbcolli_request *r);

/* If the communicator's agent has failed: its queue pairs tell only those who have opened theirs, so all members are
 * told, once. */
void nbcolli_offloaded_tell(nbcoll_comm *comm);

/* This rank is about to sleep on its poller: their ends wake it. 0: they may not, or one has ended. */
int nbcolli_offloaded_arm(nbcoll_context *c);

/* Ends those whose programs have ended. */
void nbcolli_offloaded_look(nbcoll_context *c);

#endif
