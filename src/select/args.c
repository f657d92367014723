/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of an operation: checked and completed for one rank, and their fingerprint. What distinguishes the
 * operations is one table. */
#include "nbcoll/inline/reduce.h"
#include "nbcoll/inline/select.h"

/* Where `in place` means something. */
typedef enum args_place { ARGS_NOWHERE, ARGS_AT_ROOT, ARGS_EVERYWHERE } args_place;

static const struct args_kind {
    const char *name;
    int has_root;
    int reduces;
    args_place in_place;
} args_kinds[] = {
    [NBCOLL_OPERATION_BARRIER] = {"barrier", 0, 0, ARGS_NOWHERE},
    [NBCOLL_OPERATION_BCAST] = {"bcast", 1, 0, ARGS_NOWHERE},
    [NBCOLL_OPERATION_SCATTER] = {"scatter", 1, 0, ARGS_AT_ROOT},
    [NBCOLL_OPERATION_GATHER] = {"gather", 1, 0, ARGS_AT_ROOT},
    [NBCOLL_OPERATION_ALLGATHER] = {"allgather", 0, 0, ARGS_EVERYWHERE},
    [NBCOLL_OPERATION_REDUCE] = {"reduce", 1, 1, ARGS_AT_ROOT},
    [NBCOLL_OPERATION_ALLREDUCE] = {"allreduce", 0, 1, ARGS_EVERYWHERE},
};
_Static_assert(sizeof args_kinds / sizeof *args_kinds == NBCOLL_OPERATION_COUNT, "each operation has its entry");

const char *nbcoll_operation_name(nbcoll_operation operation)
{
    return (unsigned)operation < NBCOLL_OPERATION_COUNT ? args_kinds[operation].name : "?";
}

/* The checks, and the bytes. */
static nbcoll_status args_check(const nbcoll_args *a, int rank, int ranks, size_t *bytes)
{
    size_t element, all;

    if (a->size < offsetof(nbcoll_args, segment))
        return NBCOLL_ERR_CONFIG;
    if (rank < 0 || rank >= ranks)
        return NBCOLL_ERR_RANK;
    if ((unsigned)a->operation >= NBCOLL_OPERATION_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    const struct args_kind *kind = &args_kinds[a->operation];
    if (a->root < 0 || a->root >= (kind->has_root ? ranks : 1))
        return NBCOLL_ERR_ROOT;
    *bytes = 0;
    if (a->operation == NBCOLL_OPERATION_BARRIER)
        return NBCOLL_OK;
    element = nbcoll_type_size(a->reduction.type);
    if (!element)
        return NBCOLL_ERR_TYPE;
    if (kind->reduces && !nbcolli_op_valid(a->reduction.type, a->reduction.op))
        return NBCOLL_ERR_OP;
    if (__builtin_mul_overflow(a->count, element, bytes) || __builtin_mul_overflow(*bytes, (size_t)ranks, &all))
        return NBCOLL_ERR_COUNT;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_args_complete(nbcoll_args *a, int rank, int ranks)
{
    size_t bytes;

    if (!a)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = args_check(a, rank, ranks, &bytes);
    if (status != NBCOLL_OK)
        return status;
    args_place place = args_kinds[a->operation].in_place;
    a->in_place = a->in_place && (place == ARGS_EVERYWHERE || (place == ARGS_AT_ROOT && rank == a->root));
    if (a->operation == NBCOLL_OPERATION_BARRIER)
        a->count = 0;
    a->bytes = bytes;
    a->send = (nbcoll_addr){NBCOLL_BUFFER_SEND, 0};
    a->recv = (nbcoll_addr){NBCOLL_BUFFER_RECV, 0};
    if (a->in_place && a->operation == NBCOLL_OPERATION_SCATTER)
        a->recv = nbcoll_at(a->send, (size_t)rank * bytes);
    else if (a->in_place)
        a->send = nbcoll_at(a->recv, args_kinds[a->operation].reduces ? 0 : (size_t)rank * bytes);
    return NBCOLL_OK;
}

/* Different values never make the same hash of the same one. */
static uint64_t args_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint32_t nbcolli_fingerprint(const nbcoll_args *a)
{
    uint64_t hash = args_hash(1, (uint64_t)a->operation << 32 | (uint32_t)a->root);
    if (args_kinds[a->operation].reduces)
        hash = args_hash(hash, (uint64_t)a->reduction.op << 32 | nbcoll_type_size(a->reduction.type));
    hash = args_hash(hash, a->bytes);
    uint32_t fingerprint = (uint32_t)args_hash(hash, 0);
    return fingerprint ? fingerprint : 1;
}
