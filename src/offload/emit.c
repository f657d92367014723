/* SPDX-License-Identifier: BSD-3-Clause
 * From steps to tasks. */
#include "plan.h"

static const nbcoll_task nbcolli_emit_task = {.queue = NBCOLL_NO_QUEUE,
                                              .cq = NBCOLL_NO_QUEUE,
                                              .count = 1,
                                              .write = {.eager = NBCOLL_NO_QUEUE},
                                              .read = {{.eager = NBCOLL_NO_QUEUE}, {.eager = NBCOLL_NO_QUEUE}}};

static nbcoll_task nbcolli_emit_new(nbcoll_task_kind kind, nbcoll_step step)
{
    nbcoll_task t = nbcolli_emit_task;
    t.kind = kind;
    t.step = step;
    return t;
}

static nbcoll_status nbcolli_emit_post(nbcolli_plan *p, uint32_t queue, int is_receive, nbcoll_task task)
{
    if (p->drafts == p->room) {
        size_t room = 2 * p->room + 64;
        nbcolli_offload_draft *draft = nbcolli_arena_take(&p->c->arena, room, sizeof *draft);
        if (!draft)
            return NBCOLL_ERR_MEMORY;
        if (p->drafts)
            memcpy(draft, p->draft, p->drafts * sizeof *draft);
        p->draft = draft;
        p->room = room;
    }
    p->draft[p->drafts++] = (nbcolli_offload_draft){task, queue, is_receive};
    return NBCOLL_OK;
}

/* To a management queue, where it may join the task before. */
static nbcoll_status nbcolli_emit_manage(nbcolli_plan *p, uint32_t management, nbcoll_task task)
{
    nbcoll_task *before = p->last[management] ? &p->draft[p->last[management] - 1].task : NULL;
    if (before && task.kind != NBCOLL_TASK_CALC && before->kind == task.kind && before->queue == task.queue &&
        before->cq == task.cq) {
        before->count += task.count;
        return NBCOLL_OK;
    }
    nbcoll_status status = nbcolli_emit_post(p, management, 0, task);
    p->last[management] = p->drafts;
    return status;
}

static nbcoll_status nbcolli_emit_wait(nbcolli_plan *p, uint32_t management, nbcoll_step step, uint32_t *cq,
                                       uint32_t count)
{
    nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_WAIT, step);
    if (*cq == NBCOLL_NO_QUEUE)
        *cq = p->cqs++;
    t.cq = *cq;
    t.count = count;
    return nbcolli_emit_manage(p, management, t);
}

static nbcoll_status nbcolli_emit_enable(nbcolli_plan *p, nbcoll_task_kind kind, uint32_t management, nbcoll_step step,
                                         uint32_t queue, uint32_t count)
{
    nbcoll_task t = nbcolli_emit_new(kind, step);
    t.queue = queue;
    t.count = count;
    return nbcolli_emit_manage(p, management, t);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static nbcolli_offload_map *nbcolli_emit_map(nbcolli_plan *p, nbcoll_buffer buffer)
{
    return &p->map[buffer == NBCOLL_BUFFER_SCRATCH];
}

static nbcoll_task_bytes nbcolli_emit_find(nbcolli_plan *p, nbcoll_region region)
{
    static const nbcolli_offload_map at_home = {NULL, 0, 0};
    return nbcolli_offload_find(
        region.at.buffer == NBCOLL_BUFFER_SEND ? &at_home : nbcolli_emit_map(p, region.at.buffer), region);
}

static nbcoll_status nbcolli_emit_put(nbcolli_plan *p, nbcoll_region region, uint32_t eager)
{
    return nbcolli_offload_put(&p->c->arena, nbcolli_emit_map(p, region.at.buffer), region, eager);
}

/* Copies `from`, piece by piece as it lies, to `to`; but for what lies there already. */
static nbcoll_status nbcolli_emit_copy(nbcolli_plan *p, uint32_t management, nbcoll_step step, nbcoll_region to,
                                       nbcoll_region from)
{
    int is_home = to.at.buffer == from.at.buffer && to.at.offset == from.at.offset;
    for (size_t at = 0; at < from.bytes;) {
        nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_CALC, step);
        t.read[0] = nbcolli_emit_find(p, nbcoll_span(nbcoll_at(from.at, at), from.bytes - at));
        t.write.region = nbcoll_span(nbcoll_at(to.at, at), t.read[0].region.bytes);
        at += t.read[0].region.bytes;
        if (is_home && t.read[0].eager == NBCOLL_NO_QUEUE)
            continue;
        if (nbcolli_emit_manage(p, management, t) != NBCOLL_OK)
            return NBCOLL_ERR_MEMORY;
    }
    return nbcolli_emit_put(p, to, NBCOLL_NO_QUEUE);
}

/* Where all of a region lies together; if it does not, it is brought to its own place before. */
static nbcoll_status nbcolli_emit_gather(nbcolli_plan *p, uint32_t management, nbcoll_step step, nbcoll_region region,
                                         nbcoll_task_bytes *out)
{
    *out = nbcolli_emit_find(p, region);
    if (out->region.bytes == region.bytes)
        return NBCOLL_OK;
    *out = (nbcoll_task_bytes){NBCOLL_NO_QUEUE, region};
    return nbcolli_emit_copy(p, management, step, region, region);
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* The i-th part of an eager message; of one without bytes there is one. */
static nbcoll_region nbcolli_emit_part(const nbcolli_plan *p, nbcoll_region whole, size_t i)
{
    size_t at = i * p->c->config.eager, left = whole.bytes - at;
    return nbcoll_span(nbcoll_at(whole.at, at), left < p->c->config.eager ? left : p->c->config.eager);
}

static uint32_t nbcolli_emit_parts(const nbcolli_plan *p, const nbcolli_plan_message *m, size_t bytes)
{
    if (nbcolli_plan_is_bulk(m) || !bytes)
        return 1;
    return (uint32_t)((bytes - 1) / p->c->config.eager + 1);
}

static nbcoll_status nbcolli_emit_send(nbcolli_plan *p, const nbcolli_plan_message *m)
{
    nbcoll_region whole = nbcolli_plan_view(p, m->step)->read[0];
    uint32_t management = nbcolli_plan_management(p, m->step), parts = nbcolli_emit_parts(p, m, whole.bytes);
    uint32_t clear = nbcolli_plan_pair(m->queue, NBCOLL_QUEUE_CLEAR);
    int is_bulk = nbcolli_plan_is_bulk(m);
    nbcoll_status status = NBCOLL_OK;
    if (is_bulk) {
        nbcoll_task wait = nbcolli_emit_new(NBCOLL_TASK_WAIT, m->step);
        if (p->queue[clear].receive_cq == NBCOLL_NO_QUEUE)
            p->queue[clear].receive_cq = p->cqs++;
        wait.cq = p->queue[clear].receive_cq;
        status = nbcolli_emit_post(p, clear, 1, nbcolli_emit_new(NBCOLL_TASK_RECV, m->step));
        if (status == NBCOLL_OK)
            status = nbcolli_emit_post(p, m->queue, 0, wait);
    }
    for (uint32_t i = 0; i < parts && status == NBCOLL_OK; i++) {
        nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_SEND, m->step);
        nbcoll_region part = is_bulk ? whole : nbcolli_emit_part(p, whole, i);
        t.signal = p->is_awaited[m->step] && i + 1 == parts;
        status = nbcolli_emit_gather(p, management, m->step, part, &t.read[0]);
        if (status == NBCOLL_OK)
            status = nbcolli_emit_post(p, m->queue, 0, t);
    }
    if (status == NBCOLL_OK && p->queue[m->queue].held & NBCOLL_HOLDS_SENDS)
        status = nbcolli_emit_enable(p, NBCOLL_TASK_SEND_ENABLE, management, m->step, m->queue, parts);
    return status;
}

/* Of a long message: the receive, and its clearing. */
static nbcoll_status nbcolli_emit_clear(nbcolli_plan *p, const nbcolli_plan_message *m)
{
    uint32_t management = nbcolli_plan_management(p, m->step), clear = nbcolli_plan_pair(m->queue, NBCOLL_QUEUE_CLEAR);
    nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_RECV, m->step);
    t.write.region = nbcolli_plan_view(p, m->step)->write;
    nbcoll_status status = nbcolli_emit_post(p, m->queue, 1, t);
    if (status == NBCOLL_OK)
        status = nbcolli_emit_post(p, clear, 0, nbcolli_emit_new(NBCOLL_TASK_SEND, m->step));
    if (status == NBCOLL_OK && p->queue[m->queue].held & NBCOLL_HOLDS_RECEIVES)
        status = nbcolli_emit_enable(p, NBCOLL_TASK_RECEIVE_ENABLE, management, m->step, m->queue, 1);
    if (status == NBCOLL_OK && p->queue[clear].held & NBCOLL_HOLDS_SENDS)
        status = nbcolli_emit_enable(p, NBCOLL_TASK_SEND_ENABLE, management, m->step, clear, 1);
    return status;
}

/* The wait for a message, and the receives of an eager one. */
static nbcoll_status nbcolli_emit_received(nbcolli_plan *p, nbcolli_plan_message *m)
{
    nbcoll_region whole = nbcolli_plan_view(p, m->step)->write;
    uint32_t management = nbcolli_plan_management(p, m->step), parts = nbcolli_emit_parts(p, m, whole.bytes);
    nbcoll_status status = nbcolli_emit_wait(p, management, m->step, &p->queue[m->queue].receive_cq, parts);
    if (nbcolli_plan_is_bulk(m))
        return status == NBCOLL_OK ? nbcolli_emit_put(p, whole, NBCOLL_NO_QUEUE) : status;
    m->eager = p->buffers;
    for (uint32_t i = 0; i < parts && status == NBCOLL_OK; i++) {
        nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_RECV, m->step);
        t.write = (nbcoll_task_bytes){p->buffers++, {{NBCOLL_BUFFER_SCRATCH, 0}, nbcolli_emit_part(p, whole, i).bytes}};
        status = nbcolli_emit_post(p, m->queue, 1, t);
    }
    return status;
}

/* From now on its region is what came. */
static nbcoll_status nbcolli_emit_take(nbcolli_plan *p, const nbcolli_plan_message *m)
{
    nbcoll_region whole = nbcolli_plan_view(p, m->step)->write;
    uint32_t parts = nbcolli_emit_parts(p, m, whole.bytes);
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < parts && status == NBCOLL_OK; i++)
        status = nbcolli_emit_put(p, nbcolli_emit_part(p, whole, i), m->eager + i);
    return status;
}

/* ---- calculations ---------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_emit_calc(nbcolli_plan *p, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcolli_plan_view(p, step);
    uint32_t management = nbcolli_plan_management(p, step);
    nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_CALC, step);
    if (v->kind == NBCOLL_COPY && nbcolli_is_block(v->write.at)) { /* nothing lies elsewhere where blocks are bound */
        t.write.region = v->write;
        t.read[0].region = v->read[0];
        return nbcolli_emit_manage(p, management, t);
    }
    if (v->kind == NBCOLL_COPY)
        return nbcolli_emit_copy(p, management, step, v->write, v->read[0]);
    t.write.region = v->write;
    t.reduction = v->reduction;
    nbcoll_status status = nbcolli_emit_gather(p, management, step, v->read[0], &t.read[0]);
    if (status == NBCOLL_OK)
        status = nbcolli_emit_gather(p, management, step, v->read[1], &t.read[1]);
    if (status == NBCOLL_OK)
        status = nbcolli_emit_manage(p, management, t);
    return status == NBCOLL_OK ? nbcolli_emit_put(p, v->write, NBCOLL_NO_QUEUE) : status;
}

nbcoll_status nbcolli_plan_emit(nbcolli_plan *p, const nbcolli_plan_event *e)
{
    nbcolli_plan_message *m = e->message == NBCOLL_NO_QUEUE ? NULL : &p->message[e->message];
    int is_recv = nbcolli_plan_view(p, e->step)->kind == NBCOLL_RECV;
    if (!m)
        return nbcolli_emit_calc(p, e->step);
    if (e->moment == NBCOLLI_PLAN_GO)
        return is_recv ? nbcolli_emit_clear(p, m) : nbcolli_emit_send(p, m);
    if (e->moment == NBCOLLI_PLAN_TAKE)
        return nbcolli_emit_take(p, m);
    if (is_recv)
        return nbcolli_emit_received(p, m);
    return nbcolli_emit_wait(p, nbcolli_plan_management(p, m->step), m->step, &p->queue[m->queue].send_cq, 1);
}

/* What of a buffer lies elsewhere is copied to its place at the end. */
static nbcoll_status nbcolli_emit_bring(nbcolli_plan *p, nbcoll_buffer buffer)
{
    const nbcolli_offload_map *map = nbcolli_emit_map(p, buffer);
    nbcoll_status status = NBCOLL_OK;
    for (size_t i = 0; i < map->used && status == NBCOLL_OK; i++) {
        const nbcolli_offload_piece *piece = &map->piece[i];
        nbcoll_task t = nbcolli_emit_new(NBCOLL_TASK_CALC, NBCOLL_END);
        size_t bytes = piece->end - piece->begin;
        t.write.region = (nbcoll_region){{buffer, piece->begin}, bytes};
        t.read[0] = (nbcoll_task_bytes){piece->eager, {{NBCOLL_BUFFER_SCRATCH, piece->from}, bytes}};
        status = nbcolli_emit_post(p, 3 * p->connections + p->c->config.management, 0, t);
        p->copies++;
    }
    return status;
}

nbcoll_status nbcolli_plan_emit_end(nbcolli_plan *p)
{
    uint32_t queues = 3 * p->connections + p->c->config.management;
    for (uint32_t queue = 0; queue < queues; queue++)
        if (p->last[queue])
            p->draft[p->last[queue] - 1].task.signal = 1;
    nbcoll_status status = nbcolli_emit_bring(p, NBCOLL_BUFFER_RECV);
    if (status == NBCOLL_OK && p->c->config.keeps_scratch)
        status = nbcolli_emit_bring(p, NBCOLL_BUFFER_SCRATCH);
    return status;
}
