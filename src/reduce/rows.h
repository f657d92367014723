/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of a level's table: see vectors.h. */
#ifndef NBCOLL_REDUCE_ROWS_H
#define NBCOLL_REDUCE_ROWS_H

#include "vectors.h"

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
