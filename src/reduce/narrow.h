/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One level's kernels of HALF and BFLOAT16: see vectors.h. Sums and products are made in float and rounded to the
 * nearest, ties to even, whatever the caller's rounding mode; the conversions make no denormal floats, which a caller
 * may have turned off. NBCOLLI_REDUCE_CONVERTS says whether the level's processors convert halves themselves. Minima
 * and maxima need no conversion: the bits of a number that is not a NaN are its order.
 */
#ifndef NBCOLL_REDUCE_NARROW_H
#define NBCOLL_REDUCE_NARROW_H

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

typedef float NBCOLLI_FLOATS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));
typedef int32_t NBCOLLI_WORDS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH)));

/* ---- BFLOAT16 -------------------------------------------------------------------------------------------------- */

static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(widen_bfloat16)(NBCOLLI_WORDS x)
{
    return (NBCOLLI_FLOATS)(x << 16);
}

static inline NBCOLLI_TARGET NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(narrow_bfloat16)(NBCOLLI_FLOATS f)
{
    const NBCOLLI_WORDS x = (NBCOLLI_WORDS)f, is_nan = f != f;
    const NBCOLLI_WORDS nan = x | 1 << 22, rounded = (x & ~is_nan) + 0x7fff + (x >> 16 & 1);
    return ((is_nan & nan) | (~is_nan & rounded)) >> 16 & 0xffff;
}

NBCOLLI_REDUCE_NARROW_KERNEL(sum_bfloat16, widen_bfloat16, +, narrow_bfloat16)
NBCOLLI_REDUCE_NARROW_KERNEL(prod_bfloat16, widen_bfloat16, *, narrow_bfloat16)
NBCOLLI_REDUCE_NARROW_MIN_MAX(min_bfloat16, <, 0x7f80)
NBCOLLI_REDUCE_NARROW_MIN_MAX(max_bfloat16, >, 0x7f80)

/* ---- HALF ------------------------------------------------------------------------------------------------------ */

#if NBCOLLI_REDUCE_CONVERTS

typedef uint16_t NBCOLLI_SHORTS __attribute__((vector_size(NBCOLLI_REDUCE_WIDTH / 2)));

static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(to_float)(NBCOLLI_SHORTS h)
{
#if NBCOLLI_REDUCE_WIDTH == 64
    return (NBCOLLI_FLOATS)_mm512_cvtph_ps((__m256i)h);
#else
    return (NBCOLLI_FLOATS)_mm256_cvtph_ps((__m128i)h);
#endif
}

static inline NBCOLLI_TARGET NBCOLLI_SHORTS NBCOLLI_REDUCE_NAME(from_float)(NBCOLLI_FLOATS f)
{
#if NBCOLLI_REDUCE_WIDTH == 64
    return (NBCOLLI_SHORTS)_mm512_cvtps_ph((__m512)f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return (NBCOLLI_SHORTS)_mm256_cvtps_ph((__m256)f, _MM_FROUND_TO_NEAREST_INT);
#endif
}

NBCOLLI_REDUCE_CONVERTED_KERNEL(sum_half, +)
NBCOLLI_REDUCE_CONVERTED_KERNEL(prod_half, *)

#else

/* Infinities and NaN, normal numbers, and those below 2^-14 (made normal by adding that, which is taken off again). */
static inline NBCOLLI_TARGET NBCOLLI_FLOATS NBCOLLI_REDUCE_NAME(widen_half)(NBCOLLI_WORDS x)
{
    const NBCOLLI_WORDS m = (x & 0x7fff) << 13, is_huge = m >= 31 << 23, is_tiny = m < 1 << 23;
    const NBCOLLI_WORDS tiny = (NBCOLLI_WORDS)((NBCOLLI_FLOATS)(m + (113 << 23)) - 0x1p-14f) & INT32_MAX;
    const NBCOLLI_WORDS other = m + (112 << 23) + (is_huge & (112 << 23));
    return (NBCOLLI_FLOATS)((x & 0x8000) << 16 | (is_tiny & tiny) | (~is_tiny & other));
}

/* The same classes. What lies below 2^-14 is counted in units of 2^-24: exactly, and then rounded. */
static inline NBCOLLI_TARGET NBCOLLI_WORDS NBCOLLI_REDUCE_NAME(narrow_half)(NBCOLLI_FLOATS f)
{
    const NBCOLLI_WORDS x = (NBCOLLI_WORDS)f, m = x & INT32_MAX, is_nan = f != f;
    const NBCOLLI_WORDS is_tiny = m < 113 << 23, is_huge = m >= 143 << 23;
    const NBCOLLI_WORDS nan = 0x7e00 | (m >> 13 & 0x1ff);
    const NBCOLLI_WORDS normal = (m - (112 << 23) + 0xfff + (m >> 13 & 1)) >> 13;
    const NBCOLLI_FLOATS units = (NBCOLLI_FLOATS)(is_tiny & m) * 0x1p24f;
    const NBCOLLI_WORDS whole = __builtin_convertvector(units, NBCOLLI_WORDS);
    const NBCOLLI_FLOATS rest = units - __builtin_convertvector(whole, NBCOLLI_FLOATS);
    const NBCOLLI_WORDS tiny = whole + (((rest > 0.5f) | ((rest == 0.5f) & -(whole & 1))) & 1);
    const NBCOLLI_WORDS number = (is_tiny & tiny) | (is_huge & 0x7c00) | (~(is_tiny | is_huge) & normal);
    return (x >> 16 & 0x8000) | (is_nan & nan) | (~is_nan & number);
}

NBCOLLI_REDUCE_NARROW_KERNEL(sum_half, widen_half, +, narrow_half)
NBCOLLI_REDUCE_NARROW_KERNEL(prod_half, widen_half, *, narrow_half)

#endif

NBCOLLI_REDUCE_NARROW_MIN_MAX(min_half, <, 0x7c00)
NBCOLLI_REDUCE_NARROW_MIN_MAX(max_half, >, 0x7c00)
