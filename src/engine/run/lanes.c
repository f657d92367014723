/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules with lanes: see lanes.h. */
#include "lanes.h"

#include "observe.h"

static int nbcolli_lanes_serves(const nbcolli_run *run, uint32_t lane)
{
    return run->comm->context->serves >> lane & 1;
}

/* A place in the queue first, then the step in it: who takes it looks for the step. */
static void nbcolli_lanes_push(nbcolli_run *run, nbcoll_step step)
{
    nbcolli_ready *lane = &run->lane[nbcolli_lane_of(&run->schedule->step[step])];
    uint32_t at = __atomic_fetch_add(&lane->tail, 1, __ATOMIC_RELAXED); /* only the place is agreed */

    nbcolli_observe(run, NBCOLL_STEP_READY, step);
    __atomic_store_n(&run->ready[at], step, __ATOMIC_RELEASE); /* shows what the steps before it have written */
}

void nbcolli_lanes_step_end(nbcolli_run *run, const nbcoll_step_view *v)
{
    for (uint32_t i = 0; i < v->after_count; i++) {
        nbcoll_step later = v->after[i];
        uint32_t left = run->schedule->crossed[later]
                            ? __atomic_sub_fetch(&run->before[later], 1, __ATOMIC_ACQ_REL) /* as above */
                            : --run->before[later];
        if (left == 0)
            nbcolli_lanes_push(run, later);
    }
    /* At last: who finds 0 sees what all steps have written, and gives the run back. */
    __atomic_sub_fetch(&run->remaining, 1, __ATOMIC_ACQ_REL);
}

/* Steps are somebody else's to end: nbcolli_serve looks again what has become ready by them. */
static void nbcolli_lanes_wait(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (!run->item.in) /* else it is delayed, and looked at by and by */
        nbcolli_list_add(&c->unserved, &run->item);
}

nbcolli_ready *nbcolli_lanes_next(nbcolli_run *run)
{
    nbcolli_driven *driven = &run->comm->context->driven;

    for (uint32_t i = 0; i < NBCOLLI_LANES; i++) {
        nbcolli_ready *lane = &run->lane[i];
        uint32_t tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED); /* the step itself, or the lock, orders */
        if (!nbcolli_lanes_serves(run, i)) { /* another thread may be taking from it, or has to */
            if (driven->driver && lane->head != tail) /* relaxed: the lock orders it, and who looks without comes in */
                atomic_fetch_or_explicit(&driven->left, 1u << i, memory_order_relaxed);
            continue;
        }
        if (lane->head != tail && __atomic_load_n(&run->ready[lane->head], __ATOMIC_ACQUIRE)) /* sees its input */
            return lane;
    }
    if (run->comm->context->serves != NBCOLLI_SERVES_ALL && nbcolli_run_remains(run))
        nbcolli_lanes_wait(run);
    return NULL;
}
