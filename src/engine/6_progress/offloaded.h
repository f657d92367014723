/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out. They take no tag and no slot, and know no messages of the core's:
 * the agents' queue pairs keep their order, and tell of a rank that is lost. Contexts of one thread only: who starts is
 * inside. */
#ifndef NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H
#define NBCOLLI_ENGINE_PROGRESS_OFFLOADED_H

#include "nbcoll/offload.h"
#include "../1_state/context.h"

static inline int nbcolli_is_offloaded(const nbcolli_request *r)
{
    return r->schedule && r->schedule->program;
}

/* Starts it. Nothing has happened on an error. */
nbcoll_status nbcolli_offloaded_start(nbcolli_request *r);

/* The same for a request that was just opened, whose handle goes out; on an error it is gone. */
nbcoll_status nbcolli_offloaded_begin(nbcolli_request *r, nbcoll_request *request);

/* This rank is about to sleep on its poller: their ends wake it. 0: they may not, or one has ended. */
int nbcolli_offloaded_arm(nbcoll_context *c);

/* Ends those whose programs have ended. */
void nbcolli_offloaded_look(nbcoll_context *c);

#endif
