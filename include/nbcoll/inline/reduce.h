/* SPDX-License-Identifier: BSD-3-Clause
 * Elementwise reductions: what REDUCE and FETCH_REDUCE steps compute. Made by src/reduce, called by the engine. */
#ifndef NBCOLL_INLINE_REDUCE_H
#define NBCOLL_INLINE_REDUCE_H

#include "../schedule.h"

/* Does the type have the reduction? 0 for an unknown type or op. */
int nbcolli_op_valid(nbcoll_type type, nbcoll_op op);

/* result[i] = left[i] op right[i] for a valid reduction. `result` may be `left` or `right` exactly, else the three do
 * not overlap. Any alignment. An element's bits depend on its two operands only, not on count, alignment or the
 * processor's vectors, but for which NaN a sum or product of floating type gives:
 *
 *   integers   sums and products wrap modulo 2^bits
 *   floating   sums and products are rounded once, in the caller's rounding mode
 *   min, max   of floating type: the other operand when one is NaN, the left one when both are; -0 is less than +0. So
 *              they are commutative and associative to the bit, except for which NaN results when all are NaN */
void nbcolli_reduce(nbcoll_reduction how, void *result, const void *left, const void *right, size_t count);

#endif
