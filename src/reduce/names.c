/* SPDX-License-Identifier: BSD-3-Clause
 * Names and sizes of types and operations. */
#include "reduce.h"

size_t nbcoll_type_size(nbcoll_type type)
{
    static const unsigned char sizes[] = {
#define NBCOLLI_TYPE_SIZE(name, ctype, kind) sizeof(ctype),
        NBCOLL_TYPE_LIST(NBCOLLI_TYPE_SIZE)
#undef NBCOLLI_TYPE_SIZE
    };
    const nbcoll_host_type *host = nbcolli_host_type(type);
    return type < NBCOLL_TYPE_COUNT ? sizes[type] : host ? host->extent : 0;
}

const char *nbcoll_type_name(nbcoll_type type)
{
    static const char *const names[] = {
#define NBCOLLI_TYPE_NAME(name, ctype, kind) #name,
        NBCOLL_TYPE_LIST(NBCOLLI_TYPE_NAME)
#undef NBCOLLI_TYPE_NAME
    };
    return type < NBCOLL_TYPE_COUNT ? names[type] : nbcolli_host_type(type) ? "HOST" : "?";
}

const char *nbcoll_op_name(nbcoll_op op)
{
    static const char *const names[] = {
#define NBCOLLI_OP_NAME(name) #name,
        NBCOLL_OP_LIST(NBCOLLI_OP_NAME)
#undef NBCOLLI_OP_NAME
    };
    return op < NBCOLL_OP_COUNT ? names[op] : nbcolli_host_op(op) ? "HOST" : "?";
}
