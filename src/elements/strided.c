/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided elements. Their blocks are numbered through all elements of a buffer. A number says where a block lies, so
 * that packing can begin and end anywhere.
 */
#include "nbcoll/strided.h"

#include <string.h>

#include "bins.h"

/* Where blocks lie, one after the other: bytes from the first element on. */
typedef struct nbcolli_strided_walk {
    size_t i, k; /* steps of the inner and the outer loop */
    size_t element, at;
} nbcolli_strided_walk;

static nbcolli_strided_walk nbcolli_strided_at(const nbcoll_strided *s, size_t block)
{
    nbcolli_strided_walk w = {.i = block % s->inner.count, .k = block / s->inner.count % s->outer.count,
                              .element = block / s->inner.count / s->outer.count};
    w.at = w.element * s->type.extent + w.k * s->outer.stride + w.i * s->inner.stride;
    return w;
}

static inline void nbcolli_strided_next(const nbcoll_strided *s, nbcolli_strided_walk *w)
{
    w->at += s->inner.stride;
    if (++w->i < s->inner.count)
        return;
    w->i = 0;
    if (++w->k == s->outer.count) {
        w->k = 0;
        w->element++;
    }
    w->at = w->element * s->type.extent + w->k * s->outer.stride;
}

static inline void nbcolli_strided_copy(char *loose, char *tight, size_t bytes, int unpacks)
{
    memcpy(unpacks ? loose : tight, unpacks ? tight : loose, bytes);
}

/* Whole blocks of a length that the compiler knows where it is inline. */
static inline __attribute__((always_inline)) void nbcolli_strided_blocks(const nbcoll_strided *s, char *loose,
                                                                         char *tight, size_t first, size_t count,
                                                                         size_t block, int unpacks)
{
    nbcolli_strided_walk w = nbcolli_strided_at(s, first);
    for (size_t n = 0; n < count; n++, tight += block) {
        nbcolli_strided_copy(loose + w.at, tight, block, unpacks);
        nbcolli_strided_next(s, &w);
    }
}

/* The bytes from `first` on of what is packed. */
static inline __attribute__((always_inline)) void nbcolli_strided_move(const nbcoll_strided *s, char *loose,
                                                                       char *tight, size_t first, size_t bytes,
                                                                       int unpacks)
{
    size_t number = first / s->block, head = first % s->block, block = s->block;

    if (head) { /* the rest of a block */
        size_t n = block - head < bytes ? block - head : bytes;
        nbcolli_strided_copy(loose + nbcolli_strided_at(s, number++).at + head, tight, n, unpacks);
        tight += n;
        bytes -= n;
    }
    size_t whole = bytes / block;
    switch (block) {
    case 4: nbcolli_strided_blocks(s, loose, tight, number, whole, 4, unpacks); break;
    case 8: nbcolli_strided_blocks(s, loose, tight, number, whole, 8, unpacks); break;
    case 16: nbcolli_strided_blocks(s, loose, tight, number, whole, 16, unpacks); break;
    default: nbcolli_strided_blocks(s, loose, tight, number, whole, block, unpacks);
    }
    if (bytes % block)
        nbcolli_strided_copy(loose + nbcolli_strided_at(s, number + whole).at, tight + whole * block, bytes % block,
                             unpacks);
}

static nbcoll_status nbcolli_strided_pack(void *user, const void *elements, void *units, size_t first, size_t count)
{
    const nbcoll_strided *s = user;
    size_t unit = nbcoll_type_size(s->type.of);
    nbcolli_strided_move(s, (char *)(uintptr_t)elements, units, first * unit, count * unit, 0);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_strided_unpack(void *user, const void *units, void *elements, size_t first, size_t count)
{
    const nbcoll_strided *s = user;
    size_t unit = nbcoll_type_size(s->type.of);
    nbcolli_strided_move(s, elements, (char *)(uintptr_t)units, first * unit, count * unit, 1);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_strided_make(nbcoll_strided *out, nbcoll_type of, size_t block, nbcoll_steps inner,
                                  nbcoll_steps outer, size_t extent)
{
    size_t unit = of < NBCOLL_TYPE_COUNT ? nbcoll_type_size(of) : 0, packed, far, farther, end;

    if (!out)
        return NBCOLL_ERR_NULL;
    if (!unit)
        return NBCOLL_ERR_TYPE;
    if (__builtin_mul_overflow(block, unit, &block) || __builtin_mul_overflow(extent, unit, &extent) ||
        __builtin_mul_overflow(inner.stride, unit, &inner.stride) ||
        __builtin_mul_overflow(outer.stride, unit, &outer.stride) ||
        __builtin_mul_overflow(block, inner.count, &packed) || __builtin_mul_overflow(packed, outer.count, &packed) ||
        __builtin_mul_overflow(inner.count, inner.stride, &far) ||
        __builtin_mul_overflow(outer.count, outer.stride, &farther) || __builtin_add_overflow(far, farther, &end) ||
        __builtin_add_overflow(end, block, &end))
        return NBCOLL_ERR_COUNT;
    *out = (nbcoll_strided){.type = {.size = sizeof out->type, .extent = packed ? extent : 0, .packed = packed,
                                     .user = out, .of = of, .pack_units = nbcolli_strided_pack,
                                     .unpack_units = nbcolli_strided_unpack},
                            .block = block, .inner = inner, .outer = outer};
    return NBCOLL_OK;
}

/* ---- sums of sums.h ----------------------------------------------------------------------------------------------- *
 * The numbers are gathered piece by piece, and each piece becomes states, as if it were a vector of its own; and back.
 * An item is what one state is made of: a real, or, where the states are bins, a number. */

static nbcoll_status nbcolli_strided_sum_move(const nbcoll_strided_sum *m, char *loose, char *states, size_t first,
                                              size_t items, int unpacks)
{
    const nbcoll_host_type *t = &m->inner;
    _Alignas(64) char numbers[1024];
    nbcoll_status s = NBCOLL_OK;

    for (size_t n; s == NBCOLL_OK && items; first += n, items -= n, states += n * m->state) {
        n = items < sizeof numbers / m->item ? items : sizeof numbers / m->item;
        if (unpacks) {
            s = t->unpack_units ? t->unpack_units(t->user, states, numbers, 0, n)
                                : t->unpack(t->user, states, numbers, n);
            if (s == NBCOLL_OK)
                nbcolli_strided_move(m->strided, loose, numbers, first * m->item, n * m->item, 1);
        } else {
            nbcolli_strided_move(m->strided, loose, numbers, first * m->item, n * m->item, 0);
            s = t->pack_units ? t->pack_units(t->user, numbers, states, 0, n) : t->pack(t->user, numbers, states, n);
        }
    }
    return s;
}

static nbcoll_status nbcolli_strided_sum_pack(void *user, const void *elements, void *units, size_t first, size_t count)
{
    return nbcolli_strided_sum_move(user, (char *)(uintptr_t)elements, units, first, count, 0);
}

static nbcoll_status nbcolli_strided_sum_unpack(void *user, const void *units, void *elements, size_t first,
                                                size_t count)
{
    return nbcolli_strided_sum_move(user, elements, (char *)(uintptr_t)units, first, count, 1);
}

/* Of whole elements. */
static nbcoll_status nbcolli_strided_sum_pack_all(void *user, const void *elements, void *packed, size_t count)
{
    const nbcoll_strided_sum *m = user;
    return nbcolli_strided_sum_pack(user, elements, packed, 0, count * (m->strided->type.packed / m->item));
}

static nbcoll_status nbcolli_strided_sum_unpack_all(void *user, const void *packed, void *elements, size_t count)
{
    const nbcoll_strided_sum *m = user;
    return nbcolli_strided_sum_unpack(user, packed, elements, 0, count * (m->strided->type.packed / m->item));
}

static nbcoll_status nbcolli_strided_sum_resolve(void *user, nbcoll_type type, int operands, nbcoll_host_type *states,
                                                 nbcoll_op *by)
{
    nbcoll_strided_sum *m = user;
    const nbcoll_host_op *sum = (const nbcoll_host_op *)m->sum;
    size_t number = nbcoll_type_size(m->strided->type.of), numbers = m->strided->type.packed / number;

    if (type != nbcoll_type_of(&m->strided->type))
        return NBCOLL_ERR_OP;
    m->inner = (nbcoll_host_type){.size = sizeof m->inner, .extent = number};
    nbcoll_status s = sum->resolve(sum->user, m->strided->type.of, operands, &m->inner, by);
    if (s != NBCOLL_OK)
        return s;
    states->user = m;
    states->of = m->inner.of;
    if (__builtin_mul_overflow(numbers, m->inner.packed, &states->packed))
        return NBCOLL_ERR_COUNT;
    if (m->inner.pack_units) {
        m->state = nbcoll_type_size(m->inner.of);
        m->item = number * m->state / m->inner.packed;
        states->pack_units = nbcolli_strided_sum_pack;
        states->unpack_units = nbcolli_strided_sum_unpack;
        return NBCOLL_OK;
    }
    if (*by != nbcoll_op_of(&nbcolli_bins_sums[0]) && *by != nbcoll_op_of(&nbcolli_bins_sums[1]))
        return NBCOLL_ERR_OP;
    m->state = m->inner.packed;
    m->item = number;
    m->by = *(const nbcoll_host_op *)*by;
    m->by.user = (void *)(numbers * (uintptr_t)m->by.user); /* bins of an element */
    *by = nbcoll_op_of(&m->by);
    states->pack = nbcolli_strided_sum_pack_all;
    states->unpack = nbcolli_strided_sum_unpack_all;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_strided_sum_make(nbcoll_strided_sum *out, const nbcoll_strided *strided, nbcoll_op sum)
{
    const nbcoll_host_op *host = sum < NBCOLL_OP_COUNT ? NULL : (const nbcoll_host_op *)sum;

    if (!out || !strided)
        return NBCOLL_ERR_NULL;
    if (!host || host->size < sizeof *host || host->combine || !host->resolve)
        return NBCOLL_ERR_OP;
    *out = (nbcoll_strided_sum){.op = {.size = sizeof out->op,
                                       .user = out,
                                       .commutative = host->commutative,
                                       .resolve = nbcolli_strided_sum_resolve},
                                .strided = strided,
                                .sum = sum};
    return NBCOLL_OK;
}
