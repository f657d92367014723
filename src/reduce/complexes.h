/* SPDX-License-Identifier: BSD-3-Clause
 * What a level's kernels of complex products are made of: see vectors.h. (Complex sums are sums of twice as many
 * numbers.) */
#ifndef NBCOLL_REDUCE_COMPLEXES_H
#define NBCOLL_REDUCE_COMPLEXES_H

#include "vectors.h"

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
