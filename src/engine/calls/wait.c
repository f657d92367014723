/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <sched.h>
#include <sys/resource.h>

#include "wait.h"

#include "context.h"
#include "../match/ask.h"
#include "../progress/lock.h"
#include "../../host/sleep.h"

#define NBCOLLI_WAIT_YIELDS 100u     /* then, before the first sleep */
#define NBCOLLI_VAIN_YIELDS 8u       /* so many in vain in a row, and the next pause is a sleep */
#define NBCOLLI_LOOKS_OF_CLOCK 16u   /* from one look at the clock to the next, at most, where it yields */
#define NBCOLLI_HELPING_YIELDS 4u    /* yields beside a driver, where ranks take turns on a core */

/* Sleeps on the contexts' wakeups, at most `longest` nanoseconds, unless one of them cannot sleep, or has something to
 * do. */
static void nbcolli_sleep_on(nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t longest)
{
    struct pollfd fds[NBCOLLI_SLEEP_ON];
    uint64_t most = w->has_others ? NBCOLLI_SHORT_SLEEP : NBCOLLI_ROUND;
    int sleeps = 1;

    for (size_t i = 0; i < n && sleeps; i++) {
        fds[i] = (struct pollfd){.events = POLLIN};
        sleeps = nbcoll_fd(c[i], &fds[i].fd) == NBCOLL_OK && nbcolli_enter(c[i]) == NBCOLL_OK &&
                 nbcolli_leave(c[i], nbcolli_arm_all(c[i])) == NBCOLL_OK;
        if (c[i]->flags & NBCOLL_ANY_THREAD || c[i]->is_unheard)
            most = NBCOLLI_SHORT_SLEEP;
    }
    sleeps = sleeps && !(w->has_come && w->has_come(w));
    if (w->longest && w->longest < most)
        most = w->longest;
    if (sleeps) /* without a pause hook, which would replace this */
        nbcolli_sleep(&c[0]->host, fds, n, longest < most ? longest : most, NULL);
    else
        sched_yield();
    for (size_t i = 0; i < n; i++)
        if (c[i]->ticks.are_on) /* of one thread */
            c[i]->ticks.is_armed = 0;
}

/* Were the last few yields in vain? A system that does not count a thread's switches is assumed to switch. */
static int nbcolli_yields_in_vain(nbcolli_waiter *w, const nbcoll_context *c)
{
    struct rusage usage;

    if (!w->in_vain && nbcolli_takes_turns(c) && w->vain % NBCOLLI_VAIN_YIELDS == NBCOLLI_VAIN_YIELDS / 2) {
        long now = getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw + usage.ru_nvcsw : -1;
        w->in_vain = now >= 0 && now == w->switches && w->vain > NBCOLLI_VAIN_YIELDS;
        w->switches = now;
    }
    return w->in_vain;
}

/* Is there work for which the last pass had no bytes left? A rank that copies keeps its core until it is done: else
 * ranks that take turns on a core would slow each other's copies down. Transports may then do more in one progress,
 * since nobody waits for its end. */
static int nbcolli_has_more(nbcoll_context *const c[], size_t n)
{
    int more = 0;

    for (size_t i = 0; i < n; i++) {
        if (c[i]->flags & NBCOLL_ANY_THREAD) /* another thread may be inside */
            continue;
        more |= c[i]->delayed.first != NULL;
        for (const nbcolli_link *link = c[i]->links; link; link = link->next)
            if (link->endpoint->busy) {
                link->endpoint->patient = 1;
                more = 1;
            }
    }
    return more;
}

/* Has the last pass copied, combined or sent anything? */
static int nbcolli_has_moved(nbcoll_context *const c[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(c[i]->flags & NBCOLL_ANY_THREAD) && !nbcolli_is_driven(c[i]) && c[i]->bytes_left < NBCOLL_PASS_BYTES)
            return 1;
    return 0;
}

/* ---- passing time ------------------------------------------------------------------------------------------------ */

int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout)
{
    nbcoll_context *c = contexts[0];
    uint64_t spins = nbcolli_takes_turns(c) ? 0 : NBCOLLI_SPINS, left = UINT64_MAX;
    uint64_t yields = nbcolli_takes_turns(c) && nbcolli_is_driven(c) ? NBCOLLI_HELPING_YIELDS : NBCOLLI_WAIT_YIELDS;

    w->has_others = n > NBCOLLI_SLEEP_ON;
    n = w->has_others ? NBCOLLI_SLEEP_ON : n;
    if (nbcolli_has_moved(contexts, n))
        w->vain = 0;
    int sleeps = !c->host.pause && (w->vain > spins + yields || nbcolli_yields_in_vain(w, c));
    for (size_t i = 0; i < n; i++)
        if (nbcolli_is_inside(contexts[i])) /* nothing can go on there */
            timeout = 0;
    if (timeout == 0)
        left = 0;
    else if (timeout != NBCOLL_FOREVER && (sleeps || c->host.pause || w->looks % NBCOLLI_LOOKS_OF_CLOCK == 0)) {
        nbcolli_go_outside(c); /* the host's clock is called without the lock, as its pause is */
        if (w->looks == 0)
            w->deadline = nbcolli_deadline(&c->host, timeout);
        left = nbcolli_time_left(&c->host, w->deadline, UINT64_MAX);
        nbcolli_come_back(c);
    }
    if (left == 0) {
        nbcolli_waiter_end(w);
        return 0;
    }
    w->looks++;
    w->vain++;
    /* acquire: a driver that has just ended is none, or still knows how to pause */
    const nbcolli_driver_calls *driver =
        nbcolli_is_driven(c) ? atomic_load_explicit(&c->driven.driver, memory_order_acquire) : NULL;
    if (driver) {
        driver->pause(w, contexts, n, left, sleeps);
        return 1;
    }
    if (!c->host.pause && nbcolli_has_more(contexts, n))
        return 1;
    if (sleeps)
        nbcolli_sleep_on(w, contexts, n, left);
    else
        nbcolli_pause(c, c->host.pause ? w->looks : w->vain);
    return 1;
}
