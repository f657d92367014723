/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles the schedules of a case. */
#include "programs.h"

#include <stdlib.h>

nbcoll_status command_programs(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                               const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                               nbcoll_refusal *why)
{
    const nbcoll_program_config usual = {.size = sizeof usual};
    nbcoll_host host = command_host(self);
    nbcoll_schedule **schedules = calloc((size_t)c->ranks, sizeof *schedules);
    nbcoll_status status = schedules ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    *why = (nbcoll_refusal){.size = sizeof *why};
    for (int rank = 0; rank < c->ranks && !status; rank++)
        status = nbcoll_build_case(algorithm, c, rank, &host, &schedules[rank]);
    if (!status)
        status = nbcoll_compile((const nbcoll_schedule *const *)schedules, c->ranks, config ? config : &usual, first,
                                count, out, why);
    for (int rank = 0; schedules && rank < c->ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
    free(schedules);
    return status;
}
