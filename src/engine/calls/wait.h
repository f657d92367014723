/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: spinning, yielding, sleeping on wakeups; or the host's hook for them. */
#ifndef NBCOLLI_ENGINE_CALLS_WAIT_H
#define NBCOLLI_ENGINE_CALLS_WAIT_H

#include "../state/context.h"
#include "../../host/word.h"

/* Passes some time between two looks: spin, then yield, then sleep; from the beginning again when data has moved, since
 * the next piece is near then, and going to sleep may stop the core that copies it (../../host/wakeup.h). 0 when
 * `timeout`, from the first pause on, is over. Where ranks take turns on a core a yield hands the core to another one,
 * unless each has a scheduling group of its own (login sessions, containers): then it returns at once, and only a sleep
 * lets the others run. So a few yields by which the thread was not switched away are in vain, and sleeps follow. */
typedef struct nbcolli_waiter {
    uint64_t deadline, looks;
    uint64_t vain;      /* looks since something has moved, by which it spins, yields or sleeps */
    long switches; /* of this thread, some yields ago */
    int in_vain;

    /* Where a driver runs the context. */
    nbcoll_context *at; /* the first that it was at last, */
    size_t among;       /* of so many */
    uint32_t seen;      /* the sum of their news, before the last look */
    nbcoll_context *helps; /* there it is counted: it makes passes, and the driver does not; null: nowhere */
    /* Where what is awaited is not the context's: has it come? Asked when a sleep has been armed, which what comes from
     * then on ends; where nothing would, it sets `longest`. Null: it is the context's. */
    int (*has_come)(struct nbcolli_waiter *waiter);
    void *user;
    uint64_t longest; /* ns: a sleep; 0: as long as others */

    uint8_t has_others; /* beside those on which it sleeps */
    uint8_t slept; /* it will not help any more */
    uint8_t stale; /* it slept to the end: the driver may be kept from coming, and the next look is a pass */
} nbcolli_waiter;

#define NBCOLLI_SLEEP_ON NBCOLLI_WORDS_MOST /* contexts on which a waiter sleeps; with more of them only shortly */

/* The clock and the hooks are those of the first one. One that waits on a single context helps its driver while it does
 * not sleep. */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout);

/* Is the next look of a waiter in a driven context to be a pass? */
static inline int nbcolli_waiter_passes(const nbcolli_waiter *w)
{
    return w->helps != NULL || w->stale;
}

/* The wait is over; also done by a pause for which there is no time. */
void nbcolli_waiter_end(nbcolli_waiter *w);

#endif
