/* SPDX-License-Identifier: BSD-3-Clause
 * Every message that comes, and what it means: see match.h. */
#include "match.h"

#include "agree.h"
#include "ask.h"
#include "news.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../run/small.h"
#include "../run/called.h"
#include "../run/credit.h"
#include "../run/fail.h"
#include "../run/phase.h"
#include "../run/pool.h"
#include "../run/queue.h"
#include "../run/step.h"
#include "../comm/comm.h"

/* ---- what is meant ----------------------------------------------------------------------------------------------- */

typedef enum nbcolli_fit {
    NBCOLLI_FITS,
    NBCOLLI_UNWANTED, /* nothing awaits it (any more) */
    NBCOLLI_WRONG     /* the ranks do not run the same schedule */
} nbcolli_fit;

/* What a message means here. */
typedef struct nbcolli_meaning {
    nbcolli_run *run; /* of its tag; null: there is none */
    nbcolli_op *op;   /* null: it has none, or none that this message still concerns, as the run has failed */
    nbcolli_fit fit;  /* what the op is doing */
} nbcolli_meaning;

/* The step of the run that the message is from, or to. */
static nbcolli_op *nbcolli_op_meant(nbcolli_run *run, const nbcolli_header *h)
{
    const nbcoll_schedule *s = run->schedule;
    int sends = h->type == NBCOLLI_FIN || h->type == NBCOLLI_CTS || h->type == NBCOLLI_WANT;
    nbcoll_step step =
        nbcolli_find_message(sends ? s->send : s->recv, sends ? s->sends : s->recvs, (int)h->source, h->number);
    return step == NBCOLL_START ? NULL : &run->op[s->op[step]];
}

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

/* Answers to what has been lent are awaited also where the run has failed. */
static nbcolli_meaning nbcolli_meant(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    nbcolli_type type = (nbcolli_type)in->header.type;
    int settles = type == NBCOLLI_FIN || type == NBCOLLI_CTS || type == NBCOLLI_PUT;
    nbcolli_meaning m = {nbcolli_find_run(comm, in->header.tag), NULL, NBCOLLI_UNWANTED};

    if (m.run && (m.run->status == NBCOLL_OK || settles)) {
        m.op = nbcolli_op_meant(m.run, &in->header);
        m.fit = nbcolli_op_fits(m.op, in);
    }
    return m;
}

/* ---- storing ----------------------------------------------------------------------------------------------------- */

/* The message as a stored one. Without memory the communicator cannot go on: null. */
static nbcolli_unexpected *nbcolli_hold(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = in->kept;
    if (!s)
        s = nbcolli_unexpected_keep(in->link, in->source, &in->header, in->payload, in->bytes);
    if (!s) {
        nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->taken);
        nbcolli_refuse(in->link, in->source, &in->header, NBCOLL_ERR_CANCELLED); /* its sender must be able to end */
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
static void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint64_t tag = in->header.tag;
    const nbcolli_meaning m = nbcolli_meant(comm, in);

    nbcolli_stalls_over(comm->peer[in->header.source].pair, &in->header);
    if (m.run && m.run->status == NBCOLL_OK) {
        nbcolli_deliver(&m, in);
        nbcolli_advance(m.run);
        return;
    }
    int may_start = nbcolli_broken(comm) == NBCOLL_OK && tag >= comm->taken && !nbcolli_is_revoked(comm, tag);
    if (may_start || nbcolli_queue_find(comm, tag)) {
        nbcolli_store(comm, in);
        return;
    }
    /* Did the operation end well here without this message? Then nobody knows what the ranks are doing. */
    int stray = !m.run && tag < comm->taken && tag >= comm->failed_floor;
    if (stray) {
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, tag, NBCOLL_ERR_MISMATCH, (int)in->header.source, 0);
        nbcolli_comm_break(comm, (int)in->header.source, NBCOLL_ERR_MISMATCH, tag);
    }
    nbcolli_refuse(in->link, in->source, &in->header, stray ? NBCOLL_ERR_MISMATCH : NBCOLL_ERR_CANCELLED);
}

/* The op that it means, if it fits; else null. Where the ranks do not run the same schedule the run fails. */
static nbcolli_op *nbcolli_fitting(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    nbcolli_meaning m = nbcolli_meant(comm, in);

    if (m.fit == NBCOLLI_WRONG)
        nbcolli_run_fail(m.run, NBCOLL_ERR_MISMATCH, (int)in->header.source, 1);
    return m.fit == NBCOLLI_FITS ? m.op : NULL;
}

/* A message of the peer's waits for a credit. If its receive is ready, it may come without. */
static void nbcolli_stalled_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);

    nbcolli_stalls_seen(comm->peer[h->source].pair, h);
    if (run && run->status == NBCOLL_OK && h->stamp != nbcolli_run_stamp(run))
        nbcolli_run_out_of_step(run, (int)h->source);
    nbcolli_op *op = nbcolli_fitting(comm, in);
    if (op)
        nbcolli_want(op);
    nbcolli_credits_send(in->link, in->source);
}

/* The peer asks for what stalls, or has gone in the meantime, or will find out by itself that it is awaited. */
static void nbcolli_want_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_op *op = nbcolli_fitting(comm, in);

    if (op)
        nbcolli_stall_end(op);
    else
        nbcolli_credits_send(in->link, in->source); /* says so */
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
static void nbcolli_answer_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int lends = h->type == NBCOLLI_CTS && in->bytes;
    nbcolli_meaning m = nbcolli_meant(comm, in);
    nbcolli_op *op = m.op;
    /* it cannot have got what was not lent */
    int is_wrong = h->type == NBCOLLI_FIN &&
                   (h->status == NBCOLL_ERR_MISMATCH || (h->status == NBCOLL_OK && op && !op->lent));

    if (lends && !op) /* to a send that is not there: it is told so, as its sender waits for an answer */
        nbcolli_answer(in->link, in->source, h, NBCOLLI_PUT, NBCOLL_ERR_CANCELLED);
    if (m.fit != NBCOLLI_FITS)
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
    if (is_wrong)
        nbcolli_run_fail(m.run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    nbcolli_answered(op);
}

/* The answer to our CTS that lent memory. */
static void nbcolli_put_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_op *op = nbcolli_fitting(comm, in);

    if (!op)
        return;
    op->put = 1;
    if (in->header.status == NBCOLL_OK) /* what else has come was not asked for */
        op->moved = nbcolli_op_bytes(op);
    nbcolli_answered(op);
}

/* A fragment of what our CTS asked for. Fragments may come in any order. */
static void nbcolli_data_in(nbcoll_comm *comm, nbcolli_incoming *in)
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

/* ---- the types --------------------------------------------------------------------------------------------------- */

typedef enum nbcolli_carries {
    NBCOLLI_NO_PAYLOAD,
    NBCOLLI_ITS_BYTES, /* as many as the lower half of `bytes` says */
    NBCOLLI_A_KEY,     /* nothing, or an nbcolli_remote: to a rank without a bulk group with a key of any length */
    NBCOLLI_SOME,      /* at least one; with `bytes` before them */
    NBCOLLI_A_VOTE     /* an agreement's, whose length agree.c knows */
} nbcolli_carries;

/* Of whom it is. What concerns neither credits, channels nor memory of a pair may also come at HOME, from a rank that
 * has not made the communicator yet, and does not know by which endpoint it is to talk. */
typedef enum nbcolli_belongs {
    NBCOLLI_OF_PAIR,
    NBCOLLI_OF_HOME,
    NBCOLLI_OF_SHRINK, /* likewise; and perhaps the communicator is not known here */
    NBCOLLI_OF_ENDPOINT
} nbcolli_belongs;

static void nbcolli_give_up_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    (void)comm;
    if (in->header.bytes)
        nbcolli_give_up(in->link, in->source);
    else
        nbcolli_rejected_by(in->link, in->source);
}

/* Its credits have been counted, as any message's. */
static void nbcolli_credit_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    (void)comm;
    nbcolli_stalls_over(&in->link->pair[in->source], &in->header);
}

#define NBCOLLI_BIT(n) (UINT64_C(1) << (n))
#define NBCOLLI_ANY UINT64_MAX
#define NBCOLLI_WELL NBCOLLI_BIT(NBCOLL_OK)
#define NBCOLLI_ERRORS (NBCOLLI_BIT(NBCOLL_STATUS_COUNT) - NBCOLLI_BIT(NBCOLL_AGAIN + 1))
#define NBCOLLI_REFUSES (NBCOLLI_BIT(NBCOLL_ERR_CANCELLED) | NBCOLLI_BIT(NBCOLL_ERR_MISMATCH))
#define NBCOLLI_ANSWERS (NBCOLLI_WELL | NBCOLLI_BIT(NBCOLL_AGAIN) | NBCOLLI_BIT(NBCOLL_ERR_CANCELLED))
#define NBCOLLI_TYPES (NBCOLLI_CALL + 1)

_Static_assert(NBCOLL_STATUS_COUNT < 64, "they fit their masks");

static const struct nbcolli_rule {
    void (*in)(nbcoll_comm *comm, nbcolli_incoming *in); /* which takes it */
    uint8_t belongs, carries;
    uint8_t names_rank; /* `number` is a rank, or UINT32_MAX */
    uint64_t statuses;
    uint64_t least, most; /* `bytes` */
} nbcolli_rules[NBCOLLI_TYPES] = {
    [NBCOLLI_EAGER] = {nbcolli_message_in, NBCOLLI_OF_PAIR, NBCOLLI_ITS_BYTES, 0, NBCOLLI_WELL, 0, UINT64_MAX},
    [NBCOLLI_RTS] = {nbcolli_message_in, NBCOLLI_OF_PAIR, NBCOLLI_A_KEY, 0, NBCOLLI_WELL, 1, UINT64_MAX},
    [NBCOLLI_FIN] = {nbcolli_answer_in, NBCOLLI_OF_PAIR, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_WELL | NBCOLLI_REFUSES, 0, 0},
    [NBCOLLI_CTS] = {nbcolli_answer_in, NBCOLLI_OF_PAIR, NBCOLLI_A_KEY, 0, NBCOLLI_ANY, 0, 0},
    [NBCOLLI_DATA] = {nbcolli_data_in, NBCOLLI_OF_PAIR, NBCOLLI_SOME, 0, NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_REVOKE] = {nbcolli_revokes_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 1, NBCOLLI_ERRORS, 0, 1},
    [NBCOLLI_LOST] = {nbcolli_lost_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 1,
                      NBCOLLI_BIT(NBCOLL_ERR_PEER_LOST) | NBCOLLI_REFUSES, 0, UINT64_MAX},
    [NBCOLLI_CREDIT] = {nbcolli_credit_in, NBCOLLI_OF_ENDPOINT, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_WELL, 0, 0},
    [NBCOLLI_GIVE_UP] = {nbcolli_give_up_in, NBCOLLI_OF_ENDPOINT, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_WELL, 0, 1},
    [NBCOLLI_AGREE] = {nbcolli_shrink_in, NBCOLLI_OF_SHRINK, NBCOLLI_A_VOTE, 0, NBCOLLI_ANSWERS, 0, 0},
    [NBCOLLI_STALLED] = {nbcolli_stalled_in, NBCOLLI_OF_PAIR, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_WANT] = {nbcolli_want_in, NBCOLLI_OF_PAIR, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 0, 0},
    [NBCOLLI_QUERY] = {nbcolli_ask_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_WHERE] = {nbcolli_where_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 0,
                       NBCOLLI_BIT(NBCOLL_POSITION_FREED + 1) - 1, 0, UINT64_MAX},
    [NBCOLLI_PUT] = {nbcolli_put_in, NBCOLLI_OF_PAIR, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANSWERS, 0, 0},
    [NBCOLLI_CHANNEL] = {nbcolli_channel_known, NBCOLLI_OF_PAIR, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 1, UINT32_MAX},
    [NBCOLLI_CALL] = {nbcolli_called_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 0,
                      NBCOLLI_BIT(NBCOLLI_CALLED_LONG_AGO + 1) - 1, 0, UINT64_MAX},
    [NBCOLLI_AGENT] = {nbcolli_agent_failed_in, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 0, UINT64_MAX},
};

/* ---- what may be said -------------------------------------------------------------------------------------------- */

static int nbcolli_is_valid_payload(uint8_t carries, const nbcolli_incoming *in)
{
    switch (carries) {
    case NBCOLLI_NO_PAYLOAD:
        return !in->bytes;
    case NBCOLLI_ITS_BYTES:
        return in->bytes == (uint32_t)in->header.bytes;
    case NBCOLLI_A_KEY:
        return !in->bytes || in->bytes == nbcolli_remote_bytes(in->link) ||
               (!in->link->transport.bulk && in->bytes <= sizeof(nbcolli_remote));
    case NBCOLLI_SOME:
        return in->bytes && in->bytes <= UINT64_MAX - in->header.bytes;
    default:
        return in->bytes > sizeof(nbcolli_vote);
    }
}

/* A peer gives back no more credits than this rank has taken. */
static int nbcolli_is_valid_credit(const nbcolli_link *link, int peer, uint64_t credits)
{
    return !credits || credits <= nbcolli_credits_out(link, &link->pair[peer]);
}

/* It tells of an operation that may be; and who has freed a communicator is a rank, which is out of step. */
static int nbcolli_is_valid_lost(const nbcolli_header *h)
{
    int may_have_freed = h->status == NBCOLL_ERR_MISMATCH && h->number != UINT32_MAX;
    return h->tag < UINT64_MAX && (!h->count || (h->count == 1 && may_have_freed));
}

/* May any rank send this, whatever runs here? */
static int nbcolli_is_valid(const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;

    if (h->type >= NBCOLLI_TYPES)
        return 0;
    const struct nbcolli_rule *rule = &nbcolli_rules[h->type];
    return (rule->belongs == NBCOLLI_OF_ENDPOINT) == (h->comm == NBCOLLI_NO_COMM) &&
           nbcolli_is_valid_payload(rule->carries, in) && h->status < 64 && rule->statuses >> h->status & 1 &&
           h->bytes >= rule->least && h->bytes <= rule->most &&
           nbcolli_is_valid_credit(in->link, in->source, h->credits) &&
           (h->type != NBCOLLI_REVOKE || h->count < UINT64_MAX - h->tag) &&
           (h->type != NBCOLLI_LOST || nbcolli_is_valid_lost(h));
}

/* And may one of this communicator? */
static int nbcolli_is_valid_in(const nbcoll_comm *comm, const nbcolli_header *h)
{
    return !nbcolli_rules[h->type].names_rank || h->number < (uint32_t)comm->size || h->number == UINT32_MAX;
}

/* May a line say this? */
static int nbcolli_is_valid_line(const nbcolli_link *link, const nbcoll_line_arrival *line)
{
    const nbcolli_channels *all = link->pair[line->source].channels;

    return all && line->channel < all->ins && line->bytes <= NBCOLL_LINE_PAYLOAD &&
           nbcolli_is_valid_credit(link, line->source, line->turn >> NBCOLLI_TURN_BITS);
}

/* The peer has sent what may not be. */
static void nbcolli_invalid_from(nbcolli_link *link, int peer)
{
    if (nbcolli_is_given_up(link, peer))
        return;
    nbcolli_give_up(link, peer);
    link->reason[peer] = (nbcoll_transport_error){0, "it has sent a message that no rank of this version sends"};
}

static int nbcolli_is_member(const nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int may_be_home = nbcolli_rules[h->type].belongs != NBCOLLI_OF_PAIR && in->link == comm->link;

    return h->source < (uint32_t)comm->size && h->to == (uint32_t)comm->rank &&
           ((comm->peer[h->source].address == in->source && comm->peer[h->source].link == in->link) ||
            (may_be_home && comm->peer[h->source].home == in->source));
}

/* ---- communicators that are unknown here ------------------------------------------------------------------------ */

/* Stores a message of a communicator that is perhaps being made. 0: without it none of those can be. Of REVOKEs a peer
 * may send any number, since they take no credit. Those of operations in a row, with one cause, are kept as one; of the
 * others so many as there may be ranges of pending revokes. */
static int nbcolli_orphan_keep(nbcolli_incoming *in)
{
    nbcolli_link *link = in->link, *home = link->home;
    uint32_t revokes = 0;

    for (nbcolli_unexpected *s = in->header.type == NBCOLLI_REVOKE ? home->orphans : NULL; s; s = s->next) {
        if (s->link == link && s->source == in->source && nbcolli_revoke_joins(&s->header, &in->header)) {
            nbcolli_done_with(in);
            return 1;
        }
        revokes += s->header.type == NBCOLLI_REVOKE;
    }
    int may = revokes < NBCOLLI_PENDING_REVOKES;
    nbcolli_unexpected *s = in->kept;
    if (!s && may)
        s = nbcolli_unexpected_keep(link, in->source, &in->header, in->payload, in->bytes);
    if (s && may) {
        in->kept = NULL;
        s->header.credits = 0; /* they have been counted */
        s->next = home->orphans;
        home->orphans = s;
        return 1;
    }
    for (nbcoll_comm *comm = link->context->comms; comm; comm = comm->sister)
        if (comm->link == home && comm->making && comm->spoiled == NBCOLL_OK) {
            comm->spoiled = may ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_LIMIT;
            comm->spoiler = home->endpoint->rank;
        }
    return 0;
}

/* How the communicator that this QUERY is about was freed here, or 0: it is still being made. Who asks has it: so this
 * rank has voted. Of an operation that has failed here, and of what was not made, all have been told. To a rank that is
 * cut off it has failed: a shrink that this rank has ended without that one is not known here. */
static nbcolli_freeing nbcolli_orphan_freeing(const nbcolli_incoming *in)
{
    const nbcolli_link *home = in->link->home;
    const nbcolli_header *query = &in->header;
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(home, query->comm);
    const nbcoll_comm *made = home->context->comms;
    const uint64_t tag = (uint64_t)query->number << 32 | query->stamp; /* those of shrinks are the highest ones */

    while (made && !(made->link == home && made->making && made->vote_comm == query->bytes && made->vote_tag == tag))
        made = made->sister;
    if (tombstone)
        return query->tag < tombstone->failed_floor ? NBCOLLI_FREED_TOLD : NBCOLLI_FREED_FAILED;
    if (made)
        return (nbcolli_freeing)0;
    if (nbcolli_is_unmade(home, query->bytes, tag))
        return NBCOLLI_FREED_TOLD;
    return nbcolli_is_cut_off(in->link, in->source) ? NBCOLLI_FREED_FAILED : NBCOLLI_FREED_WELL;
}

/* A message of a communicator that is unknown here: one that is being made, that was not made, or that was freed. What
 * wants an answer gets it at once: its sender may join in the making only when it has got that. An operation that was
 * not started here before it was freed ends there: it never will be. Where something had failed, or where it may be of
 * one that was not made, its sender has been told so, or asks where the operation is (ask.h), which names the vote. So
 * it does where something stalls while one is being made: of that nothing is kept. */
static void nbcolli_orphan_settle(nbcolli_incoming *in, int is_freed)
{
    const nbcolli_header *m = &in->header;
    const nbcolli_link *home = in->link->home;
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(home, m->comm);
    int is_message = nbcolli_is_message(m); /* a STALLED may be late: what waited has come before it, and has ended */

    if (m->type == NBCOLLI_REVOKE)
        nbcolli_vote_revoked(NULL, in, (nbcoll_status)m->status);
    if (m->type == NBCOLLI_STALLED)
        nbcolli_stalls_seen(&in->link->pair[in->source], m);
    else if (!is_freed && nbcolli_orphan_keep(in))
        return;
    int is_never_started = is_freed && !tombstone && !home->unmade; /* for certain */
    nbcoll_status why = !is_never_started                          ? NBCOLL_ERR_CANCELLED
                        : nbcolli_is_cut_off(in->link, in->source) ? NBCOLL_ERR_PEER_LOST
                                                                   : NBCOLL_ERR_MISMATCH;
    if (is_message)
        nbcolli_refuse(in->link, in->source, m, why);
    if (m->type == NBCOLLI_CTS && in->bytes) /* it lends memory */
        nbcolli_answer(in->link, in->source, m, NBCOLLI_PUT, NBCOLL_ERR_CANCELLED);
    if (is_message && is_never_started) {
        nbcolli_header lost = {.comm = m->comm, .tag = m->tag, .source = m->to, .to = m->source, .number = m->to,
                               .type = NBCOLLI_LOST, .status = (uint8_t)why, .count = why == NBCOLL_ERR_MISMATCH};
        nbcolli_control(in->link, in->source, &lost);
    }
    if (m->type == NBCOLLI_STALLED)
        nbcolli_credits_send(in->link, in->source);
    nbcolli_done_with(in);
}

/* It is known now that the communicator has been freed: what was kept of it goes the way of what comes later. */
static void nbcolli_orphans_settle(nbcolli_link *home, uint64_t id)
{
    nbcolli_unexpected **at = &home->orphans, *s;

    while ((s = *at)) {
        if (s->header.comm != id) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        nbcolli_incoming in = nbcolli_incoming_kept(s);
        nbcolli_orphan_settle(&in, 1);
    }
}

/* While something is being made only a question tells whether that is what it is about. */
static void nbcolli_orphan_in(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;
    nbcolli_link *home = in->link->home;

    if (m->type != NBCOLLI_QUERY) {
        nbcolli_orphan_settle(in, !home->creating || nbcolli_find_tombstone(home, m->comm));
        return;
    }
    nbcolli_freeing freeing = nbcolli_orphan_freeing(in);
    if (freeing)
        nbcolli_orphans_settle(home, m->comm);
    nbcolli_ask_elsewhere(in->link, in->source, m, freeing);
}

/* ---- in a tick --------------------------------------------------------------------------------------------------- */

/* The communicator of that id, of which a message on the link speaks; or null. */
static nbcoll_comm *nbcolli_find_comm(const nbcolli_link *link, uint64_t id)
{
    nbcoll_comm *comm = link->home->bucket[(id ^ id >> 32) % NBCOLLI_COMM_BUCKETS];
    while (comm && comm->id != id)
        comm = comm->next;
    return comm;
}

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

int nbcolli_receives_plainly(const nbcolli_incoming *in)
{
    nbcoll_comm *comm = nbcolli_find_comm(in->link, in->header.comm);

    if (nbcolli_is_given_up(in->link, in->source) || !nbcolli_is_valid(in))
        return 0;
    if (!comm)
        return in->header.type == NBCOLLI_CREDIT;
    if (!nbcolli_is_member(comm, in) || comm->making || !nbcolli_is_valid_in(comm, &in->header))
        return 0;
    const nbcolli_meaning m = nbcolli_meant(comm, in);
    switch (in->header.type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS: return nbcolli_message_is_plain(comm, in, &m);
    case NBCOLLI_DATA: return m.fit == NBCOLLI_FITS;
    case NBCOLLI_FIN: return in->header.status == NBCOLL_OK && (m.fit != NBCOLLI_FITS || m.op->lent);
    case NBCOLLI_PUT: return in->header.status == NBCOLL_OK;
    case NBCOLLI_CTS:
    case NBCOLLI_WANT:
    case NBCOLLI_CHANNEL:
    case NBCOLLI_QUERY:
    case NBCOLLI_WHERE:
    case NBCOLLI_CREDIT: return 1;
    default: return 0;
    }
}

/* ---- everywhere -------------------------------------------------------------------------------------------------- */

/* Hands the message to whoever takes it. 0: nobody may have sent it. */
static int nbcolli_hand_on(nbcolli_incoming *in)
{
    const struct nbcolli_rule *rule = &nbcolli_rules[in->header.type];
    nbcoll_comm *comm = nbcolli_find_comm(in->link, in->header.comm);
    int is_member = comm && nbcolli_is_member(comm, in);

    if (in->header.credits)
        nbcolli_credits_in(&in->link->pair[in->source], in->header.credits);
    if (is_member ? !nbcolli_is_valid_in(comm, &in->header) : comm && (!comm->making || in->link == comm->link))
        return 0; /* of one that is being made: its sender has made it, and knows by which endpoint we talk */
    if (is_member || rule->belongs >= NBCOLLI_OF_SHRINK)
        rule->in(is_member ? comm : NULL, in);
    else
        nbcolli_orphan_in(in);
    return 1;
}

void nbcolli_receive(nbcolli_incoming *in)
{
    if (!nbcolli_is_given_up(in->link, in->source) && (!nbcolli_is_valid(in) || !nbcolli_hand_on(in)))
        nbcolli_invalid_from(in->link, in->source);
    nbcolli_done_with(in);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static inline uint64_t nbcolli_line_tag(const nbcoll_line_arrival *line, const nbcolli_channel_end *end)
{
    return nbcolli_history_tag(line->turn, end->comm ? end->comm->taken : end->taken);
}

/* The run of the line's tag, if it is a small one that goes well, of the same history, and of a schedule that has such
 * a message: end->op is its receive. */
static inline nbcolli_run *nbcolli_line_run(const nbcoll_line_arrival *line, nbcolli_channel_end *end)
{
    nbcolli_run *run = end->comm ? nbcolli_slot_of(end->comm, nbcolli_line_tag(line, end))->active : NULL;

    if (!run || (run->request->history ^ line->turn) << (64 - NBCOLLI_TURN_BITS) || run->status != NBCOLL_OK ||
        !run->is_small)
        return NULL;
    const nbcoll_schedule *s = run->schedule;
    if (end->serial == s->serial)
        return run;
    nbcoll_step step = nbcolli_find_message(s->recv, s->recvs, (int)end->source, end->number);
    if (step == NBCOLL_START || s->fingerprint != end->fingerprint)
        return NULL;
    end->op = s->op[step];
    end->serial = s->serial;
    return run;
}

static nbcolli_incoming nbcolli_line_message(nbcolli_link *link, const nbcoll_line_arrival *line,
                                             const nbcolli_channel_end *end)
{
    return (nbcolli_incoming){.link = link,
                              .header = {.comm = end->id, .tag = nbcolli_line_tag(line, end), .source = end->source,
                                         .number = end->number, .stamp = nbcolli_stamp(end->fingerprint, line->turn),
                                         .type = NBCOLLI_EAGER, .bytes = line->bytes, .to = end->to},
                              .payload = line->payload,
                              .bytes = line->bytes,
                              .source = line->source};
}

int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    if (!nbcolli_is_valid_line(link, line))
        return nbcolli_is_given_up(link, line->source); /* then it is not heeded */
    nbcolli_incoming in = nbcolli_line_message(link, line, &link->pair[line->source].channels->in[line->channel]);
    return nbcolli_receives_plainly(&in);
}

void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    nbcolli_pair *pair = &link->pair[line->source];
    nbcolli_channels *all = pair->channels;
    uint32_t credits = (uint32_t)(line->turn >> NBCOLLI_TURN_BITS);

    if (!nbcolli_is_valid_line(link, line)) {
        nbcolli_invalid_from(link, line->source);
        return;
    }
    nbcolli_channel_end *end = &all->in[line->channel];
    if (credits && !nbcolli_is_given_up(link, line->source))
        nbcolli_credits_in(pair, credits);
    nbcolli_run *run = nbcolli_line_run(line, end);
    nbcolli_op *op = run ? &run->op[end->op] : NULL;
    const nbcolli_move *m = op ? op->move : NULL;
    if (!op || op->phase != NBCOLLI_POSTED || m->bytes != line->bytes || link->loss[line->source]) {
        nbcolli_incoming in = nbcolli_line_message(link, line, end);
        nbcolli_receive(&in);
        return;
    }
    nbcolli_small_copy(m->to, line->payload, line->bytes);
    if (++pair->owed > pair->most_owed)
        nbcolli_credits_send(link, line->source);
    op->channel = line->channel;
    op->opened = pair->version;
    op->phase = NBCOLLI_SETTLED;
    run->left &= ~m->bit;
    nbcolli_small_advance(run);
}
