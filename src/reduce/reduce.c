/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of reductions. One source makes them for every width of vector: each is a loop over vectors as wide as
 * its level, one over narrow vectors for what is left, and one over single elements. The compiler's generic vectors do
 * not depend on its optimiser, so a host may build this as it likes. On x86-64 the level is chosen at each call: a load
 * and a few branches beside the work.
 */
#include "nbcoll/inline/reduce.h"

typedef void reduce_kernel(char *result, const char *left, const char *right, size_t bytes);

/* ---- one kernel ------------------------------------------------------------------------------------------------ */

/* Vectors of `width` bytes from byte `i` on, while they last. `value` computes a vector of type V from l and r; M is a
 * vector of integers of the same shape, as comparisons give. Both operands are loaded before the result is stored. */
#define REDUCE_VECTORS(T, I, width, value)                                                                             \
    for (; bytes - i >= (width); i += (width)) {                                                                       \
        typedef T V __attribute__((vector_size(width), aligned(1), may_alias));                                        \
        typedef I M __attribute__((vector_size(width), aligned(1), may_alias, unused));                                \
        const V l = *(const V *)(left + i), r = *(const V *)(right + i);                                               \
        *(V *)(result + i) = (V)(value);                                                                               \
    }

/* What remains, one by one. The empty asm keeps the compiler from making yet more vectors of so few elements. */
#define REDUCE_ELEMENTS(T, value)                                                                                      \
    for (; i < bytes; i += sizeof(T)) {                                                                                \
        typedef T E __attribute__((aligned(1), may_alias));                                                            \
        __asm__("");                                                                                                   \
        const T l = *(const E *)(left + i), r = *(const E *)(right + i);                                               \
        *(E *)(result + i) = (T)(value);                                                                               \
    }

#define REDUCE_KERNEL(level, name, T, I, vector, element)                                                              \
    static REDUCE_TARGET_##level void reduce_##name##_##level(char *result, const char *left, const char *right,       \
                                                              size_t bytes)                                            \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        REDUCE_VECTORS(T, I, REDUCE_WIDTH_##level, vector)                                                             \
        REDUCE_VECTORS(T, I, 16, vector)                                                                               \
        REDUCE_ELEMENTS(T, element)                                                                                    \
    }

/* ---- what they compute: a vector, an element ------------------------------------------------------------------- */

/* Left where the condition holds, else right. */
#define REDUCE_SELECT(condition) (((condition) & (M)l) | (~(condition) & (M)r))

/* Equal operands differ in their bits only if they are zeros: the sign is set in a minimum if it is in one of them, in
 * a maximum if it is in both. */
#define REDUCE_VECTOR_FMIN (REDUCE_SELECT((l < r) | (r != r)) | ((l == r) & (M)l))
#define REDUCE_VECTOR_FMAX (REDUCE_SELECT((l > r) | (r != r)) & (~(l == r) | (M)l))
#define REDUCE_ELEMENT_FMIN (l < r || r != r || (l == r && __builtin_signbit(l)) ? l : r)
#define REDUCE_ELEMENT_FMAX (l > r || r != r || (l == r && !__builtin_signbit(l)) ? l : r)

#define REDUCE_MIN_MAX(level, sign, bits, T, I)                                                                        \
    REDUCE_KERNEL(level, min_##sign##bits, T, I, REDUCE_SELECT(l < r), l < r ? l : r)                                  \
    REDUCE_KERNEL(level, max_##sign##bits, T, I, REDUCE_SELECT(l > r), l > r ? l : r)

/* Signed integers are added and multiplied as unsigned ones, which wrap; 1u keeps short ones from being promoted to
 * int, which does not. */
#define REDUCE_INTEGER_KERNELS(level, bits, U, I)                                                                      \
    REDUCE_KERNEL(level, sum_u##bits, U, I, l + r, l + r)                                                              \
    REDUCE_KERNEL(level, prod_u##bits, U, I, l * r, 1u * l * r)                                                        \
    REDUCE_KERNEL(level, band_u##bits, U, I, l & r, l & r)                                                             \
    REDUCE_KERNEL(level, bor_u##bits, U, I, l | r, l | r)                                                              \
    REDUCE_KERNEL(level, bxor_u##bits, U, I, l ^ r, l ^ r)                                                             \
    REDUCE_MIN_MAX(level, u, bits, U, I)                                                                               \
    REDUCE_MIN_MAX(level, s, bits, I, I)

#define REDUCE_REAL_KERNELS(level, T, I)                                                                               \
    REDUCE_KERNEL(level, sum_##T, T, I, l + r, l + r)                                                                  \
    REDUCE_KERNEL(level, prod_##T, T, I, l * r, l * r)                                                                 \
    REDUCE_KERNEL(level, min_##T, T, I, REDUCE_VECTOR_FMIN, REDUCE_ELEMENT_FMIN)                                       \
    REDUCE_KERNEL(level, max_##T, T, I, REDUCE_VECTOR_FMAX, REDUCE_ELEMENT_FMAX)

/* ---- the table of a level -------------------------------------------------------------------------------------- */

#define REDUCE_BITWISE_ROW(level, bits)                                                                                \
    [NBCOLL_BAND] = reduce_band_u##bits##_##level, [NBCOLL_BOR] = reduce_bor_u##bits##_##level,                        \
    [NBCOLL_BXOR] = reduce_bxor_u##bits##_##level

#define REDUCE_INTEGER_ROW(level, sign, bits)                                                                          \
    {                                                                                                                  \
        [NBCOLL_SUM] = reduce_sum_u##bits##_##level, [NBCOLL_PROD] = reduce_prod_u##bits##_##level,                    \
        [NBCOLL_MIN] = reduce_min_##sign##bits##_##level, [NBCOLL_MAX] = reduce_max_##sign##bits##_##level,            \
        REDUCE_BITWISE_ROW(level, bits)                                                                                \
    }

#define REDUCE_REAL_ROW(level, T)                                                                                      \
    {                                                                                                                  \
        [NBCOLL_SUM] = reduce_sum_##T##_##level, [NBCOLL_PROD] = reduce_prod_##T##_##level,                            \
        [NBCOLL_MIN] = reduce_min_##T##_##level, [NBCOLL_MAX] = reduce_max_##T##_##level                               \
    }

#define REDUCE_LEVEL(level)                                                                                            \
    REDUCE_INTEGER_KERNELS(level, 8, uint8_t, int8_t)                                                                  \
    REDUCE_INTEGER_KERNELS(level, 16, uint16_t, int16_t)                                                               \
    REDUCE_INTEGER_KERNELS(level, 32, uint32_t, int32_t)                                                               \
    REDUCE_INTEGER_KERNELS(level, 64, uint64_t, int64_t)                                                               \
    REDUCE_REAL_KERNELS(level, float, int32_t)                                                                         \
    REDUCE_REAL_KERNELS(level, double, int64_t)                                                                        \
    static reduce_kernel *const reduce_kernels_##level[NBCOLL_TYPE_COUNT][NBCOLL_OP_COUNT] = {                         \
        [NBCOLL_BYTE] = {REDUCE_BITWISE_ROW(level, 8)},                                                                \
        [NBCOLL_INT8] = REDUCE_INTEGER_ROW(level, s, 8),                                                               \
        [NBCOLL_INT16] = REDUCE_INTEGER_ROW(level, s, 16),                                                             \
        [NBCOLL_INT32] = REDUCE_INTEGER_ROW(level, s, 32),                                                             \
        [NBCOLL_INT64] = REDUCE_INTEGER_ROW(level, s, 64),                                                             \
        [NBCOLL_UINT8] = REDUCE_INTEGER_ROW(level, u, 8),                                                              \
        [NBCOLL_UINT16] = REDUCE_INTEGER_ROW(level, u, 16),                                                            \
        [NBCOLL_UINT32] = REDUCE_INTEGER_ROW(level, u, 32),                                                            \
        [NBCOLL_UINT64] = REDUCE_INTEGER_ROW(level, u, 64),                                                            \
        [NBCOLL_FLOAT] = REDUCE_REAL_ROW(level, float),                                                                \
        [NBCOLL_DOUBLE] = REDUCE_REAL_ROW(level, double),                                                              \
    };

/* ---- the levels ------------------------------------------------------------------------------------------------ */

/* What every processor of the architecture has. */
#define REDUCE_TARGET_baseline
#define REDUCE_WIDTH_baseline 16
REDUCE_LEVEL(baseline)

#if defined(__x86_64__)
#define REDUCE_TARGET_avx2 __attribute__((target("avx2")))
#define REDUCE_WIDTH_avx2 32
REDUCE_LEVEL(avx2)

#define REDUCE_TARGET_avx512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define REDUCE_WIDTH_avx512 64
REDUCE_LEVEL(avx512)

static reduce_kernel *reduce_choose(nbcoll_reduction how)
{
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return reduce_kernels_avx512[how.type][how.op];
    if (__builtin_cpu_supports("avx2"))
        return reduce_kernels_avx2[how.type][how.op];
    return reduce_kernels_baseline[how.type][how.op];
}
#else
static reduce_kernel *reduce_choose(nbcoll_reduction how)
{
    return reduce_kernels_baseline[how.type][how.op];
}
#endif

/* ---- entry ----------------------------------------------------------------------------------------------------- */

int nbcolli_op_valid(nbcoll_type type, nbcoll_op op)
{
    return (unsigned)type < NBCOLL_TYPE_COUNT && (unsigned)op < NBCOLL_OP_COUNT &&
           reduce_kernels_baseline[type][op] != NULL;
}

void nbcolli_reduce(nbcoll_reduction how, void *result, const void *left, const void *right, size_t count)
{
    reduce_choose(how)(result, left, right, count * nbcoll_type_size(how.type));
}
