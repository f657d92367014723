/* SPDX-License-Identifier: BSD-3-Clause
 * Cutting a schedule, and putting one together again. */
#include "cut.h"

#include "nbcoll/pattern.h"
#include "../reduce/packed.h"

/* ---- finding the inner part -------------------------------------------------------------------------------------- */

static int nbcolli_cut_is_message(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_SEND || v->kind == NBCOLL_RECV;
}

static int nbcolli_cut_exposes(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_EXPOSE || v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE;
}

/* Steps in an order in which they may end; returns how many. */
static uint32_t nbcolli_cut_order(const nbcoll_schedule *s, uint32_t *before, nbcoll_step *order)
{
    uint32_t n = 0;
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++)
        if (!(before[i] = s->step[i].before))
            order[n++] = i;
    for (uint32_t at = 0; at < n; at++) {
        const nbcoll_step_view *v = &s->step[order[at]];
        for (uint32_t k = 0; k < v->after_count; k++)
            if (--before[v->after[k]] == 0)
                order[n++] = v->after[k];
    }
    return n;
}

nbcoll_status nbcolli_cut_make(nbcolli_arena *arena, const nbcoll_schedule *s, nbcolli_cut *out, nbcoll_step *exposes)
{
    uint32_t *before = nbcolli_arena_take(arena, s->steps, sizeof *before);
    nbcoll_step *order = nbcolli_arena_take(arena, s->steps, sizeof *order);
    *out = (nbcolli_cut){s, nbcolli_arena_take(arena, s->steps, sizeof *out->side)};
    if (!before || !order || !out->side)
        return NBCOLL_ERR_MEMORY;
    uint32_t n = nbcolli_cut_order(s, before, order);
    for (uint32_t i = 0; i < n; i++) {
        const nbcoll_step_view *v = &s->step[order[i]];
        if (nbcolli_cut_is_message(v))
            out->side[order[i]] |= NBCOLLI_CUT_BEHIND;
        for (uint32_t k = 0; k < v->after_count; k++)
            out->side[v->after[k]] |= out->side[order[i]] & NBCOLLI_CUT_BEHIND;
    }
    for (uint32_t i = n; i-- > 0;) {
        const nbcoll_step_view *v = &s->step[order[i]];
        if (nbcolli_cut_is_message(v))
            out->side[order[i]] |= NBCOLLI_CUT_AHEAD;
        for (uint32_t k = 0; k < v->after_count; k++)
            out->side[order[i]] |= out->side[v->after[k]] & NBCOLLI_CUT_AHEAD;
    }
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++)
        if (s->step[i].grows || (nbcolli_cut_exposes(&s->step[i]) && nbcolli_cut_is_inner(out, i))) {
            *exposes = i;
            return NBCOLL_ERR_UNSUPPORTED;
        }
    return NBCOLL_OK;
}

/* ---- writing steps again ----------------------------------------------------------------------------------------- */

/* Steps of one schedule, as they are written into another one. */
typedef struct nbcolli_cut_copy {
    nbcoll_builder *b;
    const nbcoll_schedule *s;
    uint32_t *number;      /* [s->steps]: of messages, among those with this peer */
    nbcoll_step *step;     /* [s->steps]: what it has become; START: nothing */
    size_t common, beyond; /* scratch memory from `common` on lies so much further on */
} nbcolli_cut_copy;

/* Lowered exposures have numbers of their own, which only a builder may give: the order of all numbers stays. */
static void nbcolli_cut_number(nbcolli_cut_copy *c, const nbcolli_message *message, uint32_t n)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (message[i].peer != message[first].peer)
            first = i;
        c->number[message[i].step] = i - first;
    }
}

static nbcoll_status nbcolli_cut_copy_open(nbcolli_cut_copy *c, nbcolli_arena *arena)
{
    c->number = nbcolli_arena_take(arena, c->s->steps, sizeof *c->number);
    c->step = nbcolli_arena_take(arena, c->s->steps, sizeof *c->step);
    if (!c->number || !c->step)
        return NBCOLL_ERR_MEMORY;
    nbcolli_cut_number(c, c->s->send, c->s->sends);
    nbcolli_cut_number(c, c->s->recv, c->s->recvs);
    return NBCOLL_OK;
}

static nbcoll_addr nbcolli_cut_place(const nbcolli_cut_copy *c, nbcoll_addr a)
{
    return a.buffer == NBCOLL_BUFFER_SCRATCH && a.offset >= c->common ? nbcoll_at(a, c->beyond) : a;
}

static nbcoll_step nbcolli_cut_copy_expose(const nbcolli_cut_copy *c, const nbcoll_step_view *v)
{
    nbcoll_part *part = nbcoll_builder_parts(c->b, v->part_count);
    for (uint32_t i = 0; part && i < v->part_count; i++) {
        part[i] = v->parts[i];
        part[i].region.at = nbcolli_cut_place(c, part[i].region.at);
    }
    return part ? nbcoll_add_expose(c->b, v->part_count, part) : NBCOLL_START;
}

static nbcoll_step nbcolli_cut_copy_call(const nbcolli_cut_copy *c, const nbcoll_step_view *v)
{
    nbcoll_region *region = nbcoll_builder_memory(c->b, v->part_count, sizeof *region);
    uint32_t reads = 0;
    for (uint32_t i = 0; region && i < v->part_count; i++) {
        region[i] = nbcoll_span(nbcolli_cut_place(c, v->parts[i].region.at), v->parts[i].region.bytes);
        reads += !v->parts[i].number;
    }
    if (!region)
        return NBCOLL_START;
    return nbcoll_add_call(c->b, v->call, v->call_user, reads, region, v->part_count - reads, region + reads);
}

static nbcoll_step nbcolli_cut_copy_moves(const nbcolli_cut_copy *c, const nbcoll_step_view *v)
{
    nbcoll_addr to = nbcolli_cut_place(c, v->write.at);
    nbcoll_addr left = nbcolli_cut_place(c, v->read[0].at), right = nbcolli_cut_place(c, v->read[1].at);
    size_t element = nbcolli_packed_size(v->reduction.type);
    if (v->kind == NBCOLL_SEND)
        return nbcoll_add_send(c->b, v->peer, left, v->read[0].bytes);
    if (v->kind == NBCOLL_RECV)
        return nbcoll_add_recv(c->b, v->peer, to, v->write.bytes);
    if (v->kind == NBCOLL_FETCH)
        return nbcoll_add_fetch(c->b, v->peer, to, v->write.bytes);
    if (v->kind == NBCOLL_COPY)
        return nbcoll_add_copy(c->b, to, left, v->write.bytes);
    if (v->kind == NBCOLL_REDUCE)
        return nbcoll_add_combine(c->b, to, left, right, nbcoll_elements(v->write.bytes, element), v->reduction);
    return nbcoll_add_fetch_reduce(c->b, v->peer, to, v->side, nbcoll_elements(v->write.bytes, element), v->reduction);
}

static void nbcolli_cut_copy_step(nbcolli_cut_copy *c, nbcoll_step step)
{
    const nbcoll_step_view *v = &c->s->step[step];
    nbcoll_step made = NBCOLL_START;
    if (v->kind == NBCOLL_JOIN)
        made = nbcoll_add_join(c->b);
    else if (v->kind == NBCOLL_EXPOSE)
        made = nbcolli_cut_copy_expose(c, v);
    else if (v->kind == NBCOLL_CALL)
        made = nbcolli_cut_copy_call(c, v);
    else
        made = nbcolli_cut_copy_moves(c, v);
    if (nbcolli_cut_is_message(v))
        nbcoll_set_number(c->b, made, c->number[step]);
    nbcoll_set_lane(c->b, made, v->lane);
    c->step[step] = made;
}

/* Those between steps that have been copied. */
static void nbcolli_cut_copy_edges(const nbcolli_cut_copy *c)
{
    for (nbcoll_step i = NBCOLL_END + 1; i < c->s->steps; i++)
        for (uint32_t k = 0; c->step[i] && k < c->s->step[i].after_count; k++)
            if (c->step[c->s->step[i].after[k]])
                nbcoll_after(c->b, c->step[c->s->step[i].after[k]], c->step[i]);
}

/* Of what a cut schedule still exposes. */
static int nbcolli_cut_shares(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

static nbcoll_status nbcolli_cut_open(const nbcolli_cut *c, nbcolli_arena *arena, size_t beyond, nbcoll_builder **out)
{
    nbcoll_builder_config config = {.size = sizeof config,
                                    .host = &arena->host,
                                    .rank = c->s->rank,
                                    .ranks = c->s->ranks,
                                    .shares = nbcolli_cut_shares};
    nbcoll_status status = nbcoll_builder_open(&config, out);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_set_name(*out, c->s->name);
    nbcoll_set_fingerprint(*out, c->s->fingerprint);
    if (c->s->is_preposted)
        nbcoll_set_preposted(*out);
    nbcoll_add_scratch(*out, c->s->extent[NBCOLL_BUFFER_SCRATCH] + beyond);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_cut_inner(const nbcolli_cut *c, nbcolli_arena *arena, nbcoll_schedule **out)
{
    nbcolli_cut_copy copy = {.s = c->s, .common = SIZE_MAX};
    nbcoll_status status = nbcolli_cut_copy_open(&copy, arena);
    if (status == NBCOLL_OK)
        status = nbcolli_cut_open(c, arena, 0, &copy.b);
    if (status != NBCOLL_OK)
        return status;
    for (nbcoll_step i = NBCOLL_END + 1; i < c->s->steps; i++)
        if (nbcolli_cut_is_inner(c, i))
            nbcolli_cut_copy_step(&copy, i);
    nbcolli_cut_copy_edges(&copy);
    return nbcoll_builder_finish(copy.b, out);
}

/* ---- putting together -------------------------------------------------------------------------------------------- */

/* What of the cut schedule goes before all of `inner`, and after. */
static void nbcolli_cut_frame(const nbcolli_cut *c, const nbcolli_cut_copy *around, nbcoll_step begin, nbcoll_step end)
{
    for (nbcoll_step i = NBCOLL_END + 1; i < c->s->steps; i++)
        for (uint32_t k = 0; k < c->s->step[i].after_count; k++) {
            nbcoll_step after = c->s->step[i].after[k];
            if (!nbcolli_cut_is_inner(c, i) && nbcolli_cut_is_inner(c, after))
                nbcoll_after(around->b, begin, around->step[i]);
            if (nbcolli_cut_is_inner(c, i) && !nbcolli_cut_is_inner(c, after))
                nbcoll_after(around->b, around->step[after], end);
        }
}

static void nbcolli_cut_copy_around(const nbcolli_cut *c, nbcolli_cut_copy *around)
{
    for (nbcoll_step i = NBCOLL_END + 1; i < c->s->steps; i++)
        if (!nbcolli_cut_is_inner(c, i))
            nbcolli_cut_copy_step(around, i);
    nbcolli_cut_copy_edges(around);
}

static nbcoll_step nbcolli_cut_before_all(const nbcolli_cut *c, const nbcolli_cut_copy *around, nbcoll_step inner)
{
    nbcoll_step first = nbcoll_add_join(around->b);
    nbcoll_after(around->b, inner, first);
    for (nbcoll_step i = NBCOLL_END + 1; i < c->s->steps; i++)
        if (!nbcolli_cut_is_inner(c, i) && !c->s->step[i].before)
            nbcoll_after(around->b, around->step[i], first);
    return first;
}

nbcoll_status nbcolli_cut_around(const nbcolli_cut *c, nbcolli_arena *arena, nbcoll_schedule **out, nbcoll_step *inner,
                                 nbcoll_step *room)
{
    nbcolli_cut_copy around = {.s = c->s, .common = SIZE_MAX};
    nbcoll_status status = nbcolli_cut_copy_open(&around, arena);
    if (status == NBCOLL_OK)
        status = nbcolli_cut_open(c, arena, 0, &around.b);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_cut_copy_around(c, &around);
    *inner = nbcoll_add_join(around.b);
    if (room)
        *room = nbcolli_cut_before_all(c, &around, *inner);
    nbcolli_cut_frame(c, &around, *inner, *inner);
    return nbcoll_builder_finish(around.b, out);
}

nbcoll_status nbcolli_cut_join(const nbcolli_cut *c, const nbcoll_schedule *inner, size_t common, nbcolli_arena *arena,
                               nbcoll_schedule **out)
{
    size_t own = (c->s->extent[NBCOLL_BUFFER_SCRATCH] + 63) / 64 * 64;
    nbcolli_cut_copy around = {.s = c->s, .common = SIZE_MAX};
    nbcolli_cut_copy within = {.s = inner, .common = common, .beyond = own};
    nbcoll_status status = nbcolli_cut_copy_open(&around, arena);
    if (status == NBCOLL_OK)
        status = nbcolli_cut_copy_open(&within, arena);
    if (status == NBCOLL_OK)
        status = nbcolli_cut_open(c, arena, 64 + inner->extent[NBCOLL_BUFFER_SCRATCH], &around.b);
    if (status != NBCOLL_OK)
        return status;
    within.b = around.b;
    nbcolli_cut_copy_around(c, &around);
    nbcoll_step begin = nbcoll_add_join(around.b), end = nbcoll_add_join(around.b);
    nbcoll_after(around.b, end, begin);
    nbcolli_cut_frame(c, &around, begin, end);
    for (nbcoll_step i = NBCOLL_END + 1; i < inner->steps; i++) {
        nbcolli_cut_copy_step(&within, i);
        nbcoll_after(around.b, within.step[i], begin);
        nbcoll_after(around.b, end, within.step[i]);
    }
    nbcolli_cut_copy_edges(&within);
    return nbcoll_builder_finish(around.b, out);
}
