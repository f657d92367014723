/* SPDX-License-Identifier: BSD-3-Clause
 * One level's kernels of complex products: see vectors.h. (Complex sums are sums of twice as many numbers.) */

#ifndef NBCOLL_REDUCE_COMPLEXES_H
#define NBCOLL_REDUCE_COMPLEXES_H

/* For the lanes (a, b) and (c, d): (a c, a d) + (-(b d), b c). */
#define REDUCE_COMPLEX_KERNEL(T, I, minimum, lanes)                                                                    \
    static inline REDUCE_TARGET REDUCE_NAME(reduce_##T##_lanes)                                                        \
        REDUCE_NAME(reduce_block_##T)(REDUCE_NAME(reduce_##T##_lanes) l, REDUCE_NAME(reduce_##T##_lanes) r)            \
    {                                                                                                                  \
        typedef REDUCE_NAME(reduce_##T##_lanes) V;                                                                     \
        typedef I M __attribute__((vector_size(REDUCE_WIDTH)));                                                        \
        const V a = REDUCE_SHUFFLE(l, M, REDUCE_PASTE(REDUCE_EVEN, lanes));                                            \
        const V b = REDUCE_SHUFFLE(l, M, REDUCE_PASTE(REDUCE_ODD, lanes));                                             \
        const V d = REDUCE_SHUFFLE(r, M, REDUCE_PASTE(REDUCE_SWAP, lanes));                                            \
        const M is_even = (M){REDUCE_PASTE(REDUCE_SWAP, lanes)} > (M){REDUCE_PASTE(REDUCE_EVEN, lanes)};               \
        return a * r + (V)((M)(b * d) ^ (is_even & (minimum)));                                                        \
    }                                                                                                                  \
    REDUCE_BLOCKS(prod_##T##_complex, REDUCE_NAME(reduce_##T##_lanes), REDUCE_NAME(reduce_block_##T))

#endif

typedef float REDUCE_NAME(reduce_float_lanes) __attribute__((vector_size(REDUCE_WIDTH)));
typedef double REDUCE_NAME(reduce_double_lanes) __attribute__((vector_size(REDUCE_WIDTH)));

REDUCE_COMPLEX_KERNEL(float, int32_t, INT32_MIN, REDUCE_LANES_32)
REDUCE_COMPLEX_KERNEL(double, int64_t, INT64_MIN, REDUCE_LANES_64)
