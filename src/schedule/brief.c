/* SPDX-License-Identifier: BSD-3-Clause
 * Which schedules are brief, and their steps in short: see schedule.h. */
#include "nbcoll/transport.h"

#include "schedule.h"

/* Does a region lie where a brief step can say? */
static int nbcolli_brief_reaches(nbcoll_region r, size_t most)
{
    return r.bytes <= most && r.at.offset <= UINT32_MAX;
}

static int nbcolli_brief_is_possible(const nbcoll_step_view *v)
{
    switch (v->kind) {
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

void nbcolli_brief_fill(nbcoll_schedule *s)
{
    int is_brief = s->brief && !s->crossed && !nbcolli_has_blocks(s);

    for (nbcoll_step i = NBCOLL_END + 1; is_brief && i < s->steps; i++)
        is_brief = nbcolli_brief_is_possible(&s->step[i]);
    if (!is_brief)
        s->brief = NULL;
    for (nbcoll_step i = 0; is_brief && i < s->steps; i++) {
        const nbcoll_step_view *v = &s->step[i];
        int is_send = v->kind == NBCOLL_SEND;
        s->brief[i] = (nbcolli_brief){.kind = (uint8_t)v->kind,
                                      .to = (uint8_t)v->write.at.buffer,
                                      .left = (uint8_t)v->read[0].at.buffer,
                                      .right = (uint8_t)v->read[1].at.buffer,
                                      .bytes = (uint16_t)(is_send ? v->read[0].bytes : v->write.bytes),
                                      .after_count = (uint16_t)v->after_count,
                                      .op = s->op[i],
                                      .to_at = (uint32_t)v->write.at.offset,
                                      .left_at = (uint32_t)v->read[0].at.offset,
                                      .right_at = (uint32_t)v->read[1].at.offset,
                                      .after = v->after};
    }
}
