/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include "created.h"
#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../run/fail.h"
#include "../run/pool.h"
#include "../run/queue.h"
#include "../run/run.h"
#include "../run/step.h"
#include "../comm/executors.h"
#include "../match/agree.h"
#include "../match/ask.h"
#include "../match/news.h"
#include "../match/match.h"
#include "../match/operations.h"
#include "../../host/host.h"

/* A get or put could not touch memory of this rank, or of its peer: that ends the operation, and nothing else. The work
 * request has moved nothing, as if it were cancelled. */
static void nbcolli_fault_in(nbcolli_op *op, nbcoll_work *work)
{
    nbcolli_run *run = op->run;
    int is_ours = work->status == NBCOLL_ERR_BUFFER;

    work->status = NBCOLL_ERR_CANCELLED;
    op->post.recalled = 1;
    nbcolli_run_fail(run, NBCOLL_ERR_FAULT, is_ours ? run->comm->rank : run->schedule->step[op->step].peer, 1);
}

void nbcolli_work_in(nbcolli_link *link, nbcoll_work *work)
{
    nbcolli_post *post = (nbcolli_post *)(void *)work;
    int is_fault = work->status == NBCOLL_ERR_BUFFER || work->status == NBCOLL_ERR_FAULT;

    nbcolli_list_leave(&post->item);
    if (post->op && is_fault)
        nbcolli_fault_in(post->op, work);
    if (work->status == NBCOLL_OK || (work->status == NBCOLL_ERR_CANCELLED && post->recalled) || is_fault)
        post->where = NBCOLLI_FREE;
    else {
        nbcolli_mark_lost(link, post->peer,
                          work->status == NBCOLL_ERR_PEER_LOST ? nbcolli_loss_of(link, post->peer) : NBCOLLI_CUT);
        post->where = NBCOLLI_STUCK;
    }
    if (post->op)
        nbcolli_answered(post->op);
    else
        nbcolli_control_is(post);
}

static void nbcolli_gone_in(nbcolli_link *link, const nbcoll_completions *found)
{
    int ranks = link->endpoint->ranks;

    if (found->lost >= 0 && found->lost < ranks) {
        nbcolli_loss how = nbcolli_loss_of(link, found->lost);
        nbcolli_mark_lost(link, found->lost, how == NBCOLLI_DEAD ? NBCOLLI_DEAD | NBCOLLI_OVER : how);
        if (how != NBCOLLI_DEAD)
            nbcolli_give_up(link, found->lost);
    }
    if (found->departed >= 0 && found->departed < ranks)
        nbcolli_mark_lost(link, found->departed, NBCOLLI_DEPARTED | NBCOLLI_OVER);
}

#define NBCOLLI_REFUSALS 64u /* in a pass; the rest of the backlog waits for the next one */

void nbcolli_backlog_retry(nbcolli_link *link)
{
    const nbcolli_post *again = NULL; /* the first that is refused again: all behind it have been tried */

    for (uint32_t refusals = 0; refusals < NBCOLLI_REFUSALS;) {
        nbcolli_post *post = nbcolli_post_of(link->backlog.first);
        if (!post || post == again)
            return;
        nbcolli_backlog_remove(post);
        if (post->op && nbcolli_op_copies(post->op))
            nbcolli_op_copy(post->op);
        else
            nbcolli_post_send(post);
        if (!post->op)
            nbcolli_control_is(post);
        if (post->where == NBCOLLI_BACKLOG && refusals++ == 0)
            again = post;
        else if (post->op && (post->where == NBCOLLI_FREE || post->where == NBCOLLI_STUCK))
            nbcolli_answered(post->op);
    }
}

/* Tells every communicator that this rank has given itself up, then which members are lost, then which have left: they
 * may have left because of the losses. */
static void nbcolli_bury(nbcolli_link *link)
{
    link->losses = 0;
    if (link->home->first != link->home)
        nbcolli_spread_losses(link);
    for (uint32_t i = 0; i < NBCOLLI_COMM_BUCKETS; i++)
        for (nbcoll_comm *comm = link->home->bucket[i]; comm; comm = comm->next) {
            if (link->starved)
                nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->taken);
            for (int n = 0; n < 2 * comm->size; n++) {
                const nbcolli_peer *peer = &comm->peer[n % comm->size];
                int loss = peer->link == link ? link->loss[peer->address] & NBCOLLI_DEAD : NBCOLLI_HERE;
                if (n < comm->size ? loss & NBCOLLI_CUT : loss == NBCOLLI_DEPARTED)
                    nbcolli_member_gone(comm, n % comm->size);
            }
        }
}

void nbcolli_take_slot(nbcolli_request *r)
{
    if (!r->run) {
        nbcolli_caller_lock(r->context);
        r->run = nbcolli_run_arm(r);
        nbcolli_caller_unlock(r->context);
    }
    if (r->run)
        nbcolli_activate(r->run);
    else
        nbcolli_request_fail(r, NBCOLL_ERR_MEMORY, r->comm->rank, 1);
}

/* Gives a free slot to the next operation that waits for it. Without memory for its run the operation ends, on all
 * ranks. */
static void nbcolli_slot_fill(nbcolli_slot *slot)
{
    nbcoll_comm *comm = slot->comm;
    nbcolli_request *r = nbcolli_first_waiting(slot);

    slot->comm = NULL;
    if (!r || slot->active) /* a start has the slot, or all that waited have failed */
        return;
    nbcolli_list_leave(&r->queued);
    nbcolli_take_slot(r);
    if (!slot->active)
        nbcolli_slot_free(comm, slot);
}

/* Tells communicators, and shrinks, what has happened to ranks. Are there more losses? An endpoint may so learn of some
 * from another one, behind it in the list. */
static int nbcolli_losses(nbcoll_context *c)
{
    int losses = 0;

    for (nbcolli_link *link = c->links; link; link = link->next) {
        if (link->losses)
            nbcolli_bury(link);
        if (link->shrinks)
            nbcolli_shrinks_go(link);
    }
    for (const nbcolli_link *link = c->links; link; link = link->next)
        losses |= link->losses;
    return losses;
}

/* Sends what this rank still has to tell others, and notes whether there is news for later drains. */
static void nbcolli_news_left(nbcoll_context *c)
{
    c->news = c->executing ? NBCOLLI_NEWS_OF_EXECUTORS : 0;
    for (nbcolli_link *link = c->links; link; link = link->next) {
        nbcolli_say_farewells(link);
        c->news |= link->losses || link->shrinks || link->untold ? NBCOLLI_NEWS : 0;
    }
}

/* Handles what the transports report. Did that move operations? */
NBCOLLI_ALWAYS_INLINE int nbcolli_look_at_links(nbcoll_context *c)
{
    int moved = 0;

    c->driven.looked = 1;
    c->ticks.is_armed = 0;
    for (nbcolli_link *link = c->links; link; link = link->next) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        link->transport.progress(link->endpoint, &found);
        moved |= found.lines || found.arrived || found.completed;
        for (nbcoll_line_arrival *l = found.lines; l; l = l->next)
            nbcolli_line_in(link, l);
        for (nbcoll_arrival *a = found.arrived, *next; a; a = next) {
            next = a->next;
            nbcolli_incoming in = {link, nbcolli_unpack(&a->header), a->payload, a->bytes, NULL, a->source};
            nbcolli_receive(&in);
        }
        for (nbcoll_work *r = found.completed, *next; r; r = next) {
            next = r->next;
            nbcolli_work_in(link, r);
        }
        if ((found.lost & found.departed) >= 0) /* one of them is not -1 */
            nbcolli_gone_in(link, &found);
        if (link->backlog.first) {
            if (link->losses) /* before a failure that follows is taken for the cause */
                nbcolli_bury(link);
            nbcolli_backlog_retry(link);
        }
    }
    return moved;
}

void nbcolli_drain_news(nbcoll_context *c)
{
    for (;;) {
        if (nbcolli_losses(c))
            continue;
        if (c->failing.first) {
            nbcolli_run *run = (nbcolli_run *)c->failing.first;
            nbcolli_list_leave(&run->item);
            nbcolli_settle(run);
        } else if (c->free_slots) {
            nbcolli_slot *slot = c->free_slots;
            c->free_slots = slot->next_free;
            nbcolli_slot_fill(slot);
        } else if (c->made) {
            nbcolli_request *r = c->made;
            c->made = r->next;
            nbcolli_comm_made(r);
        } else if (c->short_sends.first) {
            c->driven.fresh |= nbcolli_look_at_links(c);
            nbcolli_short_sends_go(c);
        } else if (!c->executing || !nbcolli_executors_drain(c))
            break;
    }
    nbcolli_news_left(c);
}

#define NBCOLLI_TURN_BYTES ((ptrdiff_t)NBCOLL_PASS_BYTES / 4)

void nbcolli_go_on(nbcoll_context *c)
{
    ptrdiff_t left = c->bytes_left > NBCOLLI_TURN_BYTES ? c->bytes_left : NBCOLLI_TURN_BYTES;

    while (c->delayed.first && left > 0) {
        ptrdiff_t turn = left < NBCOLLI_TURN_BYTES || c->delayed.count == 1 ? left : NBCOLLI_TURN_BYTES;
        c->bytes_left = turn;
        nbcolli_run_go_on((nbcolli_run *)c->delayed.first);
        left -= turn - c->bytes_left;
    }
    c->bytes_left = left;
}

int nbcolli_pass(nbcoll_context *c)
{
    c->bytes_left = NBCOLL_PASS_BYTES;
    int moved = nbcolli_look_at_links(c);
    if (c->watched.first)
        moved |= nbcolli_look_again(c, NBCOLLI_LOOKS);
    if (c->passes_left-- == 0)
        nbcolli_look_at_clock(c, NBCOLLI_ROUND_SLOTS);
    nbcolli_drain(c);
    if (c->delayed.first) {
        nbcolli_go_on(c);
        nbcolli_drain(c);
        moved = 1;
    }
    if (c->executors.first)
        moved |= nbcolli_executors_look(c, -1);
    return moved;
}
