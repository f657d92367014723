/* SPDX-License-Identifier: BSD-3-Clause
 * Levels: the schedules of all ranks are played through, as if every SEND of a long message and its RECV began
 * together. */
#include "offload.h"

typedef struct nbcolli_level_item {
    int rank;
    nbcoll_step step;
} nbcolli_level_item;

typedef struct nbcolli_level_play {
    nbcolli_compile *c;
    uint32_t *before;          /* [all steps]: how many it still waits for */
    uint8_t *has_begun;        /* [all steps] */
    uint32_t *ended;           /* [ranks] */
    nbcolli_level_item *queue; /* [all steps]: all that they wait for has ended */
    size_t queued;
} nbcolli_level_play;

static size_t nbcolli_level_index(const nbcolli_level_play *p, nbcolli_level_item item)
{
    return p->c->first[item.rank] + item.step;
}

static void nbcolli_level_end(nbcolli_level_play *p, nbcolli_level_item item, uint32_t level)
{
    nbcolli_compile *c = p->c;
    const nbcoll_step_view *v = nbcolli_compile_view(c, item.rank, item.step);
    c->done[nbcolli_level_index(p, item)] = level;
    c->order[c->first[item.rank] + p->ended[item.rank]++] = item.step;
    for (uint32_t i = 0; i < v->after_count; i++) {
        nbcolli_level_item after = {item.rank, v->after[i]};
        size_t index = nbcolli_level_index(p, after);
        if (c->go[index] < level)
            c->go[index] = level; /* until it begins: the level of all that it waits for */
        if (!--p->before[index])
            p->queue[p->queued++] = after;
    }
}

static uint32_t nbcolli_level_greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Both ends of a message have begun. */
static void nbcolli_level_meet(nbcolli_level_play *p, nbcolli_level_item send, nbcolli_level_item recv, int is_bulk)
{
    uint32_t *go = p->c->go;
    size_t s = nbcolli_level_index(p, send), r = nbcolli_level_index(p, recv);
    uint32_t had = go[r];
    if (is_bulk) {
        uint32_t end = nbcolli_level_greater(go[s], go[r]) + 1;
        nbcolli_level_end(p, send, end);
        nbcolli_level_end(p, recv, end);
        return;
    }
    go[r] = go[s];
    nbcolli_level_end(p, recv, nbcolli_level_greater(go[s] + 1, had));
}

static void nbcolli_level_message(nbcolli_level_play *p, nbcolli_level_item item, const nbcoll_step_view *v)
{
    nbcolli_compile *c = p->c;
    size_t index = nbcolli_level_index(p, item);
    nbcolli_level_item mate = {v->peer, c->mate[index]};
    int is_bulk = nbcolli_compile_is_bulk(c, v), is_send = v->kind == NBCOLL_SEND;
    if (is_send || is_bulk)
        c->go[index]++;
    if (is_send && !is_bulk)
        nbcolli_level_end(p, item, c->go[index] + 1);
    p->has_begun[index] = 1;
    if (p->has_begun[nbcolli_level_index(p, mate)])
        nbcolli_level_meet(p, is_send ? item : mate, is_send ? mate : item, is_bulk);
}

static void nbcolli_level_begin(nbcolli_level_play *p, nbcolli_level_item item)
{
    const nbcoll_step_view *v = nbcolli_compile_view(p->c, item.rank, item.step);
    uint32_t *go = &p->c->go[nbcolli_level_index(p, item)];
    if (nbcolli_compile_is_message(v))
        nbcolli_level_message(p, item, v);
    else
        nbcolli_level_end(p, item, nbcolli_compile_is_join(v) ? *go : ++*go);
}

/* Finds the other end of each message of a rank. */
static nbcoll_status nbcolli_level_match(nbcolli_compile *c, int rank)
{
    const nbcoll_schedule *s = c->schedules[rank];
    for (uint32_t i = 0; i < s->sends + s->recvs; i++) {
        int is_send = i < s->sends;
        const nbcolli_message *m = is_send ? &s->send[i] : &s->recv[i - s->sends];
        const nbcoll_schedule *peer = c->schedules[m->peer];
        nbcoll_step mate = nbcolli_find_message(is_send ? peer->recv : peer->send, is_send ? peer->recvs : peer->sends,
                                                rank, m->number);
        if (mate == NBCOLL_START)
            return NBCOLL_ERR_ARGUMENT;
        const nbcoll_step_view *mine = &s->step[m->step], *other = &peer->step[mate];
        if (nbcolli_compile_is_known(mine) && nbcolli_compile_is_known(other) &&
            nbcolli_compile_bytes(mine) != nbcolli_compile_bytes(other))
            return NBCOLL_ERR_ARGUMENT;
        c->mate[c->first[rank] + m->step] = mate;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_compile_levels(nbcolli_compile *c)
{
    size_t steps = c->first[c->ranks];
    nbcoll_status status = NBCOLL_OK;
    nbcolli_level_play p = {.c = c,
                            .before = nbcolli_arena_take(&c->arena, steps, sizeof *p.before),
                            .has_begun = nbcolli_arena_take(&c->arena, steps, sizeof *p.has_begun),
                            .ended = nbcolli_arena_take(&c->arena, (size_t)c->ranks, sizeof *p.ended),
                            .queue = nbcolli_arena_take(&c->arena, steps, sizeof *p.queue)};
    if (!p.before || !p.has_begun || !p.ended || !p.queue)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++)
        status = nbcolli_level_match(c, rank);
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++)
        for (nbcoll_step step = 0; step < c->schedules[rank]->steps; step++) {
            p.before[c->first[rank] + step] = c->schedules[rank]->before[step];
            if (!c->schedules[rank]->before[step])
                p.queue[p.queued++] = (nbcolli_level_item){rank, step};
        }
    size_t begun = 0;
    while (begun < p.queued)
        nbcolli_level_begin(&p, p.queue[begun++]);
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++)
        if (p.ended[rank] < c->schedules[rank]->steps)
            status = NBCOLL_ERR_ARGUMENT;
    return status;
}
