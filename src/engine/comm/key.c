/* SPDX-License-Identifier: BSD-3-Clause
 * Keys of schedules: see key.h. */
#include "key.h"

static uint32_t nbcolli_key_mix(uint32_t hash, uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return (hash ^ (uint32_t)(value >> 32)) * 0x85ebca6bu;
}

static uint32_t nbcolli_mix_array(uint32_t hash, const size_t *array, int n)
{
    for (int i = 0; array && i < n; i++)
        hash = nbcolli_key_mix(hash, array[i]);
    return hash;
}

static uint32_t nbcolli_mix_type(uint32_t hash, nbcoll_type type)
{
    const nbcoll_host_type *host = type < NBCOLL_TYPE_COUNT ? NULL : nbcolli_host_type(type);
    return host ? nbcolli_key_mix(nbcolli_key_mix(hash, host->extent), host->packed) : nbcolli_key_mix(hash, type);
}

uint32_t nbcolli_key_hash(const nbcoll_args *a, int ranks)
{
    uint64_t op = nbcolli_op_number(a->reduction.op);
    uint32_t h = nbcolli_key_mix(0, a->count);
    h = nbcolli_key_mix(h, (uint64_t)a->operation << 32 | (uint32_t)a->root);
    h = nbcolli_mix_type(h, a->reduction.type);
    h = nbcolli_key_mix(h, op << 2 | (uint64_t)(a->in_place != 0) << 1 | (a->packs != 0));
    return nbcolli_mix_array(nbcolli_mix_array(h, a->counts, ranks), a->displs, ranks);
}

static int nbcolli_same_array(const void *a, const void *b, size_t bytes)
{
    return a && b ? !memcmp(a, b, bytes) : !a && !b;
}

static int nbcolli_same_types(const nbcoll_type *kept, const nbcoll_args *a, int ranks)
{
    for (int i = 0; kept && a->types && i < ranks; i++)
        if (kept[i] != nbcoll_type_size(nbcolli_type_at(a->types, a->counts, (size_t)i)))
            return 0;
    return !kept == !a->types;
}

static int nbcolli_same_type(nbcoll_type kept, nbcoll_type type)
{
    if (kept < NBCOLL_TYPE_COUNT || type < NBCOLL_TYPE_COUNT)
        return kept == type;
    const nbcoll_host_type *a = nbcolli_host_type(kept), *b = nbcolli_host_type(type);
    return a->extent == b->extent && a->packed == b->packed;
}

int nbcolli_key_same(const nbcoll_args *kept, const nbcoll_args *a, int ranks)
{
    size_t bytes = (size_t)ranks * sizeof(size_t);
    return kept->count == a->count && kept->operation == a->operation && kept->root == a->root &&
           nbcolli_same_type(kept->reduction.type, a->reduction.type) &&
           nbcolli_op_number(kept->reduction.op) == nbcolli_op_number(a->reduction.op) &&
           !kept->in_place == !a->in_place && !kept->packs == !a->packs &&
           nbcolli_same_array(kept->counts, a->counts, bytes) && nbcolli_same_array(kept->displs, a->displs, bytes) &&
           nbcolli_same_types(kept->types, a, ranks);
}

void nbcolli_key_types(nbcoll_type *types, const nbcoll_args *a, int ranks)
{
    for (int i = 0; i < ranks; i++)
        types[i] = nbcoll_type_size(nbcolli_type_at(a->types, a->counts, (size_t)i));
}

/* ---- stand-ins ------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_stand_in_pack(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_ERR_CALL;
}

static nbcoll_status nbcolli_stand_in_combine(void *user, void *result, const void *left, const void *right,
                                              size_t count, nbcoll_type type)
{
    (void)user, (void)result, (void)left, (void)right, (void)count, (void)type;
    return NBCOLL_ERR_CALL;
}

void nbcolli_stand_in_make(nbcolli_stand_in *in, nbcoll_reduction *how)
{
    const nbcoll_host_type *type = nbcolli_host_type(how->type);

    *in = (nbcolli_stand_in){
        .type = {sizeof in->type, type ? type->extent : 0, type ? type->packed : 0, NULL, nbcolli_stand_in_pack,
                 nbcolli_stand_in_pack},
        .op = {sizeof in->op, NULL, nbcolli_stand_in_combine, nbcolli_commutes(how->op)}};
    if (type)
        how->type = nbcoll_type_of(&in->type);
    if (nbcolli_host_op(how->op))
        how->op = nbcoll_op_of(&in->op);
}
