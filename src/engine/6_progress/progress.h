/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over a context: what its transports report, what can be sent now, what can settle; and the way into and out
 * of a context for every call. */
#ifndef NBCOLL_INLINE_PROGRESS_H
#define NBCOLL_INLINE_PROGRESS_H

#include <errno.h>

#include "../5_match/match.h"

/* Between two looks, when sleeping is not (yet) worth it. */
void nbcolli_pause(nbcoll_context *c, uint64_t looks);
/* A run for the request, or null without memory. */
nbcolli_run *nbcolli_run_take(nbcolli_request *r);
/* Ends a communicator's creation. */
void nbcolli_comm_made(nbcolli_request *r);
/* Takes the shrinks of an endpoint as far as they can go now. */
void nbcolli_shrinks_go(nbcolli_link *link);
/* Runs the callbacks of ended requests and releases detached ones, without the lock. */
void nbcolli_report_ended(nbcoll_context *c);

/* ---- a pass ---------------------------------------------------------------------------------------------------- */

/* The post of an op is done with, or stuck. */
static inline void nbcolli_op_returned(nbcolli_op *op)
{
    nbcolli_run *run = op->run;

    if (run->status != NBCOLL_OK) {
        nbcolli_to_settle(run);
        return;
    }
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

static inline void nbcolli_work_in(nbcolli_link *link, nbcoll_work *work)
{
    nbcolli_post *post = (nbcolli_post *)(void *)work;

    link->lent--;
    if (work->status == NBCOLL_OK ||
        (work->status == NBCOLL_ERR_CANCELLED && post->op && post->op->run->status != NBCOLL_OK))
        post->where = NBCOLLI_FREE;
    else {
        nbcolli_mark_lost(link, post->peer, work->status == NBCOLL_ERR_PEER_LOST ? NBCOLLI_DEAD : NBCOLLI_CUT);
        post->where = NBCOLLI_STUCK;
    }
    if (post->op)
        nbcolli_op_returned(post->op);
    else
        nbcolli_control_returned(post);
}

static inline void nbcolli_gone_in(nbcolli_link *link, const nbcoll_completions *found)
{
    int ranks = link->endpoint->ranks;

    if (found->lost >= 0 && found->lost < ranks)
        nbcolli_mark_lost(link, found->lost, NBCOLLI_DEAD | NBCOLLI_OVER);
    if (found->departed >= 0 && found->departed < ranks)
        nbcolli_mark_lost(link, found->departed, NBCOLLI_DEPARTED | NBCOLLI_OVER);
}

/* Tries once everything that was refused. */
static inline void nbcolli_backlog_retry(nbcolli_link *link)
{
    nbcolli_post *list = link->backlog, *next;

    link->backlog = NULL;
    link->backlog_end = &link->backlog;
    for (nbcolli_post *post = list; post; post = next) {
        next = post->next;
        post->at = NULL;
        if (post->op && (post->op->phase == NBCOLLI_GETTING || post->op->phase == NBCOLLI_FETCHING))
            nbcolli_op_get(post->op);
        else
            nbcolli_post_send(post);
        if (!post->op)
            nbcolli_control_is(post);
        else if (post->where == NBCOLLI_FREE || post->where == NBCOLLI_STUCK)
            nbcolli_op_returned(post->op);
    }
}

/* Breaks all communicators of a rank that has given itself up. */
static inline void nbcolli_break_all(nbcolli_link *link)
{
    for (uint32_t i = 0; i < NBCOLLI_COMM_BUCKETS; i++)
        for (nbcoll_comm *comm = link->bucket[i]; comm; comm = comm->next)
            nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->next_tag);
}

/* Tells every communicator whose members are lost, then those whose members have left: they may have left because of
 * the losses. */
static inline void nbcolli_bury(nbcolli_link *link)
{
    link->losses = 0;
    if (link->starved)
        nbcolli_break_all(link);
    for (uint32_t i = 0; i < NBCOLLI_COMM_BUCKETS; i++)
        for (nbcoll_comm *comm = link->bucket[i]; comm; comm = comm->next)
            for (int n = 0; n < 2 * comm->size; n++) {
                const nbcolli_peer *peer = &comm->peer[n % comm->size];
                int loss = peer->link == link ? link->loss[peer->address] & NBCOLLI_DEAD : NBCOLLI_HERE;
                if (n < comm->size ? loss & NBCOLLI_CUT : loss == NBCOLLI_DEPARTED)
                    nbcolli_member_gone(comm, n % comm->size);
            }
}

/* Gives a free slot to the next operation that waits for it. Without memory for its run that one ends, on all ranks. */
static inline void nbcolli_slot_fill(nbcolli_slot *slot)
{
    nbcolli_request *r = slot->next ? nbcolli_queue_find(slot->comm, slot->next - 1) : NULL;
    nbcolli_run *run = r ? nbcolli_run_take(r) : NULL;

    if (run) {
        nbcolli_queue_remove(r);
        slot->next = 0;
        nbcolli_activate(run);
    } else if (r)
        nbcolli_queued_fail(r, NBCOLL_ERR_MEMORY, r->comm->rank, 1);
}

/* What has happened to ranks is told to the communicators, and to those that agree on who is left. */
static inline void nbcolli_losses(nbcolli_link *link)
{
    do {
        if (link->losses)
            nbcolli_bury(link);
        if (link->shrinks)
            nbcolli_shrinks_go(link);
    } while (link->losses);
}

/* Works off what handling one thing has made possible elsewhere. */
static inline void nbcolli_drain(nbcoll_context *c)
{
    for (;;) {
        for (nbcolli_link *link = c->links; link; link = link->next)
            if (link->losses || link->shrinks)
                nbcolli_losses(link);
        if (c->failing) {
            nbcolli_run *run = c->failing;
            c->failing = run->next_failing;
            run->listed = 0;
            nbcolli_settle(run);
        } else if (c->free_slots) {
            nbcolli_slot *slot = c->free_slots;
            c->free_slots = slot->next_free;
            slot->listed = 0;
            nbcolli_slot_fill(slot);
        } else if (c->made) {
            nbcolli_request *r = c->made;
            c->made = r->next;
            nbcolli_comm_made(r);
        } else
            break;
    }
    for (nbcolli_link *link = c->links; link; link = link->next)
        if (link->unsaid)
            nbcolli_say_starved(link);
}

#define NBCOLLI_TURN_BYTES ((ptrdiff_t)NBCOLL_PASS_BYTES / 4)

/* Goes on with delayed runs, by turns: with what the pass has left, but one turn in any case, so that operations whose
 * steps are always ready cannot hold them up. */
static inline void nbcolli_go_on(nbcoll_context *c)
{
    ptrdiff_t left = c->bytes_left > NBCOLLI_TURN_BYTES ? c->bytes_left : NBCOLLI_TURN_BYTES;

    while (c->delayed && left > 0) {
        ptrdiff_t turn = left < NBCOLLI_TURN_BYTES ? left : NBCOLLI_TURN_BYTES;
        c->bytes_left = turn;
        nbcolli_run_go_on(c->delayed);
        left -= turn - c->bytes_left;
    }
    c->bytes_left = left;
}

static inline void nbcolli_pass(nbcoll_context *c)
{
    c->bytes_left = NBCOLL_PASS_BYTES;
    for (nbcolli_link *link = c->links; link; link = link->next) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        link->transport.progress(link->endpoint, &found);
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
        if (link->backlog) {
            if (link->losses) /* before what fails now is taken for the cause */
                nbcolli_bury(link);
            nbcolli_backlog_retry(link);
        }
        if (link->untold)
            nbcolli_tell_given_up(link);
    }
    if (c->watched)
        nbcolli_look_again(c);
    nbcolli_count_pass(c);
    nbcolli_drain(c);
    if (c->delayed) {
        nbcolli_go_on(c);
        nbcolli_drain(c);
    }
}

/* ---- in and out ------------------------------------------------------------------------------------------------ */

/* Who takes the lock. An address that each thread has of its own tells threads apart without a thread function. */
static inline uintptr_t nbcolli_holder(const nbcoll_context *c)
{
    return c->flags & NBCOLL_ANY_THREAD ? (uintptr_t)&errno : 1;
}

/* Contexts of one thread have the lock, too: it keeps out calls from inside the host's functions. */
static inline int nbcolli_try_lock(nbcoll_context *c)
{
    uintptr_t nobody = 0;

    if (c->flags & NBCOLL_ANY_THREAD) /* acquire: sees what the last holder did */
        return atomic_compare_exchange_strong_explicit(&c->lock, &nobody, nbcolli_holder(c), memory_order_acquire,
                                                       memory_order_relaxed);
    if (atomic_load_explicit(&c->lock, memory_order_relaxed)) /* relaxed: of one thread */
        return 0;
    atomic_store_explicit(&c->lock, 1, memory_order_relaxed); /* as above */
    return 1;
}

static inline void nbcolli_unlock(nbcoll_context *c)
{
    if (c->flags & NBCOLL_ANY_THREAD)
        atomic_store_explicit(&c->lock, 0, memory_order_release); /* shows it to the next */
    else
        atomic_store_explicit(&c->lock, 0, memory_order_relaxed); /* of one thread */
}

/* Does this thread hold the lock? Then a host function that the library called has called it back. */
static inline int nbcolli_is_inside(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->lock, memory_order_relaxed) == nbcolli_holder(c); /* only we store our mark */
}

/* Into a context, for a call that must get in. Holders never wait, so this is short. */
static inline nbcoll_status nbcolli_enter(nbcoll_context *c)
{
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    for (uint64_t looks = 1; !nbcolli_try_lock(c); looks++) {
        if (nbcolli_is_inside(c))
            return NBCOLL_ERR_BUSY;
        nbcolli_pause(c, looks);
    }
    return NBCOLL_OK;
}

/* Around a host function that is called without the lock: till it returns the context cannot be freed. */
static inline void nbcolli_go_outside(nbcoll_context *c)
{
    atomic_fetch_add_explicit(&c->outside, 1, memory_order_relaxed); /* before an unlock, or by the only thread */
}

static inline void nbcolli_come_back(nbcoll_context *c)
{
    atomic_fetch_sub_explicit(&c->outside, 1, memory_order_release); /* the last touch, before it is freed */
}

/* Out of it, with the status of the call. */
static inline nbcoll_status nbcolli_leave(nbcoll_context *c, nbcoll_status status)
{
    nbcolli_unlock(c);
    return status;
}

/* The same for a call that progresses: callbacks run now. */
static inline nbcoll_status nbcolli_leave_reporting(nbcoll_context *c, nbcoll_status status)
{
    int ended = c->ended != NULL;
    if (ended)
        nbcolli_go_outside(c);
    nbcolli_unlock(c);
    if (ended) {
        nbcolli_report_ended(c);
        nbcolli_come_back(c);
    }
    return status;
}

#endif
