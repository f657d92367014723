/* SPDX-License-Identifier: BSD-3-Clause
 * What distinguishes the operations: one table. */
#ifndef NBCOLLI_ARGUMENTS_KINDS_H
#define NBCOLLI_ARGUMENTS_KINDS_H

#include "nbcoll/schedule.h"

/* Where `in place` means something. */
typedef enum nbcolli_place_of { NBCOLLI_NOWHERE, NBCOLLI_AT_ROOT, NBCOLLI_EVERYWHERE } nbcolli_place_of;

/* The blocks of a vector: all equal; or of different counts, which builders know always, or if the ranks promised it,
 * or only this rank's own and only in place, of types that do not pack. */
typedef enum nbcolli_block_kind { NBCOLLI_EQUAL, NBCOLLI_KNOWN, NBCOLLI_PROMISED, NBCOLLI_OWN } nbcolli_block_kind;

/* What a buffer holds: nothing, one block or vector, a block for every rank. */
typedef enum nbcolli_part { NBCOLLI_NONE, NBCOLLI_ONE, NBCOLLI_ALL } nbcolli_part;

typedef struct nbcolli_kind {
    const char *name;
    uint8_t has_root, reduces;
    uint8_t in_place;         /* nbcolli_place_of */
    uint8_t blocks;           /* nbcolli_block_kind */
    uint8_t send[2], recv[2]; /* nbcolli_part: at the root, or everywhere when there is none; elsewhere */
} nbcolli_kind;

static const nbcolli_kind nbcolli_args_kinds[] = {
    [NBCOLL_OPERATION_BARRIER] =
        {"barrier", 0, 0, NBCOLLI_NOWHERE, NBCOLLI_EQUAL, {NBCOLLI_NONE, NBCOLLI_NONE}, {NBCOLLI_NONE, NBCOLLI_NONE}},
    [NBCOLL_OPERATION_BCAST] =
        {"bcast", 1, 0, NBCOLLI_NOWHERE, NBCOLLI_EQUAL, {NBCOLLI_NONE, NBCOLLI_NONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_SCATTER] =
        {"scatter", 1, 0, NBCOLLI_AT_ROOT, NBCOLLI_EQUAL, {NBCOLLI_ALL, NBCOLLI_NONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_GATHER] =
        {"gather", 1, 0, NBCOLLI_AT_ROOT, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ALL, NBCOLLI_NONE}},
    [NBCOLL_OPERATION_ALLGATHER] =
        {"allgather", 0, 0, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ALL, NBCOLLI_ALL}},
    [NBCOLL_OPERATION_REDUCE] =
        {"reduce", 1, 1, NBCOLLI_AT_ROOT, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ONE, NBCOLLI_NONE}},
    [NBCOLL_OPERATION_ALLREDUCE] =
        {"allreduce", 0, 1, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_SCATTERV] =
        {"scatterv", 1, 0, NBCOLLI_AT_ROOT, NBCOLLI_PROMISED, {NBCOLLI_ALL, NBCOLLI_NONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_GATHERV] =
        {"gatherv", 1, 0, NBCOLLI_AT_ROOT, NBCOLLI_PROMISED, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ALL, NBCOLLI_NONE}},
    [NBCOLL_OPERATION_ALLGATHERV] =
        {"allgatherv", 0, 0, NBCOLLI_EVERYWHERE, NBCOLLI_KNOWN, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ALL, NBCOLLI_ALL}},
    [NBCOLL_OPERATION_ALLTOALL] =
        {"alltoall", 0, 0, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL, {NBCOLLI_ALL, NBCOLLI_ALL}, {NBCOLLI_ALL, NBCOLLI_ALL}},
    [NBCOLL_OPERATION_ALLTOALLV] =
        {"alltoallv", 0, 0, NBCOLLI_EVERYWHERE, NBCOLLI_OWN, {NBCOLLI_ALL, NBCOLLI_ALL}, {NBCOLLI_ALL, NBCOLLI_ALL}},
    [NBCOLL_OPERATION_ALLTOALLW] =
        {"alltoallw", 0, 0, NBCOLLI_EVERYWHERE, NBCOLLI_OWN, {NBCOLLI_ALL, NBCOLLI_ALL}, {NBCOLLI_ALL, NBCOLLI_ALL}},
    [NBCOLL_OPERATION_REDUCE_SCATTER] =
        {"reduce_scatter", 0, 1, NBCOLLI_EVERYWHERE, NBCOLLI_KNOWN,
         {NBCOLLI_ALL, NBCOLLI_ALL}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK] =
        {"reduce_scatter_block", 0, 1, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL,
         {NBCOLLI_ALL, NBCOLLI_ALL}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_SCAN] =
        {"scan", 0, 1, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
    [NBCOLL_OPERATION_EXSCAN] =
        {"exscan", 0, 1, NBCOLLI_EVERYWHERE, NBCOLLI_EQUAL, {NBCOLLI_ONE, NBCOLLI_ONE}, {NBCOLLI_ONE, NBCOLLI_ONE}},
};
_Static_assert(sizeof nbcolli_args_kinds / sizeof *nbcolli_args_kinds == NBCOLL_OPERATION_COUNT,
               "each operation has its entry");

static inline const nbcolli_kind *nbcolli_kind_of(nbcoll_operation operation)
{
    return &nbcolli_args_kinds[operation];
}

/* What this rank's send or receive buffer holds, when it is not in place. */
static inline nbcolli_part nbcolli_part_of(const nbcoll_args *a, int rank, int is_recv)
{
    const nbcolli_kind *kind = &nbcolli_args_kinds[a->operation];
    const uint8_t *parts = is_recv ? kind->recv : kind->send;
    if (is_recv && a->operation == NBCOLL_OPERATION_EXSCAN && rank == 0)
        return NBCOLLI_NONE;
    return (nbcolli_part)parts[kind->has_root && rank != a->root];
}

#endif
