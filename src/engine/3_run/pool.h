/* SPDX-License-Identifier: BSD-3-Clause
 * Runs: made, pooled with their schedule, taken for a start. */
#ifndef NBCOLLI_ENGINE_RUN_POOL_H
#define NBCOLLI_ENGINE_RUN_POOL_H

#include "../1_state/context.h"

/* Gives up one hold on a schedule; one that has left the cache is freed with the last. */
void nbcolli_schedule_release(nbcoll_schedule *s);

/* The context pools the schedule's runs from now on; ERR_FOREIGN if another one does. */
nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c);

/* Ends that, and frees the pooled runs. */
void nbcolli_schedule_disown(nbcoll_schedule *s);

/* Frees a schedule that nobody uses, with its pooled runs. */
void nbcolli_schedule_drop(nbcoll_schedule *s);

/* A run for the request, or null without memory. */
nbcolli_run *nbcolli_run_take(nbcolli_request *r);

#endif
