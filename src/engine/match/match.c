/* SPDX-License-Identifier: BSD-3-Clause
 * From a header to the operation and the step that it means: see match.h. */
#include "match.h"

#include "gone.h"
#include "valid.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../run/credit.h"
#include "../run/fail.h"
#include "../run/pending.h"
#include "../run/phase.h"
#include "../run/queue.h"
#include "../run/run.h"
#include "../run/step.h"

/* ---- storing ----------------------------------------------------------------------------------------------------- */

/* The message as a stored one. Without memory the communicator cannot go on: null. */
static nbcolli_unexpected *nbcolli_hold(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = in->kept;
    if (!s)
        s = nbcolli_unexpected_keep(in->link, in->source, &in->header, in->payload, in->bytes);
    if (!s) {
        nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->taken);
        nbcolli_refuse(comm, &in->header, NBCOLL_ERR_CANCELLED); /* its sender must be able to end */
    }
    in->kept = NULL;
    return s;
}

static void nbcolli_store(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = nbcolli_hold(comm, in);
    if (s) {
        nbcolli_unexpected **at = nbcolli_unexpected_at(comm, s->header.tag);
        s->next = *at;
        *at = s;
    }
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* An EAGER that opens a channel, once it has met its run; from now on it is one like others. */
static void nbcolli_eager_opens(const nbcolli_run *run, nbcolli_incoming *in)
{
    nbcolli_channel_opened(run->comm, &in->header, (uint32_t)(in->header.bytes >> 32), run->schedule->fingerprint);
    in->header.bytes = (uint32_t)in->header.bytes;
    if (in->kept)
        in->kept->header.bytes = in->header.bytes;
}

/* EAGER or RTS for an active run. */
static void nbcolli_deliver(nbcolli_run *run, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_op *op = nbcolli_op_meant(run, h);
    run->is_worn = 1;
    int is_alike = h->stamp == nbcolli_run_stamp(run);

    if (is_alike && h->type == NBCOLLI_EAGER && h->bytes >> 32)
        nbcolli_eager_opens(run, in);
    if (!is_alike || nbcolli_op_fits(op, in) != NBCOLLI_FITS) {
        if (!is_alike)
            nbcolli_run_out_of_step(run, (int)h->source);
        else
            nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
        nbcolli_refuse(run->comm, h, NBCOLL_ERR_CANCELLED);
    } else if (op->phase == NBCOLLI_POSTED) {
        nbcolli_recv_accept(op, h, in->payload, in->bytes);
    } else {
        op->unexpected = nbcolli_hold(run->comm, in);
    }
    nbcolli_done_with(in);
}

void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint64_t tag = in->header.tag;
    nbcolli_run *run = nbcolli_find_run(comm, tag);

    if (run && run->status == NBCOLL_OK) {
        nbcolli_deliver(run, in);
        nbcolli_advance(run);
        return;
    }
    int may_start = nbcolli_broken(comm) == NBCOLL_OK && tag >= comm->taken && !nbcolli_is_revoked(comm, tag);
    if (may_start || nbcolli_queue_find(comm, tag)) {
        nbcolli_store(comm, in);
        return;
    }
    /* Did the operation end well here without this message? Then nobody knows what the ranks are doing. */
    int stray = !run && tag < comm->taken && tag >= comm->failed_floor;
    if (stray) {
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, tag, NBCOLL_ERR_MISMATCH, (int)in->header.source, 0);
        nbcolli_comm_break(comm, (int)in->header.source, NBCOLL_ERR_MISMATCH, tag);
    }
    nbcolli_refuse(comm, &in->header, stray ? NBCOLL_ERR_MISMATCH : NBCOLL_ERR_CANCELLED);
    nbcolli_done_with(in);
}

void nbcolli_stalled_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);

    nbcolli_stalls_seen(comm->peer[h->source].pair, h);
    if (!run || run->status != NBCOLL_OK)
        return;
    nbcolli_op *op = nbcolli_op_meant(run, h);
    nbcolli_fit fit = nbcolli_op_fits(op, in);
    if (h->stamp != nbcolli_run_stamp(run))
        nbcolli_run_out_of_step(run, (int)h->source);
    else if (fit == NBCOLLI_WRONG)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    else if (fit == NBCOLLI_FITS)
        nbcolli_want(op);
}

void nbcolli_want_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run && run->status == NBCOLL_OK ? nbcolli_op_meant(run, h) : NULL;

    if (nbcolli_op_fits(op, in) == NBCOLLI_FITS)
        nbcolli_stall_end(op);
    else
        nbcolli_stalls_tell(comm->peer[h->source].link, comm->peer[h->source].address);
}

/* A CTS lends memory to a send that is not there: it is told so, as its sender waits for an answer. */
static void nbcolli_put_refuse(nbcoll_comm *comm, const nbcolli_header *h)
{
    nbcolli_header answer = nbcolli_header_to(comm, (int)h->source, NBCOLLI_PUT, h->tag);

    answer.number = h->number;
    answer.status = NBCOLL_ERR_CANCELLED;
    nbcolli_control_to(comm, (int)h->source, &answer);
}

void nbcolli_answer_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int lends = h->type == NBCOLLI_CTS && in->bytes;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run ? nbcolli_op_meant(run, h) : NULL;
    nbcolli_fit fit = nbcolli_op_fits(op, in);

    if (lends && !op)
        nbcolli_put_refuse(comm, h);
    if (fit == NBCOLLI_WRONG)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    else if (fit == NBCOLLI_UNWANTED)
        return;
    if (h->type == NBCOLLI_CTS)
        op->cts = 1;
    else if (h->status == NBCOLL_OK)
        op->fin = 1;
    else
        op->refused = 1; /* if it is revoked, word of that is on its way */
    if (lends) {
        op->put = 1;
        op->theirs = (nbcolli_remote){0};
        memcpy(&op->theirs, in->payload, in->bytes);
    }
    if (h->type == NBCOLLI_FIN && h->status == NBCOLL_ERR_MISMATCH)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    if (run->status != NBCOLL_OK) {
        nbcolli_to_settle(run);
        return;
    }
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

void nbcolli_put_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run ? nbcolli_op_meant(run, h) : NULL;

    if (nbcolli_op_fits(op, in) != NBCOLLI_FITS)
        return;
    op->put = 1;
    if (run->status != NBCOLL_OK) {
        nbcolli_to_settle(run);
        return;
    }
    if (h->status == NBCOLL_OK) /* what else has come was not asked for */
        op->moved = nbcolli_op_bytes(op);
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

void nbcolli_data_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run && run->status == NBCOLL_OK ? nbcolli_op_meant(run, h) : NULL;
    nbcolli_fit fit = nbcolli_op_fits(op, in);

    if (fit == NBCOLLI_WRONG)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    if (fit != NBCOLLI_FITS)
        return;
    memcpy(nbcolli_op_memory(op) + h->bytes, in->payload, in->bytes);
    op->moved += in->bytes;
    nbcolli_spend(run, in->bytes);
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

void nbcolli_activate_meeting(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;

    if (comm->context->observer)
        nbcolli_observe_start(run);
    for (nbcolli_unexpected **at = nbcolli_unexpected_at(comm, run->tag); *at && run->status == NBCOLL_OK;) {
        nbcolli_unexpected *s = *at;
        if (s->header.tag != run->tag || s->header.comm != comm->id) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        nbcolli_incoming in = {s->link, s->header, s->payload, s->bytes, s, s->source};
        nbcolli_deliver(run, &in);
    }
    if (comm->departed && run->status == NBCOLL_OK)
        nbcolli_run_miss(run);
    nbcolli_advance(run);
}
