/* SPDX-License-Identifier: BSD-3-Clause
 * Compact schedules. Peers are kept as distances, so that ranks which do the same have the same shape, and it is stored
 * once: all ranks of a dissemination barrier or a ring share one. */
#include "simulate.h"

#include "../schedule/sort.h"

#define NBCOLLI_SHAPE_LINE 64

static size_t nbcolli_shape_place(size_t *total, size_t n, size_t bytes)
{
    size_t at = *total;
    *total += (n * bytes + NBCOLLI_SHAPE_LINE - 1) / NBCOLLI_SHAPE_LINE * NBCOLLI_SHAPE_LINE;
    return at;
}

static uint32_t nbcolli_shape_parts(const nbcoll_schedule *s)
{
    uint32_t parts = 0;
    for (uint32_t i = 2; s->shared && i < s->steps; i++)
        parts += s->step[i].kind == NBCOLL_EXPOSE ? s->step[i].part_count : 0;
    return parts;
}

/* An empty shape for the schedule, in memory that is used again while nothing new is found. */
static nbcolli_shape *nbcolli_shape_blank(nbcolli_shapes *all, const nbcoll_schedule *s)
{
    size_t total = 0, parts = nbcolli_shape_parts(s), nodes = s->steps - 2 + parts;
    size_t gives = s->sends + parts, takes = s->recvs + s->fetches;
    nbcolli_shape_place(&total, 1, sizeof(nbcolli_shape));
    size_t at_node = nbcolli_shape_place(&total, nodes, sizeof(nbcolli_node));
    size_t at_edge = nbcolli_shape_place(&total, s->edges, sizeof(uint32_t));
    size_t at_give = nbcolli_shape_place(&total, gives, sizeof(uint32_t));
    size_t at_take = nbcolli_shape_place(&total, takes, sizeof(uint32_t));
    if (all->spare_bytes != total) {
        nbcolli_purse_give(all->purse, all->spare);
        all->spare = nbcolli_purse_take(all->purse, 1, total);
        all->spare_bytes = all->spare ? total : 0;
        if (!all->spare)
            return NULL;
    }
    char *block = (char *)all->spare;
    *all->spare = (nbcolli_shape){.nodes = (uint32_t)nodes,
                                  .steps = s->steps - 2,
                                  .edges = s->edges,
                                  .gives = (uint32_t)gives,
                                  .takes = (uint32_t)takes,
                                  .fetches = s->fetches,
                                  .messages = s->sends,
                                  .node = (nbcolli_node *)(void *)(block + at_node),
                                  .edge = (uint32_t *)(void *)(block + at_edge),
                                  .give = (uint32_t *)(void *)(block + at_give),
                                  .take = (uint32_t *)(void *)(block + at_take)};
    return all->spare;
}

static uint32_t nbcolli_shape_distance(const nbcoll_schedule *s, int peer)
{
    return (uint32_t)(peer >= s->rank ? peer - s->rank : peer + (s->ranks - s->rank));
}

/* Parts in a row that are one region count once. */
static uint64_t nbcolli_shape_exposed(const nbcoll_step_view *v)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcoll_region *r = &v->parts[i].region, *last = i ? &v->parts[i - 1].region : NULL;
        int is_again = last && last->at.buffer == r->at.buffer && last->at.offset == r->at.offset &&
                       last->bytes == r->bytes;
        bytes += is_again ? 0 : r->bytes;
    }
    return v->grows == NBCOLL_START ? bytes : NBCOLLI_GROWS;
}

static uint64_t nbcolli_shape_region(const nbcoll_schedule *s, nbcolli_sim_blocks blocks, const nbcoll_region *r)
{
    if (!nbcolli_is_block(r->at))
        return r->bytes;
    return blocks.config->block(blocks.user, blocks.operation, s->rank, nbcolli_is_recv_block(r->at),
                                (int)r->at.offset);
}

/* What a step costs depends on so many bytes. */
static uint64_t nbcolli_shape_bytes(const nbcoll_schedule *s, nbcolli_sim_blocks blocks, const nbcoll_step_view *v)
{
    uint64_t bytes = 0;
    switch (v->kind) {
    case NBCOLL_SEND:
    case NBCOLL_COPY:
        return nbcolli_shape_region(s, blocks, &v->read[0]);
    case NBCOLL_EXPOSE:
        return nbcolli_shape_exposed(v);
    case NBCOLL_CALL:
        for (uint32_t i = 0; i < v->part_count && !v->parts[i].number; i++)
            bytes += nbcolli_shape_region(s, blocks, &v->parts[i].region);
        return bytes;
    default:
        return nbcolli_shape_region(s, blocks, &v->write);
    }
}

/* The parts of the EXPOSE at `step` are the nodes from `first` on. */
static void nbcolli_shape_expose(nbcolli_shape *shape, const nbcoll_schedule *s, uint32_t step, uint32_t first)
{
    const nbcoll_step_view *v = &s->step[step + 2];
    shape->node[step].number = first;
    shape->node[step].parts = v->part_count;
    for (uint32_t i = 0; i < v->part_count; i++)
        shape->node[first + i] = (nbcolli_node){.bytes = v->parts[i].region.bytes,
                                                .to = nbcolli_shape_distance(s, v->parts[i].peer),
                                                .number = v->parts[i].number | NBCOLLI_FROM_CELL,
                                                .before = 1,
                                                .after = step,
                                                .kind = NBCOLLI_PART};
}

static nbcoll_status nbcolli_shape_nodes(nbcolli_shape *shape, const nbcoll_schedule *s, nbcolli_sim_blocks blocks)
{
    uint32_t edges = 0, parts = shape->steps;
    if (!blocks.config->block && nbcolli_has_blocks(s))
        return NBCOLL_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < shape->steps; i++) {
        const nbcoll_step_view *v = &s->step[i + 2];
        nbcolli_node *n = &shape->node[i];
        *n = (nbcolli_node){.bytes = nbcolli_shape_bytes(s, blocks, v),
                            .to = v->peer >= 0 ? nbcolli_shape_distance(s, v->peer) : 0,
                            .number = v->number,
                            .before = v->before,
                            .after = edges,
                            .after_count = v->after_count,
                            .kind = v->kind,
                            .lane = v->lane & 0x3fffffff};
        if (n->bytes > NBCOLL_SIM_MOST_BYTES && n->bytes != NBCOLLI_GROWS)
            return NBCOLL_ERR_LIMIT;
        n->before += n->kind == NBCOLL_RECV || nbcolli_is_fetch(n);
        n->number |= nbcolli_is_fetch(n) ? NBCOLLI_FROM_CELL : 0;
        shape->bytes += n->kind == NBCOLL_SEND ? n->bytes : 0;
        shape->starting += n->lane == NBCOLL_LANE_START;
        shape->fetched += nbcolli_is_fetch(n) ? n->bytes : 0;
        if (n->kind == NBCOLL_EXPOSE)
            nbcolli_shape_expose(shape, s, i, parts);
        parts += n->kind == NBCOLL_EXPOSE ? v->part_count : 0;
        for (uint32_t k = 0; k < v->after_count; k++)
            shape->edge[edges++] = v->after[k] - 2;
    }
    if (blocks.config->preposted)
        nbcolli_shape_mark(shape, s);
    return NBCOLL_OK;
}

/* The nodes that give, or that take, by distance: those of the ranks above come first. */
static nbcoll_status nbcolli_shape_index(nbcolli_purse *purse, const nbcolli_shape *shape, int takes, uint32_t *to)
{
    uint32_t n = takes ? shape->takes : shape->gives, k = 0;
    nbcolli_entry *entry = nbcolli_purse_take(purse, 2 * (size_t)n, sizeof *entry);
    if (!entry)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < shape->nodes; i++) {
        const nbcolli_node *m = &shape->node[i];
        int is_one = takes ? m->kind == NBCOLL_RECV || nbcolli_is_fetch(m)
                           : m->kind == NBCOLL_SEND || m->kind == NBCOLLI_PART;
        if (is_one)
            entry[k++] = (nbcolli_entry){nbcolli_key(m->to, m->number), i};
    }
    nbcolli_sort(entry, entry + n, n);
    for (uint32_t i = 0; i < n; i++)
        to[i] = entry[i].value;
    nbcolli_purse_give(purse, entry);
    return NBCOLL_OK;
}

/* Is the i-th of an index the next message on a way of its own? Shared memory is no way. */
static int nbcolli_shape_is_way(const nbcolli_shape *shape, const uint32_t *index, uint32_t i)
{
    const nbcolli_node *n = &shape->node[index[i]], *last = i ? &shape->node[index[i - 1]] : NULL;
    return (n->kind == NBCOLL_SEND || n->kind == NBCOLL_RECV) && (!last || last->to != n->to);
}

static void nbcolli_shape_count(nbcolli_shape *shape)
{
    uint32_t i = 0, k = 0;
    while (i < shape->gives || k < shape->takes) {
        uint32_t x = i < shape->gives ? shape->node[shape->give[i]].to : UINT32_MAX;
        uint32_t y = k < shape->takes ? shape->node[shape->take[k]].to : UINT32_MAX;
        uint32_t least = x < y ? x : y, links = 0;
        for (; i < shape->gives && shape->node[shape->give[i]].to == least; i++)
            links += (uint32_t)nbcolli_shape_is_way(shape, shape->give, i);
        for (; k < shape->takes && shape->node[shape->take[k]].to == least; k++)
            links += (uint32_t)nbcolli_shape_is_way(shape, shape->take, k);
        shape->links += links;
        shape->peers += links > 0;
    }
}

static uint64_t nbcolli_shape_hash(const nbcolli_shape *shape)
{
    uint64_t hash = nbcolli_mix(shape->nodes, shape->edges, shape->gives);
    for (uint32_t i = 0; i < shape->nodes; i++) {
        const nbcolli_node *n = &shape->node[i];
        hash = (hash ^ n->bytes) * UINT64_C(0x100000001b3);
        hash = (hash ^ n->to ^ (uint64_t)n->number << 32) * UINT64_C(0x100000001b3);
        hash = (hash ^ n->kind ^ n->lane << 8 ^ (uint64_t)n->after_count << 32) * UINT64_C(0x100000001b3);
    }
    return nbcolli_mix(hash, 0, 0);
}

/* Compared before either was looked for by its peers. */
static int nbcolli_shape_equal(const nbcolli_shape *a, const nbcolli_shape *b)
{
    if (a->hash != b->hash || a->nodes != b->nodes || a->edges != b->edges || a->gives != b->gives ||
        a->takes != b->takes || memcmp(a->edge, b->edge, a->edges * sizeof *a->edge))
        return 0;
    for (uint32_t i = 0; i < a->nodes; i++) {
        const nbcolli_node *m = &a->node[i], *n = &b->node[i];
        if (m->bytes != n->bytes || m->to != n->to || m->number != n->number || m->before != n->before ||
            m->after_count != n->after_count || m->kind != n->kind || m->lane != n->lane || m->parts != n->parts ||
            m->stands != n->stands || m->is_kept != n->is_kept)
            return 0;
    }
    return 1;
}

static int nbcolli_shape_grow(nbcolli_shapes *all)
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
    nbcolli_purse_give(all->purse, all->chain);
    all->chain = chain;
    all->room = room;
    return 1;
}

nbcoll_status nbcolli_shapes_add(nbcolli_shapes *all, const nbcoll_schedule *s, nbcolli_sim_blocks blocks,
                                 nbcolli_shape **out)
{
    if ((uint64_t)s->steps + nbcolli_shape_parts(s) >= 1u << 28)
        return NBCOLL_ERR_LIMIT;
    if (all->used >= all->room && !nbcolli_shape_grow(all))
        return NBCOLL_ERR_MEMORY;
    nbcolli_shape *shape = nbcolli_shape_blank(all, s);
    if (!shape)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status status = nbcolli_shape_nodes(shape, s, blocks);
    if (status != NBCOLL_OK)
        return status;
    shape->hash = nbcolli_shape_hash(shape);
    nbcolli_shape **chain = &all->chain[shape->hash & (all->room - 1)];
    for (*out = *chain; *out; *out = (*out)->next)
        if (nbcolli_shape_equal(*out, shape))
            return NBCOLL_OK;
    status = nbcolli_shape_index(all->purse, shape, 0, shape->give);
    if (status == NBCOLL_OK)
        status = nbcolli_shape_index(all->purse, shape, 1, shape->take);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_shape_count(shape);
    shape->next = *chain;
    *chain = *out = shape;
    all->used++;
    all->spare = NULL;
    all->spare_bytes = 0;
    return NBCOLL_OK;
}

uint32_t nbcolli_shape_mate(nbcolli_node *node, const nbcolli_shape *peers, uint32_t ranks)
{
    if (node->mate_of == peers)
        return node->mate;
    int is_given = node->kind == NBCOLL_SEND || node->kind == NBCOLLI_PART;
    const uint32_t *index = is_given ? peers->take : peers->give;
    uint32_t low = 0, n = is_given ? peers->takes : peers->gives, high = n, to = ranks - node->to;
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
