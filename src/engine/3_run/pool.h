/* SPDX-License-Identifier: BSD-3-Clause
 * Runs: made, pooled with their schedule, taken for a start. The pools are the caller's side's (caller.h).
 * Inline: what each run does. */
#ifndef NBCOLLI_ENGINE_RUN_POOL_H
#define NBCOLLI_ENGINE_RUN_POOL_H

#include "../1_state/caller.h"

/* Gives up one hold on a schedule; one that has left the cache is freed with the last. */
void nbcolli_schedule_release(nbcoll_schedule *s);

/* The context pools the schedule's runs from now on; ERR_FOREIGN if another one does. */
nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c);

/* Ends that, and frees the pooled runs. */
void nbcolli_schedule_disown(nbcoll_schedule *s);

/* Frees a schedule that nobody uses, with its pooled runs. */
void nbcolli_schedule_drop(nbcoll_schedule *s);

/* A run for the request, or null without memory: on the caller's side, or for one who is inside. */
nbcolli_run *nbcolli_run_arm(nbcolli_request *r);
nbcolli_run *nbcolli_run_take(nbcolli_request *r);

/* It goes back to its schedule, from one who is inside. */
static inline void nbcolli_run_give(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    nbcolli_caller_lock(c);
    run->state = NBCOLLI_RUN_POOLED;
    run->next = run->schedule->idle;
    run->schedule->idle = run;
    nbcolli_caller_unlock(c);
}

#endif
