/* SPDX-License-Identifier: BSD-3-Clause
 * See plain.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "plain.h"

/* ---- classes --------------------------------------------------------------------------------------------------- */

enum { BYTES = 1, SIGNED = 2, UNSIGNED = 4, FLOATING = 8, NARROW = 16, COMPLEX = 32, LOGICAL = 64, PAIR = 128 };

static int class_of(nbcoll_type type)
{
    static const int classes[] = {
#define CLASS(name, ctype, kind) kind,
        NBCOLL_TYPE_LIST(CLASS)
    };
    return type < NBCOLL_TYPE_COUNT ? classes[type] : 0;
}

int plain_applies(nbcoll_op op, nbcoll_type type)
{
    static const int classes[NBCOLL_OP_COUNT] = {
        [NBCOLL_SUM] = SIGNED | UNSIGNED | FLOATING | NARROW | COMPLEX,
        [NBCOLL_PROD] = SIGNED | UNSIGNED | FLOATING | NARROW | COMPLEX,
        [NBCOLL_MIN] = SIGNED | UNSIGNED | FLOATING | NARROW,
        [NBCOLL_MAX] = SIGNED | UNSIGNED | FLOATING | NARROW,
        [NBCOLL_LAND] = SIGNED | UNSIGNED | LOGICAL,
        [NBCOLL_LOR] = SIGNED | UNSIGNED | LOGICAL,
        [NBCOLL_LXOR] = SIGNED | UNSIGNED | LOGICAL,
        [NBCOLL_BAND] = SIGNED | UNSIGNED | BYTES,
        [NBCOLL_BOR] = SIGNED | UNSIGNED | BYTES,
        [NBCOLL_BXOR] = SIGNED | UNSIGNED | BYTES,
        [NBCOLL_MINLOC] = PAIR,
        [NBCOLL_MAXLOC] = PAIR,
    };
    return op < NBCOLL_OP_COUNT && (classes[op] & class_of(type)) != 0;
}

/* ---- one element, by its class --------------------------------------------------------------------------------- */

/* Integers are extended to 64 bits, combined there and cut again. */
static uint64_t whole(nbcoll_op op, uint64_t x, uint64_t y, int is_signed)
{
    int is_less = is_signed ? (int64_t)x < (int64_t)y : x < y;
    switch (op) {
    case NBCOLL_SUM: return x + y;
    case NBCOLL_PROD: return x * y;
    case NBCOLL_MIN: return is_less ? x : y;
    case NBCOLL_MAX: return is_less ? y : x;
    case NBCOLL_LAND: return x && y;
    case NBCOLL_LOR: return x || y;
    case NBCOLL_LXOR: return !x != !y;
    case NBCOLL_BAND: return x & y;
    case NBCOLL_BOR: return x | y;
    default: return x ^ y;
    }
}

/* Is the left one of two numbers, given as long doubles, the minimum (or maximum)? */
static int takes_left(int is_max, long double x, long double y)
{
    if (isnan(x) || isnan(y))
        return isnan(y);
    if (x == y)
        return is_max ? !signbit(x) : signbit(x) != 0;
    return is_max ? x > y : x < y;
}

/* The same of pairs. */
static int takes_left_pair(int is_max, long double x, int i, long double y, int k)
{
    if (isnan(x) != isnan(y))
        return isnan(y);
    if (isnan(x) || x == y)
        return i <= k;
    return is_max ? x > y : x < y;
}

float plain_wide(nbcoll_type type, uint16_t bits)
{
    int mantissa_bits = type == NBCOLL_HALF ? 10 : 7, most = type == NBCOLL_HALF ? 31 : 255;
    int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 0x7fff) >> mantissa_bits;
    double value = exponent == most ? (mantissa ? NAN : INFINITY)
                   : exponent       ? ldexp(mantissa + (1 << mantissa_bits), exponent - most / 2 - mantissa_bits)
                                    : ldexp(mantissa, 1 - most / 2 - mantissa_bits);
    return (float)(bits & 0x8000 ? -value : value);
}

uint16_t plain_narrow(nbcoll_type type, float value)
{
    int mantissa_bits = type == NBCOLL_HALF ? 10 : 7, most = type == NBCOLL_HALF ? 31 : 255, exponent;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    if (isnan(value))
        return (uint16_t)(sign | (most << mantissa_bits) | 1);
    if (isinf(value))
        return (uint16_t)(sign | most << mantissa_bits);
    if (size == 0)
        return sign;
    frexp(size, &exponent); /* size is below 2^exponent */
    exponent = exponent - 1 < 1 - most / 2 ? 1 - most / 2 : exponent - 1;
    /* In units of the last place, which are whole after rounding: a carry goes on into the exponent by itself. */
    double units = ldexp(size, mantissa_bits - exponent), low = floor(units), rest = units - low;
    long rounded = (long)low + (rest > 0.5 || (rest == 0.5 && (long)low % 2));
    long bits = rounded + ((long)(exponent + most / 2 - 1) << mantissa_bits);
    long infinity = (long)most << mantissa_bits;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static uint16_t narrow(nbcoll_reduction how, uint16_t x, uint16_t y)
{
    float a = plain_wide(how.type, x), b = plain_wide(how.type, y);
    if (how.op == NBCOLL_SUM || how.op == NBCOLL_PROD)
        return plain_narrow(how.type, how.op == NBCOLL_SUM ? a + b : a * b);
    return takes_left(how.op == NBCOLL_MAX, a, b) ? x : y;
}

/* The product is made of rounded parts: what is volatile is not fused. */
#define PRODUCT(x, y, part)                                                                                            \
    do {                                                                                                               \
        volatile part ac = x.re * y.re, bd = x.im * y.im, ad = x.re * y.im, bc = x.im * y.re;                          \
        z.re = ac - bd;                                                                                                \
        z.im = ad + bc;                                                                                                \
    } while (0)

/* Statements that make z of x and y, by class. */
#define PLAIN_BYTES(T) z = (T)whole(how.op, x, y, 0)
#define PLAIN_LOGICAL(T) z = (T)whole(how.op, x, y, 0)
#define PLAIN_UNSIGNED(T) z = (T)whole(how.op, x, y, 0)
#define PLAIN_SIGNED(T) z = (T)whole(how.op, (uint64_t)x, (uint64_t)y, 1)
#define PLAIN_NARROW(T) z = narrow(how, x, y)
#define PLAIN_FLOATING(T)                                                                                              \
    z = how.op == NBCOLL_SUM                          ? x + y                                                          \
        : how.op == NBCOLL_PROD                       ? x * y                                                          \
        : takes_left(how.op == NBCOLL_MAX, x, y) ? x : y
#define PLAIN_COMPLEX(T)                                                                                               \
    if (how.op == NBCOLL_SUM)                                                                                          \
        z.re = x.re + y.re, z.im = x.im + y.im;                                                                        \
    else if (sizeof x.re == sizeof(float))                                                                             \
        PRODUCT(x, y, float);                                                                                          \
    else if (sizeof x.re == sizeof(double))                                                                            \
        PRODUCT(x, y, double);                                                                                         \
    else                                                                                                               \
        PRODUCT(x, y, long double)
#define PLAIN_PAIR(T)                                                                                                  \
    z = takes_left_pair(how.op == NBCOLL_MAXLOC, (long double)x.value, x.index, (long double)y.value, y.index) ? x : y

void plain_combine(nbcoll_reduction how, void *result, const void *left, const void *right)
{
    switch (how.type) {
#define COMBINE(name, T, kind)                                                                                         \
    case NBCOLL_##name: {                                                                                              \
        T x, y, z;                                                                                                     \
        memcpy(&x, left, sizeof x);                                                                                    \
        memcpy(&y, right, sizeof y);                                                                                   \
        PLAIN_##kind(T);                                                                                               \
        memcpy(result, &z, sizeof z);                                                                                  \
        break;                                                                                                         \
    }
        NBCOLL_TYPE_LIST(COMBINE)
    }
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

static int same_real(int any_nan, long double x, long double y, const void *want, const void *got, size_t bytes)
{
    if (any_nan && isnan(x) && isnan(y))
        return 1;
    return memcmp(want, got, bytes == sizeof(long double) && LDBL_MANT_DIG == 64 ? 10 : bytes) == 0;
}

#define SAME_BITS (memcmp(&x, &y, sizeof x) == 0)
#define SAME_REAL(member, any_nan)                                                                                     \
    same_real(any_nan, (long double)x.member, (long double)y.member, &x.member, &y.member, sizeof x.member)
#define SAME_BYTES SAME_BITS
#define SAME_LOGICAL SAME_BITS
#define SAME_SIGNED SAME_BITS
#define SAME_UNSIGNED SAME_BITS
#define SAME_FLOATING same_real(rounds, x, y, &x, &y, sizeof x)
#define SAME_NARROW                                                                                                    \
    (SAME_BITS || (rounds && isnan(plain_wide(how.type, (uint16_t)x)) && isnan(plain_wide(how.type, (uint16_t)y))))
#define SAME_COMPLEX (SAME_REAL(re, 1) && SAME_REAL(im, 1))
#define SAME_PAIR (SAME_REAL(value, 0) && x.index == y.index)

/* Members are not all of every type. */
int plain_same(nbcoll_reduction how, const void *want, const void *got)
{
    int rounds = how.op == NBCOLL_SUM || how.op == NBCOLL_PROD;
    switch (how.type) {
#define SAME(name, T, kind)                                                                                            \
    case NBCOLL_##name: {                                                                                              \
        T x, y;                                                                                                        \
        memcpy(&x, want, sizeof x);                                                                                    \
        memcpy(&y, got, sizeof y);                                                                                     \
        return SAME_##kind;                                                                                            \
    }
        NBCOLL_TYPE_LIST(SAME)
    }
    return 0;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

uint64_t plain_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0, 1, 2, -1, -2, and the ends of the signed range with their neighbours; or anything. */
static uint64_t integer(size_t bits, uint64_t *state)
{
    uint64_t r = plain_random(state), pick = r >> 8;
    return r % 2 ? plain_random(state) : ((pick & 8) ? (uint64_t)1 << (bits - 1) : 0) + (pick % 5) - 2;
}

#define EDGES(T, name, nan1, nan2, inf, largest, normal, smallest)                                                     \
    static T name(uint64_t *state)                                                                                     \
    {                                                                                                                  \
        static const T edges[] = {0, -(T)0.0, 1, -1, inf, -inf, nan1, nan2, largest, normal, smallest, -(smallest)};   \
        uint64_t r = plain_random(state);                                                                              \
        return r % 2 ? edges[(r >> 8) % 12] : (T)(int64_t)plain_random(state) / (T)4e18;                               \
    }
EDGES(float, real_float, __builtin_nanf("1"), __builtin_nanf("2"), INFINITY, FLT_MAX, FLT_MIN, FLT_TRUE_MIN)
EDGES(double, real_double, __builtin_nan("1"), __builtin_nan("2"), INFINITY, DBL_MAX, DBL_MIN, DBL_TRUE_MIN)
EDGES(long double, real_long_double, __builtin_nanl("1"), __builtin_nanl("2"), INFINITY, LDBL_MAX, LDBL_MIN,
      LDBL_TRUE_MIN)

/* Any bits, or those of numbers near one, or of zero, infinity and what lies beside them. */
static uint16_t narrow_bits(nbcoll_type type, uint64_t *state)
{
    static const uint16_t half[] = {0, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0x7c01, 0x7e01};
    static const uint16_t bfloat16[] = {0, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0x7f81, 0x7fc1};
    uint64_t r = plain_random(state), pick = r >> 8;
    if (r % 3 == 0)
        return (uint16_t)pick;
    if (r % 3 == 1)
        return (uint16_t)((type == NBCOLL_HALF ? 0x3c00 : 0x3f80) + (pick & 0x87ff) - 0x200);
    return (uint16_t)((type == NBCOLL_HALF ? half : bfloat16)[pick & 7] | (pick & 0x8000));
}

/* A real of the member's type. */
#define REAL(member)                                                                                                   \
    do {                                                                                                               \
        if (sizeof(member) == sizeof(float))                                                                           \
            member = real_float(state);                                                                                \
        else if (sizeof(member) == sizeof(double))                                                                     \
            member = real_double(state);                                                                               \
        else                                                                                                           \
            member = real_long_double(state);                                                                          \
    } while (0)

void plain_operand(nbcoll_type type, uint64_t *state, void *element)
{
    unsigned char rubbish[PLAIN_LARGEST];
    for (size_t i = 0; i < PLAIN_LARGEST; i++)
        rubbish[i] = (unsigned char)plain_random(state);
    switch (type) {
#define MAKE_BYTES(T) x = (T)integer(8 * sizeof x, state)
#define MAKE_SIGNED MAKE_BYTES
#define MAKE_UNSIGNED MAKE_BYTES
#define MAKE_LOGICAL(T) x = plain_random(state) % 2
#define MAKE_FLOATING(T) REAL(x)
#define MAKE_NARROW(T) x = narrow_bits(type, state)
#define MAKE_COMPLEX(T) do { REAL(x.re); REAL(x.im); } while (0)
/* Few values and few indices, so that both are often equal. */
#define MAKE_PAIR(T)                                                                                                   \
    do {                                                                                                               \
        static const float reals[] = {0, -0.0f, 1, -1, NAN, -NAN, INFINITY, -INFINITY};                                \
        uint64_t r = plain_random(state);                                                                              \
        if ((__typeof__(x.value))0.5 != 0)                                                                             \
            x.value = (__typeof__(x.value))reals[r % 8];                                                               \
        else                                                                                                           \
            x.value = (__typeof__(x.value))integer(8 * sizeof x.value, state);                                         \
        x.index = r >> 8 & 8 ? (int)(r >> 32) : (int)(r >> 16) % 3 - 1;                                                \
    } while (0)
#define MAKE(name, T, kind)                                                                                            \
    case NBCOLL_##name: {                                                                                              \
        T x;                                                                                                           \
        memcpy(&x, rubbish, sizeof x);                                                                                 \
        MAKE_##kind(T);                                                                                                \
        memcpy(element, &x, sizeof x);                                                                                 \
        break;                                                                                                         \
    }
        NBCOLL_TYPE_LIST(MAKE)
    }
}
