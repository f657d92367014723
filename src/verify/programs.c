/* SPDX-License-Identifier: BSD-3-Clause
 * Proves that programs do what schedules do: the tables make sense; they keep every order of the schedules; no message
 * comes before its receive is posted; and what they do, as schedules again, has the same meaning. */
#include <stdio.h>

#include "proof.h"
#include "translate.h"

typedef struct nbcolli_prove {
    nbcolli_arena arena;
    const nbcoll_schedule *s;
    const nbcoll_program *p;
    nbcolli_translation t;
    nbcoll_schedule *made;
    nbcoll_refutation why;
    nbcolli_earlier before, earlier; /* of the translation; of the schedule */
} nbcolli_prove;

static nbcoll_status nbcolli_prove_refute(nbcolli_prove *v, nbcoll_flaw flaw, nbcoll_step step, nbcoll_step other)
{
    nbcoll_refutation *why = &v->why;
    why->flaw = flaw;
    why->places = other != NBCOLL_START ? 2 : 1;
    why->place[0] = (nbcoll_place){.rank = v->p->info.rank, .step = step};
    why->place[1] = (nbcoll_place){.rank = v->p->info.rank, .step = other};
    int n = snprintf(why->text, sizeof why->text, "%s: program: %s: rank %d, step %lu", v->p->name,
                     nbcoll_flaw_text(flaw), v->p->info.rank, (unsigned long)step);
    if (other != NBCOLL_START && n > 0 && (size_t)n < sizeof why->text)
        snprintf(why->text + n, sizeof why->text - (size_t)n, ", step %lu", (unsigned long)other);
    return NBCOLL_ERR_VERIFY;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* The first task of a queue, to name it by. */
static nbcoll_step nbcolli_prove_step(const nbcoll_queue_view *q)
{
    return q->send_count ? q->sends[0].step : q->receive_count ? q->receives[0].step : NBCOLL_START;
}

/* Tasks of a kind, and signals among them if asked for. */
static uint32_t nbcolli_prove_count(const nbcoll_queue_view *q, nbcoll_task_kind kind, int with_signal)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->send_count; i++)
        n += q->sends[i].kind == kind && (!with_signal || q->sends[i].signal);
    return n;
}

static nbcoll_status nbcolli_prove_queues(nbcolli_prove *v)
{
    for (uint32_t i = 0; i < v->p->info.queues; i++) {
        const nbcoll_queue_view *q = &v->p->queue[i];
        for (uint32_t k = 0; k < i && q->kind != NBCOLL_QUEUE_MANAGEMENT; k++) {
            const nbcoll_queue_view *other = &v->p->queue[k];
            if (other->kind == q->kind && other->peer == q->peer && other->direction == q->direction)
                return nbcolli_prove_refute(v, NBCOLL_FLAW_QUEUE, nbcolli_prove_step(other), nbcolli_prove_step(q));
        }
        int is_held = q->kind == NBCOLL_QUEUE_EAGER && q->held & NBCOLL_HOLDS_RECEIVES;
        for (uint32_t k = 0; k < q->send_count && q->kind == NBCOLL_QUEUE_EAGER; k++)
            is_held |= q->sends[k].read[0].region.bytes > v->p->info.eager;
        if (is_held)
            return nbcolli_prove_refute(v, NBCOLL_FLAW_NOT_READY, nbcolli_prove_step(q), NBCOLL_START);
    }
    return NBCOLL_OK;
}

/* What is held is enabled, as often as there is something, and from one queue. */
static nbcoll_status nbcolli_prove_enables(nbcolli_prove *v, uint32_t queue, nbcoll_task_kind kind)
{
    const nbcoll_queue_view *q = &v->p->queue[queue];
    int is_send = kind == NBCOLL_TASK_SEND_ENABLE;
    int is_held = (q->held & (is_send ? NBCOLL_HOLDS_SENDS : NBCOLL_HOLDS_RECEIVES)) != 0;
    uint32_t all = is_send ? nbcolli_prove_count(q, NBCOLL_TASK_SEND, 0) : q->receive_count, from = NBCOLL_NO_QUEUE;
    uint64_t enabled = 0;
    for (uint32_t i = 0; i < v->p->info.queues; i++)
        for (uint32_t k = 0; k < v->p->queue[i].send_count; k++) {
            const nbcoll_task *t = &v->p->queue[i].sends[k];
            if (t->kind != kind || t->queue != queue)
                continue;
            if (from != NBCOLL_NO_QUEUE && from != i)
                return nbcolli_prove_refute(v, NBCOLL_FLAW_QUEUE, nbcolli_prove_step(q), t->step);
            from = i;
            enabled += t->count;
        }
    if (enabled != (is_held ? all : 0))
        return nbcolli_prove_refute(v, NBCOLL_FLAW_ENABLED, nbcolli_prove_step(q), NBCOLL_START);
    return NBCOLL_OK;
}

/* A completion queue has one end of one queue pair, and is consumed, whole, by one queue. */
static nbcoll_status nbcolli_prove_cq(nbcolli_prove *v, uint32_t cq)
{
    uint64_t entries = 0, awaited = 0;
    uint32_t producers = 0, consumer = NBCOLL_NO_QUEUE;
    nbcoll_step step = NBCOLL_START;
    for (uint32_t i = 0; i < v->p->info.queues; i++) {
        const nbcoll_queue_view *q = &v->p->queue[i];
        if (q->receive_cq == cq || q->send_cq == cq)
            step = nbcolli_prove_step(q);
        producers += (q->receive_cq == cq) + (uint32_t)(q->send_cq == cq);
        entries += q->receive_cq == cq ? q->receive_count : 0;
        entries += q->send_cq == cq ? nbcolli_prove_count(q, NBCOLL_TASK_SEND, 1) : 0;
        for (uint32_t k = 0; k < q->send_count; k++) {
            const nbcoll_task *t = &q->sends[k];
            if (t->kind != NBCOLL_TASK_WAIT || t->cq != cq)
                continue;
            if (consumer != NBCOLL_NO_QUEUE && consumer != i)
                return nbcolli_prove_refute(v, NBCOLL_FLAW_SHARED_CQ, step, t->step);
            consumer = i;
            awaited += t->count;
        }
    }
    if (producers > 1)
        return nbcolli_prove_refute(v, NBCOLL_FLAW_SHARED_CQ, step, NBCOLL_START);
    return awaited == entries ? NBCOLL_OK : nbcolli_prove_refute(v, NBCOLL_FLAW_CONSUMED, step, NBCOLL_START);
}

/* Each receive of data is awaited by somebody, else nobody could tell that the program has ended. */
static nbcoll_status nbcolli_prove_awaited(nbcolli_prove *v)
{
    for (uint32_t i = 0; i < v->p->info.queues; i++) {
        const nbcoll_queue_view *q = &v->p->queue[i];
        if (q->receive_count && q->receive_cq == NBCOLL_NO_QUEUE)
            return nbcolli_prove_refute(v, NBCOLL_FLAW_CONSUMED, nbcolli_prove_step(q), NBCOLL_START);
        if (q->kind == NBCOLL_QUEUE_MANAGEMENT && q->send_count && !q->sends[q->send_count - 1].signal)
            return nbcolli_prove_refute(v, NBCOLL_FLAW_CONSUMED, nbcolli_prove_step(q), NBCOLL_START);
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_prove_tables(nbcolli_prove *v)
{
    nbcoll_status status = nbcolli_prove_queues(v);
    for (uint32_t i = 0; i < v->p->info.queues && status == NBCOLL_OK; i++) {
        status = nbcolli_prove_enables(v, i, NBCOLL_TASK_SEND_ENABLE);
        if (status == NBCOLL_OK)
            status = nbcolli_prove_enables(v, i, NBCOLL_TASK_RECEIVE_ENABLE);
    }
    for (uint32_t i = 0; i < v->p->info.cqs && status == NBCOLL_OK; i++)
        status = nbcolli_prove_cq(v, i);
    return status == NBCOLL_OK ? nbcolli_prove_awaited(v) : status;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

/* Whatever must have ended before the step of the schedule that `step` begins has ended before it. */
static nbcoll_status nbcolli_prove_kept(nbcolli_prove *v, nbcoll_step step)
{
    const nbcolli_translated *mine = &v->t.step[step];
    for (nbcoll_step other = NBCOLL_END + 1; other < v->made->steps; other++) {
        const nbcolli_translated *o = &v->t.step[other];
        if (o->is & NBCOLLI_ENDS && o->of != NBCOLL_END && nbcolli_is_earlier(&v->earlier, o->of, mine->of) &&
            !nbcolli_is_earlier(&v->before, other, step))
            return nbcolli_prove_refute(v, NBCOLL_FLAW_UNORDERED, o->of, mine->of);
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_prove_order_kept(nbcolli_prove *v)
{
    nbcoll_status status = NBCOLL_OK;
    if (!nbcolli_earlier_open(&v->arena, &v->before, v->made->steps) ||
        !nbcolli_earlier_open(&v->arena, &v->earlier, v->s->steps))
        return NBCOLL_ERR_MEMORY;
    nbcolli_earlier_fill(&v->before, v->made);
    nbcolli_earlier_fill(&v->earlier, v->s);
    for (nbcoll_step step = NBCOLL_END + 1; step < v->made->steps && status == NBCOLL_OK; step++) {
        const nbcolli_translated *mine = &v->t.step[step];
        if (mine->of >= v->s->steps)
            return NBCOLL_ERR_ARGUMENT;
        if (mine->is & NBCOLLI_BEGINS && mine->of != NBCOLL_END)
            status = nbcolli_prove_kept(v, step);
    }
    return status;
}

/* ---- readiness ------------------------------------------------------------------------------------------------- */

static const nbcoll_queue_view *nbcolli_prove_pair(const nbcolli_prove *v, const nbcoll_queue_view *q,
                                                   nbcoll_queue_kind kind, uint32_t *number)
{
    for (*number = 0; *number < v->p->info.queues; ++*number) {
        const nbcoll_queue_view *other = &v->p->queue[*number];
        if (other->kind == kind && other->peer == q->peer && other->direction == q->direction)
            return other;
    }
    return NULL;
}

/* Before the i-th long message stand i waits for clear-to-sends. */
static nbcoll_status nbcolli_prove_cleared(nbcolli_prove *v, const nbcoll_queue_view *q)
{
    uint32_t number, cleared = 0, sent = 0;
    const nbcoll_queue_view *clear = nbcolli_prove_pair(v, q, NBCOLL_QUEUE_CLEAR, &number);
    for (uint32_t i = 0; i < q->send_count; i++) {
        const nbcoll_task *t = &q->sends[i];
        if (t->kind == NBCOLL_TASK_WAIT && clear && t->cq == clear->receive_cq)
            cleared += t->count;
        if (t->kind == NBCOLL_TASK_SEND && ++sent > cleared)
            return nbcolli_prove_refute(v, NBCOLL_FLAW_NOT_READY, t->step, NBCOLL_START);
    }
    return NBCOLL_OK;
}

/* The i-th clear-to-send goes out when the i-th receive is posted, and for each there is one. */
static nbcoll_status nbcolli_prove_posted(nbcolli_prove *v, uint32_t queue)
{
    const nbcoll_queue_view *q = &v->p->queue[queue];
    uint32_t number;
    const nbcoll_queue_view *clear = nbcolli_prove_pair(v, q, NBCOLL_QUEUE_CLEAR, &number);
    if (q->receive_count && (!clear || clear->send_count != q->receive_count))
        return nbcolli_prove_refute(v, NBCOLL_FLAW_NOT_READY, nbcolli_prove_step(q), NBCOLL_START);
    for (uint32_t i = 0; i < q->receive_count; i++) {
        nbcoll_step enabler = v->t.queue[queue].receive_enabler[i];
        if (enabler != NBCOLL_START && !nbcolli_is_earlier(&v->before, enabler, v->t.queue[number].send[i]))
            return nbcolli_prove_refute(v, NBCOLL_FLAW_NOT_READY, q->receives[i].step, NBCOLL_START);
    }
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_prove_ready(nbcolli_prove *v)
{
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < v->p->info.queues && status == NBCOLL_OK; i++) {
        if (v->p->queue[i].kind != NBCOLL_QUEUE_BULK)
            continue;
        status = nbcolli_prove_cleared(v, &v->p->queue[i]);
        if (status == NBCOLL_OK)
            status = nbcolli_prove_posted(v, i);
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_prove_one(nbcolli_prove *v)
{
    nbcoll_status status = nbcolli_prove_tables(v);
    if (status == NBCOLL_OK)
        status = nbcolli_translate(&v->arena, v->p, &v->t, &v->made);
    if (status == NBCOLL_OK && !v->made)
        return nbcolli_prove_refute(v, NBCOLL_FLAW_STUCK, v->t.stuck, NBCOLL_START);
    if (status == NBCOLL_OK)
        status = nbcolli_prove_order_kept(v);
    return status == NBCOLL_OK ? nbcolli_prove_ready(v) : status;
}

static nbcoll_status nbcolli_prove_all(nbcolli_prove *v, const nbcoll_schedule *const schedules[],
                                       const nbcoll_program *const programs[], const nbcoll_meaning *meaning,
                                       nbcoll_schedule **made)
{
    const nbcoll_host host = v->arena.host;
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < meaning->ranks && status == NBCOLL_OK; rank++) {
        v->s = schedules[rank];
        v->p = programs[rank];
        v->made = NULL;
        if (!v->s || !v->p)
            return NBCOLL_ERR_NULL;
        if (v->s->rank != rank || v->s->ranks != meaning->ranks || v->p->info.rank != rank ||
            v->p->info.ranks != meaning->ranks)
            return NBCOLL_ERR_RANK;
        status = nbcolli_prove_one(v);
        made[rank] = v->made;
        nbcolli_arena_close(&v->arena);
        v->arena.chunks = NULL;
    }
    return status == NBCOLL_OK ? nbcoll_verify((const nbcoll_schedule *const *)made, meaning, &host, &v->why) : status;
}

nbcoll_status nbcoll_verify_programs(const nbcoll_schedule *const schedules[], const nbcoll_program *const programs[],
                                     const nbcoll_meaning *meaning, const nbcoll_host *host, nbcoll_refutation *out)
{
    nbcolli_prove v = {.why = {.size = sizeof v.why}};
    size_t size = out ? out->size : sizeof v.why;
    if (!schedules || !programs || !meaning)
        return NBCOLL_ERR_NULL;
    if (size < sizeof size || (host && host->size && nbcolli_copy_tagged(&v.arena.host, host, sizeof v.arena.host)))
        return NBCOLL_ERR_CONFIG;
    if (meaning->ranks < 1)
        return NBCOLL_ERR_RANK;
    nbcolli_arena rows = {.host = v.arena.host};
    nbcoll_schedule **made = nbcolli_arena_take(&rows, (size_t)meaning->ranks, sizeof(nbcoll_schedule *));
    nbcoll_status status = made ? nbcolli_prove_all(&v, schedules, programs, meaning, made) : NBCOLL_ERR_MEMORY;
    nbcolli_arena_close(&v.arena);
    for (int rank = 0; made && rank < meaning->ranks; rank++)
        if (made[rank])
            nbcoll_schedule_free(made[rank]);
    nbcolli_arena_close(&rows);
    nbcolli_refutation_give(&v.why, out);
    return status;
}
