/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementwise reductions. One source makes the kernels for every level of vector instructions (vectors.h says how); on
 * x86-64 the level is chosen at each call: a load and a few branches beside the work.
 */
#include "reduce.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "vectors.h"

/* No fused multiply-add, also where a host compiles this with its own options: the same bits on every machine. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

#include "elements.h"

/* ---- the levels ------------------------------------------------------------------------------------------------ */

#define NBCOLLI_REDUCE_NAME(name) NBCOLLI_REDUCE_PASTE(nbcolli_reduce_##name, NBCOLLI_REDUCE_LEVEL)

/* What every processor of the architecture has. */
#define NBCOLLI_REDUCE_LEVEL baseline
#define NBCOLLI_TARGET
#define NBCOLLI_REDUCE_WIDTH 16
#define NBCOLLI_REDUCE_LANES_32 4
#define NBCOLLI_REDUCE_LANES_64 2
#define NBCOLLI_REDUCE_CONVERTS 0
#include "level.h"

#if defined(__x86_64__)

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
#include "level.h"

#define NBCOLLI_REDUCE_LEVEL avx512
#define NBCOLLI_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NBCOLLI_REDUCE_HAS_AVX512                                                                                      \
    (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define NBCOLLI_REDUCE_WIDTH 64
#define NBCOLLI_REDUCE_LANES_32 16
#define NBCOLLI_REDUCE_LANES_64 8
#define NBCOLLI_REDUCE_CONVERTS 1
#include "level.h"

nbcolli_reduce_kernel *nbcolli_reduce_kernel_of(nbcoll_reduction how)
{
    if (NBCOLLI_REDUCE_HAS_AVX512)
        return nbcolli_reduce_kernels_avx512[how.type][how.op];
    if (NBCOLLI_REDUCE_HAS_AVX2)
        return nbcolli_reduce_kernels_avx2[how.type][how.op];
    return nbcolli_reduce_kernels_baseline[how.type][how.op];
}
#else
nbcolli_reduce_kernel *nbcolli_reduce_kernel_of(nbcoll_reduction how)
{
    return nbcolli_reduce_kernels_baseline[how.type][how.op];
}
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT DEFAULT
#else
#pragma GCC pop_options
#endif

/* ---- entry ----------------------------------------------------------------------------------------------------- */

int nbcoll_op_applies(nbcoll_op op, nbcoll_type type)
{
    if (op < NBCOLL_OP_COUNT)
        return type < NBCOLL_TYPE_COUNT && nbcolli_reduce_kernels_baseline[type][op];
    return nbcolli_host_op(op) && nbcolli_is_type(type);
}

nbcoll_status nbcolli_reduce(nbcoll_reduction how, void *result, const void *left, const void *right, size_t count)
{
    const nbcoll_host_op *host = nbcolli_host_op(how.op);
    if (host)
        return host->combine(host->user, result, left, right, count, how.type);
    nbcolli_reduce_kernel_of(how)(result, left, right, count * nbcoll_type_size(how.type));
    return NBCOLL_OK;
}
