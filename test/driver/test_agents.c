/* SPDX-License-Identifier: BSD-3-Clause
 * Agents in a driver: programs go on while their ranks call nothing that progresses them. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/agent.h"
#include "scene.h"

enum { RANKS = 4, ROUNDS = 200, COUNT = 3000 };

typedef struct troupe {
    world w;
    nbcoll_agent *agent[RANKS];
    nbcoll_driver *driver;
} troupe;

static void troupe_open(troupe *t)
{
    nbcoll_agent_config config = {.size = sizeof config, .in_flight = 2};
    nbcoll_request q[RANKS];
    memset(t, 0, sizeof *t);
    world_open_contexts(&t->w, RANKS, NULL, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &t->driver));
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        EXPECT(OK, nbcoll_agent_open(t->w.endpoint[r], &config, &t->agent[r]));
        comm.agent = t->agent[r];
        EXPECT(OK, nbcoll_comm_icreate(t->w.context[r], t->w.endpoint[r], &comm, &t->w.comm[r], &q[r]));
    }
    world_finish(&t->w, RANKS, q);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_driver_add_agent(t->driver, t->agent[r]));
}

static void troupe_close(troupe *t)
{
    EXPECT(OK, nbcoll_driver_free(t->driver));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_agent_close(t->agent[r]));
    world_close(&t->w);
}

static int32_t mine[RANKS][COUNT], sum[RANKS][COUNT];

static void troupe_start(troupe *t, nbcoll_request q[], int count)
{
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < count; i++)
            mine[r][i] = r + i;
        memset(sum[r], 0, sizeof sum[r]);
        EXPECT(OK, nbcoll_iallreduce(mine[r], sum[r], (size_t)count, NBCOLL_INT32, NBCOLL_SUM, t->w.comm[r], &q[r]));
    }
}

/* A rank's wait makes no progress of agents: without a driver it would not end. */
static void troupe_finish(nbcoll_request q[], int count)
{
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_wait(&q[r], deadline));
        for (int i = 0; i < count; i++)
            assert_int_equal(sum[r][i], 6 + RANKS * i);
    }
}

/* Until the driver has nothing to do but to be rung. */
static void troupe_rest(troupe *t)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    for (int r = 0; r < RANKS; r++)
        while (!atomic_load(&t->agent[r]->driver_sleeps)) {
            assert_true(clock_ns() < late);
            sched_yield();
        }
}

static void programs_wake_a_driver_that_sleeps(void **state)
{
    troupe t;
    nbcoll_request q[RANKS];
    (void)state;
    troupe_open(&t);
    EXPECT(OK, nbcoll_driver_start(t.driver));
    for (int o = 0; o < ROUNDS; o++) {
        int count = o % 3 ? 5 : COUNT;
        if (o % 2)
            troupe_rest(&t);
        troupe_start(&t, q, count);
        troupe_finish(q, count);
    }
    assert_true(scene_counts(t.driver).rings > 0);
    troupe_close(&t);
}

static void programs_wake_a_driver_on_the_same_core(void **state)
{
    scene_on_one_core(programs_wake_a_driver_that_sleeps, state);
}

static void agents_with_nothing_to_do_cost_no_looks(void **state)
{
    troupe t;
    nbcoll_request q[RANKS];
    (void)state;
    troupe_open(&t);
    EXPECT(ERR_TIMEOUT, nbcoll_driver_run(t.driver, 50000000));
    nbcoll_driver_counts idle = scene_counts(t.driver);
    assert_true(idle.sleeps > 0 && idle.looks <= 2);
    EXPECT(OK, nbcoll_driver_remove_agent(t.driver, t.agent[RANKS - 1])); /* for which all others wait */
    troupe_start(&t, q, 5);
    EXPECT(ERR_TIMEOUT, nbcoll_driver_run(t.driver, 50000000));
    assert_true(scene_counts(t.driver).looks - idle.looks > 2);
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 0));
    EXPECT(OK, nbcoll_driver_add_agent(t.driver, t.agent[RANKS - 1])); /* with what it has under way */
    EXPECT(OK, nbcoll_driver_start(t.driver));
    troupe_finish(q, 5);
    troupe_close(&t);
}

static void an_agent_is_in_one_driver_and_not_closed_there(void **state)
{
    troupe t;
    nbcoll_driver *other;
    (void)state;
    troupe_open(&t);
    EXPECT(OK, nbcoll_driver_create(NULL, &other));
    EXPECT(ERR_BUSY, nbcoll_driver_add_agent(t.driver, t.agent[0]));
    EXPECT(ERR_BUSY, nbcoll_driver_add_agent(other, t.agent[0]));
    EXPECT(ERR_ARGUMENT, nbcoll_driver_remove_agent(other, t.agent[0]));
    EXPECT(ERR_BUSY, nbcoll_agent_close(t.agent[0]));
    EXPECT(ERR_NULL, nbcoll_driver_add_agent(NULL, t.agent[0]));
    EXPECT(ERR_NULL, nbcoll_driver_add_agent(other, NULL));
    EXPECT(ERR_NULL, nbcoll_driver_remove_agent(other, NULL));
    EXPECT(OK, nbcoll_driver_remove_agent(t.driver, t.agent[0]));
    EXPECT(ERR_ARGUMENT, nbcoll_driver_remove_agent(t.driver, t.agent[0]));
    EXPECT(OK, nbcoll_driver_add_agent(other, t.agent[0]));
    nbcoll_agent elsewhere = {.serves = t.agent[0]->serves,
                              .attached = (nbcolli_attached *)(void *)&t}; /* only whether it is one is looked at */
    EXPECT(ERR_CONFIG, nbcoll_driver_add_agent(other, &elsewhere));
    EXPECT(OK, nbcoll_driver_free(other));
    troupe_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_wake_a_driver_that_sleeps),
        cmocka_unit_test(programs_wake_a_driver_on_the_same_core),
        cmocka_unit_test(agents_with_nothing_to_do_cost_no_looks),
        cmocka_unit_test(an_agent_is_in_one_driver_and_not_closed_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
