/* SPDX-License-Identifier: BSD-3-Clause
 * What a level's kernels of integers, float and double are made of: see vectors.h. */
#ifndef NBCOLL_REDUCE_NUMBERS_H
#define NBCOLL_REDUCE_NUMBERS_H

#include "vectors.h"

#define NBCOLLI_REDUCE_MIN_MAX(sign, bits, T, I)                                                                       \
    NBCOLLI_REDUCE_KERNEL(min_##sign##bits, T, I, NBCOLLI_REDUCE_SELECT(l < r), l < r ? l : r)                         \
    NBCOLLI_REDUCE_KERNEL(max_##sign##bits, T, I, NBCOLLI_REDUCE_SELECT(l > r), l > r ? l : r)

/* Signed integers are added and multiplied as unsigned ones, which wrap; 1u keeps short ones from being promoted to
 * int, which does not. */
#define NBCOLLI_REDUCE_INTEGER_KERNELS(bits, U, I)                                                                     \
    NBCOLLI_REDUCE_KERNEL(sum_u##bits, U, I, l + r, l + r)                                                             \
    NBCOLLI_REDUCE_KERNEL(prod_u##bits, U, I, l * r, 1u * l * r)                                                       \
    NBCOLLI_REDUCE_KERNEL(band_u##bits, U, I, l &r, l &r)                                                              \
    NBCOLLI_REDUCE_KERNEL(bor_u##bits, U, I, l | r, l | r)                                                             \
    NBCOLLI_REDUCE_KERNEL(bxor_u##bits, U, I, l ^ r, l ^ r)                                                            \
    NBCOLLI_REDUCE_KERNEL(land_u##bits, U, I, ((l != 0) & (r != 0)) & 1, l && r)                                       \
    NBCOLLI_REDUCE_KERNEL(lor_u##bits, U, I, ((l | r) != 0) & 1, l || r)                                               \
    NBCOLLI_REDUCE_KERNEL(lxor_u##bits, U, I, ((l != 0) ^ (r != 0)) & 1, !l != !r)                                     \
    NBCOLLI_REDUCE_MIN_MAX(u, bits, U, I)                                                                              \
    NBCOLLI_REDUCE_MIN_MAX(s, bits, I, I)

#define NBCOLLI_REDUCE_REAL_KERNELS(T, I)                                                                              \
    NBCOLLI_REDUCE_KERNEL(sum_##T, T, I, l + r, l + r)                                                                 \
    NBCOLLI_REDUCE_KERNEL(prod_##T, T, I, l * r, l * r)                                                                \
    NBCOLLI_REDUCE_KERNEL(min_##T, T, I, NBCOLLI_REDUCE_VECTOR_FMIN, NBCOLLI_REDUCE_ELEMENT_FMIN)                      \
    NBCOLLI_REDUCE_KERNEL(max_##T, T, I, NBCOLLI_REDUCE_VECTOR_FMAX, NBCOLLI_REDUCE_ELEMENT_FMAX)

#endif
