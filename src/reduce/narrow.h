/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One level's kernels of HALF and BFLOAT16: see vectors.h. Sums and products are made in float and rounded to the
 * nearest, ties to even, whatever the caller's rounding mode; the conversions make no denormal floats, which a caller
 * may have turned off. REDUCE_CONVERTS says whether the level's processors convert halves themselves. Minima and maxima
 * need no conversion: the bits of a number that is not a NaN are its order.
 */
#ifndef NBCOLL_REDUCE_NARROW_H
#define NBCOLL_REDUCE_NARROW_H

#define REDUCE_ORDER(x) ((x) ^ (((x) >> 15) & 0x7fff))
#define REDUCE_IS_NAN(x, infinity) (((x) & 0x7fff) > (infinity))

#define REDUCE_NARROW_MIN_MAX(name, less, infinity)                                                                    \
    REDUCE_KERNEL(name, int16_t, int16_t,                                                                              \
                  REDUCE_SELECT(REDUCE_IS_NAN(r, infinity) |                                                           \
                                (~REDUCE_IS_NAN(l, infinity) & (REDUCE_ORDER(l) less REDUCE_ORDER(r)))),               \
                  (REDUCE_IS_NAN(r, infinity) ||                                                                       \
                   (!REDUCE_IS_NAN(l, infinity) && REDUCE_ORDER(l) less REDUCE_ORDER(r))) ? l : r)

#define REDUCE_FLOATS REDUCE_NAME(reduce_floats)
#define REDUCE_WORDS REDUCE_NAME(reduce_words)
#define REDUCE_SHORTS REDUCE_NAME(reduce_shorts)

/* A word is two numbers, computed apart: `widen` makes a float of the lower half of a word, `narrow` the reverse. */
#define REDUCE_NARROW_KERNEL(name, widen, sign, narrow)                                                                \
    static inline REDUCE_TARGET REDUCE_WORDS REDUCE_NAME(reduce_block_##name)(REDUCE_WORDS l, REDUCE_WORDS r)          \
    {                                                                                                                  \
        const REDUCE_FLOATS low = REDUCE_NAME(widen)(l & 0xffff) sign REDUCE_NAME(widen)(r & 0xffff);                  \
        const REDUCE_FLOATS high = REDUCE_NAME(widen)(l >> 16 & 0xffff) sign REDUCE_NAME(widen)(r >> 16 & 0xffff);     \
        return REDUCE_NAME(narrow)(low) | REDUCE_NAME(narrow)(high) << 16;                                             \
    }                                                                                                                  \
    REDUCE_BLOCKS(name, REDUCE_WORDS, REDUCE_NAME(reduce_block_##name))

/* The same for processors that convert vectors. */
#define REDUCE_CONVERTED_KERNEL(name, sign)                                                                            \
    static inline REDUCE_TARGET REDUCE_SHORTS REDUCE_NAME(reduce_block_##name)(REDUCE_SHORTS l, REDUCE_SHORTS r)       \
    {                                                                                                                  \
        return REDUCE_NAME(reduce_from_float)(REDUCE_NAME(reduce_to_float)(l) sign REDUCE_NAME(reduce_to_float)(r));   \
    }                                                                                                                  \
    REDUCE_BLOCKS(name, REDUCE_SHORTS, REDUCE_NAME(reduce_block_##name))

#endif

typedef float REDUCE_FLOATS __attribute__((vector_size(REDUCE_WIDTH)));
typedef int32_t REDUCE_WORDS __attribute__((vector_size(REDUCE_WIDTH)));

/* ---- BFLOAT16 -------------------------------------------------------------------------------------------------- */

static inline REDUCE_TARGET REDUCE_FLOATS REDUCE_NAME(reduce_widen_bfloat16)(REDUCE_WORDS x)
{
    return (REDUCE_FLOATS)(x << 16);
}

static inline REDUCE_TARGET REDUCE_WORDS REDUCE_NAME(reduce_narrow_bfloat16)(REDUCE_FLOATS f)
{
    const REDUCE_WORDS x = (REDUCE_WORDS)f, is_nan = f != f;
    const REDUCE_WORDS nan = x | 1 << 22, rounded = (x & ~is_nan) + 0x7fff + (x >> 16 & 1);
    return ((is_nan & nan) | (~is_nan & rounded)) >> 16 & 0xffff;
}

REDUCE_NARROW_KERNEL(sum_bfloat16, reduce_widen_bfloat16, +, reduce_narrow_bfloat16)
REDUCE_NARROW_KERNEL(prod_bfloat16, reduce_widen_bfloat16, *, reduce_narrow_bfloat16)
REDUCE_NARROW_MIN_MAX(min_bfloat16, <, 0x7f80)
REDUCE_NARROW_MIN_MAX(max_bfloat16, >, 0x7f80)

/* ---- HALF ------------------------------------------------------------------------------------------------------ */

#if REDUCE_CONVERTS

typedef uint16_t REDUCE_SHORTS __attribute__((vector_size(REDUCE_WIDTH / 2)));

static inline REDUCE_TARGET REDUCE_FLOATS REDUCE_NAME(reduce_to_float)(REDUCE_SHORTS h)
{
#if REDUCE_WIDTH == 64
    return (REDUCE_FLOATS)_mm512_cvtph_ps((__m256i)h);
#else
    return (REDUCE_FLOATS)_mm256_cvtph_ps((__m128i)h);
#endif
}

static inline REDUCE_TARGET REDUCE_SHORTS REDUCE_NAME(reduce_from_float)(REDUCE_FLOATS f)
{
#if REDUCE_WIDTH == 64
    return (REDUCE_SHORTS)_mm512_cvtps_ph((__m512)f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return (REDUCE_SHORTS)_mm256_cvtps_ph((__m256)f, _MM_FROUND_TO_NEAREST_INT);
#endif
}

REDUCE_CONVERTED_KERNEL(sum_half, +)
REDUCE_CONVERTED_KERNEL(prod_half, *)

#else

/* Infinities and NaN, normal numbers, and those below 2^-14 (made normal by adding that, which is taken off again). */
static inline REDUCE_TARGET REDUCE_FLOATS REDUCE_NAME(reduce_widen_half)(REDUCE_WORDS x)
{
    const REDUCE_WORDS m = (x & 0x7fff) << 13, is_huge = m >= 31 << 23, is_tiny = m < 1 << 23;
    const REDUCE_WORDS tiny = (REDUCE_WORDS)((REDUCE_FLOATS)(m + (113 << 23)) - 0x1p-14f) & INT32_MAX;
    const REDUCE_WORDS other = m + (112 << 23) + (is_huge & (112 << 23));
    return (REDUCE_FLOATS)((x & 0x8000) << 16 | (is_tiny & tiny) | (~is_tiny & other));
}

/* The same classes. What lies below 2^-14 is counted in units of 2^-24: exactly, and then rounded. */
static inline REDUCE_TARGET REDUCE_WORDS REDUCE_NAME(reduce_narrow_half)(REDUCE_FLOATS f)
{
    const REDUCE_WORDS x = (REDUCE_WORDS)f, m = x & INT32_MAX, is_nan = f != f;
    const REDUCE_WORDS is_tiny = m < 113 << 23, is_huge = m >= 143 << 23;
    const REDUCE_WORDS nan = 0x7e00 | (m >> 13 & 0x1ff);
    const REDUCE_WORDS normal = (m - (112 << 23) + 0xfff + (m >> 13 & 1)) >> 13;
    const REDUCE_FLOATS units = (REDUCE_FLOATS)(is_tiny & m) * 0x1p24f;
    const REDUCE_WORDS whole = __builtin_convertvector(units, REDUCE_WORDS);
    const REDUCE_FLOATS rest = units - __builtin_convertvector(whole, REDUCE_FLOATS);
    const REDUCE_WORDS tiny = whole + (((rest > 0.5f) | ((rest == 0.5f) & -(whole & 1))) & 1);
    const REDUCE_WORDS number = (is_tiny & tiny) | (is_huge & 0x7c00) | (~(is_tiny | is_huge) & normal);
    return (x >> 16 & 0x8000) | (is_nan & nan) | (~is_nan & number);
}

REDUCE_NARROW_KERNEL(sum_half, reduce_widen_half, +, reduce_narrow_half)
REDUCE_NARROW_KERNEL(prod_half, reduce_widen_half, *, reduce_narrow_half)

#endif

REDUCE_NARROW_MIN_MAX(min_half, <, 0x7c00)
REDUCE_NARROW_MIN_MAX(max_half, >, 0x7c00)
