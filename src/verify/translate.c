/* SPDX-License-Identifier: BSD-3-Clause
 * From a program to a schedule: it is played through, and each task is written down when it can run. */
#include "translate.h"

/* ---- opening --------------------------------------------------------------------------------------------------- */

static int nbcolli_translate_has_steps(const nbcolli_translate_queue *q)
{
    return q->send && q->receive && q->signal && q->send_enabler && q->receive_enabler;
}

static int nbcolli_translate_own_cq(nbcolli_translation *t, uint32_t cq, uint32_t queue, int is_receive)
{
    if (cq == NBCOLL_NO_QUEUE)
        return 1;
    if (cq >= t->p->info.cqs)
        return 0;
    t->cq[cq] = (nbcolli_translate_cq){queue, is_receive, 0};
    return 1;
}

static nbcoll_status nbcolli_translate_open_queues(nbcolli_translation *t)
{
    for (uint32_t i = 0; i < t->p->info.queues; i++) {
        const nbcoll_queue_view *v = &t->p->queue[i];
        nbcolli_translate_queue *q = &t->queue[i];
        q->send = nbcolli_arena_take(t->arena, v->send_count, sizeof *q->send);
        q->signal = nbcolli_arena_take(t->arena, v->send_count, sizeof *q->signal);
        q->send_enabler = nbcolli_arena_take(t->arena, v->send_count, sizeof *q->send_enabler);
        q->receive = nbcolli_arena_take(t->arena, v->receive_count, sizeof *q->receive);
        q->receive_enabler = nbcolli_arena_take(t->arena, v->receive_count, sizeof *q->receive_enabler);
        if (!nbcolli_translate_has_steps(q))
            return NBCOLL_ERR_MEMORY;
        q->sends_enabled = v->held & NBCOLL_HOLDS_SENDS ? 0 : v->send_count;
        q->receives_enabled = v->held & NBCOLL_HOLDS_RECEIVES ? 0 : v->receive_count;
        if (!nbcolli_translate_own_cq(t, v->send_cq, i, 0) || !nbcolli_translate_own_cq(t, v->receive_cq, i, 1))
            return NBCOLL_ERR_ARGUMENT;
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_translate_open(nbcolli_translation *t)
{
    const nbcoll_program_info *info = &t->p->info;
    nbcoll_builder_config config = {
        .size = sizeof config, .host = &t->arena->host, .rank = info->rank, .ranks = info->ranks};
    t->room = (size_t)info->tasks + info->copies + 3;
    t->queue = nbcolli_arena_take(t->arena, info->queues, sizeof *t->queue);
    t->cq = nbcolli_arena_take(t->arena, info->cqs, sizeof *t->cq);
    t->step = nbcolli_arena_take(t->arena, t->room, sizeof *t->step);
    if (!t->queue || !t->cq || !t->step)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < info->cqs; i++)
        t->cq[i].queue = NBCOLL_NO_QUEUE;
    nbcoll_status status = nbcolli_translate_open_queues(t);
    if (status == NBCOLL_OK)
        status = nbcoll_builder_open(&config, &t->b);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_set_name(t->b, info->name);
    nbcoll_set_fingerprint(t->b, info->fingerprint);
    t->scratch = nbcoll_add_scratch(t->b, info->extent[NBCOLL_BUFFER_SCRATCH]);
    t->eager = nbcoll_add_scratch(t->b, (size_t)info->buffers * info->eager);
    return NBCOLL_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

static nbcoll_addr nbcolli_translate_place(const nbcolli_translation *t, const nbcoll_task_bytes *b)
{
    if (b->eager != NBCOLL_NO_QUEUE)
        return nbcoll_at(t->eager, b->eager * t->p->info.eager + b->region.at.offset);
    return b->region.at.buffer == NBCOLL_BUFFER_SCRATCH ? nbcoll_at(t->scratch, b->region.at.offset) : b->region.at;
}

static nbcoll_step nbcolli_translate_note(nbcolli_translation *t, nbcoll_step step, nbcoll_step of, uint32_t is)
{
    if (step < t->room)
        t->step[step] = (nbcolli_translated){of, is};
    return step;
}

static nbcoll_step nbcolli_translate_calc(nbcolli_translation *t, const nbcoll_task *task)
{
    nbcoll_addr to = nbcolli_translate_place(t, &task->write), left = nbcolli_translate_place(t, &task->read[0]);
    size_t bytes = task->write.region.bytes, element;
    nbcoll_step step;
    if (!task->read[1].region.bytes)
        step = nbcoll_add_copy(t->b, to, left, bytes);
    else {
        element = nbcoll_type_size(task->reduction.type);
        step = nbcoll_add_combine(t->b, to, left, nbcolli_translate_place(t, &task->read[1]),
                                  element ? bytes / element : 0, task->reduction);
    }
    return nbcolli_translate_note(t, step, task->step, NBCOLLI_BEGINS | NBCOLLI_ENDS);
}

/* Posts the receives that are enabled. Eager ones, and those of clear-to-sends, were posted before the operation. */
static int nbcolli_translate_receives(nbcolli_translation *t, uint32_t queue)
{
    const nbcoll_queue_view *v = &t->p->queue[queue];
    nbcolli_translate_queue *q = &t->queue[queue];
    int is_bulk = v->kind == NBCOLL_QUEUE_BULK, is_clear = v->kind == NBCOLL_QUEUE_CLEAR, moved = 0;
    for (; q->posted < q->receives_enabled; moved = 1) {
        const nbcoll_task *task = &v->receives[q->posted];
        uint32_t is = is_clear ? 0 : is_bulk ? NBCOLLI_BEGINS | NBCOLLI_ENDS : NBCOLLI_ENDS;
        nbcoll_step step =
            nbcoll_add_recv(t->b, v->peer, nbcolli_translate_place(t, &task->write), task->write.region.bytes);
        nbcoll_set_number(t->b, step, 3 * q->posted + (uint32_t)v->kind);
        nbcoll_after(t->b, step, q->receive_enabler[q->posted]);
        q->receive[q->posted++] = nbcolli_translate_note(t, step, task->step, is);
    }
    return moved;
}

/* Runs a wait if there are entries: the step that waits, else START. */
static nbcoll_step nbcolli_translate_wait(nbcolli_translation *t, const nbcoll_task *task)
{
    nbcolli_translate_cq *cq = task->cq < t->p->info.cqs ? &t->cq[task->cq] : NULL;
    if (!cq || cq->queue == NBCOLL_NO_QUEUE)
        return NBCOLL_START;
    const nbcolli_translate_queue *q = &t->queue[cq->queue];
    uint32_t entries = cq->is_receive ? q->posted : q->signalled;
    if (entries - cq->consumed < task->count)
        return NBCOLL_START;
    nbcoll_step wait = nbcoll_add_join(t->b);
    for (uint32_t i = 0; i < task->count; i++, cq->consumed++)
        if (cq->is_receive)
            nbcoll_after(t->b, wait, q->receive[cq->consumed]);
        else /* with all that was sent before it */
            for (uint32_t k = 0; k < q->sent && q->send[k] <= q->signal[cq->consumed]; k++)
                nbcoll_after(t->b, wait, q->send[k]);
    return wait;
}

static void nbcolli_translate_send(nbcolli_translation *t, uint32_t queue, const nbcoll_task *task)
{
    const nbcoll_queue_view *v = &t->p->queue[queue];
    nbcolli_translate_queue *q = &t->queue[queue];
    nbcoll_step step =
        nbcoll_add_send(t->b, v->peer, nbcolli_translate_place(t, &task->read[0]), task->read[0].region.bytes);
    nbcoll_set_number(t->b, step, 3 * q->sent + (uint32_t)v->kind);
    nbcoll_after(t->b, step, q->last);
    nbcoll_after(t->b, step, q->send_enabler[q->sent]);
    nbcolli_translate_note(t, step, task->step,
                           v->kind == NBCOLL_QUEUE_CLEAR ? NBCOLLI_BEGINS : NBCOLLI_BEGINS | NBCOLLI_ENDS);
    q->send[q->sent++] = step;
    if (task->signal)
        q->signal[q->signalled++] = step;
}

/* Sends what is enabled, and what its waits let go. */
static int nbcolli_translate_sends(nbcolli_translation *t, uint32_t queue)
{
    const nbcoll_queue_view *v = &t->p->queue[queue];
    nbcolli_translate_queue *q = &t->queue[queue];
    int moved = 0;
    for (; q->taken < v->send_count && q->sent < q->sends_enabled; q->taken++, moved = 1) {
        const nbcoll_task *task = &v->sends[q->taken];
        if (task->kind == NBCOLL_TASK_SEND) {
            nbcolli_translate_send(t, queue, task);
            continue;
        }
        nbcoll_step wait = task->kind == NBCOLL_TASK_WAIT ? nbcolli_translate_wait(t, task) : NBCOLL_START;
        if (wait == NBCOLL_START)
            break;
        nbcoll_after(t->b, wait, q->last);
        nbcoll_after(t->b, wait, q->send_enabler[q->sent]);
        q->last = wait;
    }
    return moved;
}

/* START: it enables more than there is. */
static nbcoll_step nbcolli_translate_enable(nbcolli_translation *t, const nbcoll_task *task)
{
    int is_send = task->kind == NBCOLL_TASK_SEND_ENABLE;
    if (task->queue >= t->p->info.queues)
        return NBCOLL_START;
    const nbcoll_queue_view *v = &t->p->queue[task->queue];
    nbcolli_translate_queue *q = &t->queue[task->queue];
    uint32_t *enabled = is_send ? &q->sends_enabled : &q->receives_enabled;
    uint32_t most = is_send ? v->send_count : v->receive_count;
    if (task->count > most - *enabled)
        return NBCOLL_START;
    nbcoll_step step = nbcoll_add_join(t->b);
    for (uint32_t i = 0; i < task->count; i++)
        (is_send ? q->send_enabler : q->receive_enabler)[(*enabled)++] = step;
    return step;
}

static int nbcolli_translate_management(nbcolli_translation *t, uint32_t queue)
{
    const nbcoll_queue_view *v = &t->p->queue[queue];
    nbcolli_translate_queue *q = &t->queue[queue];
    int moved = 0;
    for (; q->taken < v->send_count; q->taken++, moved = 1) {
        const nbcoll_task *task = &v->sends[q->taken];
        nbcoll_step step = NBCOLL_START;
        if (task->kind == NBCOLL_TASK_WAIT)
            step = nbcolli_translate_wait(t, task);
        else if (task->kind == NBCOLL_TASK_SEND_ENABLE || task->kind == NBCOLL_TASK_RECEIVE_ENABLE)
            step = nbcolli_translate_enable(t, task);
        else if (task->kind == NBCOLL_TASK_CALC)
            step = nbcolli_translate_calc(t, task);
        if (step == NBCOLL_START)
            break;
        nbcoll_after(t->b, step, q->last);
        q->last = step;
    }
    return moved;
}

static void nbcolli_translate_copies(nbcolli_translation *t)
{
    nbcoll_step end = t->p->info.copies ? nbcoll_add_join(t->b) : NBCOLL_START;
    for (uint32_t i = 0; i < t->p->info.queues && end != NBCOLL_START; i++) {
        const nbcolli_translate_queue *q = &t->queue[i];
        nbcoll_after(t->b, end, q->last);
        for (uint32_t k = 0; k < q->sent; k++)
            nbcoll_after(t->b, end, q->send[k]);
    }
    for (uint32_t i = 0; i < t->p->info.copies; i++)
        nbcoll_after(t->b, nbcolli_translate_calc(t, &t->p->copy[i]), end);
}

/* The step of a task that has not run, or START. */
static nbcoll_step nbcolli_translate_left(const nbcolli_translation *t)
{
    for (uint32_t i = 0; i < t->p->info.queues; i++) {
        const nbcoll_queue_view *v = &t->p->queue[i];
        const nbcolli_translate_queue *q = &t->queue[i];
        if (q->taken < v->send_count)
            return v->sends[q->taken].step;
        if (q->posted < v->receive_count)
            return v->receives[q->posted].step;
    }
    return NBCOLL_START;
}

nbcoll_status nbcolli_translate(nbcolli_arena *arena, const nbcoll_program *p, nbcolli_translation *t,
                                nbcoll_schedule **out)
{
    *t = (nbcolli_translation){.arena = arena, .p = p};
    *out = NULL;
    nbcoll_status status = nbcolli_translate_open(t);
    if (status != NBCOLL_OK)
        return status;
    for (int moved = 1; moved;) {
        moved = 0;
        for (uint32_t i = 0; i < p->info.queues; i++)
            if (p->queue[i].kind == NBCOLL_QUEUE_MANAGEMENT)
                moved |= nbcolli_translate_management(t, i);
            else
                moved |= nbcolli_translate_receives(t, i) | nbcolli_translate_sends(t, i);
    }
    t->stuck = nbcolli_translate_left(t);
    if (t->stuck == NBCOLL_START)
        nbcolli_translate_copies(t);
    return nbcoll_builder_finish(t->b, t->stuck == NBCOLL_START ? out : NULL);
}

nbcoll_status nbcoll_program_schedule(const nbcoll_program *program, const nbcoll_host *host, nbcoll_schedule **out)
{
    nbcolli_arena arena = {0};
    nbcolli_translation t;
    if (!program || !out)
        return NBCOLL_ERR_NULL;
    if (host && host->size && nbcolli_copy_tagged(&arena.host, host, sizeof arena.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_translate(&arena, program, &t, out);
    nbcolli_arena_close(&arena);
    return status == NBCOLL_OK && !*out ? NBCOLL_ERR_ARGUMENT : status;
}
