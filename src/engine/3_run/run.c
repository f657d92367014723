/* SPDX-License-Identifier: BSD-3-Clause
 * Running: see run.h. */
#include "run.h"

#include "cells.h"
#include "credit.h"
#include "expose.h"
#include "fail.h"
#include "queue.h"
#include "step.h"
#include "../2_wire/control.h"
#include "../2_wire/post.h"
#include "../2_wire/unexpected.h"

/* ---- the phases of a message ------------------------------------------------------------------------------------- */

/* Sends what the SEND says, or announces it. */
static void nbcolli_send_go(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_peer *peer = &run->comm->peer[v->peer];
    nbcoll_memory region = nbcolli_op_region(op);
    size_t bytes = region.bytes;
    void *memory = region.at;

    if (bytes == 0 || (bytes <= run->comm->config.eager && bytes <= peer->pair->payload)) {
        op->phase = NBCOLLI_SENT_EAGER;
        nbcolli_spend(run, bytes);
        nbcolli_op_send(op, NBCOLLI_EAGER, bytes, memory, bytes);
    } else if (nbcolli_has_departed(run->comm, v->peer)) {
        nbcolli_run_deserted(run, v->peer);
    } else {
        op->phase = NBCOLLI_SENT_RTS;
        op->lent = peer->pair->way == NBCOLLI_BY_GET && nbcolli_op_register(op, peer, NBCOLL_PEER_READS);
        nbcolli_op_send(op, NBCOLLI_RTS, bytes, &op->mine, op->lent ? nbcolli_remote_bytes(peer->link) : 0);
    }
}

/* Takes the op's finished post one phase on. Returns whether something was sent. */
static int nbcolli_op_turn(nbcolli_op *op)
{
    size_t bytes = nbcolli_op_bytes(op);

    switch (op->phase) {
    case NBCOLLI_STALLING:
        if (op->may_go)
            nbcolli_send_go(op);
        return op->may_go;
    case NBCOLLI_SENT_RTS:
        if (op->fin) {
            nbcolli_op_end(op);
            return 0;
        }
        if (!op->cts)
            return 0;
        if (op->put) {
            nbcolli_op_put_begin(op, &op->run->comm->peer[op->run->schedule->step[op->step].peer]);
            return 1;
        }
        /* fall through */
    case NBCOLLI_SENT_PUT:
        op->phase = NBCOLLI_SENT_DATA;
        /* fall through */
    case NBCOLLI_SENT_DATA: {
        size_t limit = nbcolli_op_pair(op)->payload;
        op->moved += op->post.bytes;
        op->post.bytes = 0;
        size_t fragment = bytes - op->moved < limit ? bytes - op->moved : limit;
        if (fragment == 0) {
            nbcolli_op_end(op);
            return 0;
        }
        if (!nbcolli_has_bytes(op->run)) {
            nbcolli_op_delay(op);
            return 0;
        }
        nbcolli_spend(op->run, fragment);
        nbcolli_op_send(op, NBCOLLI_DATA, op->moved, nbcolli_op_memory(op) + op->moved, fragment);
        return 1;
    }
    case NBCOLLI_FETCHING:
        nbcolli_fetch_got(op);
        return 0;
    case NBCOLLI_GETTING:
        op->phase = NBCOLLI_SENT_FIN;
        nbcolli_op_send(op, NBCOLLI_FIN, 0, NULL, 0);
        return 1;
    case NBCOLLI_SENT_CTS:
        if (op->moved == bytes && (!op->lent || op->put))
            nbcolli_op_end(op);
        return 0;
    case NBCOLLI_PUTTING:
    case NBCOLLI_SENT_EAGER:
    case NBCOLLI_SENT_FIN:
        nbcolli_op_end(op);
        return 0;
    default:
        return 0;
    }
}

void nbcolli_op_next(nbcolli_op *op)
{
    while (op->run->status == NBCOLL_OK && op->post.where == NBCOLLI_FREE && nbcolli_op_turn(op))
        ;
}

static void nbcolli_send_start(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    int rank = run->schedule->step[op->step].peer;
    nbcolli_pair *pair = run->comm->peer[rank].pair;

    if (pair->credits > 0) {
        pair->credits--;
        nbcolli_send_go(op);
    } else if (nbcolli_has_departed(run->comm, rank))
        nbcolli_run_deserted(run, rank);
    else
        nbcolli_stall(op);
    nbcolli_op_next(op);
}

/* Does an RTS with this payload say where its data can be got? Then the op is prepared for that. */
static int nbcolli_can_get(nbcolli_op *op, const nbcolli_peer *peer, const void *payload, size_t bytes)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;

    if (!bulk || !bulk->get || bytes != nbcolli_remote_bytes(peer->link) || !nbcolli_op_register_end(op, peer))
        return 0;
    op->theirs = (nbcolli_remote){0};
    memcpy(&op->theirs, payload, bytes);
    return 1;
}

void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes)
{
    const nbcolli_peer *peer = &op->run->comm->peer[m->source];

    op->post.link = peer->link;
    op->post.peer = peer->address;
    nbcolli_credit_back(peer->link, peer->address, m);
    if (m->type == NBCOLLI_EAGER) {
        if (bytes) {
            memcpy(nbcolli_op_memory(op), payload, bytes);
            nbcolli_spend(op->run, bytes);
        }
        nbcolli_op_end(op);
    } else if (nbcolli_can_get(op, peer, payload, bytes)) {
        op->phase = NBCOLLI_GETTING;
        nbcolli_op_get(op);
        nbcolli_op_next(op);
    } else if (nbcolli_has_departed(op->run->comm, (int)m->source)) {
        nbcolli_run_deserted(op->run, (int)m->source);
    } else {
        op->phase = NBCOLLI_SENT_CTS;
        op->lent = peer->pair->way == NBCOLLI_BY_PUT && nbcolli_op_register(op, peer, NBCOLL_PEER_WRITES);
        nbcolli_op_send(op, NBCOLLI_CTS, 0, &op->mine, op->lent ? nbcolli_remote_bytes(peer->link) : 0);
    }
}

static void nbcolli_recv_start(nbcolli_op *op)
{
    nbcolli_unexpected *s = op->unexpected;
    op->phase = NBCOLLI_POSTED;
    if (s) {
        op->unexpected = NULL;
        nbcolli_recv_accept(op, &s->header, s->payload, s->bytes);
        nbcolli_unexpected_free(s);
    } else
        nbcolli_want_stalled(op);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void nbcolli_call_start(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        run->regions[i] = nbcolli_resolve(run, v->parts[i].region);
        nbcolli_spend(run, run->regions[i].bytes);
    }
    if (v->call(v->call_user, run->regions) != NBCOLL_OK)
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
    else
        nbcolli_step_end(run, step);
}

/* The step at the head has been worked off up to `place` of `all` bytes: it ends, or stays there. */
static void nbcolli_step_reached(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step, size_t place, size_t all)
{
    lane->place = place < all ? place : 0;
    if (place < all)
        lane->head--;
    else
        nbcolli_step_end(run, step);
}

static unsigned char *nbcolli_behind(nbcoll_memory region, size_t place)
{
    return place ? (unsigned char *)region.at + place : region.at; /* nothing may lie nowhere */
}

static void nbcolli_reduce_on(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    size_t unit = nbcolli_packed_size(v->reduction.type), all = v->write.bytes, place = lane->place;
    size_t bytes = nbcolli_spend_piece(run, all - place, unit);

    if (bytes && nbcolli_reduce(v->reduction, nbcolli_behind(nbcolli_resolve(run, v->write), place),
                                nbcolli_behind(nbcolli_resolve(run, v->read[0]), place),
                                nbcolli_behind(nbcolli_resolve(run, v->read[1]), place), bytes / unit) != NBCOLL_OK)
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
    else
        nbcolli_step_reached(run, lane, step, place + bytes, all);
}

/* The two differ only if the caller's arrays have changed since they were checked. */
static void nbcolli_copy_on(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcoll_memory to = nbcolli_resolve(run, v->write), from = nbcolli_resolve(run, v->read[0]);
    size_t place = lane->place;

    if (to.bytes != from.bytes || place > to.bytes) {
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, run->comm->rank, 1);
        return;
    }
    size_t bytes = nbcolli_spend_piece(run, to.bytes - place, 1);
    if (bytes)
        memcpy(nbcolli_behind(to, place), nbcolli_behind(from, place), bytes);
    nbcolli_step_reached(run, lane, step, place + bytes, to.bytes);
}

/* Starts a step that was at the head of this lane, or goes on with a COPY or REDUCE. */
static void nbcolli_step_start(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcolli_op *op = run->schedule->op[step] == UINT32_MAX ? NULL : &run->op[run->schedule->op[step]];

    if (!lane->place)
        nbcolli_observe(run, NBCOLL_STEP_STARTED, step);
    switch (v->kind) {
    case NBCOLL_SEND:
        nbcolli_send_start(op);
        return;
    case NBCOLL_RECV:
        nbcolli_recv_start(op);
        return;
    case NBCOLL_EXPOSE:
        op->phase = NBCOLLI_REUSING;
        nbcolli_expose_next(op);
        return;
    case NBCOLL_FETCH:
    case NBCOLL_FETCH_REDUCE:
        op->phase = NBCOLLI_LOOKING;
        nbcolli_fetch_next(op);
        return;
    case NBCOLL_CALL:
        nbcolli_call_start(run, step);
        return;
    case NBCOLL_COPY:
        nbcolli_copy_on(run, lane, step);
        return;
    case NBCOLL_REDUCE:
        nbcolli_reduce_on(run, lane, step);
        return;
    default: /* JOIN */
        break;
    }
    nbcolli_step_end(run, step);
}

void nbcolli_run_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = nbcolli_slot_of(comm, run->tag);

    if (comm->context->observer)
        nbcolli_observe_end(run);
    if (comm->area && run->status == NBCOLL_OK)
        nbcolli_mark_end(comm, run->tag);
    else if (comm->area)
        nbcolli_cells_failed(run);
    if (run->delayed_at)
        nbcolli_run_undelay(run);
    if (run->unserved_at)
        nbcolli_lanes_leave(run);
    slot->active = NULL;
    nbcolli_slot_next(comm, slot, run->tag);
    nbcolli_raise_failed(comm, slot);
    nbcoll_status status = run->status;
    nbcolli_run_give(run);
    nbcolli_operation_over(r, status);
}

/* The lane from which the next step is taken; null: none that is served has one. */
static nbcolli_ready *nbcolli_next_lane(nbcolli_run *run)
{
    nbcolli_ready *any = &run->lane[NBCOLL_LANE_ANY];

    if (run->schedule->crossed)
        return nbcolli_lanes_next(run);
    return any->head < any->tail ? any : NULL;
}

void nbcolli_advance(nbcolli_run *run)
{
    nbcolli_ready *lane;

    while (run->status == NBCOLL_OK && (lane = nbcolli_next_lane(run))) {
        if (!nbcolli_has_bytes(run)) {
            nbcolli_run_delay(run);
            return;
        }
        nbcolli_step_start(run, lane, run->ready[lane->head++]);
    }
    if (run->status == NBCOLL_OK && !nbcolli_run_remains(run))
        nbcolli_run_finish(run);
}

void nbcolli_serve(nbcoll_context *c, uint32_t lanes)
{
    nbcolli_run *list = c->unserved;

    c->serves = lanes;
    c->unserved = NULL;
    if (list)
        list->unserved_at = &list;
    while (list) {
        nbcolli_run *run = list;
        nbcolli_lanes_leave(run);
        nbcolli_advance(run);
    }
}

void nbcolli_run_go_on(nbcolli_run *run)
{
    nbcolli_run_undelay(run);
    if (run->unfinished)
        nbcolli_advance(run);
    while (run->status == NBCOLL_OK && run->unfinished && nbcolli_has_bytes(run)) {
        nbcolli_op *op = run->unfinished;
        nbcolli_unwatch(op);
        if (op->phase == NBCOLLI_USING)
            nbcolli_fetch_go_on(op);
        else
            nbcolli_op_next(op);
    }
    if (run->unfinished)
        nbcolli_run_delay(run);
    nbcolli_advance(run);
}

/* ---- sends that stall -------------------------------------------------------------------------------------------- */

void nbcolli_op_take_back(nbcolli_op *op)
{
    nbcolli_header h = nbcolli_unpack(&op->post.wire);

    nbcolli_backlog_remove(&op->post);
    op->run->comm->peer[h.to].pair->owed += h.credits;
}

void nbcolli_stall_end(nbcolli_op *op, nbcoll_status status)
{
    nbcolli_unstall(op);
    op->may_go = 1;
    op->status = (uint8_t)status;
    if (op->post.where == NBCOLLI_BACKLOG)
        nbcolli_op_take_back(op);
    nbcolli_op_next(op);
    nbcolli_advance(op->run);
}

void nbcolli_credits_in(nbcolli_pair *pair, uint32_t credits)
{
    pair->credits += credits;
    while (pair->stalling && pair->credits > 0) {
        nbcolli_op *op = pair->stalling;
        if (op->run->status == NBCOLL_OK) {
            pair->credits--;
            nbcolli_stall_end(op, NBCOLL_OK);
        } else
            nbcolli_unstall(op);
    }
}

int nbcolli_look_again(nbcoll_context *c, size_t looks)
{
    int moved = 0, reader;

    if (!c->watched && c->looked) { /* all have had their turn */
        c->watched = c->looked;
        c->watched->watch_at = &c->watched;
        c->looked = NULL;
    }
    for (; c->watched && looks > 0; looks--) {
        nbcolli_op *op = c->watched;
        nbcolli_run *run = op->run;
        nbcolli_unwatch(op);
        if (run->status != NBCOLL_OK && nbcolli_exposure_is_held(op, &reader))
            nbcolli_watch(op);
        else if (run->status != NBCOLL_OK)
            nbcolli_to_settle(run);
        else if (op->phase == NBCOLLI_LOOKING)
            nbcolli_fetch_next(op);
        else
            nbcolli_expose_next(op);
        if (op->watch_at)
            continue;
        moved++;
        nbcolli_advance(run);
    }
    return moved;
}
