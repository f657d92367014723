/* SPDX-License-Identifier: BSD-3-Clause
 * The window of a pair of ranks: how many messages one lets the other send before it has receives for them, in all the
 * communicators of the endpoint together. An EAGER or RTS takes a credit, which comes back when the message has met its
 * receive, or is refused or dropped, whatever has become of its communicator; so nobody can make a rank store more than
 * that, and no communicator loses what another one needs.
 *
 * A sender without a credit first looks at arrivals: credits are often there already, and for one-way traffic that
 * suffices. Without any the send waits here, at its sender, in order, and says so once, by STALLED; the receiver notes
 * only that this peer has stalled. Credits alone could deadlock, since they may all be held by messages whose receives
 * depend on the one that waits, perhaps in another communicator. So the receiver pulls: a receive that is ready, and
 * whose peer has stalled, asks for its message by WANT, and the message then takes a credit before there is one: it is
 * not stored. So the credits that are not home are the messages that are out, at any time. A STALLED that finds the
 * receive ready is answered; one that comes earlier is noted, and the receive asks when it is ready. A WANT finds the
 * send waiting; or not ready, and then its STALLED will find the receive ready. Stalls are numbered, and EAGER, RTS and
 * CREDIT say up to which none waits any more: in whatever order messages arrive, a stall that lasts is not taken for
 * over. The sends that waited may all have been cancelled: a WANT that finds none is answered so, once.
 *
 * A send that stalls on a communicator that its receiver has freed, or not made, goes with the next credit, and is
 * refused; or its sender asks where the other rank is (ask.h). Inline: what every message and every receive asks. */
#ifndef NBCOLLI_ENGINE_RUN_CREDIT_H
#define NBCOLLI_ENGINE_RUN_CREDIT_H

#include "../state/context.h"

static inline int nbcolli_is_later(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0; /* numbers of stalls wrap */
}

/* The send has no credit, or must look for an answer (channel.h). Before this call of the host ends, a drain looks at
 * arrivals, and lets it go or stall. */
void nbcolli_is_short(nbcolli_op *op);

/* The send waits for a credit, or to be asked for. */
void nbcolli_stall(nbcolli_op *op);

/* A message says of the sends that wait up to which number (0: none) that is so: of the pair's `seen` or `over`. */
static inline void nbcolli_stalls_up_to(uint32_t *number, const nbcolli_header *h)
{
    if (h->count && nbcolli_is_later(h->count, *number))
        *number = h->count;
}

/* Asks for the message of a receive that is ready. */
void nbcolli_want(nbcolli_op *op);

/* The operation has failed: takes back its WANTs that still wait for room, so that a backlog does not grow with
 * cancelled operations. */
void nbcolli_wants_drop(const nbcolli_run *run);

#endif
