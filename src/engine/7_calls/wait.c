/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: see wait.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <sched.h>
#include <sys/resource.h>

#include "wait.h"

#include "../5_match/ask.h"
#include "../6_progress/lock.h"
#include "../../host/host.h"
#include "../../host/sleep.h"

#define NBCOLLI_WAIT_YIELDS 100u     /* then, before the first sleep */
#define NBCOLLI_VAIN_YIELDS 8u       /* as many in a row, and the next pause is a sleep */
#define NBCOLLI_SHORT_SLEEP 1000000u /* ns: where another thread may take the wake-up, and end what we wait for */

/* Arms the contexts and fills in their descriptors. 0: one of them cannot sleep, or has something to do. */
static int nbcolli_arm_contexts(nbcoll_context *const c[], size_t n, struct pollfd fds[])
{
    for (size_t i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.events = POLLIN};
        if (nbcoll_fd(c[i], &fds[i].fd) != NBCOLL_OK || nbcoll_arm(c[i]) != NBCOLL_OK)
            return 0;
    }
    return 1;
}

/* Sleeps on the contexts' wakeups, at most `longest` nanoseconds. */
static void nbcolli_sleep_on(nbcoll_context *const c[], size_t n, uint64_t longest)
{
    struct pollfd fds[NBCOLLI_SLEEP_ON];
    size_t armed = n < NBCOLLI_SLEEP_ON ? n : NBCOLLI_SLEEP_ON;
    uint64_t most = n == armed ? NBCOLLI_ROUND : NBCOLLI_SHORT_SLEEP;

    for (size_t i = 0; i < armed; i++)
        if (c[i]->flags & NBCOLL_ANY_THREAD)
            most = NBCOLLI_SHORT_SLEEP;
    if (nbcolli_arm_contexts(c, armed, fds)) /* without a pause hook, which would be called instead of this */
        nbcolli_sleep(&c[0]->host, fds, armed, longest < most ? longest : most, NULL);
    else
        sched_yield();
}

/* Were the last few yields in vain? A system that does not tell a thread's switches is taken for one that switches. */
static int nbcolli_yields_in_vain(nbcolli_waiter *w, const nbcoll_context *c)
{
    struct rusage usage;

    if (!w->in_vain && c->crowded && w->looks % NBCOLLI_VAIN_YIELDS == NBCOLLI_VAIN_YIELDS / 2) {
        long now = getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw + usage.ru_nvcsw : -1;
        w->in_vain = now >= 0 && now == w->switches && w->looks > NBCOLLI_VAIN_YIELDS;
        w->switches = now;
    }
    return w->in_vain;
}

/* Is there something to do at once, for which the last pass had no bytes left? A rank that copies keeps its core until
 * it is done: ranks that take turns on a core would otherwise all be slowed down by each other's copies. */
static int nbcolli_has_more(nbcoll_context *const c[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c[i]->delayed)
            return 1;
        for (const nbcolli_link *link = c[i]->links; link; link = link->next)
            if (link->endpoint->busy)
                return 1;
    }
    return 0;
}

/* The clock and the hooks are those of the first one. */
int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *const contexts[], size_t n, uint64_t timeout)
{
    nbcoll_context *c = contexts[0];
    uint64_t spins = c->crowded ? 0 : NBCOLLI_SPINS, left = UINT64_MAX;
    int sleeps = !c->host.pause && (w->looks > spins + NBCOLLI_WAIT_YIELDS || nbcolli_yields_in_vain(w, c));

    for (size_t i = 0; i < n && i < NBCOLLI_SLEEP_ON; i++)
        if (nbcolli_is_inside(contexts[i])) /* there nothing can go on */
            return 0;
    if (timeout == 0)
        return 0;
    if (timeout != NBCOLL_FOREVER && (sleeps || c->host.pause || w->looks % 16 == 0)) {
        if (w->looks == 0)
            w->deadline = nbcolli_deadline(&c->host, timeout);
        left = nbcolli_time_left(&c->host, w->deadline, UINT64_MAX);
        if (left == 0)
            return 0;
    }
    w->looks++;
    if (!c->host.pause && nbcolli_has_more(contexts, n < NBCOLLI_SLEEP_ON ? n : NBCOLLI_SLEEP_ON))
        return 1;
    if (sleeps)
        nbcolli_sleep_on(contexts, n, left);
    else
        nbcolli_pause(c, w->looks);
    return 1;
}
