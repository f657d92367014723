/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of communicators that are unknown here: of one that is being made they are kept, of one that was freed, or
 * not made, they are answered. */
#ifndef NBCOLLI_ENGINE_MATCH_ORPHANS_H
#define NBCOLLI_ENGINE_MATCH_ORPHANS_H

#include "../wire/unexpected.h"

/* While something is being made only a question tells whether that is what it is about. A group (comm/comm.h) may be
 * called for at any time: of that all is kept, but for what is of an operation that was revoked. */
void nbcolli_orphan_in(nbcolli_incoming *in);

#endif
