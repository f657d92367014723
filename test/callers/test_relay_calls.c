/* SPDX-License-Identifier: BSD-3-Clause
 * Whose calls relays carry out: an application that only calls blocking collectives, a runtime that switches to other
 * tasks in its pause, and a solver whose callbacks start the next round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "world.h"

enum { RANKS = 4, ROUNDS = 10, LOOKS = 4000 };

static const uint64_t deadline = 60000000000u;

static nbcoll_relays *open_relays(nbcoll_comm *comm)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    nbcoll_relays *relays;
    config.carries = 4096;
    EXPECT(OK, nbcoll_relays_open(comm, &config, &relays));
    return relays;
}

/* ---- an application -------------------------------------------------------------------------------------------- */

static void application_main(world *w, int rank, void *user)
{
    nbcoll_relays *relays = open_relays(w->comm[rank]);
    double mine, all[RANKS], scale;
    (void)user;
    for (int round = 0; round < ROUNDS; round++) {
        mine = 10 * round + rank;
        scale = rank == round % RANKS ? round + 0.5 : 0;
        EXPECT(OK, nbcoll_allgather(&mine, all, 1, NBCOLL_DOUBLE, w->comm[rank], deadline));
        EXPECT(OK, nbcoll_bcast(&scale, 1, NBCOLL_DOUBLE, round % RANKS, w->comm[rank], deadline));
        assert_true(scale == round + 0.5);
        for (int of = 0; of < RANKS; of++)
            assert_true(all[of] == 10 * round + of);
    }
    EXPECT(OK, nbcoll_relays_close(relays, deadline));
}

static void an_application_changes_nothing_but_the_opening(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, application_main, NULL);
    world_close(&w);
}

/* ---- a runtime ------------------------------------------------------------------------------------------------- */

/* Another rank's task has its turn. */
static void another_task(void *user, uint64_t looks)
{
    world *w = user;
    nbcoll_progress(w->context[1 + looks % (RANKS - 1)]);
}

static void a_runtime_switches_tasks_while_a_call_blocks(void **state)
{
    static world w;
    nbcoll_context_config config = {.size = sizeof config,
                                    .host = {.size = sizeof config.host, .user = &w, .pause = another_task}};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_relays *relays[RANKS];
    nbcoll_request q[RANKS];
    int32_t mine[RANKS], all[RANKS][RANKS];
    (void)state;
    world_open(&w, RANKS, &loopback, &config, NULL);
    for (int r = 0; r < RANKS; r++)
        relays[r] = open_relays(w.comm[r]);
    for (int r = RANKS; r-- > 0;) {
        mine[r] = 7 * r;
        if (r)
            EXPECT(OK, nbcoll_iallgather(&mine[r], all[r], 1, NBCOLL_INT32, w.comm[r], &q[r]));
        else
            EXPECT(OK, nbcoll_allgather(&mine[r], all[r], 1, NBCOLL_INT32, w.comm[r], deadline));
    }
    world_finish(&w, RANKS - 1, q + 1);
    for (int r = 0; r < RANKS; r++)
        for (int of = 0; of < RANKS; of++)
            assert_int_equal(all[r][of], 7 * of);
    for (int left = RANKS; left;)
        for (int r = left = 0; r < RANKS; r++)
            if (relays[r] && nbcoll_relays_close(relays[r], 0) == NBCOLL_OK)
                relays[r] = NULL;
            else
                left += relays[r] != NULL;
    world_close(&w);
}

/* ---- a solver -------------------------------------------------------------------------------------------------- */

typedef struct solver {
    int rank, rounds;
    int32_t mine, all[RANKS];
    nbcoll_request request;
} solver;

/* A round is over: the next one starts where the callback runs. */
static void next_round(nbcoll_request request, nbcoll_status s, void *user)
{
    solver *me = user;
    EXPECT(OK, s);
    for (int of = 0; of < RANKS; of++)
        assert_int_equal(me->all[of], 100 * me->rounds + of);
    me->mine = 100 * ++me->rounds + me->rank;
    if (me->rounds < ROUNDS)
        EXPECT(OK, nbcoll_start(&request));
}

static void a_solver_starts_the_next_round_in_its_callback(void **state)
{
    static solver solvers[RANKS];
    world w;
    nbcoll_relays *relays[RANKS];
    int least = 0;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        solver *me = &solvers[r];
        relays[r] = open_relays(w.comm[r]);
        *me = (solver){.rank = r, .mine = r};
        EXPECT(OK, nbcoll_allgather_init(&me->mine, me->all, 1, NBCOLL_INT32, w.comm[r], &me->request));
        EXPECT(OK, nbcoll_on_done(me->request, next_round, me));
        EXPECT(OK, nbcoll_start(&me->request));
    }
    for (int looks = 0; least < ROUNDS; looks++) {
        world_watchdog(&w, looks < LOOKS);
        world_step(&w);
        least = ROUNDS;
        for (int r = 0; r < RANKS; r++)
            least = solvers[r].rounds < least ? solvers[r].rounds : least;
    }
    for (int left = RANKS; left;)
        for (int r = left = 0; r < RANKS; r++)
            if (relays[r] && nbcoll_relays_close(relays[r], 0) == NBCOLL_OK)
                relays[r] = NULL;
            else
                left += relays[r] != NULL;
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_application_changes_nothing_but_the_opening),
                                       cmocka_unit_test(a_runtime_switches_tasks_while_a_call_blocks),
                                       cmocka_unit_test(a_solver_starts_the_next_round_in_its_callback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
