/* SPDX-License-Identifier: BSD-3-Clause
 * What the phases of messages, exposures and fetches have in common: steps become ready and end, their ops send, get
 * and are over, their run fails. */
#ifndef NBCOLL_INLINE_STEP_H
#define NBCOLL_INLINE_STEP_H

#include "../2_wire/giveup.h"
#include "queue.h"

static inline void nbcolli_observe(nbcolli_run *run, nbcoll_moment moment, nbcoll_step step)
{
    const nbcoll_observer *o = run->comm->context->observer;
    if (o) {
        nbcoll_event e = {moment, run->comm, run->tag, run->schedule, step};
        o->event(o->user, &e);
    }
}

/* ---- failure --------------------------------------------------------------------------------------------------- */

static inline void nbcolli_to_settle(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;
    if (!run->listed) {
        run->listed = 1;
        run->next_failing = c->failing;
        c->failing = run;
    }
}

/* The run will end with `why`. `tell`: the other ranks do not know yet. Of a vote each rank tells: those that have
 * ended it well have a communicator that this one will not have, and must learn of that whoever dies. Settling happens
 * later, from the drain. */
static inline void nbcolli_run_fail(nbcolli_run *run, nbcoll_status why, int cause, int tell)
{
    if (run->status != NBCOLL_OK)
        return;
    run->status = why;
    run->cause = cause;
    nbcolli_note_failure(run->comm, why, cause, run->tag);
    if (tell || run->request->creating)
        nbcolli_tell_all(run->comm, NBCOLLI_REVOKE, run->tag, why, cause, 0);
    nbcolli_to_settle(run);
}

/* It needs a rank that has left. */
static inline void nbcolli_run_deserted(nbcolli_run *run, int rank)
{
    nbcolli_run_fail(run, NBCOLL_ERR_PEER_LOST, rank, 1);
}

/* An active request ends with `why`, whether it runs or waits for its slot. */
static inline void nbcolli_request_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell)
{
    if (r->run)
        nbcolli_run_fail(r->run, why, cause, tell);
    else
        nbcolli_queued_fail(r, why, cause, tell);
}

/* The run of a tag, or null when it has none (yet, or any more). */
static inline nbcolli_run *nbcolli_find_run(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_run *run = nbcolli_slot_of(comm, tag)->active;
    return run && run->tag == tag ? run : NULL;
}

/* Ends all that was started, from this tag on; all ranks know, or are told of it otherwise. */
static inline void nbcolli_runs_fail(nbcoll_comm *comm, uint64_t from, nbcoll_status why, int rank)
{
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->tag >= from)
            nbcolli_run_fail(comm->slot[i].active, why, rank, 0);
    nbcolli_queue_fail(comm, from, why, rank);
}

/* Nothing starts on it any more, as ERR_MISMATCH, ERR_CANCELLED or ERR_PEER_LOST then says. By a loss, or if not all
 * ranks have made it, all that runs ends, too, with `why`. Where the ranks are out of step it goes on: an operation
 * that they have all started alike can end; one that they have not is found by itself, or ends since somebody will not
 * start it (nbcolli_lost_in). Each rank that learns of it tells all others, so that the news outlives its bearer.
 * `tag`: the operation that showed it. */
static inline void nbcolli_comm_break(nbcoll_comm *comm, int rank, nbcoll_status why, uint64_t tag)
{
    nbcoll_status broken = why == NBCOLL_ERR_MISMATCH || why == NBCOLL_ERR_CANCELLED ? why : NBCOLL_ERR_PEER_LOST;
    uint64_t from = why == NBCOLL_ERR_MISMATCH ? comm->next_tag : 0;

    if (comm->broken == broken || (comm->broken != NBCOLL_OK && comm->broken != NBCOLL_ERR_MISMATCH))
        return;
    comm->broken = broken;
    comm->failure = (nbcoll_failure){why, rank, tag, comm, NBCOLL_POSITION_UNKNOWN, 0};
    comm->context->failure = comm->failure;
    nbcolli_unexpected_drop(comm, from, UINT64_MAX, NBCOLL_ERR_CANCELLED);
    nbcolli_tell_lost(comm, rank, broken);
    nbcolli_runs_fail(comm, from, why, rank);
}

/* `rank` does something else under this tag: nobody can say what the ranks will do next. */
static inline void nbcolli_run_out_of_step(nbcolli_run *run, int rank)
{
    nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, rank, 1);
    nbcolli_comm_break(run->comm, rank, NBCOLL_ERR_MISMATCH, run->tag);
}

/* ---- bytes a pass ---------------------------------------------------------------------------------------------- */

#define NBCOLLI_LEAST_BYTES 4096u /* of what is divided */

static inline int nbcolli_has_bytes(const nbcolli_run *run)
{
    return run->comm->context->bytes_left > 0;
}

static inline void nbcolli_spend(const nbcolli_run *run, size_t bytes)
{
    run->comm->context->bytes_left -= (ptrdiff_t)bytes;
}

/* Spends as much of `bytes`, which are whole elements of `unit` bytes, as shall be worked off now: what this pass has
 * left, but so much that it is worth it. Less than all of it only when the pass then has about nothing left. */
static inline size_t nbcolli_spend_piece(const nbcolli_run *run, size_t bytes, size_t unit)
{
    ptrdiff_t left = run->comm->context->bytes_left;
    size_t most = left > (ptrdiff_t)NBCOLLI_LEAST_BYTES ? (size_t)left : NBCOLLI_LEAST_BYTES;

    if (bytes > most)
        bytes = most < unit ? unit : most / unit * unit;
    nbcolli_spend(run, bytes);
    return bytes;
}

/* A later pass goes on with the run. */
static inline void nbcolli_run_delay(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (run->delayed_at)
        return;
    run->delayed = NULL;
    run->delayed_at = c->delayed_end;
    *c->delayed_end = run;
    c->delayed_end = &run->delayed;
}

static inline void nbcolli_run_undelay(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    *run->delayed_at = run->delayed;
    if (run->delayed)
        run->delayed->delayed_at = run->delayed_at;
    else
        c->delayed_end = run->delayed_at;
    run->delayed_at = NULL;
}

/* The same for an op in the middle of something. */
static inline void nbcolli_op_delay(nbcolli_op *op)
{
    nbcolli_op **list = &op->run->unfinished;

    op->watch_at = list;
    op->watch_next = *list;
    if (op->watch_next)
        op->watch_next->watch_at = &op->watch_next;
    *list = op;
    nbcolli_run_delay(op->run);
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static inline void nbcolli_push(nbcolli_run *run, nbcoll_step step)
{
    run->ready[run->tail++] = step;
    nbcolli_observe(run, NBCOLL_STEP_READY, step);
}

static inline void nbcolli_step_end(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];

    nbcolli_observe(run, NBCOLL_STEP_ENDED, step);
    run->before[step] = NBCOLLI_STEP_OVER;
    run->remaining--;
    for (uint32_t i = 0; i < v->after_count; i++)
        if (--run->before[v->after[i]] == 0)
            nbcolli_push(run, v->after[i]);
}

/* ---- ops ------------------------------------------------------------------------------------------------------- */

static inline nbcoll_piece nbcolli_op_piece(const nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    return nbcolli_resolve(op->run, v->kind == NBCOLL_SEND ? v->read[0] : v->write);
}

static inline size_t nbcolli_op_bytes(const nbcolli_op *op)
{
    return nbcolli_op_piece(op).bytes;
}

static inline unsigned char *nbcolli_op_memory(const nbcolli_op *op)
{
    return nbcolli_op_piece(op).at;
}

/* Sends the op's next message: `bytes` of payload, and `field` as the header says for the type. */
static inline void nbcolli_op_send(nbcolli_op *op, nbcolli_type type, uint64_t field, const void *payload, size_t bytes)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_peer *peer = &run->comm->peer[v->peer];
    nbcolli_header h = nbcolli_header_to(run->comm, v->peer, type, run->tag);

    h.number = v->number;
    h.fingerprint = run->schedule->fingerprint;
    h.bytes = field;
    h.status = run->status == NBCOLL_OK ? op->status : NBCOLL_ERR_CANCELLED; /* of a FIN: it was not taken */
    h.count = peer->stalling && type != NBCOLLI_STALLED ? 0 : peer->stalls;
    if (type == NBCOLLI_RTS)
        h.key = op->key;
    op->post.wire = nbcolli_pack(&h);
    op->post.link = peer->link;
    op->post.peer = peer->address;
    op->post.payload = payload;
    op->post.bytes = bytes;
    op->recalled = 0;
    nbcolli_post_send(&op->post);
}

static inline void nbcolli_op_settled(nbcolli_op *op)
{
    op->phase = NBCOLLI_SETTLED;
    if (op->keyed) {
        op->keyed = 0;
        op->post.link->transport.bulk->withdraw(op->post.link->endpoint, op->key);
    }
}

static inline void nbcolli_op_end(nbcolli_op *op)
{
    nbcolli_op_settled(op);
    nbcolli_step_end(op->run, op->step);
}

static inline int nbcolli_reduces(const nbcolli_op *op)
{
    return op->run->schedule->step[op->step].kind == NBCOLL_FETCH_REDUCE;
}

static inline unsigned char *nbcolli_bounce(const nbcolli_op *op)
{
    const nbcolli_run *run = op->run;
    return run->bounce + run->schedule->bounces[run->schedule->op[op->step]];
}

static inline unsigned char *nbcolli_get_to(const nbcolli_op *op)
{
    return nbcolli_reduces(op) ? nbcolli_bounce(op) : nbcolli_op_memory(op);
}

static inline void nbcolli_op_get(nbcolli_op *op)
{
    nbcolli_link *link = op->post.link;
    if (link->loss[op->post.peer] != NBCOLLI_HERE) {
        op->post.where = NBCOLLI_STUCK;
        if (!(link->loss[op->post.peer] & NBCOLLI_CUT))
            nbcolli_run_deserted(op->run, op->run->schedule->step[op->step].peer);
    } else
        nbcolli_post_is(&op->post, link->transport.bulk->get(link->endpoint, op->post.peer, op->key, op->moved,
                                                             nbcolli_get_to(op), nbcolli_op_bytes(op),
                                                             &op->post.work));
}

#endif
