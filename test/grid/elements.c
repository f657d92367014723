/* SPDX-License-Identifier: BSD-3-Clause
 * See elements.h. */
#include <math.h>
#include <string.h>

#include "elements.h"

static const struct {
    const char *name;
    size_t size;
    element_kind kind;
} types[ELEMENT_TYPES] = {
#define TYPE(name, ctype, kind) {#name, sizeof(ctype), kind},
    NBCOLL_TYPE_LIST(TYPE)
#undef TYPE
    {"CONTIGUOUS", 12, HOST}, {"PACKED", 24, HOST},
};

/* ---- the host's ------------------------------------------------------------------------------------------------ */

/* Of 24 bytes, 4 and 8 travel, scrambled by a key, which only the right `user` pointer knows. */
enum { HEAD = 4, BODY_AT = 8, BODY = 8, TRAVELS = HEAD + BODY };
static unsigned char key = 0x5a;

static void scramble(unsigned char with, void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i] ^ with;
}

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    const char *from = elements;
    char *to = packed;
    for (size_t i = 0; i < count; i++, from += 24, to += TRAVELS) {
        scramble(*(unsigned char *)user, to, from, HEAD);
        scramble(*(unsigned char *)user, to + HEAD, from + BODY_AT, BODY);
    }
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    const char *from = packed;
    char *to = elements;
    for (size_t i = 0; i < count; i++, from += TRAVELS, to += 24) {
        scramble(*(unsigned char *)user, to, from, HEAD);
        scramble(*(unsigned char *)user, to + BODY_AT, from + HEAD, BODY);
    }
    return NBCOLL_OK;
}

static const nbcoll_host_type contiguous = {.size = sizeof contiguous, .extent = 12};
static const nbcoll_host_type packed = {.size = sizeof packed, .extent = 24, .packed = TRAVELS, .user = &key,
                                        .pack = pack, .unpack = unpack};

/* Both work byte by byte. Exclusive or with a constant: associative, commutative, and never the identity. Affine maps
 * modulo 16, one after the other: associative, not commutative. The mean, rounded up: commutative, not associative. */
static unsigned char commutative_byte(unsigned char l, unsigned char r)
{
    return l ^ r ^ 0x93;
}

static unsigned char ordered_byte(unsigned char l, unsigned char r)
{
    unsigned a = (l >> 4) * (r >> 4) % 16u, b = ((r >> 4) * (l & 15u) + (r & 15u)) % 16u;
    return (unsigned char)(a << 4 | b);
}

static unsigned char rounding_byte(unsigned char l, unsigned char r)
{
    return (unsigned char)((l + r + 1u) / 2);
}

/* What the library calls looks the results up in the table that `user` points to. */
static unsigned char tables[3][256][256];

void elements_open(void)
{
    for (unsigned l = 0; l < 256; l++)
        for (unsigned r = 0; r < 256; r++) {
            tables[0][l][r] = commutative_byte((unsigned char)l, (unsigned char)r);
            tables[1][l][r] = ordered_byte((unsigned char)l, (unsigned char)r);
            tables[2][l][r] = rounding_byte((unsigned char)l, (unsigned char)r);
        }
}

static nbcoll_status by_table(void *user, void *result, const void *left, const void *right, size_t count,
                              nbcoll_type type)
{
    unsigned char (*table)[256] = user, *to = result;
    const unsigned char *l = left, *r = right;
    size_t size = type == nbcoll_type_of(&packed) ? TRAVELS : nbcoll_type_size(type);

    for (size_t i = 0; i < count * size; i++)
        to[i] = table[l[i]][r[i]];
    return NBCOLL_OK;
}

static const nbcoll_host_op commutative = {.size = sizeof commutative, .user = tables[0], .combine = by_table,
                                           .commutative = 1};
static const nbcoll_host_op ordered = {.size = sizeof ordered, .user = tables[1], .combine = by_table};
static const nbcoll_host_op rounding = {.size = sizeof rounding, .user = tables[2], .combine = by_table,
                                        .commutative = 1};

/* ---- by number ------------------------------------------------------------------------------------------------- */

nbcoll_type element_type(int type)
{
    return type == ELEMENT_CONTIGUOUS ? nbcoll_type_of(&contiguous)
           : type == ELEMENT_PACKED   ? nbcoll_type_of(&packed)
                                      : (nbcoll_type)type;
}

nbcoll_op element_op(int op)
{
    return op == ELEMENT_COMMUTATIVE ? nbcoll_op_of(&commutative)
           : op == ELEMENT_ORDERED   ? nbcoll_op_of(&ordered)
           : op == ELEMENT_ROUNDING  ? nbcoll_op_of(&rounding)
                                     : (nbcoll_op)op;
}

const char *element_type_name(int type)
{
    return types[type].name;
}

const char *element_op_name(int op)
{
#define NAME(name) #name,
    static const char *const names[] = {NBCOLL_OP_LIST(NAME) "COMMUTATIVE", "ORDERED", "ROUNDING", "NONE"};
#undef NAME
    return names[op];
}

size_t element_size(int type)
{
    return types[type].size;
}

size_t element_travels(int type)
{
    return type == ELEMENT_PACKED ? TRAVELS : types[type].size;
}

element_kind element_kind_of(int type)
{
    return types[type].kind;
}

int element_has(int op, int type)
{
    element_kind kind = types[type].kind;
    int is_integer = kind == SIGNED || kind == UNSIGNED, is_real = kind == FLOATING || kind == NARROW;

    switch (op) {
    case NBCOLL_SUM:
    case NBCOLL_PROD: return is_integer || is_real || kind == COMPLEX;
    case NBCOLL_MIN:
    case NBCOLL_MAX: return is_integer || is_real;
    case NBCOLL_LAND:
    case NBCOLL_LOR:
    case NBCOLL_LXOR: return is_integer || kind == LOGICAL;
    case NBCOLL_BAND:
    case NBCOLL_BOR:
    case NBCOLL_BXOR: return is_integer || kind == BYTES;
    case NBCOLL_MINLOC:
    case NBCOLL_MAXLOC: return kind == PAIR;
    default: return 1;
    }
}

void element_pack(int type, const void *at, void *to)
{
    if (type == ELEMENT_PACKED)
        pack(&key, at, to, 1);
    else
        memcpy(to, at, types[type].size);
}

void element_unpack(int type, const void *from, void *at)
{
    if (type == ELEMENT_PACKED)
        unpack(&key, from, at, 1);
    else
        memcpy(at, from, types[type].size);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* Floating numbers of 16 bits: a sign, `fraction` bits at the end, the exponent between. */
static int fraction_of(int type)
{
    return type == NBCOLL_HALF ? 10 : 7;
}

static int bias_of(int type)
{
    return type == NBCOLL_HALF ? 15 : 127;
}

static float narrow_value(int type, uint16_t bits)
{
    int fraction = fraction_of(type), exponent = (bits & 0x7fff) >> fraction, one = 1 << fraction;
    float value = (float)(bits & (one - 1));

    if (exponent == 2 * bias_of(type) + 1)
        value = value != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf(value, 1 - bias_of(type) - fraction);
    else
        value = ldexpf(value + (float)one, exponent - bias_of(type) - fraction);
    return bits >> 15 ? -value : value;
}

uint16_t element_narrow(int type, float value)
{
    int fraction = fraction_of(type), bias = bias_of(type), exponent;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinite = (uint16_t)((2 * bias + 1) << fraction);

    if (isnan(value))
        return (uint16_t)(infinite | 1u << (fraction - 1));
    if (isinf(value))
        return sign | infinite;
    frexpf(value, &exponent);
    exponent = value != 0 && exponent > 2 - bias ? exponent - 1 : 1 - bias;
    long scaled = (long)nearbyint(ldexp(fabs((double)value), fraction - exponent)); /* ties to even */
    scaled += (long)(exponent + bias - 1) << fraction;
    return sign | (scaled > infinite ? infinite : (uint16_t)scaled);
}

#define LESSER(T)                                                                                                      \
    static T lesser_##T##_of(T l, T r)                                                                                 \
    {                                                                                                                  \
        if (r != r)                                                                                                    \
            return l;                                                                                                  \
        if (l != l)                                                                                                    \
            return r;                                                                                                  \
        return l < r || (l == r && signbit(l)) ? l : r;                                                                \
    }
typedef long double long_double;
LESSER(float)
LESSER(double)
LESSER(long_double)

/* Each rounded to T at once, whatever the compiler would like. */
#define REAL(T)                                                                                                        \
    static T real_##T(int op, T l, T r)                                                                                \
    {                                                                                                                  \
        volatile T result = 0;                                                                                         \
        switch (op) {                                                                                                  \
        case NBCOLL_SUM: result = l + r; break;                                                                        \
        case NBCOLL_PROD: result = l * r; break;                                                                       \
        case NBCOLL_MIN: result = lesser_##T##_of(l, r); break;                                                        \
        default: result = l != l || r != r ? lesser_##T##_of(l, r) : -lesser_##T##_of(-l, -r);                         \
        }                                                                                                              \
        return result;                                                                                                 \
    }                                                                                                                  \
    static void complex_##T(int op, T to[2], const T l[2], const T r[2])                                               \
    {                                                                                                                  \
        if (op == NBCOLL_SUM) {                                                                                        \
            to[0] = real_##T(op, l[0], r[0]);                                                                          \
            to[1] = real_##T(op, l[1], r[1]);                                                                          \
        } else {                                                                                                       \
            to[0] = real_##T(NBCOLL_SUM, real_##T(op, l[0], r[0]), -real_##T(op, l[1], r[1]));                         \
            to[1] = real_##T(NBCOLL_SUM, real_##T(op, l[0], r[1]), real_##T(op, l[1], r[0]));                          \
        }                                                                                                              \
    }
REAL(float)
REAL(double)
REAL(long_double)

static uint64_t integer(int op, int is_signed, uint64_t l, uint64_t r)
{
    int is_less = is_signed ? (int64_t)l < (int64_t)r : l < r;
    switch (op) {
    case NBCOLL_SUM: return l + r;
    case NBCOLL_PROD: return l * r;
    case NBCOLL_MIN: return is_less ? l : r;
    case NBCOLL_MAX: return is_less ? r : l;
    case NBCOLL_BAND: return l & r;
    case NBCOLL_BOR: return l | r;
    case NBCOLL_BXOR: return l ^ r;
    case NBCOLL_LAND: return l && r;
    case NBCOLL_LOR: return l || r;
    default: return !l != !r;
    }
}

/* Is the left pair the result? */
static int takes_left(int op, long double l, int l_index, long double r, int r_index)
{
    if (isnan(l) != isnan(r))
        return isnan(r);
    if (isnan(l) || l == r)
        return l_index <= r_index;
    return op == NBCOLL_MINLOC ? l < r : l > r;
}

/* ---- combining ------------------------------------------------------------------------------------------------- */

#define COMBINE_INTEGER(ctype)                                                                                         \
    do {                                                                                                               \
        ctype l, r;                                                                                                    \
        memcpy(&l, left, sizeof l);                                                                                    \
        memcpy(&r, right, sizeof r);                                                                                   \
        l = (ctype)integer(op, types[type].kind == SIGNED, (uint64_t)l, (uint64_t)r);                                  \
        memcpy(result, &l, sizeof l);                                                                                  \
    } while (0)
#define COMBINE_REAL(ctype)                                                                                            \
    do {                                                                                                               \
        ctype l, r;                                                                                                    \
        memcpy(&l, left, sizeof l);                                                                                    \
        memcpy(&r, right, sizeof r);                                                                                   \
        l = real_##ctype(op, l, r);                                                                                    \
        memcpy(result, &l, sizeof l);                                                                                  \
    } while (0)
#define COMBINE_COMPLEX(ctype)                                                                                         \
    do {                                                                                                               \
        ctype l[2], r[2], both[2];                                                                                     \
        memcpy(l, left, sizeof l);                                                                                     \
        memcpy(r, right, sizeof r);                                                                                    \
        complex_##ctype(op, both, l, r);                                                                               \
        memcpy(result, both, sizeof both);                                                                             \
    } while (0)
#define COMBINE_PAIR(ctype)                                                                                            \
    do {                                                                                                               \
        ctype l, r;                                                                                                    \
        memcpy(&l, left, sizeof l);                                                                                    \
        memcpy(&r, right, sizeof r);                                                                                   \
        memmove(result, takes_left(op, l.value, l.index, r.value, r.index) ? left : right, sizeof l);                  \
    } while (0)

static void combine_narrow(int type, int op, void *result, const void *left, const void *right)
{
    uint16_t l, r;
    memcpy(&l, left, sizeof l);
    memcpy(&r, right, sizeof r);
    l = element_narrow(type, real_float(op, narrow_value(type, l), narrow_value(type, r)));
    memcpy(result, &l, sizeof l);
}

static void combine_bytes(int type, int op, void *result, const void *left, const void *right)
{
    const unsigned char *l = left, *r = right;
    for (size_t i = 0; i < element_travels(type); i++)
        ((unsigned char *)result)[i] = op == ELEMENT_COMMUTATIVE ? commutative_byte(l[i], r[i])
                                       : op == ELEMENT_ORDERED   ? ordered_byte(l[i], r[i])
                                                                 : rounding_byte(l[i], r[i]);
}

void element_combine(int type, int op, void *result, const void *left, const void *right)
{
    if (op >= NBCOLL_OP_COUNT) {
        combine_bytes(type, op, result, left, right);
        return;
    }
    switch (type) {
    case NBCOLL_BYTE:
    case NBCOLL_BOOL:
    case NBCOLL_UINT8: COMBINE_INTEGER(uint8_t); break;
    case NBCOLL_INT8: COMBINE_INTEGER(int8_t); break;
    case NBCOLL_INT16: COMBINE_INTEGER(int16_t); break;
    case NBCOLL_UINT16: COMBINE_INTEGER(uint16_t); break;
    case NBCOLL_INT32: COMBINE_INTEGER(int32_t); break;
    case NBCOLL_UINT32: COMBINE_INTEGER(uint32_t); break;
    case NBCOLL_INT64: COMBINE_INTEGER(int64_t); break;
    case NBCOLL_UINT64: COMBINE_INTEGER(uint64_t); break;
    case NBCOLL_FLOAT: COMBINE_REAL(float); break;
    case NBCOLL_DOUBLE: COMBINE_REAL(double); break;
    case NBCOLL_LONG_DOUBLE: COMBINE_REAL(long_double); break;
    case NBCOLL_FLOAT_COMPLEX: COMBINE_COMPLEX(float); break;
    case NBCOLL_DOUBLE_COMPLEX: COMBINE_COMPLEX(double); break;
    case NBCOLL_LONG_DOUBLE_COMPLEX: COMBINE_COMPLEX(long_double); break;
    case NBCOLL_FLOAT_INT: COMBINE_PAIR(nbcoll_float_int); break;
    case NBCOLL_DOUBLE_INT: COMBINE_PAIR(nbcoll_double_int); break;
    case NBCOLL_LONG_INT: COMBINE_PAIR(nbcoll_long_int); break;
    case NBCOLL_INT_INT: COMBINE_PAIR(nbcoll_int_int); break;
    case NBCOLL_SHORT_INT: COMBINE_PAIR(nbcoll_short_int); break;
    case NBCOLL_LONG_DOUBLE_INT: COMBINE_PAIR(nbcoll_long_double_int); break;
    case NBCOLL_DOUBLE_INT64: COMBINE_PAIR(nbcoll_double_int64); break;
    case NBCOLL_INT64_INT64: COMBINE_PAIR(nbcoll_int64_int64); break;
    default: combine_narrow(type, op, result, left, right);
    }
}
