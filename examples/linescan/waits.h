/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When one rank waited for others, and when it counted, in one job. Else rank 0 decompresses and cuts.
 */
#ifndef LINESCAN_WAITS_H
#define LINESCAN_WAITS_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>

enum { WAITS_MOST = 2048 }; /* spans that are kept one by one */

typedef struct waits {
    double began;   /* of the job: what `at` counts from */
    double ended;   /* seconds from there */
    double seconds; /* spent waiting, in all */
    size_t count;   /* of `at` */
    struct {
        bool counts; /* else it waits */
        double from, to;
    } at[WAITS_MOST];
} waits;

static inline void waits_add(waits *w, bool counts, double began)
{
    double now = seconds_now();
    if (!counts)
        w->seconds += now - began;
    if (w->count < WAITS_MOST) {
        w->at[w->count].counts = counts;
        w->at[w->count].from = began - w->began;
        w->at[w->count++].to = now - w->began;
    }
}

#endif
