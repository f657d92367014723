/* SPDX-License-Identifier: BSD-3-Clause
 * What a received message may say: see valid.h. */
#include "valid.h"

#include "../wire/channel.h"
#include "../wire/giveup.h"
#include "../run/step.h"

typedef enum nbcolli_carries {
    NBCOLLI_NO_PAYLOAD,
    NBCOLLI_ITS_BYTES, /* as many as the lower half of `bytes` says */
    NBCOLLI_A_KEY,     /* nothing, or an nbcolli_remote: to a rank without a bulk group with a key of any length */
    NBCOLLI_SOME,      /* at least one; with `bytes` before them */
    NBCOLLI_A_VOTE     /* an agreement's, whose length agree.c knows */
} nbcolli_carries;

typedef enum nbcolli_means { NBCOLLI_NO_OP, NBCOLLI_A_SEND, NBCOLLI_A_RECEIVE } nbcolli_means;

#define NBCOLLI_BIT(n) (UINT64_C(1) << (n))
#define NBCOLLI_ANY UINT64_MAX
#define NBCOLLI_ERRORS (NBCOLLI_BIT(NBCOLL_STATUS_COUNT) - NBCOLLI_BIT(NBCOLL_AGAIN + 1))
#define NBCOLLI_TYPES (NBCOLLI_CALL + 1)

_Static_assert(NBCOLL_STATUS_COUNT < 64 && NBCOLLI_SETTLED < 32, "they fit their masks");

static const struct nbcolli_rule {
    uint8_t of_endpoint; /* it belongs to no communicator */
    uint8_t carries, means;
    uint8_t names_rank; /* `number` is a rank, or UINT32_MAX */
    uint32_t phases;    /* in which its op awaits it */
    uint64_t statuses;
    uint64_t least, most; /* `bytes` */
} nbcolli_rules[NBCOLLI_TYPES] = {
#define NBCOLLI_AWAITED (NBCOLLI_BIT(NBCOLLI_IDLE) | NBCOLLI_BIT(NBCOLLI_POSTED))
#define NBCOLLI_REFUSES (NBCOLLI_BIT(NBCOLL_ERR_CANCELLED) | NBCOLLI_BIT(NBCOLL_ERR_MISMATCH))
    [NBCOLLI_EAGER] = {0, NBCOLLI_ITS_BYTES, NBCOLLI_A_RECEIVE, 0, NBCOLLI_AWAITED, NBCOLLI_BIT(NBCOLL_OK), 0,
                       UINT64_MAX},
    [NBCOLLI_RTS] = {0, NBCOLLI_A_KEY, NBCOLLI_A_RECEIVE, 0, NBCOLLI_AWAITED, NBCOLLI_BIT(NBCOLL_OK), 1, UINT64_MAX},
    [NBCOLLI_FIN] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_A_SEND, 0, NBCOLLI_BIT(NBCOLLI_SENT_RTS),
                     NBCOLLI_BIT(NBCOLL_OK) | NBCOLLI_REFUSES, 0, 0},
    [NBCOLLI_CTS] = {0, NBCOLLI_A_KEY, NBCOLLI_A_SEND, 0, NBCOLLI_BIT(NBCOLLI_SENT_RTS), NBCOLLI_ANY, 0, 0},
    [NBCOLLI_DATA] = {0, NBCOLLI_SOME, NBCOLLI_A_RECEIVE, 0, NBCOLLI_BIT(NBCOLLI_SENT_CTS), NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_REVOKE] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 1, 0, NBCOLLI_ERRORS, 0, 1},
    [NBCOLLI_REVOKED] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_BIT(NBCOLL_OK), 0, 0},
    [NBCOLLI_LOST] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 1, 0, NBCOLLI_BIT(NBCOLL_ERR_PEER_LOST) | NBCOLLI_REFUSES,
                      0, UINT64_MAX},
    [NBCOLLI_CREDIT] = {1, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_BIT(NBCOLL_OK), 0, 0},
    [NBCOLLI_GIVE_UP] = {1, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_BIT(NBCOLL_OK), 0, 1},
    [NBCOLLI_AGREE] = {0, NBCOLLI_A_VOTE, NBCOLLI_NO_OP, 0, 0,
                       NBCOLLI_BIT(NBCOLL_OK) | NBCOLLI_BIT(NBCOLL_AGAIN) | NBCOLLI_BIT(NBCOLL_ERR_CANCELLED), 0, 0},
    [NBCOLLI_STALLED] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_A_RECEIVE, 0, NBCOLLI_BIT(NBCOLLI_POSTED), NBCOLLI_ANY, 0,
                         UINT64_MAX},
    [NBCOLLI_WANT] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_A_SEND, 0, NBCOLLI_BIT(NBCOLLI_STALLING), NBCOLLI_ANY, 0, 0},
    [NBCOLLI_QUERY] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_WHERE] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_BIT(NBCOLL_POSITION_FREED + 1) - 1, 0,
                       UINT64_MAX},
    [NBCOLLI_PUT] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_A_RECEIVE, 0, NBCOLLI_BIT(NBCOLLI_SENT_CTS),
                     NBCOLLI_BIT(NBCOLL_OK) | NBCOLLI_BIT(NBCOLL_AGAIN) | NBCOLLI_BIT(NBCOLL_ERR_CANCELLED), 0, 0},
    [NBCOLLI_CHANNEL] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_ANY, 1, UINT32_MAX},
    [NBCOLLI_CALL] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_BIT(NBCOLLI_CALLED_LONG_AGO + 1) - 1, 0,
                      UINT64_MAX},
    [NBCOLLI_AGENT] = {0, NBCOLLI_NO_PAYLOAD, NBCOLLI_NO_OP, 0, 0, NBCOLLI_ANY, 0, UINT64_MAX},
};

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

int nbcolli_is_valid(const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;

    if (h->type >= NBCOLLI_TYPES)
        return 0;
    const struct nbcolli_rule *rule = &nbcolli_rules[h->type];
    return rule->of_endpoint == (h->comm == NBCOLLI_NO_COMM) && nbcolli_is_valid_payload(rule->carries, in) &&
           h->status < 64 && rule->statuses >> h->status & 1 && h->bytes >= rule->least && h->bytes <= rule->most &&
           nbcolli_is_valid_credit(in->link, in->source, h->credits) &&
           (h->type != NBCOLLI_REVOKE || h->count < UINT64_MAX - h->tag) &&
           (h->type != NBCOLLI_LOST || nbcolli_is_valid_lost(h));
}

int nbcolli_is_valid_in(const nbcoll_comm *comm, const nbcolli_header *h)
{
    return !nbcolli_rules[h->type].names_rank || h->number < (uint32_t)comm->size || h->number == UINT32_MAX;
}

int nbcolli_is_valid_line(const nbcolli_link *link, const nbcoll_line_arrival *line)
{
    const nbcolli_channels *all = link->pair[line->source].channels;

    return all && line->channel < all->ins && line->bytes <= NBCOLL_LINE_PAYLOAD &&
           nbcolli_is_valid_credit(link, line->source, line->turn >> NBCOLLI_TURN_BITS);
}

void nbcolli_invalid_from(nbcolli_link *link, int peer)
{
    if (nbcolli_is_given_up(link, peer))
        return;
    nbcolli_give_up(link, peer);
    link->reason[peer] = (nbcoll_transport_error){0, "it has sent a message that no rank of this version sends"};
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static nbcolli_op *nbcolli_op_meant(nbcolli_run *run, const nbcolli_header *h)
{
    const nbcoll_schedule *s = run->schedule;
    int sends = nbcolli_rules[h->type].means == NBCOLLI_A_SEND;
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

static nbcolli_fit nbcolli_op_fits(const nbcolli_op *op, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int is_awaited = op && nbcolli_rules[h->type].phases >> op->phase & 1;

    switch (h->type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS: {
        uint64_t whole = h->type == NBCOLLI_EAGER ? in->bytes : h->bytes; /* above an EAGER's stands a channel */
        return is_awaited && !op->unexpected && whole == nbcolli_op_bytes(op) ? NBCOLLI_FITS : NBCOLLI_WRONG;
    }
    case NBCOLLI_STALLED:
        return !op ? NBCOLLI_WRONG : is_awaited ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_FIN:
    case NBCOLLI_CTS:
        return is_awaited && !op->cts ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_PUT:
        return is_awaited && op->lent && !op->put ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    case NBCOLLI_DATA:
        return !is_awaited ? NBCOLLI_UNWANTED : nbcolli_data_fits(op, in) ? NBCOLLI_FITS : NBCOLLI_WRONG;
    default: /* WANT */
        return is_awaited && !op->may_go ? NBCOLLI_FITS : NBCOLLI_UNWANTED;
    }
}

/* Answers to what has been lent are awaited also where the run has failed. */
nbcolli_meaning nbcolli_meant(nbcoll_comm *comm, const nbcolli_incoming *in)
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
