/* SPDX-License-Identifier: BSD-3-Clause
 * The way into and out of a context for every call. Inline: each call goes it. */
#ifndef NBCOLLI_ENGINE_PROGRESS_LOCK_H
#define NBCOLLI_ENGINE_PROGRESS_LOCK_H

#include "submitted.h"
#include "replay.h"
#include "../state/caller.h"
#include "../../host/host.h"
#include "../../host/word.h"

/* ---- beside a driver --------------------------------------------------------------------------------------------- */

/* Does a driver run the context, and not on this thread? Then a call leaves the passes to it. Read without the lock,
 * the driver may just have ended: it wakes sleeping waits then. */
static inline int nbcolli_is_driven(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.state, memory_order_relaxed) != NBCOLLI_DRIVE_NONE && /* see above */
           atomic_load_explicit(&c->driven.runner, memory_order_relaxed) != nbcolli_holder(c); /* only we store ours */
}

/* Are there steps for a call of the program's to run? */
static inline int nbcolli_driven_has_steps(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.left, memory_order_relaxed) >> NBCOLL_LANE_CALLER & 1; /* a look */
}

/* Wakes the waits that sleep: they look again. */
static inline void nbcolli_driven_tell(nbcoll_context *c)
{
    /* seq_cst, both: a wait counts itself before it looks at the word again and sleeps */
    atomic_fetch_add(&c->driven.news, 1);
    if (atomic_load(&c->driven.sleepers))
        nbcolli_word_wake(&c->driven.news);
}

/* ---- in and out -------------------------------------------------------------------------------------------------- */

#define NBCOLLI_SPINS 5000u /* looks before the first yield */

/* Takes the lock where any thread may come, or returns 0: also for a thread that comes from inside the caller's
 * side. */
static inline int nbcolli_try_lock_shared(nbcoll_context *c)
{
    uintptr_t nobody = 0, me = nbcolli_holder(c);

    if (atomic_load_explicit(&c->caller, memory_order_relaxed) == me) /* only we store our mark */
        return 0;
    /* seq_cst: sees what the last holder did; comes after a handing over (see unlock) */
    return atomic_compare_exchange_strong_explicit(&c->lock, &nobody, me, memory_order_seq_cst, memory_order_seq_cst);
}

/* Contexts of one thread have the lock, too: it keeps out calls from inside host functions. The holder takes operations
 * that other threads have handed over. */
NBCOLLI_ALWAYS_INLINE int nbcolli_try_lock(nbcoll_context *c)
{
    if (c->flags & NBCOLL_ANY_THREAD) {
        if (!nbcolli_try_lock_shared(c))
            return 0;
        if (c->driven.driver)
            c->driven.driver->enter(c);
        if (nbcolli_is_handed(c))
            nbcolli_take_handed(c);
        return 1;
    }
    if (!nbcolli_own_try(c))
        return 0;
    if (c->replaying)
        nbcolli_replay_give_way(c);
    return 1;
}

/* Where any thread may come. A start that found the lock taken leaves its operation to the holder: either the holder
 * sees it here, or the start saw the lock free (both are seq_cst). */
void nbcolli_unlock_shared(nbcoll_context *c);

NBCOLLI_ALWAYS_INLINE void nbcolli_unlock(nbcoll_context *c)
{
    if (c->flags & NBCOLL_ANY_THREAD)
        nbcolli_unlock_shared(c);
    else
        nbcolli_own_unlock(c);
}

/* Is this thread inside the library, on this context: does it hold the lock, or the caller's side? Then a host function
 * that the library called has called it back, or a signal handler has interrupted it. Two loads, of words that only
 * this thread sets to its mark and resets: a signal handler may ask, and call if it is not inside. While a `done` or
 * `pause` runs the thread is not inside. */
static inline int nbcolli_is_inside(const nbcoll_context *c)
{
    uintptr_t me = nbcolli_holder(c);
    return atomic_load_explicit(&c->lock, memory_order_relaxed) == me || /* only we store our mark */
           atomic_load_explicit(&c->caller, memory_order_relaxed) == me;
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

/* Between two looks that follow each other at once. */
void nbcolli_lock_relax(void);

/* Between two looks, when sleeping is not (yet) worth it. */
void nbcolli_pause(nbcoll_context *c, uint64_t looks);

/* Enters a context, for a call that must get in. Holders never wait, so this is short. */
NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_enter(nbcoll_context *c)
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

/* Enters the caller's side, for a start; and leaves it: takes handed-over operations at once, unless another thread is
 * inside, which then takes them. */
nbcoll_status nbcolli_enter_caller_shared(nbcoll_context *c);
void nbcolli_leave_caller_shared(nbcoll_context *c);

NBCOLLI_ALWAYS_INLINE nbcoll_status nbcolli_enter_caller(nbcoll_context *c)
{
    return c->flags & NBCOLL_ANY_THREAD ? nbcolli_enter_caller_shared(c) : nbcolli_enter(c);
}

NBCOLLI_ALWAYS_INLINE void nbcolli_leave_caller(nbcoll_context *c)
{
    if (c->flags & NBCOLL_ANY_THREAD) {
        nbcolli_leave_caller_shared(c);
        return;
    }
    nbcolli_request *r = atomic_load_explicit(&c->handed, memory_order_relaxed); /* of one thread */
    if (r)
        nbcolli_take_own(c, r);
    nbcolli_unlock(c);
}

/* Leaves it, with the status of the call. */
static inline nbcoll_status nbcolli_leave(nbcoll_context *c, nbcoll_status status)
{
    nbcolli_unlock(c);
    return status;
}

/* Runs the callbacks of ended requests and releases detached ones, without the lock. */
void nbcolli_report_ended(nbcoll_context *c);

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
