/* SPDX-License-Identifier: BSD-3-Clause
 * Compact schedules. Peers are kept as distances, so that ranks which do the same have the same shape, and it is stored
 * once: all ranks of a dissemination barrier or a ring share one. */
#include "simulate.h"

#define SHAPE_LINE 64

static size_t shape_place(size_t *total, size_t n, size_t bytes)
{
    size_t at = *total;
    *total += (n * bytes + SHAPE_LINE - 1) / SHAPE_LINE * SHAPE_LINE;
    return at;
}

/* An empty shape for the schedule, in memory that is used again while nothing new is found. */
static nbcolli_shape *shape_blank(nbcolli_shapes *all, const nbcoll_schedule *s)
{
    size_t total = 0, nodes = s->steps - 2;
    shape_place(&total, 1, sizeof(nbcolli_shape));
    size_t at_node = shape_place(&total, nodes, sizeof(nbcolli_node));
    size_t at_edge = shape_place(&total, s->edges, sizeof(uint32_t));
    size_t at_send = shape_place(&total, s->sends, sizeof(uint32_t));
    size_t at_recv = shape_place(&total, s->recvs, sizeof(uint32_t));
    if (all->spare_bytes != total) {
        nbcolli_purse_give(all->purse, all->spare, 1, all->spare_bytes);
        all->spare = nbcolli_purse_take(all->purse, 1, total);
        all->spare_bytes = all->spare ? total : 0;
        if (!all->spare)
            return NULL;
    }
    char *block = (char *)all->spare;
    *all->spare = (nbcolli_shape){.memory = total,
                                  .nodes = (uint32_t)nodes,
                                  .edges = s->edges,
                                  .sends = s->sends,
                                  .recvs = s->recvs,
                                  .node = (nbcolli_node *)(void *)(block + at_node),
                                  .edge = (uint32_t *)(void *)(block + at_edge),
                                  .send = (uint32_t *)(void *)(block + at_send),
                                  .recv = (uint32_t *)(void *)(block + at_recv)};
    return all->spare;
}

static uint32_t shape_distance(const nbcoll_schedule *s, int peer)
{
    return (uint32_t)(peer >= s->rank ? peer - s->rank : peer + (s->ranks - s->rank));
}

/* What a step costs depends on so many bytes. */
static uint64_t shape_bytes(const nbcoll_step_view *v)
{
    uint64_t bytes = 0;
    if (v->kind == NBCOLL_RECV || v->kind == NBCOLL_REDUCE)
        return v->write.bytes;
    if (v->kind == NBCOLL_CALL)
        for (uint32_t i = 0; i < v->part_count && !v->parts[i].number; i++)
            bytes += v->parts[i].region.bytes;
    return v->kind == NBCOLL_CALL ? bytes : v->read[0].bytes;
}

static nbcoll_status shape_nodes(nbcolli_shape *shape, const nbcoll_schedule *s)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < shape->nodes; i++) {
        const nbcoll_step_view *v = &s->step[i + 2];
        nbcolli_node *n = &shape->node[i];
        if (v->kind == NBCOLL_EXPOSE || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE ||
            nbcolli_is_block(v->write.at) || nbcolli_is_block(v->read[0].at))
            return NBCOLL_ERR_UNSUPPORTED;
        *n = (nbcolli_node){.bytes = shape_bytes(v),
                            .to = v->peer >= 0 ? shape_distance(s, v->peer) : 0,
                            .number = v->number,
                            .before = v->before + (v->kind == NBCOLL_RECV),
                            .after = edges,
                            .after_count = v->after_count,
                            .kind = v->kind};
        if (n->bytes > NBCOLL_SIM_MOST_BYTES)
            return NBCOLL_ERR_LIMIT;
        shape->bytes += v->kind == NBCOLL_SEND ? n->bytes : 0;
        for (uint32_t k = 0; k < v->after_count; k++)
            shape->edge[edges++] = v->after[k] - 2;
    }
    return NBCOLL_OK;
}

/* By distance: those of the ranks above come first. */
static void shape_index(const nbcoll_schedule *s, const nbcolli_message *from, uint32_t n, uint32_t *to)
{
    uint32_t first = nbcolli_message_index(from, n, s->rank, 0);
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[(first + i) % n].step - 2;
}

static uint32_t shape_different(const nbcolli_shape *shape, const uint32_t *index, uint32_t n)
{
    uint32_t different = 0;
    for (uint32_t i = 0; i < n; i++)
        different += !i || shape->node[index[i]].to != shape->node[index[i - 1]].to;
    return different;
}

static void shape_count(nbcolli_shape *shape)
{
    uint32_t i = 0, k = 0;
    shape->links = shape_different(shape, shape->send, shape->sends);
    shape->links += shape_different(shape, shape->recv, shape->recvs);
    while (i < shape->sends || k < shape->recvs) {
        uint32_t x = i < shape->sends ? shape->node[shape->send[i]].to : UINT32_MAX;
        uint32_t y = k < shape->recvs ? shape->node[shape->recv[k]].to : UINT32_MAX;
        uint32_t least = x < y ? x : y;
        shape->peers++;
        while (i < shape->sends && shape->node[shape->send[i]].to == least)
            i++;
        while (k < shape->recvs && shape->node[shape->recv[k]].to == least)
            k++;
    }
}

static uint64_t shape_hash(const nbcolli_shape *shape)
{
    uint64_t hash = nbcolli_mix(shape->nodes, shape->edges, shape->sends);
    for (uint32_t i = 0; i < shape->nodes; i++) {
        const nbcolli_node *n = &shape->node[i];
        hash = (hash ^ n->bytes) * UINT64_C(0x100000001b3);
        hash = (hash ^ n->to ^ (uint64_t)n->number << 32) * UINT64_C(0x100000001b3);
        hash = (hash ^ n->kind ^ (uint64_t)n->after_count << 32) * UINT64_C(0x100000001b3);
    }
    return nbcolli_mix(hash, 0, 0);
}

/* Compared before either was looked for by its peers. */
static int shape_equal(const nbcolli_shape *a, const nbcolli_shape *b)
{
    if (a->hash != b->hash || a->nodes != b->nodes || a->edges != b->edges || a->sends != b->sends ||
        a->recvs != b->recvs || memcmp(a->edge, b->edge, a->edges * sizeof *a->edge))
        return 0;
    for (uint32_t i = 0; i < a->nodes; i++) {
        const nbcolli_node *m = &a->node[i], *n = &b->node[i];
        if (m->bytes != n->bytes || m->to != n->to || m->number != n->number || m->before != n->before ||
            m->after_count != n->after_count || m->kind != n->kind)
            return 0;
    }
    return 1;
}

static int shape_grow(nbcolli_shapes *all)
{
    size_t room = all->room ? 4 * all->room : 256;
    nbcolli_shape **chain = nbcolli_purse_take(all->purse, room, sizeof *chain);
    if (!chain)
        return 0;
    for (size_t i = 0; i < all->room; i++)
        for (nbcolli_shape *s = all->chain[i], *next; s; s = next) {
            next = s->next;
            s->next = chain[s->hash & (room - 1)];
            chain[s->hash & (room - 1)] = s;
        }
    nbcolli_purse_give(all->purse, all->chain, all->room, sizeof *chain);
    all->chain = chain;
    all->room = room;
    return 1;
}

nbcoll_status nbcolli_shapes_add(nbcolli_shapes *all, const nbcoll_schedule *s, nbcolli_shape **out)
{
    if (s->steps >= 1u << 29)
        return NBCOLL_ERR_LIMIT;
    if (all->used >= all->room && !shape_grow(all))
        return NBCOLL_ERR_MEMORY;
    nbcolli_shape *shape = shape_blank(all, s);
    if (!shape)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status status = shape_nodes(shape, s);
    if (status != NBCOLL_OK)
        return status;
    shape->hash = shape_hash(shape);
    nbcolli_shape **chain = &all->chain[shape->hash & (all->room - 1)];
    for (*out = *chain; *out; *out = (*out)->next)
        if (shape_equal(*out, shape))
            return NBCOLL_OK;
    shape_index(s, s->send, s->sends, shape->send);
    shape_index(s, s->recv, s->recvs, shape->recv);
    shape_count(shape);
    shape->next = *chain;
    *chain = *out = shape;
    all->used++;
    all->spare = NULL;
    all->spare_bytes = 0;
    return NBCOLL_OK;
}

void nbcolli_shapes_free(nbcolli_shapes *all)
{
    for (size_t i = 0; i < all->room; i++)
        for (nbcolli_shape *s = all->chain[i], *next; s; s = next) {
            next = s->next;
            nbcolli_purse_give(all->purse, s, 1, s->memory);
        }
    nbcolli_purse_give(all->purse, all->chain, all->room, sizeof *all->chain);
    nbcolli_purse_give(all->purse, all->spare, 1, all->spare_bytes);
}

uint32_t nbcolli_shape_mate(nbcolli_node *node, const nbcolli_shape *peers, uint32_t ranks)
{
    if (node->mate_of == peers)
        return node->mate;
    int is_send = node->kind == NBCOLL_SEND;
    const uint32_t *index = is_send ? peers->recv : peers->send;
    uint32_t low = 0, n = is_send ? peers->recvs : peers->sends, high = n, to = ranks - node->to;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const nbcolli_node *m = &peers->node[index[middle]];
        if (m->to < to || (m->to == to && m->number < node->number))
            low = middle + 1;
        else
            high = middle;
    }
    const nbcolli_node *found = low < n ? &peers->node[index[low]] : NULL;
    node->mate_of = peers;
    node->mate = found && found->to == to && found->number == node->number ? index[low] : UINT32_MAX;
    return node->mate;
}
