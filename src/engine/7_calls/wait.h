/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: spinning, yielding, sleeping on wakeups; or the host's hook for them. */
#ifndef NBCOLLI_ENGINE_CALLS_WAIT_H
#define NBCOLLI_ENGINE_CALLS_WAIT_H

#include "../1_state/context.h"

/* Passes some time between two looks: spin, then yield, then sleep. 0 when `timeout`, from the first pause on, is
 * over. */
typedef struct nbcolli_waiter {
    uint64_t deadline, looks;
} nbcolli_waiter;

#define NBCOLLI_SLEEP_ON 64 /* contexts on which a waiter sleeps; with more of them only for a short time */

/* The clock and the hooks are those of the first one. */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout);

#endif
