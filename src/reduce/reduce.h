/* SPDX-License-Identifier: BSD-3-Clause
 * Types, operations and elementwise reductions, as the library sees them. Made by src/reduce. */
#ifndef NBCOLL_INLINE_REDUCE_H
#define NBCOLL_INLINE_REDUCE_H

#include "units.h"

/* The host's descriptor of a known type or operation; null for a predefined or an unknown one. */
static inline const nbcoll_host_type *nbcolli_host_type(nbcoll_type type)
{
    return type < NBCOLLI_FIRST_ADDRESS ? NULL : nbcolli_host_type_at(type);
}

static inline const nbcoll_host_op *nbcolli_host_op(nbcoll_op op)
{
    const nbcoll_host_op *o = (const nbcoll_host_op *)op;
    if (op < NBCOLLI_FIRST_ADDRESS || op % _Alignof(nbcoll_host_op))
        return NULL;
    int resolves = o->size >= offsetof(nbcoll_host_op, resolve) + sizeof o->resolve && o->resolve;
    int is_whole = o->size >= offsetof(nbcoll_host_op, commutative) + sizeof o->commutative;
    return is_whole && (o->combine || resolves) ? o : NULL;
}

/* Is the type known? One of the host's may have no bytes. */
static inline int nbcolli_is_type(nbcoll_type type)
{
    return type < NBCOLL_TYPE_COUNT || nbcolli_host_type(type);
}

/* Counts and displacements may be 32-bit ones (nbcoll_ints): then the address is odd. */
static inline int nbcolli_are_ints(const size_t *numbers)
{
    return (uintptr_t)numbers & 1;
}

static inline size_t nbcolli_number_at(const size_t *numbers, size_t i)
{
    return nbcolli_are_ints(numbers) ? (size_t)((const int *)((uintptr_t)numbers - 1))[i] : numbers[i];
}

static inline size_t nbcolli_number_or(const size_t *numbers, size_t i, size_t other)
{
    return numbers ? nbcolli_number_at(numbers, i) : other;
}

/* The type of one of several blocks. Of one without elements it is not read. */
static inline nbcoll_type nbcolli_type_at(const nbcoll_type *types, const size_t *counts, size_t i)
{
    return nbcolli_number_at(counts, i) ? types[i] : (nbcoll_type)NBCOLL_BYTE;
}

/* Must elements of the type be packed before they travel? */
static inline int nbcolli_packs(nbcoll_type type)
{
    const nbcoll_host_type *t = nbcolli_host_type(type);
    return t && t->packed;
}

/* May operands change places? 0 for an unknown operation. */
static inline int nbcolli_commutes(nbcoll_op op)
{
    const nbcoll_host_op *o = nbcolli_host_op(op);
    return o ? o->commutative != 0 : op < NBCOLL_OP_COUNT;
}

/* The operation as other processes can know it: of the host's, only whether it commutes. */
static inline uint32_t nbcolli_op_number(nbcoll_op op)
{
    return op < NBCOLL_OP_COUNT ? (uint32_t)op : NBCOLL_OP_COUNT + (uint32_t)nbcolli_commutes(op);
}

/* Can elements of the type be combined by the operation, as they travel? */
int nbcolli_combines(nbcoll_op op, nbcoll_type type);

/* An operation that resolves gives way, in the call of which *how is. */
nbcoll_status nbcolli_resolve_op(nbcoll_reduction *how, int operands, nbcoll_host_type *states);

/* A kernel computes a predefined operation, with bytes in place of elements; null where that does not apply to the
 * type. Those of all tables compute the same bits. */
typedef void nbcolli_reduce_kernel(char *result, const char *left, const char *right, size_t bytes);
struct nbcoll_reducers {
    nbcolli_reduce_kernel *kernel[NBCOLL_TYPE_COUNT][NBCOLL_OP_COUNT];
};

/* The table for every processor of the architecture. The component wide has others (nbcoll/wide.h). A schedule names
 * it only if it has steps that combine: a program that reduces nothing links no kernels. */
extern const nbcoll_reducers *const nbcolli_reducers;

/* result[i] = left[i] op right[i], for an operation that applies to the type, of elements as they travel. `result` may
 * be `left` or `right` exactly, else the three do not overlap. Any alignment. Predefined operations return NBCOLL_OK,
 * and compute what nbcoll.h says: an element depends on its two operands only, not on count, alignment or the
 * table `by`. Others return what the host's function does. */
nbcoll_status nbcolli_reduce(const nbcoll_reducers *by, nbcoll_reduction how, void *result, const void *left,
                             const void *right, size_t count);

#endif
