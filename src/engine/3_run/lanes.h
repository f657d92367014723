/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules with lanes. Each lane of a run has a ready queue of its own: who advances the run takes steps from the
 * lanes that it serves, ANY and its own, and leaves the others. So two may work on one run: a step that waits for one
 * of another lane has a counter that both may decrement, and steps may enter a queue from both sides. These counters,
 * the queues and the number of remaining steps are atomic where schedules have lanes, and plain elsewhere. */
#ifndef NBCOLLI_ENGINE_RUN_LANES_H
#define NBCOLLI_ENGINE_RUN_LANES_H

#include "../1_state/context.h"

/* Lanes that somebody serves, as bits. */
#define NBCOLLI_SERVES_CALLER (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_CALLER)
#define NBCOLLI_SERVES_PROGRESS (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_PROGRESS)
#define NBCOLLI_SERVES_ALL (NBCOLLI_SERVES_CALLER | NBCOLLI_SERVES_PROGRESS)

/* A step has ended: those behind it may be ready. */
void nbcolli_lanes_step_end(nbcolli_run *run, const nbcoll_step_view *v);

/* The lane from which the next step is taken, or null. Steps of lanes that are not served wait for who serves them. */
nbcolli_ready *nbcolli_lanes_next(nbcolli_run *run);

/* The run has nothing that waits so any more. */
void nbcolli_lanes_leave(nbcolli_run *run);

#endif
