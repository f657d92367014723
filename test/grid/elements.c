/* SPDX-License-Identifier: BSD-3-Clause
 * See elements.h. */
#include <string.h>

#include "elements.h"
#include "plain.h"

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
    return op >= NBCOLL_OP_COUNT || (type < NBCOLL_TYPE_COUNT && plain_applies((nbcoll_op)op, (nbcoll_type)type));
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

/* ---- combining ------------------------------------------------------------------------------------------------- */

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
    if (op >= NBCOLL_OP_COUNT)
        combine_bytes(type, op, result, left, right);
    else
        plain_combine((nbcoll_reduction){(nbcoll_type)type, (nbcoll_op)op}, result, left, right);
}
