/* SPDX-License-Identifier: BSD-3-Clause
 * Passing time: spinning, yielding, sleeping on doorbells; or the host's hook for them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ppoll */
#endif
#include <poll.h>
#include <sched.h>

#include "nbcoll/inline/context.h"

#define SPINS 5000u              /* looks before the first yield */
#define YIELDS 100u              /* then, before the first sleep */
#define SHORT_SLEEP 1000000u     /* ns: where another thread may take the ring, and end what this one waits for */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void nbcolli_pause(nbcoll_context *c, uint64_t looks)
{
    if (c->host.pause) {
        nbcolli_go_outside(c);
        c->host.pause(c->host.user, looks);
        nbcolli_come_back(c);
    } else if (looks <= SPINS && !c->crowded)
        relax();
    else
        sched_yield();
}

/* Sleeps on the context's doorbells, at most `longest` nanoseconds. */
static void sleep_on(nbcoll_context *c, uint64_t longest)
{
    struct pollfd fd = {.events = POLLIN};
    uint64_t most = c->flags & NBCOLL_ANY_THREAD ? SHORT_SLEEP : NBCOLLI_ROUND;
    struct timespec t = {0, (long)(longest < most ? longest : most)};

    if (nbcoll_fd(c, &fd.fd) != NBCOLL_OK) {
        sched_yield();
        return;
    }
    if (nbcoll_arm(c) == NBCOLL_OK)
        ppoll(&fd, 1, &t, NULL);
    else
        sched_yield();
}

int nbcolli_waiter_pause(nbcolli_waiter *w, nbcoll_context *c, uint64_t timeout)
{
    uint64_t spins = c->crowded ? 0 : SPINS, left = UINT64_MAX;
    int sleeps = !c->host.pause && !w->awake && w->looks > spins + YIELDS;

    if (timeout == 0 || nbcolli_is_inside(c)) /* inside, nothing can go on */
        return 0;
    if (timeout != NBCOLL_FOREVER && (sleeps || c->host.pause || w->looks % 16 == 0)) {
        uint64_t at = nbcolli_now(&c->host);
        if (w->looks == 0)
            w->deadline = timeout < UINT64_MAX - at ? at + timeout : UINT64_MAX;
        if (at >= w->deadline)
            return 0;
        left = w->deadline - at;
    }
    w->looks++;
    if (sleeps)
        sleep_on(c, left);
    else
        nbcolli_pause(c, w->looks);
    return 1;
}
