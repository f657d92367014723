/* SPDX-License-Identifier: BSD-3-Clause
 * Symbolic values: inputs, and reductions of them. Each reduction exists once, so that comparing is comparing indices,
 * and knows the inputs that it combines, as few groups of neighbouring ranks as possible. */
#include "proof.h"

static nbcoll_status nbcolli_value_grow(nbcolli_proof *p)
{
    nbcolli_values *v = &p->values;
    if (v->room > UINT32_MAX / 4)
        return NBCOLL_ERR_LIMIT;
    uint32_t room = v->room * 2;
    nbcolli_value *value = nbcolli_take(p, room, sizeof *value);
    uint32_t *chain = nbcolli_take(p, room, sizeof *chain);
    if (!value || !chain)
        return NBCOLL_ERR_MEMORY;
    memcpy(value, v->value, v->used * sizeof *value);
    *v = (nbcolli_values){value, v->used, room, chain};
    return NBCOLL_OK;
}

static uint32_t *nbcolli_value_chain(const nbcolli_values *v, const nbcolli_value *of)
{
    uint64_t key = ((uint64_t)of->left << 32 | of->right) * UINT64_C(0x9e3779b97f4a7c15);
    return &v->chain[(key >> 32) & (v->room - 1)];
}

static void nbcolli_value_link(nbcolli_values *v, uint32_t i)
{
    uint32_t *chain = nbcolli_value_chain(v, &v->value[i]);
    v->value[i].next = *chain;
    *chain = i;
}

static nbcoll_status nbcolli_value_add(nbcolli_proof *p, nbcolli_value value, uint32_t *out)
{
    nbcolli_values *v = &p->values;
    if (v->used == v->room) {
        nbcoll_status status = nbcolli_value_grow(p);
        if (status != NBCOLL_OK)
            return status;
        for (uint32_t i = 1; i < v->used; i++)
            if (v->value[i].left)
                nbcolli_value_link(v, i);
    }
    *out = v->used++;
    v->value[*out] = value;
    if (value.left)
        nbcolli_value_link(v, *out);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_values_open(nbcolli_proof *p)
{
    nbcolli_values *v = &p->values;
    nbcolli_ranks *group = nbcolli_take(p, (size_t)p->ranks, sizeof *group);
    uint32_t added;
    for (v->room = 64; v->room < 2u * (unsigned)p->ranks;)
        v->room *= 2;
    v->value = nbcolli_take(p, v->room, sizeof *v->value);
    v->chain = nbcolli_take(p, v->room, sizeof *v->chain);
    if (!group || !v->value || !v->chain)
        return NBCOLL_ERR_MEMORY;
    v->used = 1;
    for (int rank = 0; rank < p->ranks; rank++) {
        nbcoll_region input = p->theirs->input(p->theirs, rank);
        group[rank] = (nbcolli_ranks){rank, rank};
        nbcolli_value_add(p, (nbcolli_value){.groups = 1, .group = &group[rank], .maker = {rank, NBCOLL_START, input}},
                          &added);
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_value_opaque(nbcolli_proof *p, nbcoll_place maker, uint32_t *out)
{
    return nbcolli_value_add(p, (nbcolli_value){.maker = maker}, out);
}

/* Can its elements be operands of this reduction? */
static int nbcolli_value_fits(const nbcolli_value *v, nbcoll_reduction how, uint32_t phase)
{
    if (!v->left)
        return v->groups != 0;
    return v->how.type == how.type && v->how.op == how.op && v->phase == phase;
}

static nbcoll_status nbcolli_value_join_groups(nbcolli_proof *p, const nbcolli_value *left, const nbcolli_value *right,
                                               nbcolli_value *out)
{
    uint32_t n = left->groups + right->groups;
    int joins = left->group[left->groups - 1].last + 1 == right->group[0].first;
    out->groups = n - (joins ? 1 : 0);
    out->group = nbcolli_take(p, n, sizeof *out->group);
    if (!out->group)
        return NBCOLL_ERR_MEMORY;
    memcpy(out->group, left->group, left->groups * sizeof *out->group);
    nbcolli_ranks *rest = &out->group[out->groups - right->groups];
    int first = joins ? rest->first : right->group[0].first;
    memcpy(rest, right->group, right->groups * sizeof *rest);
    rest->first = first;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_value_reduce(nbcolli_proof *p, nbcoll_place maker, nbcoll_reduction how, uint32_t phase,
                                   uint32_t left, uint32_t right, uint32_t *out)
{
    nbcolli_values *v = &p->values;
    if (!nbcolli_value_fits(&v->value[left], how, phase) || !nbcolli_value_fits(&v->value[right], how, phase))
        return nbcolli_value_opaque(p, maker, out);
    if (p->meaning.any_order && left > right) { /* the order says nothing: equal up to it is equal */
        uint32_t other = left;
        left = right;
        right = other;
    }
    nbcolli_value made = {.left = left, .right = right, .how = how, .phase = phase, .maker = maker};
    for (uint32_t i = *nbcolli_value_chain(v, &made); i; i = v->value[i].next) {
        const nbcolli_value *known = &v->value[i];
        if (known->left == left && known->right == right && nbcolli_value_fits(known, how, phase)) {
            *out = i;
            return NBCOLL_OK;
        }
    }
    nbcoll_status status = nbcolli_value_join_groups(p, &v->value[left], &v->value[right], &made);
    return status == NBCOLL_OK ? nbcolli_value_add(p, made, out) : status;
}
