/* SPDX-License-Identifier: BSD-3-Clause
 * What a level's kernels of HALF and BFLOAT16 are made of: see vectors.h. Sums and products are made in float and
 * rounded to the nearest, ties to even, whatever the caller's rounding mode; the conversions make no denormal floats,
 * which a caller may have turned off. A level takes NBCOLLI_REDUCE_HALVES_CONVERTED if its processors convert halves
 * themselves. Minima and maxima need no conversion: the bits of a number that is not a NaN are its order. */
#ifndef NBCOLL_REDUCE_NARROW_H
#define NBCOLL_REDUCE_NARROW_H

#include "vectors.h"

#define NBCOLLI_REDUCE_ORDER(x) ((x) ^ (((x) >> 15) & 0x7fff))
#define NBCOLLI_REDUCE_IS_NAN(x, infinity) (((x) & 0x7fff) > (infinity))

#define NBCOLLI_REDUCE_NARROW_MIN_MAX(name, less, infinity)                                                            \
    NBCOLLI_REDUCE_KERNEL(                                                                                             \
        name, int16_t, int16_t,                                                                                        \
        NBCOLLI_REDUCE_SELECT(                                                                                         \
            NBCOLLI_REDUCE_IS_NAN(r, infinity) |                                                                       \
            (~NBCOLLI_REDUCE_IS_NAN(l, infinity) & (NBCOLLI_REDUCE_ORDER(l) less NBCOLLI_REDUCE_ORDER(r)))),           \
        (NBCOLLI_REDUCE_IS_NAN(r, infinity) ||                                                                         \
         (!NBCOLLI_REDUCE_IS_NAN(l, infinity) && NBCOLLI_REDUCE_ORDER(l) less NBCOLLI_REDUCE_ORDER(r)))                \
            ? l                                                                                                        \
            : r)

#define NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(floats)
#define NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(words)
#define NBCOLLI_SHORTS NBCOLLI_REDUCE_NAME(shorts)

/* A word is two numbers, computed apart: `widen` makes a float of the lower half of a word, `narrow` the reverse. */
#define NBCOLLI_REDUCE_NARROW_KERNEL(name, widen, sign, narrow)                                                        \
    static inline NBCOLLI_TARGET NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(block_##name)(NBCOLLI_WORDS l, NBCOLLI_WORDS r)     \
    {                                                                                                                  \
        const NBCOLLI_FLOATS low = NBCOLLI_REDUCE_NAME(widen)(l & 0xffff) sign NBCOLLI_REDUCE_NAME(widen)(r & 0xffff); \
        const NBCOLLI_FLOATS high =                                                                                    \
            NBCOLLI_REDUCE_NAME(widen)(l >> 16 & 0xffff) sign NBCOLLI_REDUCE_NAME(widen)(r >> 16 & 0xffff);            \
        return NBCOLLI_REDUCE_NAME(narrow)(low) | NBCOLLI_REDUCE_NAME(narrow)(high) << 16;                             \
    }                                                                                                                  \
    NBCOLLI_REDUCE_BLOCKS(name, NBCOLLI_WORDS, NBCOLLI_REDUCE_NAME(block_##name))

/* The same for processors that convert vectors. */
#define NBCOLLI_REDUCE_CONVERTED_KERNEL(name, sign)                                                                    \
    static inline NBCOLLI_TARGET NBCOLLI_SHORTS NBCOLLI_REDUCE_NAME(block_##name)(NBCOLLI_SHORTS l, NBCOLLI_SHORTS r)  \
    {                                                                                                                  \
        return NBCOLLI_REDUCE_NAME(from_float)(NBCOLLI_REDUCE_NAME(to_float)(l)                                        \
                                                   sign NBCOLLI_REDUCE_NAME(to_float)(r));                             \
    }                                                                                                                  \
    NBCOLLI_REDUCE_BLOCKS(name, NBCOLLI_SHORTS, NBCOLLI_REDUCE_NAME(block_##name))

#endif
