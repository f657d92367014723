/* SPDX-License-Identifier: BSD-3-Clause
 * Pending revokes: see pending.h. */
#include "pending.h"

#include "../../host/host.h"

void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke *d)
{
    nbcoll_context *c = comm->context;

    *(d->before ? &d->before->next : &comm->pending_revokes) = d->next;
    *(d->next ? &d->next->before : &comm->last_pending) = d->before;
    comm->pending_count--;
    d->next = c->pending_revokes;
    c->pending_revokes = d;
}

static nbcoll_status nbcolli_pending_insert(nbcoll_comm *comm, nbcolli_pending_revoke *before, uint64_t first,
                                            uint64_t last, nbcoll_status why, int cause)
{
    nbcoll_context *c = comm->context;
    nbcolli_pending_revoke *d = c->pending_revokes;

    if (comm->pending_count == NBCOLLI_PENDING_REVOKES)
        return NBCOLL_ERR_LIMIT;
    if (d)
        c->pending_revokes = d->next;
    else if (!(d = nbcolli_alloc(&c->host, sizeof *d, _Alignof(nbcolli_pending_revoke))))
        return NBCOLL_ERR_MEMORY;
    *d = (nbcolli_pending_revoke){before ? before->next : comm->pending_revokes, before, first, last, why, cause};
    *(before ? &before->next : &comm->pending_revokes) = d;
    *(d->next ? &d->next->before : &comm->last_pending) = d;
    comm->pending_count++;
    return NBCOLL_OK;
}

/* A range between those of `before` and the next one, which it may join. */
static nbcoll_status nbcolli_pending_fill(nbcoll_comm *comm, nbcolli_pending_revoke *before, uint64_t first,
                                          uint64_t last, nbcoll_status why, int cause)
{
    nbcolli_pending_revoke *d = before, *next = d ? d->next : comm->pending_revokes;

    if (d && (d->last + 1 != first || d->status != why || d->cause != cause))
        d = NULL;
    if (next && (next->first != last + 1 || next->status != why || next->cause != cause))
        next = NULL;
    if (d && next) {
        d->last = next->last;
        nbcolli_pending_drop(comm, next);
    } else if (d)
        d->last = last;
    else if (next)
        next->first = first;
    else
        return nbcolli_pending_insert(comm, before, first, last, why, cause);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause)
{
    nbcoll_status s = NBCOLL_OK;

    while (s == NBCOLL_OK && first <= last) { /* `last` is less than any tag can be */
        nbcolli_pending_revoke *d = nbcolli_pending_before(comm, first), *next = d ? d->next : comm->pending_revokes;
        uint64_t end = d && first <= d->last ? d->last : next && next->first <= last ? next->first - 1 : last;
        if (!d || first > d->last)
            s = nbcolli_pending_fill(comm, d, first, end, why, cause);
        first = end + 1;
    }
    return s;
}
