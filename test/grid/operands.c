/* SPDX-License-Identifier: BSD-3-Clause
 * Operands that tell something, and whether two results are the same. See elements.h. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "elements.h"
#include "plain.h"

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* Neither nearly always true nor nearly always false, also when many are combined. */
static uint64_t integer_operand(int op, uint64_t h)
{
    switch (op) {
    case NBCOLL_PROD: return h | 1; /* or all bits would soon be gone */
    case NBCOLL_LAND: return h >> 61 ? h | 1 : 0;
    case NBCOLL_LOR: return h >> 61 ? 0 : h | 1;
    case NBCOLL_LXOR: return h >> 63 ? h | 1 : 0;
    default: return h;
    }
}

static long double bound_operand(uint64_t h)
{
    switch (h >> 60) {
    case 0: return NAN;
    case 1: return -0.0L;
    case 2: return 0;
    case 3: return INFINITY;
    case 4: return -INFINITY;
    default: return (long double)(int)(h % 201) - 100;
    }
}

/* Sums of 16 small integers, and products of 16 powers of two near 1, are exact in 8 bits, in any order. */
static long double exact_operand(int op, int rank, uint64_t h)
{
    if (op == NBCOLL_SUM)
        return (long double)(int)(h % 17) - 8;
    return (h >> 32 & 1 ? -1 : 1) * ldexpl(1, (int)(h & 1) * (rank % 2 ? -1 : 1));
}

/* Sums of different magnitudes; products near 1. */
static long double rounded_operand(int op, uint64_t h)
{
    long double part = ldexpl((long double)(h | 1), -64), sign = h & 1024 ? -1 : 1;
    return op == NBCOLL_SUM ? sign * ldexpl(0.5L + part, (int)(h % 9) - 4) : sign * (0.75L + part / 2);
}

static long double real_operand(int op, int is_rounded, int rank, uint64_t h)
{
    if (op == NBCOLL_MIN || op == NBCOLL_MAX)
        return bound_operand(h);
    return is_rounded ? rounded_operand(op, h) : exact_operand(op, rank, h);
}

static void put_real(int type, void *at, size_t i, long double value)
{
#define PUT(T)                                                                                                         \
    do {                                                                                                               \
        T v = (T)value;                                                                                                \
        memcpy((char *)at + i * sizeof v, &v, sizeof v);                                                               \
    } while (0)
    uint16_t bits;
    switch (type) {
    case NBCOLL_FLOAT:
    case NBCOLL_FLOAT_COMPLEX: PUT(float); break;
    case NBCOLL_DOUBLE:
    case NBCOLL_DOUBLE_COMPLEX: PUT(double); break;
    case NBCOLL_LONG_DOUBLE:
    case NBCOLL_LONG_DOUBLE_COMPLEX: PUT(long double); break;
    default: bits = plain_narrow((nbcoll_type)type, (float)value); memcpy(at, &bits, sizeof bits);
    }
#undef PUT
}

/* An exact product is one of powers of two along one axis. */
static void put_complex(int type, int op, int is_rounded, int rank, uint64_t h, void *at)
{
    int on_axis = op == NBCOLL_PROD && !is_rounded;
    long double re = real_operand(op, is_rounded, rank, h);
    long double im = real_operand(op, is_rounded, rank, h * UINT64_C(0x9e3779b97f4a7c15));

    put_real(type, at, 0, on_axis && h >> 63 ? 0 : re);
    put_real(type, at, 1, on_axis && !(h >> 63) ? 0 : on_axis ? re : im);
}

/* Few values and indices, so that many are equal; some that are no number. */
static void put_pair(int type, uint64_t h, void *at)
{
    int value = (int)(h % 5) - 2, index = (int)(h >> 40 & 3);
    float real = h >> 60 ? (float)value : NAN;
#define PUT(name, NAME, v)                                                                                             \
    case NBCOLL_##NAME: {                                                                                              \
        nbcoll_##name pair;                                                                                            \
        memcpy(&pair, at, sizeof pair); /* padding stays */                                                            \
        pair.value = (v);                                                                                              \
        pair.index = index;                                                                                            \
        memcpy(at, &pair, sizeof pair);                                                                                \
        break;                                                                                                         \
    }
    switch (type) {
        PUT(float_int, FLOAT_INT, real)
        PUT(double_int, DOUBLE_INT, (double)real)
        PUT(long_double_int, LONG_DOUBLE_INT, (long double)real)
        PUT(long_int, LONG_INT, value)
        PUT(int_int, INT_INT, value)
        PUT(short_int, SHORT_INT, (short)value)
        PUT(double_int64, DOUBLE_INT64, (double)real)
        PUT(int64_int64, INT64_INT64, value)
    }
#undef PUT
}

void element_make(int type, int op, int is_rounded, int rank, uint64_t random, void *at)
{
    uint64_t integer = integer_operand(op, random);

    if (op >= NBCOLL_OP_COUNT) {
        for (size_t i = 0; i < element_size(type); i++)
            ((unsigned char *)at)[i] = (unsigned char)(random >> i % 8 * 8 ^ i * 29);
        return;
    }
    switch (element_kind_of(type)) {
    case FLOATING:
    case NARROW: put_real(type, at, 0, real_operand(op, is_rounded, rank, random)); break;
    case COMPLEX: put_complex(type, op, is_rounded, rank, random, at); break;
    case PAIR: put_pair(type, random, at); break;
    case LOGICAL: *(unsigned char *)at = integer != 0; break;
    default: memcpy(at, &integer, element_size(type)); /* little-endian, or any other integer */
    }
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* The bytes of an element that say something: those of its numbers. */
static int is_same_bytes(int type, const char *a, const char *b)
{
    size_t number = element_size(type), second = 0, second_bytes = 0;
    const size_t long_double_bytes = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

    switch (type) {
    case NBCOLL_LONG_DOUBLE: number = long_double_bytes; break;
    case NBCOLL_LONG_DOUBLE_COMPLEX:
        number = second_bytes = long_double_bytes;
        second = offsetof(nbcoll_long_double_complex, im);
        break;
#define CASE(NAME, name, bytes)                                                                                        \
    case NBCOLL_##NAME:                                                                                                \
        number = bytes;                                                                                                \
        second = offsetof(nbcoll_##name, index);                                                                       \
        second_bytes = sizeof ((nbcoll_##name *)0)->index;                                                             \
        break;
        CASE(FLOAT_INT, float_int, sizeof(float))
        CASE(DOUBLE_INT, double_int, sizeof(double))
        CASE(LONG_INT, long_int, sizeof(long))
        CASE(INT_INT, int_int, sizeof(int))
        CASE(SHORT_INT, short_int, sizeof(short))
        CASE(LONG_DOUBLE_INT, long_double_int, long_double_bytes)
        CASE(DOUBLE_INT64, double_int64, sizeof(double))
        CASE(INT64_INT64, int64_int64, sizeof(int64_t))
#undef CASE
    }
    return !memcmp(a, b, number) && !memcmp(a + second, b + second, second_bytes);
}

static int is_same_value(int type, const void *a, const void *b)
{
#define SAME(T)                                                                                                        \
    do {                                                                                                               \
        T x[2], y[2];                                                                                                  \
        memcpy(x, a, sizeof x);                                                                                        \
        memcpy(y, b, sizeof y);                                                                                        \
        return x[0] == y[0] && x[1] == y[1];                                                                           \
    } while (0)
    switch (type) {
    case NBCOLL_FLOAT_COMPLEX: SAME(float);
    case NBCOLL_DOUBLE_COMPLEX: SAME(double);
    default: SAME(long double);
    }
#undef SAME
}

int element_is_same(int type, int op, int is_rounded, const void *a, const void *b)
{
    if (!memcmp(a, b, element_size(type)))
        return 1;
    if (op >= NBCOLL_OP_COUNT)
        return 0;
    if (element_kind_of(type) == COMPLEX && !is_rounded)
        return is_same_value(type, a, b);
    return is_same_bytes(type, a, b);
}
