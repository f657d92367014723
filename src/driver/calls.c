/* SPDX-License-Identifier: BSD-3-Clause
 * What calls owe to a driver of the context, and it to them. A driver that sleeps has armed the transports, so that
 * what comes wakes it; a call that leaves something which nothing will wake it for rings for it, on its way out:
 *
 *   steps of the lane PROGRESS, data for which there was no time, callbacks of ended requests;
 *   operations, when a pass of the call's own has disarmed the transports, or a look at programs the agents;
 *   work requests, or messages that were refused, of operations and shrinks that it has started
 *
 * A wait that makes passes is a helper: while there is one the driver leaves the context to it, and is not rung for.
 * When it stops helping it looks like a call that leaves. Waits that sleep are woken by whoever leaves when a request
 * has ended, or a step of the lane CALLER is ready. */
#include "drive.h"

#include "../engine/progress/lock.h"
#include "../engine/progress/progress.h"
#include "../engine/run/run.h"
#include "../host/bell.h"

/* Is this thread the one on which the driver runs? */
static int nbcolli_driven_is_runner(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.runner, memory_order_relaxed) == nbcolli_holder(c); /* only we store ours */
}

static void nbcolli_driven_enter(nbcoll_context *c)
{
    nbcolli_driven *d = &c->driven;
    /* relaxed, here and below: the lock orders it */
    unsigned left = atomic_load_explicit(&d->left, memory_order_relaxed);

    if (atomic_load_explicit(&d->state, memory_order_relaxed) == NBCOLLI_DRIVE_NONE)
        c->serves = NBCOLLI_SERVES_ALL;
    else if (!nbcolli_driven_is_runner(c))
        c->serves = NBCOLLI_SERVES_CALLER;
    else
        c->serves = d->is_driving ? NBCOLLI_SERVES_PROGRESS : NBCOLLI_SERVES_ALL;
    if (!(left & c->serves))
        return;
    atomic_store_explicit(&d->left, left & ~c->serves, memory_order_relaxed);
    c->bytes_left = NBCOLL_PASS_BYTES;
    nbcolli_serve(c, c->serves);
    nbcolli_drain(c);
}

/* Is something under way that needs passes, though nothing may come that wakes the driver? */
static int nbcolli_driven_has_work(const nbcoll_context *c)
{
    int owes = 0;
    for (const nbcolli_link *link = c->links; link; link = link->next)
        owes |= link->in_flight.first || link->backlog.first || link->untold;
    return owes && (c->driven.fresh || !nbcolli_driven_is_runner(c));
}

static int nbcolli_driven_is_wanted(const nbcoll_context *c, unsigned state)
{
    const nbcolli_driven *d = &c->driven;
    if (atomic_load_explicit(&d->left, memory_order_relaxed) >> NBCOLL_LANE_PROGRESS & 1) /* the lock orders it */
        return 1;
    if (atomic_load(&d->helpers)) /* seq_cst: after the change of the state */
        return 0;
    return c->delayed.first || c->ended || (state == NBCOLLI_DRIVE_UNARMED && c->active) || nbcolli_driven_has_work(c);
}

static void nbcolli_driven_leave(nbcoll_context *c)
{
    nbcolli_driven *d = &c->driven;
    unsigned state = atomic_load_explicit(&d->state, memory_order_relaxed); /* the lock orders it, or awake */

    if (d->ended != d->told || nbcolli_driven_has_steps(c)) {
        d->told = d->ended;
        nbcolli_driven_tell(c);
    }
    if (state <= NBCOLLI_DRIVE_AWAKE)
        return;
    if (d->looked && state != NBCOLLI_DRIVE_UNARMED) {
        d->looked = 0;
        /* Fails if it has woken meanwhile. seq_cst: before the look at the helpers */
        if (atomic_compare_exchange_strong(&d->state, &state, NBCOLLI_DRIVE_UNARMED))
            state = NBCOLLI_DRIVE_UNARMED;
    }
    if (state > NBCOLLI_DRIVE_AWAKE && nbcolli_driven_is_wanted(c, state)) {
        atomic_store_explicit(&d->state, NBCOLLI_DRIVE_AWAKE, memory_order_relaxed); /* as above */
        nbcolli_bell_ring(d->bell);
    }
}

const nbcolli_driver_calls nbcolli_driver_of_context = {nbcolli_driven_enter, nbcolli_driven_leave,
                                                              nbcolli_driven_pause};
