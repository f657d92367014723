/* SPDX-License-Identifier: BSD-3-Clause
 * From a header to the operation and the step that it means. The key {communicator, tag, source, number} is exact, so
 * matching needs no order of delivery and no search. What comes too early is stored; what comes too late is refused, so
 * that its sender can end. */
#ifndef NBCOLLI_ENGINE_MATCH_MATCH_H
#define NBCOLLI_ENGINE_MATCH_MATCH_H

#include "../run/run.h"
#include "../wire/unexpected.h"

typedef enum nbcolli_fit {
    NBCOLLI_FITS,
    NBCOLLI_UNWANTED, /* nothing awaits it (any more) */
    NBCOLLI_WRONG     /* the ranks do not run the same schedule */
} nbcolli_fit;

/* What a message means here. */
typedef struct nbcolli_meaning {
    nbcolli_run *run; /* of its tag; null: there is none */
    nbcolli_op *op;   /* null: it has none, or none that this message still concerns, as the run has failed */
    nbcolli_fit fit;  /* what the op is doing */
} nbcolli_meaning;

nbcolli_meaning nbcolli_meant(nbcoll_comm *comm, const nbcolli_incoming *in);

/* EAGER or RTS. */
void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* A message of the peer's waits for a credit. If its receive is ready, it may come without. */
void nbcolli_stalled_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The peer asks for what stalls, or has gone in the meantime, or will find out by itself that it is awaited. */
void nbcolli_want_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The op has what it waited for, or its post has come back: it goes on, or settles. */
void nbcolli_answered(nbcolli_op *op);

/* FIN or CTS: an answer to our RTS. */
void nbcolli_answer_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The answer to our CTS that lent memory. */
void nbcolli_put_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* A fragment of what our CTS asked for. Fragments may come in any order. */
void nbcolli_data_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* The run gets its slot. It may be over afterwards. Out of line: where it meets messages, losses or an observer. */
void nbcolli_activate_meeting(nbcolli_run *run);
static inline void nbcolli_activate(nbcolli_run *run)
{
    const nbcoll_comm *comm = run->comm;

    nbcolli_slot_of(run->comm, run->tag)->active = run;
    run->state = NBCOLLI_RUN_ACTIVE;
    if (comm->departed || comm->context->observer || *nbcolli_unexpected_at(comm, run->tag))
        nbcolli_activate_meeting(run);
    else
        nbcolli_advance(run);
}

#endif
