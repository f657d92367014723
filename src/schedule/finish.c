/* SPDX-License-Identifier: BSD-3-Clause
 * From what a builder gathered to a schedule: one block of memory, edges sorted and without repeats, messages numbered,
 * no cycle. O(n log n) in steps, edges and parts. */
#include <stdio.h>

#include "builder.h"

#define NBCOLLI_FINISH_LINE 64 /* alignment of the block and of each array in it */

static void nbcolli_finish_sort_edges(nbcolli_builder *b, nbcolli_entry *work)
{
    nbcolli_entry *edges = b->edges.items;
    size_t kept = 0;
    nbcolli_sort(edges, work, b->edges.used);
    for (size_t i = 0; i < b->edges.used; i++)
        if (!i || edges[i].key != edges[kept - 1].key)
            edges[kept++] = edges[i];
    b->edges.used = kept;
}

/* FETCH_REDUCEs count as FETCHes. */
static uint32_t nbcolli_finish_count(const nbcolli_builder *b, nbcoll_kind kind)
{
    uint32_t n = 0;
    for (size_t i = 0; i < b->drafts.used; i++) {
        nbcoll_kind found = nbcolli_drafts(b)[i].view.kind;
        n += found == kind || (kind == NBCOLL_FETCH && found == NBCOLL_FETCH_REDUCE);
    }
    return n;
}

/* Reserves an array in the block. It cannot overflow: the builder holds more bytes than the block will. */
static size_t nbcolli_finish_place(size_t *total, size_t n, size_t bytes)
{
    size_t at = *total;
    *total += (n * bytes + NBCOLLI_FINISH_LINE - 1) / NBCOLLI_FINISH_LINE * NBCOLLI_FINISH_LINE;
    return at;
}

/* The block, its pointers set, its arrays still empty. The arrays of the views begin at *after and *parts. */
static nbcoll_schedule *nbcolli_finish_block(const nbcolli_builder *b, nbcoll_step **after, nbcoll_part **parts)
{
    size_t total = 0, steps = b->drafts.used;
    uint32_t sends = nbcolli_finish_count(b, NBCOLL_SEND), recvs = nbcolli_finish_count(b, NBCOLL_RECV);
    uint32_t fetches = nbcolli_finish_count(b, NBCOLL_FETCH),
             ops = sends + recvs + fetches + nbcolli_finish_count(b, NBCOLL_EXPOSE);
    nbcolli_finish_place(&total, 1, sizeof(nbcoll_schedule));
    size_t at_step = nbcolli_finish_place(&total, steps, sizeof(nbcoll_step_view));
    size_t at_before = nbcolli_finish_place(&total, steps, sizeof(uint32_t) + sizeof(nbcoll_step));
    size_t at_op = nbcolli_finish_place(&total, steps, sizeof(uint32_t));
    size_t at_after = nbcolli_finish_place(&total, b->edges.used, sizeof(nbcoll_step));
    size_t at_send = nbcolli_finish_place(&total, sends, sizeof(nbcolli_message));
    size_t at_recv = nbcolli_finish_place(&total, recvs, sizeof(nbcolli_message));
    size_t at_fetch = nbcolli_finish_place(&total, fetches, sizeof(nbcolli_message));
    size_t at_bounces = nbcolli_finish_place(&total, fetches ? ops : 0, sizeof(size_t));
    size_t at_parts = nbcolli_finish_place(&total, b->parts.used, sizeof(nbcoll_part));
    char *block = nbcolli_alloc(&b->host, total, NBCOLLI_FINISH_LINE);
    if (!block)
        return NULL;
    nbcoll_schedule *s = (nbcoll_schedule *)block;
    *s = (nbcoll_schedule){.host = b->host,
                           .memory = total,
                           .rank = b->rank,
                           .ranks = b->ranks,
                           .steps = (uint32_t)steps,
                           .edges = (uint32_t)b->edges.used,
                           .is_preposted = b->is_preposted,
                           .reducers = b->reducers,
                           .ops = ops,
                           .sends = sends,
                           .recvs = recvs,
                           .fetches = fetches};
    nbcolli_schedule_mark(s, b->fingerprint);
    memcpy(s->name, b->name, sizeof s->name);
    s->step = (nbcoll_step_view *)(block + at_step);
    s->before = (uint32_t *)(block + at_before);
    s->ready = s->before + steps;
    s->op = (uint32_t *)(block + at_op);
    s->send = (nbcolli_message *)(block + at_send);
    s->recv = (nbcolli_message *)(block + at_recv);
    s->fetch = (nbcolli_message *)(block + at_fetch);
    s->bounces = (size_t *)(block + at_bounces);
    *after = (nbcoll_step *)(block + at_after);
    *parts = (nbcoll_part *)(block + at_parts);
    return s;
}

static void nbcolli_finish_reach(nbcoll_schedule *s, nbcoll_region r)
{
    size_t *extent = &s->extent[r.at.buffer];
    r.bytes = nbcolli_is_block(r.at) ? 1 : r.bytes;
    if (r.bytes && *extent < r.at.offset + r.bytes)
        *extent = r.at.offset + r.bytes;
}

/* What a run of a step that shares memory needs. */
static void nbcolli_finish_share(nbcoll_schedule *s, nbcoll_step i)
{
    const nbcoll_step_view *v = &s->step[i];
    s->shared |= v->kind == NBCOLL_EXPOSE || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE;
    if (v->kind == NBCOLL_EXPOSE && (v->grows == NBCOLL_START || v->grows == i)) {
        uint32_t spread = nbcolli_spread(v, s->rank, s->ranks);
        s->cells++;
        s->shown += v->part_count;
        s->wide += spread ? spread : 1;
    }
    if (v->kind == NBCOLL_FETCH_REDUCE) {
        s->converges = 1;
        s->bounces[s->op[i]] = s->bounce;
        s->bounce += (v->write.bytes + NBCOLLI_FINISH_LINE - 1) / NBCOLLI_FINISH_LINE *
                     NBCOLLI_FINISH_LINE; /* so much is in a buffer */
    }
}

static void nbcolli_finish_steps(const nbcolli_builder *b, nbcoll_schedule *s, nbcoll_part *parts)
{
    uint32_t op = 0;
    if (b->parts.used)
        memcpy(parts, b->parts.items, b->parts.used * sizeof *parts);
    for (nbcoll_step i = 0; i < s->steps; i++) {
        const nbcolli_draft *draft = &nbcolli_drafts(b)[i];
        nbcoll_step_view *v = &s->step[i];
        *v = draft->view;
        v->parts = v->part_count ? parts + draft->part : NULL;
        s->op[i] = v->peer >= 0 || v->kind == NBCOLL_EXPOSE ? op++ : UINT32_MAX;
        nbcolli_finish_share(s, i);
        nbcolli_finish_reach(s, v->write);
        nbcolli_finish_reach(s, v->read[0]);
        nbcolli_finish_reach(s, v->read[1]);
        for (uint32_t p = 0; p < v->part_count; p++)
            nbcolli_finish_reach(s, v->parts[p].region);
    }
}

static void nbcolli_finish_edges(const nbcolli_builder *b, nbcoll_schedule *s, nbcoll_step *after)
{
    const nbcolli_entry *edges = b->edges.items;
    memset(s->before, 0, s->steps * sizeof *s->before);
    for (uint32_t i = 0; i < s->edges; i++) {
        nbcoll_step_view *earlier = &s->step[edges[i].key >> 32];
        after[i] = (nbcoll_step)edges[i].key;
        if (!earlier->after_count++)
            earlier->after = &after[i];
        s->before[after[i]]++;
    }
    for (nbcoll_step i = 0; i < s->steps; i++)
        s->step[i].before = s->before[i];
}

/* The ready queues with which a run begins. With lanes all of their room is copied. */
static void nbcolli_finish_queues(nbcoll_schedule *s)
{
    uint32_t steps[NBCOLLI_LANES] = {0};
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++) {
        steps[nbcolli_lane_of(&s->step[i])]++;
        s->starting += s->step[i].lane == NBCOLL_LANE_START;
    }
    s->has_lanes = steps[NBCOLL_LANE_ANY] + NBCOLL_END + 1 < s->steps;
    for (uint32_t lane = 1; lane < NBCOLLI_LANES; lane++)
        s->lane[lane].head = s->lane[lane].tail = s->lane[lane - 1].head + steps[lane - 1];
    memset(s->ready, 0, s->steps * sizeof *s->ready);
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++) {
        if (!s->before[i])
            s->ready[s->lane[nbcolli_lane_of(&s->step[i])].tail++] = i;
    }
    s->armed = s->steps * sizeof *s->before + (s->has_lanes ? s->steps : s->lane[0].tail) * sizeof *s->ready;
}

/* Names the first steps of a cycle. Those that never became ready have steps to wait for left: following one of them
 * from step to step ends up on a cycle. `waits_for`: room for a step each. */
static nbcoll_status nbcolli_finish_refuse_cycle(nbcolli_builder *b, const nbcoll_schedule *s, const uint32_t *before,
                                                 nbcoll_step *waits_for)
{
    char more[80] = "";
    nbcoll_step step = NBCOLL_START;
    int used = 0;
    for (nbcoll_step earlier = 0; earlier < s->steps; earlier++)
        for (uint32_t i = 0; before[earlier] && i < s->step[earlier].after_count; i++) {
            step = s->step[earlier].after[i];
            waits_for[step] = earlier;
        }
    for (nbcoll_step i = 0; i < s->steps; i++)
        step = waits_for[step];
    nbcoll_step next = waits_for[step];
    for (; next != step && used < 48; next = waits_for[next])
        used += snprintf(more + used, sizeof more - (size_t)used, "step %u, which waits for ", next);
    b->call = "nbcoll_after";
    if (next == step)
        nbcolli_builder_refuse(b, NBCOLL_ERR_CYCLE, step, "it waits for %sstep %u", more, step);
    else
        nbcolli_builder_refuse(b, NBCOLL_ERR_CYCLE, step, "it waits for %sothers, which wait for step %u", more, step);
    return b->status;
}

/* Runs the graph: a step on a cycle never becomes ready. */
static nbcoll_status nbcolli_finish_check_order(nbcolli_builder *b, const nbcoll_schedule *s, nbcolli_entry *work)
{
    uint32_t *before = (uint32_t *)work, *ready = before + s->steps;
    uint32_t first = 0, last = 0;
    memcpy(before, s->before, s->steps * sizeof *before);
    for (nbcoll_step i = 0; i < s->steps; i++)
        if (!before[i])
            ready[last++] = i;
    while (first < last) {
        const nbcoll_step_view *v = &s->step[ready[first++]];
        for (uint32_t i = 0; i < v->after_count; i++)
            if (!--before[v->after[i]])
                ready[last++] = v->after[i];
    }
    return last < s->steps ? nbcolli_finish_refuse_cycle(b, s, before, ready) : NBCOLL_OK;
}

static nbcoll_status nbcolli_finish_no_memory(nbcolli_builder *b)
{
    nbcolli_builder_refuse(b, NBCOLL_ERR_MEMORY, NBCOLL_END, "no memory");
    return b->status;
}

static nbcoll_status nbcolli_finish_fill(nbcolli_builder *b, nbcolli_entry *work, nbcoll_schedule **out)
{
    nbcoll_step *after;
    nbcoll_part *parts;
    nbcolli_finish_sort_edges(b, work);
    nbcoll_schedule *s = nbcolli_finish_block(b, &after, &parts);
    if (!s)
        return nbcolli_finish_no_memory(b);
    nbcolli_finish_steps(b, s, parts);
    nbcolli_finish_edges(b, s, after);
    nbcolli_finish_queues(s);
    nbcoll_status status = nbcolli_finish_check_order(b, s, work);
    if (status == NBCOLL_OK)
        status = nbcolli_number(b, s, parts, work);
    if (status == NBCOLL_OK) {
        s->is_small = (uint8_t)nbcolli_is_small(s);
        *out = s;
    } else
        nbcolli_free(&b->host, s, s->memory);
    return status;
}

nbcoll_status nbcolli_assemble(nbcolli_builder *b, nbcoll_schedule **out)
{
    size_t most = b->drafts.used > b->parts.used ? b->drafts.used : b->parts.used;
    most = b->groups ? b->drafts.used + b->parts.used : most;
    size_t bytes = (2 * most > b->edges.used ? 2 * most : b->edges.used) * sizeof(nbcolli_entry);
    nbcolli_entry *work = nbcolli_alloc(&b->host, bytes, NBCOLLI_FINISH_LINE);
    if (!work)
        return nbcolli_finish_no_memory(b);
    nbcoll_status status = nbcolli_finish_fill(b, work, out);
    nbcolli_free(&b->host, work, bytes);
    return status;
}
