/* SPDX-License-Identifier: BSD-3-Clause
 * See numbers.h. The narrow types are computed by scaling, not by bits. */
#include "numbers.h"

#include <math.h>
#include <string.h>

static nbcoll_type real_of(nbcoll_type type)
{
    return type == NBCOLL_FLOAT_COMPLEX         ? (nbcoll_type)NBCOLL_FLOAT
           : type == NBCOLL_DOUBLE_COMPLEX      ? (nbcoll_type)NBCOLL_DOUBLE
           : type == NBCOLL_LONG_DOUBLE_COMPLEX ? (nbcoll_type)NBCOLL_LONG_DOUBLE
                                                : type;
}

size_t number_reals(nbcoll_type type)
{
    return real_of(type) == type ? 1 : 2;
}

nbcoll_type number_state(nbcoll_type type)
{
    nbcoll_type real = real_of(type);
    return real == NBCOLL_HALF || real == NBCOLL_BFLOAT16 ? (nbcoll_type)NBCOLL_FLOAT : real;
}

/* Bits of a significand, the exponent of the least number, and that of the first one beyond. */
static void shape_of(nbcoll_type type, int *bits, int *least, int *beyond)
{
    nbcoll_type real = real_of(type);
    *bits = real == NBCOLL_HALF ? 11 : real == NBCOLL_BFLOAT16 ? 8 : real == NBCOLL_FLOAT ? 24 : 53;
    *least = real == NBCOLL_HALF ? -24 : real == NBCOLL_BFLOAT16 ? -133 : real == NBCOLL_FLOAT ? -149 : -1074;
    *beyond = real == NBCOLL_HALF ? 16 : real == NBCOLL_DOUBLE || real == NBCOLL_LONG_DOUBLE ? 1024 : 128;
}

int64_t number_most(nbcoll_type type)
{
    int bits, least, beyond;
    shape_of(type, &bits, &least, &beyond);
    return (INT64_C(1) << (bits < 40 ? bits : 40)) - 1;
}

double number_rounded(nbcoll_type type, double number)
{
    int bits, least, beyond, exponent;
    shape_of(type, &bits, &least, &beyond);
    if (number == 0 || !isfinite(number) || bits == 53)
        return number;
    frexp(number, &exponent);
    int unit = exponent - bits > least ? exponent - bits : least;
    number = ldexp(nearbyint(ldexp(number, -unit)), unit);
    return fabs(number) >= ldexp(1, beyond) ? copysign(INFINITY, number) : number;
}

void number_set(nbcoll_type type, void *array, size_t i, double number)
{
    nbcoll_type real = real_of(type);
    if (real == NBCOLL_FLOAT)
        ((float *)array)[i] = (float)number;
    else if (real == NBCOLL_DOUBLE)
        ((double *)array)[i] = number;
    else if (real == NBCOLL_LONG_DOUBLE)
        ((long double *)array)[i] = (long double)number;
    else {
        int bits, least, beyond, exponent;
        uint16_t sign = signbit(number) ? 0x8000 : 0;
        shape_of(type, &bits, &least, &beyond);
        number = fabs(number);
        frexp(number, &exponent);
        int field = number == 0 ? 0 : exponent - bits - least + 1; /* of the exponent; below 1: none */
        double units = ldexp(number, -(field > 0 ? exponent - bits : least));
        uint16_t fraction = (uint16_t)((int)units & ((1 << (bits - 1)) - 1));
        ((uint16_t *)array)[i] = (uint16_t)(sign | (uint16_t)((field > 0 ? field : 0) << (bits - 1)) | fraction);
    }
}

double number_get(nbcoll_type type, const void *array, size_t i)
{
    nbcoll_type real = real_of(type);
    if (real == NBCOLL_FLOAT)
        return (double)((const float *)array)[i];
    if (real == NBCOLL_DOUBLE)
        return ((const double *)array)[i];
    if (real == NBCOLL_LONG_DOUBLE)
        return (double)((const long double *)array)[i];
    int bits, least, beyond;
    shape_of(type, &bits, &least, &beyond);
    uint16_t x = ((const uint16_t *)array)[i];
    int fraction = x & ((1 << (bits - 1)) - 1), field = (x & 0x7fff) >> (bits - 1);
    double number = field ? ldexp(fraction + (1 << (bits - 1)), field - 1 + least) : ldexp(fraction, least);
    if (field == (1 << (16 - bits)) - 1)
        number = fraction ? NAN : INFINITY;
    return x & 0x8000 ? -number : number;
}
