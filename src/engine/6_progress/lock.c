/* SPDX-License-Identifier: BSD-3-Clause
 * The way into and out of a context for every call: see lock.h. */
#include <sched.h>

#include "lock.h"

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
    } else if (looks <= NBCOLLI_SPINS && !c->crowded)
        relax();
    else
        sched_yield();
}
