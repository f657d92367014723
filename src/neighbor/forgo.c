/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that has no memory for making neighbours. The others have started the split, or will; so it starts the same
 * operation, which ends at once, with ERR_MEMORY, on all ranks. That takes no memory: the request, which has no run,
 * and its schedule, which has no steps, are this function's. */
#include "neighbors.h"

#include "../engine/calls/context.h"
#include "../engine/calls/create.h"
#include "../engine/comm/vote.h"
#include "../engine/match/ask.h"
#include "../engine/progress/lock.h"
#include "../engine/run/fail.h"
#include "../engine/run/queue.h"

/* All that was started before has been taken over, and nothing is started till the caller's side is unlocked. */
static nbcoll_status nbcolli_forgo_enter(nbcoll_context *c)
{
    nbcoll_status s = nbcolli_enter(c);

    if (s != NBCOLL_OK)
        return s;
    for (nbcolli_caller_lock(c); nbcolli_is_handed(c); nbcolli_caller_lock(c)) {
        nbcolli_caller_unlock(c);
        nbcolli_take_handed(c);
    }
    return s;
}

void nbcolli_neighbors_forgo(nbcoll_comm *comm)
{
    nbcoll_context *c = comm->context;
    nbcoll_schedule votes = {.rank = comm->rank, .ranks = comm->size};
    nbcolli_request r = {.context = c, .comm = comm, .schedule = &votes};
    int cause = comm->rank;

    if (nbcolli_forgo_enter(c) != NBCOLL_OK)
        return;
    nbcoll_status why = nbcolli_broken(comm);
    if (why == NBCOLL_OK) {
        nbcolli_schedule_mark(&votes, NBCOLLI_BALLOT_MARK(sizeof(nbcolli_vote)));
        r.tag = comm->next_tag++;
        comm->history = nbcolli_history_after(comm->history, votes.raised);
        comm->taken = r.tag + 1;
        nbcolli_note_started(comm, r.tag, comm->history);
        nbcolli_request_taken(&r);
        int is_told = nbcolli_pending_take(comm, r.tag, &why, &cause);
        nbcolli_request_fail(&r, is_told ? why : NBCOLL_ERR_MEMORY, cause, !is_told);
        nbcolli_list_leave(&r.unreported);
    }
    nbcolli_caller_unlock(c);
    nbcolli_leave(c, why);
}
