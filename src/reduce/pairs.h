/* SPDX-License-Identifier: BSD-3-Clause
 * What a level's kernels of pairs of a value and an index are made of: see vectors.h. A pair is two lanes, each as wide
 * as the wider of its members; what of a lane is padding is shifted or masked out before it is compared. */
#ifndef NBCOLL_REDUCE_PAIRS_H
#define NBCOLL_REDUCE_PAIRS_H

#include "vectors.h"

/* A lane's member, without the `padding` bits beside it: itself, times a power of two. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NBCOLLI_REDUCE_MEMBER(lane, padding) ((M)(lane) << (padding))
#else
#define NBCOLLI_REDUCE_MEMBER(lane, padding) ((M)(lane) & -((M){0} + 1 << (padding)))
#endif
#define NBCOLLI_REDUCE_VALUE_REAL(lane) (lane)
#define NBCOLLI_REDUCE_VALUE_WHOLE(lane) ((M)(lane))
#define NBCOLLI_REDUCE_VALUE_SHORT(lane) NBCOLLI_REDUCE_MEMBER(lane, 16)

/* `first` says, in the lane of the value, whether the left pair is taken. */
#define NBCOLLI_REDUCE_PAIR_KERNEL(name, less, V, I, value, padding, lanes)                                            \
    static inline NBCOLLI_TARGET V NBCOLLI_REDUCE_NAME(block_##name)(V l, V r)                                         \
    {                                                                                                                  \
        typedef I M __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));                                                \
        const M lower = NBCOLLI_REDUCE_MEMBER(l, padding) <= NBCOLLI_REDUCE_MEMBER(r, padding);                        \
        const M left_nan = value(l) != value(l), right_nan = value(r) != value(r);                                     \
        const M equal = (value(l) == value(r)) | (left_nan & right_nan);                                               \
        const M first = (value(l) less value(r)) | (right_nan & ~left_nan) |                                           \
                        (equal & NBCOLLI_REDUCE_SHUFFLE(lower, M, NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_SWAP, lanes)));  \
        const M left = NBCOLLI_REDUCE_SHUFFLE(first, M, NBCOLLI_REDUCE_PASTE(NBCOLLI_REDUCE_EVEN, lanes));             \
        return (V)((left & (M)l) | (~left & (M)r));                                                                    \
    }                                                                                                                  \
    NBCOLLI_REDUCE_BLOCKS(name, V, NBCOLLI_REDUCE_NAME(block_##name))

#define NBCOLLI_REDUCE_PAIR_KERNELS(name, V, I, value, padding, lanes)                                                 \
    NBCOLLI_REDUCE_PAIR_KERNEL(minloc_##name, <, V, I, value, padding, lanes)                                          \
    NBCOLLI_REDUCE_PAIR_KERNEL(maxloc_##name, >, V, I, value, padding, lanes)

#endif
