/* SPDX-License-Identifier: BSD-3-Clause
 * Playing: one event for each message that arrives; all that it makes ready on its rank is worked off at once, each
 * piece of work beginning where the core's last one ended. */
#include "simulate.h"

static int nbcolli_play_is_long(const nbcolli_sim *s, const nbcolli_node *n)
{
    return s->model.eager && n->bytes > s->model.eager;
}

/* ---- cores ------------------------------------------------------------------------------------------------------- */

/* May a node of a run that waits for nothing else be worked on? */
static int nbcolli_play_may(const nbcolli_sim *s, const nbcolli_sim_run *r, const nbcolli_node *n)
{
    uint32_t run = (uint32_t)(r - s->run), rank = nbcolli_rank_of(s, run);
    return r->is_open ||
           (n->stands && run / (uint32_t)s->config.ranks < (uint64_t)s->player[rank].starts + s->config.preposted);
}

/* Who works on a node of the schedule of a run. */
static nbcolli_actor nbcolli_play_actor(const nbcolli_sim *s, const nbcolli_sim_run *r, const nbcolli_node *n)
{
    int is_own = n->lane == NBCOLL_LANE_CALLER ||
                 (n->lane == NBCOLL_LANE_START && (s->is_starting || r->is_awaited));
    return s->model.progress && !(s->model.lanes && is_own) ? NBCOLLI_DRIVER : NBCOLLI_RANK;
}

/* Of the progress cores from `first` on the one that is free at `t` and has been busy last, so that others stay free
 * for what comes with an earlier time; or the first that will be free. */
static uint64_t nbcolli_play_pooled(const nbcolli_sim *s, uint64_t first, uint64_t t)
{
    uint64_t best = first;
    for (uint64_t core = first + 1; core < first + s->model.progress; core++) {
        uint64_t mine = s->core[core], its = s->core[best];
        if (mine <= t ? its > t || mine > its : mine < its)
            best = core;
    }
    return best;
}

/* The core on which an actor works that can begin at `t`. */
static uint64_t nbcolli_play_core(const nbcolli_sim *s, uint32_t rank, nbcolli_actor actor, uint64_t t)
{
    if (actor == NBCOLLI_RANK)
        return nbcolli_compute_core(s, rank);
    uint64_t core = nbcolli_progress_core(s, rank);
    return s->model.pool ? nbcolli_play_pooled(s, core, t) : core;
}

/* When an actor that can go on at `t` does: a rank when it is inside the library. */
static uint64_t nbcolli_play_attends(const nbcolli_sim *s, uint32_t rank, nbcolli_actor actor, uint64_t t)
{
    const nbcolli_player *p = &s->player[rank];
    if (actor == NBCOLLI_DRIVER) /* one that has nothing to do sleeps */
        return t <= s->core[nbcolli_play_core(s, rank, actor, t)] ? t : t + s->model.wake;
    if (p->at == UINT32_MAX) /* it is late */
        return nbcolli_later(t, p->until);
    if (t <= p->base || t >= p->until)
        return t;
    uint64_t every = nbcolli_program_of(&s->config, rank)->action[p->at].test_every;
    uint64_t test = every ? p->base + (t - p->base + every - 1) / every * every : p->until;
    uint64_t period = s->model.tick, tick = period ? (t + period - 1) / period * period : p->until;
    test = tick < test ? tick : test;
    return test < p->until ? test : p->until;
}

static int nbcolli_play_is_nic(const nbcolli_sim *s, nbcolli_actor actor)
{
    return actor == NBCOLLI_DRIVER && s->model.task;
}

/* An actor works for the run, from `t` on at the earliest; gives the end. A computation that it interrupts ends
 * later. */
static uint64_t nbcolli_play_work_of(nbcolli_sim *s, uint32_t run, uint64_t t, uint64_t work, const nbcolli_node *n,
                                     uint32_t step, nbcolli_actor actor)
{
    uint32_t rank = nbcolli_rank_of(s, run);
    nbcolli_player *p = &s->player[rank];
    if (n->lane == NBCOLL_LANE_START) /* what the start has left begins after it */
        t = nbcolli_later(t, p->last[NBCOLLI_RANK]);
    uint64_t begin = nbcolli_play_attends(s, rank, actor, nbcolli_later(t, p->last[actor]));
    uint64_t core = nbcolli_play_core(s, rank, actor, begin);
    uint64_t lost = actor == NBCOLLI_DRIVER && work ? nbcolli_contend_cost(s, rank) : 0;
    uint64_t start = nbcolli_later(begin, s->core[core]) + lost, end = start + work;
    if (!nbcolli_play_is_nic(s, actor))
        end = nbcolli_noise_end(&s->config, core, start, work);
    if (actor == NBCOLLI_RANK && begin < p->until) {
        p->until += end - begin;
        p->base = end;
    }
    s->core[core] = p->last[actor] = end;
    s->result.cpu += work;
    if (s->result.rank)
        s->result.rank[run].cpu += work;
    nbcolli_tell(s, NBCOLL_SIM_STEP, run, n, step, start, end);
    return end;
}

static uint64_t nbcolli_play_work(nbcolli_sim *s, uint32_t run, uint64_t t, uint64_t work, const nbcolli_node *n)
{
    uint32_t step = (uint32_t)(n - s->run[run].shape->node);
    return nbcolli_play_work_of(s, run, t, work, n, step, nbcolli_play_actor(s, &s->run[run], n));
}

/* The same for a message, for which a core would work so long. */
static uint64_t nbcolli_play_serve(nbcolli_sim *s, uint32_t run, uint64_t t, uint64_t work, const nbcolli_node *n)
{
    nbcolli_actor actor = nbcolli_play_actor(s, &s->run[run], n);
    uint32_t step = (uint32_t)(n - s->run[run].shape->node);
    return nbcolli_play_work_of(s, run, t, nbcolli_play_is_nic(s, actor) ? s->model.task : work, n, step, actor);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int nbcolli_play_is_between(const nbcolli_sim *s, uint32_t rank, uint32_t peer)
{
    return nbcolli_sim_node(s, rank) != nbcolli_sim_node(s, peer);
}

static int nbcolli_play_is_near(const nbcolli_sim *s, uint32_t rank, uint32_t peer)
{
    return s->domains && nbcoll_node_of(s->domains, (int)rank) == nbcoll_node_of(s->domains, (int)peer);
}

/* Do cores move the bytes of their messages, in memory that they share? NICs send them. */
static int nbcolli_play_is_copied(const nbcolli_sim *s, uint32_t rank, uint32_t peer)
{
    return !s->model.task && !nbcolli_play_is_between(s, rank, peer);
}

static const nbcoll_sim_link *nbcolli_play_link(const nbcolli_sim *s, uint32_t rank, uint32_t peer)
{
    return nbcolli_play_is_between(s, rank, peer) ? &s->model.between
           : nbcolli_play_is_near(s, rank, peer)  ? &s->model.domain
                                                  : &s->model.inside;
}

static uint64_t nbcolli_play_span(const nbcoll_sim_link *link, uint64_t bytes)
{
    return bytes ? nbcolli_price(bytes - 1, link->byte) : 0;
}

/* What the bytes of a message take at the interfaces. */
static uint64_t nbcolli_play_wire(const nbcolli_sim *s, uint32_t rank, uint32_t peer, const nbcolli_node *n,
                                  uint32_t kind)
{
    int is_wired = kind == NBCOLLI_ARRIVES && !nbcolli_play_is_copied(s, rank, peer);
    return is_wired ? nbcolli_play_span(nbcolli_play_link(s, rank, peer), n->bytes) : 0;
}

/* The interface of a rank that has its next message; `messages` counts those with bytes, of its ports one after the
 * other, and so deals them over the interfaces of its node. */
static nbcolli_interface *nbcolli_play_interface(nbcolli_sim *s, uint32_t rank, int between, uint32_t *messages,
                                                 uint32_t kind)
{
    uint32_t shared = s->model.interfaces;
    if (!between)
        return &s->player[rank].inside;
    if (!shared)
        return &s->interface[rank];
    uint32_t turn = (nbcolli_sim_place(s, rank) % shared + *messages % shared) % shared;
    *messages += kind == NBCOLLI_ARRIVES;
    return &s->interface[(uint64_t)nbcolli_sim_node(s, rank) * shared + turn];
}

/* Gives the interface a message of node n, at `t`, for the node `to` of the peer. */
static nbcoll_status nbcolli_play_leave(nbcolli_sim *s, uint32_t run, const nbcolli_node *n, uint32_t to, uint64_t t,
                                        uint32_t kind)
{
    uint32_t rank = nbcolli_rank_of(s, run), peer = nbcolli_peer_of(s, rank, n);
    int between = nbcolli_play_is_between(s, rank, peer);
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    uint64_t *free_at = &nbcolli_play_interface(s, rank, between, &s->player[rank].sent, kind)->out;
    uint64_t begin = nbcolli_later(t, *free_at), span = nbcolli_play_wire(s, rank, peer, n, kind);
    uint64_t end = begin + span + link->latency;
    *free_at = begin + span + link->gap;
    if (kind == NBCOLLI_ARRIVES || (kind == NBCOLLI_ASK && nbcolli_play_is_copied(s, rank, peer)))
        nbcolli_tell(s, NBCOLL_SIM_MESSAGE, run, n, to, begin, end);
    return nbcolli_put(s, end, run - rank + peer, to, kind);
}

/* The core has worked for a message up to `t`. Who shares an interface gets it by the order of these times, which that
 * of the calls is not. */
static nbcoll_status nbcolli_play_post(nbcolli_sim *s, uint32_t run, const nbcolli_node *n, uint32_t to, uint64_t t,
                                       uint32_t kind)
{
    uint32_t rank = nbcolli_rank_of(s, run);
    if (s->model.interfaces && nbcolli_play_is_between(s, rank, nbcolli_peer_of(s, rank, n)))
        return nbcolli_put(s, t, run, (uint32_t)(n - s->run[run].shape->node), kind | NBCOLLI_LEAVES);
    return nbcolli_play_leave(s, run, n, to, t, kind);
}

/* The other end of what node n gives or takes, in the run of the peer. */
static nbcoll_status nbcolli_play_mate(nbcolli_sim *s, uint32_t peers_run, nbcolli_node *n, uint32_t *out)
{
    const nbcolli_shape *peers = s->run[peers_run].shape;
    *out = nbcolli_shape_mate(n, peers, (uint32_t)s->config.ranks);
    return *out != UINT32_MAX && peers->node[*out].bytes == n->bytes ? NBCOLL_OK : NBCOLL_ERR_VERIFY;
}

/* What is given after so many messages lets the node that takes it go on after one more. */
static void nbcolli_play_deepen(nbcolli_sim *s, uint32_t peers_run, uint32_t to, uint32_t depth)
{
    nbcolli_preposted *theirs = &s->run[peers_run].state[to];
    if (theirs->depth <= depth)
        theirs->depth = depth + 1;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Does a node that waits for a step of `actor` learn by an event that it has ended? One of the other actor does; and
 * where it counts which was first, a RECV. */
static int nbcolli_play_puts_off(const nbcolli_sim *s, const nbcolli_sim_run *r, const nbcolli_node *n,
                                 nbcolli_actor actor)
{
    if (!s->puts_off)
        return 0;
    return nbcolli_play_actor(s, r, n) != actor ||
           (n->kind == NBCOLL_RECV && (s->model.unexpected || s->model.unexpected_byte));
}

static nbcoll_status nbcolli_play_ended(nbcolli_sim *s, nbcolli_sim_run *r, uint32_t step)
{
    const nbcolli_node *n = &r->shape->node[step];
    uint32_t depth = r->state[step].depth, run = (uint32_t)(r - s->run);
    nbcolli_actor actor = nbcolli_play_actor(s, r, n);
    uint64_t end = s->player[nbcolli_rank_of(s, run)].last[actor];
    nbcoll_status status = NBCOLL_OK;
    r->left--;
    r->starting -= n->lane == NBCOLL_LANE_START;
    nbcolli_contend_ended(s, run, n);
    s->result.rounds = depth > s->result.rounds ? depth : s->result.rounds;
    for (uint32_t i = n->after_count; i--;) { /* the last one first, so that the first is on top */
        uint32_t next = r->shape->edge[n->after + i];
        nbcolli_preposted *state = &r->state[next];
        if (state->depth < depth)
            state->depth = depth;
        if (!nbcolli_play_puts_off(s, r, &r->shape->node[next], actor) && !--state->before &&
            nbcolli_play_may(s, r, &r->shape->node[next]))
            s->ready[s->readies++] = next;
    }
    for (uint32_t i = 0; s->puts_off && i < n->after_count && status == NBCOLL_OK; i++) {
        uint32_t next = r->shape->edge[n->after + i];
        if (nbcolli_play_puts_off(s, r, &r->shape->node[next], actor))
            status = nbcolli_put(s, end, run, next, NBCOLLI_STEP_ENDED);
    }
    return status;
}

static nbcoll_status nbcolli_play_send(nbcolli_sim *s, uint32_t run, nbcolli_node *n, uint32_t step, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    uint32_t rank = nbcolli_rank_of(s, run), to, peer = nbcolli_peer_of(s, rank, n);
    uint32_t kind = nbcolli_play_is_long(s, n) ? NBCOLLI_ASK : NBCOLLI_ARRIVES;
    nbcoll_status status = nbcolli_play_mate(s, run - rank + peer, n, &to);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_play_deepen(s, run - rank + peer, to, r->state[step].depth);
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    uint64_t copying = kind == NBCOLLI_ARRIVES && nbcolli_play_is_copied(s, rank, peer)
                           ? nbcolli_price(n->bytes, s->model.copy)
                           : 0;
    uint64_t end = nbcolli_play_serve(s, run, t, s->model.step + link->o_send + copying, n);
    if (kind == NBCOLLI_ARRIVES)
        status = nbcolli_play_ended(s, r, step);
    return status == NBCOLL_OK ? nbcolli_play_post(s, run, n, to, end, kind) : status;
}

/* What a message costs more that came before its RECV could begin: it was stored, and its `bytes` are copied. */
static uint64_t nbcolli_play_unexpected(const nbcolli_sim *s, const nbcolli_preposted *state, uint64_t bytes)
{
    return state->is_unexpected ? s->model.unexpected + nbcolli_price(bytes, s->model.unexpected_byte) : 0;
}

/* What a RECV that stands has brought is in the store. */
static void nbcolli_play_keep(nbcolli_sim *s, uint32_t run, uint32_t step, uint64_t bytes)
{
    nbcolli_sim_run *r = &s->run[run];
    nbcolli_player *p = &s->player[nbcolli_rank_of(s, run)];
    r->kept += bytes;
    r->kept_by = step;
    if (!r->is_started)
        s->result.stored = nbcolli_later(s->result.stored, p->stored += bytes);
}

/* Its rank copies what is there. */
static void nbcolli_play_copy_out(nbcolli_sim *s, uint32_t run, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    if (!r->kept || !r->is_started)
        return;
    nbcolli_node copy = r->shape->node[r->kept_by];
    nbcolli_actor took = nbcolli_play_actor(s, r, &copy), copies = s->model.task ? NBCOLLI_RANK : took;
    uint64_t work = nbcolli_price(r->kept, s->model.copy);
    t = nbcolli_later(t, s->player[nbcolli_rank_of(s, run)].last[took]);
    copy.kind = NBCOLL_COPY;
    copy.bytes = r->kept;
    copy.to = 0;
    if (work)
        nbcolli_play_work_of(s, run, t, work, &copy, r->kept_by, copies);
    r->kept = 0;
}

/* The bytes are there, and the RECV may end: once its core has copied them, if nothing else moves them. *end: then. */
static nbcoll_status nbcolli_play_received(nbcolli_sim *s, uint32_t run, const nbcolli_node *n, uint32_t step,
                                            uint64_t t, uint64_t *end)
{
    uint32_t rank = nbcolli_rank_of(s, run), peer = nbcolli_peer_of(s, rank, n);
    int is_long = nbcolli_play_is_long(s, n), is_copied = nbcolli_play_is_copied(s, rank, peer);
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    const nbcolli_preposted *state = &s->run[run].state[step];
    uint64_t stored = is_long && !is_copied ? 0 : nbcolli_play_unexpected(s, state, is_long ? 0 : n->bytes);
    uint64_t copying = is_copied ? (is_long ? link->latency : 0) + nbcolli_play_span(link, n->bytes) : 0;
    *end = nbcolli_play_serve(s, run, t, s->model.step + link->o_recv + stored + copying, n);
    if (n->is_kept)
        nbcolli_play_keep(s, run, step, n->bytes);
    return nbcolli_play_ended(s, &s->run[run], step);
}

/* A long message is answered: that it may be sent, or, where this core has got it from its sender's memory, that this
 * may be used again. */
static nbcoll_status nbcolli_play_recv(nbcolli_sim *s, uint32_t run, nbcolli_node *n, uint32_t step, uint64_t t)
{
    uint32_t rank = nbcolli_rank_of(s, run), peer = nbcolli_peer_of(s, rank, n), to;
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    uint64_t end;
    if (!nbcolli_play_is_long(s, n))
        return nbcolli_play_received(s, run, n, step, t, &end);
    nbcoll_status status = nbcolli_play_mate(s, run - rank + peer, n, &to);
    if (status != NBCOLL_OK)
        return status;
    if (nbcolli_play_is_copied(s, rank, peer))
        status = nbcolli_play_received(s, run, n, step, t, &end);
    else
        end = nbcolli_play_serve(
            s, run, t, link->o_recv + link->o_send + nbcolli_play_unexpected(s, &s->run[run].state[step], 0), n);
    return status == NBCOLL_OK ? nbcolli_play_post(s, run, n, to, end, NBCOLLI_ANSWER) : status;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

static int nbcolli_play_is_in_cell(const nbcolli_sim *s, const nbcolli_node *exposure)
{
    return exposure->bytes <= s->model.cell;
}

static nbcoll_status nbcolli_play_expose(nbcolli_sim *s, uint32_t run, const nbcolli_node *n, uint32_t step, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    const nbcoll_sim_model *m = &s->model;
    uint32_t rank = nbcolli_rank_of(s, run), to;
    int is_in_cell = nbcolli_play_is_in_cell(s, n);
    uint64_t copying = is_in_cell ? nbcolli_price(n->bytes, m->copy) : 0;
    uint64_t end = nbcolli_play_work(s, run, t, m->step + m->inside.o_send + copying, n);
    for (uint32_t i = 0; i < n->parts; i++) {
        nbcolli_node *part = &r->shape->node[n->number + i];
        uint32_t peer = nbcolli_peer_of(s, rank, part);
        if (nbcolli_play_is_between(s, rank, peer))
            return NBCOLL_ERR_UNSUPPORTED;
        nbcoll_status status = nbcolli_play_mate(s, run - rank + peer, part, &to);
        if (status != NBCOLL_OK)
            return status;
        nbcolli_play_deepen(s, run - rank + peer, to, r->state[step].depth);
        uint64_t seen = end + nbcolli_play_link(s, rank, peer)->latency;
        nbcolli_tell(s, NBCOLL_SIM_MESSAGE, run, part, to, end, seen);
        status = nbcolli_put(s, seen, run - rank + peer, to, NBCOLLI_ARRIVES);
        if (status != NBCOLL_OK)
            return status;
    }
    if (is_in_cell || !n->parts)
        return nbcolli_play_ended(s, r, step);
    r->state[step].before = n->parts;
    return NBCOLL_OK;
}

/* The core copies, or combines, and tells the owner, unless it had it from the cell. */
static nbcoll_status nbcolli_play_fetch(nbcolli_sim *s, uint32_t run, nbcolli_node *n, uint32_t step, uint64_t t)
{
    const nbcoll_sim_model *m = &s->model;
    uint32_t rank = nbcolli_rank_of(s, run), peer = nbcolli_peer_of(s, rank, n), owner = run - rank + peer, from;
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    nbcoll_status status = nbcolli_play_mate(s, owner, n, &from);
    if (status != NBCOLL_OK)
        return status;
    const nbcolli_shape *owners = s->run[owner].shape;
    const nbcolli_node *exposure = &owners->node[owners->node[from].after];
    int is_in_cell = nbcolli_play_is_in_cell(s, exposure);
    uint64_t work = m->step + link->o_recv + (is_in_cell && n->bytes < exposure->bytes ? m->table : 0);
    work += is_in_cell ? nbcolli_price(n->bytes, m->copy) : link->latency + nbcolli_play_span(link, n->bytes);
    work += n->kind == NBCOLL_FETCH_REDUCE ? nbcolli_price(n->bytes, m->reduce) : 0;
    uint64_t end = nbcolli_play_work(s, run, t, work, n);
    status = nbcolli_play_ended(s, &s->run[run], step);
    if (status != NBCOLL_OK || is_in_cell)
        return status;
    return nbcolli_put(s, end + link->latency, owner, from, NBCOLLI_ANSWER);
}

/* The owner sees that a part was fetched: is it the last? */
static nbcoll_status nbcolli_play_fetched(nbcolli_sim *s, uint32_t run, uint32_t part, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    uint32_t rank = nbcolli_rank_of(s, run), step = r->shape->node[part].after;
    if (--r->state[step].before)
        return NBCOLL_OK;
    nbcolli_actor actor = nbcolli_play_actor(s, r, &r->shape->node[step]);
    uint64_t *last = &s->player[rank].last[actor];
    *last = nbcolli_play_attends(s, rank, actor, nbcolli_later(t, *last));
    return nbcolli_play_ended(s, r, step);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void nbcolli_play_begin(nbcolli_sim *s, uint32_t run)
{
    if (!s->run[run].is_begun)
        nbcolli_contend_start(s, run);
    s->run[run].is_begun = 1;
}

static nbcoll_status nbcolli_play_step(nbcolli_sim *s, uint32_t run, uint32_t step, uint64_t t)
{
    const nbcoll_sim_model *m = &s->model;
    nbcolli_sim_run *r = &s->run[run];
    nbcolli_node *n = &r->shape->node[step];
    uint64_t *last = &s->player[nbcolli_rank_of(s, run)].last[nbcolli_play_actor(s, r, n)];
    nbcolli_play_begin(s, run);
    r->state[step].before = UINT32_MAX;
    switch (n->kind) {
    case NBCOLL_SEND:
        return nbcolli_play_send(s, run, n, step, t);
    case NBCOLL_RECV:
        return nbcolli_play_recv(s, run, n, step, t);
    case NBCOLL_EXPOSE:
        return nbcolli_play_expose(s, run, n, step, t);
    case NBCOLL_FETCH:
    case NBCOLL_FETCH_REDUCE:
        return nbcolli_play_fetch(s, run, n, step, t);
    case NBCOLL_JOIN:
        *last = nbcolli_later(t, *last);
        break;
    default:
        nbcolli_play_work(s, run, t, m->step + nbcolli_price(n->bytes, n->kind == NBCOLL_REDUCE ? m->reduce : m->copy),
                          n);
    }
    return nbcolli_play_ended(s, r, step);
}

/* Works off what is ready, and sees whether that was the end. */
static nbcoll_status nbcolli_play_ready(nbcolli_sim *s, uint32_t run, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    nbcoll_status status = NBCOLL_OK;
    while (s->readies && status == NBCOLL_OK)
        status = nbcolli_play_step(s, run, s->ready[--s->readies], t);
    if (status == NBCOLL_OK)
        nbcolli_play_copy_out(s, run, t);
    if (r->left || !r->is_started || status != NBCOLL_OK)
        return status;
    const nbcolli_player *p = &s->player[nbcolli_rank_of(s, run)];
    r->ended = nbcolli_later(p->last[NBCOLLI_RANK], p->last[NBCOLLI_DRIVER]);
    if (s->result.rank)
        s->result.rank[run].ended = r->ended;
    s->result.first = r->ended < s->result.first ? r->ended : s->result.first;
    s->result.last = nbcolli_later(r->ended, s->result.last);
    uint64_t next = run + (uint64_t)s->config.preposted * (uint32_t)s->config.ranks; /* waits for this one */
    if (s->config.preposted && next < s->runs && s->run[next].is_started && !s->run[next].is_open)
        return nbcolli_put(s, r->ended, (uint32_t)next, 0, NBCOLLI_OPENS);
    return NBCOLL_OK;
}

/* Has it ended by `t`? */
static int nbcolli_play_is_over(const nbcolli_sim_run *r, uint64_t t)
{
    return r->is_started && !r->left && r->ended <= t;
}

/* Works off the steps of a run that wait for nothing. */
static nbcoll_status nbcolli_play_unheld(nbcolli_sim *s, uint32_t run, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    nbcoll_status status = NBCOLL_OK;
    for (uint32_t step = 0; step < r->shape->steps && status == NBCOLL_OK; step++)
        if (!r->state[step].before && nbcolli_play_may(s, r, &r->shape->node[step])) {
            s->ready[s->readies++] = step;
            status = nbcolli_play_ready(s, run, t);
        }
    return status;
}

nbcoll_status nbcolli_play_open(nbcolli_sim *s, uint32_t run, uint64_t t)
{
    if (s->run[run].is_open)
        return NBCOLL_OK;
    s->run[run].is_open = 1;
    return nbcolli_play_unheld(s, run, t);
}

nbcoll_status nbcolli_play_start(nbcolli_sim *s, uint32_t run, uint64_t t)
{
    nbcolli_sim_run *r = &s->run[run];
    nbcolli_player *p = &s->player[nbcolli_rank_of(s, run)];
    nbcoll_status status = NBCOLL_OK;
    uint64_t earlier = (uint64_t)s->config.preposted * (uint32_t)s->config.ranks, later = run + earlier;
    r->is_started = 1;
    r->is_open = !earlier || run < earlier || nbcolli_play_is_over(&s->run[run - earlier], t);
    s->is_starting = 1;
    p->stored -= r->kept;
    nbcolli_play_begin(s, run);
    for (int actor = NBCOLLI_RANK; actor <= NBCOLLI_DRIVER; actor++)
        p->last[actor] = nbcolli_later(p->last[actor], t);
    if (s->result.rank)
        s->result.rank[run].started = t;
    nbcolli_tell(s, NBCOLL_SIM_STARTED, run, NULL, 0, t, t);
    if (!r->is_open && !s->run[run - earlier].left) /* that ends in the midst of this start */
        status = nbcolli_put(s, s->run[run - earlier].ended, run, 0, NBCOLLI_OPENS);
    if (status == NBCOLL_OK && (!r->left || r->kept))
        status = nbcolli_play_ready(s, run, t);
    if (status == NBCOLL_OK)
        status = nbcolli_play_unheld(s, run, t);
    s->is_starting = 0;
    if (status == NBCOLL_OK && earlier && later < s->runs) /* one more stands */
        status = nbcolli_play_unheld(s, (uint32_t)later, t);
    return status;
}

/* The interface takes the message, at once or later: then it comes as an event again. */
static nbcoll_status nbcolli_play_take(nbcolli_sim *s, nbcolli_happening *h, const nbcolli_node *n, int *is_here)
{
    uint32_t rank = nbcolli_rank_of(s, h->run), peer = nbcolli_peer_of(s, rank, n), kind = h->what % NBCOLLI_KINDS;
    int between = nbcolli_play_is_between(s, rank, peer);
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    uint64_t *free_at = &nbcolli_play_interface(s, rank, between, &s->player[rank].taken, kind)->in;
    uint64_t end = nbcolli_later(h->time, *free_at + nbcolli_play_wire(s, rank, peer, n, kind));
    *free_at = end + link->gap;
    *is_here = end == h->time;
    h->time = end;
    h->what |= NBCOLLI_TAKEN;
    return *is_here || nbcolli_queue_put(&s->queue, *h) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

/* The sender of a long message may send it, or has its memory back. */
static nbcoll_status nbcolli_play_answered(nbcolli_sim *s, uint32_t run, nbcolli_node *n, uint32_t step, uint64_t t)
{
    uint32_t rank = nbcolli_rank_of(s, run), peer = nbcolli_peer_of(s, rank, n), to;
    const nbcoll_sim_link *link = nbcolli_play_link(s, rank, peer);
    nbcoll_status status = nbcolli_play_mate(s, run - rank + peer, n, &to);
    int is_over = nbcolli_play_is_copied(s, rank, peer);
    uint64_t end = nbcolli_play_serve(s, run, t, link->o_recv + (is_over ? 0 : link->o_send), n);
    if (status == NBCOLL_OK)
        status = nbcolli_play_ended(s, &s->run[run], step);
    return status == NBCOLL_OK && !is_over ? nbcolli_play_post(s, run, n, to, end, NBCOLLI_ARRIVES) : status;
}

/* The message of node `step` gets to the interface. */
static nbcoll_status nbcolli_play_leaves(nbcolli_sim *s, nbcolli_happening h, uint32_t step, uint32_t kind)
{
    nbcolli_node *n = &s->run[h.run].shape->node[step];
    uint32_t rank = nbcolli_rank_of(s, h.run), peer = nbcolli_peer_of(s, rank, n), to;
    nbcoll_status status = nbcolli_play_mate(s, h.run - rank + peer, n, &to);
    return status == NBCOLL_OK ? nbcolli_play_leave(s, h.run, n, to, h.time, kind) : status;
}

nbcoll_status nbcolli_play_arrival(nbcolli_sim *s, nbcolli_happening h, int *is_over)
{
    nbcolli_sim_run *r = &s->run[h.run];
    uint32_t step = h.what >> NBCOLLI_KIND_BITS, kind = h.what % NBCOLLI_KINDS;
    nbcolli_node *n = &r->shape->node[step];
    nbcoll_status status = NBCOLL_OK;
    int is_shared = n->kind == NBCOLLI_PART || nbcolli_is_fetch(n), is_here = 1;
    int is_edge = (h.what & NBCOLLI_STEP_ENDED) == NBCOLLI_STEP_ENDED;
    *is_over = 0;
    if (h.what & NBCOLLI_LEAVES && !is_edge)
        return nbcolli_play_leaves(s, h, step, kind);
    s->result.arrivals += !(h.what & NBCOLLI_TAKEN);
    if (!is_shared && !(h.what & NBCOLLI_TAKEN))
        status = nbcolli_play_take(s, &h, n, &is_here);
    if (status != NBCOLL_OK || !is_here)
        return status;
    if (n->kind == NBCOLLI_PART)
        status = nbcolli_play_fetched(s, h.run, step, h.time);
    else if (kind == NBCOLLI_ANSWER)
        status = nbcolli_play_answered(s, h.run, n, step, h.time);
    else if (kind == NBCOLLI_ARRIVES && !is_shared && nbcolli_play_is_long(s, n))
        status = nbcolli_play_received(s, h.run, n, step, h.time, &(uint64_t){0});
    else {
        nbcolli_preposted *state = &r->state[step];
        state->is_unexpected |= !is_edge && !is_shared && (state->before > 1 || !nbcolli_play_may(s, r, n));
        if (--state->before || !nbcolli_play_may(s, r, n))
            return NBCOLL_OK;
        s->ready[s->readies++] = step;
    }
    if (status == NBCOLL_OK)
        status = nbcolli_play_ready(s, h.run, h.time);
    *is_over = (r->is_started && r->left == 0) || (r->is_awaited && !r->starting);
    return status;
}
