/* SPDX-License-Identifier: BSD-3-Clause
 * Passes in a signal handler. A tick interrupts the thread of the context anywhere outside of it, and does what is safe
 * there: it takes what transports report, works off steps and posts. It takes no memory, calls no function of the
 * host's, fails nothing and settles nothing, and asks nobody: all that is left to a call of the program's.
 *
 * What a transport has reported lasts until its next progress. So a tick that meets what it may not do leaves the rest
 * of the report with the link, puts itself in the place of the transport's progress and arming, and from then on does
 * nothing: the next pass is handed that rest, and so does no pass look whether there is one. */
#ifndef NBCOLLI_DRIVER_TICK_H
#define NBCOLLI_DRIVER_TICK_H

#include "../engine/state/context.h"

/* Posts, and messages to keep, that a tick finds in the pools are made beforehand, outside of ticks. 0: no memory. */
int nbcolli_tick_reserve(nbcoll_context *c);

/* Do all its transports promise what a tick needs? */
int nbcolli_tick_is_safe(const nbcoll_context *c);

/* Is there nothing that is left to a call, and something under way? */
int nbcolli_tick_may_pass(const nbcoll_context *c);

/* The pass: the lock is held. */
void nbcolli_tick_pass(nbcoll_context *c);

#endif
