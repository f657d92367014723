/* SPDX-License-Identifier: BSD-3-Clause
 * What benchmarks share: giving up, the clock, medians, a computation. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nbcoll/nbcoll.h"

static inline void must(nbcoll_status s)
{
    if (s != NBCOLL_OK) {
        fprintf(stderr, "%s\n", nbcoll_status_text(s));
        exit(1);
    }
}

/* Nanoseconds. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. */
static inline double median(double *sample, int n)
{
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    return sample[n / 2];
}

/* From the first beginning to the last end. */
static inline double span_of(const double from[], const double to[], int n)
{
    double first = from[0], last = to[0];
    for (int i = 1; i < n; i++) {
        first = from[i] < first ? from[i] : first;
        last = to[i] > last ? to[i] : last;
    }
    return last - first;
}

/* A computation that touches no memory. */
static inline uint64_t work(uint64_t loops)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < loops; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* How many of its loops a nanosecond has, where nothing disturbs it. */
static inline double loops_a_ns(void)
{
    double best = 0;
    for (int i = 0; i < 100; i++) {
        double at = now();
        work(200000);
        double loops = 2e5 / (now() - at);
        best = loops > best ? loops : best;
    }
    return best;
}

#endif
