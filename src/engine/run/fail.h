/* SPDX-License-Identifier: BSD-3-Clause
 * Failing: of runs, of operations without a run, of communicators; what is noted of it, for those who ask afterwards;
 * and settling (settle.c). */
#ifndef NBCOLLI_ENGINE_RUN_FAIL_H
#define NBCOLLI_ENGINE_RUN_FAIL_H

#include "../state/context.h"

/* What failed, with what the transport said if it lost the rank. */
nbcoll_failure nbcolli_failure_of(const nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag);

/* The cause of a break stays the communicator's. */
void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f);

/* The same, from its parts. */
void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag);

/* An active request will end with `why`, or, where it has no run, ends. `tell`: the other ranks do not know yet. Of a
 * vote each rank tells: those that have ended it well have a communicator that this one will not have, and must learn
 * of that whoever dies. A run settles later, from the drain. */
void nbcolli_request_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell);

static inline void nbcolli_run_fail(nbcolli_run *run, nbcoll_status why, int cause, int tell)
{
    nbcolli_request_fail(run->request, why, cause, tell);
}

/* It needs a rank that has left; or that has given this one up: then this rank names itself. */
void nbcolli_run_deserted(nbcolli_run *run, int rank);

/* Ends all that was started, from this tag on; all ranks know, or are told of it otherwise. */
void nbcolli_runs_fail(nbcoll_comm *comm, uint64_t from, uint64_t to, nbcoll_status why, int rank);

/* Breaks the communicator: starts get ERR_MISMATCH, ERR_CANCELLED or ERR_PEER_LOST from now on. After a loss, or if not
 * all ranks have made it, all that runs ends, too, with `why`. If ranks are out of step, operations go on: one that all
 * have started alike can end; any other is found by itself, or ends since some rank will not start it
 * (nbcolli_lost_in). Each rank that learns of it tells all others, so that the news outlives its first bearer. `tag`:
 * the operation that showed ranks out of step; a loss names the first under way. */
void nbcolli_comm_break(nbcoll_comm *comm, int rank, nbcoll_status why, uint64_t tag);

/* `rank` does something else under this tag: the ranks are out of step. */
void nbcolli_run_out_of_step(nbcolli_run *run, int rank);

/* [SETTLE] Called for a failed run when something about it changed. */
void nbcolli_settle(nbcolli_run *run);

/* In a failed run: must a rank still say that it touches the op's memory no more? Settling waits for other ranks only
 * where this is true, so that rounds ask there, too (match/ask.h). A rank that has left says nothing. */
int nbcolli_op_is_held_by(const nbcolli_op *op, int *rank);

#endif
