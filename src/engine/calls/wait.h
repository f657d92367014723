/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: spinning, yielding, sleeping on wakeups; or the host's hook for them. */
#ifndef NBCOLLI_ENGINE_CALLS_WAIT_H
#define NBCOLLI_ENGINE_CALLS_WAIT_H

#include "../state/context.h"
#include "../../host/word.h"

/* Passes some time between two looks: spin, then yield, then sleep; from the beginning again when data has moved, since
 * the next piece is near then, and going to sleep may stop the core that copies it (../../host/wakeup.h). Returns 0
 * when `timeout`, from the first pause on, is over. Where ranks take turns on a core a yield hands the core to another
 * one, unless each has a scheduling group of its own (login sessions, containers): then it returns at once, and only a
 * sleep lets the others run. So after a few yields that did not switch the thread away it sleeps. */
typedef struct nbcolli_waiter {
    uint64_t deadline, looks;
    uint64_t vain;      /* looks since something has moved, by which it spins, yields or sleeps */
    long switches; /* of this thread, some yields ago */
    int in_vain;

    /* Where a driver runs the context. */
    nbcoll_context *at; /* at its last pause: the first context, */
    size_t among;       /* of so many contexts */
    uint32_t seen;      /* the sum of their `news` before the last look */
    nbcoll_context *helps; /* it counts as a helper there: it makes the passes, not the driver; null: nowhere */
    void (*helps_no_more)(struct nbcolli_waiter *waiter); /* the driver's, while it helps */
    /* Has the awaited event come? Asked after arming: later arrivals end the sleep; if they would not, it sets
     * `longest`. Null: the wait is for operations of the context. */
    int (*has_come)(struct nbcolli_waiter *waiter);
    void *user;
    uint64_t longest; /* ns: a sleep; 0: as long as others */

    uint8_t has_others; /* there are contexts beside those on which it sleeps */
    uint8_t slept; /* it will not help any more */
    uint8_t stale; /* its sleep timed out: the driver may be held up, and the next look is a pass */
} nbcolli_waiter;

#define NBCOLLI_SHORT_SLEEP 1000000u         /* ns: if another thread may take our wake-up */
#define NBCOLLI_SLEEP_ON NBCOLLI_WORDS_MOST /* contexts on which a waiter sleeps; with more its sleeps are short */

/* Clock and hooks are the first context's. A waiter on one context makes passes in its driver's place until it
 * sleeps. */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout);

/* Is the next look of a waiter in a driven context to be a pass? */
static inline int nbcolli_waiter_passes(const nbcolli_waiter *w)
{
    return w->helps != NULL || w->stale;
}

/* The wait is over; also done by a pause for which there is no time. */
static inline void nbcolli_waiter_end(nbcolli_waiter *w)
{
    if (w->helps)
        w->helps_no_more(w);
}

#endif
