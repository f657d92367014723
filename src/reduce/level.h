/* SPDX-License-Identifier: BSD-3-Clause
 * One level's kernels and their table: see vectors.h. */
#include "numbers.h"

#include "complexes.h"
#include "narrow.h"
#include "pairs.h"

#ifndef NBCOLL_REDUCE_LEVEL_H
#define NBCOLL_REDUCE_LEVEL_H

#define NBCOLLI_REDUCE_LOGICAL_ROW(bits)                                                                               \
    [NBCOLL_LAND] = NBCOLLI_REDUCE_NAME(land_u##bits), [NBCOLL_LOR] = NBCOLLI_REDUCE_NAME(lor_u##bits),                \
    [NBCOLL_LXOR] = NBCOLLI_REDUCE_NAME(lxor_u##bits)

#define NBCOLLI_REDUCE_BITWISE_ROW(bits)                                                                               \
    [NBCOLL_BAND] = NBCOLLI_REDUCE_NAME(band_u##bits), [NBCOLL_BOR] = NBCOLLI_REDUCE_NAME(bor_u##bits),                \
    [NBCOLL_BXOR] = NBCOLLI_REDUCE_NAME(bxor_u##bits)

#define NBCOLLI_REDUCE_INTEGER_ROW(sign, bits)                                                                         \
    {                                                                                                                  \
        [NBCOLL_SUM] = NBCOLLI_REDUCE_NAME(sum_u##bits), [NBCOLL_PROD] = NBCOLLI_REDUCE_NAME(prod_u##bits),            \
        [NBCOLL_MIN] = NBCOLLI_REDUCE_NAME(min_##sign##bits), [NBCOLL_MAX] = NBCOLLI_REDUCE_NAME(max_##sign##bits),    \
        NBCOLLI_REDUCE_BITWISE_ROW(bits), NBCOLLI_REDUCE_LOGICAL_ROW(bits)                                             \
    }

#define NBCOLLI_REDUCE_REAL_ROW(name)                                                                                  \
    {                                                                                                                  \
        [NBCOLL_SUM] = NBCOLLI_REDUCE_NAME(sum_##name), [NBCOLL_PROD] = NBCOLLI_REDUCE_NAME(prod_##name),              \
        [NBCOLL_MIN] = NBCOLLI_REDUCE_NAME(min_##name), [NBCOLL_MAX] = NBCOLLI_REDUCE_NAME(max_##name)                 \
    }

#define NBCOLLI_REDUCE_COMPLEX_ROW(T)                                                                                  \
    {                                                                                                                  \
        [NBCOLL_SUM] = NBCOLLI_REDUCE_NAME(sum_##T), [NBCOLL_PROD] = NBCOLLI_REDUCE_NAME(prod_##T##_complex)           \
    }

#define NBCOLLI_REDUCE_PAIR_ROW(name, lane)                                                                            \
    {                                                                                                                  \
        [NBCOLL_MINLOC] =                                                                                              \
            sizeof(nbcoll_##name) == 2 * (lane) ? NBCOLLI_REDUCE_NAME(minloc_##name) : nbcolli_reduce_minloc_##name,   \
        [NBCOLL_MAXLOC] =                                                                                              \
            sizeof(nbcoll_##name) == 2 * (lane) ? NBCOLLI_REDUCE_NAME(maxloc_##name) : nbcolli_reduce_maxloc_##name    \
    }

#endif

static const nbcoll_reducers NBCOLLI_REDUCE_NAME(kernels) = {{
    [NBCOLL_BYTE] = {NBCOLLI_REDUCE_BITWISE_ROW(8)},
    [NBCOLL_INT8] = NBCOLLI_REDUCE_INTEGER_ROW(s, 8),
    [NBCOLL_INT16] = NBCOLLI_REDUCE_INTEGER_ROW(s, 16),
    [NBCOLL_INT32] = NBCOLLI_REDUCE_INTEGER_ROW(s, 32),
    [NBCOLL_INT64] = NBCOLLI_REDUCE_INTEGER_ROW(s, 64),
    [NBCOLL_UINT8] = NBCOLLI_REDUCE_INTEGER_ROW(u, 8),
    [NBCOLL_UINT16] = NBCOLLI_REDUCE_INTEGER_ROW(u, 16),
    [NBCOLL_UINT32] = NBCOLLI_REDUCE_INTEGER_ROW(u, 32),
    [NBCOLL_UINT64] = NBCOLLI_REDUCE_INTEGER_ROW(u, 64),
    [NBCOLL_FLOAT] = NBCOLLI_REDUCE_REAL_ROW(float),
    [NBCOLL_DOUBLE] = NBCOLLI_REDUCE_REAL_ROW(double),
    [NBCOLL_LONG_DOUBLE] = {nbcolli_reduce_sum_long_double, nbcolli_reduce_prod_long_double,
                            nbcolli_reduce_min_long_double, nbcolli_reduce_max_long_double},
    [NBCOLL_HALF] = NBCOLLI_REDUCE_REAL_ROW(half),
    [NBCOLL_BFLOAT16] = NBCOLLI_REDUCE_REAL_ROW(bfloat16),
    [NBCOLL_FLOAT_COMPLEX] = NBCOLLI_REDUCE_COMPLEX_ROW(float),
    [NBCOLL_DOUBLE_COMPLEX] = NBCOLLI_REDUCE_COMPLEX_ROW(double),
    [NBCOLL_LONG_DOUBLE_COMPLEX] = {nbcolli_reduce_sum_long_double, nbcolli_reduce_prod_long_double_complex},
    [NBCOLL_BOOL] = {NBCOLLI_REDUCE_LOGICAL_ROW(8)},
    [NBCOLL_FLOAT_INT] = NBCOLLI_REDUCE_PAIR_ROW(float_int, 4),
    [NBCOLL_DOUBLE_INT] = NBCOLLI_REDUCE_PAIR_ROW(double_int, 8),
    [NBCOLL_LONG_INT] = NBCOLLI_REDUCE_PAIR_ROW(long_int, 8),
    [NBCOLL_INT_INT] = NBCOLLI_REDUCE_PAIR_ROW(int_int, 4),
    [NBCOLL_SHORT_INT] = NBCOLLI_REDUCE_PAIR_ROW(short_int, 4),
    [NBCOLL_LONG_DOUBLE_INT] = {[NBCOLL_MINLOC] = nbcolli_reduce_minloc_long_double_int,
                                [NBCOLL_MAXLOC] = nbcolli_reduce_maxloc_long_double_int},
}};

#undef NBCOLLI_REDUCE_LEVEL
#undef NBCOLLI_TARGET
#undef NBCOLLI_REDUCE_WIDTH
#undef NBCOLLI_REDUCE_LANES_32
#undef NBCOLLI_REDUCE_LANES_64
#undef NBCOLLI_REDUCE_CONVERTS
