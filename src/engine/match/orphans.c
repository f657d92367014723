/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of communicators that are unknown here: see orphans.h. */
#include "orphans.h"

#include "ask.h"
#include "news.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../run/credit.h"
#include "../run/queue.h"
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
    if (may && nbcolli_is_group(in->header.comm)) /* nobody here knows that it will be missed */
        nbcolli_give_up(link, in->source);
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
    if (made || nbcolli_is_group(query->comm))
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

/* It is known now that the communicator has been freed, or the operation revoked: what was kept of it goes the way of
 * what comes later. */
static void nbcolli_orphans_settle(nbcolli_link *home, uint64_t id, uint64_t first, uint64_t last)
{
    nbcolli_unexpected **at = &home->orphans, *s;

    while ((s = *at)) {
        if (s->header.comm != id || s->header.tag < first || s->header.tag > last) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        nbcolli_incoming in = nbcolli_incoming_kept(s);
        nbcolli_orphan_settle(&in, 1);
    }
}

void nbcolli_orphan_in(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;
    nbcolli_link *home = in->link->home;

    if (m->type == NBCOLLI_REVOKE && nbcolli_is_group(m->comm)) /* which may never be here */
        nbcolli_orphans_settle(home, m->comm, m->tag, m->tag + m->count);
    if (m->type != NBCOLLI_QUERY) {
        int may_come = home->creating || nbcolli_is_group(m->comm);
        nbcolli_orphan_settle(in, !may_come || nbcolli_find_tombstone(home, m->comm));
        return;
    }
    nbcolli_freeing freeing = nbcolli_orphan_freeing(in);
    if (freeing)
        nbcolli_orphans_settle(home, m->comm, 0, UINT64_MAX);
    nbcolli_ask_elsewhere(in->link, in->source, m, freeing);
}
