/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a run: see finish.h. */
#include "finish.h"

#include "expose.h"
#include "lanes.h"
#include "observe.h"
#include "pool.h"
#include "queue.h"
#include "step.h"
#include "../exposures/cells.h"

/* Does the request keep the run, which its next start can replay? Its end is to be nothing but a status. */
static int nbcolli_finish_keeps(const nbcolli_run *run, const nbcolli_request *r)
{
    int is_plain = !r->creating && !r->done && !r->detached && !(r->context->flags & NBCOLL_ANY_THREAD);

    return is_plain && !run->keeper && !r->kept && run->schedule->kept < NBCOLLI_KEPT && nbcolli_moves_can_replay(run);
}

void nbcolli_run_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = run->slot;

    if (run->awaited && nbcolli_tick_leaves(run)) { /* the watcher is to hear of it */
        nbcolli_run_delay(run);
        return;
    }
    if (comm->context->observer)
        nbcolli_observe_end(run);
    if (run->awaited)
        nbcolli_observe_wait(run, -1);
    if (comm->area && run->status == NBCOLL_OK)
        nbcolli_mark_end(comm, slot, run->tag);
    else if (comm->area)
        nbcolli_cells_failed(run);
    nbcolli_list_leave(&run->item);
    if (run->schedule->is_cut)
        r->executor->does->give_back(r->executor, run);
    slot->active = NULL;
    nbcolli_slot_free(comm, slot);
    nbcolli_raise_failed(comm, slot);
    nbcoll_status status = run->status;
    if (nbcolli_finish_keeps(run, r))
        nbcolli_run_keep(run, r);
    nbcolli_run_give(run);
    nbcolli_operation_over(r, status);
}
