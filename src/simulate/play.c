/* SPDX-License-Identifier: BSD-3-Clause
 * Playing: one event for each message that arrives; all that it makes ready on its rank is worked off at once, each
 * piece of work beginning where the core's last one ended. */
#include "simulate.h"

/* What an event is: a node, and one of these. */
enum { PLAY_START, PLAY_MESSAGE, PLAY_ASK, PLAY_ANSWER, PLAY_KINDS = 4, PLAY_TAKEN = 4, PLAY_BITS = 3 };

static uint32_t play_what(uint32_t node, uint32_t kind)
{
    return node << PLAY_BITS | kind;
}

static uint64_t play_later(uint64_t x, uint64_t y)
{
    return x < y ? y : x;
}

static const nbcoll_sim_program *play_program(const nbcolli_sim *s, uint32_t rank)
{
    return s->config.programs ? &s->config.programs[rank] : &s->config.program;
}

static int play_is_long(const nbcolli_sim *s, const nbcolli_node *n)
{
    return s->config.model.eager && n->bytes > s->config.model.eager;
}

static uint32_t play_peer(const nbcolli_sim *s, uint32_t rank, const nbcolli_node *n)
{
    uint32_t ranks = (uint32_t)s->config.ranks;
    return n->to < ranks - rank ? rank + n->to : rank - (ranks - n->to);
}

static void play_tell(const nbcolli_sim *s, nbcoll_sim_what what, uint32_t rank, const nbcolli_node *n, uint32_t step,
                      uint64_t begin, uint64_t end)
{
    nbcoll_sim_event e = {.what = what, .rank = (int)rank, .peer = -1, .begin = begin, .end = end};
    if (!s->config.event)
        return;
    if (n) {
        e.kind = (nbcoll_kind)n->kind;
        e.step = step + 2;
        e.bytes = n->bytes;
        e.peer = n->to ? (int)play_peer(s, rank, n) : -1;
    }
    s->config.event(s->config.user, &e);
}

/* ---- cores ----------------------------------------------------------------------------------------------------- */

/* The core that computes for a rank, and the one that works for its communication. */
static uint64_t play_compute_core(const nbcolli_sim *s, uint32_t rank)
{
    return (uint64_t)(rank / s->node) * s->node_cores + rank % s->node % s->workers;
}

static uint64_t play_core(const nbcolli_sim *s, uint32_t rank)
{
    uint32_t progress = s->config.model.progress;
    if (!progress)
        return play_compute_core(s, rank);
    return (uint64_t)(rank / s->node) * s->node_cores + s->workers + rank % s->node % progress;
}

/* How many ranks of a full node compute on the core of this one. */
static uint64_t play_sharers(const nbcolli_sim *s, uint32_t rank)
{
    return s->node / s->workers + (rank % s->node % s->workers < s->node % s->workers);
}

static uint64_t play_compute(const nbcolli_sim *s, uint32_t rank, uint64_t t, uint64_t work)
{
    return work ? nbcolli_noise_end(&s->config, play_compute_core(s, rank), t, work * play_sharers(s, rank)) : t;
}

/* When a rank that can go on at `t` is inside the library. */
static uint64_t play_attends(const nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    const nbcolli_player *p = &s->player[rank];
    uint64_t every = play_program(s, rank)->test_every;
    if (s->config.model.progress || t <= p->base || t >= p->wait)
        return t;
    uint64_t test = every ? p->base + (t - p->base + every - 1) / every * every : p->wait;
    return test < p->wait ? test : p->wait;
}

/* Works for the rank, from `t` on at the earliest; gives the end. What it takes, the computation ends later. */
static uint64_t play_work(nbcolli_sim *s, uint32_t rank, uint64_t t, uint64_t work, const nbcolli_node *n)
{
    nbcolli_player *p = &s->player[rank];
    uint64_t core = play_core(s, rank);
    uint64_t begin = play_attends(s, rank, play_later(t, p->last)), start = play_later(begin, s->core[core]);
    uint64_t end = nbcolli_noise_end(&s->config, core, start, work);
    if (!s->config.model.progress && begin < p->wait) {
        p->wait += end - begin;
        p->base = end;
    }
    s->core[core] = p->last = end;
    s->result.cpu += work;
    if (s->result.rank)
        s->result.rank[rank].cpu += work;
    play_tell(s, NBCOLL_SIM_STEP, rank, n, (uint32_t)(n - p->shape->node), start, end);
    return end;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static int play_is_between(const nbcolli_sim *s, uint32_t rank, uint32_t peer)
{
    return rank / s->node != peer / s->node;
}

static const nbcoll_sim_link *play_link(const nbcolli_sim *s, int is_between)
{
    return is_between ? &s->config.model.between : &s->config.model.inside;
}

static uint64_t play_span(const nbcoll_sim_link *link, uint64_t bytes)
{
    return bytes ? nbcolli_price(bytes - 1, link->byte) : 0;
}

/* Gives the interface a message of node n, at `t`, for the node `to` of the peer. */
static nbcoll_status play_post(nbcolli_sim *s, uint32_t rank, const nbcolli_node *n, uint32_t to, uint64_t t,
                               uint32_t kind)
{
    uint32_t peer = play_peer(s, rank, n);
    int between = play_is_between(s, rank, peer);
    const nbcoll_sim_link *link = play_link(s, between);
    uint64_t *free_at = &s->player[rank].out[between];
    uint64_t begin = play_later(t, *free_at), span = play_span(link, kind == PLAY_MESSAGE ? n->bytes : 0);
    uint64_t end = begin + span + link->latency;
    *free_at = begin + span + link->gap;
    if (kind == PLAY_MESSAGE)
        play_tell(s, NBCOLL_SIM_MESSAGE, rank, n, to, begin, end);
    return nbcolli_queue_put(&s->queue, (nbcolli_happening){end, peer, play_what(to, kind)}) ? NBCOLL_OK
                                                                                            : NBCOLL_ERR_MEMORY;
}

/* The other end of a message, if it is of the same length. */
static nbcoll_status play_mate(nbcolli_sim *s, uint32_t rank, nbcolli_node *n, uint32_t *out)
{
    const nbcolli_shape *peers = s->player[play_peer(s, rank, n)].shape;
    *out = nbcolli_shape_mate(n, peers, (uint32_t)s->config.ranks);
    return *out != UINT32_MAX && peers->node[*out].bytes == n->bytes ? NBCOLL_OK : NBCOLL_ERR_VERIFY;
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void play_ended(nbcolli_sim *s, uint32_t rank, uint32_t step)
{
    nbcolli_player *p = &s->player[rank];
    const nbcolli_node *n = &p->shape->node[step];
    uint32_t depth = p->state[step].depth;
    p->left--;
    s->result.rounds = depth > s->result.rounds ? depth : s->result.rounds;
    for (uint32_t i = n->after_count; i--;) { /* the last one first, so that the first is on top */
        uint32_t next = p->shape->edge[n->after + i];
        nbcolli_standing *state = &p->state[next];
        if (state->depth < depth)
            state->depth = depth;
        if (!--state->before)
            s->ready[s->readies++] = next;
    }
}

static nbcoll_status play_send(nbcolli_sim *s, uint32_t rank, nbcolli_node *n, uint32_t step, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    uint32_t to, peer = play_peer(s, rank, n), kind = play_is_long(s, n) ? PLAY_ASK : PLAY_MESSAGE;
    nbcoll_status status = play_mate(s, rank, n, &to);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_standing *theirs = &s->player[peer].state[to];
    if (theirs->depth <= p->state[step].depth)
        theirs->depth = p->state[step].depth + 1;
    const nbcoll_sim_link *link = play_link(s, play_is_between(s, rank, peer));
    uint64_t end = play_work(s, rank, t, s->config.model.step + link->o_send, n);
    if (kind == PLAY_MESSAGE)
        play_ended(s, rank, step);
    return play_post(s, rank, n, to, end, kind);
}

static nbcoll_status play_recv(nbcolli_sim *s, uint32_t rank, nbcolli_node *n, uint32_t step, uint64_t t)
{
    const nbcoll_sim_link *link = play_link(s, play_is_between(s, rank, play_peer(s, rank, n)));
    uint32_t to;
    if (!play_is_long(s, n)) {
        play_work(s, rank, t, s->config.model.step + link->o_recv, n);
        play_ended(s, rank, step);
        return NBCOLL_OK;
    }
    nbcoll_status status = play_mate(s, rank, n, &to);
    if (status != NBCOLL_OK)
        return status;
    return play_post(s, rank, n, to, play_work(s, rank, t, link->o_recv + link->o_send, n), PLAY_ANSWER);
}

static nbcoll_status play_step(nbcolli_sim *s, uint32_t rank, uint32_t step, uint64_t t)
{
    const nbcoll_sim_model *model = &s->config.model;
    nbcolli_player *p = &s->player[rank];
    nbcolli_node *n = &p->shape->node[step];
    uint64_t price = n->kind == NBCOLL_REDUCE ? model->reduce : model->copy;
    p->state[step].before = UINT32_MAX;
    if (n->kind == NBCOLL_SEND)
        return play_send(s, rank, n, step, t);
    if (n->kind == NBCOLL_RECV)
        return play_recv(s, rank, n, step, t);
    if (n->kind == NBCOLL_JOIN)
        p->last = play_later(t, p->last);
    else
        play_work(s, rank, t, model->step + nbcolli_price(n->bytes, price), n);
    play_ended(s, rank, step);
    return NBCOLL_OK;
}

/* Works off what is ready, and sees whether that was the end. */
static nbcoll_status play_ready(nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    nbcoll_status status = NBCOLL_OK;
    while (s->readies && status == NBCOLL_OK)
        status = play_step(s, rank, s->ready[--s->readies], t);
    if (p->left || status != NBCOLL_OK)
        return status;
    uint64_t waited = play_later(p->last, p->wait);
    if (s->result.rank) {
        s->result.rank[rank].ended = p->last;
        s->result.rank[rank].waited = waited;
    }
    s->unended--;
    s->result.first = p->last < s->result.first ? p->last : s->result.first;
    s->result.last = play_later(p->last, s->result.last);
    s->result.waited = play_later(waited, s->result.waited);
    play_tell(s, NBCOLL_SIM_ENDED, rank, NULL, 0, waited, waited);
    return NBCOLL_OK;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static nbcoll_status play_start(nbcolli_sim *s, uint32_t rank, uint64_t t)
{
    nbcolli_player *p = &s->player[rank];
    nbcoll_status status = NBCOLL_OK;
    p->is_started = 1;
    p->last = p->base = t;
    p->wait = play_compute(s, rank, t, play_program(s, rank)->compute);
    if (s->result.rank)
        s->result.rank[rank].started = t;
    play_tell(s, NBCOLL_SIM_STARTED, rank, NULL, 0, t, t);
    if (!p->left)
        return play_ready(s, rank, t);
    for (uint32_t step = 0; step < p->shape->nodes && status == NBCOLL_OK; step++)
        if (!p->state[step].before) {
            s->ready[s->readies++] = step;
            status = play_ready(s, rank, t);
        }
    return status;
}

static nbcoll_status play_arrival(nbcolli_sim *s, nbcolli_happening h)
{
    nbcolli_player *p = &s->player[h.rank];
    uint32_t step = h.what >> PLAY_BITS, kind = h.what % PLAY_KINDS;
    nbcolli_node *n = &p->shape->node[step];
    int between = play_is_between(s, h.rank, play_peer(s, h.rank, n));
    const nbcoll_sim_link *link = play_link(s, between);
    if (!(h.what & PLAY_TAKEN)) {
        uint64_t end = play_later(h.time, p->in[between] + play_span(link, kind == PLAY_MESSAGE ? n->bytes : 0));
        p->in[between] = end + link->gap;
        s->result.arrivals++;
        if (end > h.time) {
            h = (nbcolli_happening){end, h.rank, h.what | PLAY_TAKEN};
            return nbcolli_queue_put(&s->queue, h) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
        }
    }
    if (kind == PLAY_ANSWER) {
        uint32_t to;
        nbcoll_status status = play_mate(s, h.rank, n, &to);
        uint64_t end = play_work(s, h.rank, h.time, link->o_recv + link->o_send, n);
        play_ended(s, h.rank, step);
        if (status == NBCOLL_OK)
            status = play_post(s, h.rank, n, to, end, PLAY_MESSAGE);
        return status == NBCOLL_OK ? play_ready(s, h.rank, h.time) : status;
    }
    if (kind == PLAY_MESSAGE && play_is_long(s, n)) {
        play_work(s, h.rank, h.time, s->config.model.step + link->o_recv, n);
        play_ended(s, h.rank, step);
        return play_ready(s, h.rank, h.time);
    }
    if (--p->state[step].before || !p->is_started)
        return NBCOLL_OK;
    s->ready[s->readies++] = step;
    return play_ready(s, h.rank, h.time);
}

static uint64_t play_late(const nbcolli_sim *s, uint32_t rank)
{
    const nbcoll_sim_arrival *a = &s->config.arrival;
    uint64_t others = (uint64_t)s->config.ranks - 1;
    switch (a->pattern) {
    case NBCOLL_SIM_ONE_LATE:
        return rank == (uint32_t)a->rank ? a->spread : 0;
    case NBCOLL_SIM_RISING:
        return rank ? a->spread / others * rank + a->spread % others * rank / others : 0;
    case NBCOLL_SIM_SCATTERED:
        return nbcolli_mix(s->config.seed, rank, 0) % (a->spread + 1);
    default:
        return 0;
    }
}

nbcoll_status nbcolli_play(nbcolli_sim *s)
{
    nbcolli_happening h;
    int more;
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t rank = 0; rank < (uint32_t)s->config.ranks; rank++) {
        uint64_t t = play_compute(s, rank, play_late(s, rank), play_program(s, rank)->before);
        if (!nbcolli_queue_put(&s->queue, (nbcolli_happening){t, rank, PLAY_START}))
            return NBCOLL_ERR_MEMORY;
    }
    while (status == NBCOLL_OK && (more = nbcolli_queue_take(&s->queue, &h))) {
        if (more < 0)
            return NBCOLL_ERR_MEMORY;
        status = h.what == PLAY_START ? play_start(s, h.rank, h.time) : play_arrival(s, h);
        if (s->config.progress && h.what != PLAY_START && !(s->result.arrivals % 65536))
            s->config.progress(s->config.user, NBCOLL_SIM_PLAYING, s->result.arrivals, s->result.messages);
    }
    return status != NBCOLL_OK || !s->unended ? status : NBCOLL_ERR_VERIFY;
}
