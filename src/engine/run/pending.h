/* SPDX-License-Identifier: BSD-3-Clause
 * Pending revokes: operations that others have revoked before they were started here. */
#ifndef NBCOLLI_ENGINE_RUN_PENDING_H
#define NBCOLLI_ENGINE_RUN_PENDING_H

#include "../state/context.h"

/* Is the operation among them? */
static inline int nbcolli_is_revoked(const nbcoll_comm *comm, uint64_t tag)
{
    const nbcolli_pending_revoke *d = comm->pending_revokes;
    while (d && (tag < d->first || tag > d->last))
        d = d->next;
    return d != NULL;
}

/* Forgets the range. */
void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke **at);

/* Notes that operations that are not started here are revoked. Tags in a row with one cause share a range. */
nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause);

/* The next operation starts: was it revoked, as *why and *cause then say? Forgets what there was of it. */
int nbcolli_pending_take(nbcoll_comm *comm, uint64_t tag, nbcoll_status *why, int *cause);

#endif
