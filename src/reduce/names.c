/* SPDX-License-Identifier: BSD-3-Clause
 * Types and operations: names, sizes, what applies to what. No kernel is named here: see reduce.h. */
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

/* The operations of each class of types, as bits. */
#define NBCOLLI_OPS_COMPLEX (1u << NBCOLL_SUM | 1u << NBCOLL_PROD)
#define NBCOLLI_OPS_PAIR (1u << NBCOLL_MINLOC | 1u << NBCOLL_MAXLOC)
#define NBCOLLI_OPS_BYTES (1u << NBCOLL_BAND | 1u << NBCOLL_BOR | 1u << NBCOLL_BXOR)
#define NBCOLLI_OPS_LOGICAL (1u << NBCOLL_LAND | 1u << NBCOLL_LOR | 1u << NBCOLL_LXOR)
#define NBCOLLI_OPS_FLOATING (NBCOLLI_OPS_COMPLEX | 1u << NBCOLL_MIN | 1u << NBCOLL_MAX)
#define NBCOLLI_OPS_NARROW NBCOLLI_OPS_FLOATING
#define NBCOLLI_OPS_SIGNED (NBCOLLI_OPS_FLOATING | NBCOLLI_OPS_BYTES | NBCOLLI_OPS_LOGICAL)
#define NBCOLLI_OPS_UNSIGNED NBCOLLI_OPS_SIGNED

int nbcolli_combines(nbcoll_op op, nbcoll_type type)
{
    static const uint16_t ops[] = {
#define NBCOLLI_TYPE_OPS(name, ctype, class) NBCOLLI_OPS_##class,
        NBCOLL_TYPE_LIST(NBCOLLI_TYPE_OPS)
#undef NBCOLLI_TYPE_OPS
    };
    const nbcoll_host_op *host = nbcolli_host_op(op);
    if (op < NBCOLL_OP_COUNT)
        return nbcolli_unit_type(type) < NBCOLL_TYPE_COUNT && ops[nbcolli_unit_type(type)] >> op & 1;
    return host && host->combine && nbcolli_is_type(type);
}

nbcoll_status nbcolli_resolve_op(nbcoll_reduction *how, int operands, nbcoll_host_type *states)
{
    const nbcoll_host_op *host = nbcolli_host_op(how->op);
    if (!host || host->combine)
        return NBCOLL_OK;
    *states = (nbcoll_host_type){.size = sizeof *states, .extent = nbcoll_type_size(how->type)};
    how->op = NBCOLL_OP_COUNT;
    nbcoll_status s = nbcolli_is_type(how->type)
                          ? host->resolve(host->user, how->type, operands, states, &how->op)
                          : NBCOLL_ERR_TYPE;
    how->type = nbcoll_type_of(states);
    return s;
}

int nbcoll_op_applies(nbcoll_op op, nbcoll_type type)
{
    nbcoll_reduction how = {type, op};
    nbcoll_host_type states;
    return nbcolli_resolve_op(&how, 1, &states) == NBCOLL_OK && nbcolli_combines(how.op, how.type);
}

nbcoll_status nbcolli_reduce(const nbcoll_reducers *by, nbcoll_reduction how, void *result, const void *left,
                             const void *right, size_t count)
{
    const nbcoll_host_op *host = nbcolli_host_op(how.op);
    if (host)
        return host->combine(host->user, result, left, right, count, how.type);
    const nbcoll_host_type *units = how.type < NBCOLL_TYPE_COUNT ? NULL : (const nbcoll_host_type *)how.type;
    by->kernel[units ? units->of : how.type][how.op](result, left, right,
                                                     count * (units ? units->packed : nbcoll_type_size(how.type)));
    return NBCOLL_OK;
}
