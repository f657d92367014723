/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided elements. Their blocks are numbered through all elements of a buffer. A number says where a block lies, so
 * that packing can begin and end anywhere.
 */
#include "nbcoll/strided.h"

#include <string.h>

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
