/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical operations with a thread for each rank, and agents in a driver, which wakes ranks that sleep; a driver
 * that has the contexts, too, makes the copies within nodes, so that ranks need do nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "by_nodes.h"
#include "nbcoll/driver.h"
#include "nbcoll/select.h"
#include "nbcoll/verify.h"

enum { RANKS = 6, ROUNDS = 60, COUNT = 40, AT_A_TIME = 3 };

/* Allreduces by nodes, by two leaders of each, and between them programs that are all of an operation. */
static void rank_main(world *w, int rank, void *user)
{
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        nbcoll_request request[AT_A_TIME][2];
        int32_t mine[COUNT], sum[AT_A_TIME][COUNT], all[AT_A_TIME][RANKS];
        for (int k = 0; k < COUNT; k++)
            mine[k] = rank + i + k;
        for (int n = 0; n < AT_A_TIME; n++) {
            EXPECT(OK, nbcoll_iallreduce(mine, sum[n], COUNT, NBCOLL_INT32, NBCOLL_SUM, w->comm[rank], &request[n][0]));
            EXPECT(OK, nbcoll_iallgather(mine, all[n], 1, NBCOLL_INT32, w->comm[rank], &request[n][1]));
        }
        for (int n = 0; n < AT_A_TIME; n++) {
            EXPECT(OK, nbcoll_wait(&request[n][1], NBCOLL_FOREVER));
            EXPECT(OK, nbcoll_wait(&request[n][0], NBCOLL_FOREVER));
            for (int k = 0; k < COUNT; k++)
                assert_int_equal(sum[n][k], RANKS * (RANKS - 1) / 2 + RANKS * (i + k));
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(all[n][r], r + i);
        }
    }
}

static void open_leaders(scene *s, const nbcoll_context_config *contexts)
{
    static const int room[] = {4, 2};
    const nbcoll_rule rules[] = {
        {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical"), .leaders = 2},
        {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring")}};
    nbcoll_comm_config config = {.size = sizeof config, .slots = 4, .cells = 8, .schedules = 16, .eager = 256,
                                 .rules = rules, .rule_count = 2};
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = 2};
    nbcoll_nodes *nodes;
    EXPECT(OK, nbcoll_nodes_place(&placement, RANKS, NULL, &nodes));
    scene_open(s, nodes, contexts, 2, config);
    nbcoll_nodes_free(nodes);
}

static nbcoll_driver *drive(const scene *s, int has_contexts)
{
    nbcoll_driver *driver;
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    for (int rank = 0; rank < RANKS; rank++) {
        EXPECT(OK, nbcoll_driver_add_agent(driver, s->agent[rank]));
        if (has_contexts)
            EXPECT(OK, nbcoll_driver_add(driver, s->j.w.context[rank]));
    }
    return driver;
}

static void run_threads(const nbcoll_context_config *contexts, int has_contexts)
{
    static scene s;
    open_leaders(&s, contexts);
    nbcoll_driver *driver = drive(&s, has_contexts);
    EXPECT(OK, nbcoll_driver_start(driver));
    world_threads(&s.j.w, rank_main, NULL);
    EXPECT(OK, nbcoll_driver_free(driver));
    scene_close(&s);
}

static void ranks_sleep_while_a_driver_has_their_agents(void **state)
{
    (void)state;
    run_threads(NULL, 0);
}

static const nbcoll_context_config any_thread = {.size = sizeof any_thread, .flags = NBCOLL_ANY_THREAD};

static void contexts_may_be_of_any_threads(void **state)
{
    (void)state;
    run_threads(&any_thread, 0);
}

static void contexts_may_be_in_a_driver_with_their_agents(void **state)
{
    (void)state;
    run_threads(&any_thread, 1);
}

static void a_driver_ends_what_ranks_have_started_and_look_after_no_more(void **state)
{
    nbcoll_request request[RANKS];
    int32_t mine[RANKS], sum[RANKS] = {0};
    scene s;
    (void)state;
    open_leaders(&s, &any_thread);
    for (int rank = 0; rank < RANKS; rank++) {
        mine[rank] = 1 + rank;
        EXPECT(OK, nbcoll_iallreduce(&mine[rank], &sum[rank], 1, NBCOLL_INT32, NBCOLL_SUM, s.j.w.comm[rank],
                                     &request[rank]));
    }
    nbcoll_driver *driver = drive(&s, 1);
    for (int have = 0, tries = 0; have < RANKS; tries++) {
        assert_true(tries < 10000);
        EXPECT(ERR_TIMEOUT, nbcoll_driver_run(driver, 1000000));
        have = 0;
        for (int rank = 0; rank < RANKS; rank++)
            have += sum[rank] == RANKS * (RANKS + 1) / 2;
    }
    for (int rank = 0; rank < RANKS; rank++)
        EXPECT(OK, nbcoll_wait(&request[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_driver_free(driver));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_sleep_while_a_driver_has_their_agents),
        cmocka_unit_test(contexts_may_be_of_any_threads),
        cmocka_unit_test(contexts_may_be_in_a_driver_with_their_agents),
        cmocka_unit_test(a_driver_ends_what_ranks_have_started_and_look_after_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
