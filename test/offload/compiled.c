/* SPDX-License-Identifier: BSD-3-Clause */
#include "compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

nbcoll_case compiled_case(nbcoll_operation operation, int ranks, size_t count)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case),
                         .operation = operation,
                         .ranks = ranks,
                         .count = count,
                         .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
}

nbcoll_status compiled_open(compiled *p, const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                            const nbcoll_program_config *config)
{
    nbcoll_program_config usual = {.size = sizeof usual};
    memset(p, 0, sizeof *p);
    p->ranks = c->ranks;
    p->why.size = sizeof p->why;
    for (int rank = 0; rank < c->ranks; rank++)
        assert_int_equal(nbcoll_build_case(algorithm, c, rank, NULL, &p->schedule[rank]), NBCOLL_OK);
    return nbcoll_compile((const nbcoll_schedule *const *)p->schedule, c->ranks, config ? config : &usual, 0, c->ranks,
                          p->program, &p->why);
}

void compiled_close(compiled *p)
{
    for (int rank = 0; rank < p->ranks; rank++) {
        nbcoll_program_free(p->program[rank]);
        nbcoll_schedule_free(p->schedule[rank]);
    }
}
