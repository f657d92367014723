/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job found, and how it is told.
 */
#ifndef LINESCAN_REPORT_H
#define LINESCAN_REPORT_H

#include "count.h"
#include "options.h"

typedef struct outcome {
    size_t files, skipped;
    totals total;
    double seconds;    /* from when all ranks were ready to when rank 0 had the totals */
    int ranks;
    double waited[256]; /* the share of that time, 0 to 1, in which each rank waited for others */
    bool interrupted;
    bool checked; /* the sequential pass was made; what it found: */
    bool agrees;
    totals sequential;
    double sequential_seconds;
} outcome;

/* Prints the table or the JSON object and returns the exit status. */
int report(const options *o, const outcome *out, bool no_file);

#endif
