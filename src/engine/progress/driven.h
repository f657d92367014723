/* SPDX-License-Identifier: BSD-3-Clause
 * What calls owe to a driver of the context, and it to them. A driver that sleeps has armed the transports, so that
 * what comes wakes it; a call that leaves something which nothing will wake it for rings for it, on its way out:
 *
 *   steps of the lane PROGRESS, data for which there was no time, callbacks of ended requests;
 *   operations, when a pass of the call's own has disarmed the transports, or a look at programs the agents;
 *   work requests, or messages that were refused, of operations that it has started
 *
 * A wait that makes passes is a helper: while there is one the driver leaves the context to it, and is not rung for.
 * When it stops helping it looks like a call that leaves. Waits that sleep are woken by whoever leaves when a request
 * has ended, or a step of the lane CALLER is ready. Inline: is there a driver? */
#ifndef NBCOLLI_ENGINE_PROGRESS_DRIVEN_H
#define NBCOLLI_ENGINE_PROGRESS_DRIVEN_H

#include "../state/caller.h"

/* Does a driver run the context, and not on this thread? A call that finds so leaves the passes to it. Without the lock
 * it may just have ended: then those that sleep are woken. */
static inline int nbcolli_is_driven(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.state, memory_order_relaxed) != NBCOLLI_DRIVE_NONE && /* see above */
           atomic_load_explicit(&c->driven.runner, memory_order_relaxed) != nbcolli_holder(c); /* only we store ours */
}

/* Are there steps for a call of the program's to run? */
static inline int nbcolli_driven_has_steps(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.left, memory_order_relaxed) >> NBCOLL_LANE_CALLER & 1; /* a look */
}

/* The lock was just taken: serves the lanes that are this thread's. */
void nbcolli_driven_enter(nbcoll_context *c);

/* The lock is about to be given back. */
void nbcolli_driven_leave(nbcoll_context *c);

/* A callback follows, in which this thread is no driver. 1: it was one. */
int nbcolli_driven_step_aside(nbcoll_context *c);

/* Wakes the waits that sleep: they are to look again. */
void nbcolli_driven_tell(nbcoll_context *c);

#endif
