/* SPDX-License-Identifier: BSD-3-Clause
 * Programs of the middles of schedules that expose memory. */
#include "agent.h"
#include "cut.h"

/* Of all ranks: so all of them know alike whether they are cut. */
typedef struct nbcolli_agent_middles {
    nbcolli_arena arena;
    int ranks;
    nbcolli_cut *cut;         /* [ranks] */
    nbcoll_schedule **middle; /* [ranks] */
} nbcolli_agent_middles;

static nbcoll_status nbcolli_agent_middles_open(nbcolli_agent_middles *m, const nbcoll_schedule *const schedules[])
{
    nbcoll_status status = NBCOLL_OK;
    nbcoll_step exposes;
    int has_messages = 0, has_exposures = 0;
    m->cut = nbcolli_arena_take(&m->arena, (size_t)m->ranks, sizeof *m->cut);
    m->middle = nbcolli_arena_take(&m->arena, (size_t)m->ranks, sizeof *m->middle);
    if (!m->cut || !m->middle)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < m->ranks && status == NBCOLL_OK; rank++)
        status = nbcolli_cut_make(&m->arena, schedules[rank], &m->cut[rank], &exposes);
    for (int rank = 0; rank < m->ranks && status == NBCOLL_OK; rank++) {
        status = nbcolli_cut_middle(&m->cut[rank], &m->arena, &m->middle[rank]);
        has_messages |= schedules[rank]->sends > 0;
        has_exposures |= schedules[rank]->shared;
    }
    return status == NBCOLL_OK && !(has_messages && has_exposures) ? NBCOLL_ERR_UNSUPPORTED : status;
}

static void nbcolli_agent_middles_close(nbcolli_agent_middles *m)
{
    for (int rank = 0; m->middle && rank < m->ranks; rank++)
        if (m->middle[rank])
            nbcolli_schedule_delete(m->middle[rank]);
    nbcolli_arena_close(&m->arena);
}

/* Puts the program in the place of the middle. */
static nbcoll_status nbcolli_agent_around(nbcolli_agent_middles *m, int rank, nbcoll_program *program,
                                          nbcoll_schedule **out)
{
    nbcoll_step middle;
    nbcoll_status status = nbcolli_cut_around(&m->cut[rank], &m->arena, out, &middle);
    for (int i = 0; i <= NBCOLL_BUFFER_SCRATCH && status == NBCOLL_OK; i++)
        if ((*out)->extent[i] < program->info.extent[i])
            (*out)->extent[i] = program->info.extent[i];
    if (status != NBCOLL_OK || !program->info.tasks) {
        nbcoll_program_free(program);
        program = NULL;
    }
    if (status != NBCOLL_OK)
        return status;
    (*out)->is_cut = 1;
    (*out)->program = program;
    (*out)->free_program = nbcoll_program_free;
    (*out)->middle = program ? middle : NBCOLL_START;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_agent_cut(const nbcoll_agent *a, const nbcoll_schedule *const schedules[], int ranks, int rank,
                                nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcolli_agent_middles m = {.arena = {.host = a->host}, .ranks = ranks};
    nbcoll_program *program = NULL;
    nbcoll_status status = nbcolli_agent_middles_open(&m, schedules);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_compile(a, (const nbcoll_schedule *const *)m.middle, ranks, rank, 1, &program, why);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_around(&m, rank, program, out);
    nbcolli_agent_middles_close(&m);
    return status;
}
