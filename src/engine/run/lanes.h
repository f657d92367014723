/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules with lanes. Each lane of a run has a ready queue of its own: who advances the run takes steps from the
 * lanes that it serves, ANY and its own, and leaves the others. So two may work on one run: one inside the context, the
 * other one, outside, on steps of its own lane that touch memory only. A step that waits for one of another lane has a
 * counter that both may decrement, and steps may enter a queue from both sides. These counters, the queues and the
 * number of remaining steps are atomic where schedules have lanes, and plain elsewhere. */
#ifndef NBCOLLI_ENGINE_RUN_LANES_H
#define NBCOLLI_ENGINE_RUN_LANES_H

#include "../state/context.h"

/* Lanes that somebody serves, as bits. */
#define NBCOLLI_SERVES_CALLER (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_CALLER)
#define NBCOLLI_SERVES_PROGRESS (1u << NBCOLL_LANE_ANY | 1u << NBCOLL_LANE_PROGRESS)
#define NBCOLLI_SERVES_ALL (NBCOLLI_SERVES_CALLER | NBCOLLI_SERVES_PROGRESS)

/* Has it steps that have not ended? Acquire: who finds none sees what all have written. */
static inline int nbcolli_run_remains(const nbcolli_run *run)
{
    return __atomic_load_n(&run->remaining, __ATOMIC_ACQUIRE) != 0;
}

/* A step has ended: those behind it may be ready. If it was the last one, the run may be another's on return. */
void nbcolli_lanes_step_end(nbcolli_run *run, const nbcoll_step_view *v);

/* The lane from which the next step is taken, or null. A run with steps of lanes that are not served waits for who
 * serves them, and for nbcolli_serve. */
nbcolli_ready *nbcolli_lanes_next(nbcolli_run *run);

#endif
