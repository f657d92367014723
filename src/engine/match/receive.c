/* SPDX-License-Identifier: BSD-3-Clause
 * Every message that comes: see receive.h. */
#include "receive.h"

#include "agree.h"
#include "ask.h"
#include "match.h"
#include "news.h"
#include "valid.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../wire/unexpected.h"
#include "../run/called.h"
#include "../run/credit.h"
#include "../run/pending.h"
#include "../run/run.h"
#include "../run/step.h"
#include "../comm/comm.h"

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

/* Messages that belong to the endpoint. */
static int nbcolli_is_of_endpoint(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;

    if (m->type == NBCOLLI_GIVE_UP && m->bytes)
        nbcolli_give_up(in->link, in->source);
    else if (m->type == NBCOLLI_GIVE_UP)
        nbcolli_rejected_by(in->link, in->source);
    else if (m->type == NBCOLLI_AGREE)
        nbcolli_shrink_in(NULL, in); /* which finds none of another link than a home */
    else
        return m->type == NBCOLLI_CREDIT; /* which has nothing more to say */
    return 1;
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
    if (m->type == NBCOLLI_REVOKE && m->bytes)
        nbcolli_answer(in->link, in->source, m, NBCOLLI_REVOKED, NBCOLL_OK);
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

/* What concerns neither credits, channels nor memory of a pair: it may also come at home, from a rank that has not made
 * the communicator yet, and does not know by which endpoint it is to talk. */
static int nbcolli_is_of_home(const nbcoll_comm *comm, const nbcolli_incoming *in)
{
    nbcolli_type type = (nbcolli_type)in->header.type;
    return in->link == comm->link && comm->peer[in->header.source].home == in->source &&
           (type == NBCOLLI_REVOKE || type == NBCOLLI_LOST || type == NBCOLLI_QUERY || type == NBCOLLI_WHERE ||
            type == NBCOLLI_AGREE || type == NBCOLLI_AGENT || type == NBCOLLI_CALL);
}

static int nbcolli_is_member(const nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    return h->source < (uint32_t)comm->size && h->to == (uint32_t)comm->rank &&
           ((comm->peer[h->source].address == in->source && comm->peer[h->source].link == in->link) ||
            nbcolli_is_of_home(comm, in));
}

/* A message of a communicator that is here, from a member. */
static void nbcolli_comm_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;

    switch (h->type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS:
        nbcolli_stalls_over(comm->peer[h->source].pair, h);
        nbcolli_message_in(comm, in);
        return;
    case NBCOLLI_STALLED:
        nbcolli_stalled_in(comm, in);
        nbcolli_credits_send(in->link, in->source);
        break;
    case NBCOLLI_WANT:
        nbcolli_want_in(comm, in);
        break;
    case NBCOLLI_FIN:
    case NBCOLLI_CTS:
        nbcolli_answer_in(comm, in);
        break;
    case NBCOLLI_PUT:
        nbcolli_put_in(comm, in);
        break;
    case NBCOLLI_CHANNEL:
        nbcolli_channel_known(comm, h);
        break;
    case NBCOLLI_DATA:
        nbcolli_data_in(comm, in);
        break;
    case NBCOLLI_REVOKE:
        nbcolli_revokes_in(comm, in);
        if (h->bytes && !nbcolli_find_run(comm, h->tag)) /* [ANSWER] else our words will say when we do not read */
            nbcolli_answer(in->link, in->source, h, NBCOLLI_REVOKED, NBCOLL_OK);
        break;
    case NBCOLLI_REVOKED:
        nbcolli_revoked_in(comm, h);
        break;
    case NBCOLLI_LOST:
        nbcolli_lost_in(comm, h);
        break;
    case NBCOLLI_CALL:
        nbcolli_called_in(comm, h);
        break;
    case NBCOLLI_AGENT:
        nbcolli_agent_failed_in(comm);
        break;
    case NBCOLLI_AGREE:
        nbcolli_shrink_in(comm, in);
        break;
    case NBCOLLI_QUERY:
    case NBCOLLI_WHERE:
        (h->type == NBCOLLI_QUERY ? nbcolli_ask_in : nbcolli_where_in)(comm, h);
        break;
    default:
        break;
    }
    nbcolli_done_with(in);
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

static void nbcolli_receive_invalid(nbcolli_incoming *in)
{
    nbcolli_invalid_from(in->link, in->source);
    nbcolli_done_with(in);
}

void nbcolli_receive(nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcoll_comm *comm = nbcolli_find_comm(in->link, h->comm);

    if (nbcolli_is_given_up(in->link, in->source)) {
        nbcolli_done_with(in);
        return;
    }
    if (!nbcolli_is_valid(in)) {
        nbcolli_receive_invalid(in);
        return;
    }
    if (h->credits)
        nbcolli_credits_in(&in->link->pair[in->source], h->credits);
    if (h->type == NBCOLLI_CREDIT)
        nbcolli_stalls_over(&in->link->pair[in->source], h);
    if (!comm) {
        if (nbcolli_is_of_endpoint(in))
            nbcolli_done_with(in);
        else
            nbcolli_orphan_in(in);
        return;
    }
    if (!nbcolli_is_member(comm, in)) {
        if (comm->making && in->link != comm->link) { /* its sender has made it, and knows by which endpoint we talk */
            nbcolli_orphan_in(in);
            return;
        }
        nbcolli_receive_invalid(in);
        return;
    }
    if (nbcolli_is_valid_in(comm, h))
        nbcolli_comm_in(comm, in);
    else
        nbcolli_receive_invalid(in);
}
