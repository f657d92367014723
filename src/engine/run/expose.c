/* SPDX-License-Identifier: BSD-3-Clause
 * The phases of exposures and fetches: see expose.h. */
#include "expose.h"

#include "fail.h"
#include "step.h"
#include "../wire/control.h"
#include "../exposures/cells.h"
#include "../exposures/shelf.h"
#include "../exposures/stream.h"

/* Has `peer` started the same operation as this rank, behind the same ones? If it has ended that, and what it has shown
 * is not there, it has overwritten it: it has given this rank up, and will say so. */
static int nbcolli_is_alike(const nbcolli_op *op, int peer, uint64_t tag)
{
    const nbcoll_comm *comm = op->run->comm;
    uint32_t at = (uint32_t)(tag % NBCOLLI_STARTED);

    /* A fingerprint of 0 says nothing. relaxed: for itself */
    return tag == op->run->tag && op->run->schedule->fingerprint && nbcolli_has_cells_of(comm, peer) &&
           atomic_load_explicit(&nbcolli_area_started(comm, peer)[at], memory_order_relaxed) ==
               atomic_load_explicit(&comm->started[at], memory_order_relaxed);
}

/* The op waits for `peer` and `tag`. If that has ended there, look once more: what is waited for may have come between
 * the two looks that led here. If it is still not there, the ranks are out of step. Of a rank that has left nothing
 * more can come. */
static void nbcolli_wait_for(nbcolli_op *op, int peer, uint64_t tag)
{
    int suspect = nbcolli_has_ended(op->run->comm, tag, peer) && !nbcolli_is_alike(op, peer, tag) ? peer + 1 : 0;

    if (suspect && op->suspect == suspect && !op->run->comm->context->ticks.is_under_way) { /* a call's to judge */
        nbcolli_run_out_of_step(op->run, peer);
        return;
    }
    op->suspect = suspect;
    if (!suspect && nbcolli_has_departed(op->run->comm, peer))
        nbcolli_run_deserted(op->run, peer);
    else
        nbcolli_watch(op);
}

/* ---- owners ------------------------------------------------------------------------------------------------------ */

/* Ends the run if a part that it is about to show is for a rank that has left: nobody would fetch it. */
static int nbcolli_expose_deserted(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    for (uint32_t i = 0; run->comm->departed && i < v->part_count; i++)
        if (nbcolli_has_departed(run->comm, v->parts[i].peer)) {
            nbcolli_run_deserted(run, v->parts[i].peer);
            return 1;
        }
    return 0;
}

/* The op whose cell this one's piece goes into, and which piece of that it is. */
static nbcolli_op *nbcolli_expose_first(nbcolli_op *op, uint32_t *piece)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    *piece = v->grows == NBCOLL_START ? 0 : v->parts[0].number - run->schedule->step[v->grows].parts[0].number;
    return *piece ? &run->op[run->schedule->op[v->grows]] : op;
}

/* Takes a REUSING op to SHELVING, if that can be now. */
static void nbcolli_expose_begin(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    uint64_t before, readers;
    uint32_t piece;
    int reader;

    if (nbcolli_expose_first(op, &piece)->moved != piece) {
        nbcolli_watch(op);
        return;
    }
    if (!nbcolli_may_reuse(run->comm, run->tag, &before, &reader)) {
        nbcolli_wait_for(op, reader, before);
        return;
    }
    if (nbcolli_expose_deserted(op))
        return;
    op->phase = NBCOLLI_SHELVING;
    op->suspect = 0; /* that was of an earlier tag */
    op->copy = NULL;
    op->stream = NULL;
    if (!nbcolli_inline_cells(run, v, &readers))
        nbcolli_shelf_take(op);
}

/* Shows the cell of a SHELVING op whose copy, if any, is there, or is streamed. Returns whether that went well. */
static int nbcolli_expose_show(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    nbcoll_status s = NBCOLL_OK;
    uint32_t piece;
    nbcolli_op *first = nbcolli_expose_first(op, &piece);

    if (first == op)
        s = nbcolli_cell_write(op);
    if (s != NBCOLL_OK) {
        nbcolli_run_fail(run, s, run->comm->rank, 1);
        return 0;
    }
    first->moved++;
    nbcolli_cell_show(op, first->cell, piece);
    return 1;
}

/* Copies what a SHELVING op puts on the shelf, as far as that can be now. Returns whether all is there. */
static int nbcolli_expose_fill(nbcolli_op *op)
{
    int reader;
    nbcoll_status s = !op->stream ? (nbcolli_shelf_fill(op) ? NBCOLL_OK : NBCOLL_AGAIN)
                                  : nbcolli_stream_fill(op, &reader);

    if (s == NBCOLL_AGAIN)
        nbcolli_op_delay(op);
    if (s == NBCOLL_PENDING)
        nbcolli_wait_for(op, reader, op->run->tag);
    return s == NBCOLL_OK;
}

void nbcolli_expose_next(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    int reader;

    if (op->phase == NBCOLLI_REUSING)
        nbcolli_expose_begin(op);
    if (op->phase == NBCOLLI_REUSING)
        return;
    if (op->phase == NBCOLLI_SHELVING) {
        if (op->stream && !op->moved && !nbcolli_expose_show(op))
            return;
        if (op->copy && !nbcolli_expose_fill(op))
            return;
        if (!op->stream && !nbcolli_expose_show(op))
            return;
        op->phase = NBCOLLI_EXPOSED;
        if (!op->keys && run->schedule->step[op->step].grows == NBCOLL_START) {
            nbcolli_op_end(op);
            return;
        }
    }
    if (nbcolli_exposure_is_held(op, &reader))
        nbcolli_wait_for(op, reader, run->tag);
    else
        nbcolli_op_end(op);
}

void nbcolli_exposure_recall(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        int reader = v->parts[i].peer;
        if (nbcolli_has_fetched(run->comm, run->tag, reader, (uint64_t)v->parts[i].number + 1))
            continue;
        nbcolli_header h = nbcolli_header_to(run->comm, reader, NBCOLLI_REVOKE, run->tag);
        h.number = (uint32_t)run->cause;
        h.status = (uint8_t)run->status;
        h.bytes = 1;
        nbcolli_control_to(run->comm, reader, &h);
    }
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

static size_t nbcolli_fetch_unit(const nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    size_t size = v->kind == NBCOLL_FETCH ? 1 : nbcolli_packed_size(v->reduction.type);
    return size ? size : 1; /* elements without bytes: there is nothing to cut */
}

/* Of what a USING op has not used, the bytes of whole elements that are there. */
static size_t nbcolli_fetch_there(const nbcolli_op *op)
{
    size_t left = op->run->schedule->step[op->step].write.bytes - op->moved, unit = nbcolli_fetch_unit(op);

    if (!op->ready)
        return left;
    uint64_t ready = atomic_load(op->ready); /* seq_cst: the sleeper's second look */
    size_t there = ready > op->moved ? ready - op->moved : 0;
    return there < left ? there / unit * unit : left;
}

int nbcolli_fetch_waits(const nbcolli_op *op)
{
    return nbcolli_fetch_there(op) == 0;
}

/* [READ] A piece of what a FETCH_REDUCE got or found, or of what a FETCH found, becomes its result. Returns the bytes
 * then left, or SIZE_MAX if the host's operation failed. */
static size_t nbcolli_fetch_use(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t unit = nbcolli_fetch_unit(op), left = v->write.bytes - op->moved;
    size_t at = op->window ? op->moved % op->window : op->moved, there = nbcolli_fetch_there(op);
    size_t bytes = nbcolli_spend_piece(run, !op->window || there < op->window - at ? there : op->window - at, unit);
    unsigned char *to = (unsigned char *)nbcolli_resolve(run, v->write).at + op->moved;
    const unsigned char *from = op->found + at, *with = op->with ? op->with + op->moved : to;

    if (v->kind == NBCOLL_FETCH)
        memcpy(to, from, bytes);
    else if (nbcolli_reduce(run->comm->context->reducers, nbcolli_reduction_of(run, v), to,
                            v->side == NBCOLL_LEFT ? from : with, v->side == NBCOLL_LEFT ? with : from,
                            bytes / unit) != NBCOLL_OK) {
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
        return SIZE_MAX;
    }
    op->moved += bytes;
    if (op->stream)
        nbcolli_stream_used(op);
    return left - bytes;
}

/* [READ] is over, [ACK] follows. */
static void nbcolli_fetch_end(nbcolli_op *op)
{
    nbcolli_op_end(op);
    nbcolli_acknowledge(op->run, op->run->schedule->step[op->step].peer);
}

void nbcolli_fetch_go_on(nbcolli_op *op)
{
    if (nbcolli_fetch_waits(op)) {
        nbcolli_wait_for(op, op->run->schedule->step[op->step].peer, op->run->tag);
        return;
    }
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    if (v->kind == NBCOLL_FETCH_REDUCE && v->reduction.op >= NBCOLL_OP_COUNT && nbcolli_tick_leaves(op->run)) {
        nbcolli_op_delay(op);
        return;
    }
    size_t left = nbcolli_fetch_use(op);

    if (left == 0)
        nbcolli_fetch_end(op);
    else if (left < SIZE_MAX)
        nbcolli_op_delay(op);
}

static void nbcolli_fetch_found(nbcolli_op *op, const void *found)
{
    op->phase = NBCOLLI_USING;
    op->found = found;
    op->ready = NULL;
    op->stream = NULL;
    op->window = 0;
    op->moved = 0;
    nbcolli_fetch_go_on(op);
}

static void nbcolli_fetch_streamed(nbcolli_op *op, const nbcolli_found *found)
{
    nbcoll_status s = nbcolli_stream_find(op, found, nbcolli_fetch_unit(op));

    if (s == NBCOLL_PENDING) { /* it has given this rank up, and will say so */
        nbcolli_watch(op);
        return;
    }
    if (s != NBCOLL_OK) {
        nbcolli_run_out_of_step(op->run, op->run->schedule->step[op->step].peer);
        return;
    }
    op->phase = NBCOLLI_USING;
    op->moved = 0;
    nbcolli_fetch_go_on(op);
}

void nbcolli_fetch_got(nbcolli_op *op)
{
    if (nbcolli_op_reduces(op))
        nbcolli_fetch_found(op, nbcolli_bounce(op));
    else
        nbcolli_fetch_end(op);
}

void nbcolli_fetch_next(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    const nbcolli_peer *peer = &run->comm->peer[v->peer];
    const nbcoll_bulk *bulk = peer->link->transport.bulk;
    nbcolli_found found = {.is_streamed = 0};
    nbcoll_status s = nbcolli_look(op, v->write.bytes, &found);

    if (s == NBCOLL_PENDING) {
        nbcolli_wait_for(op, v->peer, run->tag);
        return;
    }
    if (s != NBCOLL_OK && run->comm->context->ticks.is_under_way) { /* as above */
        nbcolli_watch(op);
        return;
    }
    if (s != NBCOLL_OK) {
        nbcolli_run_out_of_step(run, v->peer);
        return;
    }
    if (found.is_streamed) {
        nbcolli_fetch_streamed(op, &found);
        return;
    }
    const void *there = found.payload;
    if (!there && (v->kind == NBCOLL_FETCH_REDUCE || found.is_shelved) && bulk->view)
        there = bulk->view(peer->link->endpoint, peer->address, &found.place.key, found.place.offset, v->write.bytes);
    if (v->write.bytes == 0) {
        nbcolli_fetch_end(op);
        return;
    }
    if (there) {
        nbcolli_fetch_found(op, there);
        return;
    }
    op->phase = NBCOLLI_FETCHING;
    op->theirs = found.place;
    op->post.link = peer->link;
    op->post.peer = peer->address;
    nbcolli_op_get(op);
    if (op->post.where == NBCOLLI_FREE)
        nbcolli_fetch_got(op);
}

void nbcolli_cells_failed(nbcolli_run *run)
{
    nbcolli_expose_all(run);
    nbcolli_raise(run->comm, run->tag, NBCOLLI_ALL_FETCHED);
}
