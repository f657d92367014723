/* SPDX-License-Identifier: BSD-3-Clause
 * A transport's list of work requests, which it keeps from their post until it has returned them. */
#ifndef NBCOLLI_WORKS_H
#define NBCOLLI_WORKS_H

#include "nbcoll/transport.h"

struct nbcolli_works {
    nbcoll_work *first, **end;
};

static inline void nbcolli_works_clear(struct nbcolli_works *w)
{
    w->first = NULL;
    w->end = &w->first;
}

static inline void nbcolli_works_append(struct nbcolli_works *w, nbcoll_work *work)
{
    work->next = NULL;
    *w->end = work;
    w->end = &work->next;
}

/* Appends what is in `more`, which must not be used any more. */
static inline void nbcolli_works_join(struct nbcolli_works *w, const struct nbcolli_works *more)
{
    if (!more->first)
        return;
    *w->end = more->first;
    w->end = more->end;
}

/* Moves one that is cancelled to those that are finished. False: it is not in the list. */
static inline int nbcolli_works_cancel(struct nbcolli_works *w, nbcoll_work *work, struct nbcolli_works *finished)
{
    nbcoll_work **at = &w->first;

    while (*at && *at != work)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = work->next;
    if (!*at)
        w->end = at;
    work->status = NBCOLL_ERR_CANCELLED;
    nbcolli_works_append(finished, work);
    return 1;
}

#endif
