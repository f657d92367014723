/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums that are not the predefined one: averages, sums with a factor for each rank, sums in more bits than the elements
 * have, and sums whose bits do not depend on the number of ranks. Each is an operation (nbcoll_op) for all collectives
 * that reduce, in place or not:
 *
 *     nbcoll_iallreduce(gradient, mean, n, NBCOLL_FLOAT, nbcoll_average(), comm, &request);
 *     nbcoll_ireduce(energy, total, n, NBCOLL_FLOAT, nbcoll_sum_wide(), 0, comm, &request);
 *
 *     const double weight = samples / all_samples;
 *     const nbcoll_host_op weighted = nbcoll_sum_scaled(&weight);
 *     nbcoll_iallreduce(gradient, mean, n, NBCOLL_FLOAT, nbcoll_op_of(&weighted), comm, &request);
 *
 * A type that an operation does not have is refused by the call: ERR_OP. These are operations of the host's, which
 * differ from one another for the library by the size of their states only: a rank that averages while another one
 * sums may go unnoticed. Agents do not carry them out, as they carry out no operations of the host's.
 *
 * A component, a library of its own: nbcoll_elements (pkg-config: nbcoll_elements; CMake: nbcoll::elements). In an
 * embedded copy -DNBCOLL_WITH_ELEMENTS=1 brings it along.
 */
#include "nbcoll.h"

#ifndef NBCOLL_SUMS_H
#define NBCOLL_SUMS_H

#if defined NBCOLL_WITH_ELEMENTS && !NBCOLL_WITH_ELEMENTS
#error "nbcoll/sums.h is of the component elements: define NBCOLL_WITH_ELEMENTS=1, or link nbcoll_elements"
#endif

NBCOLLI_BEGIN

/* The sum, divided by the number of ranks whose elements it is made of (in a scan rank + 1, in an exscan rank), and
 * rounded. The sum is computed in the elements' type, of HALF and BFLOAT16 in float. Types: FLOAT DOUBLE LONG_DOUBLE
 * HALF BFLOAT16, and the complex ones; integers have none. Any thread. */
NBCOLL_API nbcoll_op nbcoll_average(void);

/* The sum of the ranks' elements, each multiplied before by its rank's own *factor. The factor is rounded to the type
 * in which the sum is computed, and so is each product. Types and sums are as those of nbcoll_average. What this
 * returns, and *factor, are the caller's, and stay as they are as long as a request that was opened with it. A call
 * with a null factor gets ERR_NULL. Any thread. */
NBCOLL_API nbcoll_host_op nbcoll_sum_scaled(const double *factor);

/* The sum, computed in the next wider type, and rounded once at the end: FLOAT and FLOAT_COMPLEX in double, HALF and
 * BFLOAT16 in float. These are all its types. Twice as many bytes travel. Any thread. */
NBCOLL_API nbcoll_op nbcoll_sum_wide(void);

/* The sum with the same bits for any number of ranks, any order and any algorithm: of FLOAT, DOUBLE, HALF, BFLOAT16,
 * FLOAT_COMPLEX, DOUBLE_COMPLEX, and of bins. Each number is cut at fixed places of its exponent range into digits of
 * 28 bits. A state has integer sums of digits at three successive places, which hold all digits of the largest number;
 * lower digits are dropped. Integers are added in any order alike. At the end the state is rounded once, to the nearest
 * (ties to even). With n numbers, the largest of magnitude M, the result is off by n * M * 2^-56 before that at most.
 * It is exact where all numbers fit three places. There may be 2^35 numbers in all. The sum of infinities of both
 * signs, and of a NaN, is a NaN; always the same one. A sum of -0 alone is -0. Of a number, 32 bytes travel. An
 * allreduce of 32 DOUBLE takes 6 times as long as SUM, of 1,024 35 times (two ranks over shm: bench/sums.c; averages
 * 2.5 and 4 times); a number added to bins by the rank 2.6 ns, 2 ns more than plainly. Any thread. */
NBCOLL_API nbcoll_op nbcoll_sum_reproducible(void);

/* The state of such a sum, for what a rank adds up by itself. A sum of numbers that lie on many ranks has the same bits
 * wherever they lie if each rank adds its own ones to bins, and the bins are reduced:
 *
 *     nbcoll_bins bins = {0};
 *     nbcoll_bins_add(&bins, mine, n);
 *     nbcoll_allreduce(NBCOLL_IN_PLACE, &bins, 1, nbcoll_bins_type(), nbcoll_sum_reproducible(), comm, NBCOLL_FOREVER);
 *     sum = nbcoll_bins_value(&bins);
 *
 * All zero, it is the sum of no number, +0. The members are for the library. */
typedef struct nbcoll_bins {
    int64_t digit[3]; /* the highest place first */
    uint32_t place;   /* of the highest digit; the lowest one has the place 2 */
    uint32_t seen;    /* what else was added: bits */
} nbcoll_bins;

/* Adds n numbers. bins_value rounds to double. Any thread. */
NBCOLL_API void nbcoll_bins_add(nbcoll_bins *bins, const double numbers[], size_t n);
NBCOLL_API double nbcoll_bins_value(const nbcoll_bins *bins);
/* A type of the host's, whose elements are nbcoll_bins. Any thread. */
NBCOLL_API nbcoll_type nbcoll_bins_type(void);

NBCOLLI_END
#endif
