/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks that are out of step have called, so that the failure names the right one. Histories tell it: from two
 * words in a row follows an operation's fingerprint, and from that, by what schedules were built for, the call. So a
 * start writes nothing for this.
 *
 * Whoever learns that the ranks are out of step says by CALL to each other one what it has called as the operation that
 * showed it, and with which history before that. Where these histories differ the difference lies further back, and
 * both go on with the operation before, till their histories meet, or one of them has forgotten. Operations that fail
 * by it end when all who may have something to say have said it, or a little later: nobody waits for a rank that
 * computes. All this needs no memory; a CALL for which there is no post is left out. */
#ifndef NBCOLLI_ENGINE_RUN_CALLED_H
#define NBCOLLI_ENGINE_RUN_CALLED_H

#include "../state/context.h"

/* A schedule has been built for such a call: on the caller's side. */
void nbcolli_called_note(nbcoll_comm *comm, const nbcoll_schedule *s, const nbcoll_args *a);

/* Its start is refused, since the ranks are out of step: on the caller's side. */
void nbcolli_called_refuse(nbcoll_comm *comm, const nbcoll_schedule *s);

/* Says so to all; inside. */
void nbcolli_called_late(nbcoll_comm *comm);

/* The communicator has just broken: the ranks are out of step, as the operation of its failure showed. */
void nbcolli_called_tell(nbcoll_comm *comm);

/* Something has been heard, or a rank has left, which says no more. */
void nbcolli_called_heard(nbcoll_comm *comm);

/* No more is waited for: the failure is made of what has been heard. Before a loss takes that failure's place. */
void nbcolli_called_over(nbcoll_comm *comm);

/* The rank has freed the communicator: it has nothing to say. */
static inline void nbcolli_called_freed(nbcoll_comm *comm, int rank)
{
    comm->told[rank].is_through = comm->told[rank].has_freed = 1;
}

/* A CALL has come. */
void nbcolli_called_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* Must a run that fails wait for what the others have called? */
static inline int nbcolli_called_hears(const nbcolli_run *run)
{
    return run->comm->hears && run->status == NBCOLL_ERR_MISMATCH;
}

/* A round of asking has been made (match/ask.h): after some of them a run has waited for long enough. */
static inline void nbcolli_called_round(nbcoll_comm *comm)
{
    if (comm->hears > 1)
        comm->hears--;
    else
        nbcolli_called_over(comm);
}

#endif
