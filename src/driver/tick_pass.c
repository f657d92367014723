/* SPDX-License-Identifier: BSD-3-Clause
 * Passes in a signal handler: see tick.h. */
#include "tick.h"

#include "../engine/progress/progress.h"
#include "../engine/wire/control.h"
#include "../engine/wire/unexpected.h"
#include "../engine/run/run.h"
#include "../engine/match/match.h"

#define NBCOLLI_TICK_POSTS 16u /* that a tick wants in the pool, beside one for each rank of the largest link */
#define NBCOLLI_TICK_KEEPS 8u  /* messages of either length, of each link, for which there is room at first */

/* ---- what it needs ----------------------------------------------------------------------------------------------- */

static uint32_t nbcolli_tick_posts(const nbcoll_context *c)
{
    int most = 0;
    for (const nbcolli_link *link = c->links; link; link = link->next)
        most = link->endpoint->ranks > most ? link->endpoint->ranks : most;
    return NBCOLLI_TICK_POSTS + (uint32_t)most;
}

int nbcolli_tick_reserve(nbcoll_context *c)
{
    for (nbcolli_link *link = c->links; link; link = link->next)
        if (!nbcolli_unexpected_reserve(link, NBCOLLI_TICK_KEEPS))
            return 0;
    return nbcolli_posts_reserve(c, &c->controls, nbcolli_tick_posts(c));
}

int nbcolli_tick_is_safe(const nbcoll_context *c)
{
    for (const nbcolli_link *link = c->links; link; link = link->next) {
        const nbcoll_transport *t = &link->transport;
        uint32_t wanted = NBCOLL_SAFE_POST | NBCOLL_SAFE_PROGRESS | (t->bulk ? NBCOLL_SAFE_BULK : 0) |
                          (t->shared ? NBCOLL_SAFE_WAKE : 0) | (t->lines ? NBCOLL_SAFE_LINES : 0);
        if ((t->signal_safe & wanted) != wanted || (t->bulk && t->bulk->deregister_memory))
            return 0;
    }
    return 1;
}

/* So many posts are there for what must be said. */
static int nbcolli_tick_has_posts(const nbcoll_context *c, uint32_t wanted)
{
    return c->controls.count >= wanted;
}

/* What is to be drained is left to a call, but for what executors have, which others move. */
static int nbcolli_tick_has_news(const nbcoll_context *c)
{
    return c->news & NBCOLLI_NEWS;
}

int nbcolli_tick_may_pass(const nbcoll_context *c)
{
    int is_left = nbcolli_tick_has_news(c);
    for (const nbcolli_link *link = c->links; link; link = link->next)
        is_left |= link->transport.progress != link->endpoint->transport->progress;
    return !is_left && c->active && !c->replaying;
}

/* ---- what it leaves ---------------------------------------------------------------------------------------------- */

static nbcolli_link *nbcolli_tick_link_of(const nbcoll_endpoint *ep)
{
    nbcolli_link *link = ep->owner->links;
    while (link->endpoint != ep)
        link = link->next;
    return link;
}

/* In place of the transport's, once: the rest of its last report. */
static void nbcolli_tick_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    nbcolli_link *link = nbcolli_tick_link_of(ep);

    *found = link->held;
    link->transport.progress = ep->transport->progress;
    if (link->transport.wakeup)
        link->wakeup.arm = ep->transport->wakeup->arm;
}

static nbcoll_status nbcolli_tick_arm(nbcoll_endpoint *ep)
{
    (void)ep;
    return NBCOLL_AGAIN;
}

static void nbcolli_tick_hold(nbcolli_link *link, const nbcoll_completions *rest)
{
    link->held = *rest;
    link->transport.progress = nbcolli_tick_progress;
    link->wakeup.arm = nbcolli_tick_arm;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

/* Takes the next thing out of the report, and does it. 0: there is none that it may do. */
static int nbcolli_tick_take(nbcolli_link *link, nbcoll_completions *rest)
{
    nbcoll_context *c = link->context;

    if (nbcolli_tick_has_news(c) || !nbcolli_tick_has_posts(c, nbcolli_tick_posts(c)))
        return 0;
    if (rest->lines) {
        const nbcoll_line_arrival *line = rest->lines;
        if (!nbcolli_line_is_plain(link, line))
            return 0;
        rest->lines = line->next;
        nbcolli_line_in(link, line);
    } else if (rest->arrived) {
        const nbcoll_arrival *a = rest->arrived;
        nbcolli_incoming in = {link, nbcolli_unpack(&a->header), a->payload, a->bytes, NULL, a->source};
        if (!nbcolli_receives_plainly(&in))
            return 0;
        rest->arrived = a->next;
        nbcolli_receive(&in);
    } else if (rest->completed && rest->completed->status == NBCOLL_OK) {
        nbcoll_work *work = rest->completed;
        rest->completed = work->next;
        nbcolli_work_in(link, work);
    } else
        return 0;
    return 1;
}

static void nbcolli_tick_look(nbcolli_link *link)
{
    nbcoll_completions rest = NBCOLL_COMPLETIONS_EMPTY;

    link->transport.progress(link->endpoint, &rest);
    while (nbcolli_tick_take(link, &rest))
        ;
    if (rest.lines || rest.arrived || rest.completed || rest.lost >= 0 || rest.departed >= 0)
        nbcolli_tick_hold(link, &rest);
    else if (link->backlog.first && !nbcolli_tick_has_news(link->context))
        nbcolli_backlog_retry(link);
}

void nbcolli_tick_pass(nbcoll_context *c)
{
    if (!nbcolli_tick_has_posts(c, nbcolli_tick_posts(c)))
        return;
    size_t ended = c->driven.ended;
    c->ticks.is_under_way = 1;
    c->bytes_left = NBCOLL_PASS_BYTES;
    for (nbcolli_link *link = c->links; link; link = link->next)
        nbcolli_tick_look(link);
    if (c->watched.first && !nbcolli_tick_has_news(c))
        nbcolli_look_again(c, NBCOLLI_LOOKS);
    if (c->delayed.first && !nbcolli_tick_has_news(c))
        nbcolli_go_on(c);
    c->ticks.is_under_way = 0;
    c->executed |= c->driven.ended != ended || nbcolli_tick_has_news(c); /* who is about to sleep has not seen it */
}
