/* SPDX-License-Identifier: BSD-3-Clause
 * Names and sizes of types and reductions. */
#include "nbcoll/nbcoll.h"

size_t nbcoll_type_size(nbcoll_type type)
{
    static const unsigned char sizes[] = {
#define TYPE_SIZE(name, ctype) sizeof(ctype),
        NBCOLL_TYPE_LIST(TYPE_SIZE)
#undef TYPE_SIZE
    };
    return (unsigned)type < NBCOLL_TYPE_COUNT ? sizes[type] : 0;
}

const char *nbcoll_type_name(nbcoll_type type)
{
    static const char *const names[] = {
#define TYPE_NAME(name, ctype) #name,
        NBCOLL_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
    };
    return (unsigned)type < NBCOLL_TYPE_COUNT ? names[type] : "?";
}

const char *nbcoll_op_name(nbcoll_op op)
{
    static const char *const names[] = {
#define OP_NAME(name) #name,
        NBCOLL_OP_LIST(OP_NAME)
#undef OP_NAME
    };
    return (unsigned)op < NBCOLL_OP_COUNT ? names[op] : "?";
}
