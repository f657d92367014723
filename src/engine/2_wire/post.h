/* SPDX-License-Identifier: BSD-3-Clause
 * Sending side: handing posts to transports, the backlog of those refused for now, control messages, credits; and the
 * unexpected queue. Nothing here knows of steps. */
#ifndef NBCOLL_INLINE_POST_H
#define NBCOLL_INLINE_POST_H

#include "../1_state/core.h"

static inline void nbcolli_mark_lost(nbcolli_link *link, int peer, nbcolli_loss how)
{
    if ((how & ~link->loss[peer]) == 0)
        return;
    link->loss[peer] |= (uint8_t)how;
    link->losses++;
}

static inline void nbcolli_backlog_add(nbcolli_post *post)
{
    nbcolli_link *link = post->link;

    post->where = NBCOLLI_BACKLOG;
    post->next = NULL;
    post->at = link->backlog_end;
    *post->at = post;
    link->backlog_end = &post->next;
}

static inline void nbcolli_backlog_remove(nbcolli_post *post)
{
    *post->at = post->next;
    *(post->next ? &post->next->at : &post->link->backlog_end) = post->at;
    post->at = NULL;
    post->where = NBCOLLI_FREE;
}

static inline void nbcolli_post_is(nbcolli_post *post, nbcoll_posted said)
{
    switch (said) {
    case NBCOLL_POST_DONE:
        post->where = NBCOLLI_FREE;
        break;
    case NBCOLL_POST_LENT:
        post->where = NBCOLLI_LENT;
        post->link->lent++;
        break;
    case NBCOLL_POST_NOT_NOW:
        if (nbcolli_is_dead(post->link, post->peer))
            post->where = NBCOLLI_STUCK;
        else
            nbcolli_backlog_add(post);
        break;
    default: /* a broken transport is, to this rank, the loss of the peers behind it */
        post->where = NBCOLLI_STUCK;
        nbcolli_mark_lost(post->link, post->peer, said == NBCOLL_POST_LOST ? NBCOLLI_DEAD : NBCOLLI_CUT);
    }
}

/* Hands a message to its transport; where it then is stands in the post. It is tried once even with a peer that is lost
 * to us: we may not be lost to it, and then it waits for our answers. */
static inline void nbcolli_post_send(nbcolli_post *post)
{
    nbcolli_link *link = post->link;
    nbcolli_post_is(post, link->transport.post(link->endpoint, post->peer, &post->wire, post->payload, post->bytes,
                                               &post->work));
}

/* ---- control messages ------------------------------------------------------------------------------------------ */

/* This rank has no memory to say what it must: it is lost to all. They are told when the communicators have broken. */
static inline void nbcolli_starve(nbcolli_link *link)
{
    if (link->starved)
        return;
    link->starved = 1;
    link->losses++;
    for (int peer = 0; peer < link->endpoint->ranks; peer++)
        if (peer != link->endpoint->rank) {
            link->loss[peer] |= NBCOLLI_UNSAID;
            link->unsaid++;
        }
}

static inline void nbcolli_control_free(nbcoll_context *c, nbcolli_post *post)
{
    post->next = c->controls;
    c->controls = post;
}

/* The post of a control message has been handed over, or not. One that is lent can be asked for. */
static inline void nbcolli_control_is(nbcolli_post *post)
{
    nbcolli_link *link = post->link;

    if (post->where == NBCOLLI_FREE || post->where == NBCOLLI_STUCK)
        nbcolli_control_free(link->context, post);
    else if (post->where == NBCOLLI_LENT) {
        post->at = &link->lent_controls;
        post->next = link->lent_controls;
        if (post->next)
            post->next->at = &post->next;
        link->lent_controls = post;
    }
}

/* It has come back. One that is not of the pool is its owner's again. */
static inline void nbcolli_control_returned(nbcolli_post *post)
{
    if (!post->at)
        return;
    *post->at = post->next;
    if (post->next)
        post->next->at = post->at;
    nbcolli_control_free(post->link->context, post);
}

/* Sends a header alone with this post, which is the pool's then, and is returned; null if that cannot be, or not to a
 * dead peer now. */
static inline nbcolli_post *nbcolli_control_with(nbcolli_post *post, nbcolli_link *link, int peer,
                                                 const nbcolli_header *h)
{
    memset(post, 0, sizeof *post);
    post->wire = nbcolli_pack(h);
    post->link = link;
    post->peer = peer;
    nbcolli_post_send(post);
    int sent = post->where != NBCOLLI_STUCK;
    nbcolli_control_is(post);
    return sent ? post : NULL;
}

/* One more post for the pool, or null. */
static inline nbcolli_post *nbcolli_control_new(nbcoll_context *c)
{
    nbcolli_post *post = nbcolli_alloc(&c->host, sizeof *post, 64);
    c->posts += post != NULL;
    return post;
}

/* Sends a header alone; null as above. Some posts are there since the link was opened; with all of them under way and
 * no memory for one more the peer would wait for ever, and others that we owe something: this rank gives itself up
 * (giveup.h). */
static inline nbcolli_post *nbcolli_control(nbcolli_link *link, int peer, const nbcolli_header *h)
{
    nbcoll_context *c = link->context;
    nbcolli_post *post = c->controls;

    if (post)
        c->controls = post->next;
    else if (!(post = nbcolli_control_new(c))) {
        nbcolli_starve(link);
        return NULL;
    }
    return nbcolli_control_with(post, link, peer, h);
}

/* A header from this rank to another of the communicator, with the credits that we owe it. */
static inline nbcolli_header nbcolli_header_to(nbcoll_comm *comm, int rank, nbcolli_type type, uint64_t tag)
{
    nbcolli_peer *peer = &comm->peer[rank];
    nbcolli_header h = {.comm = comm->id, .tag = tag, .source = (uint32_t)comm->rank, .to = (uint32_t)rank,
                        .type = (uint8_t)type};
    h.credits = (uint16_t)(peer->owed < UINT16_MAX ? peer->owed : UINT16_MAX);
    peer->owed -= h.credits;
    return h;
}

static inline void nbcolli_control_to(nbcoll_comm *comm, int rank, const nbcolli_header *h)
{
    nbcolli_control(comm->peer[rank].link, comm->peer[rank].address, h);
}

/* Adds an operation to the REVOKE of those before it that still waits for room, so that what is said to a rank that
 * does not listen does not grow with the operations. 0 if there is none of that kind. */
static inline int nbcolli_revoke_joins(nbcoll_comm *comm, int rank, uint64_t tag, nbcoll_status why, int cause)
{
    nbcolli_post *post = comm->peer[rank].revoke;

    if (!post || post->where != NBCOLLI_BACKLOG)
        return 0;
    nbcolli_header h = nbcolli_unpack(&post->wire); /* the post may have become another message's */
    if (h.type != NBCOLLI_REVOKE || h.comm != comm->id || h.to != (uint32_t)rank || h.number != (uint32_t)cause ||
        h.status != (uint8_t)why || h.bytes || h.count == UINT32_MAX || h.tag + h.count + 1 != tag)
        return 0;
    h.count++;
    post->wire = nbcolli_pack(&h);
    return 1;
}

/* Tells every other rank: REVOKE of one operation, or LOST for the communicator. `bytes` is as the header says. */
static inline void nbcolli_tell_all(nbcoll_comm *comm, nbcolli_type type, uint64_t tag, nbcoll_status why, int cause,
                                    uint64_t bytes)
{
    for (int i = 1; i < comm->size; i++) {
        int rank = (comm->rank + i) % comm->size;
        nbcolli_peer *peer = &comm->peer[rank];
        if (peer->given_up) /* it is told last, and otherwise (giveup.h) */
            continue;
        if (type == NBCOLLI_REVOKE && nbcolli_revoke_joins(comm, rank, tag, why, cause))
            continue;
        nbcolli_header h = nbcolli_header_to(comm, rank, type, tag);
        h.number = (uint32_t)cause;
        h.status = (uint8_t)why;
        h.bytes = bytes;
        nbcolli_post *post = nbcolli_control(peer->link, peer->address, &h);
        if (type == NBCOLLI_REVOKE)
            peer->revoke = post;
    }
}

/* Credits travel with whatever goes that way; alone only when half of them are owed, so that one-way traffic does not
 * stop. */
static inline void nbcolli_credit_due(nbcoll_comm *comm, int rank)
{
    if (comm->peer[rank].owed > comm->link->credits / 2) {
        nbcolli_header h = nbcolli_header_to(comm, rank, NBCOLLI_CREDIT, 0);
        nbcolli_control_to(comm, rank, &h);
    }
}

/* A message has met its receive, or is refused: the credit that it took goes back. */
static inline void nbcolli_credit_back(nbcoll_comm *comm, const nbcolli_header *m)
{
    if (m->status != NBCOLL_OK)
        return;
    comm->peer[m->source].owed++;
    nbcolli_credit_due(comm, (int)m->source);
}

/* ---- the unexpected queue ------------------------------------------------------------------------------------------
 */

/* Keeps a copy. The message took a credit, so that what a peer can make us store is bounded. */
static inline nbcolli_unexpected *nbcolli_unexpected_keep(nbcolli_link *link, int source, const nbcolli_header *h,
                                                const void *payload, size_t bytes)
{
    nbcoll_context *c = link->context;
    nbcolli_unexpected **pool = &c->unexpected_pools[bytes > 0], *s = *pool;
    size_t limit = link->endpoint->limits.payload, capacity = bytes == 0 ? 0 : bytes < limit ? limit : bytes;

    if (s && s->capacity >= bytes)
        *pool = s->next;
    else {
        s = nbcolli_alloc(&c->host, sizeof *s + capacity, 64);
        if (!s)
            return NULL;
        s->capacity = capacity;
    }
    s->next = NULL;
    s->link = link;
    s->source = source;
    s->header = *h;
    s->bytes = bytes;
    if (bytes)
        memcpy(s->payload, payload, bytes);
    return s;
}

static inline void nbcolli_unexpected_free(nbcolli_unexpected *s)
{
    nbcolli_unexpected **pool = &s->link->context->unexpected_pools[s->capacity > 0];
    s->next = *pool;
    *pool = s;
}

/* The answer to a message that nobody here will read: its sender must be able to end. `why`: ERR_CANCELLED if the
 * operation is revoked, of which the sender is told too; ERR_MISMATCH if there is no such operation. */
static inline void nbcolli_refuse(nbcoll_comm *comm, const nbcolli_header *m, nbcoll_status why)
{
    int rank = (int)m->source;
    nbcolli_credit_back(comm, m);
    if (m->type == NBCOLLI_RTS) {
        nbcolli_header h = nbcolli_header_to(comm, rank, NBCOLLI_FIN, m->tag);
        h.number = m->number;
        h.status = (uint8_t)why;
        nbcolli_control_to(comm, rank, &h);
    }
}

static inline nbcolli_unexpected **nbcolli_unexpected_at(const nbcoll_comm *comm, uint64_t tag)
{
    return &comm->unexpected[nbcolli_hash(tag) & (comm->unexpected_room - 1)];
}

static inline int nbcolli_has_unexpected(const nbcoll_comm *comm)
{
    size_t i = 0;
    while (i < comm->unexpected_room && !comm->unexpected[i])
        i++;
    return i < comm->unexpected_room;
}

/* Refuses and frees what is stored there for operations from `first` to `last`. */
static inline void nbcolli_unexpected_drop_at(nbcoll_comm *comm, nbcolli_unexpected **at, uint64_t first, uint64_t last,
                                      nbcoll_status why)
{
    while (*at) {
        nbcolli_unexpected *s = *at;
        if (s->header.tag < first || s->header.tag > last) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        nbcolli_refuse(comm, &s->header, why);
        nbcolli_unexpected_free(s);
    }
}

/* All that is stored for operations from `first` to `last`. */
static inline void nbcolli_unexpected_drop(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why)
{
    if (first == last)
        nbcolli_unexpected_drop_at(comm, nbcolli_unexpected_at(comm, first), first, last, why);
    else
        for (size_t i = 0; i < comm->unexpected_room; i++)
            nbcolli_unexpected_drop_at(comm, &comm->unexpected[i], first, last, why);
}

#endif
