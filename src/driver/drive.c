/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts as a driver sees them: see drive.h. */
#include <sys/epoll.h>

#include "drive.h"

#include "../engine/calls/context.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/progress.h"
#include "../engine/run/run.h"

#define NBCOLLI_DRIVE_STALLED 16u /* looks at a helper that has yielded, and the driver takes the context back */

nbcoll_status nbcolli_drive_own(nbcoll_context *c)
{
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    if (!(c->flags & NBCOLL_ANY_THREAD))
        return nbcolli_leave(c, NBCOLL_ERR_CONFIG);
    if (c->driven.driver)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    c->driven.driver = &nbcolli_driver_of_context;
    c->driven.polled = -1;
    return nbcolli_leave(c, NBCOLL_OK);
}

void nbcolli_drive_disown(nbcoll_context *c)
{
    if (nbcolli_enter(c) != NBCOLL_OK)
        return;
    c->driven.driver = NULL;
    c->driven.left_steps = 0;
    nbcolli_unlock(c);
}

void nbcolli_drive_begin(nbcoll_context *c, int bell)
{
    nbcolli_driven *d = &c->driven;

    /* relaxed, here and below: the lock orders it, and who looks without that looks again before it sleeps */
    if (atomic_load_explicit(&d->state, memory_order_relaxed) != NBCOLLI_DRIVE_NONE || nbcolli_enter(c) != NBCOLL_OK)
        return;
    d->bell = bell;
    d->is_driving = 0;
    atomic_store_explicit(&d->runner, nbcolli_holder(c), memory_order_relaxed);
    atomic_store_explicit(&d->state, NBCOLLI_DRIVE_AWAKE, memory_order_relaxed);
    nbcolli_unlock(c);
}

void nbcolli_drive_end(nbcoll_context *c, int poller)
{
    nbcolli_driven *d = &c->driven;
    uintptr_t me = nbcolli_holder(c);

    if (atomic_load_explicit(&d->state, memory_order_relaxed) == NBCOLLI_DRIVE_NONE)
        return;
    int is_runner = atomic_load_explicit(&d->runner, memory_order_relaxed) == me;
    if (is_runner)
        d->is_driving = 1; /* what is the callers' waits for them */
    if (nbcolli_enter(c) != NBCOLL_OK)
        return;
    if (d->polled >= 0)
        epoll_ctl(poller, EPOLL_CTL_DEL, d->polled, NULL);
    d->polled = -1;
    atomic_store_explicit(&d->state, NBCOLLI_DRIVE_NONE, memory_order_relaxed);
    atomic_store_explicit(&d->runner, 0, memory_order_relaxed);
    if (is_runner)
        d->is_driving = 0;
    if (c->unserved.first || c->delayed.first) /* whoever comes serves all */
        atomic_fetch_or_explicit(&d->left, NBCOLLI_SERVES_ALL, memory_order_relaxed);
    nbcolli_driven_tell(c);
    if (is_runner) /* what has been handed over meanwhile is for the next caller. release: as unlock */
        atomic_store_explicit(&c->lock, 0, memory_order_release);
    else
        nbcolli_unlock(c);
}

/* Is the context left to a wait? They say when they end. One that has yielded its core to a rank which computes comes
 * back after that only: meanwhile it helps nobody. */
static int nbcolli_drive_is_helped(nbcolli_driven *d)
{
    if (!atomic_load_explicit(&d->helpers, memory_order_relaxed)) /* looks, both */
        return 0;
    unsigned helped = atomic_load_explicit(&d->helped, memory_order_relaxed);
    d->stalled = helped == d->seen ? d->stalled + 1 : 0;
    d->seen = helped;
    return !d->is_crowded || d->stalled < NBCOLLI_DRIVE_STALLED;
}

/* Can something move at once? */
static int nbcolli_drive_is_busy(const nbcoll_context *c)
{
    int is_busy = c->delayed.first || c->ended;
    for (const nbcolli_link *link = c->links; link; link = link->next)
        is_busy |= link->endpoint->busy != 0;
    return is_busy;
}

int nbcolli_drive_pass(nbcoll_context *c)
{
    nbcolli_driven *d = &c->driven;
    unsigned left = atomic_load_explicit(&d->left, memory_order_relaxed) >> NBCOLL_LANE_PROGRESS & 1; /* a look */

    if (nbcolli_drive_is_helped(d) && !left)
        return 0;
    d->is_driving = 1;
    int moved = nbcolli_try_lock(c);
    if (moved) {
        d->is_crowded = nbcolli_takes_turns(c);
        moved = nbcolli_pass(c) || left || d->fresh || nbcolli_drive_is_busy(c);
        d->fresh = 0;
        nbcolli_leave_reporting(c, NBCOLL_OK);
    }
    d->is_driving = 0;
    return moved;
}

/* Does the driver's poller have this context's? */
static int nbcolli_drive_is_polled(nbcoll_context *c, int poller)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (c->poller >= 0 && c->poller != c->driven.polled && epoll_ctl(poller, EPOLL_CTL_ADD, c->poller, &event) == 0)
        c->driven.polled = c->poller;
    return c->poller >= 0 && c->driven.polled == c->poller && !c->silent_links;
}

/* Inside. */
static nbcolli_drive_rest nbcolli_drive_lie_down(nbcoll_context *c, int poller)
{
    nbcolli_driven *d = &c->driven;
    nbcolli_drive state = c->active ? NBCOLLI_DRIVE_ARMED : NBCOLLI_DRIVE_IDLE;
    nbcoll_status s = NBCOLL_OK;

    if (nbcolli_drive_is_helped(d))
        state = NBCOLLI_DRIVE_UNARMED;
    else if (d->fresh)
        return NBCOLLI_REST_NOT;
    else if (!nbcolli_drive_is_polled(c, poller))
        state = c->links ? NBCOLLI_DRIVE_UNARMED : NBCOLLI_DRIVE_IDLE;
    else if ((s = nbcolli_arm_all(c)) == NBCOLL_AGAIN)
        return NBCOLLI_REST_NOT;
    int is_deaf = s != NBCOLL_OK || c->is_unheard ||
                  (state == NBCOLLI_DRIVE_UNARMED && !nbcolli_drive_is_polled(c, poller));
    if (is_deaf)
        state = NBCOLLI_DRIVE_UNARMED;
    d->looked = d->fresh = 0;
    atomic_store(&d->state, state); /* seq_cst: before the look at the helpers, on the way out */
    return !c->active ? NBCOLLI_REST_LONG : is_deaf ? NBCOLLI_REST_SHORT : NBCOLLI_REST_LOOKS;
}

nbcolli_drive_rest nbcolli_drive_arm(nbcoll_context *c, int poller)
{
    nbcolli_drive_rest rest = NBCOLLI_REST_NOT;

    if (atomic_load_explicit(&c->driven.state, memory_order_relaxed) == NBCOLLI_DRIVE_NONE) /* only we begin it */
        return NBCOLLI_REST_NOT; /* it came after the last pass */
    c->driven.is_driving = 1;
    if (nbcolli_try_lock(c)) { /* else somebody is inside, who may leave something */
        rest = nbcolli_drive_lie_down(c, poller);
        nbcolli_unlock(c);
    }
    c->driven.is_driving = 0;
    return rest;
}

void nbcolli_drive_wake(nbcoll_context *c)
{
    /* relaxed: what led to it is seen inside */
    if (atomic_load_explicit(&c->driven.state, memory_order_relaxed) != NBCOLLI_DRIVE_NONE)
        atomic_store_explicit(&c->driven.state, NBCOLLI_DRIVE_AWAKE, memory_order_relaxed);
}

uint64_t nbcolli_drive_left(nbcoll_context *c)
{
    if (nbcolli_enter(c) != NBCOLL_OK)
        return 0;
    uint64_t left = c->driven.left_steps;
    nbcolli_unlock(c);
    return left;
}
