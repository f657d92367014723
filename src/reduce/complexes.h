/* SPDX-License-Identifier: BSD-3-Clause
 * One level's kernels of complex products: see vectors.h. (Complex sums are sums of twice as many numbers.) */

#ifndef NBCOLL_REDUCE_COMPLEXES_H
#define NBCOLL_REDUCE_COMPLEXES_H

/* For the lanes (a, b) and (c, d): (a c, a d) + (-(b d), b c). */
#define NBCOLLI_REDUCE_COMPLEX_KERNEL(T, I, minimum, lanes)                                                            \
    static inline NBCOLLI_TARGET NBCOLLI_REDUCE_NAME(T##_lanes)                                                        \
        NBCOLLI_REDUCE_NAME(block_##T)(NBCOLLI_REDUCE_NAME(T##_lanes) l, NBCOLLI_REDUCE_NAME(T##_lanes) r)             \
    {                                                                                                                  \
        typedef NBCOLLI_REDUCE_NAME(T##_lanes) V;                                                                      \
        typedef I M __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                                                \
        const V a = NBCOLLI_REDUCE_SHUFFLE(l, M, NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_EVEN, lanes));                    \
        const V b = NBCOLLI_REDUCE_SHUFFLE(l, M, NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_ODD, lanes));                     \
        const V d = NBCOLLI_REDUCE_SHUFFLE(r, M, NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_SWAP, lanes));                    \
        const M even = {NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_EVEN, lanes)};                                             \
        const M is_even = (M){NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_SWAP, lanes)} > even;                                \
        return a * r + (V)((M)(b * d) ^ (is_even & (minimum)));                                                        \
    }                                                                                                                  \
    NBCOLLI_REDUCE_BLOCKS(prod_##T##_complex, NBCOLLI_REDUCE_NAME(T##_lanes), NBCOLLI_REDUCE_NAME(block_##T))

#endif

typedef float NBCOLLI_REDUCE_NAME(float_lanes) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));
typedef double NBCOLLI_REDUCE_NAME(double_lanes) __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));

NBCOLLI_REDUCE_COMPLEX_KERNEL(float, int32_t, INT32_MIN, NBCOLLI_REDUCE_LANES_32)
NBCOLLI_REDUCE_COMPLEX_KERNEL(double, int64_t, INT64_MIN, NBCOLLI_REDUCE_LANES_64)
