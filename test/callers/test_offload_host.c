/* SPDX-License-Identifier: BSD-3-Clause
 * The host that asks for offload: each rank has an agent on a thread of its own, starts an operation as a program, and
 * computes without a call of the library until it wants the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/offload.h"
#include "nbcoll/verify.h"
#include "world.h"

enum { RANKS = 4, COUNT = 6000 };

static int32_t in[RANKS][COUNT], out[RANKS][RANKS * COUNT];
static nbcoll_agent *agent[RANKS];
static atomic_int ended;

/* The schedules of all ranks are built by each of them: they are the same everywhere. */
static nbcoll_program *program_of(int rank)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = NBCOLL_OPERATION_ALLGATHER,
                     .ranks = RANKS,
                     .count = COUNT,
                     .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_program_config config = {.size = sizeof config};
    nbcoll_schedule *schedule[RANKS];
    nbcoll_program *program = NULL;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_build_case(nbcoll_algorithm_find(c.operation, "ring"), &c, r, NULL, &schedule[r]));
    EXPECT(OK, nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &config, rank, 1, &program, NULL));
    for (int r = 0; r < RANKS; r++)
        nbcoll_schedule_free(schedule[r]);
    return program;
}

static void rank_main(world *w, int number, void *user)
{
    int rank = number / 2;
    (void)w;
    (void)user;
    if (number % 2) { /* its agent */
        while (atomic_load(&ended) < RANKS)
            nbcoll_agent_progress(agent[rank]);
        return;
    }
    nbcoll_program *program = program_of(rank);
    nbcoll_program_run *run;
    nbcoll_status status;
    for (int i = 0; i < COUNT; i++)
        in[rank][i] = rank * COUNT + i;
    EXPECT(OK, nbcoll_agent_start(agent[rank], program, in[rank], out[rank], &run));
    while ((status = nbcoll_agent_test(run)) == NBCOLL_PENDING)
        ; /* computes */
    EXPECT(OK, status);
    for (int i = 0; i < RANKS * COUNT; i++)
        if (out[rank][i] != i)
            EXPECT(OK, NBCOLL_ERR_VERIFY);
    nbcoll_program_free(program);
    atomic_fetch_add(&ended, 1);
}

static void a_host_has_agents_run_its_collectives(void **state)
{
    nbcoll_agent_config config = {.size = sizeof config};
    world threads = {.ranks = 2 * RANKS}, w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_agent_open(w.endpoint[rank], &config, &agent[rank]));
    world_threads(&threads, rank_main, NULL);
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_agent_close(agent[rank]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_has_agents_run_its_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
