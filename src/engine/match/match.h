/* SPDX-License-Identifier: BSD-3-Clause
 * Every message and line that comes: to its communicator, or, where that is unknown here, kept or answered; and there
 * to the operation and the step that it means. A line meets its receive at once, or becomes the message that it stands
 * for (wire/channel.h).
 *
 * What a message may say stands in one table of all types: who takes it, its payload, the ranges of its fields. A peer
 * is of the same user, so what it may not say is a bug, or another version: it is given up, and its operations end with
 * ERR_PEER_LOST and a text that says so. What is only not awaited, since an operation has ended here, is no fault. */
#ifndef NBCOLLI_ENGINE_MATCH_MATCH_H
#define NBCOLLI_ENGINE_MATCH_MATCH_H

#include "../wire/unexpected.h"

/* Handles one message, or line. The header has been read once and is checked here: peers may be of another version. */
void nbcolli_receive(nbcolli_incoming *in);
void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line);

/* Is that possible without taking memory and without failing anything? So a tick may do it. */
int nbcolli_receives_plainly(const nbcolli_incoming *in);
int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line);

#endif
