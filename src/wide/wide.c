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
#include "../reduce/level.h"

/* Halves are converted by the processor where the compiler can ask whether it does. */
#define NBCOLLI_REDUCE_LEVEL avx2
#if !defined(__clang__) && __GNUC__ >= 11
#define NBCOLLI_TARGET __attribute__((target("avx2,f16c")))
#define NBCOLLI_REDUCE_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
#define NBCOLLI_REDUCE_HALVES NBCOLLI_REDUCE_HALVES_CONVERTED
#else
#define NBCOLLI_TARGET __attribute__((target("avx2")))
#define NBCOLLI_REDUCE_HAS_AVX2 __builtin_cpu_supports("avx2")
#define NBCOLLI_REDUCE_HALVES NBCOLLI_REDUCE_HALVES_COMPUTED
#endif
#define NBCOLLI_REDUCE_WIDTH 32
#define NBCOLLI_REDUCE_LANES_32 8
#define NBCOLLI_REDUCE_LANES_64 4
#define NBCOLLI_REDUCE_TO_FLOAT(h) _mm256_cvtph_ps((__m128i)h)
#define NBCOLLI_REDUCE_FROM_FLOAT(f) _mm256_cvtps_ph((__m256)f, _MM_FROUND_TO_NEAREST_INT)
NBCOLLI_REDUCE_LEVEL_OF(NBCOLLI_REDUCE_HALVES)

#undef NBCOLLI_REDUCE_LEVEL
#undef NBCOLLI_TARGET
#undef NBCOLLI_REDUCE_WIDTH
#undef NBCOLLI_REDUCE_LANES_32
#undef NBCOLLI_REDUCE_LANES_64
#undef NBCOLLI_REDUCE_TO_FLOAT
#undef NBCOLLI_REDUCE_FROM_FLOAT

#define NBCOLLI_REDUCE_LEVEL avx512
#define NBCOLLI_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NBCOLLI_REDUCE_HAS_AVX512                                                                                      \
    (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define NBCOLLI_REDUCE_WIDTH 64
#define NBCOLLI_REDUCE_LANES_32 16
#define NBCOLLI_REDUCE_LANES_64 8
#define NBCOLLI_REDUCE_TO_FLOAT(h) _mm512_cvtph_ps((__m256i)h)
#define NBCOLLI_REDUCE_FROM_FLOAT(f) _mm512_cvtps_ph((__m512)f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
NBCOLLI_REDUCE_LEVEL_OF(NBCOLLI_REDUCE_HALVES_CONVERTED)

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
