/* SPDX-License-Identifier: BSD-3-Clause
 * Agents over loopback: collectives that are run as programs have the results of serial C, whichever agent gets its
 * turn when; several programs may be started; and what goes wrong ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiled.h"
#include "nbcoll/loopback.h"
#include "operation.h"
#include "world.h"

enum { MOST = 9, CONFIGS = 4, OPERATIONS = 4, TURNS = 1000000 };

static const nbcoll_program_config configs[CONFIGS] = {
    {.size = sizeof configs[0], .eager = 4096},
    {.size = sizeof configs[0], .eager = 64, .threshold = 1000},
    {.size = sizeof configs[0], .eager = 4096, .threshold = 1},
    {.size = sizeof configs[0], .eager = 24, .threshold = 100, .management = 2},
};

typedef struct scene {
    int ranks;
    nbcoll_loopback *loopback;
    nbcoll_endpoint *endpoint[MOST];
    nbcoll_agent *agent[MOST];
    nbcoll_program_run *run[MOST][OPERATIONS];
    uint64_t random;
} scene;

static void scene_open(scene *s, int ranks, size_t eager, uint32_t in_flight)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config agent = {.size = sizeof agent, .eager = eager, .in_flight = in_flight};
    memset(s, 0, sizeof *s);
    s->ranks = ranks;
    s->random = 7;
    EXPECT(OK, nbcoll_loopback_create(&config, &s->loopback));
    for (int rank = 0; rank < ranks; rank++) {
        EXPECT(OK, nbcoll_loopback_open(s->loopback, rank, &s->endpoint[rank]));
        EXPECT(OK, nbcoll_agent_open(s->endpoint[rank], &agent, &s->agent[rank]));
    }
}

static void scene_close(scene *s)
{
    for (int rank = 0; rank < s->ranks; rank++) {
        EXPECT(OK, nbcoll_agent_close(s->agent[rank]));
        nbcoll_endpoint_close(s->endpoint[rank]);
    }
    EXPECT(OK, nbcoll_loopback_free(s->loopback));
}

/* Gives turns to agents until the first `n` runs of all ranks have ended. */
static void scene_finish(scene *s, int n, nbcoll_status statuses[MOST])
{
    int left = 0;
    for (int rank = 0; rank < s->ranks; rank++)
        for (int i = 0; i < n; i++)
            left += s->run[rank][i] != NULL;
    for (long turn = 0; left && turn < TURNS; turn++) {
        int rank = (int)(world_random(&s->random) % (unsigned)s->ranks);
        nbcoll_agent_progress(s->agent[rank]);
        for (int i = 0; i < n; i++) {
            nbcoll_status status = s->run[rank][i] ? nbcoll_agent_test(s->run[rank][i]) : NBCOLL_PENDING;
            if (status == NBCOLL_PENDING)
                continue;
            s->run[rank][i] = NULL;
            statuses[rank] = status;
            left--;
        }
    }
    assert_int_equal(left, 0);
}

static int has_blocks_of_one_length(nbcoll_operation what)
{
    switch (what) {
    case NBCOLL_OPERATION_SCATTERV:
    case NBCOLL_OPERATION_GATHERV:
    case NBCOLL_OPERATION_ALLGATHERV:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW:
    case NBCOLL_OPERATION_REDUCE_SCATTER:
        return 0;
    default:
        return 1;
    }
}

static int has_root(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_GATHER ||
           what == NBCOLL_OPERATION_REDUCE;
}

static void run_one(const nbcoll_algorithm *algorithm, const operation *o, int ranks, int config)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = o->what,
                     .ranks = ranks,
                     .root = o->root,
                     .count = o->count,
                     .reduction = o->how};
    nbcoll_status statuses[MOST] = {NBCOLL_OK};
    share buffers[MOST];
    scene s;
    compiled p;
    assert_int_equal(compiled_open(&p, algorithm, &c, &configs[config]), NBCOLL_OK);
    scene_open(&s, ranks, configs[config].eager, 1);
    for (int rank = 0; rank < ranks; rank++) {
        buffers[rank] = share_make(o, rank, ranks);
        EXPECT(OK, nbcoll_agent_start(s.agent[rank], p.program[rank], buffers[rank].send, buffers[rank].recv,
                                      &s.run[rank][0]));
    }
    scene_finish(&s, 1, statuses);
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(statuses[rank], NBCOLL_OK);
        operation_check(o, &buffers[rank], rank, ranks);
        share_free(&buffers[rank]);
    }
    scene_close(&s);
    compiled_close(&p);
}

static void programs_of_all_algorithms_have_the_values_of_serial_c(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (int ranks = 1; ranks <= MOST && has_blocks_of_one_length((nbcoll_operation)what); ranks += 2)
                for (int config = 0; config < CONFIGS; config++) {
                    operation o = {.what = (nbcoll_operation)what,
                                   .count = what == NBCOLL_OPERATION_BARRIER ? 0 : world_random(&seed) % 90,
                                   .how = {NBCOLL_INT32, NBCOLL_SUM},
                                   .seed = world_random(&seed)};
                    o.root = has_root(o.what) ? (int)(world_random(&seed) % (unsigned)ranks) : 0;
                    run_one(algorithm, &o, ranks, config);
                }
    }
}

/* ---- several of them ------------------------------------------------------------------------------------------- */

/* Ranks start all before an agent has a turn. */
static void programs_wait_for_those_in_flight(uint32_t in_flight)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLREDUCE, 5, 40);
    nbcoll_program_config config = {.size = sizeof config, .eager = 64, .threshold = 100};
    nbcoll_status statuses[MOST];
    int32_t send[5][OPERATIONS][40], recv[5][OPERATIONS][40];
    scene s;
    compiled p;
    assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(c.operation, "recursive_doubling"), &c, &config),
                     NBCOLL_OK);
    scene_open(&s, 5, 64, in_flight);
    for (int rank = 0; rank < 5; rank++)
        for (int i = 0; i < OPERATIONS; i++) {
            for (int k = 0; k < 40; k++)
                send[rank][i][k] = rank + 10 * i + k;
            EXPECT(OK,
                   nbcoll_agent_start(s.agent[rank], p.program[rank], send[rank][i], recv[rank][i], &s.run[rank][i]));
        }
    scene_finish(&s, OPERATIONS, statuses);
    for (int rank = 0; rank < 5; rank++)
        for (int i = 0; i < OPERATIONS; i++)
            for (int k = 0; k < 40; k++)
                assert_int_equal(recv[rank][i][k], 10 + 50 * i + 5 * k);
    scene_close(&s);
    compiled_close(&p);
}

static void programs_of_one_in_flight_follow_each_other(void **state)
{
    (void)state;
    programs_wait_for_those_in_flight(1);
}

static void programs_of_several_in_flight_do_not_mix(void **state)
{
    (void)state;
    programs_wait_for_those_in_flight(3);
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static int32_t data[MOST][5000];

static void start_bcast(scene *s, compiled *p, size_t count, const nbcoll_program_config *config)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, s->ranks, count);
    assert_int_equal(compiled_open(p, nbcoll_algorithm_find(c.operation, "binomial"), &c, config), NBCOLL_OK);
    for (int rank = 0; rank < s->ranks; rank++)
        for (int i = 0; i < 5000; i++)
            data[rank][i] = rank + 1;
    for (int rank = 0; rank < s->ranks; rank++)
        EXPECT(OK, nbcoll_agent_start(s->agent[rank], p->program[rank], NULL, data[rank], &s->run[rank][0]));
}

/* Half way: rank 2 has cleared its sender, and nothing has come. Those that need it learn of it, though they open their
 * queue pairs only afterwards. */
static void a_program_cancelled_half_way_ends_and_nothing_is_written_afterwards(void **state)
{
    nbcoll_status statuses[MOST];
    scene s;
    compiled p;
    (void)state;
    scene_open(&s, 4, 4096, 1);
    start_bcast(&s, &p, 5000, NULL);
    nbcoll_agent_progress(s.agent[2]);
    EXPECT(OK, nbcoll_agent_cancel(s.agent[2]));
    nbcoll_agent_progress(s.agent[2]);
    EXPECT(ERR_CANCELLED, nbcoll_agent_test(s.run[2][0]));
    s.run[2][0] = NULL;
    scene_finish(&s, 1, statuses);
    assert_int_equal(statuses[0], NBCOLL_ERR_PEER_LOST);
    assert_int_equal(statuses[3], NBCOLL_ERR_PEER_LOST);
    assert_int_equal(data[2][0], 3);
    assert_int_equal(data[3][0], 4);
    EXPECT(ERR_CANCELLED, nbcoll_agent_start(s.agent[2], p.program[2], NULL, data[2], &s.run[2][0]));
    scene_close(&s);
    compiled_close(&p);
}

/* It has no queue pair yet by which others could learn of it. */
static void a_program_cancelled_before_it_began_ends_on_all_ranks(void **state)
{
    nbcoll_status statuses[MOST];
    scene s;
    compiled p;
    (void)state;
    scene_open(&s, 4, 4096, 1);
    start_bcast(&s, &p, 5000, NULL);
    EXPECT(OK, nbcoll_agent_cancel(s.agent[2]));
    scene_finish(&s, 1, statuses);
    assert_int_equal(statuses[0], NBCOLL_ERR_PEER_LOST);
    assert_int_equal(statuses[2], NBCOLL_ERR_CANCELLED);
    assert_int_equal(statuses[3], NBCOLL_ERR_PEER_LOST);
    scene_close(&s);
    compiled_close(&p);
}

/* Its values lie in eager buffers until the rank asks for them. */
static void a_program_that_has_ended_keeps_its_values_when_its_agent_is_cancelled(void **state)
{
    nbcoll_status statuses[MOST];
    scene s;
    compiled p;
    (void)state;
    scene_open(&s, 2, 4096, 1);
    start_bcast(&s, &p, 1, NULL);
    for (int turn = 0; turn < 50; turn++)
        for (int rank = 0; rank < 2; rank++)
            nbcoll_agent_progress(s.agent[rank]);
    EXPECT(OK, nbcoll_agent_cancel(s.agent[1]));
    nbcoll_agent_progress(s.agent[1]);
    scene_finish(&s, 1, statuses);
    assert_int_equal(statuses[1], NBCOLL_OK);
    assert_int_equal(data[1][0], 1);
    scene_close(&s);
    compiled_close(&p);
}

static void an_agent_is_not_closed_before_its_runs_are_reported(void **state)
{
    nbcoll_status statuses[MOST];
    scene s;
    compiled p;
    (void)state;
    scene_open(&s, 2, 4096, 1);
    start_bcast(&s, &p, 1, NULL);
    EXPECT(ERR_BUSY, nbcoll_agent_close(s.agent[0]));
    scene_finish(&s, 1, statuses);
    assert_int_equal(data[1][0], 1);
    scene_close(&s);
    compiled_close(&p);
}

/* A context gets the endpoint when the agent has it already; or the agent is opened later. */
static void an_agent_holds_the_context_that_owns_its_endpoint(void **state)
{
    nbcoll_agent_config config = {.size = sizeof config};
    (void)state;
    for (int is_later = 0; is_later < 2; is_later++) {
        nbcoll_case c = compiled_case(NBCOLL_OPERATION_BARRIER, 1, 0);
        nbcoll_program_run *run;
        nbcoll_agent *agent;
        compiled p;
        world w;
        assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(c.operation, "dissemination"), &c, NULL), NBCOLL_OK);
        world_open_contexts(&w, 1, NULL, NULL);
        if (!is_later)
            EXPECT(OK, nbcoll_agent_open(w.endpoint[0], &config, &agent));
        EXPECT(OK, nbcoll_comm_create(w.context[0], w.endpoint[0], NULL, &w.comm[0], NBCOLL_FOREVER));
        if (is_later)
            EXPECT(OK, nbcoll_agent_open(w.endpoint[0], &config, &agent));
        else {
            EXPECT(OK, nbcoll_agent_start(agent, p.program[0], NULL, NULL, &run));
            nbcoll_agent_progress(agent);
            EXPECT(OK, nbcoll_agent_test(run));
        }
        EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
        EXPECT(OK, nbcoll_agent_close(agent));
        world_close(&w);
        compiled_close(&p);
    }
}

static void a_peer_that_closes_its_queue_pairs_is_lost(void **state)
{
    nbcoll_status statuses[MOST] = {NBCOLL_OK};
    scene s;
    compiled p;
    (void)state;
    scene_open(&s, 2, 4096, 1);
    start_bcast(&s, &p, 1, NULL);
    scene_finish(&s, 1, statuses);
    assert_int_equal(statuses[1], NBCOLL_OK);
    EXPECT(OK, nbcoll_agent_close(s.agent[0]));
    s.agent[0] = NULL;
    EXPECT(OK, nbcoll_agent_start(s.agent[1], p.program[1], NULL, data[1], &s.run[1][0]));
    scene_finish(&s, 1, statuses);
    assert_int_equal(statuses[1], NBCOLL_ERR_PEER_LOST);
    scene_close(&s);
    compiled_close(&p);
}

static void what_cannot_be_posted_is_refused_at_the_start(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 2, 65 * 16);
    nbcoll_program_config config = {.size = sizeof config, .eager = 64};
    nbcoll_program_run *run;
    scene s;
    compiled p;
    (void)state;
    assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(c.operation, "binomial"), &c, &config), NBCOLL_OK);
    scene_open(&s, 2, 64, 1);
    EXPECT(ERR_LIMIT, nbcoll_agent_start(s.agent[0], p.program[0], NULL, data[0], &run)); /* 65 buffers of 64 */
    EXPECT(ERR_RANK, nbcoll_agent_start(s.agent[0], p.program[1], NULL, data[0], &run));
    EXPECT(ERR_BUFFER, nbcoll_agent_start(s.agent[0], p.program[0], NULL, NULL, &run));
    EXPECT(ERR_NULL, nbcoll_agent_start(s.agent[0], NULL, NULL, data[0], &run));
    scene_close(&s);
    scene_open(&s, 2, 128, 1);
    EXPECT(ERR_CONFIG, nbcoll_agent_start(s.agent[0], p.program[0], NULL, data[0], &run));
    scene_close(&s);
    compiled_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_all_algorithms_have_the_values_of_serial_c),
        cmocka_unit_test(programs_of_one_in_flight_follow_each_other),
        cmocka_unit_test(programs_of_several_in_flight_do_not_mix),
        cmocka_unit_test(a_program_cancelled_half_way_ends_and_nothing_is_written_afterwards),
        cmocka_unit_test(a_program_cancelled_before_it_began_ends_on_all_ranks),
        cmocka_unit_test(a_program_that_has_ended_keeps_its_values_when_its_agent_is_cancelled),
        cmocka_unit_test(an_agent_is_not_closed_before_its_runs_are_reported),
        cmocka_unit_test(an_agent_holds_the_context_that_owns_its_endpoint),
        cmocka_unit_test(a_peer_that_closes_its_queue_pairs_is_lost),
        cmocka_unit_test(what_cannot_be_posted_is_refused_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
