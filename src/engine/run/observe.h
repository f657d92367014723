/* SPDX-License-Identifier: BSD-3-Clause
 * What the host's observer is told of a run. Inline: the look whether there is one. */
#ifndef NBCOLLI_ENGINE_RUN_OBSERVE_H
#define NBCOLLI_ENGINE_RUN_OBSERVE_H

#include "../state/context.h"

/* Tells the observer, if there is one. */
static inline void nbcolli_observe(nbcolli_run *run, nbcoll_moment moment, nbcoll_step step)
{
    const nbcoll_observer *o = run->comm->context->observer;
    if (o) {
        nbcoll_event e = {moment, run->comm, run->tag, run->schedule, step, 0};
        o->event(o->user, &e);
    }
}

/* Where there is a watcher: the run waits for this rank, of which it is told once, or is over (-1). */
void nbcolli_observe_wait(nbcolli_run *run, int rank);

/* Where there is an observer: START and the steps that are ready then; END. */
void nbcolli_observe_start(nbcolli_run *run);
void nbcolli_observe_end(nbcolli_run *run);

#endif
