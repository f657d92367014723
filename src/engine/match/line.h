/* SPDX-License-Identifier: BSD-3-Clause
 * Lines that come: each meets its receive at once, or becomes the message that it stands for (wire/channel.h). */
#ifndef NBCOLLI_ENGINE_MATCH_LINE_H
#define NBCOLLI_ENGINE_MATCH_LINE_H

#include "incoming.h"

/* Handles one line. */
void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line);

/* As nbcolli_receives_plainly. */
int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line);

#endif
