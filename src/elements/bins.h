/* SPDX-License-Identifier: BSD-3-Clause
 * Reproducible sums: numbers cut into digits, see sums.h. */
#ifndef NBCOLLI_ELEMENTS_BINS_H
#define NBCOLLI_ELEMENTS_BINS_H

#include "nbcoll/sums.h"

void nbcolli_bins_add(nbcoll_bins *bins, double number);

/* The sum, rounded to `bits` bits, of which the lowest is worth 2^lowest at least. Beyond double: infinity. */
double nbcolli_bins_round(const nbcoll_bins *bins, int bits, int lowest);

/* The operations on states, of one and of two reals. */
extern const nbcoll_host_op nbcolli_bins_sums[2];

#endif
