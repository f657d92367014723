/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue.h"

#include "../../host/host.h"

void nbcolli_slot_free(nbcoll_comm *comm, nbcolli_slot *slot)
{
    nbcoll_context *c = comm->context;

    if (!slot->waiting.first || slot->comm)
        return;
    slot->comm = comm;
    slot->next_free = c->free_slots;
    c->free_slots = slot;
    c->news = 1;
}

void nbcolli_request_end(nbcoll_context *c, nbcolli_request *r)
{
    if ((r->done || r->detached) && !r->calling) {
        r->calling = 1;
        r->next = c->ended;
        c->ended = r;
    }
    c->driven.ended++;
    if (!(c->flags & NBCOLL_ANY_THREAD))
        nbcolli_list_end(c, r);
    int is_over = r->persistent && !r->done && !(c->flags & NBCOLL_ANY_THREAD);
    atomic_store_explicit(&r->state, is_over ? NBCOLLI_REQUEST_OVER : NBCOLLI_REQUEST_ENDED,
                          memory_order_release); /* publishes the buffers */
}

void nbcolli_request_over(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_context *c = r->context;

    r->comm->active--;
    c->active--;
    r->status = status;
    if (r->creating) {
        r->next = c->made;
        c->made = r;
        c->news = 1;
    } else
        nbcolli_request_end(c, r);
}

void nbcolli_operation_over(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;

    if (status != NBCOLL_OK) {
        nbcolli_slot *slot = nbcolli_slot_of(comm, r->tag);
        uint64_t turn = r->tag / comm->config.slots;
        if (comm->failed_floor <= r->tag)
            comm->failed_floor = r->tag + 1;
        if (slot->well_since <= turn)
            slot->well_since = turn + 1;
    }
    /* relaxed: only we write it, and a start may use an older number */
    uint64_t ended = atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1;
    atomic_store_explicit(&comm->ended, ended, memory_order_relaxed);
    r->run = NULL;
    nbcolli_request_over(r, status);
}

/* ---- revoked before they are started ----------------------------------------------------------------------------- */

void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke **at)
{
    nbcolli_pending_revoke *d = *at;

    *at = d->next;
    comm->pending_count--;
    nbcolli_free(&comm->context->host, d, sizeof *d);
}

nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause)
{
    nbcolli_pending_revoke *d = comm->pending_revokes;

    for (; d; d = d->next)
        if (d->status == why && d->cause == cause && first <= d->last + 1 && d->first <= last + 1) {
            d->first = first < d->first ? first : d->first;
            d->last = last > d->last ? last : d->last;
            return NBCOLL_OK;
        } else if (d->first <= first && last <= d->last) /* the earlier revocation covers it */
            return NBCOLL_OK;
    if (comm->pending_count == NBCOLLI_PENDING_REVOKES)
        return NBCOLL_ERR_LIMIT;
    d = nbcolli_alloc(&comm->context->host, sizeof *d, _Alignof(nbcolli_pending_revoke));
    if (!d)
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
