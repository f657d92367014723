/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over a context: what its transports report, what can be sent now, what can settle. */
#ifndef NBCOLLI_ENGINE_PROGRESS_PROGRESS_H
#define NBCOLLI_ENGINE_PROGRESS_PROGRESS_H

#include "../state/context.h"

/* Does all that has become possible by what was just handled. */
void nbcolli_drain_news(nbcoll_context *c);
static inline void nbcolli_drain(nbcoll_context *c)
{
    if (c->news)
        nbcolli_drain_news(c);
}

/* Gives the operation its slot, which is free, and a run if it has none; or ends it, for want of memory. */
void nbcolli_take_slot(nbcolli_request *r);

#define NBCOLLI_LOOKS 64u /* at operations that wait for shared memory, in a pass: they take turns */

/* Makes a pass. Has something moved? */
int nbcolli_pass(nbcoll_context *c);

/* Its parts. A work request has come back. Refused posts are tried, each once, the oldest first. Delayed runs go on, by
 * turns: with the bytes that the pass has left, but one turn in any case, so that operations whose steps are always
 * ready cannot hold them up. */
void nbcolli_work_in(nbcolli_link *link, nbcoll_work *work);
void nbcolli_backlog_retry(nbcolli_link *link);
void nbcolli_go_on(nbcoll_context *c);

#endif
