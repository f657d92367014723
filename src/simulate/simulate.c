/* SPDX-License-Identifier: BSD-3-Clause
 * The simulator's call: checks what it is given, gathers the schedules of all ranks, plays them, and reports. */
#include "simulate.h"

#define SIMULATE_NODE 65536 /* ranks and cores of a node */

static int simulate_link(const nbcoll_sim_link *l)
{
    return l->latency <= NBCOLL_SIM_MOST_NS && l->o_send <= NBCOLL_SIM_MOST_NS && l->o_recv <= NBCOLL_SIM_MOST_NS &&
           l->gap <= NBCOLL_SIM_MOST_NS && l->byte <= NBCOLL_SIM_MOST_PS;
}

static int simulate_program(const nbcoll_sim_program *p)
{
    return p->before <= NBCOLL_SIM_MOST_NS && p->compute <= NBCOLL_SIM_MOST_NS && p->test_every <= NBCOLL_SIM_MOST_NS;
}

static int simulate_limits(const nbcoll_sim_config *c)
{
    const nbcoll_sim_model *m = &c->model;
    if (!simulate_link(&m->inside) || !simulate_link(&m->between) || m->step > NBCOLL_SIM_MOST_NS ||
        m->copy > NBCOLL_SIM_MOST_PS || m->reduce > NBCOLL_SIM_MOST_PS || m->node > SIMULATE_NODE ||
        m->cores > SIMULATE_NODE || m->progress > SIMULATE_NODE || c->noise.period > NBCOLL_SIM_MOST_NS ||
        c->arrival.spread > NBCOLL_SIM_MOST_NS || !simulate_program(&c->program))
        return 0;
    for (int rank = 0; c->programs && rank < c->ranks; rank++)
        if (!simulate_program(&c->programs[rank]))
            return 0;
    return 1;
}

static nbcoll_status simulate_check(const nbcoll_sim_config *c)
{
    const nbcoll_sim_noise *n = &c->noise;
    int is_one_late = c->arrival.pattern == NBCOLL_SIM_ONE_LATE;
    if (c->ranks < 1 || (is_one_late && (c->arrival.rank < 0 || c->arrival.rank >= c->ranks)))
        return NBCOLL_ERR_RANK;
    if ((unsigned)n->phase > NBCOLL_SIM_RANDOM || (unsigned)c->arrival.pattern > NBCOLL_SIM_SCATTERED ||
        n->share > 1000 || (n->period && n->length >= n->period) ||
        (c->model.cores && c->model.cores <= c->model.progress))
        return NBCOLL_ERR_ARGUMENT;
    return simulate_limits(c) ? NBCOLL_OK : NBCOLL_ERR_LIMIT;
}

static nbcoll_status simulate_open(nbcolli_sim *s)
{
    const nbcoll_sim_model *m = &s->config.model;
    uint64_t ranks = (uint64_t)s->config.ranks;
    s->node = m->node ? m->node : 1;
    s->node_cores = m->cores ? m->cores : s->node + m->progress;
    s->workers = s->node_cores - m->progress;
    s->cores = (ranks + s->node - 1) / s->node * s->node_cores;
    s->unended = ranks;
    s->result.first = UINT64_MAX;
    s->shapes.purse = s->queue.purse = &s->purse;
    s->player = nbcolli_purse_take(&s->purse, ranks, sizeof *s->player);
    s->core = nbcolli_purse_take(&s->purse, s->cores, sizeof *s->core);
    return s->player && s->core ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* What the shape of one more rank adds to the result. */
static nbcoll_status simulate_count(nbcolli_sim *s, const nbcolli_shape *shape)
{
    nbcoll_sim_result *r = &s->result;
    s->nodes += shape->nodes;
    s->most_nodes = shape->nodes > s->most_nodes ? shape->nodes : s->most_nodes;
    r->messages += shape->sends;
    r->bytes += shape->bytes;
    r->peers = shape->peers > r->peers ? shape->peers : r->peers;
    r->links = shape->links > r->links ? shape->links : r->links;
    r->shapes = (uint32_t)s->shapes.used;
    return r->bytes < shape->bytes ? NBCOLL_ERR_LIMIT : NBCOLL_OK;
}

static nbcoll_status simulate_gather(nbcolli_sim *s, nbcoll_sim_build *make, void *user)
{
    const nbcoll_sim_config *c = &s->config;
    for (int rank = 0; rank < c->ranks; rank++) {
        nbcoll_schedule *schedule = NULL;
        nbcoll_status status = make(user, rank, &schedule);
        if (status != NBCOLL_OK)
            return status;
        if (!schedule)
            return NBCOLL_ERR_NULL;
        status = schedule->rank == rank && schedule->ranks == c->ranks
                     ? nbcolli_shapes_add(&s->shapes, schedule, &s->player[rank].shape)
                     : NBCOLL_ERR_RANK;
        nbcoll_schedule_free(schedule);
        if (status == NBCOLL_OK)
            status = simulate_count(s, s->player[rank].shape);
        if (status != NBCOLL_OK)
            return status;
        if (c->progress && rank % 1024 == 1023)
            c->progress(c->user, NBCOLL_SIM_BUILDING, (uint64_t)rank + 1, (uint64_t)c->ranks);
    }
    return NBCOLL_OK;
}

static nbcoll_status simulate_set_up(nbcolli_sim *s)
{
    s->states = nbcolli_purse_take(&s->purse, s->nodes, sizeof *s->states);
    s->ready = nbcolli_purse_take(&s->purse, s->most_nodes, sizeof *s->ready);
    if (!s->states || !s->ready)
        return NBCOLL_ERR_MEMORY;
    nbcolli_standing *next = s->states;
    for (int rank = 0; rank < s->config.ranks; rank++) {
        nbcolli_player *p = &s->player[rank];
        p->state = next;
        p->left = p->shape->nodes;
        for (uint32_t i = 0; i < p->left; i++)
            next++->before = p->shape->node[i].before;
    }
    return NBCOLL_OK;
}

static void simulate_close(nbcolli_sim *s)
{
    nbcolli_shapes_free(&s->shapes);
    nbcolli_queue_free(&s->queue);
    nbcolli_purse_give(&s->purse, s->states, s->nodes, sizeof *s->states);
    nbcolli_purse_give(&s->purse, s->ready, s->most_nodes, sizeof *s->ready);
    nbcolli_purse_give(&s->purse, s->player, (size_t)s->config.ranks, sizeof *s->player);
    nbcolli_purse_give(&s->purse, s->core, s->cores, sizeof *s->core);
}

nbcoll_status nbcoll_simulate(const nbcoll_sim_config *config, nbcoll_sim_build *make, void *user,
                              nbcoll_sim_result *out)
{
    nbcolli_sim s = {.nodes = 0};
    if (!config || !make || !out)
        return NBCOLL_ERR_NULL;
    size_t size = out->size;
    if (nbcolli_copy_tagged(&s.config, config, sizeof s.config) != NBCOLL_OK ||
        nbcolli_copy_tagged(&s.result, out, sizeof s.result) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (s.config.host && s.config.host->size &&
        nbcolli_copy_tagged(&s.purse.host, s.config.host, sizeof s.purse.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    s.result = (nbcoll_sim_result){.rank = s.result.rank};
    nbcoll_status status = simulate_check(&s.config);
    if (status != NBCOLL_OK)
        return status;
    if (s.result.rank)
        memset(s.result.rank, 0, (size_t)s.config.ranks * sizeof *s.result.rank);
    status = simulate_open(&s);
    if (status == NBCOLL_OK)
        status = simulate_gather(&s, make, user);
    if (status == NBCOLL_OK)
        status = simulate_set_up(&s);
    if (status == NBCOLL_OK)
        status = nbcolli_play(&s);
    simulate_close(&s);
    if (status != NBCOLL_OK)
        return status;
    s.result.memory = s.purse.most;
    s.result.size = size;
    memcpy(out, &s.result, size < sizeof s.result ? size : sizeof s.result);
    return NBCOLL_OK;
}
