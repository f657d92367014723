/* SPDX-License-Identifier: BSD-3-Clause
 * Runs: made, pooled with their schedule, taken for a start, over. The pools are the caller's side's (caller.h).
 * Inline: what each run does. */
#ifndef NBCOLLI_ENGINE_RUN_POOL_H
#define NBCOLLI_ENGINE_RUN_POOL_H

#include "moves.h"
#include "../state/caller.h"
#include "../exposures/cells.h"

/* The context pools the schedule's runs from now on; ERR_FOREIGN if another one does. */
nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c);

/* Ends that pooling, and frees the pooled runs. */
void nbcolli_schedule_disown(nbcoll_schedule *s);

/* Frees a schedule that nobody uses, with its pooled runs. */
void nbcolli_schedule_drop(nbcoll_schedule *s);

/* The run is now that of this tag's operation. */
static inline void nbcolli_run_is_of(nbcolli_run *run, uint64_t tag)
{
    if (run->tag == tag && run->slot)
        return;
    run->tag = tag;
    run->slot = nbcolli_slot_of(run->comm, tag);
    run->none = nbcolli_word_of(run->comm, tag, 0);
}

/* Sets what every start sets. */
static inline void nbcolli_run_begin(nbcolli_run *run, nbcolli_request *r)
{
    run->request = r;
    nbcolli_run_is_of(run, r->tag);
    if (run->base[NBCOLL_BUFFER_SEND] != r->send || run->base[NBCOLL_BUFFER_RECV] != r->recv)
        nbcolli_moves_aim(run, r->send, r->recv);
    run->cells = run->parts = 0;
    run->left = run->moves;
    run->begun = 0;
}

/* Resets what a small run changes if all goes well. */
static inline void nbcolli_run_rewind(nbcolli_run *run)
{
    for (uint32_t i = 0; i < run->schedule->ops; i++)
        run->op[i].phase = NBCOLLI_IDLE;
}

/* Resets what any path of a run changes. */
void nbcolli_run_restore(nbcolli_run *run);

/* A run that nobody keeps goes to the pool. */
static inline void nbcolli_run_pool(nbcolli_run *run)
{
    run->next = run->schedule->idle;
    run->schedule->idle = run;
}

#define NBCOLLI_KEPT 8u /* runs of a schedule that requests keep, at most */

/* The request gives up its run, also while that is active. */
void nbcolli_run_drop(nbcolli_request *r);

/* A run for the request, or null without memory: on the caller's side. */
nbcolli_run *nbcolli_run_arm_slowly(nbcolli_request *r);
static inline nbcolli_run *nbcolli_run_arm(nbcolli_request *r)
{
    nbcoll_schedule *s = r->schedule;
    nbcolli_run *run = r->kept ? r->kept : s->idle;

    if (!run || run->is_worn || run->comm != r->comm || run->bound != r->comm->id)
        return nbcolli_run_arm_slowly(r);
    if (!run->keeper)
        s->idle = run->next;
    nbcolli_run_rewind(run);
    nbcolli_run_begin(run, r);
    return run;
}

/* The run goes back to its schedule; inside. */
static inline void nbcolli_run_give(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    nbcolli_caller_lock(c);
    run->state = NBCOLLI_RUN_POOLED;
    if (!run->keeper)
        nbcolli_run_pool(run);
    nbcolli_caller_unlock(c);
}

/* The run is over: nobody holds its buffers. The run itself is not to be touched afterwards. A tick leaves the end of a
 * run of which the watcher has heard to a call. */
void nbcolli_run_finish(nbcolli_run *run);

#endif
