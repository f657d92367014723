/* SPDX-License-Identifier: BSD-3-Clause
 * Binds blocks: the proof reads schedules in which every region says where it lies. */
#include "proof.h"

/* Gives the region of a bound block its place. */
static nbcoll_status bind_region(const nbcolli_proof *p, int rank, nbcoll_region *region)
{
    if (!nbcolli_is_block(region->at))
        return NBCOLL_OK;
    int is_recv = region->at.buffer == NBCOLL_BUFFER_RECV_BLOCK;
    *region = p->meaning.block(p->theirs, rank, is_recv, (int)region->at.offset);
    if (region->at.offset > SIZE_MAX - region->bytes)
        return NBCOLL_ERR_COUNT;
    int is_possible = region->at.buffer == NBCOLL_BUFFER_RECV || (!is_recv && region->at.buffer == NBCOLL_BUFFER_SEND);
    return is_possible ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT;
}

static nbcoll_status bind_schedule(nbcolli_proof *p, int rank, nbcoll_schedule *to)
{
    nbcoll_status status = NBCOLL_OK;
    *to = *p->schedules[rank];
    nbcoll_step_view *steps = nbcolli_take(p, to->steps, sizeof *steps);
    if (!steps)
        return NBCOLL_ERR_MEMORY;
    memcpy(steps, to->step, to->steps * sizeof *steps);
    for (nbcoll_step step = 0; step < to->steps && status == NBCOLL_OK; step++) {
        status = bind_region(p, rank, &steps[step].write);
        if (status == NBCOLL_OK)
            status = bind_region(p, rank, &steps[step].read[0]);
    }
    to->step = steps;
    return status;
}

/* What the builder could not say of a COPY between bound blocks: do they have one length, and no byte in common? */
static nbcoll_status bind_check_copy(nbcolli_proof *p, int rank, nbcoll_step step)
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
    for (int rank = 0; rank < p->ranks; rank++) {
        const size_t *extent = p->schedules[rank]->extent;
        has_none = has_none && !extent[NBCOLL_BUFFER_SEND_BLOCK] && !extent[NBCOLL_BUFFER_RECV_BLOCK];
    }
    if (has_none)
        return NBCOLL_OK;
    if (!p->meaning.block)
        return NBCOLL_ERR_UNSUPPORTED;
    nbcoll_schedule *bound = nbcolli_take(p, (size_t)p->ranks, sizeof *bound);
    const nbcoll_schedule **schedules = nbcolli_take(p, (size_t)p->ranks, sizeof(nbcoll_schedule *));
    if (!bound || !schedules)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++) {
        status = bind_schedule(p, rank, &bound[rank]);
        schedules[rank] = &bound[rank];
    }
    p->schedules = schedules;
    for (int rank = 0; rank < p->ranks && status == NBCOLL_OK; rank++)
        for (nbcoll_step step = 0; step < bound[rank].steps && status == NBCOLL_OK; step++)
            status = bind_check_copy(p, rank, step);
    return status;
}
