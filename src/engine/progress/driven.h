/* SPDX-License-Identifier: BSD-3-Clause
 * What calls ask about a driver of the context, inline. The driver's own part is src/driver. The way into the context
 * and the way out of it call that by state/driven.h. */
#ifndef NBCOLLI_ENGINE_PROGRESS_DRIVEN_H
#define NBCOLLI_ENGINE_PROGRESS_DRIVEN_H

#include "../state/caller.h"
#include "../../host/word.h"

/* Does a driver run the context, and not on this thread? A call that finds so leaves the passes to it. Without the lock
 * it may just have ended: then those that sleep are woken. */
static inline int nbcolli_is_driven(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.state, memory_order_relaxed) != NBCOLLI_DRIVE_NONE && /* see above */
           atomic_load_explicit(&c->driven.runner, memory_order_relaxed) != nbcolli_holder(c); /* only we store ours */
}

/* Are there steps for a call of the program's to run? */
static inline int nbcolli_driven_has_steps(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->driven.left, memory_order_relaxed) >> NBCOLL_LANE_CALLER & 1; /* a look */
}

/* A callback follows, in which this thread is no driver. 1: it was one. */
static inline int nbcolli_driven_step_aside(nbcoll_context *c)
{
    if (atomic_load_explicit(&c->driven.runner, memory_order_relaxed) != nbcolli_holder(c) || /* only we store ours */
        !c->driven.is_driving)
        return 0;
    c->driven.is_driving = 0;
    return 1;
}

/* Wakes the waits that sleep: they are to look again. */
static inline void nbcolli_driven_tell(nbcoll_context *c)
{
    /* seq_cst, both: who is about to sleep has counted itself before it looks at the word again */
    atomic_fetch_add(&c->driven.news, 1);
    if (atomic_load(&c->driven.sleepers))
        nbcolli_word_wake(&c->driven.news);
}

#endif
