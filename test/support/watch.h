/* SPDX-License-Identifier: BSD-3-Clause
 * An observer of one context that knows which steps are ready or started and have not ended, so that a test that gives
 * up waiting can say what it waited for. */
#ifndef WATCH_H
#define WATCH_H

#include <stdio.h>

#include "nbcoll/schedule.h"

typedef struct watch {
    nbcoll_observer observer; /* give its address to nbcoll_context_config */
    int rank;
    nbcoll_event *open; /* the last event of each step that has not ended */
    size_t count, room;
} watch;

void watch_init(watch *w, int rank);
void watch_free(watch *w);

/* Prints a line for each step that has not ended. Call it from the context's thread. */
void watch_dump(const watch *w, FILE *to);

#endif
