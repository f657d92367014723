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

nbcoll_status command_compile(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                              const nbcoll_program_config *config, int first, int count, command_compiled *out)
{
    const nbcoll_program_config usual = {.size = sizeof usual};
    nbcoll_status status;
    *out = (command_compiled){.ranks = c->ranks, .count = count, .why.size = sizeof out->why,
                              .program = calloc((size_t)count, sizeof *out->program)};
    out->schedule = command_schedules(self, algorithm, c, 0, c->ranks, &status);
    if (!out->program)
        return NBCOLL_ERR_MEMORY;
    return status ? status
                  : nbcoll_compile((const nbcoll_schedule *const *)out->schedule, c->ranks, config ? config : &usual,
                                   first, count, out->program, &out->why);
}

void command_drop_compiled(command_compiled *c)
{
    for (int i = 0; c->program && i < c->count; i++)
        nbcoll_program_free(c->program[i]);
    free(c->program);
    command_drop_schedules(c->schedule, c->ranks);
}
