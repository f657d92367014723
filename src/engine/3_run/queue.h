/* SPDX-License-Identifier: BSD-3-Clause
 * Operations without a run: those that wait for their slot, and those that others have revoked before they were started
 * here. Both are found by their tags, in constant time whatever else is there. */
#ifndef NBCOLL_INLINE_QUEUE_H
#define NBCOLL_INLINE_QUEUE_H

#include "cells.h"
#include "../2_wire/post.h"

/* ---- operations that wait for their slot ----------------------------------------------------------------------- */

static inline nbcolli_request **nbcolli_queue_at(const nbcoll_comm *comm, uint64_t tag)
{
    return &comm->queue[nbcolli_hash(tag) & (comm->queue_room - 1)];
}

/* The request of a tag if it waits for its slot, or null. */
static inline nbcolli_request *nbcolli_queue_find(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_request *r = comm->queued ? *nbcolli_queue_at(comm, tag) : NULL;
    while (r && r->tag != tag)
        r = r->next;
    return r;
}

/* There is room. */
static inline void nbcolli_queue_add(nbcolli_request *r)
{
    nbcolli_request **at = nbcolli_queue_at(r->comm, r->tag);
    r->next = *at;
    *at = r;
    r->comm->queued++;
}

static inline void nbcolli_queue_remove(nbcolli_request *r)
{
    nbcolli_request **at = nbcolli_queue_at(r->comm, r->tag);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->comm->queued--;
}

/* The slot is free, and its operations up to `tag` are over: the next one that waits for it gets it, from the drain.
 * Tags that are passed over here are never looked at again. */
static inline void nbcolli_slot_next(nbcoll_comm *comm, nbcolli_slot *slot, uint64_t tag)
{
    nbcoll_context *c = comm->context;

    slot->next = 0;
    for (tag += comm->config.slots; comm->queued && tag < comm->next_tag; tag += comm->config.slots)
        if (nbcolli_queue_find(comm, tag)) {
            slot->next = tag + 1;
            break;
        }
    if (!slot->next || slot->listed)
        return;
    slot->listed = 1;
    slot->comm = comm;
    slot->next_free = c->free_slots;
    c->free_slots = slot;
}

static inline void nbcolli_request_end(nbcoll_context *c, nbcolli_request *r)
{
    if ((r->done || r->detached) && !r->calling) {
        r->calling = 1;
        r->next = c->ended;
        c->ended = r;
    }
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ENDED, memory_order_release); /* publishes the buffers */
}

/* The operation is over, its slot is another's or free. */
static inline void nbcolli_operation_over(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_context *c = comm->context;

    if (status != NBCOLL_OK && comm->failed_floor <= r->tag)
        comm->failed_floor = r->tag + 1;
    if (status != NBCOLL_OK)
        nbcolli_well_since(nbcolli_slot_of(comm, r->tag), r->tag / comm->config.slots);
    comm->active--;
    c->active--;
    r->status = status;
    r->run = NULL;
    if (r->creating) {
        r->next = c->made;
        c->made = r;
    } else
        nbcolli_request_end(c, r);
}

/* An operation that has got no run ends with `why`. `tell`: the other ranks do not know yet. */
static inline void nbcolli_runless_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, r->tag);
    const nbcoll_observer *o = comm->context->observer;

    nbcolli_note_failure(comm, why, cause, r->tag);
    if (tell || r->creating) /* as nbcolli_run_fail */
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, r->tag, why, cause, 0);
    nbcolli_unexpected_drop(comm, r->tag, r->tag, NBCOLL_ERR_CANCELLED);
    if (o)
        o->event(o->user, &(nbcoll_event){NBCOLL_STEP_ENDED, comm, r->tag, r->schedule, NBCOLL_END});
    if (comm->area)
        nbcolli_cells_missed(comm, r->tag);
    if (slot->next == r->tag + 1)
        nbcolli_slot_next(comm, slot, r->tag);
    nbcolli_raise_failed(comm, slot);
    nbcolli_operation_over(r, why);
}

static inline void nbcolli_queued_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    nbcolli_queue_remove(r);
    nbcolli_runless_fail(r, why, cause, tell);
}

/* Ends all that wait for their slots, from this tag on. */
static inline void nbcolli_queue_fail(nbcoll_comm *comm, uint64_t from, nbcoll_status why, int cause)
{
    for (size_t i = 0; comm->queued && i < comm->queue_room; i++)
        for (nbcolli_request **at = &comm->queue[i]; *at;)
            if ((*at)->tag >= from)
                nbcolli_queued_fail(*at, why, cause, 0);
            else
                at = &(*at)->next;
}

/* ---- operations revoked before their start --------------------------------------------------------------------- */

/* The last range that begins at or before `tag`, or null. Those that come are mostly the newest. */
static inline nbcolli_pending_revoke *nbcolli_pending_before(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_pending_revoke *d = comm->last_pending;
    while (d && d->first > tag)
        d = d->before;
    return d;
}

static inline int nbcolli_is_revoked(const nbcoll_comm *comm, uint64_t tag)
{
    const nbcolli_pending_revoke *d = nbcolli_pending_before(comm, tag);
    return d && tag <= d->last;
}

static inline void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke *d)
{
    nbcoll_context *c = comm->context;

    *(d->before ? &d->before->next : &comm->pending_revokes) = d->next;
    *(d->next ? &d->next->before : &comm->last_pending) = d->before;
    comm->pending_count--;
    d->next = c->pending_revokes;
    c->pending_revokes = d;
}

static inline nbcoll_status nbcolli_pending_insert(nbcoll_comm *comm, nbcolli_pending_revoke *before, uint64_t tag,
                                                nbcoll_status why, int cause)
{
    nbcoll_context *c = comm->context;
    nbcolli_pending_revoke *d = c->pending_revokes;

    if (comm->pending_count == NBCOLLI_PENDING_REVOKES)
        return NBCOLL_ERR_LIMIT;
    if (d)
        c->pending_revokes = d->next;
    else if (!(d = nbcolli_alloc(&c->host, sizeof *d, _Alignof(nbcolli_pending_revoke))))
        return NBCOLL_ERR_MEMORY;
    *d = (nbcolli_pending_revoke){before ? before->next : comm->pending_revokes, before, tag, tag, why, cause};
    *(before ? &before->next : &comm->pending_revokes) = d;
    *(d->next ? &d->next->before : &comm->last_pending) = d;
    comm->pending_count++;
    return NBCOLL_OK;
}

/* Notes that an operation that is not started here is revoked. Tags in a row with one cause share a range. */
static inline nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t tag, nbcoll_status why, int cause)
{
    nbcolli_pending_revoke *d = nbcolli_pending_before(comm, tag), *next = d ? d->next : comm->pending_revokes;

    if (d && tag <= d->last)
        return NBCOLL_OK;
    if (d && (d->last + 1 != tag || d->status != why || d->cause != cause))
        d = NULL;
    if (next && (next->first != tag + 1 || next->status != why || next->cause != cause))
        next = NULL;
    if (d && next) {
        d->last = next->last;
        nbcolli_pending_drop(comm, next);
    } else if (d)
        d->last = tag;
    else if (next)
        next->first = tag;
    else
        return nbcolli_pending_insert(comm, nbcolli_pending_before(comm, tag), tag, why, cause);
    return NBCOLL_OK;
}

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
