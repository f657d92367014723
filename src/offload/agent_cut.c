/* SPDX-License-Identifier: BSD-3-Clause
 * What is around the inner part of a schedule that exposes memory, with the program of that. */
#include "agent.h"
#include "cut.h"

/* Puts the program in the place of the inner part. */
static nbcoll_status nbcolli_agent_around(const nbcoll_agent *a, nbcolli_arena *arena, const nbcolli_cut *cut,
                                          nbcoll_program *program, nbcoll_schedule **out)
{
    nbcoll_step inner, room = NBCOLL_START;
    nbcoll_status status = nbcolli_cut_around(cut, arena, out, &inner, a->attached ? &room : NULL);
    if (status != NBCOLL_OK || !program->info.tasks) {
        nbcoll_program_free(program);
        program = NULL;
    }
    if (status != NBCOLL_OK)
        return status;
    for (int i = 0; i <= NBCOLL_BUFFER_SCRATCH && program; i++)
        if ((*out)->extent[i] < program->info.extent[i])
            (*out)->extent[i] = program->info.extent[i];
    (*out)->is_cut = 1;
    (*out)->program = program;
    (*out)->free_program = nbcoll_program_free;
    (*out)->inner = program ? inner : NBCOLL_START;
    (*out)->room = program && (*out)->extent[NBCOLL_BUFFER_SCRATCH] ? room : NBCOLL_START;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_agent_cut(const nbcoll_agent *a, const nbcoll_schedule *const schedules[], int ranks, int rank,
                                nbcoll_schedule **out, nbcoll_refusal *why)
{
    nbcolli_inners inners = {.ranks = 0};
    nbcoll_program *program;
    nbcoll_status status = nbcolli_agent_compile(a, schedules, ranks, rank, &inners, &program, why);
    if (status == NBCOLL_OK)
        status = nbcolli_agent_around(a, &inners.arena, &inners.cut[rank], program, out);
    nbcolli_inners_close(&inners);
    return status;
}
