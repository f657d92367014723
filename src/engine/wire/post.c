/* SPDX-License-Identifier: BSD-3-Clause
 * Handing posts to transports, and the backlog of those refused for now: see post.h. */
#include "post.h"

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

static void nbcolli_backlog_add(nbcolli_post *post)
{
    nbcolli_link *link = post->link;

    post->where = NBCOLLI_BACKLOG;
    post->next = NULL;
    post->at = link->backlog_end;
    *post->at = post;
    link->backlog_end = &post->next;
}

void nbcolli_backlog_remove(nbcolli_post *post)
{
    *post->at = post->next;
    *(post->next ? &post->next->at : &post->link->backlog_end) = post->at;
    post->at = NULL;
    post->where = NBCOLLI_FREE;
}

void nbcolli_post_is(nbcolli_post *post, nbcoll_posted said)
{
    switch (said) {
    case NBCOLL_POST_DONE:
        post->where = NBCOLLI_FREE;
        break;
    case NBCOLL_POST_LENT:
        post->where = NBCOLLI_LENT;
        post->recalled = 0;
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

void nbcolli_post_recall(nbcolli_post *post)
{
    if (post->recalled)
        return;
    post->recalled = 1;
    post->link->transport.cancel(post->link->endpoint, &post->work);
}
