/* SPDX-License-Identifier: BSD-3-Clause
 * What a context knows of the driver of its progress (nbcoll/driver.h). While a run of a driver has it, `state` says
 * whether that is awake, or how it sleeps. All is written under the context's lock, unless it says otherwise. */
#ifndef NBCOLLI_ENGINE_STATE_DRIVEN_H
#define NBCOLLI_ENGINE_STATE_DRIVEN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nbcoll.h"

struct nbcolli_waiter;

typedef enum nbcolli_drive {
    NBCOLLI_DRIVE_NONE, /* no driver runs it */
    NBCOLLI_DRIVE_AWAKE,    /* before it sleeps it makes a pass and arms */
    NBCOLLI_DRIVE_UNARMED,  /* asleep, but arrivals may not wake it: a call has made a pass since, or will */
    NBCOLLI_DRIVE_IDLE,     /* asleep until something comes */
    NBCOLLI_DRIVE_ARMED     /* the same, and it looks now and then: operations are outstanding */
} nbcolli_drive;

/* What the engine calls of the component driver, in a context that is in one. */
typedef struct nbcolli_driver_calls {
    void (*enter)(nbcoll_context *c); /* behind the taking of the lock */
    void (*leave)(nbcoll_context *c); /* before it is given back */
    /* Without it: a wait on these contexts, of which a driver runs the first, passes time between two looks. */
    void (*pause)(struct nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t left, int sleeps);
} nbcolli_driver_calls;

typedef struct nbcolli_driven {
    _Atomic(const nbcolli_driver_calls *) driver; /* of the driver that has the context, running or not; null: none
                                                     has. A wait reads it without the lock */
    int bell;   /* a descriptor that wakes it */
    int polled; /* the context's poller when it was added to the driver's; -1: it was not */
    int looked; /* a call has asked transports since the arming */
    int fresh;  /* starts have been taken over, or a drain has found messages, since its last pass looked */
    size_t ended, told;  /* requests that have ended; how many had when sleepers were told last */
    uint64_t left_steps; /* steps of the lane START that starts had left when they returned, in all */

    atomic_uint state;       /* nbcolli_drive. Awake: the driver, on waking, without the lock */
    atomic_uintptr_t runner; /* the mark of its thread (caller.h); 0: no driver runs it */
    int is_driving;          /* that thread only: it is in a pass of the driver's, not in a callback */
    int is_crowded;          /* that thread only: helpers yielded their core between passes when it looked, */
    unsigned seen, stalled;  /* the value of `helped` then, and its looks since */
    atomic_uint left;        /* lanes, as bits: with ready steps that the thread inside does not serve */

    /* Any thread. */
    atomic_uint helpers;   /* waits that make passes: the driver leaves the context to them */
    atomic_uint helped;    /* passes of those that yield */
    atomic_uint sleepers;  /* waits that sleep until `news` changes */
    _Atomic uint32_t news; /* counts: requests have ended, steps of the lane CALLER are ready, or no driver runs it */
} nbcolli_driven;

#endif
