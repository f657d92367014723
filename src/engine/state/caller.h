/* SPDX-License-Identifier: BSD-3-Clause
 * The two sides of a context. The caller's side is what a start touches: the request table, the pools of runs, the
 * schedules and their cache, a communicator's next tag. All else is progress's, under the context's lock. A start hands
 * its operation over by one word (context.handed); whoever advances the context next takes it from there.
 *
 * In a context of one thread the context's lock covers both sides. In one of any threads the caller's side has a lock
 * of its own, which is held for a few instructions, or while a schedule is built, and never by one who waits: so a
 * start need not wait for a thread that progresses. Who holds the context's lock may take the caller's; never the
 * other way round. */
#ifndef NBCOLLI_ENGINE_STATE_CALLER_H
#define NBCOLLI_ENGINE_STATE_CALLER_H

#include <errno.h>
#include <sched.h>

#include "context.h"

/* The mark of the thread that takes a lock: an address that differs by thread, without a thread function. */
static inline uintptr_t nbcolli_holder(const nbcoll_context *c)
{
    return c->flags & NBCOLL_ANY_THREAD ? (uintptr_t)&errno : 1;
}

/* The lock of a context of one thread. A signal handler sees it set around all work inside. */
static inline void nbcolli_own_lock(nbcoll_context *c)
{
    atomic_store_explicit(&c->lock, 1, memory_order_relaxed); /* of one thread */
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void nbcolli_own_unlock(nbcoll_context *c)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&c->lock, 0, memory_order_relaxed); /* of one thread */
}

/* Takes it, or returns 0 where a function of the host's, called with it, has called back. */
static inline int nbcolli_own_try(nbcoll_context *c)
{
    if (atomic_load_explicit(&c->lock, memory_order_relaxed)) /* of one thread */
        return 0;
    nbcolli_own_lock(c);
    return 1;
}

/* One look at the lock of the caller's side, where any thread may come. */
static inline int nbcolli_caller_try(nbcoll_context *c)
{
    uintptr_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(&c->caller, &nobody, nbcolli_holder(c), memory_order_acquire,
                                                   memory_order_relaxed); /* acquire: sees what the last holder did */
}

/* The caller's side, for a holder of the lock: without the host's pause, which could call the library. */
static inline void nbcolli_caller_lock(nbcoll_context *c)
{
    while (c->flags & NBCOLL_ANY_THREAD && !nbcolli_caller_try(c))
        if (!c->host.pause) /* a host with this hook wants no thread function called */
            sched_yield();
}

static inline void nbcolli_caller_unlock(nbcoll_context *c)
{
    if (c->flags & NBCOLL_ANY_THREAD)
        atomic_store_explicit(&c->caller, 0, memory_order_release); /* shows it to the next holder */
}

#endif
