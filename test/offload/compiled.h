/* SPDX-License-Identifier: BSD-3-Clause
 * All ranks' schedules of a case, and the programs that are made of them. */
#ifndef TEST_OFFLOAD_COMPILED_H
#define TEST_OFFLOAD_COMPILED_H

#include "nbcoll/offload.h"
#include "nbcoll/verify.h"

enum { COMPILED_MOST = 128 };

typedef struct compiled {
    int ranks;
    nbcoll_schedule *schedule[COMPILED_MOST];
    nbcoll_program *program[COMPILED_MOST];
    nbcoll_refusal why;
} compiled;

/* Of INT32 elements and SUM, where the case says nothing else. */
nbcoll_case compiled_case(nbcoll_operation operation, int ranks, size_t count);

/* Builds and compiles; `config` may be null. Returns what compiling says; fails the test if building does. */
nbcoll_status compiled_open(compiled *p, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                            const nbcoll_program_config *config);
void compiled_close(compiled *p);

static inline nbcoll_program_info compiled_info(const compiled *p, int rank)
{
    nbcoll_program_info info = {.size = sizeof info};
    nbcoll_program_query(p->program[rank], &info);
    return info;
}

#endif
