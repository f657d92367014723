/* SPDX-License-Identifier: BSD-3-Clause
 * Binds blocks: the proof reads schedules in which every region says where it lies. */
#include "proof.h"

/* The schedule of a rank whose blocks get their places: a copy. Packed ones lie behind its scratch memory. */
typedef struct nbcolli_bind_rank {
    nbcolli_proof *p;
    int rank;
    nbcoll_schedule *to;
    nbcoll_region *packed[2];
} nbcolli_bind_rank;

static nbcoll_status nbcolli_bind_packed(nbcolli_bind_rank *b, int is_recv)
{
    const nbcoll_meaning *m = b->p->theirs;
    size_t n = b->to->extent[NBCOLL_BUFFER_SEND_PACKED + is_recv], *end = &b->to->extent[NBCOLL_BUFFER_SCRATCH];
    b->packed[is_recv] = nbcolli_take(b->p, n, sizeof(nbcoll_region));
    if (!b->packed[is_recv])
        return NBCOLL_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = b->p->meaning.travels ? b->p->meaning.travels(m, b->rank, is_recv, (int)i)
                                             : b->p->meaning.block(m, b->rank, is_recv, (int)i).bytes;
        b->packed[is_recv][i] = nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SCRATCH, *end}, bytes);
        if (__builtin_add_overflow(*end, bytes, end))
            return NBCOLL_ERR_COUNT;
    }
    return NBCOLL_OK;
}

/* Gives the region of a bound block its place. */
static nbcoll_status nbcolli_bind_region(const nbcolli_bind_rank *b, nbcoll_region *region)
{
    if (!nbcolli_is_block(region->at))
        return NBCOLL_OK;
    int is_recv = nbcolli_is_recv_block(region->at);
    if (nbcolli_is_packed(region->at)) {
        *region = b->packed[is_recv][region->at.offset];
        return NBCOLL_OK;
    }
    *region = b->p->meaning.block(b->p->theirs, b->rank, is_recv, (int)region->at.offset);
    if (region->at.offset > SIZE_MAX - region->bytes)
        return NBCOLL_ERR_COUNT;
    int is_possible = region->at.buffer == NBCOLL_BUFFER_RECV || (!is_recv && region->at.buffer == NBCOLL_BUFFER_SEND);
    return is_possible ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT;
}

static nbcoll_status nbcolli_bind_parts(const nbcolli_bind_rank *b, nbcoll_step_view *call)
{
    nbcoll_status status = NBCOLL_OK;
    nbcoll_part *parts = nbcolli_take(b->p, call->part_count, sizeof *parts);
    if (!parts)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < call->part_count && status == NBCOLL_OK; i++) {
        parts[i] = call->parts[i];
        status = nbcolli_bind_region(b, &parts[i].region);
    }
    call->parts = parts;
    return status;
}

static nbcoll_status nbcolli_bind_schedule(nbcolli_proof *p, int rank, nbcoll_schedule *to)
{
    nbcolli_bind_rank b = {.p = p, .rank = rank, .to = to};
    *to = *p->schedules[rank];
    nbcoll_step_view *steps = nbcolli_take(p, to->steps, sizeof *steps);
    if (!steps)
        return NBCOLL_ERR_MEMORY;
    memcpy(steps, to->step, to->steps * sizeof *steps);
    to->step = steps;
    nbcoll_status status = nbcolli_bind_packed(&b, 0);
    if (status == NBCOLL_OK)
        status = nbcolli_bind_packed(&b, 1);
    for (nbcoll_step step = 0; step < to->steps && status == NBCOLL_OK; step++) {
        status = nbcolli_bind_region(&b, &steps[step].write);
        if (status == NBCOLL_OK)
            status = nbcolli_bind_region(&b, &steps[step].read[0]);
        if (status == NBCOLL_OK && steps[step].kind == NBCOLL_CALL)
            status = nbcolli_bind_parts(&b, &steps[step]);
    }
    return status;
}

/* What the builder could not say of a COPY between bound blocks: do they have one length, and no byte in common? */
static nbcoll_status nbcolli_bind_check_copy(nbcolli_proof *p, int rank, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcolli_view(p, rank, step);
    nbcoll_region from = v->read[0], to = v->write;
    if (v->kind != NBCOLL_COPY)
        return NBCOLL_OK;
    nbcoll_place places[] = {nbcolli_place(rank, step, from), nbcolli_place(rank, step, to)};
    if (from.bytes != to.bytes)
        return nbcolli_refute(p, NBCOLL_FLAW_LENGTH, 2, places);
    if (from.at.buffer == to.at.buffer && from.at.offset < to.at.offset + to.bytes &&
        to.at.offset < from.at.offset + from.bytes)
        return nbcolli_refute(p, NBCOLL_FLAW_RACE, 2, places);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_bind(nbcolli_proof *p)
{
    nbcoll_status status = NBCOLL_OK;
    int has_none = 1;
    for (int rank = 0; rank < p->ranks; rank++)
        has_none = has_none && !nbcolli_has_blocks(p->schedules[rank]);
    if (has_none)
        return NBCOLL_OK;
    if (!p->meaning.block)
        return NBCOLL_ERR_UNSUPPORTED;
    nbcoll_schedule *bound = nbcolli_take(p, (size_t)p->ranks, sizeof *bound);
    const nbcoll_schedule **schedules = nbcolli_take(p, (size_t)p->ranks, sizeof(nbcoll_schedule *));
    if (!bound || !schedules)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++) {
        status = nbcolli_bind_schedule(p, rank, &bound[rank]);
        schedules[rank] = &bound[rank];
    }
    p->schedules = schedules;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++)
        for (nbcoll_step step = 0; step < bound[rank].steps && status == NBCOLL_OK; step++)
            status = nbcolli_bind_check_copy(p, rank, step);
    return status;
}
