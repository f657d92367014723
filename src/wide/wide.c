/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component wide: kernels of reductions in wider vectors than every processor has (../reduce/vectors.h). */
#include "nbcoll/wide.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "../reduce/reduce.h"
#include "../reduce/vectors.h"

NBCOLLI_REDUCE_BEGIN

#include "../reduce/elements.h"

/* Halves are converted by the processor where the compiler can ask whether it does. */
#define NBCOLLI_REDUCE_LEVEL avx2
#if !defined(__clang__) && __GNUC__ >= 11
#define NBCOLLI_TARGET __attribute__((target("avx2,f16c")))
#define NBCOLLI_REDUCE_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
#define NBCOLLI_REDUCE_CONVERTS 1
#else
#define NBCOLLI_TARGET __attribute__((target("avx2")))
#define NBCOLLI_REDUCE_HAS_AVX2 __builtin_cpu_supports("avx2")
#define NBCOLLI_REDUCE_CONVERTS 0
#endif
#define NBCOLLI_REDUCE_WIDTH 32
#define NBCOLLI_REDUCE_LANES_32 8
#define NBCOLLI_REDUCE_LANES_64 4
#include "../reduce/level.h"

#define NBCOLLI_REDUCE_LEVEL avx512
#define NBCOLLI_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NBCOLLI_REDUCE_HAS_AVX512                                                                                      \
    (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define NBCOLLI_REDUCE_WIDTH 64
#define NBCOLLI_REDUCE_LANES_32 16
#define NBCOLLI_REDUCE_LANES_64 8
#define NBCOLLI_REDUCE_CONVERTS 1
#include "../reduce/level.h"

NBCOLLI_REDUCE_END

const nbcoll_reducers *nbcoll_wide(void)
{
    return NBCOLLI_REDUCE_HAS_AVX512 ? &nbcolli_reduce_kernels_avx512
           : NBCOLLI_REDUCE_HAS_AVX2 ? &nbcolli_reduce_kernels_avx2
                                     : NULL;
}
#else
const nbcoll_reducers *nbcoll_wide(void)
{
    return NULL;
}
#endif
