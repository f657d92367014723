/* SPDX-License-Identifier: BSD-3-Clause
 * Lets all steps end, in one order of the many that the graphs allow, and follows what memory holds. A SEND ends with
 * its RECV; an EXPOSE when each reader has its part and all parts of that owner with lower numbers, because a reader
 * only tells how many it has, in order. What cannot end so waits in a circle. As no two steps race, every other order
 * gives the same contents. */
#include "proof.h"

#include "../reduce/packed.h"

typedef struct nbcolli_end_run {
    nbcolli_proof *p;
    uint8_t *state;      /* [all steps] of nbcolli_state */
    uint32_t *before;    /* [all steps]: how many it still waits for; of an EXPOSE that has started: parts not told */
    uint8_t *is_told;    /* [all steps]: the owner knows that the FETCH has ended */
    nbcolli_item *next;  /* [all steps]: of an EXPOSE, the first FETCH that it holds back; of that, the next one */
    nbcolli_item *queue; /* [all steps] */
    size_t queued, ended;
    nbcolli_map operand[2], result;
} nbcolli_end_run;

static size_t nbcolli_end_index(const nbcolli_end_run *run, nbcolli_item item)
{
    return nbcolli_index(run->p, item.rank, item.step);
}

static const nbcoll_step_view *nbcolli_end_view(const nbcolli_end_run *run, nbcolli_item item)
{
    return nbcolli_view(run->p, item.rank, item.step);
}

/* Takes from memory what `reader` reads. */
static nbcoll_status nbcolli_end_load(nbcolli_end_run *run, nbcolli_item reader, nbcoll_region from, nbcolli_map *to)
{
    size_t length = 0;
    const nbcolli_map *memory = &run->p->memory[reader.rank][from.at.buffer];
    nbcoll_status status = nbcolli_map_cut(run->p, memory, from.at.offset, from.bytes, to);
    if (status != NBCOLL_OK)
        return status;
    size_t at = nbcolli_map_gap(to, from.bytes, &length);
    if (at == from.bytes)
        return NBCOLL_OK;
    nbcoll_place place = nbcolli_place(reader.rank, reader.step, nbcoll_span(nbcoll_at(from.at, at), length));
    return nbcolli_refute(run->p, NBCOLL_FLAW_UNDEFINED, 1, &place);
}

static nbcoll_status nbcolli_end_store(nbcolli_end_run *run, int rank, nbcoll_region to, const nbcolli_map *from)
{
    return nbcolli_map_put(run->p, &run->p->memory[rank][to.at.buffer], to.at.offset, to.bytes, from);
}

/* The value of bytes [at, end) of a REDUCE, of which the operands hold one piece each. */
static nbcoll_status nbcolli_end_reduce_piece(nbcolli_end_run *run, nbcolli_item item, size_t at, size_t end,
                                              const nbcolli_piece *left, const nbcolli_piece *right)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, item);
    size_t size = nbcolli_packed_size(v->reduction.type), from = left->from + (at - left->begin);
    nbcoll_place maker = nbcolli_place(item.rank, item.step, nbcoll_span(nbcoll_at(v->write.at, at), end - at));
    nbcoll_status status;
    uint32_t value;
    /* Whole elements, which are the same ones of both operands? */
    if (at % size == 0 && end % size == 0 && from == right->from + (at - right->begin))
        status = nbcolli_value_reduce(run->p, maker, v->reduction, (uint32_t)(from % size), left->value, right->value,
                                      &value);
    else
        status = nbcolli_value_opaque(run->p, maker, &value);
    if (status == NBCOLL_OK)
        status = nbcolli_map_push(run->p, &run->result, (nbcolli_piece){at, end, from, value});
    return status;
}

static nbcoll_status nbcolli_end_reduce(nbcolli_end_run *run, nbcolli_item item)
{
    const nbcoll_region to = nbcolli_end_view(run, item)->write;
    nbcoll_status status = NBCOLL_OK;
    run->result.used = 0;
    for (size_t at = 0, i = 0, j = 0; at < to.bytes && status == NBCOLL_OK;) {
        const nbcolli_piece *left = &run->operand[0].pieces[i], *right = &run->operand[1].pieces[j];
        size_t end = left->end < right->end ? left->end : right->end;
        status = nbcolli_end_reduce_piece(run, item, at, end, left, right);
        i += left->end == end;
        j += right->end == end;
        at = end;
    }
    return status == NBCOLL_OK ? nbcolli_end_store(run, item.rank, to, &run->result) : status;
}

static nbcoll_status nbcolli_end_call(nbcolli_end_run *run, nbcolli_item item)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, item);
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < v->part_count && status == NBCOLL_OK; i++) {
        nbcoll_region region = v->parts[i].region;
        if (!v->parts[i].number) {
            status = nbcolli_end_load(run, item, region, &run->operand[0]);
            continue;
        }
        uint32_t value;
        run->result.used = 0;
        status = nbcolli_value_opaque(run->p, nbcolli_place(item.rank, item.step, region), &value);
        if (status == NBCOLL_OK)
            status = nbcolli_map_push(run->p, &run->result, (nbcolli_piece){0, region.bytes, 0, value});
        if (status == NBCOLL_OK)
            status = nbcolli_end_store(run, item.rank, region, &run->result);
    }
    return status;
}

static nbcoll_status nbcolli_end_local(nbcolli_end_run *run, nbcolli_item item)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, item);
    nbcoll_status status = NBCOLL_OK;
    if (v->kind == NBCOLL_CALL)
        return nbcolli_end_call(run, item);
    for (int i = 0; i < 2 && status == NBCOLL_OK; i++)
        status = nbcolli_end_load(run, item, v->read[i], &run->operand[i]);
    if (status != NBCOLL_OK || v->kind == NBCOLL_JOIN)
        return status;
    if (v->kind == NBCOLL_REDUCE)
        return nbcolli_end_reduce(run, item);
    return nbcolli_end_store(run, item.rank, v->write, &run->operand[0]);
}

/* From the memory of a SEND or EXPOSE to what its RECV, FETCH or FETCH_REDUCE makes of it. */
static nbcoll_status nbcolli_end_transfer(nbcolli_end_run *run, nbcolli_item giver, nbcolli_item taker)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, taker);
    int side = v->kind == NBCOLL_FETCH_REDUCE ? (int)v->side : 0;
    nbcoll_region given = nbcolli_given(nbcolli_end_view(run, giver), taker.rank, v->number);
    nbcoll_status status = nbcolli_end_load(run, giver, given, &run->operand[side]);
    if (status != NBCOLL_OK)
        return status;
    if (v->kind != NBCOLL_FETCH_REDUCE)
        return nbcolli_end_store(run, taker.rank, v->write, &run->operand[0]);
    status = nbcolli_end_load(run, taker, v->write, &run->operand[side ^ 1]);
    return status == NBCOLL_OK ? nbcolli_end_reduce(run, taker) : status;
}

static void nbcolli_end_finish(nbcolli_end_run *run, nbcolli_item item)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, item);
    run->state[nbcolli_end_index(run, item)] = NBCOLLI_ENDED;
    run->p->ended[run->ended++] = item;
    for (uint32_t i = 0; i < v->after_count; i++) {
        nbcolli_item after = {item.rank, v->after[i]};
        if (!--run->before[nbcolli_end_index(run, after)])
            run->queue[run->queued++] = after;
    }
}

/* A FETCH has ended. It is told, and those that waited for it to be, unless it has to wait itself. */
static void nbcolli_end_tell(nbcolli_end_run *run, nbcolli_item taker)
{
    const nbcoll_schedule *s = run->p->schedules[taker.rank];
    const nbcoll_step_view *v = nbcolli_end_view(run, taker);
    nbcolli_item owner = {v->peer, NBCOLL_START};
    uint32_t i = nbcolli_message_index(s->fetch, s->fetches, v->peer, v->number);

    if (v->number && !run->is_told[nbcolli_index(run->p, taker.rank, s->fetch[i - 1].step)])
        return;
    for (; i < s->fetches && s->fetch[i].peer == v->peer; i++) {
        size_t index = nbcolli_index(run->p, taker.rank, s->fetch[i].step);
        if (run->state[index] != NBCOLLI_ENDED)
            return;
        run->is_told[index] = 1;
        owner.step = run->p->mate[index];
        if (!--run->before[nbcolli_end_index(run, owner)])
            nbcolli_end_finish(run, owner);
    }
}

/* Both ends have started. */
static nbcoll_status nbcolli_end_pair(nbcolli_end_run *run, nbcolli_item giver, nbcolli_item taker)
{
    nbcoll_status status = nbcolli_end_transfer(run, giver, taker);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_end_finish(run, taker);
    if (nbcolli_end_view(run, giver)->kind == NBCOLL_SEND)
        nbcolli_end_finish(run, giver);
    else
        nbcolli_end_tell(run, taker);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_end_expose(nbcolli_end_run *run, nbcolli_item item)
{
    size_t index = nbcolli_end_index(run, item);
    nbcoll_status status = NBCOLL_OK;
    run->before[index] = nbcolli_end_view(run, item)->part_count;
    for (nbcolli_item taker = run->next[index]; taker.step != NBCOLL_START && status == NBCOLL_OK;) {
        nbcolli_item next = run->next[nbcolli_end_index(run, taker)];
        status = nbcolli_end_pair(run, item, taker);
        taker = next;
    }
    return status;
}

/* All that the step waits for has ended: so it starts. */
static nbcoll_status nbcolli_end_start(nbcolli_end_run *run, nbcolli_item item)
{
    const nbcoll_step_view *v = nbcolli_end_view(run, item);
    size_t index = nbcolli_end_index(run, item);
    if (v->kind != NBCOLL_EXPOSE && v->peer < 0) {
        nbcoll_status status = nbcolli_end_local(run, item);
        if (status == NBCOLL_OK)
            nbcolli_end_finish(run, item);
        return status;
    }
    run->state[index] = NBCOLLI_HELD;
    if (v->kind == NBCOLL_EXPOSE)
        return nbcolli_end_expose(run, item);
    nbcolli_item mate = {v->peer, run->p->mate[index]};
    size_t mates = nbcolli_end_index(run, mate);
    if (run->state[mates] == NBCOLLI_HELD)
        return v->kind == NBCOLL_SEND ? nbcolli_end_pair(run, item, mate) : nbcolli_end_pair(run, mate, item);
    if (v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE) {
        run->next[index] = run->next[mates];
        run->next[mates] = item;
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_end_open(nbcolli_end_run *run)
{
    nbcolli_proof *p = run->p;
    size_t steps = p->first[p->ranks];
    run->state = nbcolli_take(p, steps, sizeof *run->state);
    run->before = nbcolli_take(p, steps, sizeof *run->before);
    run->is_told = nbcolli_take(p, steps, sizeof *run->is_told);
    run->next = nbcolli_take(p, steps, sizeof *run->next);
    run->queue = nbcolli_take(p, steps, sizeof *run->queue);
    if (!run->state || !run->before || !run->is_told || !run->next || !run->queue)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < p->ranks; rank++)
        for (nbcoll_step step = 0; step < p->schedules[rank]->steps; step++) {
            uint32_t before = p->schedules[rank]->before[step];
            run->before[nbcolli_index(p, rank, step)] = before;
            if (!before)
                run->queue[run->queued++] = (nbcolli_item){rank, step};
        }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_prove_end(nbcolli_proof *p)
{
    nbcolli_end_run run = {.p = p};
    nbcoll_status status = nbcolli_end_open(&run);
    for (size_t i = 0; i < run.queued && status == NBCOLL_OK; i++)
        status = nbcolli_end_start(&run, run.queue[i]);
    if (status == NBCOLL_OK && run.ended < p->first[p->ranks])
        status = nbcolli_refute_circle(p, run.state);
    return status;
}
