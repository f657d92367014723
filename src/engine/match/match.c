/* SPDX-License-Identifier: BSD-3-Clause */
#include "match.h"

#include "agree.h"
#include "ask.h"
#include "news.h"
#include "operations.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../comm/comm.h"
#include "../run/called.h"
#include "../run/credit.h"
#include "../run/queue.h"
#include "../run/small.h"

/* ---- the types --------------------------------------------------------------------------------------------------- */

typedef enum nbcolli_carries {
    NBCOLLI_NO_PAYLOAD,
    NBCOLLI_ITS_BYTES, /* as the lower half of `bytes` says */
    NBCOLLI_A_KEY,     /* none, or an nbcolli_remote; without a bulk group here, its key may have any length */
    NBCOLLI_SOME,      /* at least one; with `bytes` before them */
    NBCOLLI_A_VOTE     /* an agreement's, or an executor's: its receiver knows the length */
} nbcolli_carries;

/* Whose message it is. One that concerns no credits, channels or memory of a pair may also come at HOME, from a rank
 * that has not made the communicator yet, and does not know its endpoint for us. */
typedef enum nbcolli_belongs {
    NBCOLLI_OF_PAIR,
    NBCOLLI_OF_HOME,
    NBCOLLI_OF_SHRINK, /* likewise, or an executor's; the communicator may be unknown here */
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

/* Its credits have been counted, as for any message. */
static void nbcolli_credit_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    (void)comm;
    nbcolli_stalls_up_to(&in->link->pair[in->source].over, &in->header);
}

/* The peer has sent a message that no rank may send. */
static void nbcolli_invalid_from(nbcolli_link *link, int peer)
{
    if (nbcolli_is_given_up(link, peer))
        return;
    nbcolli_give_up(link, peer);
    link->reason[peer] = (nbcoll_transport_error){0, "it has sent a message that no rank of this version sends"};
}

/* EXECUTED: to its executor, if that is here. */
static void nbcolli_executed_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    uint32_t channel = h->status == NBCOLLI_MESSAGE_REFUSED ? (uint32_t)(h->tag >> 32) : h->count;
    nbcolli_executor *e = comm ? comm->executors : NULL;
    while (e && !(e->does->message && e->channel == channel))
        e = e->next;
    if (e && !e->does->message(e, in))
        nbcolli_invalid_from(in->link, in->source);
    else if (!e && h->status == NBCOLLI_MESSAGE_ANNOUNCED)
        nbcolli_answer(in->link, in->source, h,
                       (nbcolli_header){.type = NBCOLLI_EXECUTED, .status = NBCOLLI_MESSAGE_REFUSED,
                                        .number = h->number});
}

#define NBCOLLI_BIT(n) (UINT64_C(1) << (n))
#define NBCOLLI_ANY UINT64_MAX
#define NBCOLLI_WELL NBCOLLI_BIT(NBCOLL_OK)
#define NBCOLLI_ERRORS (NBCOLLI_BIT(NBCOLL_STATUS_COUNT) - NBCOLLI_BIT(NBCOLL_AGAIN + 1))
#define NBCOLLI_REFUSES (NBCOLLI_BIT(NBCOLL_ERR_CANCELLED) | NBCOLLI_BIT(NBCOLL_ERR_MISMATCH))
#define NBCOLLI_ANSWERS (NBCOLLI_WELL | NBCOLLI_BIT(NBCOLL_AGAIN) | NBCOLLI_BIT(NBCOLL_ERR_CANCELLED))

_Static_assert(NBCOLL_STATUS_COUNT < 64, "they fit their masks");

static const struct nbcolli_rule {
    void (*in)(nbcoll_comm *comm, nbcolli_incoming *in); /* handles it */
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
    [NBCOLLI_AGENT] = {nbcolli_executors_over, NBCOLLI_OF_HOME, NBCOLLI_NO_PAYLOAD, 0, NBCOLLI_ANY, 0, UINT64_MAX},
    [NBCOLLI_EXECUTED] = {nbcolli_executed_in, NBCOLLI_OF_SHRINK, NBCOLLI_A_VOTE, 0, NBCOLLI_ANY, 0, UINT64_MAX},
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
        return in->header.type == NBCOLLI_EXECUTED || in->bytes > sizeof(nbcolli_vote);
    }
}

/* A peer gives back no more credits than this rank has taken. */
static int nbcolli_is_valid_credit(const nbcolli_link *link, int peer, uint64_t credits)
{
    return !credits || credits <= nbcolli_credits_out(link, &link->pair[peer]);
}

/* May any rank send this, whatever runs here? The `count` of a LOST is 1 only with ERR_MISMATCH and a rank, which has
 * freed the communicator. */
static int nbcolli_is_valid(const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;

    if (h->type >= NBCOLLI_TYPES)
        return 0;
    const struct nbcolli_rule *rule = &nbcolli_rules[h->type];
    uint32_t freed = h->status == NBCOLL_ERR_MISMATCH && h->number != UINT32_MAX;
    return (rule->belongs == NBCOLLI_OF_ENDPOINT) == (h->comm == NBCOLLI_NO_COMM) &&
           nbcolli_is_valid_payload(rule->carries, in) && h->status < 64 && rule->statuses >> h->status & 1 &&
           h->bytes >= rule->least && h->bytes <= rule->most &&
           nbcolli_is_valid_credit(in->link, in->source, h->credits) &&
           (h->type != NBCOLLI_REVOKE || h->count < UINT64_MAX - h->tag) &&
           (h->type != NBCOLLI_LOST || (h->tag < UINT64_MAX && h->count <= freed));
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

static int nbcolli_is_member(const nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int may_be_home = nbcolli_rules[h->type].belongs != NBCOLLI_OF_PAIR && in->link == comm->link;

    return h->source < (uint32_t)comm->size && h->to == (uint32_t)comm->rank &&
           ((comm->peer[h->source].address == in->source && comm->peer[h->source].link == in->link) ||
            (may_be_home && comm->peer[h->source].home == in->source));
}

/* ---- in a tick --------------------------------------------------------------------------------------------------- */

int nbcolli_receives_plainly(const nbcolli_incoming *in)
{
    nbcoll_comm *comm = nbcolli_comm_find(in->link, in->header.comm);

    if (nbcolli_is_given_up(in->link, in->source) || !nbcolli_is_valid(in))
        return 0;
    if (!comm)
        return in->header.type == NBCOLLI_CREDIT;
    if (!nbcolli_is_member(comm, in) || comm->making || !nbcolli_is_valid_in(comm, &in->header))
        return 0;
    switch (in->header.type) {
    case NBCOLLI_CHANNEL:
    case NBCOLLI_QUERY:
    case NBCOLLI_WHERE:
    case NBCOLLI_CREDIT: return 1;
    default: return nbcolli_operation_takes_plainly(comm, in);
    }
}

/* ---- unknown communicators --------------------------------------------------------------------------------------- */

/* Stores a message of a communicator that is perhaps being made. 0: no memory, so that none of these can be made. A
 * peer may send any number of REVOKEs, which take no credit: those of operations in a row, with one cause, are kept as
 * one; of others, as many as there may be ranges of pending revokes. */
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
    nbcolli_unexpected *s = may ? nbcolli_unexpected_keep(in) : NULL;
    if (s) {
        s->header.credits = 0; /* they have been counted */
        s->next = home->orphans;
        home->orphans = s;
        return 1;
    }
    if (may && nbcolli_is_group(in->header.comm)) /* nobody here will miss it */
        nbcolli_starve(link);
    for (nbcoll_comm *comm = link->context->comms; comm; comm = comm->sister)
        if (comm->link == home && comm->making && comm->spoiled == NBCOLL_OK) {
            comm->spoiled = may ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_LIMIT;
            comm->spoiler = home->endpoint->rank;
        }
    return 0;
}

/* How the communicator that this QUERY is about was freed here, or 0: it is still being made. The asking rank has it:
 * so this rank has voted. All were told of operations that failed here, and of communicators not made. To a rank that
 * is cut off it failed: a shrink that ended without it is not known here. */
static nbcolli_freeing nbcolli_orphan_freeing(const nbcolli_incoming *in)
{
    const nbcolli_link *home = in->link->home;
    const nbcolli_header *query = &in->header;
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(home, query->comm);
    const nbcolli_tombstone *unmade = home->unmade;
    const nbcoll_comm *made = home->context->comms;
    const uint64_t tag = (uint64_t)query->number << 32 | query->stamp; /* those of shrinks are the highest ones */

    while (made && !(made->link == home && made->making && made->vote_comm == query->bytes && made->vote_tag == tag))
        made = made->sister;
    if (tombstone)
        return query->tag < tombstone->failed_floor ? NBCOLLI_FREED_TOLD : NBCOLLI_FREED_FAILED;
    if (made || nbcolli_is_group(query->comm))
        return (nbcolli_freeing)0;
    while (unmade && !(unmade->id == query->bytes && unmade->failed_floor == tag))
        unmade = unmade->next;
    if (unmade)
        return NBCOLLI_FREED_TOLD;
    return nbcolli_is_cut_off(in->link, in->source) ? NBCOLLI_FREED_FAILED : NBCOLLI_FREED_WELL;
}

/* Settles a message of a communicator that is unknown here: that is being made, was not made, or was freed. A message
 * that wants an answer gets it at once: its sender may need that before it joins the making. An operation that was not
 * started here before the communicator was freed ends at its sender: this rank will not start it. After a failure, or
 * if the communicator may not have been made, the sender has been told, or asks where the operation is (ask.h), naming
 * the vote. A STALLED while one is being made is not kept: its sender asks, too. */
static void nbcolli_orphan_settle(nbcolli_incoming *in, int is_freed)
{
    const nbcolli_header *m = &in->header;
    const nbcolli_link *home = in->link->home;
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(home, m->comm);
    int is_message = nbcolli_is_message(m); /* a STALLED may be late: its send has come before, and ended */

    if (m->type == NBCOLLI_REVOKE)
        nbcolli_vote_revoked(NULL, in, (nbcoll_status)m->status);
    if (m->type == NBCOLLI_STALLED)
        nbcolli_stalls_up_to(&in->link->pair[in->source].seen, m);
    else if (!is_freed && nbcolli_orphan_keep(in))
        return;
    int is_never_started = is_freed && !tombstone && !home->unmade && !nbcolli_is_group(m->comm); /* for certain */
    nbcoll_status why = !is_never_started                          ? NBCOLL_ERR_CANCELLED
                        : nbcolli_is_cut_off(in->link, in->source) ? NBCOLL_ERR_PEER_LOST
                                                                   : NBCOLL_ERR_MISMATCH;
    if (is_message)
        nbcolli_refuse(in->link, in->source, m, why);
    if (m->type == NBCOLLI_CTS && in->bytes) /* it lends memory */
        nbcolli_answer(in->link, in->source, m,
                       (nbcolli_header){.type = NBCOLLI_PUT, .status = NBCOLL_ERR_CANCELLED, .number = m->number});
    if (is_message && is_never_started)
        nbcolli_answer(in->link, in->source, m,
                       (nbcolli_header){.type = NBCOLLI_LOST, .status = (uint8_t)why, .number = m->to,
                                        .count = why == NBCOLL_ERR_MISMATCH});
    if (m->type == NBCOLLI_STALLED)
        nbcolli_credits_send(in->link, in->source);
    nbcolli_done_with(in);
}

/* News by which a group is not made: what a LOST is about; of a REVOKE, in its creations alone, since members that have
 * heard of it may call again before this rank calls first. Kept, so that a call for it here ends, too. */
static int nbcolli_ends_group(const nbcolli_header *m, const nbcolli_header *what)
{
    if (!nbcolli_is_group(m->comm) || what->comm != m->comm)
        return 0;
    uint64_t last = what->tag + (what->type == NBCOLLI_REVOKE ? what->count : 0);
    return m->type == NBCOLLI_LOST ||
           (m->type == NBCOLLI_REVOKE && what->tag >= m->tag && last <= m->tag + m->count);
}

/* The communicator is now known to be freed, or the group not to be made, of which `m` says so: kept messages are
 * handled as later ones would be. */
static void nbcolli_orphans_settle(nbcolli_link *home, const nbcolli_header *m)
{
    nbcolli_unexpected **at = &home->orphans, *s;

    while ((s = *at))
        if (m->type == NBCOLLI_QUERY ? s->header.comm != m->comm : !nbcolli_ends_group(m, &s->header))
            at = &s->next;
        else {
            *at = s->next;
            nbcolli_incoming in = nbcolli_incoming_kept(s);
            nbcolli_orphan_settle(&in, 1);
        }
}

/* While a communicator is being made only a question tells whether a message is about that one. A group (comm/comm.h)
 * may be called for at any time, or never: all its messages are kept, unless it is not made. */
static void nbcolli_orphan_in(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;
    nbcolli_link *home = in->link->home;

    if (m->type != NBCOLLI_QUERY) {
        const nbcolli_unexpected *end = home->orphans;
        while (end && !nbcolli_ends_group(&end->header, m))
            end = end->next;
        int is_over = nbcolli_is_group(m->comm) ? end && nbcolli_is_message(m) : !home->creating;
        nbcolli_orphans_settle(home, m);
        nbcolli_orphan_settle(in, is_over || nbcolli_find_tombstone(home, m->comm));
        return;
    }
    nbcolli_freeing freeing = nbcolli_orphan_freeing(in);
    if (freeing)
        nbcolli_orphans_settle(home, m);
    nbcolli_ask_elsewhere(in->link, in->source, m, freeing);
}

/* ---- everywhere -------------------------------------------------------------------------------------------------- */

/* Hands the message to its handler. 0: no rank may send it. */
static int nbcolli_hand_on(nbcolli_incoming *in)
{
    const struct nbcolli_rule *rule = &nbcolli_rules[in->header.type];
    nbcoll_comm *comm = nbcolli_comm_find(in->link, in->header.comm);
    int is_member = comm && nbcolli_is_member(comm, in);

    if (in->header.credits)
        nbcolli_credits_in(&in->link->pair[in->source], in->header.credits);
    if (is_member ? !nbcolli_is_valid_in(comm, &in->header) : comm && (!comm->making || in->link == comm->link))
        return 0; /* of one that is being made: its sender has made it, and knows by which endpoint we talk */
    /* The first of its link is known before it is made: then it has no cells yet for the word that this one wants. */
    int is_early = is_member && comm->making && in->header.type == NBCOLLI_REVOKE && in->header.bytes;
    if (!is_early && (is_member || rule->belongs >= NBCOLLI_OF_SHRINK))
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

/* The run of the line's tag, if it is small, goes well, has the same history, and its schedule has such a message:
 * end->op is its receive. */
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
        return nbcolli_is_given_up(link, line->source); /* then it is ignored */
    nbcolli_incoming in = nbcolli_line_message(link, line, &link->pair[line->source].channels->in[line->channel]);
    return nbcolli_receives_plainly(&in);
}

/* A line for an executor. */
static void nbcolli_executed_line_in(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    nbcolli_executor *e = link->home->hears[line->channel % NBCOLLI_HEARING];
    int is_there = e && e->channel == line->channel, was = line->channel - NBCOLLI_CHANNELS < link->home->heard;
    if (is_there ? !e->does->line(e, link, line) : !was)
        nbcolli_invalid_from(link, line->source);
}

void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    nbcolli_pair *pair = &link->pair[line->source];
    nbcolli_channels *all = pair->channels;
    uint32_t credits = (uint32_t)(line->turn >> NBCOLLI_TURN_BITS);

    if (line->channel >= NBCOLLI_CHANNELS || !nbcolli_is_valid_line(link, line)) {
        nbcolli_executed_line_in(link, line);
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
    nbcolli_credit_back(link, line->source);
    op->channel = line->channel;
    op->opened = pair->version;
    op->phase = NBCOLLI_SETTLED;
    run->left &= ~m->bit;
    nbcolli_small_advance(run);
}
