/* SPDX-License-Identifier: BSD-3-Clause
 * The MPI's datatypes and operations in nbcoll's terms. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

/* Types that lie as they are packed. What is in no table is packed by the MPI. */
static const struct plain {
    MPI_Datatype type;
    nbcoll_type is;
} plains[] = {{MPI_DOUBLE, NBCOLL_DOUBLE},
              {MPI_INT, NBCOLL_INT},
              {MPI_BYTE, NBCOLL_BYTE},
              {MPI_CHAR, NBCOLL_TYPE_COUNT}, /* no operations */
              {MPI_FLOAT, NBCOLL_FLOAT},
              {MPI_LONG, NBCOLL_LONG},
              {MPI_UNSIGNED, NBCOLL_UINT},
              {MPI_UNSIGNED_LONG, NBCOLL_ULONG},
              {MPI_LONG_LONG_INT, NBCOLL_LLONG},
              {MPI_UNSIGNED_LONG_LONG, NBCOLL_ULLONG},
              {MPI_SHORT, NBCOLL_SHORT},
              {MPI_UNSIGNED_SHORT, NBCOLL_USHORT},
              {MPI_SIGNED_CHAR, NBCOLL_SCHAR},
              {MPI_UNSIGNED_CHAR, NBCOLL_UCHAR},
              {MPI_LONG_DOUBLE, NBCOLL_LONG_DOUBLE},
              {MPI_INT8_T, NBCOLL_INT8},
              {MPI_INT16_T, NBCOLL_INT16},
              {MPI_INT32_T, NBCOLL_INT32},
              {MPI_INT64_T, NBCOLL_INT64},
              {MPI_UINT8_T, NBCOLL_UINT8},
              {MPI_UINT16_T, NBCOLL_UINT16},
              {MPI_UINT32_T, NBCOLL_UINT32},
              {MPI_UINT64_T, NBCOLL_UINT64},
              {MPI_AINT, NBCOLL_PTRDIFF},
              {MPI_OFFSET, NBCOLL_INT64},
              {MPI_COUNT, NBCOLL_INT64},
              {MPI_C_BOOL, NBCOLL_BOOL},
              {MPI_C_FLOAT_COMPLEX, NBCOLL_FLOAT_COMPLEX},
              {MPI_C_DOUBLE_COMPLEX, NBCOLL_DOUBLE_COMPLEX},
              {MPI_C_LONG_DOUBLE_COMPLEX, NBCOLL_LONG_DOUBLE_COMPLEX},
              {MPI_2INT, NBCOLL_INT_INT},
              /* of Fortran, as its compilers have them by default */
              {MPI_INTEGER, NBCOLL_INT},
              {MPI_REAL, NBCOLL_FLOAT},
              {MPI_DOUBLE_PRECISION, NBCOLL_DOUBLE},
              {MPI_COMPLEX, NBCOLL_FLOAT_COMPLEX},
              {MPI_DOUBLE_COMPLEX, NBCOLL_DOUBLE_COMPLEX},
              {MPI_CHARACTER, NBCOLL_TYPE_COUNT},
              {MPI_INTEGER1, NBCOLL_INT8},
              {MPI_INTEGER2, NBCOLL_INT16},
              {MPI_INTEGER4, NBCOLL_INT32},
              {MPI_INTEGER8, NBCOLL_INT64},
              {MPI_REAL4, NBCOLL_FLOAT},
              {MPI_REAL8, NBCOLL_DOUBLE},
              {MPI_COMPLEX8, NBCOLL_FLOAT_COMPLEX},
              {MPI_COMPLEX16, NBCOLL_DOUBLE_COMPLEX},
              {MPI_2INTEGER, NBCOLL_INT_INT}};

/* Pairs with gaps: operands lie as the program has them, but elsewhere they are packed. */
static const struct plain pairs[] = {{MPI_FLOAT_INT, NBCOLL_FLOAT_INT},
                                     {MPI_DOUBLE_INT, NBCOLL_DOUBLE_INT},
                                     {MPI_LONG_INT, NBCOLL_LONG_INT},
                                     {MPI_SHORT_INT, NBCOLL_SHORT_INT},
                                     {MPI_LONG_DOUBLE_INT, NBCOLL_LONG_DOUBLE_INT}};

static const struct {
    MPI_Op op;
    nbcoll_op is;
} operations[] = {{MPI_SUM, NBCOLL_SUM},          {MPI_MAX, NBCOLL_MAX},       {MPI_MIN, NBCOLL_MIN},
                  {MPI_PROD, NBCOLL_PROD},        {MPI_LAND, NBCOLL_LAND},     {MPI_LOR, NBCOLL_LOR},
                  {MPI_LXOR, NBCOLL_LXOR},        {MPI_BAND, NBCOLL_BAND},     {MPI_BOR, NBCOLL_BOR},
                  {MPI_BXOR, NBCOLL_BXOR},        {MPI_MINLOC, NBCOLL_MINLOC}, {MPI_MAXLOC, NBCOLL_MAXLOC},
                  {MPI_REPLACE, NBCOLL_OP_COUNT}, {MPI_NO_OP, NBCOLL_OP_COUNT}};

#define IN(table) (sizeof(table) / sizeof *(table))

static const struct plain *find(const struct plain table[], size_t n, MPI_Datatype type)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].type == type)
            return &table[i];
    return NULL;
}

DOOR_THREAD door_plain door_plains[DOOR_RECENT];

const door_plain *door_find_plain(MPI_Datatype type)
{
    const struct plain *found = find(plains, IN(plains), type);
    door_plain *recent = &door_plains[door_place((uintptr_t)type)];
    if (!found)
        return NULL;
    *recent = (door_plain){type, found->is, found->is == NBCOLL_TYPE_COUNT ? 1 : nbcoll_type_size(found->is)};
    return recent;
}

size_t door_type_bytes(MPI_Datatype type)
{
    const door_plain *plain = door_plain_of(type);
    if (plain)
        return plain->bytes;
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* inout = in op inout, of elements as the program has them. */
static nbcoll_status apply(const door_reduction *r, const void *in, void *inout, size_t count)
{
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(r->element, &lb, &extent);
    for (size_t done = 0; done < count;) {
        int now = count - done > INT_MAX ? INT_MAX : (int)(count - done);
        ptrdiff_t at = (ptrdiff_t)done * extent;
        if (PMPI_Reduce_local((const char *)in + at, (char *)inout + at, now, r->element, r->user) != MPI_SUCCESS)
            return NBCOLL_ERR_CALL;
        done += (size_t)now;
    }
    return NBCOLL_OK;
}

static nbcoll_status lack(door_reduction *r)
{
    r->lacks = true;
    return NBCOLL_ERR_MEMORY;
}

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    door_reduction *r = user;
    void *copy = NULL;
    (void)type;
    if (result == left) {
        copy = malloc(count * r->bytes + 1);
        if (!copy)
            return lack(r);
        memcpy(copy, right, count * r->bytes);
    } else if (result != right) {
        memcpy(result, right, count * r->bytes);
    }
    nbcoll_status status = apply(r, left, copy ? copy : result, count);
    if (copy && status == NBCOLL_OK)
        memcpy(result, copy, count * r->bytes);
    free(copy);
    return status;
}

/* The same of packed elements, which are laid out for the program's function. */
static nbcoll_status combine_packed(void *user, void *result, const void *left, const void *right, size_t count,
                                    nbcoll_type type)
{
    door_reduction *r = user;
    MPI_Aint lb, extent, first, span;
    (void)type;
    PMPI_Type_get_extent(r->element, &lb, &extent);
    PMPI_Type_get_true_extent(r->element, &first, &span);
    size_t stride = extent < 0 ? (size_t)-extent : (size_t)extent;
    ptrdiff_t below = first + (extent < 0 ? (ptrdiff_t)(count - 1) * extent : 0);
    size_t room = (count - 1) * stride + (size_t)span;
    char *memory = count > INT_MAX / r->bytes ? NULL : calloc(2, room + 64);
    if (!memory)
        return lack(r);
    char *in = memory - below, *inout = memory + room + 64 - (room + 64) % 16 - below;
    int n = (int)count, bytes = (int)(count * r->bytes), at[3] = {0, 0, 0};
    nbcoll_status status = NBCOLL_ERR_CALL;
    if (PMPI_Unpack(left, bytes, &at[0], in, n, r->element, MPI_COMM_SELF) == MPI_SUCCESS &&
        PMPI_Unpack(right, bytes, &at[1], inout, n, r->element, MPI_COMM_SELF) == MPI_SUCCESS)
        status = apply(r, in, inout, count);
    if (status == NBCOLL_OK && PMPI_Pack(inout, n, r->element, result, bytes, &at[2], MPI_COMM_SELF) != MPI_SUCCESS)
        status = NBCOLL_ERR_CALL;
    free(memory);
    return status;
}

static bool of_user(door_reduction *r, MPI_Datatype type, MPI_Op op)
{
    bool plain = door_plain_of(type);
    int commutes = 0;
    r->bytes = door_type_bytes(type);
    if (r->bytes == 0 || PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS)
        return false;
    r->packs = !plain;
    r->element = type;
    r->user = op;
    r->host_type = (nbcoll_host_type){.size = sizeof r->host_type, .extent = r->bytes};
    r->host_op = (nbcoll_host_op){
        .size = sizeof r->host_op, .user = r, .combine = plain ? combine : combine_packed, .commutative = commutes};
    r->type = nbcoll_type_of(&r->host_type);
    r->op = nbcoll_op_of(&r->host_op);
    return true;
}

bool door_reduction_of(door_reduction *r, MPI_Datatype type, MPI_Op op)
{
    for (size_t i = 0; i < IN(operations); i++) {
        if (operations[i].op != op)
            continue;
        const door_plain *plain = door_plain_of(type);
        const struct plain *pair = plain ? NULL : find(pairs, IN(pairs), type);
        if (!plain && !pair)
            return false;
        r->type = plain ? plain->is : pair->is;
        r->op = operations[i].is;
        r->packs = false;
        r->user = MPI_OP_NULL;
        r->bytes = plain ? plain->bytes : nbcoll_type_size(pair->is);
        return nbcoll_op_applies(r->op, r->type);
    }
    return of_user(r, type, op);
}
