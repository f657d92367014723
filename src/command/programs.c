/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles the schedules of a case. */
#include "programs.h"

#include <stdlib.h>

/* As command_programs says; scratch[rank]: unless it is null, what each rank's schedule needs. */
static nbcoll_status compile(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                             const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                             size_t scratch[], nbcoll_refusal *why)
{
    nbcoll_schedule **schedules = c->ranks > 0 ? calloc((size_t)c->ranks, sizeof *schedules) : NULL;
    nbcoll_host host = command_host(self);
    nbcoll_status status = schedules ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < c->ranks && !status; rank++)
        status = nbcoll_build_case(algorithm, c, rank, &host, &schedules[rank]);
    if (!status)
        status = nbcoll_compile((const nbcoll_schedule *const *)schedules, c->ranks, config, first, count, out, why);
    for (int rank = 0; schedules && rank < c->ranks; rank++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        if (!status && scratch && nbcoll_schedule_query(schedules[rank], &info) == NBCOLL_OK)
            scratch[rank] = info.extent[NBCOLL_BUFFER_SCRATCH];
        nbcoll_schedule_free(schedules[rank]);
    }
    free(schedules);
    return status;
}

nbcoll_status command_programs(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                               const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                               nbcoll_refusal *why)
{
    const nbcoll_program_config usual = {.size = sizeof usual};
    *why = (nbcoll_refusal){.size = sizeof *why};
    return compile(self, algorithm, c, config ? config : &usual, first, count, out, NULL, why);
}

nbcoll_status command_scratch(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                              const nbcoll_program_config *config, size_t *bytes, int *most)
{
    nbcoll_program **programs = calloc((size_t)c->ranks, sizeof *programs);
    size_t *scratch = calloc((size_t)c->ranks, sizeof *scratch);
    nbcoll_status status = programs && scratch ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    *bytes = 0;
    *most = 0;
    if (!status)
        status = compile(self, algorithm, c, config, 0, c->ranks, programs, scratch, NULL);
    for (int rank = 0; !status && rank < c->ranks; rank++) {
        nbcoll_program_info program = {.size = sizeof program};
        nbcoll_program_query(programs[rank], &program);
        if (program.tasks && scratch[rank] > *bytes) {
            *bytes = scratch[rank];
            *most = rank;
        }
        nbcoll_program_free(programs[rank]);
    }
    free(programs);
    free(scratch);
    return status;
}
