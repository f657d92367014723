/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When one rank waited for others, in one job.
 */
#ifndef LINESCAN_WAITS_H
#define LINESCAN_WAITS_H

#include "clock.h"

#include <stddef.h>

enum { WAITS_MOST = 1024 }; /* that are kept one by one */

typedef struct waits {
    double began;   /* of the job: what `at` counts from */
    double ended;   /* seconds from there */
    double seconds; /* spent waiting, in all */
    size_t count;   /* of `at` */
    struct {
        double from, to;
    } at[WAITS_MOST];
} waits;

static inline void waits_add(waits *w, double began)
{
    double now = seconds_now();
    w->seconds += now - began;
    if (w->count < WAITS_MOST) {
        w->at[w->count].from = began - w->began;
        w->at[w->count++].to = now - w->began;
    }
}

#endif
