/* SPDX-License-Identifier: BSD-3-Clause
 * The inner parts of all ranks' schedules, for those who compile them. */
#include "cut.h"

static nbcoll_status nbcolli_inners_fill(nbcolli_inners *m, nbcolli_compile *c)
{
    int has_messages = 0, has_exposures = 0;
    m->cut = nbcolli_arena_take(&m->arena, (size_t)c->ranks, sizeof *m->cut);
    m->schedule = nbcolli_arena_take(&m->arena, (size_t)c->ranks, sizeof *m->schedule);
    nbcoll_status status = m->cut && m->schedule ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < c->ranks && status == NBCOLL_OK; rank++) {
        const nbcoll_schedule *s = c->schedules[rank];
        nbcoll_step exposes;
        if (!s)
            return NBCOLL_ERR_NULL;
        status = nbcolli_cut_make(&m->arena, s, &m->cut[rank], &exposes);
        if (status == NBCOLL_ERR_UNSUPPORTED)
            return nbcolli_compile_refuse(c, NBCOLL_REFUSAL_BETWEEN, rank, exposes);
        if (status == NBCOLL_OK)
            status = nbcolli_cut_inner(&m->cut[rank], &m->arena, &m->schedule[rank]);
        has_messages |= s->sends > 0;
        has_exposures |= s->shared;
    }
    if (status == NBCOLL_OK && !(has_messages && has_exposures))
        status = nbcolli_compile_refuse(c, NBCOLL_REFUSAL_ONE_PART, 0, NBCOLL_START);
    return status;
}

nbcoll_status nbcolli_inners_open(nbcolli_inners *m, nbcolli_compile *c)
{
    *m = (nbcolli_inners){.arena = {.host = c->arena.host}, .ranks = c->ranks};
    nbcoll_status status = nbcolli_inners_fill(m, c);
    if (status == NBCOLL_OK)
        c->schedules = (const nbcoll_schedule *const *)m->schedule;
    return status;
}

void nbcolli_inners_close(nbcolli_inners *m)
{
    for (int rank = 0; m->schedule && rank < m->ranks; rank++)
        if (m->schedule[rank])
            nbcolli_schedule_delete(m->schedule[rank]);
    nbcolli_arena_close(&m->arena);
}
