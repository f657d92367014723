/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles the schedules of a case. */
#include <stdlib.h>

#include "command.h"

nbcoll_schedule **command_schedules(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                                    int first, int count, nbcoll_status *status)
{
    nbcoll_schedule **schedules = count > 0 ? calloc((size_t)count, sizeof *schedules) : NULL;
    nbcoll_host host = command_host(self);
    *status = schedules ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (int i = 0; i < count && !*status; i++)
        *status = nbcoll_build_case(algorithm, c, first + i, &host, &schedules[i]);
    return schedules;
}

void command_drop_schedules(nbcoll_schedule **schedules, int count)
{
    for (int i = 0; schedules && i < count; i++)
        nbcoll_schedule_free(schedules[i]);
    free(schedules);
}

nbcoll_status command_programs(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                               const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                               nbcoll_refusal *why)
{
    const nbcoll_program_config usual = {.size = sizeof usual};
    nbcoll_status status;
    nbcoll_schedule **schedules = command_schedules(self, algorithm, c, 0, c->ranks, &status);
    *why = (nbcoll_refusal){.size = sizeof *why};
    if (!status)
        status = nbcoll_compile((const nbcoll_schedule *const *)schedules, c->ranks, config ? config : &usual, first,
                                count, out, why);
    command_drop_schedules(schedules, c->ranks);
    return status;
}

nbcoll_status command_scratch(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                              const nbcoll_program_config *config, size_t *bytes, int *most)
{
    nbcoll_status status;
    nbcoll_schedule **schedules = command_schedules(self, algorithm, c, 0, c->ranks, &status);
    nbcoll_program **programs = status ? NULL : calloc((size_t)c->ranks, sizeof *programs);
    *bytes = 0;
    *most = 0;
    if (!status)
        status = programs ? nbcoll_compile((const nbcoll_schedule *const *)schedules, c->ranks, config, 0, c->ranks,
                                           programs, NULL)
                          : NBCOLL_ERR_MEMORY;
    for (int rank = 0; !status && rank < c->ranks; rank++) {
        nbcoll_program_info program = {.size = sizeof program};
        nbcoll_schedule_info schedule = {.size = sizeof schedule};
        nbcoll_program_query(programs[rank], &program);
        nbcoll_schedule_query(schedules[rank], &schedule);
        if (program.tasks && schedule.extent[NBCOLL_BUFFER_SCRATCH] > *bytes) {
            *bytes = schedule.extent[NBCOLL_BUFFER_SCRATCH];
            *most = rank;
        }
        nbcoll_program_free(programs[rank]);
    }
    free(programs);
    command_drop_schedules(schedules, c->ranks);
    return status;
}
