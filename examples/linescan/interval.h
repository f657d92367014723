/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a few measured values say of the median of all that one could measure.
 */
#ifndef LINESCAN_INTERVAL_H
#define LINESCAN_INTERVAL_H

typedef struct spread {
    double low, middle, high;
} spread;

/* The least, the median, the most of n >= 1 values, which it sorts. */
spread interval_sorted(double *value, int n);

/* The median of n >= 6 values, which it sorts, between bounds that hold the true median in at least 95 of 100 cases. */
spread interval_of(double *value, int n);

#endif
