/* SPDX-License-Identifier: BSD-3-Clause
 * One level's kernels and their table: see vectors.h. They are macros, which each level uses once. */
#ifndef NBCOLL_REDUCE_LEVEL_H
#define NBCOLL_REDUCE_LEVEL_H

#include "complexes.h"
#include "narrow.h"
#include "numbers.h"
#include "pairs.h"
#include "rows.h"

/* ---- integers, float, double ----------------------------------------------------------------------------------- */

#define NBCOLLI_REDUCE_NUMBERS                                                                                         \
    NBCOLLI_REDUCE_INTEGER_KERNELS(8, uint8_t, int8_t)                                                                 \
    NBCOLLI_REDUCE_INTEGER_KERNELS(16, uint16_t, int16_t)                                                              \
    NBCOLLI_REDUCE_INTEGER_KERNELS(32, uint32_t, int32_t)                                                              \
    NBCOLLI_REDUCE_INTEGER_KERNELS(64, uint64_t, int64_t)                                                              \
    NBCOLLI_REDUCE_REAL_KERNELS(float, int32_t)                                                                        \
    NBCOLLI_REDUCE_REAL_KERNELS(double, int64_t)

/* ---- complex products (complex sums are sums of twice as many numbers) ----------------------------------------- */

#define NBCOLLI_REDUCE_COMPLEXES                                                                                       \
    typedef float NBCOLLI_REDUCE_NAME(float_lanes) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                 \
    typedef double NBCOLLI_REDUCE_NAME(double_lanes) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));               \
    NBCOLLI_REDUCE_COMPLEX_KERNEL(float, int32_t, INT32_MIN, NBCOLLI_REDUCE_LANES_32)                                  \
    NBCOLLI_REDUCE_COMPLEX_KERNEL(double, int64_t, INT64_MIN, NBCOLLI_REDUCE_LANES_64)

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

#define NBCOLLI_REDUCE_PAIRS                                                                                           \
    typedef int32_t NBCOLLI_REDUCE_NAME(lanes_32) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                  \
    typedef int64_t NBCOLLI_REDUCE_NAME(lanes_64) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                  \
    NBCOLLI_REDUCE_PAIR_KERNELS(float_int, NBCOLLI_REDUCE_NAME(float_lanes), int32_t, NBCOLLI_REDUCE_VALUE_REAL, 0,    \
                                NBCOLLI_REDUCE_LANES_32)                                                               \
    NBCOLLI_REDUCE_PAIR_KERNELS(double_int, NBCOLLI_REDUCE_NAME(double_lanes), int64_t, NBCOLLI_REDUCE_VALUE_REAL, 32, \
                                NBCOLLI_REDUCE_LANES_64)                                                               \
    NBCOLLI_REDUCE_PAIR_KERNELS(long_int, NBCOLLI_REDUCE_NAME(lanes_64), int64_t, NBCOLLI_REDUCE_VALUE_WHOLE, 32,      \
                                NBCOLLI_REDUCE_LANES_64)                                                               \
    NBCOLLI_REDUCE_PAIR_KERNELS(double_int64, NBCOLLI_REDUCE_NAME(double_lanes), int64_t, NBCOLLI_REDUCE_VALUE_REAL,   \
                                0, NBCOLLI_REDUCE_LANES_64)                                                            \
    NBCOLLI_REDUCE_PAIR_KERNELS(int64_int64, NBCOLLI_REDUCE_NAME(lanes_64), int64_t, NBCOLLI_REDUCE_VALUE_WHOLE, 0,    \
                                NBCOLLI_REDUCE_LANES_64)                                                               \
    NBCOLLI_REDUCE_PAIR_KERNELS(int_int, NBCOLLI_REDUCE_NAME(lanes_32), int32_t, NBCOLLI_REDUCE_VALUE_WHOLE, 0,        \
                                NBCOLLI_REDUCE_LANES_32)                                                               \
    NBCOLLI_REDUCE_PAIR_KERNELS(short_int, NBCOLLI_REDUCE_NAME(lanes_32), int32_t, NBCOLLI_REDUCE_VALUE_SHORT, 0,      \
                                NBCOLLI_REDUCE_LANES_32)

/* ---- narrow numbers -------------------------------------------------------------------------------------------- */

#define NBCOLLI_REDUCE_NARROW                                                                                          \
    typedef float NBCOLLI_FLOATS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                                   \
    typedef int32_t NBCOLLI_WORDS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                                  \
    static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(widen_bfloat16)(NBCOLLI_WORDS x)                   \
    {                                                                                                                  \
        return (NBCOLLI_FLOATS)(x << 16);                                                                              \
    }                                                                                                                  \
    static inline NBCOLLI_TARGET NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(narrow_bfloat16)(NBCOLLI_FLOATS f)                  \
    {                                                                                                                  \
        const NBCOLLI_WORDS x = (NBCOLLI_WORDS)f, is_nan = f != f;                                                     \
        const NBCOLLI_WORDS nan = x | 1 << 22, rounded = (x & ~is_nan) + 0x7fff + (x >> 16 & 1);                       \
        return ((is_nan & nan) | (~is_nan & rounded)) >> 16 & 0xffff;                                                  \
    }                                                                                                                  \
    NBCOLLI_REDUCE_NARROW_KERNEL(sum_bfloat16, widen_bfloat16, +, narrow_bfloat16)                                     \
    NBCOLLI_REDUCE_NARROW_KERNEL(prod_bfloat16, widen_bfloat16, *, narrow_bfloat16)                                    \
    NBCOLLI_REDUCE_NARROW_MIN_MAX(min_bfloat16, <, 0x7f80)                                                             \
    NBCOLLI_REDUCE_NARROW_MIN_MAX(max_bfloat16, >, 0x7f80)                                                             \
    NBCOLLI_REDUCE_NARROW_MIN_MAX(min_half, <, 0x7c00)                                                                 \
    NBCOLLI_REDUCE_NARROW_MIN_MAX(max_half, >, 0x7c00)

/* Halves, where the level's processors convert them. */
#define NBCOLLI_REDUCE_HALVES_CONVERTED                                                                                \
    typedef uint16_t NBCOLLI_SHORTS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH / 2)));                            \
    static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(to_float)(NBCOLLI_SHORTS h)                        \
    {                                                                                                                  \
        return (NBCOLLI_FLOATS)NBCOLLI_REDUCE_TO_FLOAT(h);                                                             \
    }                                                                                                                  \
    static inline NBCOLLI_TARGET NBCOLLI_SHORTS NBCOLLI_REDUCE_NAME(from_float)(NBCOLLI_FLOATS f)                      \
    {                                                                                                                  \
        return (NBCOLLI_SHORTS)NBCOLLI_REDUCE_FROM_FLOAT(f);                                                           \
    }                                                                                                                  \
    NBCOLLI_REDUCE_CONVERTED_KERNEL(sum_half, +)                                                                       \
    NBCOLLI_REDUCE_CONVERTED_KERNEL(prod_half, *)

/* Infinities and NaN, normal numbers, and those below 2^-14 (made normal by adding that, which is taken off again). */
#define NBCOLLI_REDUCE_WIDEN_HALF                                                                                      \
    static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(widen_half)(NBCOLLI_WORDS x)                       \
    {                                                                                                                  \
        const NBCOLLI_WORDS m = (x & 0x7fff) << 13, is_huge = m >= 31 << 23, is_tiny = m < 1 << 23;                    \
        const NBCOLLI_WORDS tiny = (NBCOLLI_WORDS)((NBCOLLI_FLOATS)(m + (113 << 23)) - 0x1p-14f) & INT32_MAX;          \
        const NBCOLLI_WORDS other = m + (112 << 23) + (is_huge & (112 << 23));                                         \
        return (NBCOLLI_FLOATS)((x & 0x8000) << 16 | (is_tiny & tiny) | (~is_tiny & other));                           \
    }

/* The same classes. What lies below 2^-14 is counted in units of 2^-24: exactly, and then rounded. */
#define NBCOLLI_REDUCE_NARROW_HALF                                                                                     \
    static inline NBCOLLI_TARGET NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(narrow_half)(NBCOLLI_FLOATS f)                      \
    {                                                                                                                  \
        const NBCOLLI_WORDS x = (NBCOLLI_WORDS)f, m = x & INT32_MAX, is_nan = f != f;                                  \
        const NBCOLLI_WORDS is_tiny = m < 113 << 23, is_huge = m >= 143 << 23;                                         \
        const NBCOLLI_WORDS nan = 0x7e00 | (m >> 13 & 0x1ff);                                                          \
        const NBCOLLI_WORDS normal = (m - (112 << 23) + 0xfff + (m >> 13 & 1)) >> 13;                                  \
        const NBCOLLI_FLOATS units = (NBCOLLI_FLOATS)(is_tiny & m) * 0x1p24f;                                          \
        const NBCOLLI_WORDS whole = __builtin_convertvector(units, NBCOLLI_WORDS);                                     \
        const NBCOLLI_FLOATS rest = units - __builtin_convertvector(whole, NBCOLLI_FLOATS);                            \
        const NBCOLLI_WORDS tiny = whole + (((rest > 0.5f) | ((rest == 0.5f) & -(whole & 1))) & 1);                    \
        const NBCOLLI_WORDS number = (is_tiny & tiny) | (is_huge & 0x7c00) | (~(is_tiny | is_huge) & normal);          \
        return (x >> 16 & 0x8000) | (is_nan & nan) | (~is_nan & number);                                               \
    }

/* Halves, where the level computes the conversion. */
#define NBCOLLI_REDUCE_HALVES_COMPUTED                                                                                 \
    NBCOLLI_REDUCE_WIDEN_HALF                                                                                          \
    NBCOLLI_REDUCE_NARROW_HALF                                                                                         \
    NBCOLLI_REDUCE_NARROW_KERNEL(sum_half, widen_half, +, narrow_half)                                                 \
    NBCOLLI_REDUCE_NARROW_KERNEL(prod_half, widen_half, *, narrow_half)

/* ---- the table ------------------------------------------------------------------------------------------------- */

#define NBCOLLI_REDUCE_TABLE                                                                                           \
    static const nbcoll_reducers NBCOLLI_REDUCE_NAME(kernels) = {{                                                     \
        [NBCOLL_BYTE] = {NBCOLLI_REDUCE_BITWISE_ROW(8)},                                                               \
        [NBCOLL_INT8] = NBCOLLI_REDUCE_INTEGER_ROW(s, 8),                                                              \
        [NBCOLL_INT16] = NBCOLLI_REDUCE_INTEGER_ROW(s, 16),                                                            \
        [NBCOLL_INT32] = NBCOLLI_REDUCE_INTEGER_ROW(s, 32),                                                            \
        [NBCOLL_INT64] = NBCOLLI_REDUCE_INTEGER_ROW(s, 64),                                                            \
        [NBCOLL_UINT8] = NBCOLLI_REDUCE_INTEGER_ROW(u, 8),                                                             \
        [NBCOLL_UINT16] = NBCOLLI_REDUCE_INTEGER_ROW(u, 16),                                                           \
        [NBCOLL_UINT32] = NBCOLLI_REDUCE_INTEGER_ROW(u, 32),                                                           \
        [NBCOLL_UINT64] = NBCOLLI_REDUCE_INTEGER_ROW(u, 64),                                                           \
        [NBCOLL_FLOAT] = NBCOLLI_REDUCE_REAL_ROW(float),                                                               \
        [NBCOLL_DOUBLE] = NBCOLLI_REDUCE_REAL_ROW(double),                                                             \
        [NBCOLL_LONG_DOUBLE] = {nbcolli_reduce_sum_long_double, nbcolli_reduce_prod_long_double,                       \
                                nbcolli_reduce_min_long_double, nbcolli_reduce_max_long_double},                       \
        [NBCOLL_HALF] = NBCOLLI_REDUCE_REAL_ROW(half),                                                                 \
        [NBCOLL_BFLOAT16] = NBCOLLI_REDUCE_REAL_ROW(bfloat16),                                                         \
        [NBCOLL_FLOAT_COMPLEX] = NBCOLLI_REDUCE_COMPLEX_ROW(float),                                                    \
        [NBCOLL_DOUBLE_COMPLEX] = NBCOLLI_REDUCE_COMPLEX_ROW(double),                                                  \
        [NBCOLL_LONG_DOUBLE_COMPLEX] = {nbcolli_reduce_sum_long_double, nbcolli_reduce_prod_long_double_complex},      \
        [NBCOLL_BOOL] = {NBCOLLI_REDUCE_LOGICAL_ROW(8)},                                                               \
        [NBCOLL_FLOAT_INT] = NBCOLLI_REDUCE_PAIR_ROW(float_int, 4),                                                    \
        [NBCOLL_DOUBLE_INT] = NBCOLLI_REDUCE_PAIR_ROW(double_int, 8),                                                  \
        [NBCOLL_LONG_INT] = NBCOLLI_REDUCE_PAIR_ROW(long_int, 8),                                                      \
        [NBCOLL_INT_INT] = NBCOLLI_REDUCE_PAIR_ROW(int_int, 4),                                                        \
        [NBCOLL_SHORT_INT] = NBCOLLI_REDUCE_PAIR_ROW(short_int, 4),                                                    \
        [NBCOLL_LONG_DOUBLE_INT] = {[NBCOLL_MINLOC] = nbcolli_reduce_minloc_long_double_int,                           \
                                    [NBCOLL_MAXLOC] = nbcolli_reduce_maxloc_long_double_int},                          \
        [NBCOLL_DOUBLE_INT64] = NBCOLLI_REDUCE_PAIR_ROW(double_int64, 8),                                              \
        [NBCOLL_INT64_INT64] = NBCOLLI_REDUCE_PAIR_ROW(int64_int64, 8),                                                \
    }};

/* All of them. `halves`: one of the two above. */
#define NBCOLLI_REDUCE_LEVEL_OF(halves)                                                                                \
    NBCOLLI_REDUCE_NUMBERS NBCOLLI_REDUCE_COMPLEXES NBCOLLI_REDUCE_PAIRS NBCOLLI_REDUCE_NARROW halves                  \
        NBCOLLI_REDUCE_TABLE

#endif
