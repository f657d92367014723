/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Medians and their intervals, by ranks alone: nothing is supposed of how values are distributed.
 */
#include "interval.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread interval_sorted(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, ascending);
    return (spread){value[0], (value[(n - 1) / 2] + value[n / 2]) / 2, value[n - 1]};
}

/* The true median lies outside of the k-th smallest and the k-th largest of n with probability 2 (C(n, 0) + ... +
 * C(n, k - 1)) / 2^n, however the values are distributed: the largest k for which that is at most 5%. */
spread interval_of(double *ratio, int n)
{
    spread all = interval_sorted(ratio, n);
    double outside = 0, term = 2;
    for (int i = 0; i < n; i++)
        term /= 2;
    int k = 0;
    for (; k < n / 2 && outside + term <= 0.05; k++) {
        outside += term;
        term = term * (n - k) / (k + 1);
    }
    return (spread){ratio[k - 1], all.middle, ratio[n - k]};
}
