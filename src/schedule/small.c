/* SPDX-License-Identifier: BSD-3-Clause
 * Which schedules are small: see schedule.h. */
#include "nbcoll/transport.h"

#include "schedule.h"

/* Does a region lie where a small step can say? */
static int nbcolli_small_reaches(nbcoll_region r, size_t most)
{
    return r.bytes <= most && r.at.offset <= UINT32_MAX;
}

uint64_t nbcolli_alike(const nbcoll_step_view *v, int rank, int ranks)
{
    const nbcoll_part *first = v->parts;
    uint64_t readers = 0;
    uint32_t others = 0;

    if (v->grows != NBCOLL_START || v->part_count == 0 || first->region.bytes > NBCOLLI_CELL_INLINE)
        return 0;
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcoll_part *p = &v->parts[i];
        if (p->number != first->number || !nbcolli_is_region(&p->region, &first->region))
            return 0;
        readers |= nbcolli_reader_bit(p->peer, ranks);
    }
    for (int r = 0; r < ranks; r++)
        others += r != rank && readers & nbcolli_reader_bit(r, ranks);
    return others == v->part_count ? readers : 0;
}

uint32_t nbcolli_spread(const nbcoll_step_view *v, int rank, int ranks)
{
    const nbcoll_part *first = v->parts;

    if (v->grows != NBCOLL_START || v->part_count == 0 || v->part_count != (uint32_t)ranks - 1 ||
        first->region.bytes > NBCOLLI_CELL_INLINE || nbcolli_alike(v, rank, ranks))
        return 0;
    for (uint32_t i = 0; i < v->part_count; i++) /* of one number: so no two are a reader's */
        if (v->parts[i].number != first->number || v->parts[i].region.bytes != first->region.bytes ||
            nbcolli_is_block(v->parts[i].region.at))
            return 0;
    uint32_t cells = ((v->part_count - 1) >> nbcolli_spread_shift(first->region.bytes)) + 1;
    return cells <= UINT8_MAX ? cells : 0;
}

static int nbcolli_small_is_possible(const nbcoll_step_view *v, int rank, int ranks)
{
    switch (v->kind) {
    case NBCOLL_EXPOSE:
        return nbcolli_spread(v, rank, ranks) ||
               (nbcolli_alike(v, rank, ranks) && nbcolli_small_reaches(v->parts->region, SIZE_MAX));
    case NBCOLL_FETCH: return nbcolli_small_reaches(v->write, NBCOLLI_CELL_INLINE);
    case NBCOLL_FETCH_REDUCE:
        return v->reduction.op < NBCOLL_OP_COUNT && nbcolli_small_reaches(v->write, NBCOLLI_CELL_INLINE);
    case NBCOLL_SEND: return nbcolli_small_reaches(v->read[0], NBCOLL_LINE_PAYLOAD);
    case NBCOLL_RECV: return nbcolli_small_reaches(v->write, NBCOLL_LINE_PAYLOAD);
    case NBCOLL_COPY:
        return nbcolli_small_reaches(v->write, NBCOLLI_SMALL_BYTES) && nbcolli_small_reaches(v->read[0], SIZE_MAX);
    case NBCOLL_REDUCE:
        return v->reduction.op < NBCOLL_OP_COUNT && nbcolli_small_reaches(v->write, NBCOLLI_SMALL_BYTES) &&
               nbcolli_small_reaches(v->read[0], SIZE_MAX) && nbcolli_small_reaches(v->read[1], SIZE_MAX);
    case NBCOLL_JOIN: return 1;
    default: return 0;
    }
}

int nbcolli_is_small(const nbcoll_schedule *s)
{
    int is_small = s->steps <= NBCOLLI_SMALL_STEPS && !s->has_lanes && !nbcolli_has_blocks(s);

    for (nbcoll_step i = NBCOLL_END + 1; is_small && i < s->steps; i++)
        is_small = nbcolli_small_is_possible(&s->step[i], s->rank, s->ranks);
    return is_small;
}
