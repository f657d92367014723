/* SPDX-License-Identifier: BSD-3-Clause
 * Starting operations: those of the library, and the schedules of a program's own making. */
#ifndef NBCOLLI_ENGINE_CALLS_START_H
#define NBCOLLI_ENGINE_CALLS_START_H

#include "../progress/lock.h"

/* Starts it: hands it over to progress. On an error nothing has happened. Touches the caller's side only, which is
 * held. `go`: the same, or its executor starts it. */
nbcoll_status nbcolli_request_start(nbcolli_request *r);
nbcoll_status nbcolli_request_go(nbcolli_request *r);

/* Leaves the caller's side, with a start's status. AGAIN: calls `go` of its executors. */
nbcoll_status nbcolli_start_failed(nbcoll_comm *comm, nbcoll_status s);
static inline nbcoll_status nbcolli_start_over(nbcoll_comm *comm, nbcoll_status s)
{
    nbcolli_leave_caller(comm->context);
    return s == NBCOLL_OK ? s : nbcolli_start_failed(comm, s);
}

/* Notes the refusal of a start on a broken communicator; inside. */
void nbcolli_start_refused(nbcoll_comm *comm);

/* On the caller's side: a request that was just opened, for a schedule that suits the communicator or an executor, is
 * started, or becomes a persistent one, inactive. Null: why it could not be opened. On an error it is gone. */
nbcoll_status nbcolli_begin(nbcoll_comm *comm, nbcolli_request *r, int persistent, nbcoll_request *request);

#endif
