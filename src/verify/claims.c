/* SPDX-License-Identifier: BSD-3-Clause
 * What the meaning says: inputs are laid out, claims are checked for sense, and no step writes to the receive buffer
 * where nothing is claimed. */
#include "proof.h"

#include "../reduce/reduce.h"

static nbcoll_status nbcolli_claims_put_input(nbcolli_proof *p, int rank)
{
    uint32_t value = 1 + (uint32_t)rank;
    nbcoll_region input = p->values.value[value].maker.bytes;
    nbcolli_map whole = {0};
    if ((unsigned)input.at.buffer > NBCOLL_BUFFER_SCRATCH)
        return NBCOLL_ERR_ARGUMENT;
    if (input.at.offset > SIZE_MAX - input.bytes)
        return NBCOLL_ERR_COUNT;
    if (input.at.buffer == NBCOLL_BUFFER_SCRATCH)
        return NBCOLL_OK;
    nbcoll_status status = nbcolli_map_push(p, &whole, (nbcolli_piece){0, input.bytes, 0, value});
    if (status == NBCOLL_OK)
        status = nbcolli_map_put(p, &p->memory[rank][input.at.buffer], input.at.offset, input.bytes, &whole);
    return status;
}

static nbcoll_status nbcolli_claims_check(const nbcolli_proof *p, const nbcoll_claim *c)
{
    if (c->offset > SIZE_MAX - c->bytes || c->from > SIZE_MAX - c->bytes)
        return NBCOLL_ERR_COUNT;
    if (c->first > c->last)
        return NBCOLL_OK;
    if (c->first < 0 || c->last >= p->ranks)
        return NBCOLL_ERR_ARGUMENT;
    if (c->first == c->last || nbcoll_op_applies(c->how.op, c->how.type))
        return NBCOLL_OK;
    return nbcolli_is_type(c->how.type) ? NBCOLL_ERR_OP : NBCOLL_ERR_TYPE;
}

static nbcoll_status nbcolli_claims_put(nbcolli_proof *p, int rank, const nbcoll_claim *c)
{
    nbcolli_map before = {0}, whole = {0};
    nbcolli_map *claimed = &p->claimed[rank];
    nbcoll_status status = nbcolli_map_cut(p, claimed, c->offset, c->bytes, &before);
    if (status == NBCOLL_OK && before.used)
        return NBCOLL_ERR_ARGUMENT;
    /* Neighbouring claims join. */
    if (status == NBCOLL_OK)
        status = nbcolli_map_push(p, &whole, (nbcolli_piece){0, c->bytes, c->offset, 1});
    return status == NBCOLL_OK ? nbcolli_map_put(p, claimed, c->offset, c->bytes, &whole) : status;
}

nbcoll_status nbcolli_lay_out(nbcolli_proof *p)
{
    nbcoll_status status = NBCOLL_OK;
    nbcoll_claim c;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++) {
        status = nbcolli_claims_put_input(p, rank);
        for (size_t i = 0; status == NBCOLL_OK && nbcolli_claim(p, rank, i, &c); i++) {
            status = nbcolli_claims_check(p, &c);
            if (status == NBCOLL_OK)
                status = nbcolli_claims_put(p, rank, &c);
        }
    }
    return status;
}

static nbcoll_status nbcolli_claims_check_write(nbcolli_proof *p, int rank, nbcoll_step step, nbcoll_region written)
{
    size_t length = 0;
    nbcolli_map inside = {0};
    if (!written.bytes || written.at.buffer != NBCOLL_BUFFER_RECV)
        return NBCOLL_OK;
    nbcoll_status status = nbcolli_map_cut(p, &p->claimed[rank], written.at.offset, written.bytes, &inside);
    if (status != NBCOLL_OK)
        return status;
    size_t at = nbcolli_map_gap(&inside, written.bytes, &length);
    if (at == written.bytes)
        return NBCOLL_OK;
    nbcoll_place place = nbcolli_place(rank, step, nbcoll_span(nbcoll_at(written.at, at), length));
    return nbcolli_refute(p, NBCOLL_FLAW_STRAY, 1, &place);
}

static nbcoll_status nbcolli_claims_check_writes(nbcolli_proof *p, int rank, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcolli_view(p, rank, step);
    nbcoll_status status = nbcolli_claims_check_write(p, rank, step, v->write);
    for (uint32_t i = 0; v->kind == NBCOLL_CALL && i < v->part_count && status == NBCOLL_OK; i++)
        if (v->parts[i].number)
            status = nbcolli_claims_check_write(p, rank, step, v->parts[i].region);
    return status;
}

nbcoll_status nbcolli_prove_no_stray(nbcolli_proof *p)
{
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < p->ranks; rank++)
        for (nbcoll_step step = 0; step < p->schedules[rank]->steps && status == NBCOLL_OK; step++)
            status = nbcolli_claims_check_writes(p, rank, step);
    return status;
}
