/* SPDX-License-Identifier: BSD-3-Clause
 * Which schedules are brief, and their steps in short: see schedule.h. */
#include "nbcoll/transport.h"

#include "schedule.h"

/* Does a region lie where a brief step can say? */
static int nbcolli_brief_reaches(nbcoll_region r, size_t most)
{
    return r.bytes <= most && r.at.offset <= UINT32_MAX;
}

uint64_t nbcolli_alike(const nbcoll_step_view *v, int ranks)
{
    const nbcoll_part *first = v->parts;
    uint64_t readers = 0;

    if (v->grows != NBCOLL_START || v->part_count == 0 || first->region.bytes > NBCOLLI_CELL_INLINE ||
        (ranks > 64 && v->part_count != (uint32_t)ranks - 1))
        return 0;
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcoll_part *p = &v->parts[i];
        if (p->number != first->number || p->region.at.offset != first->region.at.offset ||
            p->region.at.buffer != first->region.at.buffer || p->region.bytes != first->region.bytes)
            return 0;
        readers |= UINT64_C(1) << p->peer % 64;
    }
    return ranks > 64 ? UINT64_MAX : readers;
}

uint32_t nbcolli_spread(const nbcoll_step_view *v, int ranks)
{
    const nbcoll_part *first = v->parts;

    if (v->grows != NBCOLL_START || v->part_count == 0 || v->part_count != (uint32_t)ranks - 1 ||
        first->region.bytes > NBCOLLI_CELL_INLINE || nbcolli_alike(v, ranks))
        return 0;
    for (uint32_t i = 0; i < v->part_count; i++) /* of one number: so no two are a reader's */
        if (v->parts[i].number != first->number || v->parts[i].region.bytes != first->region.bytes ||
            nbcolli_is_block(v->parts[i].region.at))
            return 0;
    uint32_t cells = ((v->part_count - 1) >> nbcolli_spread_shift(first->region.bytes)) + 1;
    return cells <= UINT8_MAX ? cells : 0;
}

static int nbcolli_brief_is_possible(const nbcoll_step_view *v, int ranks)
{
    switch (v->kind) {
    case NBCOLL_EXPOSE:
        return nbcolli_spread(v, ranks) ||
               (nbcolli_alike(v, ranks) && nbcolli_brief_reaches(v->parts->region, SIZE_MAX));
    case NBCOLL_FETCH: return nbcolli_brief_reaches(v->write, NBCOLLI_CELL_INLINE);
    case NBCOLL_FETCH_REDUCE:
        return v->reduction.op < NBCOLL_OP_COUNT && nbcolli_brief_reaches(v->write, NBCOLLI_CELL_INLINE);
    case NBCOLL_SEND: return nbcolli_brief_reaches(v->read[0], NBCOLL_LINE_PAYLOAD);
    case NBCOLL_RECV: return nbcolli_brief_reaches(v->write, NBCOLL_LINE_PAYLOAD);
    case NBCOLL_COPY:
        return nbcolli_brief_reaches(v->write, NBCOLLI_BRIEF_BYTES) && nbcolli_brief_reaches(v->read[0], SIZE_MAX);
    case NBCOLL_REDUCE:
        return v->reduction.op < NBCOLL_OP_COUNT && nbcolli_brief_reaches(v->write, NBCOLLI_BRIEF_BYTES) &&
               nbcolli_brief_reaches(v->read[0], SIZE_MAX) && nbcolli_brief_reaches(v->read[1], SIZE_MAX);
    case NBCOLL_JOIN: return 1;
    default: return 0;
    }
}

static nbcolli_brief nbcolli_brief_of(const nbcoll_schedule *s, nbcoll_step step)
{
    const nbcoll_step_view *v = &s->step[step];
    int is_exposure = v->kind == NBCOLL_EXPOSE, is_fetch = v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE;
    nbcoll_region left = is_exposure ? v->parts->region : v->read[0];
    nbcolli_brief b = {.kind = (uint8_t)v->kind,
                       .to = (uint8_t)v->write.at.buffer,
                       .left = (uint8_t)left.at.buffer,
                       .right = (uint8_t)v->read[1].at.buffer,
                       .bytes = (uint16_t)(is_exposure || v->kind == NBCOLL_SEND ? left.bytes : v->write.bytes),
                       .after_count = (uint16_t)v->after_count,
                       .op = s->op[step],
                       .to_at = (uint32_t)v->write.at.offset,
                       .right_at = (uint32_t)(is_fetch ? v->number : v->read[1].at.offset),
                       .left_at = (uint32_t)(is_fetch ? (size_t)v->peer : left.at.offset),
                       .after = v->after};

    if (is_exposure) {
        b.readers = nbcolli_alike(v, s->ranks);
        b.cells = (uint8_t)(b.readers ? 1 : nbcolli_spread(v, s->ranks));
    }
    return b;
}

/* Moves the final fetches to the end of the initial queue, and out of it. */
static void nbcolli_brief_part_finals(nbcoll_schedule *s)
{
    uint32_t all = s->lane_ready[0], others = 0;

    for (int finals = 0; finals < 2; finals++)
        for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++)
            if (!s->before[i] && (s->step[i].kind == NBCOLL_FETCH && !s->step[i].after_count) == finals)
                s->ready[others++] = i;
    for (others = 0; others < all; others++)
        if (s->step[s->ready[others]].kind == NBCOLL_FETCH && !s->step[s->ready[others]].after_count)
            break;
    s->final = s->ready + others;
    s->finals = all - others;
    s->lane_ready[0] = others;
    s->armed = s->steps * sizeof *s->before + others * sizeof *s->ready;
}

void nbcolli_brief_fill(nbcoll_schedule *s)
{
    int is_brief = s->brief && !s->crossed && !nbcolli_has_blocks(s);

    for (nbcoll_step i = NBCOLL_END + 1; is_brief && i < s->steps; i++)
        is_brief = nbcolli_brief_is_possible(&s->step[i], s->ranks);
    if (!is_brief)
        s->brief = NULL;
    for (nbcoll_step i = 0; is_brief && i < s->steps; i++)
        s->brief[i] = nbcolli_brief_of(s, i);
    if (is_brief)
        nbcolli_brief_part_finals(s);
}
