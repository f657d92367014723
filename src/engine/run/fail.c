/* SPDX-License-Identifier: BSD-3-Clause */
#include "fail.h"

#include "called.h"
#include "queue.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"

void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f)
{
    comm->context->failure = *f;
    if (nbcolli_broken(comm) == NBCOLL_OK)
        comm->failure = *f;
}

nbcoll_failure nbcolli_failure_of(const nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = {.status = s, .rank = rank, .tag = tag, .comm = comm, .other = -1};

    if (s == NBCOLL_ERR_MISMATCH && rank >= 0 && comm->told[rank].has_freed)
        f.position = NBCOLL_POSITION_FREED;
    if (s != NBCOLL_ERR_PEER_LOST || rank < 0)
        return f;
    const nbcolli_peer *peer = &comm->peer[rank];
    f.reason = peer->link->reason[peer->address];
    if (!f.reason.code && !f.reason.text)
        f.reason = comm->link->reason[peer->home];
    return f;
}

void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = nbcolli_failure_of(comm, s, rank, tag);
    nbcolli_note(comm, &f);
}

/* Ends an operation without a run: it waits for its slot, is still on its way there, or found no memory. */
static void nbcolli_runless_end(nbcolli_request *r, nbcoll_status why)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, r->tag);
    const nbcoll_observer *o = comm->context->observer;

    nbcolli_list_leave(&r->queued);
    nbcolli_unexpected_drop(comm, r->tag, r->tag, NBCOLL_ERR_CANCELLED);
    if (o)
        o->event(o->user, &(nbcoll_event){NBCOLL_STEP_ENDED, comm, r->tag, r->schedule, NBCOLL_END, 0});
    if (comm->area && slot->failed <= r->tag)
        slot->failed = r->tag + 1; /* it never had the slot: its words are raised when that is free */
    nbcolli_raise_failed(comm, slot);
    nbcolli_operation_over(r, why);
}

void nbcolli_request_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    nbcolli_run *run = r->run;

    if (run && run->status != NBCOLL_OK)
        return;
    if (run) {
        run->status = why;
        run->is_worn = 1;
        run->cause = cause;
    }
    nbcolli_note_failure(r->comm, why, cause, r->tag);
    nbcolli_executed_fail(r, tell);
    if (tell || r->creating)
        nbcolli_tell_all(r->comm, NBCOLLI_REVOKE, r->tag, why, cause, 0);
    if (run)
        nbcolli_to_settle(run);
    else
        nbcolli_runless_end(r, why);
}

void nbcolli_run_deserted(nbcolli_run *run, int rank)
{
    nbcolli_run_fail(run, NBCOLL_ERR_PEER_LOST, nbcolli_who_is_lost(run->comm, rank), 1);
}

void nbcolli_runs_fail(nbcoll_comm *comm, uint64_t from, uint64_t to, nbcoll_status why, int rank)
{
    for (uint32_t i = 0; i < comm->config.slots; i++) {
        if (comm->slot[i].active && comm->slot[i].active->tag >= from && comm->slot[i].active->tag <= to)
            nbcolli_run_fail(comm->slot[i].active, why, rank, 0);
        for (nbcolli_request *r = nbcolli_first_waiting(&comm->slot[i]), *next; r && r->tag <= to; r = next) {
            next = nbcolli_next_waiting(r);
            if (r->tag >= from)
                nbcolli_request_fail(r, why, rank, 0);
        }
    }
}

/* The first operation that is under way, else the next one. */
static uint64_t nbcolli_first_under_way(const nbcoll_comm *comm)
{
    uint64_t first = comm->taken;

    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->tag < first)
            first = comm->slot[i].active->tag;
    return first;
}

void nbcolli_comm_break(nbcoll_comm *comm, int rank, nbcoll_status why, uint64_t tag)
{
    nbcoll_status broken = why == NBCOLL_ERR_MISMATCH || why == NBCOLL_ERR_CANCELLED ? why : NBCOLL_ERR_PEER_LOST;
    uint64_t from = why == NBCOLL_ERR_MISMATCH ? comm->taken : 0;

    if (nbcolli_broken(comm) == broken ||
        (nbcolli_broken(comm) != NBCOLL_OK && nbcolli_broken(comm) != NBCOLL_ERR_MISMATCH))
        return;
    nbcolli_called_over(comm);
    atomic_store_explicit(&comm->broken, broken, memory_order_relaxed); /* orders nothing for starts */
    comm->failure =
        nbcolli_failure_of(comm, why, rank, why == NBCOLL_ERR_MISMATCH ? tag : nbcolli_first_under_way(comm));
    comm->context->failure = comm->failure;
    nbcolli_unexpected_drop(comm, from, UINT64_MAX, NBCOLL_ERR_CANCELLED);
    if (broken == NBCOLL_ERR_MISMATCH)
        nbcolli_called_tell(comm);
    nbcolli_tell_lost(comm, rank, broken);
    nbcolli_runs_fail(comm, from, UINT64_MAX, why, rank);
}

void nbcolli_run_out_of_step(nbcolli_run *run, int rank)
{
    nbcolli_comm_break(run->comm, rank, NBCOLL_ERR_MISMATCH, run->tag); /* first, so that the run waits to hear others'
                                                                           calls */
    nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, rank, 1);
}
