/* SPDX-License-Identifier: BSD-3-Clause
 * Medians and the like. */
#include <stdlib.h>

#include "bench.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

bench_spread bench_spread_of(double sample[], size_t n)
{
    qsort(sample, n, sizeof *sample, by_value);
    double median = n % 2 ? sample[n / 2] : (sample[n / 2 - 1] + sample[n / 2]) / 2;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += sample[i];
    return (bench_spread){sample[0], sample[n / 4], median, sample[n - 1 - n / 4], sample[n - 1], sum / (double)n};
}
