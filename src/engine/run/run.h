/* SPDX-License-Identifier: BSD-3-Clause
 * Running schedules. Steps become ready, start and end; messages go through their phases; a run that fails settles.
 * Nothing here recurses: the end of a step only queues ready steps, and a loop executes them. */
#ifndef NBCOLLI_ENGINE_RUN_RUN_H
#define NBCOLLI_ENGINE_RUN_RUN_H

#include "../state/context.h"

/* Runs whatever is ready on lanes that are served, as far as this pass goes. The run may be over afterwards. */
void nbcolli_advance(nbcolli_run *run);

/* Lanes that somebody serves, as bits. */
#define NBCOLLI_SERVES_CALLER (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_CALLER)
#define NBCOLLI_SERVES_PROGRESS (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_PROGRESS)
#define NBCOLLI_SERVES_ALL (NBCOLLI_SERVES_CALLER | NBCOLLI_SERVES_PROGRESS)

/* The thread inside serves these lanes from now on; steps that wait for them go on, with the bytes that the pass has
 * left. Drain afterwards. At first calls serve all lanes. Once a context has a driver, that serves
 * NBCOLLI_SERVES_PROGRESS, and calls serve NBCOLLI_SERVES_CALLER. */
void nbcolli_serve(nbcoll_context *c, uint32_t lanes);

/* The turn of a delayed run: first ready steps, then unfinished ops. The run may be over afterwards. */
void nbcolli_run_go_on(nbcolli_run *run);

/* Takes back a post that never left, with the credits that it carried. */
void nbcolli_op_take_back(nbcolli_op *op);

/* A send that stalls goes: there is a credit, or its receiver has asked for it. The run may be over afterwards. */
void nbcolli_stall_end(nbcolli_op *op);

/* Sends that were short of a credit go now, or stall. Their runs may be over afterwards. */
void nbcolli_short_sends_go(nbcoll_context *c);

/* Credits have come back: stalling sends take them. */
void nbcolli_credits_in(nbcolli_pair *pair, uint32_t credits);

/* Looks again for ops that wait for shared memory: at most `looks` of them, longest ago looked at first, each once.
 * Returns how many went on, without those that have been delayed. */
int nbcolli_look_again(nbcoll_context *c, size_t looks);

#endif
