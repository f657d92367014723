/* SPDX-License-Identifier: BSD-3-Clause
 * The way out for a call that progresses: callbacks of ended requests run now. Inline: the look whether there is
 * any. */
#ifndef NBCOLLI_ENGINE_PROGRESS_REPORT_H
#define NBCOLLI_ENGINE_PROGRESS_REPORT_H

#include "lock.h"

/* Runs the callbacks of ended requests and releases detached ones, without the lock. */
void nbcolli_report_ended(nbcoll_context *c);

/* The same for a call that progresses: callbacks run now. */
static inline nbcoll_status nbcolli_leave_reporting(nbcoll_context *c, nbcoll_status status)
{
    int ended = c->ended != NULL;
    if (ended)
        nbcolli_go_outside(c);
    nbcolli_unlock(c);
    if (ended) {
        nbcolli_report_ended(c);
        nbcolli_come_back(c);
    }
    return status;
}

#endif
