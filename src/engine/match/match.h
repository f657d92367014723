/* SPDX-License-Identifier: BSD-3-Clause
 * Every message and line that comes goes to its communicator, and there to its operation and step; if the communicator
 * is unknown here it is kept or answered. A line meets its receive at once, or becomes the message that it stands for
 * (wire/channel.h).
 *
 * One table of all types has each type's handler, payload, and ranges of fields. Peers are of the same user: a message
 * outside that table is a bug, or another version. Its sender is given up, and operations end with ERR_PEER_LOST and a
 * text that says so. A message that is only late, for an operation that has ended here, is no fault. */
#ifndef NBCOLLI_ENGINE_MATCH_MATCH_H
#define NBCOLLI_ENGINE_MATCH_MATCH_H

#include "../wire/unexpected.h"

/* Handles one message, or line. The header has been read once and is checked here: peers may be of another version. */
void nbcolli_receive(nbcolli_incoming *in);
void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line);

/* Can it be handled without taking memory and without failing anything? Then a tick may do it. */
int nbcolli_receives_plainly(const nbcolli_incoming *in);
int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line);

#endif
