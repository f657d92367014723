/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reproducible sums. A finite double is an integer of 53 bits times a power of two, at least 2^-1074: so the sum of any
 * is one number on a grid of digits of 28 bits, digit p worth 2^(28 p - 1074). A state holds the integer sums of the
 * digits `place`, `place` - 1 and `place` - 2, where `place` is the highest one that any number needs. Of a number the
 * highest digit is not 0 (but below place 2), so that place 0 to 2 of the largest number hold all of its bits. Whatever
 * the order, the last state has the same `place`, and the sums of the same digits. (Demmel and Nguyen, Parallel
 * reproducible summation, 2015, bin floating-point numbers to the same end.)
 */
#include "bins.h"

#include <string.h>

#define NBCOLLI_BINS_DIGIT 28
#define NBCOLLI_BINS_MASK ((UINT64_C(1) << NBCOLLI_BINS_DIGIT) - 1)
#define NBCOLLI_BINS_LOWEST (-1074)

enum {
    NBCOLLI_BINS_MORE = 1,     /* +infinity */
    NBCOLLI_BINS_LESS = 2,     /* -infinity */
    NBCOLLI_BINS_NAN = 4,
    NBCOLLI_BINS_NEGATIVE = 8, /* -0 */
    NBCOLLI_BINS_OTHER = 16    /* anything but -0 */
};

/* Digits that were at `place` in a state that is at a higher one: its lowest are dropped. */
static inline void nbcolli_bins_take(nbcoll_bins *bins, const int64_t digit[3], uint32_t place)
{
    uint32_t lower = bins->place - place;

    if (lower == 0) {
        bins->digit[0] += digit[0];
        bins->digit[1] += digit[1];
        bins->digit[2] += digit[2];
    } else if (lower == 1) {
        bins->digit[1] += digit[0];
        bins->digit[2] += digit[1];
    } else if (lower == 2)
        bins->digit[2] += digit[0];
}

static inline void nbcolli_bins_merge(nbcoll_bins *bins, const int64_t digit[3], uint32_t place)
{
    if (place > bins->place) {
        nbcoll_bins old = *bins;
        *bins = (nbcoll_bins){{0, 0, 0}, place, old.seen};
        nbcolli_bins_take(bins, old.digit, old.place);
    }
    nbcolli_bins_take(bins, digit, place);
}

static uint64_t nbcolli_bins_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

void nbcolli_bins_add(nbcoll_bins *bins, double number)
{
    uint64_t bits = nbcolli_bins_bits(number), m = bits & (UINT64_MAX >> 12);
    uint32_t exponent = bits >> 52 & 0x7ff;
    int64_t sign = bits >> 63 ? -1 : 1;

    bins->seen |= bits == UINT64_C(1) << 63 ? NBCOLLI_BINS_NEGATIVE : NBCOLLI_BINS_OTHER;
    if (exponent == 0x7ff) {
        bins->seen |= m ? NBCOLLI_BINS_NAN : sign < 0 ? NBCOLLI_BINS_LESS : NBCOLLI_BINS_MORE;
        return;
    }
    uint32_t low = exponent ? exponent - 1 : 0, place = low / NBCOLLI_BINS_DIGIT + 2;
    uint32_t shift = low % NBCOLLI_BINS_DIGIT;
    m |= (uint64_t)(exponent != 0) << 52;
    uint64_t high = m >> (NBCOLLI_BINS_DIGIT - shift);
    int64_t digit[3] = {sign * (int64_t)(high >> NBCOLLI_BINS_DIGIT), sign * (int64_t)(high & NBCOLLI_BINS_MASK),
                        sign * (int64_t)(m << shift & NBCOLLI_BINS_MASK)};
    if (!digit[0] && place > 2) { /* a higher place than it needs would cost others their digits */
        digit[0] = digit[1];
        digit[1] = digit[2];
        digit[2] = 0;
        place--;
    }
    if (m)
        nbcolli_bins_merge(bins, digit, place);
}

void nbcoll_bins_add(nbcoll_bins *bins, const double numbers[], size_t n)
{
    nbcoll_bins sum = *bins;
    for (size_t i = 0; i < n; i++)
        nbcolli_bins_add(&sum, numbers[i]);
    *bins = sum;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* The value that begins with the 64 bits of m, the last of which is 1 if anything follows, times 2^e. */
static double nbcolli_bins_double(uint64_t m, int e, int bits, int lowest)
{
    int drop = 64 - (m ? __builtin_clzll(m) : 64) - bits;
    double value;

    if (drop < lowest - e)
        drop = lowest - e;
    if (drop > 0) {
        uint64_t rest = drop < 64 ? m & ((UINT64_C(1) << drop) - 1) : m;
        uint64_t half = drop <= 64 ? UINT64_C(1) << (drop - 1) : 0;
        m = drop < 64 ? m >> drop : 0;
        m += half && (rest > half || (rest == half && m & 1));
        e += drop;
    }
    if (!m)
        return 0;
    int length = 64 - __builtin_clzll(m), top = e + length - 1; /* the value is 2^top at least */
    if (top > 1023)
        return __builtin_inf();
    m = top >= -1022 ? ((m << (64 - length) >> 11) & (UINT64_MAX >> 12)) | (uint64_t)(top + 1023) << 52
                     : m << (e - NBCOLLI_BINS_LOWEST);
    memcpy(&value, &m, sizeof value);
    return value;
}

double nbcolli_bins_round(const nbcoll_bins *bins, int bits, int lowest)
{
    const uint32_t infinities = NBCOLLI_BINS_MORE | NBCOLLI_BINS_LESS;
    int64_t low = bins->digit[2], middle = bins->digit[1], high = bins->digit[0];
    int is_negative, e = ((int)bins->place - 2) * NBCOLLI_BINS_DIGIT + NBCOLLI_BINS_LOWEST;

    if (bins->seen & NBCOLLI_BINS_NAN || (bins->seen & infinities) == infinities)
        return __builtin_nan("");
    if (bins->seen & infinities)
        return bins->seen & NBCOLLI_BINS_LESS ? -__builtin_inf() : __builtin_inf();
    middle += low >> NBCOLLI_BINS_DIGIT; /* carries, downwards */
    high += middle >> NBCOLLI_BINS_DIGIT;
    low = (middle & (int64_t)NBCOLLI_BINS_MASK) << NBCOLLI_BINS_DIGIT | (low & (int64_t)NBCOLLI_BINS_MASK);
    is_negative = high < 0;
    if (is_negative) { /* high and low, of 56 bits, become those of the magnitude */
        high = -high - (low != 0);
        low = low ? (INT64_C(1) << 2 * NBCOLLI_BINS_DIGIT) - low : 0;
    }
    if (!high && !low)
        return (bins->seen & (NBCOLLI_BINS_NEGATIVE | NBCOLLI_BINS_OTHER)) == NBCOLLI_BINS_NEGATIVE ? -0.0 : 0.0;
    uint64_t m = (uint64_t)low;
    if (high) {
        int left = __builtin_clzll((uint64_t)high), right = 2 * NBCOLLI_BINS_DIGIT - left;
        m = (uint64_t)high << left | (right >= 0 ? m >> right : m << -right);
        m |= right > 0 && (uint64_t)low & ((UINT64_C(1) << right) - 1) ? 1 : 0;
        e += right;
    }
    double value = nbcolli_bins_double(m, e, bits, lowest);
    return is_negative ? -value : value;
}

double nbcoll_bins_value(const nbcoll_bins *bins)
{
    return nbcolli_bins_round(bins, 53, NBCOLLI_BINS_LOWEST);
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_bins_combine(void *reals, void *result, const void *left, const void *right, size_t count,
                                          nbcoll_type type)
{
    (void)type;
    for (size_t i = 0; i < count * (uintptr_t)reals; i++) {
        nbcoll_bins sum, other;
        memcpy(&sum, (const char *)left + i * sizeof sum, sizeof sum);
        memcpy(&other, (const char *)right + i * sizeof other, sizeof other);
        sum.seen |= other.seen;
        nbcolli_bins_merge(&sum, other.digit, other.place);
        memcpy((char *)result + i * sizeof sum, &sum, sizeof sum);
    }
    return NBCOLL_OK;
}

const nbcoll_host_op nbcolli_bins_sums[2] = {
    {.size = sizeof(nbcoll_host_op), .user = (void *)1, .combine = nbcolli_bins_combine, .commutative = 1},
    {.size = sizeof(nbcoll_host_op), .user = (void *)2, .combine = nbcolli_bins_combine, .commutative = 1}};

nbcoll_type nbcoll_bins_type(void)
{
    static const nbcoll_host_type type = {.size = sizeof type, .extent = sizeof(nbcoll_bins)};
    return nbcoll_type_of(&type);
}
