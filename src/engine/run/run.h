/* SPDX-License-Identifier: BSD-3-Clause
 * Running schedules. Steps become ready, start and end; messages go through their phases; a run that fails
 * settles. Nothing here calls itself: ends only push ready steps, and advance works them off in a loop. */
#ifndef NBCOLLI_ENGINE_RUN_RUN_H
#define NBCOLLI_ENGINE_RUN_RUN_H

#include "../state/context.h"

/* Runs whatever is ready on lanes that are served, as far as this pass goes. The run may be over afterwards. */
void nbcolli_advance(nbcolli_run *run);

/* Lanes that somebody serves, as bits. */
#define NBCOLLI_SERVES_CALLER (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_CALLER)
#define NBCOLLI_SERVES_PROGRESS (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_PROGRESS)
#define NBCOLLI_SERVES_ALL (NBCOLLI_SERVES_CALLER | NBCOLLI_SERVES_PROGRESS)

/* Who is inside the library serves these lanes from now on; what waits for one of them goes on, with the bytes that the
 * pass has left. Drain afterwards. A context is born with all: its calls serve all lanes while no progress driver is
 * registered. A driver will serve NBCOLLI_SERVES_PROGRESS, and leave NBCOLLI_SERVES_CALLER to the calls. */
void nbcolli_serve(nbcoll_context *c, uint32_t lanes);

/* The turn of a delayed run: what is ready, then what is in the middle of something. It may be over afterwards. */
void nbcolli_run_go_on(nbcolli_run *run);

/* Takes back a post that never left, with the credits that it carried. */
void nbcolli_op_take_back(nbcolli_op *op);

/* A send that stalls goes: there is a credit, or its receiver has asked for it. The run may be over afterwards. */
void nbcolli_stall_end(nbcolli_op *op);

/* Sends that were short of a credit go now, or stall. Their runs may be over afterwards. */
void nbcolli_short_sends_go(nbcoll_context *c);

/* Credits have come back: they are for those that stall. */
void nbcolli_credits_in(nbcolli_pair *pair, uint32_t credits);

/* Looks again for what waits for shared memory: at most so many, which are those that were looked at longest ago, and
 * each at most once. Returns how much went on; what has been delayed does not count. */
int nbcolli_look_again(nbcoll_context *c, size_t looks);

#endif
