/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels that work element by element on every processor: those of long double, and of pairs, which serve where a
 * pair is not two lanes of a vector. */
#ifndef NBCOLL_REDUCE_ELEMENTS_H
#define NBCOLL_REDUCE_ELEMENTS_H

#include "nbcoll/nbcoll.h"

#include "vectors.h"

/* The value of type T is made of l and r. */
#define REDUCE_ELEMENT_KERNEL(name, T, ...)                                                                            \
    static void reduce_##name(char *result, const char *left, const char *right, size_t bytes)                         \
    {                                                                                                                  \
        for (size_t i = 0; i < bytes; i += sizeof(T)) {                                                                \
            T l, r;                                                                                                    \
            memcpy(&l, left + i, sizeof l);                                                                            \
            memcpy(&r, right + i, sizeof r);                                                                           \
            l = __VA_ARGS__;                                                                                           \
            memcpy(result + i, &l, sizeof l);                                                                          \
        }                                                                                                              \
    }

REDUCE_ELEMENT_KERNEL(sum_long_double, long double, l + r)
REDUCE_ELEMENT_KERNEL(prod_long_double, long double, l * r)
REDUCE_ELEMENT_KERNEL(min_long_double, long double, REDUCE_ELEMENT_FMIN)
REDUCE_ELEMENT_KERNEL(max_long_double, long double, REDUCE_ELEMENT_FMAX)
REDUCE_ELEMENT_KERNEL(prod_long_double_complex, nbcoll_long_double_complex,
                      (nbcoll_long_double_complex){l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re})

#define REDUCE_EQUAL(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))
#define REDUCE_PAIR(less)                                                                                              \
    l.value less r.value || (r.value != r.value && l.value == l.value) ||                                              \
            (REDUCE_EQUAL(l.value, r.value) && l.index <= r.index)                                                     \
        ? l                                                                                                            \
        : r
#define REDUCE_PAIR_ELEMENT_KERNELS(name)                                                                              \
    REDUCE_ELEMENT_KERNEL(minloc_##name, nbcoll_##name, REDUCE_PAIR(<))                                                \
    REDUCE_ELEMENT_KERNEL(maxloc_##name, nbcoll_##name, REDUCE_PAIR(>))

REDUCE_PAIR_ELEMENT_KERNELS(float_int)
REDUCE_PAIR_ELEMENT_KERNELS(double_int)
REDUCE_PAIR_ELEMENT_KERNELS(long_int)
REDUCE_PAIR_ELEMENT_KERNELS(int_int)
REDUCE_PAIR_ELEMENT_KERNELS(short_int)
REDUCE_PAIR_ELEMENT_KERNELS(long_double_int)

#endif
