/* SPDX-License-Identifier: BSD-3-Clause
 * What the host's observer is told of a run: see observe.h. */
#include "observe.h"

void nbcolli_observe_start(nbcolli_run *run)
{
    for (int moment = NBCOLL_STEP_READY; moment <= NBCOLL_STEP_ENDED; moment++)
        nbcolli_observe(run, (nbcoll_moment)moment, NBCOLL_START);
    for (nbcoll_step s = NBCOLL_END + 1; s < run->schedule->steps; s++)
        if (run->before[s] == 0)
            nbcolli_observe(run, NBCOLL_STEP_READY, s);
}

void nbcolli_observe_end(nbcolli_run *run)
{
    if (run->status == NBCOLL_OK) {
        nbcolli_observe(run, NBCOLL_STEP_READY, NBCOLL_END);
        nbcolli_observe(run, NBCOLL_STEP_STARTED, NBCOLL_END);
    }
    nbcolli_observe(run, NBCOLL_STEP_ENDED, NBCOLL_END);
}

void nbcolli_observe_wait(nbcolli_run *run, int rank)
{
    nbcoll_context *c = run->comm->context;

    if (run->awaited == rank + 1)
        return;
    run->awaited = rank + 1;
    c->watcher->event(c->watcher->user, &(nbcoll_event){NBCOLL_RUN_WAITS, run->comm, run->tag, run->schedule,
                                                        NBCOLL_START, rank});
}
