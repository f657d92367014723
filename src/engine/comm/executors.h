/* SPDX-License-Identifier: BSD-3-Clause
 * The executors of a communicator, those at which a context's passes look, and operations that are theirs. */
#ifndef NBCOLLI_ENGINE_COMM_EXECUTORS_H
#define NBCOLLI_ENGINE_COMM_EXECUTORS_H

#include "../state/context.h"

/* Adds it to the front of its communicator's list, and removes it: inside, with the caller's side. */
void nbcolli_executor_join(nbcolli_executor *e);
void nbcolli_executor_leave(nbcolli_executor *e);

/* Passes look at it from now on; till it leaves that list: inside. */
static inline void nbcolli_executor_watch(nbcolli_executor *e)
{
    if (!e->looked.in)
        nbcolli_list_add(&e->comm->context->executors, &e->looked);
}

/* Frees the executors of a communicator that ends. */
void nbcolli_executors_free(nbcoll_comm *comm);

/* The executor that takes a call of these complete arguments without a schedule, on the caller's side; null: none. */
static inline nbcolli_executor *nbcolli_executor_taking(const nbcoll_comm *comm, const nbcoll_args *args)
{
    nbcolli_executor *e = comm->executors;
    while (e && !(e->does->takes && e->does->takes(e, args)))
        e = e->next;
    return e;
}

/* A schedule for such calls by the first one that has it; ERR_UNSUPPORTED: none has. */
nbcoll_status nbcolli_executors_plan(const nbcoll_comm *comm, const nbcoll_args *args, nbcoll_schedule **out);

/* Outside: see `go`. */
void nbcolli_executors_go(nbcoll_comm *comm);

/* All of the context go on; returns whether one has moved. `poller`: on which this rank is about to sleep, or -1. */
int nbcolli_executors_drain(nbcoll_context *c);
int nbcolli_executors_look(nbcoll_context *c, int poller);

#endif
