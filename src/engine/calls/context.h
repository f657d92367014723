/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: one rank's root object. Making, freeing, progressing, arming. */
#ifndef NBCOLLI_ENGINE_CALLS_CONTEXT_H
#define NBCOLLI_ENGINE_CALLS_CONTEXT_H

#include "../state/context.h"

/* Frees a context where nothing is; or `abandons` it, when its runs are taken care of. */
void nbcolli_context_end(nbcoll_context *c, int abandons);

/* Is an operation active, or something still to be sent? */
int nbcolli_context_busy(const nbcoll_context *c);

/* Is it in use by what must be ended first: a driver, ticks, relays, an agent? */
int nbcolli_is_held(const nbcoll_context *c);

/* Announces that this rank is about to sleep on its poller: as nbcoll_arm, for one who is inside. OK also where
 * executors are unheard, of which nothing ends that sleep. */
nbcoll_status nbcolli_arm_all(nbcoll_context *c);

#endif
