/* SPDX-License-Identifier: BSD-3-Clause
 * Pending revokes: operations that others have revoked before they were started here. Inline: the look whether there is
 * any. */
#ifndef NBCOLLI_ENGINE_RUN_PENDING_H
#define NBCOLLI_ENGINE_RUN_PENDING_H

#include "../state/context.h"

/* The last range that begins at or before `tag`, or null. Those that come are mostly the newest. */
static inline nbcolli_pending_revoke *nbcolli_pending_before(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_pending_revoke *d = comm->last_pending;
    while (d && d->first > tag)
        d = d->before;
    return d;
}

/* Is the operation among them? */
static inline int nbcolli_is_revoked(const nbcoll_comm *comm, uint64_t tag)
{
    const nbcolli_pending_revoke *d = nbcolli_pending_before(comm, tag);
    return d && tag <= d->last;
}

/* Forgets a range. */
void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke *d);

/* Notes that operations that are not started here are revoked. Tags in a row with one cause share a range. */
nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause);

/* Takes the next operation to start out of the first range, if it is there: then it was revoked, as *why and *cause
 * say. */
static inline int nbcolli_pending_take(nbcoll_comm *comm, uint64_t tag, nbcoll_status *why, int *cause)
{
    nbcolli_pending_revoke *d = comm->pending_revokes;

    if (!d || d->first != tag)
        return 0;
    *why = d->status;
    *cause = d->cause;
    if (d->first++ == d->last)
        nbcolli_pending_drop(comm, d);
    return 1;
}

#endif
