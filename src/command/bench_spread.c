/* SPDX-License-Identifier: BSD-3-Clause
 * Medians and the like. */
#include <math.h>

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

/* The ratio of two entries that took turns: the median of the rounds' ratios, and between which of them in their order
 * it lies: so many are above and below as do not happen by chance, as heads and tails do. */
against_interval against_ratio(const double ours[], const double theirs[], size_t rounds)
{
    double ratio[AGAINST_ROUNDS], outside = ((double)rounds - 1.96 * sqrt((double)rounds)) / 2;
    for (size_t i = 0; i < rounds; i++)
        ratio[i] = ours[i] / theirs[i];
    double median = bench_spread_of(ratio, rounds).median; /* sorts them */
    size_t before = outside > 0 ? (size_t)outside : 0;
    return (against_interval){median, ratio[before], ratio[rounds - 1 - before]};
}
