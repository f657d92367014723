/* SPDX-License-Identifier: BSD-3-Clause
 * The simulator's call: checks what it is given, gathers the schedules of all ranks, plays them, and reports. */
#include "simulate.h"

#define NBCOLLI_SIMULATE_NODE 65536 /* ranks and cores of a node */

static int nbcolli_simulate_link(const nbcoll_sim_link *l)
{
    return l->latency <= NBCOLL_SIM_MOST_NS && l->o_send <= NBCOLL_SIM_MOST_NS && l->o_recv <= NBCOLL_SIM_MOST_NS &&
           l->gap <= NBCOLL_SIM_MOST_NS && l->byte <= NBCOLL_SIM_MOST_PS;
}

static int nbcolli_simulate_limits(const nbcoll_sim_config *c, const nbcoll_sim_model *m)
{
    if (!nbcolli_simulate_link(&m->inside) || !nbcolli_simulate_link(&m->between) ||
        !nbcolli_simulate_link(&m->domain) || m->step > NBCOLL_SIM_MOST_NS || m->wake > NBCOLL_SIM_MOST_NS ||
        m->table > NBCOLL_SIM_MOST_NS || m->contention > NBCOLL_SIM_MOST_NS || m->unexpected > NBCOLL_SIM_MOST_NS ||
        m->tick > NBCOLL_SIM_MOST_NS || m->task > NBCOLL_SIM_MOST_NS || m->unexpected_byte > NBCOLL_SIM_MOST_PS ||
        m->interfaces > NBCOLLI_SIMULATE_NODE || m->copy > NBCOLL_SIM_MOST_PS || m->reduce > NBCOLL_SIM_MOST_PS ||
        m->node > NBCOLLI_SIMULATE_NODE || m->cores > NBCOLLI_SIMULATE_NODE || m->progress > NBCOLLI_SIMULATE_NODE ||
        c->noise.period > NBCOLL_SIM_MOST_NS || c->arrival.spread > NBCOLL_SIM_MOST_NS ||
        (uint64_t)c->ranks * c->operations > UINT32_MAX)
        return 0;
    return 1;
}

static nbcoll_status nbcolli_simulate_check(const nbcoll_sim_config *c, const nbcoll_sim_model *m)
{
    const nbcoll_sim_noise *n = &c->noise;
    int is_one_late = c->arrival.pattern == NBCOLL_SIM_ONE_LATE;
    if (c->ranks < 1 || (is_one_late && (c->arrival.rank < 0 || c->arrival.rank >= c->ranks)) ||
        (c->nodes && c->nodes->ranks != c->ranks))
        return NBCOLL_ERR_RANK;
    if ((unsigned)n->phase > NBCOLL_SIM_RANDOM || (unsigned)c->arrival.pattern > NBCOLL_SIM_SCATTERED ||
        n->share > 1000 || (n->period && n->length >= n->period) || m->lanes > 1 || m->pool > 1 ||
        (m->tick && m->tick_cost >= m->tick) || (m->cores && m->cores <= m->progress) || (m->task && !m->progress))
        return NBCOLL_ERR_ARGUMENT;
    return nbcolli_simulate_limits(c, m) ? nbcolli_programs_check(c) : NBCOLL_ERR_LIMIT;
}

/* The nodes: how many, and the ranks of the largest. */
static uint64_t nbcolli_simulate_nodes(nbcolli_sim *s)
{
    const nbcoll_nodes *nodes = s->config.nodes;
    const nbcoll_sim_link *d = &s->model.domain;
    int is_priced = d->latency || d->o_send || d->o_recv || d->gap || d->byte;
    s->domains = nodes && is_priced ? nbcoll_nodes_domains(nodes) : NULL;
    s->node = s->model.node ? s->model.node : 1;
    if (!nodes)
        return ((uint64_t)s->config.ranks + s->node - 1) / s->node;
    s->node = 1;
    for (int i = 0; i < nodes->count; i++)
        s->node = (uint32_t)nbcolli_later(s->node, (uint64_t)nbcoll_node_size(nodes, i));
    return (uint64_t)nodes->count;
}

static nbcoll_status nbcolli_simulate_open(nbcolli_sim *s)
{
    const nbcoll_sim_model *m = &s->model;
    uint64_t ranks = (uint64_t)s->config.ranks, nodes = nbcolli_simulate_nodes(s);
    s->node_cores = m->cores ? m->cores : s->node + m->progress;
    s->workers = s->node_cores - m->progress;
    s->cores = nodes * s->node_cores;
    s->interfaces = m->interfaces ? nodes * m->interfaces : ranks;
    s->puts_off = m->lanes || m->unexpected || m->unexpected_byte;
    s->unended = ranks;
    s->runs = (uint32_t)s->config.ranks * s->config.operations;
    s->result.first = UINT64_MAX;
    s->shapes.purse = s->queue.purse = &s->purse;
    s->player = nbcolli_purse_take(&s->purse, ranks, sizeof *s->player);
    s->run = nbcolli_purse_take(&s->purse, s->runs, sizeof *s->run);
    s->core = nbcolli_purse_take(&s->purse, s->cores, sizeof *s->core);
    s->interface = nbcolli_purse_take(&s->purse, s->interfaces, sizeof *s->interface);
    return s->player && s->run && s->core && s->interface ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* What the shape of one more run adds to the result. */
static nbcoll_status nbcolli_simulate_count(nbcolli_sim *s, const nbcolli_shape *shape)
{
    nbcoll_sim_result *r = &s->result;
    s->nodes += shape->nodes;
    s->most_nodes = shape->nodes > s->most_nodes ? shape->nodes : s->most_nodes;
    r->messages += shape->messages;
    r->fetches += shape->fetches;
    r->fetched += shape->fetched;
    r->bytes += shape->bytes;
    r->peers = shape->peers > r->peers ? shape->peers : r->peers;
    r->links = shape->links > r->links ? shape->links : r->links;
    r->shapes = (uint32_t)s->shapes.used;
    return r->bytes < shape->bytes || r->fetched < shape->fetched ? NBCOLL_ERR_LIMIT : NBCOLL_OK;
}

static nbcoll_status nbcolli_simulate_gather_one(nbcolli_sim *s, uint32_t operation, int rank, nbcoll_sim_build *make,
                                                 void *user)
{
    const nbcoll_sim_config *c = &s->config;
    nbcolli_sim_run *run = &s->run[operation * (uint32_t)c->ranks + (uint32_t)rank];
    nbcoll_schedule *schedule = NULL;
    if (c->repeat && operation >= c->repeat) {
        run->shape = s->run[operation % c->repeat * (uint32_t)c->ranks + (uint32_t)rank].shape;
        return nbcolli_simulate_count(s, run->shape);
    }
    nbcoll_status status = make(user, operation, rank, &schedule);
    if (status != NBCOLL_OK)
        return status;
    if (!schedule)
        return NBCOLL_ERR_NULL;
    status = schedule->rank == rank && schedule->ranks == c->ranks
                 ? nbcolli_shapes_add(&s->shapes, schedule, (nbcolli_sim_blocks){c, user, operation}, &run->shape)
                 : NBCOLL_ERR_RANK;
    nbcoll_schedule_free(schedule);
    return status == NBCOLL_OK ? nbcolli_simulate_count(s, run->shape) : status;
}

static nbcoll_status nbcolli_simulate_gather(nbcolli_sim *s, nbcoll_sim_build *make, void *user)
{
    const nbcoll_sim_config *c = &s->config;
    nbcoll_status status = NBCOLL_OK;
    uint64_t done = 0;
    for (uint32_t operation = 0; operation < c->operations && status == NBCOLL_OK; operation++)
        for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++) {
            status = nbcolli_simulate_gather_one(s, operation, rank, make, user);
            if (c->progress && ++done % 1024 == 0)
                c->progress(c->user, NBCOLL_SIM_BUILDING, done, s->runs);
        }
    return status;
}

static nbcoll_status nbcolli_simulate_set_up(nbcolli_sim *s)
{
    s->states = nbcolli_purse_take(&s->purse, s->nodes, sizeof *s->states);
    s->ready = nbcolli_purse_take(&s->purse, s->most_nodes, sizeof *s->ready);
    if (!s->states || !s->ready)
        return NBCOLL_ERR_MEMORY;
    nbcolli_preposted *next = s->states;
    for (uint32_t i = 0; i < s->runs; i++) {
        nbcolli_sim_run *r = &s->run[i];
        r->state = next;
        r->left = r->shape->steps & 0x1fffffff; /* fewer than 2^28 */
        r->starting = r->shape->starting & 0x1fffffff;
        for (uint32_t k = 0; k < r->shape->nodes; k++)
            next++->before = r->shape->node[k].before;
    }
    return nbcolli_contend_open(s);
}

nbcoll_status nbcoll_simulate(const nbcoll_sim_config *config, nbcoll_sim_build *make, void *user,
                              nbcoll_sim_result *out)
{
    nbcolli_sim s = {.nodes = 0};
    if (!config || !make || !out)
        return NBCOLL_ERR_NULL;
    size_t size = out->size;
    if (nbcolli_copy_tagged(&s.config, config, sizeof s.config) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!s.config.model)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&s.model, s.config.model, sizeof s.model) != NBCOLL_OK ||
        nbcolli_copy_tagged(&s.result, out, sizeof s.result) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (s.config.host && s.config.host->size &&
        nbcolli_copy_tagged(&s.purse.host, s.config.host, sizeof s.purse.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    s.result = (nbcoll_sim_result){.rank = s.result.rank};
    s.config.operations = s.config.operations ? s.config.operations : 1;
    nbcoll_status status = nbcolli_simulate_check(&s.config, &s.model);
    if (status != NBCOLL_OK)
        return status;
    if (s.result.rank)
        memset(s.result.rank, 0, (size_t)s.config.ranks * s.config.operations * sizeof *s.result.rank);
    status = nbcolli_simulate_open(&s);
    if (status == NBCOLL_OK)
        status = nbcolli_simulate_gather(&s, make, user);
    if (status == NBCOLL_OK)
        status = nbcolli_simulate_set_up(&s);
    if (status == NBCOLL_OK)
        status = nbcolli_play(&s);
    nbcolli_purse_close(&s.purse);
    if (status != NBCOLL_OK)
        return status;
    s.result.memory = s.purse.most;
    s.result.size = size;
    memcpy(out, &s.result, size < sizeof s.result ? size : sizeof s.result);
    return NBCOLL_OK;
}
