/* SPDX-License-Identifier: BSD-3-Clause */
#include "phase.h"

#include "credit.h"
#include "fail.h"
#include "step.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"
#include "../exposures/staging.h"

/* The op waits until `peer` shows, or has read, a part. A rank that has left does neither. */
static void nbcolli_wait_for(nbcolli_op *op, int peer)
{
    if (nbcolli_has_departed(op->run->comm, peer))
        nbcolli_run_deserted(op->run, peer);
    else
        nbcolli_watch(op);
}

/* ---- exposures --------------------------------------------------------------------------------------------------- */

/* Ends the run if it is about to show a part to a rank that has left: nobody would fetch it. */
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

/* The op whose cell this one's piece goes into, and the piece's number there. */
static nbcolli_op *nbcolli_expose_first(nbcolli_op *op, uint32_t *piece)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    *piece = v->grows == NBCOLL_START ? 0 : v->parts[0].number - run->schedule->step[v->grows].parts[0].number;
    return *piece ? &run->op[run->schedule->op[v->grows]] : op;
}

/* Takes a REUSING op to STAGING, if that is possible now. */
static void nbcolli_expose_begin(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    uint64_t before, readers;
    uint32_t piece;
    int reader;

    if (nbcolli_expose_first(op, &piece)->moved != piece)
        nbcolli_watch(op);
    else if (!nbcolli_may_reuse(run->comm, run->tag, &before, &reader))
        nbcolli_wait_for(op, reader);
    else if (!nbcolli_expose_deserted(op)) {
        op->phase = NBCOLLI_STAGING;
        op->copy = NULL;
        op->stream = NULL;
        if (!nbcolli_inline_cells(run, v, &readers))
            nbcolli_staging_take(op);
    }
}

/* Shows the cell of a STAGING op whose copy, if any, is complete, or streamed. Returns whether that went well. */
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

/* Copies a STAGING op's parts to the staging buffer, as far as possible now. Returns whether all are there. */
static int nbcolli_expose_fill(nbcolli_op *op)
{
    int reader;
    nbcoll_status s = nbcolli_staging_fill(op, 1, &reader);

    if (s == NBCOLL_AGAIN)
        nbcolli_op_delay(op);
    if (s == NBCOLL_PENDING)
        nbcolli_wait_for(op, reader);
    return s == NBCOLL_OK;
}

/* Takes a REUSING, STAGING or EXPOSED op as far as it can go now. */
static void nbcolli_expose_next(nbcolli_op *op)
{
    int reader;

    if (op->phase == NBCOLLI_REUSING)
        nbcolli_expose_begin(op);
    if (op->phase == NBCOLLI_REUSING)
        return;
    if (op->phase == NBCOLLI_STAGING) {
        if (op->stream && !op->moved && !nbcolli_expose_show(op))
            return;
        if (op->copy && !nbcolli_expose_fill(op))
            return;
        if (!op->stream && !nbcolli_expose_show(op))
            return;
        op->phase = NBCOLLI_EXPOSED;
    }
    int is_lent = op->keys || op->run->schedule->step[op->step].grows != NBCOLL_START;
    if (is_lent && nbcolli_exposure_is_held(op, &reader))
        nbcolli_wait_for(op, reader);
    else
        nbcolli_op_end(op);
}

void nbcolli_exposure_recall(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        if (!nbcolli_has_fetched(run, &v->parts[i]))
            nbcolli_say(run->comm, v->parts[i].peer,
                        (nbcolli_header){.type = NBCOLLI_REVOKE, .tag = run->tag, .number = (uint32_t)run->cause,
                                         .status = (uint8_t)run->status, .bytes = 1});
    }
}

/* ---- fetches ----------------------------------------------------------------------------------------------------- */

static size_t nbcolli_fetch_unit(const nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    size_t size = v->kind == NBCOLL_FETCH ? 1 : nbcolli_packed_size(v->reduction.type);
    return size ? size : 1; /* elements without bytes: nothing to cut */
}

/* The bytes, in whole elements, that are there for a USING op and not used yet. */
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

/* [READ] Combines, for a FETCH_REDUCE, or copies, for a FETCH, a piece to its result. 0: the host's operation failed,
 * and the run with it. */
static int nbcolli_fetch_use(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t unit = nbcolli_fetch_unit(op), there = nbcolli_fetch_there(op);
    size_t at = op->window ? op->moved % op->window : op->moved;
    size_t bytes = nbcolli_spend_piece(run, !op->window || there < op->window - at ? there : op->window - at, unit);
    unsigned char *to = (unsigned char *)nbcolli_resolve(run, v->write).at + op->moved;
    const unsigned char *from = op->found + at, *with = op->with ? op->with + op->moved : to;

    if (v->kind == NBCOLL_FETCH)
        memcpy(to, from, bytes);
    else if (!nbcolli_combine(run, v, to, v->side == NBCOLL_LEFT ? from : with, v->side == NBCOLL_LEFT ? with : from,
                              bytes / unit))
        return 0;
    op->moved += bytes;
    if (op->stream) { /* [THROUGH] the reader needs what it has used no more */
        atomic_store(&op->stream->through, op->moved);
        nbcolli_shared_wake(run->comm, v->peer);
    }
    return 1;
}

/* [READ] is over, [ACK] follows. */
static void nbcolli_fetch_end(nbcolli_op *op)
{
    nbcolli_op_end(op);
    nbcolli_acknowledge(op->run, op->run->schedule->step[op->step].peer);
}

/* Takes a USING op as far as this pass goes, or as its owner has copied. */
static int nbcolli_fetch_go_on(nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];

    if (nbcolli_fetch_waits(op))
        nbcolli_wait_for(op, v->peer);
    else if (v->kind == NBCOLL_FETCH_REDUCE && v->reduction.op >= NBCOLL_OP_COUNT && nbcolli_tick_leaves(op->run))
        nbcolli_op_delay(op);
    else if (!nbcolli_fetch_use(op))
        return 0;
    else if (op->moved == v->write.bytes)
        nbcolli_fetch_end(op);
    else if (!nbcolli_has_bytes(op->run))
        nbcolli_op_delay(op);
    else
        return 1;
    return 0;
}

static int nbcolli_fetch_found(nbcolli_op *op, const void *found)
{
    op->phase = NBCOLLI_USING;
    op->found = found;
    op->ready = NULL;
    op->stream = NULL;
    op->window = 0;
    op->moved = 0;
    return 1;
}

/* There is nothing to use, for this reason: the part is not there, or another one is. */
static int nbcolli_fetch_misses(nbcolli_op *op, nbcoll_status why)
{
    int owner = op->run->schedule->step[op->step].peer;

    if (why == NBCOLL_PENDING)
        nbcolli_wait_for(op, owner);
    else if (op->run->comm->context->ticks.is_under_way) /* a call's to judge */
        nbcolli_watch(op);
    else
        nbcolli_run_out_of_step(op->run, owner);
    return 0;
}

static int nbcolli_fetch_look(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    const nbcoll_bulk *bulk = op->post.link->transport.bulk;
    nbcolli_found found = {.kind = NBCOLLI_INLINED};
    nbcoll_status s = nbcolli_look(op, v->write.bytes, &found);

    if (s == NBCOLL_OK && found.kind == NBCOLLI_STREAMED)
        s = nbcolli_stream_find(op, &found, nbcolli_fetch_unit(op));
    if (s != NBCOLL_OK)
        return nbcolli_fetch_misses(op, s);
    if (found.kind == NBCOLLI_STREAMED)
        return 1;
    const void *there = found.payload;
    run->is_worn |= !there || op->cell; /* a replay looks into first cells only */
    if (!there && (v->kind == NBCOLL_FETCH_REDUCE || found.kind == NBCOLLI_STAGED) && bulk->view)
        there = bulk->view(op->post.link->endpoint, op->post.peer, &found.place.key, found.place.offset,
                           v->write.bytes);
    if (v->write.bytes == 0) {
        nbcolli_fetch_end(op);
        return 0;
    }
    if (there)
        return nbcolli_fetch_found(op, there);
    op->phase = NBCOLLI_FETCHING;
    op->theirs = found.place;
    nbcolli_op_copy(op);
    return 1; /* if the get is over */
}

/* Takes a LOOKING or USING op, or a FETCHING one whose get is over, as far as this pass goes. May it go on? */
static int nbcolli_fetch_next(nbcolli_op *op)
{
    if (op->phase == NBCOLLI_LOOKING)
        return nbcolli_fetch_look(op);
    if (op->phase == NBCOLLI_USING)
        return nbcolli_fetch_go_on(op);
    if (nbcolli_op_reduces(op))
        return nbcolli_fetch_found(op, nbcolli_bounce(op));
    nbcolli_fetch_end(op);
    return 0;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Sends the SEND's message, or announces it. */
static void nbcolli_send_go(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcoll_memory region = nbcolli_op_region(op);
    size_t bytes = region.bytes;

    if (bytes == 0 || (bytes <= run->comm->config.eager && bytes <= op->pair->payload)) {
        op->phase = NBCOLLI_SENT_EAGER;
        nbcolli_spend(run, bytes);
        uint64_t channel = run->is_small ? nbcolli_channel_name(op) : 0;
        nbcolli_op_send(op, NBCOLLI_EAGER, channel << 32 | bytes, region.at, bytes);
    } else if (nbcolli_has_departed(run->comm, v->peer)) {
        nbcolli_run_deserted(run, v->peer);
    } else {
        op->phase = NBCOLLI_SENT_RTS;
        op->lent = op->pair->way == NBCOLLI_BY_GET && nbcolli_op_register(op, NBCOLL_PEER_READS);
        nbcolli_op_send(op, NBCOLLI_RTS, bytes, &op->mine, op->lent ? nbcolli_remote_bytes(op->post.link) : 0);
    }
}

/* Sends the next one of a SENT_DATA op, if there is one and the pass has bytes for it. */
static int nbcolli_send_fragment(nbcolli_op *op, size_t bytes)
{
    size_t limit = op->pair->payload, at = op->moved;
    size_t fragment = bytes - at < limit ? bytes - at : limit;

    if (fragment == 0)
        nbcolli_op_end(op);
    else if (!nbcolli_has_bytes(op->run))
        nbcolli_op_delay(op);
    else {
        nbcolli_spend(op->run, fragment);
        op->moved = at + fragment; /* only posted DATA has moved */
        nbcolli_op_send(op, NBCOLLI_DATA, at, nbcolli_op_memory(op) + at, fragment);
        return 1;
    }
    return 0;
}

/* Takes the op, whose post is free, one phase on. Returns whether it may go on. */
static int nbcolli_op_turn(nbcolli_op *op)
{
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
            nbcolli_op_put_begin(op);
            return 1;
        }
        /* fall through */
    case NBCOLLI_SENT_PUT:
        op->phase = NBCOLLI_SENT_DATA;
        /* fall through */
    case NBCOLLI_SENT_DATA:
        return nbcolli_send_fragment(op, nbcolli_op_bytes(op));
    case NBCOLLI_REUSING:
    case NBCOLLI_STAGING:
    case NBCOLLI_EXPOSED:
        nbcolli_expose_next(op);
        return 0;
    case NBCOLLI_LOOKING:
    case NBCOLLI_FETCHING:
    case NBCOLLI_USING:
        return nbcolli_fetch_next(op);
    case NBCOLLI_GETTING:
        op->phase = NBCOLLI_SENT_FIN;
        nbcolli_op_send(op, NBCOLLI_FIN, 0, NULL, 0);
        return 1;
    case NBCOLLI_SENT_CTS:
        if (op->moved == nbcolli_op_bytes(op) && (!op->lent || op->put))
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

void nbcolli_send_start(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    int rank = run->schedule->step[op->step].peer;
    nbcolli_pair *pair = op->pair;

    if (pair->credits > 0) {
        pair->credits--;
        nbcolli_send_go(op);
    } else if (nbcolli_has_departed(run->comm, rank))
        nbcolli_run_deserted(run, rank);
    else if (op->phase == NBCOLLI_SHORT)
        nbcolli_stall(op);
    else
        nbcolli_is_short(op);
    nbcolli_op_next(op);
}

/* Can the data of an RTS with this payload be got? Then prepares the op for that. */
static int nbcolli_can_get(nbcolli_op *op, const void *payload, size_t bytes)
{
    const nbcoll_bulk *bulk = op->post.link->transport.bulk;

    if (!bulk || !bulk->get || bytes != nbcolli_remote_bytes(op->post.link) || !nbcolli_op_register_end(op))
        return 0;
    op->theirs = (nbcolli_remote){0};
    memcpy(&op->theirs, payload, bytes);
    return 1;
}

void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes)
{
    nbcolli_credit_back(op->post.link, op->post.peer);
    if (m->type == NBCOLLI_EAGER) {
        if (bytes) {
            memcpy(nbcolli_op_memory(op), payload, bytes);
            nbcolli_spend(op->run, bytes);
        }
        nbcolli_op_end(op);
    } else if (nbcolli_can_get(op, payload, bytes)) {
        op->phase = NBCOLLI_GETTING;
        nbcolli_op_copy(op);
        nbcolli_op_next(op);
    } else if (nbcolli_has_departed(op->run->comm, (int)m->source)) {
        nbcolli_run_deserted(op->run, (int)m->source);
    } else {
        op->phase = NBCOLLI_SENT_CTS;
        op->lent = op->pair->way == NBCOLLI_BY_PUT && nbcolli_op_register(op, NBCOLL_PEER_WRITES);
        nbcolli_op_send(op, NBCOLLI_CTS, 0, &op->mine, op->lent ? nbcolli_remote_bytes(op->post.link) : 0);
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
    } else if (nbcolli_is_later(op->pair->seen, op->pair->over)) /* it may be among those that stall */
        nbcolli_want(op);
}

void nbcolli_op_start(nbcolli_op *op)
{
    switch (op->run->schedule->step[op->step].kind) {
    case NBCOLL_SEND:
        nbcolli_send_start(op);
        return;
    case NBCOLL_RECV:
        nbcolli_recv_start(op);
        return;
    case NBCOLL_EXPOSE:
        op->phase = NBCOLLI_REUSING;
        break;
    default:
        op->phase = NBCOLLI_LOOKING;
        op->cell = 0;
    }
    nbcolli_op_next(op);
}
