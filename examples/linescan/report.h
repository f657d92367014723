/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job found, and how it is told.
 */
#ifndef LINESCAN_REPORT_H
#define LINESCAN_REPORT_H

#include "count.h"
#include "interval.h"
#include "options.h"

enum form { BLOCKING, NONBLOCKING, FORMS };

typedef struct comparison {
    int rounds, ranks, processors;
    double others; /* the share of the processors that other programs took, 0 to 1; below 0: unknown */
    spread seconds[FORMS]; /* the least, the median, the most */
    double waited[FORMS];  /* mean share of the time that rank 0 waited for others */
    spread gain;           /* blocking / nonblocking: the median of the rounds, and an interval that holds the true
                              median in at least 95 of 100 such runs */
} comparison;

typedef struct outcome {
    size_t files, skipped;
    totals total;
    unsigned grams; /* bytes of the longest sequence that was counted */
    double seconds; /* from when all ranks were ready to when rank 0 had the totals */
    int ranks;
    double waited[256]; /* the share of that time, 0 to 1, in which each rank waited for others */
    bool interrupted;
    bool differs; /* from another job with the same text */
    bool checked; /* the sequential pass was made; what it found: */
    bool agrees;
    totals sequential;
    double sequential_seconds;
} outcome;

/* Prints the table or the JSON object and returns the exit status. */
int report(const options *o, const outcome *out, const comparison *c, bool no_file);

#endif
