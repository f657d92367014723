/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: spinning, yielding, sleeping on wakeups; or the host's hook for them. */
#ifndef NBCOLLI_ENGINE_CALLS_WAIT_H
#define NBCOLLI_ENGINE_CALLS_WAIT_H

#include "../1_state/context.h"

/* Passes some time between two looks: spin, then yield, then sleep. 0 when `timeout`, from the first pause on, is
 * over. Where ranks take turns on a core a yield hands the core to another one, unless each has a scheduling group of
 * its own (login sessions, containers): then it returns at once, and only a sleep lets the others run. So a few yields
 * by which the thread was not switched away are in vain, and sleeps follow. */
typedef struct nbcolli_waiter {
    uint64_t deadline, looks;
    long switches; /* of this thread, some yields ago */
    int in_vain;
} nbcolli_waiter;

#define NBCOLLI_SLEEP_ON 64 /* contexts on which a waiter sleeps; with more of them only for a short time */

/* The clock and the hooks are those of the first one. */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout);

#endif
