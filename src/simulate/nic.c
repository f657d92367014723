/* SPDX-License-Identifier: BSD-3-Clause
 * The virtual NIC: programs in virtual time. */
#include "nbcoll/nic.h"
#include "simulate.h"

/* What has happened to a queue of a rank: its NIC has done the task at its head; a message has come; a send has ended,
 * with or without an entry; or, of no queue, its host has posted all. */
enum { NBCOLLI_NIC_DONE, NBCOLLI_NIC_CAME, NBCOLLI_NIC_SENT, NBCOLLI_NIC_SIGNAL, NBCOLLI_NIC_POSTED };
#define NBCOLLI_NIC_KIND 3u /* bits */

/* A queue while it is played: `at` is its next task. */
typedef struct nbcolli_nic_queue {
    const nbcoll_queue_view *view;
    uint32_t at, sent, enabled;
    uint32_t mate; /* the other end, of the peer's */
    uint32_t port; /* of its NIC, if queue pairs have ports */
    int is_busy;   /* its NIC has the task */
} nbcolli_nic_queue;

typedef struct nbcolli_nic_player {
    nbcolli_nic_queue *queue; /* [queues] */
    uint64_t *entries;         /* [cqs] */
    uint32_t queues, nic;
    uint32_t left; /* tasks of queues, and sends that have not ended */
    int has_posted;
    nbcoll_nic_rank told;
} nbcolli_nic_player;

typedef struct nbcolli_nic {
    uint64_t free, pairs;
    uint64_t *out, *in; /* [ports]: when they are free */
    uint32_t next_out, next_in;
} nbcolli_nic;

typedef struct nbcolli_nic_game {
    nbcolli_purse purse;
    nbcolli_queue events;
    nbcoll_nic_model model; /* no 0 where that means 1 */
    nbcoll_bind *bind;       /* as in the config */
    void *const *bind_user;
    nbcoll_nic_port *port;
    void *port_user;
    const nbcoll_program *const *programs;
    uint32_t ranks, nics;
    nbcolli_nic_player *player;
    nbcolli_nic *nic;
    uint64_t *ports; /* [NICs][2][ports] */
    uint64_t tasks;
} nbcolli_nic_game;

static nbcoll_status nbcolli_nic_put(nbcolli_nic_game *g, uint64_t t, uint32_t rank, uint32_t queue, uint32_t kind)
{
    nbcolli_happening h = {t, rank, queue << NBCOLLI_NIC_KIND | kind};
    return nbcolli_queue_put(&g->events, h) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* Where a block of a rank lies. */
static nbcoll_region nbcolli_nic_bound(const nbcolli_nic_game *g, uint32_t rank, int is_recv, uint32_t index)
{
    return g->bind(g->bind_user ? g->bind_user[rank] : NULL, is_recv, (int)index);
}

static uint64_t nbcolli_nic_bytes(const nbcolli_nic_game *g, uint32_t rank, const nbcoll_task_bytes *of)
{
    const nbcoll_region *r = &of->region;
    if (!nbcolli_is_block(r->at))
        return r->bytes;
    return nbcolli_nic_bound(g, rank, nbcolli_is_recv_block(r->at), (uint32_t)r->at.offset).bytes;
}

/* ---- NICs -------------------------------------------------------------------------------------------------------- */

/* The NIC takes up a task of a queue. */
static nbcoll_status nbcolli_nic_work(nbcolli_nic_game *g, uint64_t t, uint32_t rank, uint32_t queue)
{
    nbcolli_nic_player *p = &g->player[rank];
    nbcolli_nic_queue *q = &p->queue[queue];
    nbcolli_nic *nic = &g->nic[p->nic];
    const nbcoll_task *task = &q->view->sends[q->at];
    uint64_t works = g->model.task;
    if (q->view->peer >= 0 && g->model.cached && nic->pairs > g->model.cached)
        works += g->model.miss * (nic->pairs - g->model.cached) / nic->pairs;
    if (task->kind == NBCOLL_TASK_CALC)
        works += nbcolli_price(nbcolli_nic_bytes(g, rank, &task->write), g->model.calc);
    nic->free = nbcolli_later(nic->free, t) + works;
    q->is_busy = 1;
    g->tasks++;
    return nbcolli_nic_put(g, nic->free, rank, queue, NBCOLLI_NIC_DONE);
}

static nbcoll_status nbcolli_nic_send(nbcolli_nic_game *g, uint64_t t, uint32_t rank, uint32_t queue)
{
    nbcolli_nic_queue *q = &g->player[rank].queue[queue];
    const nbcoll_task *task = &q->view->sends[q->at];
    uint32_t peer = (uint32_t)q->view->peer;
    nbcolli_nic *from = &g->nic[g->player[rank].nic], *to = &g->nic[g->player[peer].nic];
    uint32_t sends = g->port ? q->port : from->next_out++ % g->model.ports;
    uint32_t receives = g->port ? g->player[peer].queue[q->mate].port : to->next_in++ % g->model.ports;
    uint64_t *out = &from->out[sends], *in = &to->in[receives];
    uint64_t bytes = nbcolli_nic_bytes(g, rank, &task->read[0]);
    uint64_t keeps = nbcolli_later(nbcolli_price(bytes, g->model.byte), g->model.gap);
    uint64_t leaves = nbcolli_later(t, *out);
    *out = leaves + keeps;
    *in = nbcolli_later(leaves + g->model.latency, *in) + keeps;
    nbcoll_status status = nbcolli_nic_put(g, *in, peer, q->mate, NBCOLLI_NIC_CAME);
    if (status == NBCOLL_OK)
        status = nbcolli_nic_put(g, *in + g->model.latency, rank, queue,
                                  task->signal ? NBCOLLI_NIC_SIGNAL : NBCOLLI_NIC_SENT);
    return status;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* May the task at the head of a queue be taken up? A wait then has consumed its entries. */
static int nbcolli_nic_may(nbcolli_nic_player *p, nbcolli_nic_queue *q)
{
    const nbcoll_task *task = &q->view->sends[q->at];
    if (q->view->peer >= 0 && q->view->held & NBCOLL_HOLDS_SENDS && q->sent >= q->enabled)
        return 0;
    if (task->kind != NBCOLL_TASK_WAIT)
        return 1;
    if (p->entries[task->cq] < task->count)
        return 0;
    p->entries[task->cq] -= task->count;
    return 1;
}

/* All queues of a rank take up what they can. */
static nbcoll_status nbcolli_nic_go_on(nbcolli_nic_game *g, uint64_t t, uint32_t rank)
{
    nbcolli_nic_player *p = &g->player[rank];
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t i = 0; i < p->queues && p->has_posted && status == NBCOLL_OK; i++) {
        nbcolli_nic_queue *q = &p->queue[i];
        if (!q->is_busy && q->at < q->view->send_count && nbcolli_nic_may(p, q))
            status = nbcolli_nic_work(g, t, rank, i);
    }
    return status;
}

/* The NIC has done the task at the head of a queue. */
static nbcoll_status nbcolli_nic_done(nbcolli_nic_game *g, uint64_t t, uint32_t rank, uint32_t queue)
{
    nbcolli_nic_player *p = &g->player[rank];
    nbcolli_nic_queue *q = &p->queue[queue];
    const nbcoll_task *task = &q->view->sends[q->at];
    nbcoll_status status = NBCOLL_OK;
    if (task->kind == NBCOLL_TASK_SEND) {
        q->sent++;
        status = nbcolli_nic_send(g, t, rank, queue);
    } else {
        if (task->kind == NBCOLL_TASK_SEND_ENABLE)
            p->queue[task->queue].enabled += task->count;
        p->left--;
    }
    q->at++;
    q->is_busy = 0;
    return status;
}

static nbcoll_status nbcolli_nic_happens(nbcolli_nic_game *g, nbcolli_happening h)
{
    uint32_t queue = h.what >> NBCOLLI_NIC_KIND, kind = h.what & ((1u << NBCOLLI_NIC_KIND) - 1);
    nbcolli_nic_player *p = &g->player[h.run];
    const nbcoll_queue_view *view = p->queues ? p->queue[queue].view : NULL;
    uint32_t cq = NBCOLL_NO_QUEUE;
    nbcoll_status status = NBCOLL_OK;
    if (kind == NBCOLLI_NIC_POSTED)
        p->has_posted = 1;
    else if (kind == NBCOLLI_NIC_DONE)
        status = nbcolli_nic_done(g, h.time, h.run, queue);
    else if (kind == NBCOLLI_NIC_CAME)
        cq = view->receive_cq;
    else {
        cq = kind == NBCOLLI_NIC_SIGNAL ? view->send_cq : NBCOLL_NO_QUEUE;
        p->left--;
    }
    if (cq != NBCOLL_NO_QUEUE)
        p->entries[cq]++;
    if (!p->left && kind != NBCOLLI_NIC_CAME)
        p->told.ended = nbcolli_later(p->told.ended, h.time);
    return status == NBCOLL_OK ? nbcolli_nic_go_on(g, h.time, h.run) : status;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static int nbcolli_nic_are_ends(const nbcoll_queue_view *a, int rank, const nbcoll_queue_view *b)
{
    int is_joined = a->direction == NBCOLL_BOTH_WAYS ? b->direction == NBCOLL_BOTH_WAYS
                                                     : b->direction != NBCOLL_BOTH_WAYS && a->direction != b->direction;
    return b->kind == a->kind && b->peer == rank && is_joined;
}

/* Of a queue pair that nothing is sent on the other end may be missing. */
static int nbcolli_nic_join(nbcolli_nic_game *g, uint32_t rank, nbcolli_nic_queue *q)
{
    if (q->view->peer < 0 || !q->view->send_count)
        return 1;
    if ((uint32_t)q->view->peer >= g->ranks)
        return 0;
    const nbcolli_nic_player *peer = &g->player[q->view->peer];
    while (q->mate < peer->queues && !nbcolli_nic_are_ends(q->view, (int)rank, peer->queue[q->mate].view))
        q->mate++;
    return q->mate < peer->queues;
}

/* Blocks have places that they may have. */
static nbcoll_status nbcolli_nic_bind(const nbcolli_nic_game *g, uint32_t rank, const nbcoll_program_info *info)
{
    for (int is_recv = 0; is_recv < 2; is_recv++)
        for (uint32_t i = 0; i < info->blocks[is_recv]; i++) {
            if (!g->bind)
                return NBCOLL_ERR_UNSUPPORTED; /* nobody says how long they are */
            nbcoll_region r = nbcolli_nic_bound(g, rank, is_recv, i);
            if (r.at.buffer != NBCOLL_BUFFER_RECV && (is_recv || r.at.buffer != NBCOLL_BUFFER_SEND))
                return NBCOLL_ERR_ARGUMENT;
            if (r.bytes > NBCOLL_SIM_MOST_BYTES)
                return NBCOLL_ERR_LIMIT;
        }
    return NBCOLL_OK;
}

/* Copies, and messages from end to end, have one length. */
static int nbcolli_nic_agrees(const nbcolli_nic_game *g, uint32_t rank, const nbcolli_nic_queue *q)
{
    int has_other = q->view->peer >= 0 && q->view->send_count;
    const nbcoll_queue_view *to = has_other ? g->player[q->view->peer].queue[q->mate].view : NULL;
    uint32_t sent = 0;
    for (uint32_t i = 0; i < q->view->send_count; i++) {
        const nbcoll_task *t = &q->view->sends[i];
        uint64_t bytes = nbcolli_nic_bytes(g, rank, &t->read[0]);
        if (t->kind == NBCOLL_TASK_CALC && bytes != nbcolli_nic_bytes(g, rank, &t->write))
            return 0;
        if (t->kind == NBCOLL_TASK_SEND && to && sent < to->receive_count &&
            bytes != nbcolli_nic_bytes(g, (uint32_t)q->view->peer, &to->receives[sent++].write))
            return 0;
    }
    return 1;
}

static nbcoll_status nbcolli_nic_enter(nbcolli_nic_game *g, uint32_t rank)
{
    nbcoll_program_info info = {.size = sizeof info};
    nbcolli_nic_player *p = &g->player[rank];
    nbcoll_status status = nbcoll_program_query(g->programs[rank], &info);
    if (status != NBCOLL_OK)
        return status;
    if (info.rank != (int)rank || info.ranks != (int)g->ranks)
        return NBCOLL_ERR_RANK;
    status = nbcolli_nic_bind(g, rank, &info);
    if (status != NBCOLL_OK)
        return status;
    p->nic = rank / g->model.node * g->model.nics + rank % g->model.node % g->model.nics;
    p->queue = nbcolli_purse_take(&g->purse, info.queues, sizeof *p->queue);
    p->entries = nbcolli_purse_take(&g->purse, info.cqs, sizeof *p->entries);
    p->queues = p->queue ? info.queues : 0;
    if (!p->queue || !p->entries)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < info.queues; i++) {
        const nbcoll_queue_view *view = nbcoll_program_queue(g->programs[rank], i);
        p->queue[i].view = view;
        p->queue[i].port = g->port && view->peer >= 0 ? g->port(g->port_user, (int)rank, view) % g->model.ports : 0;
        p->left += p->queue[i].view->send_count;
    }
    g->nic[p->nic].pairs += info.queue_pairs;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_nic_open(nbcolli_nic_game *g)
{
    uint32_t nodes = (g->ranks - 1) / g->model.node + 1;
    nbcoll_status status = NBCOLL_OK;
    g->nics = nodes * g->model.nics;
    g->events.purse = &g->purse;
    g->player = nbcolli_purse_take(&g->purse, g->ranks, sizeof *g->player);
    g->nic = nbcolli_purse_take(&g->purse, g->nics, sizeof *g->nic);
    g->ports = nbcolli_purse_take(&g->purse, (size_t)g->nics * 2 * g->model.ports, sizeof *g->ports);
    if (!g->player || !g->nic || !g->ports)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < g->nics; i++) {
        g->nic[i].out = g->ports + (size_t)i * 2 * g->model.ports;
        g->nic[i].in = g->nic[i].out + g->model.ports;
    }
    for (uint32_t rank = 0; rank < g->ranks && status == NBCOLL_OK; rank++)
        status = nbcolli_nic_enter(g, rank);
    for (uint32_t rank = 0; rank < g->ranks && status == NBCOLL_OK; rank++)
        for (uint32_t i = 0; i < g->player[rank].queues && status == NBCOLL_OK; i++) {
            nbcolli_nic_queue *q = &g->player[rank].queue[i];
            int is_whole = nbcolli_nic_join(g, rank, q) && nbcolli_nic_agrees(g, rank, q);
            status = is_whole ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT;
        }
    return status;
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_nic_run(nbcolli_nic_game *g, const nbcoll_nic_config *config)
{
    nbcolli_happening h;
    nbcoll_status status = NBCOLL_OK;
    int took = 1;
    for (uint32_t rank = 0; rank < g->ranks && status == NBCOLL_OK; rank++) {
        nbcolli_nic_player *p = &g->player[rank];
        nbcoll_program_info info = {.size = sizeof info};
        nbcoll_program_query(g->programs[rank], &info);
        p->told.cpu = info.tasks * g->model.post;
        p->told.posted = (config->start ? config->start[rank] : 0) + p->told.cpu;
        status = nbcolli_nic_put(g, p->told.posted, rank, 0, NBCOLLI_NIC_POSTED);
    }
    while (status == NBCOLL_OK && (took = nbcolli_queue_take(&g->events, &h)) > 0)
        status = nbcolli_nic_happens(g, h);
    if (status == NBCOLL_OK && took < 0)
        status = NBCOLL_ERR_MEMORY;
    for (uint32_t rank = 0; rank < g->ranks && status == NBCOLL_OK; rank++)
        status = g->player[rank].left ? NBCOLL_ERR_ARGUMENT : NBCOLL_OK;
    return status;
}

/* ns in which a rank copies so many bytes, as the others of its node do. */
static uint64_t nbcolli_nic_copies(const nbcoll_nic_model *m, uint64_t bytes)
{
    uint64_t shared = bytes > m->cache / m->node ? m->memory * m->node : 0;
    return nbcolli_price(bytes, nbcolli_later(m->copy, shared));
}

/* What is the host's: computing, and the copies. */
static nbcoll_nic_rank nbcolli_nic_finish(const nbcolli_nic_game *g, const nbcoll_nic_config *config, uint32_t rank)
{
    nbcoll_nic_rank told = g->player[rank].told;
    uint64_t bytes = 0, copies;
    const nbcoll_task *copy;
    for (uint32_t i = 0; (copy = nbcoll_program_copy(g->programs[rank], i)); i++)
        bytes += nbcolli_nic_bytes(g, rank, &copy->write);
    copies = nbcolli_nic_copies(&g->model, bytes);
    told.cpu += copies;
    told.finished =
        nbcolli_later(told.posted + (config->compute ? config->compute[rank] : 0), told.ended) + copies;
    return told;
}

static void nbcolli_nic_tell(const nbcolli_nic_game *g, const nbcoll_nic_config *config, nbcoll_nic_result *out)
{
    nbcoll_nic_result r = {.size = out->size, .rank = out->rank, .tasks = g->tasks};
    for (uint32_t rank = 0; rank < g->ranks; rank++) {
        nbcoll_nic_rank told = nbcolli_nic_finish(g, config, rank);
        r.last = nbcolli_later(r.last, told.finished);
        if (r.rank)
            r.rank[rank] = told;
    }
    for (uint32_t i = 0; i < g->nics; i++)
        r.queue_pairs = nbcolli_later(r.queue_pairs, g->nic[i].pairs);
    memcpy(out, &r, out->size < sizeof r ? out->size : sizeof r);
}

static nbcoll_status nbcolli_nic_model_read(const nbcoll_nic_model *given, nbcoll_nic_model *m)
{
    nbcoll_status status = nbcolli_copy_tagged(m, given, sizeof *m);
    if (status != NBCOLL_OK)
        return status;
    m->ports = m->ports ? m->ports : 1;
    m->nics = m->nics ? m->nics : 1;
    m->node = m->node ? m->node : 1;
    uint64_t ns = nbcolli_later(nbcolli_later(m->post, m->task), nbcolli_later(m->miss, m->latency));
    uint64_t ps = nbcolli_later(nbcolli_later(m->byte, m->calc), m->copy);
    uint32_t most = (uint32_t)nbcolli_later(nbcolli_later(m->ports, m->nics), m->node);
    int is_dear = ps > NBCOLL_SIM_MOST_PS || m->memory > NBCOLL_SIM_MOST_PS / m->node;
    return nbcolli_later(ns, m->gap) > NBCOLL_SIM_MOST_NS || is_dear || most > 65536 ? NBCOLL_ERR_LIMIT : NBCOLL_OK;
}

nbcoll_status nbcoll_nic_of(const nbcoll_sim_model *machine, nbcoll_nic_model *out)
{
    nbcoll_sim_model m;
    if (!machine || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&m, machine, sizeof m) != NBCOLL_OK || out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    nbcoll_nic_model nic = {.size = out->size,
                              .post = m.between.o_send / 4,
                              .task = 250,
                              .miss = 700,
                              .latency = m.between.latency,
                              .gap = m.between.gap,
                              .byte = m.between.byte,
                              .calc = 2 * m.reduce,
                              .copy = m.copy,
                              .cached = 128,
                              .ports = m.interfaces,
                              .node = m.node};
    memcpy(out, &nic, out->size < sizeof nic ? out->size : sizeof nic);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_nic_play(const nbcoll_nic_config *config, const nbcoll_program *const programs[],
                               nbcoll_nic_result *out)
{
    nbcoll_nic_config c = {0};
    nbcolli_nic_game g = {.programs = programs};
    if (!config || !programs || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status != NBCOLL_OK || out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    if (!c.model)
        return NBCOLL_ERR_NULL;
    status = nbcolli_nic_model_read(c.model, &g.model);
    if (status == NBCOLL_OK && c.host && c.host->size)
        status = nbcolli_copy_tagged(&g.purse.host, c.host, sizeof g.purse.host);
    if (status != NBCOLL_OK)
        return status;
    if (c.ranks < 1)
        return NBCOLL_ERR_RANK;
    for (int rank = 0; rank < c.ranks; rank++)
        if (!programs[rank])
            return NBCOLL_ERR_NULL;
    g.ranks = (uint32_t)c.ranks;
    g.bind = c.bind;
    g.bind_user = c.bind_user;
    g.port = c.port;
    g.port_user = c.port_user;
    status = nbcolli_nic_open(&g);
    if (status == NBCOLL_OK)
        status = nbcolli_nic_run(&g, &c);
    if (status == NBCOLL_OK)
        nbcolli_nic_tell(&g, &c, out);
    nbcolli_purse_close(&g.purse);
    return status;
}
