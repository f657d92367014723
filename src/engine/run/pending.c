/* SPDX-License-Identifier: BSD-3-Clause
 * Pending revokes: see pending.h. */
#include "pending.h"

#include "../../host/host.h"

void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke **at)
{
    nbcoll_context *c = comm->context;
    nbcolli_pending_revoke *d = *at;

    *at = d->next;
    comm->pending_count--;
    d->next = c->pending_revokes;
    c->pending_revokes = d;
}

nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause)
{
    nbcoll_context *c = comm->context;
    nbcolli_pending_revoke *d = comm->pending_revokes;

    for (; d; d = d->next)
        if (d->status == why && d->cause == cause && first <= d->last + 1 && d->first <= last + 1) {
            d->first = first < d->first ? first : d->first;
            d->last = last > d->last ? last : d->last;
            return NBCOLL_OK;
        } else if (d->first <= first && last <= d->last) /* that it was revoked before says all */
            return NBCOLL_OK;
    if (comm->pending_count == NBCOLLI_PENDING_REVOKES)
        return NBCOLL_ERR_LIMIT;
    if ((d = c->pending_revokes))
        c->pending_revokes = d->next;
    else if (!(d = nbcolli_alloc(&c->host, sizeof *d, _Alignof(nbcolli_pending_revoke))))
        return NBCOLL_ERR_MEMORY;
    *d = (nbcolli_pending_revoke){comm->pending_revokes, first, last, why, cause};
    comm->pending_revokes = d;
    comm->pending_count++;
    return NBCOLL_OK;
}

int nbcolli_pending_take(nbcoll_comm *comm, uint64_t tag, nbcoll_status *why, int *cause)
{
    int is_revoked = 0;

    for (nbcolli_pending_revoke **at = &comm->pending_revokes, *d; (d = *at);) {
        if (d->first <= tag && tag <= d->last) {
            is_revoked = 1;
            *why = d->status;
            *cause = d->cause;
        }
        if (d->last <= tag)
            nbcolli_pending_drop(comm, at);
        else
            at = &d->next;
    }
    return is_revoked;
}
