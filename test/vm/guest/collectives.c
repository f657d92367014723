/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over verbs, of ranks that are processes: all seventeen, with random arguments, of 2 to 8 ranks, one after
 * the other and many at once; and what the others are told of one that is killed, or leaves. Runs in a guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "board.h"
#include "crew.h"
#include "operation.h"
#include "../../stress/stress.h"

enum { TIMEOUT = 15, VICTIM = 1, TOLD_MS = 2000 }; /* the device sends again after 134 ms, six times */

typedef struct plan {
    board *board;
    int ranks, operations;
    size_t most;
    uint64_t seed;
    int dies;          /* the victim: it is killed, else it leaves */
} plan;

typedef struct member {
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

static member join(int rank, const plan *p)
{
    const nbcoll_verbs_config config = {
        .size = sizeof config, .rank = rank, .ranks = p->ranks, .timeout = TIMEOUT, .probe_ms = 200};
    member m;
    nbcoll_endpoint *endpoint = board_open(p->board, &config);

    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m.context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m.context, endpoint, NULL, &m.comm, 30 * SECOND));
    return m;
}

static void run(plan p, rank_main *main)
{
    crew c = {{0}};

    for (int i = 0; i < p.ranks; i++)
        c.threads[i] = 1;
    p.board = shared_memory(sizeof *p.board);
    memset(p.board, 0, sizeof *p.board);
    crew_succeeds(&c, main, &p);
}

/* ---- what they compute ------------------------------------------------------------------------------------------- */

static void compute(int rank, void *user)
{
    const plan *p = user;
    uint64_t random = p->seed;
    member m = join(rank, p);

    for (int i = 0; i < p->operations; i++) {
        operation o = operation_random(&random, p->ranks, p->most);
        o.what = (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT);
        o.counts_known = 0;
        share s = share_make(&o, rank, p->ranks);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, m.comm, 30 * SECOND));
        operation_check(&o, &s, rank, p->ranks);
        share_free(&s);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
}

static void every_collective_has_its_values(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks += ranks < 4 ? 1 : 4) {
        run((plan){.ranks = ranks, .operations = 51, .most = 200, .seed = seed + (uint64_t)ranks}, compute);
        run((plan){.ranks = ranks, .operations = 17, .most = 30000, .seed = seed + (uint64_t)ranks}, compute);
    }
}

/* ---- stress ------------------------------------------------------------------------------------------------------ */

typedef struct strain {
    board board;
    nbcoll_verbs_config config;
    stress stress;
} strain;

static void endure(int rank, void *user)
{
    strain *s = user;
    nbcoll_verbs_config config = s->config;

    config.rank = rank;
    nbcoll_endpoint *endpoint = board_open(&s->board, &config);
    CHECK(endpoint);
    stress_run(&s->stress, rank, endpoint);
}

static void many_operations_at_once_have_their_values(void **state)
{
    static const nbcoll_verbs_config variants[] = {{.registrations = 32}, {.credits = 2, .payload = 256}};
    const crew c = CREW(1, 1, 1, 1, 1, 1, 1, 1);

    (void)state;
    for (uint64_t seed = 0; seed < sizeof variants / sizeof variants[0]; seed++) {
        strain *s = shared_memory(sizeof *s);
        s->config = variants[seed];
        s->config.size = sizeof s->config;
        s->config.ranks = STRESS_RANKS;
        stress_make(&s->stress, STRESS_RANKS, seed);
        s->stress.operations = 100;
        crew_succeeds(&c, endure, s);
    }
}

/* ---- who ends ---------------------------------------------------------------------------------------------------- */

static void wait_for_one_that_ends(int rank, void *user)
{
    const plan *p = user;
    member m = join(rank, p);
    nbcoll_failure failure = {0};
    int64_t own = rank, sum;

    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    if (rank == VICTIM && p->dies)
        kill(getpid(), SIGKILL);
    if (rank == VICTIM) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
        return;
    }
    uint64_t since = clock_ns();
    nbcoll_status status = nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, m.comm, 30 * SECOND);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK((clock_ns() - since) / 1000000 < TOLD_MS);
    nbcoll_comm_failure(m.comm, &failure);
    CHECK(failure.rank == VICTIM);
    for (since = clock_ns(); (status = nbcoll_context_free(m.context)) == NBCOLL_ERR_BUSY;) { /* what was sent to it */
        CHECK((clock_ns() - since) / 1000000 < TOLD_MS);
        nbcoll_progress(m.context);
    }
    CHECK_STATUS(NBCOLL_OK, status);
}

static void a_rank_that_leaves_is_named_to_who_waits_for_it(void **state)
{
    (void)state;
    run((plan){.ranks = 4}, wait_for_one_that_ends);
}

static void a_rank_that_is_killed_is_named_to_who_waits_for_it(void **state)
{
    const crew c = CREW(1, 1, 1, 1);
    plan p = {.ranks = 4, .dies = 1, .board = shared_memory(sizeof *p.board)};
    int status[4];

    (void)state;
    assert_true(crew_run(&c, wait_for_one_that_ends, &p, status));
    for (int i = 0; i < 4; i++)
        assert_int_equal(status[i], i == VICTIM ? SIGKILL : 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_its_values),
        cmocka_unit_test(many_operations_at_once_have_their_values),
        cmocka_unit_test(a_rank_that_leaves_is_named_to_who_waits_for_it),
        cmocka_unit_test(a_rank_that_is_killed_is_named_to_who_waits_for_it),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
