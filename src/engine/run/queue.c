/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that wait for their slot: see queue.h. */
#include "queue.h"

#include "../state/failure.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"
#include "../../host/host.h"

#define NBCOLLI_QUEUE_LEAST 64u /* requests that wait for their slot, with the first table for them */

static void nbcolli_waiting_put(nbcolli_request *r)
{
    nbcolli_request **at = nbcolli_queue_at(r->comm, r->tag);
    r->next = *at;
    *at = r;
}

/* A larger table. Without memory for it those there are take longer to be found. */
static void nbcolli_waiting_grow(nbcoll_comm *comm)
{
    size_t room = comm->queue_room, more = room < NBCOLLI_QUEUE_LEAST ? NBCOLLI_QUEUE_LEAST : 2 * room;
    nbcolli_request **old = comm->queue, **table;

    table = nbcolli_alloc(&comm->context->host, more * sizeof *table, _Alignof(nbcolli_request *));
    if (!table)
        return;
    memset(table, 0, more * sizeof *table);
    comm->queue = table;
    comm->queue_room = more;
    for (size_t i = 0; i < room; i++)
        for (nbcolli_request *r = old[i], *next; r; r = next) {
            next = r->next;
            nbcolli_waiting_put(r);
        }
    nbcolli_queue_drop(comm, old, room);
}

void nbcolli_queue_drop(nbcoll_comm *comm, nbcolli_request **table, size_t room)
{
    if (table != comm->queue_here)
        nbcolli_free(&comm->context->host, table, room * sizeof *table);
}

void nbcolli_queue_add(nbcolli_request *r)
{
    if (r->comm->queued >= r->comm->queue_room)
        nbcolli_waiting_grow(r->comm);
    nbcolli_waiting_put(r);
    r->comm->queued++;
}

void nbcolli_queue_remove(nbcolli_request *r)
{
    nbcolli_request **at = nbcolli_queue_at(r->comm, r->tag);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->comm->queued--;
}

void nbcolli_slot_next(nbcoll_comm *comm, nbcolli_slot *slot, uint64_t tag)
{
    nbcoll_context *c = comm->context;

    slot->next = 0;
    for (tag += comm->config.slots; comm->queued && tag < comm->taken; tag += comm->config.slots)
        if (nbcolli_queue_find(comm, tag)) {
            slot->next = tag + 1;
            break;
        }
    if (!slot->next || slot->comm)
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
    r->outcome = r->status;
    atomic_store_explicit(&r->state, is_over ? NBCOLLI_REQUEST_OVER : NBCOLLI_REQUEST_ENDED,
                          memory_order_release); /* publishes the buffers */
}

void nbcolli_operation_over(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_context *c = comm->context;

    if (status != NBCOLL_OK && comm->failed_floor <= r->tag)
        comm->failed_floor = r->tag + 1;
    if (status != NBCOLL_OK)
        nbcolli_well_since(nbcolli_slot_of(comm, r->tag), r->tag / comm->config.slots);
    /* relaxed: only we write it, and who starts wants a number, whatever its age */
    uint64_t ended = atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1;
    atomic_store_explicit(&comm->ended, ended, memory_order_relaxed);
    comm->active--;
    c->active--;
    r->status = status;
    r->run = NULL;
    if (r->creating) {
        r->next = c->made;
        c->made = r;
        c->news = 1;
    } else
        nbcolli_request_end(c, r);
}

void nbcolli_runless_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, r->tag);
    const nbcoll_observer *o = comm->context->observer;

    nbcolli_note_failure(comm, why, cause, r->tag);
    nbcolli_executed_fail(r, tell);
    if (tell || r->creating) /* as nbcolli_run_fail */
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, r->tag, why, cause, 0);
    nbcolli_unexpected_drop(comm, r->tag, r->tag, NBCOLL_ERR_CANCELLED);
    if (o)
        o->event(o->user, &(nbcoll_event){NBCOLL_STEP_ENDED, comm, r->tag, r->schedule, NBCOLL_END, 0});
    if (comm->area)
        nbcolli_cells_missed(comm, r->tag);
    if (slot->next == r->tag + 1)
        nbcolli_slot_next(comm, slot, r->tag);
    nbcolli_raise_failed(comm, slot);
    nbcolli_operation_over(r, why);
}

void nbcolli_queued_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    nbcolli_queue_remove(r);
    nbcolli_runless_fail(r, why, cause, tell);
}

void nbcolli_queue_fail(nbcoll_comm *comm, uint64_t from, uint64_t to, nbcoll_status why, int cause)
{
    if (to - from < comm->queued) { /* fewer than there are: one by one */
        for (uint64_t tag = from;; tag++) {
            nbcolli_request *r = nbcolli_queue_find(comm, tag);
            if (r)
                nbcolli_queued_fail(r, why, cause, 0);
            if (tag == to)
                return;
        }
    }
    for (size_t i = 0; comm->queued && i < comm->queue_room; i++)
        for (nbcolli_request **at = &comm->queue[i]; *at;)
            if ((*at)->tag >= from && (*at)->tag <= to)
                nbcolli_queued_fail(*at, why, cause, 0);
            else
                at = &(*at)->next;
}
