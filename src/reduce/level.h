/* SPDX-License-Identifier: BSD-3-Clause
 * One level's kernels and their table: see vectors.h. */
#include "numbers.h"

#include "complexes.h"
#include "narrow.h"
#include "pairs.h"

#ifndef NBCOLL_REDUCE_LEVEL_H
#define NBCOLL_REDUCE_LEVEL_H

#define REDUCE_HERE(name) REDUCE_NAME(reduce_##name)

#define REDUCE_LOGICAL_ROW(bits)                                                                                       \
    [NBCOLL_LAND] = REDUCE_HERE(land_u##bits), [NBCOLL_LOR] = REDUCE_HERE(lor_u##bits),                                \
    [NBCOLL_LXOR] = REDUCE_HERE(lxor_u##bits)

#define REDUCE_BITWISE_ROW(bits)                                                                                       \
    [NBCOLL_BAND] = REDUCE_HERE(band_u##bits), [NBCOLL_BOR] = REDUCE_HERE(bor_u##bits),                                \
    [NBCOLL_BXOR] = REDUCE_HERE(bxor_u##bits)

#define REDUCE_INTEGER_ROW(sign, bits)                                                                                 \
    {                                                                                                                  \
        [NBCOLL_SUM] = REDUCE_HERE(sum_u##bits), [NBCOLL_PROD] = REDUCE_HERE(prod_u##bits),                            \
        [NBCOLL_MIN] = REDUCE_HERE(min_##sign##bits), [NBCOLL_MAX] = REDUCE_HERE(max_##sign##bits),                    \
        REDUCE_BITWISE_ROW(bits), REDUCE_LOGICAL_ROW(bits)                                                             \
    }

#define REDUCE_REAL_ROW(name)                                                                                          \
    {                                                                                                                  \
        [NBCOLL_SUM] = REDUCE_HERE(sum_##name), [NBCOLL_PROD] = REDUCE_HERE(prod_##name),                              \
        [NBCOLL_MIN] = REDUCE_HERE(min_##name), [NBCOLL_MAX] = REDUCE_HERE(max_##name)                                 \
    }

#define REDUCE_COMPLEX_ROW(T)                                                                                          \
    {                                                                                                                  \
        [NBCOLL_SUM] = REDUCE_HERE(sum_##T), [NBCOLL_PROD] = REDUCE_HERE(prod_##T##_complex)                           \
    }

#define REDUCE_PAIR_ROW(name, lane)                                                                                    \
    {                                                                                                                  \
        [NBCOLL_MINLOC] =                                                                                              \
            sizeof(nbcoll_##name) == 2 * (lane) ? REDUCE_HERE(minloc_##name) : reduce_minloc_##name,                   \
        [NBCOLL_MAXLOC] =                                                                                              \
            sizeof(nbcoll_##name) == 2 * (lane) ? REDUCE_HERE(maxloc_##name) : reduce_maxloc_##name                    \
    }

#endif

static reduce_kernel *const REDUCE_NAME(reduce_kernels)[NBCOLL_TYPE_COUNT][NBCOLL_OP_COUNT] = {
    [NBCOLL_BYTE] = {REDUCE_BITWISE_ROW(8)},
    [NBCOLL_INT8] = REDUCE_INTEGER_ROW(s, 8),
    [NBCOLL_INT16] = REDUCE_INTEGER_ROW(s, 16),
    [NBCOLL_INT32] = REDUCE_INTEGER_ROW(s, 32),
    [NBCOLL_INT64] = REDUCE_INTEGER_ROW(s, 64),
    [NBCOLL_UINT8] = REDUCE_INTEGER_ROW(u, 8),
    [NBCOLL_UINT16] = REDUCE_INTEGER_ROW(u, 16),
    [NBCOLL_UINT32] = REDUCE_INTEGER_ROW(u, 32),
    [NBCOLL_UINT64] = REDUCE_INTEGER_ROW(u, 64),
    [NBCOLL_FLOAT] = REDUCE_REAL_ROW(float),
    [NBCOLL_DOUBLE] = REDUCE_REAL_ROW(double),
    [NBCOLL_LONG_DOUBLE] = {reduce_sum_long_double, reduce_prod_long_double, reduce_min_long_double,
                            reduce_max_long_double},
    [NBCOLL_HALF] = REDUCE_REAL_ROW(half),
    [NBCOLL_BFLOAT16] = REDUCE_REAL_ROW(bfloat16),
    [NBCOLL_FLOAT_COMPLEX] = REDUCE_COMPLEX_ROW(float),
    [NBCOLL_DOUBLE_COMPLEX] = REDUCE_COMPLEX_ROW(double),
    [NBCOLL_LONG_DOUBLE_COMPLEX] = {reduce_sum_long_double, reduce_prod_long_double_complex},
    [NBCOLL_BOOL] = {REDUCE_LOGICAL_ROW(8)},
    [NBCOLL_FLOAT_INT] = REDUCE_PAIR_ROW(float_int, 4),
    [NBCOLL_DOUBLE_INT] = REDUCE_PAIR_ROW(double_int, 8),
    [NBCOLL_LONG_INT] = REDUCE_PAIR_ROW(long_int, 8),
    [NBCOLL_INT_INT] = REDUCE_PAIR_ROW(int_int, 4),
    [NBCOLL_SHORT_INT] = REDUCE_PAIR_ROW(short_int, 4),
    [NBCOLL_LONG_DOUBLE_INT] = {[NBCOLL_MINLOC] = reduce_minloc_long_double_int,
                                [NBCOLL_MAXLOC] = reduce_maxloc_long_double_int},
};

#undef REDUCE_LEVEL
#undef REDUCE_TARGET
#undef REDUCE_WIDTH
#undef REDUCE_LANES_32
#undef REDUCE_LANES_64
#undef REDUCE_CONVERTS
