/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of brief schedules (schedule.h), the way of small operations that go well: their steps are worked off in a loop,
 * each at once, and their messages are lines. What does not go so at once takes the way of all others, with the same
 * counters, queues and phases, and comes back. */
#ifndef NBCOLLI_ENGINE_RUN_BRIEF_H
#define NBCOLLI_ENGINE_RUN_BRIEF_H

#include "step.h"

/* A brief step has ended. */
static inline void nbcolli_brief_end(nbcolli_run *run, nbcoll_step step, const nbcolli_brief *b)
{
    uint32_t *before = run->before;

    before[step] = NBCOLLI_STEP_OVER;
    run->remaining--;
    for (uint32_t i = 0; i < b->after_count; i++)
        if (--before[b->after[i]] == 0)
            run->ready[run->lane[NBCOLL_LANE_ANY].tail++] = b->after[i];
}

/* Takes a LOOKING op of a brief run as far as it can go now, and those that are held for it. Advance afterwards. */
void nbcolli_brief_look(nbcolli_op *op);

/* Runs whatever is ready. The run may be over afterwards. */
void nbcolli_brief_advance(nbcolli_run *run);

#endif
