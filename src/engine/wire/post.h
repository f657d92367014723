/* SPDX-License-Identifier: BSD-3-Clause
 * Handing posts to transports, and the backlog of those refused for now. Inline: the way of every message. */
#ifndef NBCOLLI_ENGINE_WIRE_POST_H
#define NBCOLLI_ENGINE_WIRE_POST_H

#include "../state/context.h"

/* Notes what has happened to a rank. The communicators learn of it from the drain. */
void nbcolli_mark_lost(nbcolli_link *link, int peer, nbcolli_loss how);

/* Takes back a post that waits there. */
void nbcolli_backlog_remove(nbcolli_post *post);

/* Where a post is, as the transport has said. */
void nbcolli_post_is(nbcolli_post *post, nbcoll_posted said);

/* Asks the transport for a post that is lent, once. That it comes back cancelled then says nothing of its peer. */
void nbcolli_post_recall(nbcolli_post *post);

/* Hands a message to its transport; where it then is stands in the post. It is tried once even with a peer that is lost
 * to us: we may not be lost to it, and then it waits for our answers. */
static inline void nbcolli_post_send(nbcolli_post *post)
{
    nbcolli_link *link = post->link;
    nbcolli_post_is(post, link->transport.post(link->endpoint, post->peer, &post->wire, post->payload, post->bytes,
                                               &post->work));
}

#endif
