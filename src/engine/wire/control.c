/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include "../../host/host.h"

/* ---- posts ------------------------------------------------------------------------------------------------------- */

void nbcolli_mark_lost(nbcolli_link *link, int peer, nbcolli_loss how)
{
    if ((how & ~link->loss[peer]) == 0)
        return;
    if (link->transport.reason && how & ~link->loss[peer] & NBCOLLI_CUT && (how & NBCOLLI_GIVEN_UP) != NBCOLLI_GIVEN_UP)
        link->transport.reason(link->endpoint, peer, &link->reason[peer]);
    link->loss[peer] |= (uint8_t)how;
    link->losses++;
    link->context->news = 1;
}

void nbcolli_give_up(nbcolli_link *link, int peer)
{
    if (nbcolli_is_given_up(link, peer))
        return;
    if (link->transport.give_up)
        link->transport.give_up(link->endpoint, peer);
    nbcolli_mark_lost(link, peer, link->starved ? NBCOLLI_GIVEN_UP : NBCOLLI_GIVEN_UP | NBCOLLI_UNTOLD);
    link->untold += !link->starved; /* else it learns, or knows, that this rank is lost */
}

nbcolli_loss nbcolli_loss_of(const nbcolli_link *link, int peer)
{
    return link->transport.touches && link->transport.touches(link->endpoint, peer) ? NBCOLLI_CUT : NBCOLLI_DEAD;
}

static __attribute__((noinline)) void nbcolli_backlog_add(nbcolli_post *post)
{
    nbcolli_link *link = post->link;

    post->where = NBCOLLI_BACKLOG;
    link->pair[post->peer].refused++;
    nbcolli_list_add(&link->backlog, &post->item);
}

__attribute__((noinline)) void nbcolli_backlog_remove(nbcolli_post *post)
{
    nbcolli_list_leave(&post->item);
    post->where = NBCOLLI_FREE;
    post->link->pair[post->peer].refused--;
}

void nbcolli_post_is(nbcolli_post *post, nbcoll_posted said)
{
    switch (said) {
    case NBCOLL_POST_DONE:
        post->where = NBCOLLI_FREE;
        break;
    case NBCOLL_POST_IN_FLIGHT:
        post->where = NBCOLLI_IN_FLIGHT;
        post->recalled = 0;
        nbcolli_list_add(&post->link->in_flight, &post->item);
        break;
    case NBCOLL_POST_NOT_NOW:
        if (nbcolli_is_dead(post->link, post->peer))
            post->where = NBCOLLI_STUCK;
        else
            nbcolli_backlog_add(post);
        break;
    default: /* a broken transport counts as the loss of the peers behind it */
        post->where = NBCOLLI_STUCK;
        post->work.status = NBCOLL_ERR_TRANSPORT; /* as one that comes back so */
        nbcolli_mark_lost(post->link, post->peer,
                          said == NBCOLL_POST_LOST ? nbcolli_loss_of(post->link, post->peer) : NBCOLLI_CUT);
    }
}

void nbcolli_post_recall(nbcolli_post *post)
{
    if (post->recalled)
        return;
    post->recalled = 1;
    post->link->transport.cancel(post->link->endpoint, &post->work);
}

/* ---- control messages -------------------------------------------------------------------------------------------- */

void nbcolli_starve(const nbcolli_link *on)
{
    if (on->home->starved)
        return;
    for (nbcolli_link *link = on->home->first; link; link = link->beside) {
        link->starved = 1;
        link->losses++;
        for (int peer = 0; peer < link->endpoint->ranks; peer++)
            if (peer != link->endpoint->rank && !nbcolli_is_given_up(link, peer)) {
                link->loss[peer] |= NBCOLLI_UNTOLD;
                link->untold++;
            }
    }
    on->context->news = 1;
}

__attribute__((noinline)) void nbcolli_control_free(nbcoll_context *c, nbcolli_post *post)
{
    if (!post->payload)
        nbcolli_list_put(&c->controls, &c->controls.first, &post->item);
}

/* Its peer may be alive, and wait for it. A message that has failed is tried once more; then the peer is given up: so
 * it learns that it waits in vain, whatever the message was about. A farewell that has failed twice is dropped: its
 * transport is broken. One that found no room is said again till that rank is OVER. */
static void nbcolli_control_stuck(nbcolli_post *post)
{
    nbcolli_link *link = post->link;
    uint8_t *loss = &link->loss[post->peer];
    int is_dead = nbcolli_is_dead(link, post->peer), is_given_up = nbcolli_is_given_up(link, post->peer);
    int has_failed = post->work.status != NBCOLL_OK;
    int is_last = *loss & NBCOLLI_OVER || (has_failed && *loss & NBCOLLI_MUTE);

    if (nbcolli_unpack(&post->wire).type == NBCOLLI_GIVE_UP && (is_given_up || !is_dead) && !is_last) {
        *loss |= has_failed ? NBCOLLI_UNTOLD | NBCOLLI_MUTE : NBCOLLI_UNTOLD;
        link->untold++;
        link->context->news = 1;
        nbcolli_list_add(&link->farewells, &post->item);
    } else if (!is_dead && (!post->again++ || link->context->ticks.is_under_way)) { /* no tick gives a rank up */
        link->context->news = 1;
        nbcolli_backlog_add(post);
    } else {
        if (!is_dead)
            nbcolli_give_up(link, post->peer);
        nbcolli_control_free(link->context, post);
    }
}

void nbcolli_control_is(nbcolli_post *post)
{
    if (post->where == NBCOLLI_STUCK && !post->payload)
        nbcolli_control_stuck(post);
    else if (post->where == NBCOLLI_FREE)
        nbcolli_control_free(post->link->context, post);
}

void nbcolli_control_with(nbcolli_post *post, nbcolli_link *link, int peer, const nbcolli_header *h)
{
    nbcolli_list_leave(&post->item);
    memset(post, 0, sizeof *post);
    post->wire = nbcolli_pack(h);
    post->link = link;
    post->peer = peer;
    if (link->pair[peer].refused && !nbcolli_is_dead(link, peer))
        nbcolli_backlog_add(post); /* else answers would take the room from waiting posts, pass after pass */
    else
        nbcolli_post_send(post);
    nbcolli_control_is(post);
}

int nbcolli_posts_reserve(nbcoll_context *c, nbcolli_list *list, uint32_t n)
{
    for (; n; n--) {
        nbcolli_post *post = nbcolli_alloc(&c->host, sizeof *post, 64);
        if (!post)
            return 0;
        memset(post, 0, sizeof *post);
        nbcolli_list_add(list, &post->item);
        c->posts += list == &c->controls;
    }
    return 1;
}

int nbcolli_revoke_joins(nbcolli_header *before, const nbcolli_header *h)
{
    if (before->type != NBCOLLI_REVOKE || h->type != NBCOLLI_REVOKE || before->comm != h->comm || before->to != h->to ||
        before->number != h->number || before->status != h->status || before->bytes || h->bytes ||
        before->tag + before->count + 1 != h->tag || h->count >= UINT32_MAX - before->count)
        return 0;
    before->count += 1 + h->count;
    return 1;
}

/* Joins it to the one before that still waits for room: so messages to a rank that takes none do not pile up. */
static int nbcolli_revoke_waits(nbcolli_link *link, int peer, const nbcolli_header *h)
{
    for (nbcolli_list_item *at = link->backlog.first; at; at = at->next) {
        nbcolli_post *post = nbcolli_post_of(at);
        nbcolli_header before = nbcolli_unpack(&post->wire);
        if (!post->op && post->peer == peer && nbcolli_revoke_joins(&before, h)) {
            before.credits += h->credits;
            post->wire = nbcolli_pack(&before);
            return 1;
        }
    }
    return 0;
}

void nbcolli_control(nbcolli_link *link, int peer, const nbcolli_header *h)
{
    nbcoll_context *c = link->context;

    if (h->type == NBCOLLI_REVOKE && nbcolli_revoke_waits(link, peer, h))
        return;
    if (nbcolli_control_may(c))
        nbcolli_control_with(nbcolli_post_of(c->controls.first), link, peer, h);
    else
        nbcolli_starve(link);
}

void nbcolli_say(nbcoll_comm *comm, int rank, nbcolli_header what)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    const nbcolli_header to = {.comm = comm->id, .source = (uint32_t)rank, .to = (uint32_t)comm->rank, .tag = what.tag};
    nbcolli_answer(peer->link, peer->address, &to, what);
}

void nbcolli_answer(nbcolli_link *link, int peer, const nbcolli_header *m, nbcolli_header what)
{
    what.comm = m->comm;
    what.tag = m->tag;
    what.source = m->to;
    what.to = m->source;
    what.credits = (uint16_t)link->pair[peer].owed; /* a peer has no more of them */
    link->pair[peer].owed -= what.credits;
    nbcolli_control(link, peer, &what);
}

void nbcolli_credits_send(nbcolli_link *link, int peer)
{
    nbcolli_pair *pair = &link->pair[peer];
    nbcolli_header h = {.comm = NBCOLLI_NO_COMM, .type = NBCOLLI_CREDIT, .credits = (uint16_t)pair->owed};

    if (!pair->owed && (pair->stalling.first || pair->told == pair->stalls))
        return;
    pair->owed -= h.credits;
    if (!pair->stalling.first)
        pair->told = h.count = pair->stalls;
    nbcolli_control(link, peer, &h);
}

void nbcolli_tell_others(nbcoll_comm *comm, nbcolli_header what)
{
    for (int i = 1; i < comm->size; i++) {
        int rank = (comm->rank + i) % comm->size;
        if (!nbcolli_is_given_up(comm->peer[rank].link, comm->peer[rank].address)) /* else it is told last (giveup.h) */
            nbcolli_say(comm, rank, what);
    }
}

void nbcolli_tell_all(nbcoll_comm *comm, nbcolli_type type, uint64_t tag, nbcoll_status why, int cause, uint64_t bytes)
{
    int has_freed = type == NBCOLLI_LOST && why == NBCOLL_ERR_MISMATCH && cause >= 0 && comm->told[cause].has_freed;
    nbcolli_tell_others(comm, (nbcolli_header){.tag = tag,
                                               .number = (uint32_t)cause,
                                               .type = (uint8_t)type,
                                               .status = (uint8_t)why,
                                               .bytes = bytes,
                                               .count = has_freed});
}
