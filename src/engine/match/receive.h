/* SPDX-License-Identifier: BSD-3-Clause
 * Every message that comes: to its communicator, or, where that is unknown here, kept or answered. */
#ifndef NBCOLLI_ENGINE_MATCH_RECEIVE_H
#define NBCOLLI_ENGINE_MATCH_RECEIVE_H

#include "incoming.h"

/* Handles one message. The header has been read once and is checked here: peers may be of another version. */
void nbcolli_receive(nbcolli_incoming *in);

/* Is that possible without taking memory and without failing anything? So a tick may do it. */
int nbcolli_receives_plainly(const nbcolli_incoming *in);

#endif
