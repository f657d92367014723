/* SPDX-License-Identifier: BSD-3-Clause
 * The engine: runs of schedules. Steps become ready, start and end; messages go through their phases; a run that fails
 * settles. Nothing here calls itself: ends only push ready steps, and advance works them off in a loop. */
#ifndef NBCOLL_INLINE_RUN_H
#define NBCOLL_INLINE_RUN_H

#include "expose.h"

/* ---- the phases of a message ----------------------------------------------------------------------------------- */

/* Sends what the SEND says, or announces it. */
static inline void nbcolli_send_go(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_peer *peer = &run->comm->peer[v->peer];
    const nbcoll_bulk *bulk = peer->link->transport.bulk;
    nbcoll_piece piece = nbcolli_op_piece(op);
    size_t bytes = piece.bytes;
    void *memory = piece.at;

    if (bytes == 0 || (bytes <= run->comm->config.eager && bytes <= peer->link->endpoint->limits.payload)) {
        op->phase = NBCOLLI_SENT_EAGER;
        nbcolli_spend(run, bytes);
        nbcolli_op_send(op, NBCOLLI_EAGER, bytes, memory, bytes);
    } else if (nbcolli_has_departed(run->comm, v->peer)) {
        nbcolli_run_deserted(run, v->peer);
    } else {
        op->phase = NBCOLLI_SENT_RTS;
        op->keyed = bulk && bulk->expose(peer->link->endpoint, peer->address, memory, bytes, &op->key) == NBCOLL_OK;
        if (!op->keyed)
            op->key = (nbcoll_key){{0}}; /* not that of an earlier run */
        nbcolli_op_send(op, NBCOLLI_RTS, bytes, NULL, 0);
    }
}

/* Takes the op's finished post one phase on. Returns whether something was sent. */
static inline int nbcolli_op_turn(nbcolli_op *op)
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
        op->phase = NBCOLLI_SENT_DATA;
        /* fall through */
    case NBCOLLI_SENT_DATA: {
        size_t limit = op->post.link->endpoint->limits.payload;
        op->moved += op->post.bytes;
        op->post.bytes = 0;
        size_t piece = bytes - op->moved < limit ? bytes - op->moved : limit;
        if (piece == 0) {
            nbcolli_op_end(op);
            return 0;
        }
        if (!nbcolli_has_bytes(op->run)) {
            nbcolli_op_delay(op);
            return 0;
        }
        nbcolli_spend(op->run, piece);
        nbcolli_op_send(op, NBCOLLI_DATA, op->moved, nbcolli_op_memory(op) + op->moved, piece);
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
        if (op->moved == bytes)
            nbcolli_op_end(op);
        return 0;
    case NBCOLLI_SENT_EAGER:
    case NBCOLLI_SENT_FIN:
        nbcolli_op_end(op);
        return 0;
    default:
        return 0;
    }
}

/* To be called when the op's post came free, or an answer came. The caller advances the run afterwards. */
static inline void nbcolli_op_next(nbcolli_op *op)
{
    while (op->run->status == NBCOLL_OK && op->post.where == NBCOLLI_FREE && nbcolli_op_turn(op))
        ;
}

static inline void nbcolli_send_start(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    int rank = run->schedule->step[op->step].peer;
    nbcolli_peer *peer = &run->comm->peer[rank];

    if (peer->credits > 0) {
        peer->credits--;
        nbcolli_send_go(op);
    } else if (nbcolli_has_departed(run->comm, rank))
        nbcolli_run_deserted(run, rank);
    else
        nbcolli_stall(op);
    nbcolli_op_next(op);
}

/* A message meets its receive, which is ready. */
static inline void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes)
{
    const nbcolli_peer *peer = &op->run->comm->peer[m->source];

    op->post.link = peer->link;
    op->post.peer = peer->address;
    nbcolli_credit_back(op->run->comm, m);
    if (m->type == NBCOLLI_EAGER) {
        if (bytes) {
            memcpy(nbcolli_op_memory(op), payload, bytes);
            nbcolli_spend(op->run, bytes);
        }
        nbcolli_op_end(op);
    } else if (peer->link->transport.bulk && (m->key.word[0] | m->key.word[1])) {
        op->phase = NBCOLLI_GETTING;
        op->key = m->key;
        nbcolli_op_get(op);
        nbcolli_op_next(op);
    } else if (nbcolli_has_departed(op->run->comm, (int)m->source)) {
        nbcolli_run_deserted(op->run, (int)m->source);
    } else {
        op->phase = NBCOLLI_SENT_CTS;
        nbcolli_op_send(op, NBCOLLI_CTS, 0, NULL, 0);
    }
}

static inline void nbcolli_recv_start(nbcolli_op *op)
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

/* ---- running --------------------------------------------------------------------------------------------------- */

static inline void nbcolli_call_start(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        run->pieces[i] = nbcolli_resolve(run, v->parts[i].region);
        nbcolli_spend(run, run->pieces[i].bytes);
    }
    if (v->call(v->call_user, run->pieces) != NBCOLL_OK)
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
    else
        nbcolli_step_end(run, step);
}

/* The step at the head has been worked off up to `place` of `all` bytes: it ends, or stays there. */
static inline void nbcolli_step_reached(nbcolli_run *run, nbcoll_step step, size_t place, size_t all)
{
    run->place = place < all ? place : 0;
    if (place < all)
        run->head--;
    else
        nbcolli_step_end(run, step);
}

static inline unsigned char *nbcolli_behind(nbcoll_piece piece, size_t place)
{
    return place ? (unsigned char *)piece.at + place : piece.at; /* nothing may lie nowhere */
}

static inline void nbcolli_reduce_on(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    size_t unit = nbcolli_packed_size(v->reduction.type), all = v->write.bytes, place = run->place;
    size_t bytes = nbcolli_spend_piece(run, all - place, unit);

    if (bytes && nbcolli_reduce(v->reduction, nbcolli_behind(nbcolli_resolve(run, v->write), place),
                                nbcolli_behind(nbcolli_resolve(run, v->read[0]), place),
                                nbcolli_behind(nbcolli_resolve(run, v->read[1]), place), bytes / unit) != NBCOLL_OK)
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
    else
        nbcolli_step_reached(run, step, place + bytes, all);
}

/* The two differ only if the caller's arrays have changed since they were checked. */
static inline void nbcolli_copy_on(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcoll_piece to = nbcolli_resolve(run, v->write), from = nbcolli_resolve(run, v->read[0]);
    size_t place = run->place;

    if (to.bytes != from.bytes || place > to.bytes) {
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, run->comm->rank, 1);
        return;
    }
    size_t bytes = nbcolli_spend_piece(run, to.bytes - place, 1);
    if (bytes)
        memcpy(nbcolli_behind(to, place), nbcolli_behind(from, place), bytes);
    nbcolli_step_reached(run, step, place + bytes, to.bytes);
}

/* Starts a step, or goes on with a COPY or REDUCE. */
static inline void nbcolli_step_start(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcolli_op *op = run->schedule->op[step] == UINT32_MAX ? NULL : &run->op[run->schedule->op[step]];

    if (!run->place)
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
        nbcolli_copy_on(run, step);
        return;
    case NBCOLL_REDUCE:
        nbcolli_reduce_on(run, step);
        return;
    default: /* JOIN */
        break;
    }
    nbcolli_step_end(run, step);
}

/* The run is over: nobody holds its buffers. The run itself is not to be touched afterwards. */
static inline void nbcolli_run_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = nbcolli_slot_of(comm, run->tag);

    if (run->status == NBCOLL_OK) {
        nbcolli_observe(run, NBCOLL_STEP_READY, NBCOLL_END);
        nbcolli_observe(run, NBCOLL_STEP_STARTED, NBCOLL_END);
    }
    nbcolli_observe(run, NBCOLL_STEP_ENDED, NBCOLL_END);
    if (run->schedule->cells)
        nbcolli_cells_withdraw(run);
    if (comm->area && run->status == NBCOLL_OK)
        nbcolli_mark_end(comm, run->tag);
    else if (comm->area)
        nbcolli_cells_failed(run);
    if (run->delayed_at)
        nbcolli_run_undelay(run);
    slot->active = NULL;
    nbcolli_slot_next(comm, slot, run->tag);
    nbcolli_raise_failed(comm, slot);
    run->state = NBCOLLI_RUN_POOLED;
    run->next = run->schedule->idle;
    run->schedule->idle = run;
    nbcolli_operation_over(r, run->status);
}

/* Runs whatever is ready, as far as this pass goes. The run may be over afterwards. */
static inline void nbcolli_advance(nbcolli_run *run)
{
    while (run->status == NBCOLL_OK && run->head < run->tail) {
        if (!nbcolli_has_bytes(run)) {
            nbcolli_run_delay(run);
            return;
        }
        nbcolli_step_start(run, run->ready[run->head++]);
    }
    if (run->status == NBCOLL_OK && run->remaining == 0)
        nbcolli_run_finish(run);
}

/* The turn of a delayed run: what is ready, then what is in the middle of something. It may be over afterwards. */
static inline void nbcolli_run_go_on(nbcolli_run *run)
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

/* ---- sends that stall ------------------------------------------------------------------------------------------ */

/* Takes back a post that never left, with the credits that it carried. */
static inline void nbcolli_op_take_back(nbcolli_op *op)
{
    nbcolli_header h = nbcolli_unpack(&op->post.wire);

    nbcolli_backlog_remove(&op->post);
    op->run->comm->peer[h.to].owed += h.credits;
}

/* A send that stalls goes: with a credit (OK), or since its receiver has asked for it (AGAIN). The run may be over
 * afterwards. */
static inline void nbcolli_stall_end(nbcolli_op *op, nbcoll_status status)
{
    nbcolli_unstall(op);
    op->may_go = 1;
    op->status = (uint8_t)status;
    if (op->post.where == NBCOLLI_BACKLOG)
        nbcolli_op_take_back(op);
    nbcolli_op_next(op);
    nbcolli_advance(op->run);
}

/* Credits have come back: they are for those that stall. */
static inline void nbcolli_credits_in(nbcoll_comm *comm, int rank, int32_t credits)
{
    nbcolli_peer *peer = &comm->peer[rank];

    peer->credits += credits;
    while (peer->stalling && peer->credits > 0) {
        nbcolli_op *op = peer->stalling;
        if (op->run->status == NBCOLL_OK) {
            peer->credits--;
            nbcolli_stall_end(op, NBCOLL_OK);
        } else
            nbcolli_unstall(op);
    }
}

/* Looks again for what waits for shared memory. Returns how much went on; what has been delayed does not count. */
static inline int nbcolli_look_again(nbcoll_context *c)
{
    nbcolli_op *list = c->watched;
    int moved = 0, reader;

    c->watched = NULL;
    if (list)
        list->watch_at = &list;
    while (list) {
        nbcolli_op *op = list;
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

/* ---- settling -------------------------------------------------------------------------------------------------- */

static inline void nbcolli_op_refuse_unexpected(nbcolli_op *op)
{
    if (op->unexpected) {
        nbcolli_refuse(op->run->comm, &op->unexpected->header, NBCOLL_ERR_CANCELLED);
        nbcolli_unexpected_free(op->unexpected);
        op->unexpected = NULL;
    }
}

/* Takes back a post that never left, with the credit that it took. */
static inline void nbcolli_op_unsend(nbcolli_op *op)
{
    int sends = op->phase == NBCOLLI_SENT_EAGER || op->phase == NBCOLLI_SENT_RTS;

    if (op->phase == NBCOLLI_GETTING || op->phase == NBCOLLI_FETCHING) {
        nbcolli_backlog_remove(&op->post);
        return;
    }
    nbcolli_op_take_back(op);
    op->phase = op->phase == NBCOLLI_SENT_CTS ? NBCOLLI_GETTING : NBCOLLI_SETTLED; /* an RTS is still to be answered */
    if (sends && op->status == NBCOLL_OK)
        nbcolli_credits_in(op->run->comm, op->run->schedule->step[op->step].peer, 1);
}

/* Once, when the run begins to settle: takes back what has not left, but for an owed FIN. */
static inline void nbcolli_op_stop(nbcolli_op *op)
{
    nbcolli_op_refuse_unexpected(op);
    if (op->phase == NBCOLLI_STALLING)
        nbcolli_unstall(op);
    nbcolli_unwatch(op);
    if (op->phase == NBCOLLI_EXPOSED)
        nbcolli_exposure_recall(op);
    if (op->post.where == NBCOLLI_BACKLOG && op->phase != NBCOLLI_SENT_FIN)
        nbcolli_op_unsend(op);
}

/* Asks, once, for a get, or for what a peer that has left will not take. All else goes out: of a cancelled message
 * nobody could say whether its credits arrived. */
static inline void nbcolli_op_recall(nbcolli_op *op)
{
    nbcolli_link *link = op->post.link;
    int gets = op->phase == NBCOLLI_GETTING || op->phase == NBCOLLI_FETCHING;
    if (!op->recalled && (gets || link->loss[op->post.peer] & NBCOLLI_DEPARTED)) {
        op->recalled = 1;
        link->transport.cancel(link->endpoint, &op->post.work);
    }
}

/* Does the sender of what this op receives wait for an answer that has not left? We try once. */
static inline int nbcolli_op_owes_fin(const nbcolli_op *op)
{
    int stuck = op->post.where == NBCOLLI_STUCK;
    return !op->fin && (op->phase == NBCOLLI_GETTING ||
                        (stuck && (op->phase == NBCOLLI_SENT_CTS || op->phase == NBCOLLI_SENT_FIN)));
}

/* Does somebody else still hold the op's memory? Ends what nobody holds. */
static inline int nbcolli_op_held(nbcolli_op *op)
{
    int reader;

    if (op->post.where == NBCOLLI_LENT)
        nbcolli_op_recall(op);
    if (op->post.where == NBCOLLI_LENT || op->post.where == NBCOLLI_BACKLOG)
        return 1;
    if (nbcolli_op_owes_fin(op)) {
        op->phase = NBCOLLI_SENT_FIN;
        op->fin = 1;
        nbcolli_op_send(op, NBCOLLI_FIN, 0, NULL, 0);
        if (op->post.where == NBCOLLI_LENT || op->post.where == NBCOLLI_BACKLOG)
            return 1;
    }
    if (op->phase == NBCOLLI_SENT_RTS && op->post.where != NBCOLLI_STUCK && !op->fin && !op->refused && !op->cts &&
        !nbcolli_has_departed(op->run->comm, op->run->schedule->step[op->step].peer))
        return 1;
    if (op->phase == NBCOLLI_EXPOSED && nbcolli_exposure_is_held(op, &reader)) {
        nbcolli_watch(op);
        return 1;
    }
    nbcolli_op_settled(op);
    return 0;
}

/* [SETTLE] Called for a failed run when something about it changed. */
static inline void nbcolli_settle(nbcolli_run *run)
{
    int held = 0, reads = 0;

    if (run->state != NBCOLLI_RUN_SETTLING) {
        nbcolli_unexpected_drop(run->comm, run->tag, run->tag, NBCOLL_ERR_CANCELLED);
        run->state = NBCOLLI_RUN_SETTLING;
        for (uint32_t i = 0; i < run->schedule->ops; i++)
            nbcolli_op_stop(&run->op[i]);
    }
    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        held += nbcolli_op_held(&run->op[i]);
        reads |= run->op[i].phase == NBCOLLI_FETCHING;
    }
    if (run->comm->area && !reads) /* before the others are through: each may wait for all */
        nbcolli_cells_failed(run);
    if (!held)
        nbcolli_run_finish(run);
}

#endif
