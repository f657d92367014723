/* SPDX-License-Identifier: BSD-3-Clause
 * Every message and line that comes: to its communicator, or, where that is unknown here, kept or answered; and there
 * to the operation and the step that it means. A line meets its receive at once, or becomes the message that it stands
 * for (wire/channel.h).
 *
 * The key {communicator, tag, source, number} is exact, so matching needs no order of delivery and no search. What
 * comes too early is stored; what comes too late is refused, so that its sender can end.
 *
 * What a message may say stands in one table of all types: who takes it, its payload, the ranges of its fields. A peer
 * is of the same user, so what it may not say is a bug, or another version: it is given up, and its operations end with
 * ERR_PEER_LOST and a text that says so. What is only not awaited, since an operation has ended here, is no fault. */
#ifndef NBCOLLI_ENGINE_MATCH_MATCH_H
#define NBCOLLI_ENGINE_MATCH_MATCH_H

#include "../run/run.h"
#include "../wire/unexpected.h"

/* Handles one message, or line. The header has been read once and is checked here: peers may be of another version. */
void nbcolli_receive(nbcolli_incoming *in);
void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line);

/* Is that possible without taking memory and without failing anything? So a tick may do it. */
int nbcolli_receives_plainly(const nbcolli_incoming *in);
int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line);

/* The op has what it waited for, or its post has come back: it goes on, or settles. */
void nbcolli_answered(nbcolli_op *op);

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
