/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of an operation: checked and completed for one rank, and their fingerprint. */
#include "arguments.h"

#include "../host/host.h"
#include "../reduce/packed.h"

int nbcolli_converges(nbcoll_operation operation)
{
    const nbcolli_kind *kind = nbcolli_kind_of(operation);
    return kind->reduces || (kind->has_root && kind->recv[0] == NBCOLLI_ALL);
}

const char *nbcoll_operation_name(nbcoll_operation operation)
{
    return (unsigned)operation < NBCOLL_OPERATION_COUNT ? nbcolli_args_kinds[operation].name : "?";
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static int nbcolli_args_bound(const nbcoll_args *a)
{
    return nbcolli_args_kinds[a->operation].blocks != NBCOLLI_EQUAL && !a->counts;
}

size_t nbcolli_block_count(const nbcoll_args *a, int i)
{
    return a->counts ? a->counts[i] : a->count;
}

size_t nbcolli_block_place(const nbcoll_args *a, int i)
{
    size_t place = 0;
    if (!a->counts)
        return (size_t)i * a->count;
    if (a->displs)
        return a->displs[i];
    for (int before = 0; before < i; before++)
        place += a->counts[before];
    return place;
}

static nbcoll_region nbcolli_args_block(const nbcoll_args *a, int i, nbcoll_addr vector)
{
    size_t element = a->types ? nbcolli_packed_size(nbcolli_type_at(a->types, a->counts, (size_t)i)) : a->element;
    return nbcoll_span(nbcoll_at(vector, nbcolli_block_place(a, i) * (a->types ? 1 : a->element)),
                       nbcolli_block_count(a, i) * element);
}

static nbcoll_region nbcolli_args_region(const nbcoll_args *a, int rank, int peer, int is_recv)
{
    nbcoll_addr vector = is_recv ? a->recv : a->send;
    switch (nbcolli_part_of(a, rank, is_recv)) {
    case NBCOLLI_ALL:
        return nbcolli_args_bound(a) ? nbcoll_span(nbcoll_at(vector, (size_t)peer), 0)
                                     : nbcolli_args_block(a, peer, vector);
    case NBCOLLI_ONE:
        return nbcolli_args_bound(a) ? nbcoll_span(vector, 0)
                                     : nbcoll_span(vector, nbcolli_block_count(a, rank) * a->element);
    default:
        return nbcoll_span(vector, 0);
    }
}

nbcoll_region nbcoll_send_block(const nbcoll_builder *b, const nbcoll_args *a, int peer)
{
    return nbcolli_args_region(a, b->rank, peer, 0);
}

nbcoll_region nbcoll_recv_block(const nbcoll_builder *b, const nbcoll_args *a, int peer)
{
    return nbcolli_args_region(a, b->rank, peer, 1);
}

/* ---- completing ------------------------------------------------------------------------------------------------ */

/* Drops what this rank does not use. */
static nbcoll_status nbcolli_args_arrays(nbcoll_args *a, const nbcolli_kind *kind, int rank)
{
    int has_vector = nbcolli_part_of(a, rank, 0) == NBCOLLI_ALL || nbcolli_part_of(a, rank, 1) == NBCOLLI_ALL;

    if (kind->blocks == NBCOLLI_EQUAL || (kind->blocks == NBCOLLI_OWN && (!a->in_place || a->packs)))
        a->counts = NULL;
    else if (!a->counts && kind->blocks != NBCOLLI_PROMISED)
        return NBCOLL_ERR_NULL;
    if (!a->counts || !has_vector || a->operation == NBCOLL_OPERATION_REDUCE_SCATTER)
        a->displs = NULL;
    if (!a->counts || a->operation != NBCOLL_OPERATION_ALLTOALLW)
        a->types = NULL;
    else if (!a->types || !a->displs)
        return NBCOLL_ERR_NULL;
    return NBCOLL_OK;
}

/* Sets `count` and `bytes` from `counts`. `loose`: bytes of one element in the caller's buffers. */
static nbcoll_status nbcolli_args_sum(nbcoll_args *a, int ranks, size_t loose)
{
    size_t widest = loose > a->element ? loose : a->element, count = 0, bytes = 0;

    for (int i = 0; i < ranks; i++) {
        nbcoll_type type = a->types ? nbcolli_type_at(a->types, a->counts, (size_t)i) : (nbcoll_type)NBCOLL_BYTE;
        size_t element = a->types ? nbcolli_packed_size(type) : widest, place, length, end;
        if (!nbcolli_is_type(type) || nbcolli_packs(type)) /* packed blocks are bound */
            return NBCOLL_ERR_TYPE;
        if (__builtin_mul_overflow(a->displs ? a->displs[i] : count, a->types ? 1 : widest, &place) ||
            __builtin_mul_overflow(a->counts[i], element, &length) || __builtin_add_overflow(place, length, &end) ||
            (length && end > SIZE_MAX / 2) || /* a negative number is too large */
            __builtin_add_overflow(count, a->counts[i], &count) || __builtin_add_overflow(bytes, length, &bytes))
            return NBCOLL_ERR_COUNT;
    }
    a->count = count;
    a->bytes = a->types ? bytes : count * a->element;
    return NBCOLL_OK;
}

/* Checks type, op and counts, and sets `count`, `bytes` and `element`. */
static nbcoll_status nbcolli_args_measure(nbcoll_args *a, const nbcolli_kind *kind, int ranks)
{
    int typed = a->operation != NBCOLL_OPERATION_BARRIER && a->operation != NBCOLL_OPERATION_ALLTOALLW;
    size_t loose = typed ? nbcoll_type_size(a->reduction.type) : 0, all;

    a->element = typed ? nbcolli_packed_size(a->reduction.type) : 0;
    a->bytes = 0;
    if (typed && !nbcolli_is_type(a->reduction.type))
        return NBCOLL_ERR_TYPE;
    if (kind->reduces && !nbcolli_combines(a->reduction.op, a->reduction.type))
        return NBCOLL_ERR_OP;
    if (a->counts)
        return nbcolli_args_sum(a, ranks, loose);
    if (!typed || nbcolli_args_bound(a))
        a->count = 0;
    if (__builtin_mul_overflow(a->count, loose > a->element ? loose : a->element, &all) ||
        __builtin_mul_overflow(all, (size_t)ranks, &all))
        return NBCOLL_ERR_COUNT;
    a->bytes = a->count * a->element;
    return NBCOLL_OK;
}

/* Where the operands and the result lie. */
static void nbcolli_args_place(nbcoll_args *a, int rank)
{
    a->send = (nbcoll_addr){nbcolli_args_bound(a) ? NBCOLL_BUFFER_SEND_BLOCK : NBCOLL_BUFFER_SEND, 0};
    a->recv = (nbcoll_addr){nbcolli_args_bound(a) ? NBCOLL_BUFFER_RECV_BLOCK : NBCOLL_BUFFER_RECV, 0};
    if (!a->in_place || nbcolli_args_bound(a))
        return;
    if (nbcolli_part_of(a, rank, 0) == NBCOLLI_ALL && nbcolli_part_of(a, rank, 1) == NBCOLLI_ONE &&
        !nbcolli_args_kinds[a->operation].reduces)
        a->recv = nbcolli_args_block(a, rank, a->send).at;
    else if (nbcolli_part_of(a, rank, 0) == NBCOLLI_ONE && nbcolli_part_of(a, rank, 1) == NBCOLLI_ALL)
        a->send = nbcolli_args_block(a, rank, a->recv).at;
    else
        a->send = a->recv;
}

nbcoll_status nbcoll_args_complete(nbcoll_args *args, int rank, int ranks)
{
    nbcoll_args a = {0};
    nbcoll_status status;

    if (!args)
        return NBCOLL_ERR_NULL;
    size_t size = args->size;
    if (size < offsetof(nbcoll_args, segment))
        return NBCOLL_ERR_CONFIG;
    if (rank < 0 || rank >= ranks)
        return NBCOLL_ERR_RANK;
    nbcolli_copy_tagged(&a, args, sizeof a);
    if ((unsigned)a.operation >= NBCOLL_OPERATION_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    const nbcolli_kind *kind = &nbcolli_args_kinds[a.operation];
    if (a.root < 0 || a.root >= (kind->has_root ? ranks : 1))
        return NBCOLL_ERR_ROOT;
    a.in_place = a.in_place && (kind->in_place == NBCOLLI_EVERYWHERE ||
                                (kind->in_place == NBCOLLI_AT_ROOT && rank == a.root));
    if (a.operation != NBCOLL_OPERATION_ALLTOALLW)
        a.packs = a.operation != NBCOLL_OPERATION_BARRIER && nbcolli_packs(a.reduction.type);
    status = nbcolli_args_arrays(&a, kind, rank);
    if (status == NBCOLL_OK)
        status = nbcolli_args_measure(&a, kind, ranks);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_args_place(&a, rank);
    a.size = size;
    memcpy(args, &a, size < sizeof a ? size : sizeof a);
    return NBCOLL_OK;
}

/* ---- fingerprints ---------------------------------------------------------------------------------------------- */

/* Different values never make the same hash of the same one. */
static uint64_t nbcolli_args_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint32_t nbcolli_fingerprint(const nbcoll_args *a, int ranks)
{
    const nbcolli_kind *kind = &nbcolli_args_kinds[a->operation];
    uint64_t hash = nbcolli_args_hash(1, (uint64_t)a->operation << 32 | (uint32_t)a->root);

    if (kind->reduces) { /* one of the host's operations may have other types on other ranks */
        nbcoll_type type = a->reduction.op < NBCOLL_OP_COUNT ? nbcolli_unit_type(a->reduction.type) : 0;
        hash = nbcolli_args_hash(hash, (uint64_t)nbcolli_op_number(a->reduction.op) << 32 | type);
        hash = nbcolli_args_hash(hash, a->element);
    }
    if (kind->blocks != NBCOLLI_OWN)
        hash = nbcolli_args_hash(hash, a->bytes);
    for (int i = 0; a->counts && kind->blocks != NBCOLLI_OWN && i < ranks; i++)
        hash = nbcolli_args_hash(hash, a->counts[i] * a->element);
    uint32_t fingerprint = (uint32_t)nbcolli_args_hash(hash, 0);
    return fingerprint ? fingerprint : 1;
}
