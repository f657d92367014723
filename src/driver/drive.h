/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts as a driver sees them: entered, passed over, armed, left. On the thread that runs it, unless it
 * is said. */
#ifndef NBCOLLI_DRIVER_DRIVE_H
#define NBCOLLI_DRIVER_DRIVE_H

#include "../engine/state/context.h"

/* The context is in this driver from now on, or OUT of any: any thread. ERR_CONFIG, ERR_BUSY, ERR_FORKED. */
nbcoll_status nbcolli_drive_own(nbcoll_context *c);
void nbcolli_drive_disown(nbcoll_context *c);

/* The calling thread runs the driver, which `bell` wakes. Again: nothing. */
void nbcolli_drive_begin(nbcoll_context *c, int bell);

/* No driver runs it any more: what is under way is the callers' again. Any thread, while the driver makes no pass.
 * `poller`: of the driver's. */
void nbcolli_drive_end(nbcoll_context *c, int poller);

/* A pass, with callbacks. Has something moved, or can something move at once? 0, too, if somebody else is inside, or
 * makes the passes meanwhile. */
int nbcolli_drive_pass(nbcoll_context *c);

typedef enum nbcolli_drive_rest {
    NBCOLLI_REST_NOT,   /* something is there */
    NBCOLLI_REST_LONG,  /* until something comes */
    NBCOLLI_REST_LOOKS, /* the same, but operations are outstanding */
    NBCOLLI_REST_SHORT  /* nothing wakes it */
} nbcolli_drive_rest;

/* Lets it sleep, with its wake-ups in `poller`. */
nbcolli_drive_rest nbcolli_drive_arm(nbcoll_context *c, int poller);

/* It has woken, or did not sleep after all. */
void nbcolli_drive_wake(nbcoll_context *c);

/* What the engine calls (calls.c, wait.c). */
extern const nbcolli_driver_calls nbcolli_driver_of_context;
void nbcolli_driven_pause(struct nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t left, int sleeps);

/* Steps of the lane START that starts have left. */
uint64_t nbcolli_drive_left(nbcoll_context *c);

#endif
