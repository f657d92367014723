/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over a context: what its transports report, what can be sent now, what can settle. */
#ifndef NBCOLLI_ENGINE_PROGRESS_PROGRESS_H
#define NBCOLLI_ENGINE_PROGRESS_PROGRESS_H

#include "../1_state/context.h"

/* Works off what handling one thing has made possible elsewhere. */
void nbcolli_drain_news(nbcoll_context *c);
static inline void nbcolli_drain(nbcoll_context *c)
{
    if (c->news)
        nbcolli_drain_news(c);
}

void nbcolli_pass(nbcoll_context *c);

/* The same. Has something moved, or can something move at once? */
int nbcolli_pass_of_driver(nbcoll_context *c);

#endif
