/* SPDX-License-Identifier: BSD-3-Clause
 * Every message that comes: see receive.h. */
#include "receive.h"

#include "agree.h"
#include "ask.h"
#include "match.h"
#include "news.h"
#include "../2_wire/control.h"
#include "../2_wire/giveup.h"
#include "../3_run/credit.h"
#include "../3_run/run.h"
#include "../4_comm/comm.h"

/* Keeps one STALLED of a sender, the last one: what it says of the sender is enough. True if there was another. */
static int nbcolli_orphan_stalled(const nbcolli_incoming *in)
{
    for (nbcolli_unexpected *s = in->link->orphans; s; s = s->next)
        if (s->header.type == NBCOLLI_STALLED && s->header.comm == in->header.comm && s->source == in->source) {
            if (nbcolli_is_later(in->header.count, s->header.count))
                s->header = in->header;
            return 1;
        }
    return 0;
}

/* Stores a message of a communicator that is perhaps being made. 0: without memory none of those can be. */
static int nbcolli_orphan_keep(nbcolli_incoming *in)
{
    nbcolli_link *link = in->link;
    nbcolli_unexpected *s = in->kept;

    if (in->header.type == NBCOLLI_STALLED && nbcolli_orphan_stalled(in)) {
        nbcolli_done_with(in);
        return 1;
    }
    if (!s)
        s = nbcolli_unexpected_keep(link, in->source, &in->header, in->payload, in->bytes);
    if (s) {
        in->kept = NULL;
        s->next = link->orphans;
        link->orphans = s;
        return 1;
    }
    for (nbcoll_comm *comm = link->context->comms; comm; comm = comm->sister)
        if (comm->link == link && comm->making && comm->spoiled == NBCOLL_OK)
            comm->spoiled = NBCOLL_ERR_MEMORY;
    return 0;
}

/* To the sender of a message of a communicator that is not here. */
static void nbcolli_orphan_answer(const nbcolli_incoming *in, nbcolli_type type, uint32_t number, nbcoll_status status)
{
    const nbcolli_header *m = &in->header;
    nbcolli_header answer = {.comm = m->comm, .tag = m->tag, .source = m->to, .to = m->source, .number = number,
                             .type = (uint8_t)type, .status = (uint8_t)status};
    nbcolli_control(in->link, in->source, &answer);
}

/* A message of a communicator that is unknown here: one that is being made, or one that was freed. Of those only the
 * ones with a tombstone can still be sent anything that wants an answer, and at once: its sender may join in the making
 * only when it has got that. An operation that was not started here before it was freed ends there: it never will be.
 */
static void nbcolli_orphan_in(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;
    if (m->type == NBCOLLI_GIVE_UP) {
        if (m->bytes)
            nbcolli_give_up(in->link, in->source);
        else
            nbcolli_rejected_by(in->link, in->source);
        nbcolli_done_with(in);
        return;
    }
    if (m->type == NBCOLLI_AGREE || m->type == NBCOLLI_DECIDED) {
        nbcolli_shrink_in(NULL, in);
        return;
    }
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(in->link, m->comm);
    int has_failed = tombstone && m->tag < tombstone->failed_floor; /* of which the sender is told too */
    int is_data = m->type == NBCOLLI_EAGER || m->type == NBCOLLI_RTS || m->type == NBCOLLI_STALLED;
    int is_freed = tombstone || !in->link->creating;

    if (m->type == NBCOLLI_QUERY) {
        nbcolli_ask_elsewhere(in->link, in->source, m, is_freed);
        return;
    }
    if (m->type == NBCOLLI_REVOKE)
        nbcolli_vote_revoked(NULL, in, nbcolli_revoke_reason(m));
    if (in->link->creating && !tombstone && nbcolli_orphan_keep(in))
        return;
    nbcoll_status why = has_failed || !is_freed || in->link->unmade ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_MISMATCH;
    if (m->type == NBCOLLI_RTS)
        nbcolli_orphan_answer(in, NBCOLLI_FIN, m->number, why);
    if (m->type == NBCOLLI_REVOKE && m->bytes)
        nbcolli_orphan_answer(in, NBCOLLI_REVOKED, m->number, NBCOLL_OK);
    if (is_data && is_freed && !has_failed)
        nbcolli_orphan_answer(in, NBCOLLI_LOST, m->to, why);
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
    if (!comm) {
        nbcolli_orphan_in(in);
        return;
    }
    if (h->source >= (uint32_t)comm->size || h->to != (uint32_t)comm->rank ||
        comm->peer[h->source].address != in->source || comm->peer[h->source].link != in->link) {
        nbcolli_done_with(in);
        return;
    }
    if (h->credits)
        nbcolli_credits_in(comm, (int)h->source, h->credits);
    switch (h->type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS:
        nbcolli_stalls_over(&comm->peer[h->source], h);
        nbcolli_message_in(comm, in);
        return;
    case NBCOLLI_STALLED:
        nbcolli_stalled_in(comm, h);
        break;
    case NBCOLLI_WANT:
        nbcolli_want_in(comm, h);
        break;
    case NBCOLLI_FIN:
    case NBCOLLI_CTS:
        nbcolli_answer_in(comm, h);
        break;
    case NBCOLLI_DATA:
        nbcolli_data_in(comm, in);
        break;
    case NBCOLLI_REVOKE:
        nbcolli_revokes_in(comm, in);
        if (h->bytes)
            nbcolli_revoke_answer(comm, h);
        break;
    case NBCOLLI_REVOKED:
        nbcolli_revoked_in(comm, h);
        break;
    case NBCOLLI_LOST:
        nbcolli_lost_in(comm, h);
        break;
    case NBCOLLI_AGREE:
    case NBCOLLI_DECIDED:
        nbcolli_shrink_in(comm, in);
        break;
    case NBCOLLI_QUERY:
    case NBCOLLI_WHERE:
        (h->type == NBCOLLI_QUERY ? nbcolli_ask_in : nbcolli_where_in)(comm, h);
        break;
    default: /* CREDIT has said all */
        break;
    }
    nbcolli_done_with(in);
}
