/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: one rank's root object. Making, freeing, progressing, arming; and its endpoints. */
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

/* Takes endpoints that are to belong together into the context, which then closes them. The last one is their home. */
nbcoll_status nbcolli_links_open(nbcoll_context *c, int n, nbcoll_endpoint *const ep[], nbcolli_link **home);

/* Undoes that, from the home's first one on, and leaves the endpoints open. */
void nbcolli_links_drop(nbcolli_link *first);

#endif
