/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations whose states are not the elements: what is packed before, and unpacked after, the library sums. A complex
 * number is two units.
 */
#include "nbcoll/sums.h"

#include <string.h>

#include "bins.h"

/* ---- narrow numbers ---------------------------------------------------------------------------------------------- */

static uint32_t nbcolli_sums_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static float nbcolli_sums_float(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static float nbcolli_sums_of_bfloat16(uint16_t x)
{
    return nbcolli_sums_float((uint32_t)x << 16);
}

static uint16_t nbcolli_sums_to_bfloat16(float f)
{
    uint32_t x = nbcolli_sums_bits(f);
    return (uint16_t)((f != f ? x | 1u << 22 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}

static float nbcolli_sums_of_half(uint16_t x)
{
    uint32_t m = (uint32_t)(x & 0x7fff) << 13, sign = (uint32_t)(x & 0x8000) << 16;
    if (m >= 31u << 23) /* infinities and NaN */
        return nbcolli_sums_float(sign | (m + (224u << 23)));
    if (m < 1u << 23) /* below 2^-14 */
        return (sign ? -0x1p-24f : 0x1p-24f) * (float)(x & 0x7fff);
    return nbcolli_sums_float(sign | (m + (112u << 23)));
}

static uint16_t nbcolli_sums_to_half(float f)
{
    uint32_t x = nbcolli_sums_bits(f), m = x & 0x7fffffff, sign = x >> 16 & 0x8000;
    if (m > 255u << 23)
        return (uint16_t)(sign | 0x7e00 | (m >> 13 & 0x1ff));
    if (m >= 143u << 23)
        return (uint16_t)(sign | 0x7c00);
    if (m >= 113u << 23) /* what rounding carries into the exponent is right */
        return (uint16_t)(sign | (m - (112u << 23) + 0xfff + (m >> 13 & 1)) >> 13);
    if (m < 102u << 23) /* less than half of the least one */
        return (uint16_t)sign;
    uint32_t drop = 126 - (m >> 23), all = (m & 0x7fffff) | 1u << 23, rest = all & ((1u << drop) - 1);
    all >>= drop;
    return (uint16_t)(sign | (all + (rest > 1u << (drop - 1) || (rest == 1u << (drop - 1) && all & 1))));
}

/* ---- packing ----------------------------------------------------------------------------------------------------- *
 * Numbers of type E become numbers of type S, times a factor; and back, divided. `user` is the factor's address, or the
 * divisor. */

#define NBCOLLI_SUMS_AS_IT_IS(x) (x)
#define NBCOLLI_SUMS_PACK(name, E, S, WIDEN, FACTOR)                                                                   \
    static nbcoll_status nbcolli_sums_##name(void *user, const void *elements, void *units, size_t first, size_t n)    \
    {                                                                                                                  \
        const S factor = (S)(FACTOR);                                                                                  \
        (void)user;                                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                               \
            E x;                                                                                                       \
            memcpy(&x, (const char *)elements + (first + i) * sizeof x, sizeof x);                                     \
            S y = (S)WIDEN(x) * factor;                                                                                \
            memcpy((char *)units + i * sizeof y, &y, sizeof y);                                                        \
        }                                                                                                              \
        return NBCOLL_OK;                                                                                              \
    }
#define NBCOLLI_SUMS_UNPACK(name, E, S, NARROW, DIVISOR)                                                               \
    static nbcoll_status nbcolli_sums_##name(void *user, const void *units, void *elements, size_t first, size_t n)    \
    {                                                                                                                  \
        const S divisor = (S)(DIVISOR);                                                                                \
        (void)user;                                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                               \
            S y;                                                                                                       \
            memcpy(&y, (const char *)units + i * sizeof y, sizeof y);                                                  \
            E x = (E)NARROW(y / divisor);                                                                              \
            memcpy((char *)elements + (first + i) * sizeof x, &x, sizeof x);                                           \
        }                                                                                                              \
        return NBCOLL_OK;                                                                                              \
    }
#define NBCOLLI_SUMS_KIND(name, E, S, WIDEN, NARROW)                                                                   \
    NBCOLLI_SUMS_PACK(pack_##name, E, S, WIDEN, 1)                                                                     \
    NBCOLLI_SUMS_PACK(scale_##name, E, S, WIDEN, *(const double *)user)                                                \
    NBCOLLI_SUMS_UNPACK(unpack_##name, E, S, NARROW, 1)                                                                \
    NBCOLLI_SUMS_UNPACK(divide_##name, E, S, NARROW, (uintptr_t)user)

NBCOLLI_SUMS_KIND(float, float, float, NBCOLLI_SUMS_AS_IT_IS, NBCOLLI_SUMS_AS_IT_IS)
NBCOLLI_SUMS_KIND(double, double, double, NBCOLLI_SUMS_AS_IT_IS, NBCOLLI_SUMS_AS_IT_IS)
NBCOLLI_SUMS_KIND(long_double, long double, long double, NBCOLLI_SUMS_AS_IT_IS, NBCOLLI_SUMS_AS_IT_IS)
NBCOLLI_SUMS_KIND(half, uint16_t, float, nbcolli_sums_of_half, nbcolli_sums_to_half)
NBCOLLI_SUMS_KIND(bfloat16, uint16_t, float, nbcolli_sums_of_bfloat16, nbcolli_sums_to_bfloat16)
NBCOLLI_SUMS_PACK(pack_wide, float, double, NBCOLLI_SUMS_AS_IT_IS, 1)
NBCOLLI_SUMS_UNPACK(unpack_wide, float, double, NBCOLLI_SUMS_AS_IT_IS, 1)

typedef nbcoll_status nbcolli_sums_move(void *user, const void *from, void *to, size_t first, size_t count);

typedef struct nbcolli_sums_kind {
    nbcoll_type type;
    size_t reals; /* numbers of an element, each a unit of a state */
    nbcoll_type of;
    nbcolli_sums_move *pack, *scale, *unpack, *divide;
} nbcolli_sums_kind;

#define NBCOLLI_SUMS_ROW(TYPE, reals, OF, name)                                                                        \
    {NBCOLL_##TYPE,              reals, NBCOLL_##OF, nbcolli_sums_pack_##name, nbcolli_sums_scale_##name,              \
     nbcolli_sums_unpack_##name, nbcolli_sums_divide_##name}
static const nbcolli_sums_kind nbcolli_sums_kinds[] = {
    NBCOLLI_SUMS_ROW(FLOAT, 1, FLOAT, float),
    NBCOLLI_SUMS_ROW(DOUBLE, 1, DOUBLE, double),
    NBCOLLI_SUMS_ROW(LONG_DOUBLE, 1, LONG_DOUBLE, long_double),
    NBCOLLI_SUMS_ROW(HALF, 1, FLOAT, half),
    NBCOLLI_SUMS_ROW(BFLOAT16, 1, FLOAT, bfloat16),
    NBCOLLI_SUMS_ROW(FLOAT_COMPLEX, 2, FLOAT, float),
    NBCOLLI_SUMS_ROW(DOUBLE_COMPLEX, 2, DOUBLE, double),
    NBCOLLI_SUMS_ROW(LONG_DOUBLE_COMPLEX, 2, LONG_DOUBLE, long_double),
};
static const nbcolli_sums_kind nbcolli_sums_wides[] = {
    {NBCOLL_FLOAT, 1, NBCOLL_DOUBLE, nbcolli_sums_pack_wide, NULL, nbcolli_sums_unpack_wide, NULL},
    {NBCOLL_FLOAT_COMPLEX, 2, NBCOLL_DOUBLE, nbcolli_sums_pack_wide, NULL, nbcolli_sums_unpack_wide, NULL},
    NBCOLLI_SUMS_ROW(HALF, 1, FLOAT, half),
    NBCOLLI_SUMS_ROW(BFLOAT16, 1, FLOAT, bfloat16),
};

/* ---- operations -------------------------------------------------------------------------------------------------- */

#define NBCOLLI_SUMS_LENGTH(array) (sizeof(array) / sizeof *(array))

/* The kind that has the type becomes a type of states, which are summed; null: none. */
static const nbcolli_sums_kind *nbcolli_sums_states(const nbcolli_sums_kind *kind, size_t kinds, nbcoll_type type,
                                                    nbcoll_host_type *states, nbcoll_op *by)
{
    while (kinds && kind->type != type)
        kind++, kinds--;
    if (!kinds)
        return NULL;
    states->of = kind->of;
    states->packed = kind->reals * nbcoll_type_size(kind->of);
    states->pack_units = kind->pack;
    states->unpack_units = kind->unpack;
    *by = NBCOLL_SUM;
    return kind;
}

static nbcoll_status nbcolli_sums_average(void *user, nbcoll_type type, int operands, nbcoll_host_type *states,
                                          nbcoll_op *by)
{
    const nbcolli_sums_kind *kind =
        nbcolli_sums_states(nbcolli_sums_kinds, NBCOLLI_SUMS_LENGTH(nbcolli_sums_kinds), type, states, by);
    (void)user;
    if (!kind)
        return NBCOLL_ERR_OP;
    states->user = (void *)(uintptr_t)operands;
    states->unpack_units = kind->divide;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_sums_scaled(void *user, nbcoll_type type, int operands, nbcoll_host_type *states,
                                         nbcoll_op *by)
{
    const nbcolli_sums_kind *kind =
        nbcolli_sums_states(nbcolli_sums_kinds, NBCOLLI_SUMS_LENGTH(nbcolli_sums_kinds), type, states, by);
    (void)operands;
    if (!kind || !user)
        return kind ? NBCOLL_ERR_NULL : NBCOLL_ERR_OP;
    states->user = user;
    states->pack_units = kind->scale;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_sums_wide(void *user, nbcoll_type type, int operands, nbcoll_host_type *states,
                                       nbcoll_op *by)
{
    (void)user, (void)operands;
    return nbcolli_sums_states(nbcolli_sums_wides, NBCOLLI_SUMS_LENGTH(nbcolli_sums_wides), type, states, by)
               ? NBCOLL_OK
               : NBCOLL_ERR_OP;
}

nbcoll_op nbcoll_average(void)
{
    static const nbcoll_host_op op = {.size = sizeof op, .commutative = 1, .resolve = nbcolli_sums_average};
    return nbcoll_op_of(&op);
}

nbcoll_host_op nbcoll_sum_scaled(const double *factor)
{
    return (nbcoll_host_op){.size = sizeof(nbcoll_host_op), .user = (void *)(uintptr_t)factor, .commutative = 1,
                            .resolve = nbcolli_sums_scaled};
}

nbcoll_op nbcoll_sum_wide(void)
{
    static const nbcoll_host_op op = {.size = sizeof op, .commutative = 1, .resolve = nbcolli_sums_wide};
    return nbcoll_op_of(&op);
}

/* ---- reproducible sums ------------------------------------------------------------------------------------------- */

#define NBCOLLI_SUMS_BINS(name, E, WIDEN, NARROW, bits, lowest)                                                        \
    static nbcoll_status nbcolli_sums_into_##name(void *reals, const void *elements, void *packed, size_t count)       \
    {                                                                                                                  \
        for (size_t i = 0; i < count * (uintptr_t)reals; i++) {                                                        \
            nbcoll_bins bins = {0};                                                                                    \
            E x;                                                                                                       \
            memcpy(&x, (const char *)elements + i * sizeof x, sizeof x);                                               \
            nbcolli_bins_add(&bins, WIDEN(x));                                                                         \
            memcpy((char *)packed + i * sizeof bins, &bins, sizeof bins);                                              \
        }                                                                                                              \
        return NBCOLL_OK;                                                                                              \
    }                                                                                                                  \
    static nbcoll_status nbcolli_sums_out_of_##name(void *reals, const void *packed, void *elements, size_t count)     \
    {                                                                                                                  \
        for (size_t i = 0; i < count * (uintptr_t)reals; i++) {                                                        \
            nbcoll_bins bins;                                                                                          \
            memcpy(&bins, (const char *)packed + i * sizeof bins, sizeof bins);                                        \
            E x = (E)NARROW(nbcolli_bins_round(&bins, bits, lowest));                                                  \
            memcpy((char *)elements + i * sizeof x, &x, sizeof x);                                                     \
        }                                                                                                              \
        return NBCOLL_OK;                                                                                              \
    }
#define NBCOLLI_SUMS_HALF(x) nbcolli_sums_to_half((float)(x))         /* rounded already */
#define NBCOLLI_SUMS_BFLOAT16(x) nbcolli_sums_to_bfloat16((float)(x)) /* likewise */
NBCOLLI_SUMS_BINS(float, float, NBCOLLI_SUMS_AS_IT_IS, NBCOLLI_SUMS_AS_IT_IS, 24, -149)
NBCOLLI_SUMS_BINS(double, double, NBCOLLI_SUMS_AS_IT_IS, NBCOLLI_SUMS_AS_IT_IS, 53, -1074)
NBCOLLI_SUMS_BINS(half, uint16_t, nbcolli_sums_of_half, NBCOLLI_SUMS_HALF, 11, -24)
NBCOLLI_SUMS_BINS(bfloat16, uint16_t, nbcolli_sums_of_bfloat16, NBCOLLI_SUMS_BFLOAT16, 8, -133)

static nbcoll_status nbcolli_sums_reproducible(void *user, nbcoll_type type, int operands, nbcoll_host_type *states,
                                               nbcoll_op *by)
{
    size_t reals = type == NBCOLL_FLOAT_COMPLEX || type == NBCOLL_DOUBLE_COMPLEX ? 2 : 1;

    (void)user, (void)operands;
    *by = nbcoll_op_of(&nbcolli_bins_sums[reals - 1]);
    if (type == nbcoll_bins_type())
        return NBCOLL_OK;
    states->user = (void *)reals;
    states->packed = reals * sizeof(nbcoll_bins);
    switch (type) {
    case NBCOLL_FLOAT:
    case NBCOLL_FLOAT_COMPLEX:
        states->pack = nbcolli_sums_into_float, states->unpack = nbcolli_sums_out_of_float;
        return NBCOLL_OK;
    case NBCOLL_DOUBLE:
    case NBCOLL_DOUBLE_COMPLEX:
        states->pack = nbcolli_sums_into_double, states->unpack = nbcolli_sums_out_of_double;
        return NBCOLL_OK;
    case NBCOLL_HALF:
        states->pack = nbcolli_sums_into_half, states->unpack = nbcolli_sums_out_of_half;
        return NBCOLL_OK;
    case NBCOLL_BFLOAT16:
        states->pack = nbcolli_sums_into_bfloat16, states->unpack = nbcolli_sums_out_of_bfloat16;
        return NBCOLL_OK;
    default: return NBCOLL_ERR_OP;
    }
}

nbcoll_op nbcoll_sum_reproducible(void)
{
    static const nbcoll_host_op op = {.size = sizeof op, .commutative = 1, .resolve = nbcolli_sums_reproducible};
    return nbcoll_op_of(&op);
}
