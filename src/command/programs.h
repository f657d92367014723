/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules and programs of an algorithm, for the commands that show and explain them. */
#ifndef COMMAND_PROGRAMS_H
#define COMMAND_PROGRAMS_H

#include <nbcoll/offload.h>

#include "command.h"

/* Builds those of ranks first..first + count - 1, whatever *status then is. Null: there is no memory. */
nbcoll_schedule **command_schedules(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                                    int first, int count, nbcoll_status *status);
void command_drop_schedules(nbcoll_schedule **schedules, int count);

/* Compiles a case: the programs of ranks first..first + count - 1, to be freed. `config` may be null: the defaults.
 * *why: as nbcoll_compile says. */
nbcoll_status command_programs(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                               const nbcoll_program_config *config, int first, int count, nbcoll_program *out[],
                               nbcoll_refusal *why);

/* Bytes of scratch memory that a case in three parts (config->in_parts) borrows of an agent that is a process: those of
 * the rank that borrows most, *most. Errors: those of nbcoll_compile. */
nbcoll_status command_scratch(const command *self, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                              const nbcoll_program_config *config, size_t *bytes, int *most);

#endif
