/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of operations: finds the run and the step that each means, and hands it over.
 *
 * The key {communicator, tag, source, number} is exact, so matching needs no order of delivery and no search. Early
 * messages are stored; late ones are refused, so that their sender can end. */
#ifndef NBCOLLI_ENGINE_MATCH_OPERATIONS_H
#define NBCOLLI_ENGINE_MATCH_OPERATIONS_H

#include "../run/run.h"
#include "../wire/unexpected.h"

/* Each handles its types: EAGER or RTS; FIN or CTS, which answer our RTS; PUT, which answers our CTS; the others by
 * name. */
void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in);
void nbcolli_answer_in(nbcoll_comm *comm, nbcolli_incoming *in);
void nbcolli_put_in(nbcoll_comm *comm, nbcolli_incoming *in);
void nbcolli_data_in(nbcoll_comm *comm, nbcolli_incoming *in);
void nbcolli_stalled_in(nbcoll_comm *comm, nbcolli_incoming *in);
void nbcolli_want_in(nbcoll_comm *comm, nbcolli_incoming *in);

/* Is that possible without taking memory and without failing anything? */
int nbcolli_operation_takes_plainly(nbcoll_comm *comm, const nbcolli_incoming *in);

/* The op's message, memory or post has come: it goes on, or settles. */
void nbcolli_answered(nbcolli_op *op);

/* The run gets its slot. It may be over afterwards. Out of line: where it meets messages, losses or an observer. */
void nbcolli_activate_meeting(nbcolli_run *run);
static inline void nbcolli_activate(nbcolli_run *run)
{
    const nbcoll_comm *comm = run->comm;

    run->slot->active = run;
    run->state = NBCOLLI_RUN_ACTIVE;
    if (comm->departed || comm->context->observer || *nbcolli_unexpected_at(comm, run->tag))
        nbcolli_activate_meeting(run);
    else
        nbcolli_advance(run);
}

#endif
