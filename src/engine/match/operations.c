/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"

#include "news.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../run/credit.h"
#include "../run/fail.h"
#include "../run/phase.h"
#include "../run/queue.h"
#include "../run/step.h"

/* ---- what is meant ----------------------------------------------------------------------------------------------- */

typedef enum nbcolli_fit {
    NBCOLLI_FITS,
    NBCOLLI_UNWANTED, /* no step awaits it (any more) */
    NBCOLLI_WRONG     /* the ranks do not run the same schedule */
} nbcolli_fit;

/* What a message means here. */
typedef struct nbcolli_meaning {
    nbcolli_run *run; /* of its tag; null: there is none */
    nbcolli_op *op;   /* null: it has none, or none that this message still concerns, as the run has failed */
    nbcolli_fit fit;  /* what the op is doing */
} nbcolli_meaning;

/* A fragment is of bytes that have not come. */
static int nbcolli_data_fits(const nbcolli_op *op, const nbcolli_incoming *in)
{
    size_t all = nbcolli_op_bytes(op);
    uint64_t at = in->header.bytes;
    return at <= all && in->bytes <= all - at && in->bytes <= all - op->moved;
}

/* By the phases in which an op awaits such a message. */
static nbcolli_fit nbcolli_op_fits(const nbcolli_op *op, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int phase = op ? op->phase : NBCOLLI_SETTLED;

    switch (h->type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS: {
        uint64_t whole = h->type == NBCOLLI_EAGER ? in->bytes : h->bytes; /* above an EAGER's stands a channel */
        return (phase == NBCOLLI_IDLE || phase == NBCOLLI_POSTED) && !op->unexpected && whole == nbcolli_op_bytes(op)
                   ? NBCOLLI_FITS
                   : NBCOLLI_WRONG;
    }
    case NBCOLLI_STALLED:
        return !op ? NBCOLLI_WRONG : phase == NBCOLLI_POSTED ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_FIN:
    case NBCOLLI_CTS:
        return phase == NBCOLLI_SENT_RTS && !op->cts ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_PUT:
        return phase == NBCOLLI_SENT_CTS && op->lent && !op->put ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_DATA:
        return phase != NBCOLLI_SENT_CTS ? NBCOLLI_UNWANTED : nbcolli_data_fits(op, in) ? NBCOLLI_FITS : NBCOLLI_WRONG;
    default: /* WANT */
        return phase == NBCOLLI_STALLING && !op->may_go ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    }
}

/* A failed run, too, awaits answers about memory that it has lent. */
static nbcolli_meaning nbcolli_meant(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int answers = h->type == NBCOLLI_FIN || h->type == NBCOLLI_CTS, settles = answers || h->type == NBCOLLI_PUT;
    nbcolli_meaning m = {nbcolli_find_run(comm, h->tag), NULL, NBCOLLI_UNWANTED};

    if (m.run && (m.run->status == NBCOLL_OK || settles)) {
        const nbcoll_schedule *s = m.run->schedule;
        int sends = answers || h->type == NBCOLLI_WANT; /* the step at the other end of the message */
        nbcoll_step step =
            nbcolli_find_message(sends ? s->send : s->recv, sends ? s->sends : s->recvs, (int)h->source, h->number);
        m.op = step == NBCOLL_START ? NULL : &m.run->op[s->op[step]];
        m.fit = nbcolli_op_fits(m.op, in);
    }
    return m;
}

/* ---- storing ----------------------------------------------------------------------------------------------------- */

/* The message as a stored one. Without memory the communicator cannot go on: null. */
static nbcolli_unexpected *nbcolli_hold(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = nbcolli_unexpected_keep(in);
    if (!s) {
        nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->taken);
        nbcolli_refuse(in->link, in->source, &in->header, NBCOLL_ERR_CANCELLED); /* its sender must be able to end */
    }
    return s;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Opens the channel of an EAGER that has met its run; from then on it is an ordinary EAGER. */
static void nbcolli_eager_opens(const nbcolli_run *run, nbcolli_incoming *in)
{
    nbcolli_channel_opened(run->comm, &in->header, (uint32_t)(in->header.bytes >> 32), run->schedule->fingerprint);
    in->header.bytes = (uint32_t)in->header.bytes;
    if (in->kept)
        in->kept->header.bytes = in->header.bytes;
}

/* EAGER or RTS for a run that goes well. */
static void nbcolli_deliver(const nbcolli_meaning *m, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = m->run;
    int is_alike = h->stamp == nbcolli_run_stamp(run);

    run->is_worn = 1;
    if (is_alike && h->type == NBCOLLI_EAGER && h->bytes >> 32)
        nbcolli_eager_opens(run, in);
    if (!is_alike || m->fit != NBCOLLI_FITS) {
        if (!is_alike)
            nbcolli_run_out_of_step(run, (int)h->source);
        else
            nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
        nbcolli_refuse(in->link, in->source, h, NBCOLL_ERR_CANCELLED);
    } else if (m->op->phase == NBCOLLI_POSTED) {
        nbcolli_recv_accept(m->op, h, in->payload, in->bytes);
    } else {
        m->op->unexpected = nbcolli_hold(run->comm, in);
    }
}

/* EAGER or RTS. */
void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint64_t tag = in->header.tag;
    const nbcolli_meaning m = nbcolli_meant(comm, in);

    nbcolli_stalls_up_to(&comm->peer[in->header.source].pair->over, &in->header);
    if (m.run && m.run->status == NBCOLL_OK) {
        nbcolli_deliver(&m, in);
        nbcolli_advance(m.run);
        return;
    }
    int may_start = nbcolli_broken(comm) == NBCOLL_OK && tag >= comm->taken && !nbcolli_is_revoked(comm, tag);
    if (may_start || nbcolli_queue_find(comm, tag)) {
        nbcolli_unexpected *s = nbcolli_hold(comm, in), **at = nbcolli_unexpected_at(comm, tag);
        if (s) {
            s->next = *at;
            *at = s;
        }
        return;
    }
    /* Did the operation end well here without this message? Then the ranks are out of step. */
    int stray = !m.run && tag < comm->taken && tag >= comm->failed_floor;
    if (stray) {
        nbcolli_comm_break(comm, (int)in->header.source, NBCOLL_ERR_MISMATCH, tag); /* first, as in run/fail.c */
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, tag, NBCOLL_ERR_MISMATCH, (int)in->header.source, 0);
    }
    nbcolli_refuse(in->link, in->source, &in->header, stray ? NBCOLL_ERR_MISMATCH : NBCOLL_ERR_CANCELLED);
}

/* The op that it means, if it fits; else null. If the ranks do not run the same schedule the run fails. */
static nbcolli_op *nbcolli_fitting(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    nbcolli_meaning m = nbcolli_meant(comm, in);

    if (m.fit == NBCOLLI_WRONG)
        nbcolli_run_fail(m.run, NBCOLL_ERR_MISMATCH, (int)in->header.source, 1);
    return m.fit == NBCOLLI_FITS ? m.op : NULL;
}

/* A message of the peer's waits for a credit. If its receive is ready, it may come without. */
void nbcolli_stalled_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);

    nbcolli_stalls_up_to(&comm->peer[h->source].pair->seen, h);
    if (run && run->status == NBCOLL_OK && h->stamp != nbcolli_run_stamp(run))
        nbcolli_run_out_of_step(run, (int)h->source);
    nbcolli_op *op = nbcolli_fitting(comm, in);
    if (op)
        nbcolli_want(op);
    nbcolli_credits_send(in->link, in->source);
}

/* The peer asks for a send. That stalls, or has gone meanwhile; or it is not ready, and its STALLED will find the
 * receive ready. */
void nbcolli_want_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_op *op = nbcolli_fitting(comm, in);

    if (op)
        nbcolli_stall_end(op);
    else
        nbcolli_credits_send(in->link, in->source); /* which says that none stalls */
}

void nbcolli_answered(nbcolli_op *op)
{
    nbcolli_run *run = op->run;

    if (run->status != NBCOLL_OK) {
        nbcolli_to_settle(run);
        return;
    }
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

/* FIN or CTS: an answer to our RTS. */
void nbcolli_answer_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int lends = h->type == NBCOLLI_CTS && in->bytes;
    nbcolli_meaning m = nbcolli_meant(comm, in);
    nbcolli_op *op = m.op;
    /* it cannot have got memory that was not lent */
    int is_wrong = h->type == NBCOLLI_FIN &&
                   (h->status == NBCOLL_ERR_MISMATCH || (h->status == NBCOLL_OK && op && !op->lent));

    if (lends && !op) /* to a send that is not there: refuses it, as its sender waits for an answer */
        nbcolli_answer(in->link, in->source, h,
                       (nbcolli_header){.type = NBCOLLI_PUT, .status = NBCOLL_ERR_CANCELLED, .number = h->number});
    if (m.fit != NBCOLLI_FITS)
        return;
    if (h->type == NBCOLLI_CTS)
        op->cts = 1;
    else if (h->status == NBCOLL_OK)
        op->fin = 1;
    else
        op->refused = 1; /* if it is revoked, that news is on its way */
    if (lends) {
        op->put = 1;
        op->theirs = (nbcolli_remote){0};
        memcpy(&op->theirs, in->payload, in->bytes);
    }
    if (is_wrong)
        nbcolli_run_fail(m.run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    nbcolli_answered(op);
}

/* The answer to our CTS that lent memory. */
void nbcolli_put_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_op *op = nbcolli_fitting(comm, in);

    if (!op)
        return;
    op->put = 1;
    if (in->header.status == NBCOLL_OK) /* other lengths were not asked for */
        op->moved = nbcolli_op_bytes(op);
    nbcolli_answered(op);
}

/* A fragment of what our CTS asked for. Fragments may come in any order. */
void nbcolli_data_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_op *op = nbcolli_fitting(comm, in);

    if (!op)
        return;
    memcpy(nbcolli_op_memory(op) + in->header.bytes, in->payload, in->bytes);
    op->moved += in->bytes;
    nbcolli_spend(op->run, in->bytes);
    nbcolli_answered(op);
}

void nbcolli_activate_meeting(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;

    if (comm->context->observer)
        nbcolli_observe_start(run);
    for (nbcolli_unexpected **at;
         run->status == NBCOLL_OK && (at = nbcolli_unexpected_find(comm, run->tag, run->tag));) {
        nbcolli_incoming in = nbcolli_incoming_kept(*at);
        *at = (*at)->next;
        const nbcolli_meaning m = nbcolli_meant(comm, &in);
        nbcolli_deliver(&m, &in);
        nbcolli_done_with(&in);
    }
    if (comm->departed && run->status == NBCOLL_OK)
        nbcolli_run_miss(run);
    nbcolli_advance(run);
}

/* ---- in a tick --------------------------------------------------------------------------------------------------- */

/* EAGER or RTS: it meets its receive, or there is room to keep it. */
static int nbcolli_message_is_plain(nbcoll_comm *comm, const nbcolli_incoming *in, const nbcolli_meaning *m)
{
    const nbcolli_header *h = &in->header;
    const nbcolli_unexpected *room = comm->context->unexpected_pools[in->bytes > NBCOLLI_UNEXPECTED_SMALL];
    int has_room = room && room->capacity >= in->bytes;

    if (!m->run) /* of an operation that has not begun here */
        return h->tag >= comm->taken && nbcolli_broken(comm) == NBCOLL_OK && !comm->pending_revokes && has_room;
    return h->stamp == nbcolli_run_stamp(m->run) && m->fit == NBCOLLI_FITS &&
           (m->op->phase == NBCOLLI_POSTED || has_room);
}

int nbcolli_operation_takes_plainly(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_meaning m = nbcolli_meant(comm, in);
    switch (in->header.type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS: return nbcolli_message_is_plain(comm, in, &m);
    case NBCOLLI_DATA: return m.fit == NBCOLLI_FITS;
    case NBCOLLI_FIN: return in->header.status == NBCOLL_OK && (m.fit != NBCOLLI_FITS || m.op->lent);
    case NBCOLLI_PUT: return in->header.status == NBCOLL_OK;
    default: return in->header.type == NBCOLLI_CTS || in->header.type == NBCOLLI_WANT;
    }
}
