/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that carry out calls of their communicator: they move when something that stands ready ends, told by its
 * callback, and when a call is started. Those that agents move do so when a pass, or who is about to sleep, sees that
 * their node's store has something for this rank. */
#include "../engine/run/queue.h"
#include "../engine/progress/lock.h"
#include "../reduce/reduce.h"
#include "relays_agents.h"

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* What has been started since waits behind the others. */
static void nbcolli_relays_take_started(nbcoll_relays *r)
{
    for (nbcolli_request *q = nbcolli_relays_started_calls(r), *next; q; q = next) {
        next = q->next;
        q->next = NULL;
        if (r->waiting)
            r->last_waiting->next = q;
        else
            r->waiting = q;
        r->last_waiting = q;
    }
}

/* relaxed: who cancels it lets us go */
static int nbcolli_relays_is_revoked(const nbcolli_request *q)
{
    return atomic_load_explicit(&q->executed.is_cancelled, memory_order_relaxed);
}

/* Those that are under way end. One that waits has its turn first, since others have its number; before the relays are
 * there, none has. */
static void nbcolli_relays_revoke_calls(nbcoll_relays *r)
{
    for (uint32_t i = 0; i < r->config.at_once; i++) {
        nbcolli_relays_operation *o = &r->operation[i];
        if (o->request && o->missing && nbcolli_relays_is_revoked(o->request))
            nbcolli_relays_revoke(r, o, 1);
    }
    for (const nbcolli_request *q = r->waiting; q && r->status == NBCOLL_PENDING; q = q->next)
        r->cancelled_early |= nbcolli_relays_is_revoked(q);
}

/* The next one that waits: for room, or for the opening, unless it is cancelled before that. 0: there is none, or it
 * goes on waiting. */
static int nbcolli_relays_begin_call(nbcoll_relays *r)
{
    nbcolli_request *q = r->waiting;
    uint64_t number;
    if (!q || r->operation[(r->last + 1) % r->config.at_once].request) /* that one is to be told first */
        return 0;
    nbcolli_relays_operation o = {.recv = q->recv, .bytes = q->executed.bytes, .root = q->executed.root, .request = q};
    nbcolli_request *next = q->next;
    nbcoll_status s = NBCOLL_ERR_CANCELLED;
    o.is_revoked = o.tells = nbcolli_relays_is_revoked(q); /* then it begins and ends at once */
    if (r->status != NBCOLL_PENDING || !r->cancelled_early)
        s = nbcolli_relays_begin_operation(r, o, q->executed.root < 0 && !o.is_revoked ? q->send : NULL, &number);
    if (s == NBCOLL_ERR_BUSY)
        return 0;
    r->waiting = next;
    if (s != NBCOLL_OK)
        nbcolli_relays_end_call(r, q, s);
    return 1;
}

/* Whose block has not come: what a deadline says. Ranks, once passed over, are not looked at again. */
static void nbcolli_relays_await_block(nbcoll_relays *r, nbcolli_relays_operation *o)
{
    int rank = o->root < 0 ? o->first : o->root;
    while (o->root < 0 && rank < r->ranks && (rank == r->rank || o->come[rank] == o->need))
        rank++;
    o->first = rank;
    if (rank == r->ranks || rank == r->rank) /* its own is held back: others have no room */
        rank = -1;
    atomic_store_explicit(&o->request->executed.awaited, rank, memory_order_relaxed); /* for itself */
}

/* Those that have ended are told, and make room. */
static int nbcolli_relays_end_calls(nbcoll_relays *r)
{
    int ended = 0;
    for (uint32_t i = 0; i < r->config.at_once; i++) {
        nbcolli_relays_operation *o = &r->operation[i];
        if (!o->request)
            continue;
        if (o->missing && r->status == NBCOLL_OK) {
            nbcolli_relays_await_block(r, o);
            continue;
        }
        nbcolli_request *q = o->request;
        nbcoll_status s = o->missing ? r->status : o->is_revoked ? NBCOLL_ERR_CANCELLED : NBCOLL_OK;
        if (o->failed != NBCOLL_OK)
            s = o->failed;
        else if (s == NBCOLL_OK && nbcolli_packs(q->blocks[1].type))
            s = nbcolli_relays_unpack(r, o);
        o->missing = 0;
        o->request = NULL;
        nbcolli_relays_end_call(r, q, s);
        ended = 1;
    }
    return ended;
}

/* ---- moving ---------------------------------------------------------------------------------------------------- */

/* 1: who waits for the opening, or for the closing, is to look again. */
static int nbcolli_relays_turn(nbcoll_relays *r)
{
    nbcolli_relays_take_started(r);
    /* relaxed, both: who sets one lets us go */
    if (atomic_exchange_explicit(&r->has_cancelled, 0, memory_order_relaxed))
        nbcolli_relays_revoke_calls(r);
    if (r->status == NBCOLL_PENDING && atomic_load_explicit(&r->gives_up, memory_order_relaxed)) /* as above */
        r->kind->give_up(r);
    r->kind->move(r);
    nbcoll_status ended = (nbcoll_status)atomic_load_explicit(&r->ended, memory_order_relaxed);
    if (ended == NBCOLL_OK && r->cancelled_early)
        ended = NBCOLL_ERR_CANCELLED;
    if (r->status == NBCOLL_OK)
        r->status = ended;
    int moved = 1;
    while (moved) {
        moved = nbcolli_relays_end_calls(r);
        while (nbcolli_relays_begin_call(r))
            moved = 1;
    }
    int ends = r->is_closing || (r->status != NBCOLL_OK && r->status != NBCOLL_PENDING); /* broken, all are told */
    int is_over = ends && r->kind->are_over(r) && r->is_closing;
    unsigned was = atomic_exchange_explicit(&r->shown, r->status, memory_order_relaxed); /* for itself */
    if (is_over)
        atomic_store_explicit(&r->is_over, 1, memory_order_release); /* nothing starts any more */
    return is_over || (was == NBCOLL_PENDING && r->status != NBCOLL_PENDING);
}

/* By who has counted from 0. acq_rel, there and here: each who moves sees what the one before did, and what whoever
 * wants it to move did. */
static void nbcolli_relays_turns(nbcoll_relays *r)
{
    nbcoll_context *context = r->context;
    uint32_t wanted = 1;
    int is_news = 0;
    do
        is_news |= nbcolli_relays_turn(r);
    while (
        !atomic_compare_exchange_strong_explicit(&r->wanted, &wanted, 0, memory_order_acq_rel, memory_order_acquire));
    if (is_news) /* the relays may have been freed */
        nbcolli_driven_tell(context);
}

static void nbcolli_relays_go(nbcolli_executor *e)
{
    nbcoll_relays *r = nbcolli_relays_of(e);
    if (!atomic_fetch_add_explicit(&r->wanted, 1, memory_order_acq_rel)) /* see above */
        nbcolli_relays_turns(r);
}

/* In a callback, whose last touch of the relays it is. */
static void nbcolli_relays_told(nbcoll_relays *r)
{
    nbcolli_relays_go(&r->executor);
    atomic_fetch_sub_explicit(&r->inside, 1, memory_order_release); /* then they may be freed */
}

static void nbcolli_relays_place_ended(nbcoll_request request, nbcoll_status s, void *user)
{
    nbcolli_relays_place *at = user;
    nbcoll_relays *r = at->of;
    (void)request;
    atomic_fetch_add_explicit(&r->inside, 1, memory_order_relaxed); /* shown by the next two */
    if (s != NBCOLL_OK && nbcolli_relays_heeds_end(r, at))
        atomic_store_explicit(&r->ended, nbcolli_relays_place_status(s), memory_order_relaxed);
    atomic_store_explicit(&at->is_out, 0, memory_order_release); /* shows what has come */
    nbcolli_relays_told(r);
}

/* Something has come before its operation ends. Counted when that was said. */
static void nbcolli_relays_noticed(nbcoll_request request, nbcoll_status s, void *user)
{
    (void)request, (void)s;
    nbcolli_relays_told(user);
}

/* The store has something: who saw that has counted it, and the move, too. */
static void nbcolli_relays_store_noticed(nbcoll_request request, nbcoll_status s, void *user)
{
    nbcoll_relays *r = user;
    (void)request, (void)s;
    nbcolli_relays_turns(r);
    atomic_fetch_sub_explicit(&r->inside, 1, memory_order_release); /* then they may be freed */
}

/* Looks at what only a mover may touch: it counts itself as one, and stays that if there is something, or if another
 * one has left the move to it meanwhile. */
static nbcolli_sight nbcolli_relays_store_look(nbcolli_executor *e, int poller)
{
    nbcoll_relays *r = nbcolli_relays_of(e);
    uint32_t wanted = 0;
    /* acq_rel: as who moves */
    if (!atomic_compare_exchange_strong_explicit(&r->wanted, &wanted, 1, memory_order_acq_rel, memory_order_relaxed))
        return NBCOLLI_SIGHT_ELSEWHERE;
    nbcolli_sight sight = nbcolli_relays_store_sight(r, poller);
    wanted = 1;
    if (sight != NBCOLLI_SIGHT_MOVES &&
        atomic_compare_exchange_strong_explicit(&r->wanted, &wanted, 0, memory_order_acq_rel, memory_order_relaxed))
        return sight;
    atomic_fetch_add_explicit(&r->inside, 1, memory_order_relaxed); /* taken back by the callback */
    nbcolli_request_end(r->context, r->notice);
    return NBCOLLI_SIGHT_MOVES;
}

static void nbcolli_relays_opened(nbcoll_request request, nbcoll_status s, void *user)
{
    nbcoll_relays *r = user;
    (void)request;
    atomic_fetch_add_explicit(&r->inside, 1, memory_order_relaxed); /* shown by the next two */
    atomic_store_explicit(&r->opened, s, memory_order_release);     /* shows the communicators */
    nbcolli_relays_told(r);
}

nbcoll_status nbcolli_relays_open_executor(nbcoll_relays *r)
{
    static const nbcolli_executor_table does = {.takes = nbcolli_relays_take_call,
                                                .open = nbcolli_relays_open_call,
                                                .start = nbcolli_relays_start_call,
                                                .go = nbcolli_relays_go,
                                                .cancel = nbcolli_relays_cancel_call,
                                                .look = nbcolli_relays_store_look}; /* if agents move them */
    if (!nbcolli_relays_carry(r))
        return NBCOLL_OK;
    r->executor.does = &does;
    r->executor.comm = r->comm;
    r->heeds = nbcolli_relays_place_ended;
    atomic_store_explicit(&r->shown, NBCOLL_PENDING, memory_order_relaxed);  /* for itself */
    atomic_store_explicit(&r->opened, NBCOLL_PENDING, memory_order_relaxed); /* no callback yet */
    return nbcolli_relays_open_notice(r, r->config.by_agents ? nbcolli_relays_store_noticed : nbcolli_relays_noticed);
}

nbcoll_status nbcolli_relays_take_calls(nbcoll_relays *r)
{
    nbcoll_status s = nbcolli_relays_accept_calls(r);
    if (r->agents) /* a look finds what ends there */
        return s;
    return s == NBCOLL_OK ? nbcoll_on_done(r->opening, nbcolli_relays_opened, r) : s;
}

nbcoll_status nbcolli_relays_look(nbcoll_relays *r)
{
    nbcoll_progress(r->context);
    nbcolli_relays_go(&r->executor);
    return (nbcoll_status)atomic_load_explicit(&r->shown, memory_order_relaxed); /* for itself */
}
