/* SPDX-License-Identifier: BSD-3-Clause */
#include "request.h"

#include "start.h"
#include "wait.h"
#include "../run/fail.h"
#include "../run/pool.h"
#include "../run/queue.h"
#include "../match/agree.h"
#include "../match/ask.h"
#include "../progress/progress.h"
#include "../progress/lock.h"

/* Has it been started, and not ended? The lock is held. */
static int nbcolli_is_active(const nbcolli_request *r)
{
    return nbcolli_state_of(r) == NBCOLLI_REQUEST_ACTIVE;
}

/* ---- one look ---------------------------------------------------------------------------------------------------- */

/* The status for a handle whose request is gone. The lock is held. */
static nbcoll_status nbcolli_request_gone(nbcoll_request request)
{
    return nbcolli_was_reported(request) ? NBCOLL_OK : NBCOLL_ERR_REQUEST;
}

/* The status of a request in this state; a callback reports its end. */
static inline nbcoll_status nbcolli_request_said(const nbcolli_request *r, unsigned state)
{
    if (nbcolli_is_pending(state))
        return NBCOLL_PENDING;
    return nbcolli_is_unreported(state) && !r->done ? r->status : NBCOLL_OK;
}

nbcoll_status nbcolli_peek(nbcoll_request request)
{
    nbcoll_context *c = nbcolli_context_of(request);
    const nbcolli_request *r = c ? nbcolli_request_find(request) : NULL;
    unsigned state = r ? nbcolli_state_of(r) : NBCOLLI_REQUEST_INACTIVE;
    nbcoll_status s = NBCOLL_OK;

    if (c && nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (state != NBCOLLI_REQUEST_INACTIVE)
        return nbcolli_request_said(r, state);
    if (c && !r && (s = nbcolli_enter(c)) == NBCOLL_OK)
        s = nbcolli_leave(c, nbcolli_request_gone(request));
    return s == NBCOLL_OK ? NBCOLL_AGAIN : s;
}

/* The status of the request; if it has ended, reports the end. The lock is held. */
static nbcoll_status nbcolli_take_end(nbcoll_context *c, nbcoll_request *request)
{
    nbcolli_request *r = nbcolli_request_find(*request);
    unsigned state = r ? nbcolli_state_of(r) : NBCOLLI_REQUEST_FREE;
    nbcoll_status s = r ? nbcolli_request_said(r, state) : nbcolli_request_gone(*request);

    if (s == NBCOLL_PENDING || s == NBCOLL_ERR_REQUEST)
        return s;
    if (r && r->persistent) {
        /* Else its callback is about to run, which may start it again */
        if (nbcolli_is_unreported(state) && !r->calling)
            atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_release); /* for its next start */
        return s;
    }
    if (r && !r->calling) /* else it is released after its callback */
        nbcolli_request_release(c, r);
    *request = (nbcoll_request){0};
    return s;
}

/* For a handle that is not null. `passes`: makes passes also if a driver does. */
static __attribute__((noinline)) nbcoll_status nbcolli_test(nbcoll_request *request, int passes)
{
    nbcolli_request *r = nbcolli_entry_of(*request);
    nbcoll_context *c = r->context;
    nbcoll_status s;

    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    int is_pending = nbcolli_is_of(r, request->generation) && nbcolli_is_pending(nbcolli_state_of(r));
    /* A driver makes the passes, and has left no steps to calls; or another thread that is inside advances pending
     * operations. An end is reported once that thread is out: a wait that was woken for it would not be woken again. */
    if (is_pending && ((!passes && nbcolli_is_driven(c) && !nbcolli_driven_has_steps(c)) || !nbcolli_try_lock(c)))
        return nbcolli_is_inside(c) ? NBCOLL_ERR_BUSY : NBCOLL_PENDING;
    if (!is_pending && (s = nbcolli_enter(c)) != NBCOLL_OK)
        return s;
    if (is_pending)
        nbcolli_pass(c);
    int reports;
    do { /* again: callbacks may have ended the request, and a caller that gets PENDING may sleep */
        reports = c->ended != NULL;
        s = nbcolli_leave_reporting(c, nbcolli_take_end(c, request));
    } while (reports && s == NBCOLL_PENDING && nbcolli_enter(c) == NBCOLL_OK);
    return s;
}

/* Reports the end of a request without a callback, in a context of one thread. It reads the outcome again, which saves
 * a register until then. */
static inline nbcoll_status nbcolli_take_own_end(nbcoll_request *request, nbcoll_status s)
{
    nbcolli_request *r = nbcolli_entry_of(*request);

    if (r->persistent)
        atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_relaxed); /* of one thread */
    else {
        *request = (nbcoll_request){0};
        nbcolli_request_retire(r->context, r);
    }
    return s;
}

/* A look of the only thread of a context, at a request without a callback that replays, or has ended. PENDING: it needs
 * passes. AGAIN: it replays, and its line is not there; or enter to see. */
NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_request_look(nbcoll_request *request)
{
    nbcolli_request *r = (nbcolli_request *)request->at;

    /* relaxed, here and below: of one thread */
    if (atomic_load_explicit(&r->generation, memory_order_relaxed) != request->generation || *r->process != 1)
        return NBCOLL_AGAIN;
    const nbcoll_context *c = r->context;
    if (c->replaying == r) {
        nbcoll_status s = nbcolli_replay_look(r);
        return s == NBCOLL_OK ? nbcolli_take_own_end(request, s) : s;
    }
    if ((!r->kept && (r->done || c->flags & NBCOLL_ANY_THREAD)) || c->ended ||
        atomic_load_explicit(&c->lock, memory_order_relaxed))
        return NBCOLL_AGAIN;
    unsigned state = nbcolli_state_of(r);
    if (nbcolli_is_unreported(state))
        return nbcolli_take_own_end(request, r->status);
    return nbcolli_is_pending(state) ? NBCOLL_PENDING : NBCOLL_AGAIN;
}

/* The same with a pass, after a look that said PENDING. */
static __attribute__((noinline)) nbcoll_status nbcolli_own_test(nbcoll_request *request)
{
    nbcolli_request *r = nbcolli_entry_of(*request);
    nbcoll_context *c = r->context;

    nbcolli_own_lock(c);
    if (c->replaying)
        nbcolli_replay_give_way(c);
    nbcolli_pass(c);
    nbcolli_own_unlock(c);
    return !c->ended && nbcolli_is_pending(nbcolli_state_of(r)) ? NBCOLL_PENDING : nbcoll_test(request);
}

__attribute__((noinline)) nbcoll_status nbcoll_test(nbcoll_request *request)
{
    if (!request || !request->at)
        return request ? NBCOLL_OK : NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_request_look(request);
    if (s == NBCOLL_PENDING)
        return nbcolli_own_test(request);
    return s == NBCOLL_AGAIN ? nbcolli_test(request, 0) : s;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Why the request has not ended: it waits for its slot, or for its peers. The lock is held. */
static nbcoll_status nbcolli_request_expired(nbcolli_request *r)
{
    nbcoll_status s = NBCOLL_ERR_TIMEOUT;
    const nbcolli_run *run = r->run, *holder = run;

    if (nbcolli_is_shrink(r))
        nbcolli_note_failure(r->comm, s, nbcolli_shrink_awaited(r), r->comm->taken);
    else if (nbcolli_is_active(r) && nbcolli_is_executed(r)) /* relaxed: orders nothing */
        nbcolli_note_failure(r->comm, s, atomic_load_explicit(&r->executed.awaited, memory_order_relaxed),
                             r->tag ? r->tag : r->comm->taken);
    else if (!run && nbcolli_is_active(r))
        holder = nbcolli_slot_of(r->comm, r->tag)->active;
    if (holder) {
        nbcoll_failure f = nbcolli_awaited(holder);
        if (holder != run)
            f.status = NBCOLL_ERR_NO_SLOT;
        s = f.status;
        nbcolli_note(r->comm, &f);
    }
    return s;
}

/* Cancels it, if it has not ended, and leaves with `s`. `why`: the failure to be found afterwards; null: this one. */
static nbcoll_status nbcolli_cancel(nbcoll_context *c, nbcolli_request *r, const nbcoll_failure *why, nbcoll_status s)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_executor *goes = NULL;

    if (nbcolli_is_active(r) && nbcolli_is_executed(r)) {
        nbcolli_executed_fail(r, 1);
        goes = r->executor->does->go ? r->executor : NULL;
    } else if (nbcolli_is_active(r) && nbcolli_is_shrink(r))
        nbcolli_shrink_cancel(r);
    else if (nbcolli_is_active(r))
        nbcolli_request_fail(r, NBCOLL_ERR_CANCELLED, comm->rank, 1);
    if (why)
        nbcolli_note(comm, why);
    nbcolli_drain(c);
    c->failure = why ? *why : c->failure;
    nbcolli_unlock(c);
    if (goes)
        goes->does->go(goes);
    return s;
}

/* The deadline is over. `leaves`: a blocking call's own request, which is cancelled and releases itself. */
static nbcoll_status nbcolli_wait_expired(nbcoll_context *c, nbcoll_request request, int leaves)
{
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    if (leaves)
        nbcolli_drain(c); /* as nbcoll_cancel */
    nbcolli_request *r = nbcolli_request_find(request);
    if (!r || !leaves)
        return nbcolli_leave(c, r ? nbcolli_request_expired(r) : NBCOLL_ERR_TIMEOUT);
    if (!nbcolli_is_active(r)) /* it has ended meanwhile */
        return nbcolli_leave(c, nbcolli_take_end(c, &request));
    s = nbcolli_request_expired(r);
    nbcoll_failure failure = c->failure; /* the deadline's */
    nbcolli_run_drop(r);
    r->detached = 1;
    if (r->creating)
        r->creating->out = NULL;
    return nbcolli_cancel(c, r, &failure, s);
}

/* Waits for a request that has not ended. `leaves`: as above. */
static __attribute__((noinline)) nbcoll_status nbcolli_wait_on(nbcoll_request *request, uint64_t timeout, int leaves)
{
    nbcoll_context *c = nbcolli_context_of(*request);
    nbcoll_status s = NBCOLL_PENDING;
    nbcolli_waiter w = {0}; /* takes as long as a look */

    while (s == NBCOLL_PENDING) {
        if (!nbcolli_waiter_pause(&w, &c, 1, timeout))
            return nbcolli_wait_expired(c, *request, leaves);
        s = nbcolli_waiter_passes(&w) ? nbcolli_test(request, 1) : nbcoll_test(request);
    }
    nbcolli_waiter_end(&w);
    return s;
}

/* The rest of a wait, after its first look. One that replays is polled before the wait enters, which would make it an
 * ordinary run: while spinning pays, or between yields to the ranks of this core. An executor may poll for its request
 * alone, which is shorter than a pass. */
static __attribute__((noinline)) nbcoll_status nbcolli_wait_longer(nbcoll_request *request, uint64_t timeout,
                                                                   nbcoll_status s, int leaves)
{
    nbcolli_request *r = nbcolli_entry_of(*request);
    nbcoll_context *c = r->context;
    uint64_t looks = nbcolli_takes_turns(c) ? NBCOLLI_REPLAY_YIELDS : NBCOLLI_REPLAY_LOOKS;

    if (!timeout || c->host.pause || (nbcolli_takes_turns(c) && timeout <= NBCOLLI_ROUND))
        looks = 1;
    while (s == NBCOLL_AGAIN && c->replaying == r && --looks > 0) {
        nbcolli_pause(c, looks);
        s = nbcolli_request_look(request);
    }
    if (s == NBCOLL_PENDING && timeout && !(c->flags & NBCOLL_ANY_THREAD) && nbcolli_is_active(r) &&
        nbcolli_is_executed(r) && r->executor->does->await)
        r->executor->does->await(r->executor, r);
    if (s == NBCOLL_PENDING || s == NBCOLL_AGAIN)
        s = nbcoll_test(request);
    return s == NBCOLL_PENDING ? nbcolli_wait_on(request, timeout, leaves) : s;
}

nbcoll_status nbcoll_wait(nbcoll_request *request, uint64_t timeout)
{
    if (!request || !request->at)
        return request ? NBCOLL_OK : NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_request_look(request);
    return s == NBCOLL_PENDING || s == NBCOLL_AGAIN ? nbcolli_wait_longer(request, timeout, s, 0) : s;
}

nbcoll_status nbcolli_wait_or_leave(nbcoll_status started, nbcoll_request *request, uint64_t timeout)
{
    if (started != NBCOLL_OK || !request->at)
        return started;
    return nbcolli_wait_longer(request, timeout, NBCOLL_PENDING, 1);
}

nbcoll_status nbcolli_wait_kept(nbcolli_request *r, uint64_t timeout)
{
    nbcoll_request request = nbcolli_request_handle(r);
    nbcoll_status s = NBCOLL_PENDING;

    if (r->context->replaying == r)
        s = nbcolli_replay_look(r);
    else if (nbcolli_is_unreported(nbcolli_state_of(r)))
        return nbcolli_take_own_end(&request, r->status);
    return s == NBCOLL_OK ? nbcolli_take_own_end(&request, s) : nbcolli_wait_longer(&request, timeout, s, 1);
}

/* ---- the lane START ---------------------------------------------------------------------------------------------- */

/* Makes a pass. PENDING: steps of that lane are left. */
static nbcoll_status nbcolli_started_look(const nbcoll_request *request, nbcoll_context *c)
{
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (!nbcolli_try_lock(c))
        return nbcolli_is_inside(c) ? NBCOLL_ERR_BUSY : NBCOLL_PENDING; /* another thread is advancing it */
    nbcolli_request *r = nbcolli_request_find(*request);
    if (!r)
        return nbcolli_leave(c, nbcolli_request_gone(*request));
    if (nbcolli_starting_left(r))
        nbcolli_pass(c);
    return nbcolli_leave_reporting(c, nbcolli_starting_left(r) ? NBCOLL_PENDING : NBCOLL_OK);
}

nbcoll_status nbcoll_wait_started(const nbcoll_request *request, uint64_t timeout)
{
    if (!request)
        return NBCOLL_ERR_NULL;
    nbcoll_context *c = nbcolli_context_of(*request);
    nbcolli_waiter w = {0};
    nbcoll_status s = c ? nbcolli_started_look(request, c) : NBCOLL_OK;

    while (s == NBCOLL_PENDING && nbcolli_waiter_pause(&w, &c, 1, timeout)) {
        /* Steps do not wake sleepers of a driven context: so this yields, and makes passes. */
        if (nbcolli_is_driven(c) && (nbcolli_takes_turns(c) || w.vain > NBCOLLI_SPINS))
            w.vain = nbcolli_takes_turns(c) ? 1 : NBCOLLI_SPINS;
        s = nbcolli_started_look(request, c);
    }
    nbcolli_waiter_end(&w);
    return s == NBCOLL_PENDING ? NBCOLL_ERR_TIMEOUT : s;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* Enters the context of a request that exists. */
static nbcoll_status nbcolli_enter_request(nbcoll_request request, nbcolli_request **out)
{
    nbcoll_context *c = nbcolli_context_of(request);
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_ERR_REQUEST;
    if (s != NBCOLL_OK)
        return s;
    *out = nbcolli_request_find(request);
    return *out ? NBCOLL_OK : nbcolli_leave(c, NBCOLL_ERR_REQUEST);
}

static __attribute__((noinline)) nbcoll_status nbcolli_start_generally(nbcoll_request *request)
{
    nbcoll_context *c = request ? nbcolli_context_of(*request) : NULL;
    if (!c)
        return request ? NBCOLL_ERR_REQUEST : NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter_caller(c);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_request *r = nbcolli_request_find(*request);
    if (r && nbcolli_state_of(r) == NBCOLLI_REQUEST_INACTIVE)
        return nbcolli_start_over(r->comm, nbcolli_request_go(r));
    nbcolli_leave_caller(c);
    return NBCOLL_ERR_REQUEST;
}

nbcoll_status nbcoll_start(nbcoll_request *request)
{
    nbcolli_request *r = request ? (nbcolli_request *)request->at : NULL;

    /* relaxed: a request with a run is of one thread */
    if (r && r->kept && nbcolli_state_of(r) == NBCOLLI_REQUEST_INACTIVE &&
        atomic_load_explicit(&r->generation, memory_order_relaxed) == request->generation && *r->process == 1 &&
        nbcolli_can_replay(r->context, r->comm))
        return nbcolli_replay_start(r);
    return nbcolli_start_generally(request);
}

nbcoll_status nbcoll_on_done(nbcoll_request request, nbcoll_done *done, void *user)
{
    nbcolli_request *r;
    if (!done)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter_request(request, &r);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_run_drop(r);
    r->done = done;
    r->user = user;
    if (nbcolli_is_unreported(nbcolli_state_of(r)))
        nbcolli_request_end(r->context, r);
    nbcolli_unlock(r->context); /* the next progress calls it */
    return NBCOLL_OK;
}

nbcoll_status nbcoll_cancel(nbcoll_request request)
{
    nbcoll_context *c = nbcolli_context_of(request);
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_ERR_REQUEST;
    if (s != NBCOLL_OK)
        return s;
    nbcolli_drain(c); /* work left by a tick: a communicator whose vote is over */
    nbcolli_request *r = nbcolli_request_find(request);
    return r ? nbcolli_cancel(c, r, NULL, NBCOLL_OK) : nbcolli_leave(c, nbcolli_request_gone(request));
}

/* Does the region overlap these bytes of the receive buffer? */
static int nbcolli_request_overlaps(const nbcolli_run *run, nbcoll_region region, size_t offset, size_t bytes)
{
    if (region.at.buffer == NBCOLL_BUFFER_RECV_BLOCK) {
        nbcoll_memory block = nbcolli_resolve(run, region);
        region.at.offset = (size_t)((unsigned char *)block.at - run->base[NBCOLL_BUFFER_RECV]);
        region.bytes = block.bytes;
    } else if (region.at.buffer != NBCOLL_BUFFER_RECV)
        return 0;
    return region.bytes && region.at.offset < offset + bytes && offset < region.at.offset + region.bytes;
}

/* Bytes of the receive buffer: as the call says, whether steps write them or not; for a program's own schedule, those
 * that it touches. */
static size_t nbcolli_recv_extent(const nbcolli_request *r)
{
    size_t extent = r->schedule ? r->schedule->extent[NBCOLL_BUFFER_RECV] : 0; /* a shrink has none */

    if (r->extent != NBCOLLI_AS_COUNTED)
        return r->extent > extent ? r->extent : extent;
    for (int i = 0; i < r->comm->size; i++) {
        nbcoll_memory block = nbcolli_block(&r->blocks[1], r->recv, (size_t)i);
        size_t end = (size_t)((unsigned char *)block.at - (unsigned char *)r->recv) + block.bytes;
        extent = end > extent ? end : extent;
    }
    return extent;
}

static int nbcolli_executed_has_arrived(const nbcolli_request *r, size_t offset, size_t bytes)
{
    const nbcolli_executor_table *does = r->executor->does;
    return does->has_arrived && does->has_arrived(r->executor, r, offset, bytes);
}

/* Has every step that writes there ended? */
static nbcoll_status nbcolli_region_final(const nbcolli_run *run, size_t offset, size_t bytes)
{
    const nbcoll_schedule *s = run->schedule;

    if (s->inner && run->before[s->inner] != NBCOLLI_STEP_OVER && /* no step tells what that writes */
        !nbcolli_executed_has_arrived(run->request, offset, bytes))
        return NBCOLL_PENDING;
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++) {
        const nbcoll_step_view *v = &s->step[i];
        if (nbcolli_is_step_over(run, i))
            continue;
        if (nbcolli_request_overlaps(run, v->write, offset, bytes))
            return NBCOLL_PENDING;
        for (uint32_t p = 0; v->kind == NBCOLL_CALL && p < v->part_count; p++)
            if (v->parts[p].number && nbcolli_request_overlaps(run, v->parts[p].region, offset, bytes))
                return NBCOLL_PENDING;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcoll_arrived(nbcoll_request request, size_t offset, size_t bytes)
{
    nbcolli_request *r;
    nbcoll_status s = nbcolli_enter_request(request, &r);
    if (s != NBCOLL_OK)
        return s;
    size_t extent = nbcolli_recv_extent(r);
    if (offset > extent || bytes > extent - offset)
        s = NBCOLL_ERR_COUNT;
    else if (r->run)
        s = nbcolli_region_final(r->run, offset, bytes);
    else if (nbcolli_is_active(r) && nbcolli_is_executed(r))
        s = nbcolli_executed_has_arrived(r, offset, bytes) ? NBCOLL_OK : NBCOLL_PENDING;
    else if (r->status != NBCOLL_OK)
        s = NBCOLL_PENDING; /* it never will */
    return nbcolli_leave(r->context, s);
}

nbcoll_status nbcoll_request_free(nbcoll_request *request)
{
    nbcolli_request *r;
    if (!request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter_request(*request, &r);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_context *c = r->context;
    nbcolli_caller_lock(c);
    if (!r->persistent)
        s = NBCOLL_ERR_REQUEST;
    else if (nbcolli_is_pending(nbcolli_state_of(r)) || r->calling)
        s = NBCOLL_ERR_BUSY;
    else {
        nbcolli_request_retire(c, r);
        *request = (nbcoll_request){0};
    }
    nbcolli_caller_unlock(c);
    return nbcolli_leave(c, s);
}
