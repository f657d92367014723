/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over a context: what its transports report, what can be sent now, what can settle. */
#ifndef NBCOLLI_ENGINE_PROGRESS_PROGRESS_H
#define NBCOLLI_ENGINE_PROGRESS_PROGRESS_H

#include "../state/context.h"

/* Works off what handling one thing has made possible elsewhere. */
void nbcolli_drain_news(nbcoll_context *c);
static inline void nbcolli_drain(nbcoll_context *c)
{
    if (c->news)
        nbcolli_drain_news(c);
}

/* The operation gets its slot, which is free, and with it a run if it has none; or ends, for want of memory. */
void nbcolli_take_slot(nbcolli_request *r);

#define NBCOLLI_LOOKS 64u /* of operations that wait for shared memory, in a pass: they take turns */

/* Has something moved? */
int nbcolli_pass(nbcoll_context *c);

/* Its parts. A work request has come back. What was refused is tried, each once, what has waited longest first.
 * Delayed runs go on, by turns: with what the pass has left, but one turn in any case, so that operations whose steps
 * are always ready cannot hold them up. */
void nbcolli_work_in(nbcolli_link *link, nbcoll_work *work);
void nbcolli_backlog_retry(nbcolli_link *link);
void nbcolli_go_on(nbcoll_context *c);

#endif
