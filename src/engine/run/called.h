/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks that are out of step have called, so that the failure names the right one. Two successive histories give
 * an operation's fingerprint, and the schedules built for that give the call. So a start writes nothing for this.
 *
 * A rank that learns that ranks are out of step tells each other one by CALL what it has called as the operation that
 * showed it, and its history before that. If two histories differ the difference lies further back: both go on with the
 * operation before, till their histories meet, or one has forgotten. Operations that fail by it end when all ranks that
 * may tell something have told it, or a little later: nobody waits for a rank that computes. All this needs no memory;
 * a CALL for which there is no post is left out. */
#ifndef NBCOLLI_ENGINE_RUN_CALLED_H
#define NBCOLLI_ENGINE_RUN_CALLED_H

#include "../state/context.h"

/* A schedule has been built for such a call: on the caller's side. */
void nbcolli_called_note(nbcoll_comm *comm, const nbcoll_schedule *s, const nbcoll_args *a);

/* Its start is refused, since the ranks are out of step: on the caller's side. */
void nbcolli_called_refuse(nbcoll_comm *comm, const nbcoll_schedule *s);

/* Tells all ranks; inside. */
void nbcolli_called_late(nbcoll_comm *comm);

/* The communicator has just broken: the ranks are out of step, as the operation of its failure showed. */
void nbcolli_called_tell(nbcoll_comm *comm);

/* Something has been heard, or a rank has left, which says no more. */
void nbcolli_called_heard(nbcoll_comm *comm);

/* Ends the waiting: the failure is made of what has been heard. Called before a loss replaces that failure. */
void nbcolli_called_over(nbcoll_comm *comm);

/* A CALL has come. */
void nbcolli_called_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* A round of asking has been made (match/ask.h): after some of them a run has waited for long enough. */
static inline void nbcolli_called_round(nbcoll_comm *comm)
{
    if (comm->hears > 1)
        comm->hears--;
    else
        nbcolli_called_over(comm);
}

#endif
