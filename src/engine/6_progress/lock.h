/* SPDX-License-Identifier: BSD-3-Clause
 * The way into and out of a context for every call. Inline: each call goes it. */
#ifndef NBCOLLI_ENGINE_PROGRESS_LOCK_H
#define NBCOLLI_ENGINE_PROGRESS_LOCK_H

#include <errno.h>

#include "../1_state/context.h"

#define NBCOLLI_SPINS 5000u /* looks before the first yield */

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

/* Around a host function that is called without the lock: till it returns the context cannot be freed. */
static inline void nbcolli_go_outside(nbcoll_context *c)
{
    atomic_fetch_add_explicit(&c->outside, 1, memory_order_relaxed); /* before an unlock, or by the only thread */
}

static inline void nbcolli_come_back(nbcoll_context *c)
{
    atomic_fetch_sub_explicit(&c->outside, 1, memory_order_release); /* the last touch, before it is freed */
}

/* Between two looks, when sleeping is not (yet) worth it. */
void nbcolli_pause(nbcoll_context *c, uint64_t looks);

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

/* Out of it, with the status of the call. */
static inline nbcoll_status nbcolli_leave(nbcoll_context *c, nbcoll_status status)
{
    nbcolli_unlock(c);
    return status;
}

#endif
