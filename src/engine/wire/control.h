/* SPDX-License-Identifier: BSD-3-Clause
 * Posts: handing them to transports, and the backlog of those refused for now. Control messages: headers alone, from a
 * pool of posts; and credits. Inline: what every message needs. */
#ifndef NBCOLLI_ENGINE_WIRE_CONTROL_H
#define NBCOLLI_ENGINE_WIRE_CONTROL_H

#include "../state/context.h"

/* ---- posts ------------------------------------------------------------------------------------------------------- */

/* Notes what has happened to a rank. The communicators learn of it from the drain. */
void nbcolli_mark_lost(nbcolli_link *link, int peer, nbcolli_loss how);

/* Gives a rank up, whatever has happened to it (giveup.h). */
void nbcolli_give_up(nbcolli_link *link, int peer);

/* As what a rank counts that its transport has just said to be lost: as CUT while it touches memory. It is given up,
 * and counts as dead, when progress reports the loss. */
nbcolli_loss nbcolli_loss_of(const nbcolli_link *link, int peer);

/* Takes back a post that waits there. */
void nbcolli_backlog_remove(nbcolli_post *post);

/* Notes where a post is, as the transport has answered. */
void nbcolli_post_is(nbcolli_post *post, nbcoll_posted said);

/* Asks the transport for a post that is in flight, once. That it comes back cancelled then says nothing of its peer. */
void nbcolli_post_recall(nbcolli_post *post);

/* Hands a message to its transport; the post says where it then is. A message for a peer that is lost to us is tried
 * once, too: to that peer we may be alive, and it then waits for our answers. */
static inline void nbcolli_post_send(nbcolli_post *post)
{
    nbcolli_link *link = post->link;
    nbcolli_post_is(
        post, link->transport.post(link->endpoint, post->peer, &post->wire, post->payload, post->bytes, &post->work));
}

/* ---- control messages -------------------------------------------------------------------------------------------- */

/* Gives a post, also one that has come back, to the pool. A post with a payload stays its owner's, who looks where it
 * is. */
void nbcolli_control_free(nbcoll_context *c, nbcolli_post *post);

/* The post of a control message has been handed over, or not. */
void nbcolli_control_is(nbcolli_post *post);

/* Sends a header alone with this post, which then goes to the pool. */
void nbcolli_control_with(nbcolli_post *post, nbcolli_link *link, int peer, const nbcolli_header *h);

/* Adds so many posts to the list: the pool, or farewells. 0: no memory for them all. */
int nbcolli_posts_reserve(nbcoll_context *c, nbcolli_list *list, uint32_t n);

/* This rank has no memory for a message that it owes, or must keep: it is lost to all. They are told when its
 * communicators have broken. */
void nbcolli_starve(const nbcolli_link *on);

/* Sends a header alone. Each link has some posts from its opening. If all are under way, and there is no memory for one
 * more, the peer would wait for ever: this rank then gives itself up (giveup.h). */
void nbcolli_control(nbcolli_link *link, int peer, const nbcolli_header *h);

/* Is there a post for a message that may be left out? */
static inline int nbcolli_control_may(nbcoll_context *c)
{
    return c->controls.first || nbcolli_posts_reserve(c, &c->controls, 1);
}

/* A header from this rank to another of the communicator, with the credits that we owe it. */
static inline nbcolli_header nbcolli_header_to(nbcoll_comm *comm, int rank, nbcolli_type type, uint64_t tag)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    nbcolli_header h = {
        .comm = comm->id, .tag = tag, .source = (uint32_t)comm->rank, .to = (uint32_t)rank, .type = (uint8_t)type};
    h.credits = (uint16_t)peer->pair->owed; /* a peer has no more of them */
    peer->pair->owed -= h.credits;
    return h;
}

/* Sends a header to a rank of the communicator: fills in the receiver, and the credits that we owe it. */
void nbcolli_say(nbcoll_comm *comm, int rank, nbcolli_header what);

/* Answers a message from that peer likewise: the answer is about the same operation. */
void nbcolli_answer(nbcolli_link *link, int peer, const nbcolli_header *m, nbcolli_header what);

/* Joins a REVOKE to that of the operations right before. 0: there is none, or not of the same kind. */
int nbcolli_revoke_joins(nbcolli_header *before, const nbcolli_header *h);

/* Sends a header to every other rank. */
void nbcolli_tell_others(nbcoll_comm *comm, nbcolli_header what);

/* REVOKE of one operation, or LOST for the communicator. `bytes` is as the header says. */
void nbcolli_tell_all(nbcoll_comm *comm, nbcolli_type type, uint64_t tag, nbcoll_status why, int cause, uint64_t bytes);

/* Sends the credits that we owe, if any. Says that none of our sends to it waits any more, if that is so and new to the
 * peer: it need not ask for them. */
void nbcolli_credits_send(nbcolli_link *link, int peer);

/* A message has met its receive, or is refused: its credit goes back. Any message that way carries credits. They go
 * alone when half of them are owed, so that one-way traffic does not stop, or when the peer stalls. */
static inline void nbcolli_credit_back(nbcolli_link *link, int peer)
{
    if (++link->pair[peer].owed > link->pair[peer].most_owed)
        nbcolli_credits_send(link, peer);
}

#endif
