/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: one rank's root object. Making, freeing, progressing, arming; and its endpoints. */
#ifndef NBCOLLI_ENGINE_CALLS_CONTEXT_H
#define NBCOLLI_ENGINE_CALLS_CONTEXT_H

#include "../state/context.h"

/* Frees a context without operations; or `abandons` it, after its runs were handled. */
void nbcolli_context_end(nbcoll_context *c, int abandons);

/* Is an operation active, or something still to be sent? */
int nbcolli_context_busy(const nbcoll_context *c);

/* Does a driver, ticks, relays or an agent use it, which must end first? */
int nbcolli_is_held(const nbcoll_context *c);

/* Announces that this rank is about to sleep on its poller: nbcoll_arm for a thread inside. OK also if executors are
 * unheard, whose arrivals do not end that sleep. */
nbcoll_status nbcolli_arm_all(nbcoll_context *c);

/* Takes endpoints that will belong together into the context, which then owns them. The last one is their home. */
nbcoll_status nbcolli_links_open(nbcoll_context *c, int n, nbcoll_endpoint *const ep[], nbcolli_link **home);

/* Undoes that, from the home's first link on, and leaves the endpoints open. */
void nbcolli_links_drop(nbcolli_link *first);

#endif
