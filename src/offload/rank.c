/* SPDX-License-Identifier: BSD-3-Clause
 * The program of one rank. */
#include "cut.h"
#include "plan.h"
#include "../reduce/reduce.h"

/* Is there a step that nobody but the host can carry out? */
static nbcoll_status nbcolli_rank_check(nbcolli_compile *c, int rank)
{
    const nbcoll_schedule *s = c->schedules[rank];
    for (nbcoll_step step = 0; step < s->steps; step++) {
        const nbcoll_step_view *v = &s->step[step];
        nbcoll_refusal_reason reason = NBCOLL_REFUSAL_NONE;
        if (v->kind == NBCOLL_CALL)
            reason = NBCOLL_REFUSAL_CALL;
        else if (v->kind == NBCOLL_EXPOSE || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE)
            reason = NBCOLL_REFUSAL_EXPOSES;
        else if (nbcolli_is_packed(v->write.at) || nbcolli_is_packed(v->read[0].at))
            reason = NBCOLL_REFUSAL_BLOCKS;
        else if (v->kind == NBCOLL_REDUCE &&
                 (v->reduction.op >= NBCOLL_OP_COUNT || nbcolli_host_type(v->reduction.type)))
            reason = NBCOLL_REFUSAL_COMBINES;
        if (reason != NBCOLL_REFUSAL_NONE)
            return nbcolli_compile_refuse(c, reason, rank, step);
    }
    return NBCOLL_OK;
}

static nbcoll_program_info nbcolli_rank_info(const nbcolli_plan *p)
{
    const nbcoll_program_config *config = &p->c->config;
    nbcoll_program_info info = {.size = sizeof info,
                                .name = p->s->name,
                                .rank = p->rank,
                                .ranks = p->s->ranks,
                                .queues = 3 * p->connections + config->management,
                                .cqs = p->cqs,
                                .tasks = p->drafts - p->copies,
                                .connections = p->connections,
                                .queue_pairs = (uint64_t)3 * p->connections * config->in_flight,
                                .buffers = p->buffers,
                                .copies = p->copies,
                                .eager = config->eager,
                                .threshold = config->threshold,
                                .fingerprint = p->s->fingerprint,
                                .blocks = {(uint32_t)p->s->extent[NBCOLL_BUFFER_SEND_BLOCK],
                                           (uint32_t)p->s->extent[NBCOLL_BUFFER_RECV_BLOCK]}};
    for (int i = 0; i <= NBCOLL_BUFFER_SCRATCH; i++)
        info.extent[i] = p->s->extent[i];
    return info;
}

static nbcoll_status nbcolli_rank_fits(nbcolli_compile *c, const nbcoll_program_info *info)
{
    const nbcoll_program_config *config = &c->config;
    uint64_t buffers = (uint64_t)info->buffers * config->in_flight;
    if (info->tasks > UINT32_MAX / 2 || info->buffers > UINT32_MAX / 2)
        return NBCOLL_ERR_LIMIT;
    if (config->tasks && info->tasks > config->tasks)
        return nbcolli_compile_refuse_number(c, NBCOLL_REFUSAL_TASKS, info->rank, info->tasks, config->tasks);
    if (config->queue_pairs && info->queue_pairs > config->queue_pairs)
        return nbcolli_compile_refuse_number(c, NBCOLL_REFUSAL_QUEUE_PAIRS, info->rank, info->queue_pairs,
                                             config->queue_pairs);
    if (config->buffers && buffers > config->buffers)
        return nbcolli_compile_refuse_number(c, NBCOLL_REFUSAL_BUFFERS, info->rank, buffers, config->buffers);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_rank_draft(nbcolli_plan *p)
{
    nbcoll_status status = nbcolli_plan_connect(p);
    if (status == NBCOLL_OK)
        status = nbcolli_plan_branches(p);
    if (status == NBCOLL_OK)
        status = nbcolli_plan_order(p);
    uint32_t queues = 3 * p->connections + p->c->config.management;
    p->last = nbcolli_arena_take(&p->c->arena, queues, sizeof *p->last);
    if (!p->last)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 3 * p->connections; status == NBCOLL_OK && i < queues; i++)
        p->queue[i] = (nbcoll_queue_view){
            .kind = NBCOLL_QUEUE_MANAGEMENT, .peer = -1, .send_cq = NBCOLL_NO_QUEUE, .receive_cq = NBCOLL_NO_QUEUE};
    for (size_t i = 0; i < p->events && status == NBCOLL_OK; i++)
        status = nbcolli_plan_emit(p, &p->event[p->order[i].value]);
    return status == NBCOLL_OK ? nbcolli_plan_emit_end(p) : status;
}

nbcoll_status nbcolli_compile_rank(nbcolli_compile *c, int rank, nbcoll_program **out)
{
    nbcolli_compile own = *c; /* with memory of its own, while this rank is at work */
    own.arena.chunks = NULL;
    nbcolli_plan p = {.c = &own, .rank = rank, .s = c->schedules[rank]};
    nbcoll_status status = nbcolli_rank_draft(&p);
    if (status == NBCOLL_OK) {
        nbcoll_program_info info = nbcolli_rank_info(&p);
        status = nbcolli_rank_fits(c, &info);
        if (status == NBCOLL_OK && out)
            status = nbcolli_program_make(&c->arena.host, &own.arena, info, p.queue, p.draft, p.drafts, out);
    }
    nbcolli_arena_close(&own.arena);
    return status;
}

/* ---- all ranks --------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_compile_config(nbcolli_compile *c, const nbcoll_program_config *config)
{
    nbcoll_program_config *own = &c->config;
    if (nbcolli_copy_tagged(own, config, sizeof *own) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (own->host && own->host->size &&
        nbcolli_copy_tagged(&c->arena.host, own->host, sizeof c->arena.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    own->threshold = own->threshold ? own->threshold : 16384;
    own->eager = own->eager ? own->eager : 4096;
    own->in_flight = own->in_flight ? own->in_flight : 1;
    own->management = own->management ? own->management : 8;
    own->keeps_scratch |= own->in_parts;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_compile_open(nbcolli_compile *c)
{
    c->first = nbcolli_arena_take(&c->arena, (size_t)c->ranks + 1, sizeof *c->first);
    if (!c->first)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < c->ranks; rank++) {
        const nbcoll_schedule *s = c->schedules[rank];
        if (!s)
            return NBCOLL_ERR_NULL;
        if (s->rank != rank || s->ranks != c->ranks)
            return NBCOLL_ERR_RANK;
        c->first[rank + 1] = c->first[rank] + s->steps;
        c->is_bound |= nbcolli_has_blocks(s);
    }
    size_t steps = c->first[c->ranks];
    c->go = nbcolli_arena_take(&c->arena, steps, sizeof *c->go);
    c->done = nbcolli_arena_take(&c->arena, steps, sizeof *c->done);
    c->mate = nbcolli_arena_take(&c->arena, steps, sizeof *c->mate);
    c->order = nbcolli_arena_take(&c->arena, steps, sizeof *c->order);
    return c->go && c->done && c->mate && c->order ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

static nbcoll_status nbcolli_compile_all(nbcolli_compile *c, int first, int count, nbcoll_program *out[])
{
    nbcoll_status status = nbcolli_compile_open(c);
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++)
        status = nbcolli_rank_check(c, rank);
    if (status == NBCOLL_OK) {
        c->is_pairwise = nbcolli_compile_is_pairwise(c);
        status = nbcolli_compile_levels(c);
    }
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++)
        status = nbcolli_compile_rank(c, rank, rank >= first && rank - first < count ? &out[rank - first] : NULL);
    return status;
}

/* Of all steps, or of the inner parts. */
static nbcoll_status nbcolli_compile_parts(nbcolli_compile *c, int first, int count, nbcoll_program *out[],
                                           nbcolli_inners *m)
{
    nbcoll_status status = c->config.in_parts ? nbcolli_inners_open(m, c) : NBCOLL_OK;
    return status == NBCOLL_OK ? nbcolli_compile_all(c, first, count, out) : status;
}

nbcoll_status nbcolli_compile_keeping(const nbcoll_schedule *const schedules[], int ranks,
                                      const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                                      nbcoll_refusal *why, nbcolli_inners *m)
{
    nbcolli_compile c = {.schedules = schedules, .ranks = ranks, .why = {.size = sizeof c.why}};
    if (!schedules || !config || (count && !out))
        return NBCOLL_ERR_NULL;
    if (why && why->size < sizeof why->size)
        return NBCOLL_ERR_CONFIG;
    if (ranks < 1 || first < 0 || count < 0 || first > ranks - count)
        return NBCOLL_ERR_RANK;
    nbcoll_status status = nbcolli_compile_config(&c, config);
    if (status != NBCOLL_OK)
        return status;
    for (int i = 0; i < count; i++)
        out[i] = NULL;
    status = nbcolli_compile_parts(&c, first, count, out, m);
    for (int i = 0; i < count && status != NBCOLL_OK; i++) {
        nbcoll_program_free(out[i]);
        out[i] = NULL;
    }
    nbcolli_arena_close(&c.arena);
    if (why) {
        size_t size = why->size;
        memcpy(why, &c.why, size < sizeof *why ? size : sizeof *why);
        why->size = size;
    }
    return status;
}

nbcoll_status nbcoll_compile(const nbcoll_schedule *const schedules[], int ranks, const nbcoll_program_config *config,
                             int first, int count, nbcoll_program *out[], nbcoll_refusal *why)
{
    nbcolli_inners inners = {.ranks = 0};
    nbcoll_status status = nbcolli_compile_keeping(schedules, ranks, config, first, count, out, why, &inners);
    nbcolli_inners_close(&inners);
    return status;
}
