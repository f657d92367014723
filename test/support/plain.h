/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions as plain serial C, one element at a time, written from what nbcoll.h says and sharing nothing with the
 * library: what the kernels are compared with. And operands for them.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdint.h>

#include <nbcoll/schedule.h>

#define PLAIN_LARGEST 32u /* bytes of an element */

/* What a table of the types' classes says: does the type have the operation? */
int plain_applies(nbcoll_op op, nbcoll_type type);

/* One element. */
void plain_combine(nbcoll_reduction how, void *result, const void *left, const void *right);

/* Is what was got what is wanted? To the bit, but for padding, and for which NaN a sum or product gives. */
int plain_same(nbcoll_reduction how, const void *want, const void *got);

/* The next number of a sequence. */
uint64_t plain_random(uint64_t *state);

/* An element: one time in two of edges of the type, else of any bits, or numbers near one. Its padding is rubbish. */
void plain_operand(nbcoll_type type, uint64_t *state, void *element);

/* The value of narrow bits, and the bits nearest to a value, ties to even. */
float plain_wide(nbcoll_type type, uint16_t bits);
uint16_t plain_narrow(nbcoll_type type, float value);

#endif
