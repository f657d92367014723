/* SPDX-License-Identifier: BSD-3-Clause
 * A small set of points of a grid that has every pair of values of any two dimensions, if any legal point has it. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stddef.h>
#include <stdint.h>

enum { PAIRS_DIMENSIONS = 16, PAIRS_VALUES = 512 };

typedef struct grid {
    int dimensions;
    const int *sizes; /* of each dimension: its values are 0 .. size - 1. All together at most PAIRS_VALUES */
    /* May this still become a point? -1: not chosen yet. It may say yes too often, but for a whole point; the more of
     * its rules concern dimension 0 and one other, the less has to be tried. */
    int (*is_legal)(const int values[]);
    int (*is_dear)(int dimension, int value); /* where there is a choice, rather not. May be null */
    int free; /* so many dimensions, the last ones, that no rule concerns */
} grid;

/* Writes at most `most` points to rows, `dimensions` values each, one behind the other, and returns how many there are:
 * more than `most` if they did not fit. The seed chooses among equals. */
size_t pairs_cover(const grid *g, uint64_t seed, int *rows, size_t most);

#endif
