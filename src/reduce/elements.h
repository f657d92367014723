/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels that work element by element on every processor: those of long double, and of pairs, which serve where a
 * pair is not two lanes of a vector. */
#ifndef NBCOLL_REDUCE_ELEMENTS_H
#define NBCOLL_REDUCE_ELEMENTS_H

#include "nbcoll/nbcoll.h"

#include "vectors.h"

/* The value of type T is made of l and r. */
#define NBCOLLI_REDUCE_ELEMENT_KERNEL(name, T, ...)                                                                    \
    static void nbcolli_reduce_##name(char *result, const char *left, const char *right, size_t bytes)                 \
    {                                                                                                                  \
        for (size_t i = 0; i < bytes; i += sizeof(T)) {                                                                \
            T l, r;                                                                                                    \
            memcpy(&l, left + i, sizeof l);                                                                            \
            memcpy(&r, right + i, sizeof r);                                                                           \
            l = __VA_ARGS__;                                                                                           \
            memcpy(result + i, &l, sizeof l);                                                                          \
        }                                                                                                              \
    }

NBCOLLI_REDUCE_ELEMENT_KERNEL(sum_long_double, long double, l + r)
NBCOLLI_REDUCE_ELEMENT_KERNEL(prod_long_double, long double, l * r)
NBCOLLI_REDUCE_ELEMENT_KERNEL(min_long_double, long double, NBCOLLI_REDUCE_ELEMENT_FMIN)
NBCOLLI_REDUCE_ELEMENT_KERNEL(max_long_double, long double, NBCOLLI_REDUCE_ELEMENT_FMAX)
NBCOLLI_REDUCE_ELEMENT_KERNEL(prod_long_double_complex, nbcoll_long_double_complex,
                              (nbcoll_long_double_complex){l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re})

#define NBCOLLI_REDUCE_EQUAL(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))
#define NBCOLLI_REDUCE_PAIR(less)                                                                                      \
    l.value less r.value || (r.value != r.value && l.value == l.value) ||                                              \
            (NBCOLLI_REDUCE_EQUAL(l.value, r.value) && l.index <= r.index)                                             \
        ? l                                                                                                            \
        : r
#define NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(name)                                                                      \
    NBCOLLI_REDUCE_ELEMENT_KERNEL(minloc_##name, nbcoll_##name, NBCOLLI_REDUCE_PAIR(<))                                \
    NBCOLLI_REDUCE_ELEMENT_KERNEL(maxloc_##name, nbcoll_##name, NBCOLLI_REDUCE_PAIR(>))

NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(float_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(double_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(long_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(int_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(short_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(long_double_int)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(double_int64)
NBCOLLI_REDUCE_PAIR_ELEMENT_KERNELS(int64_int64)

#endif
