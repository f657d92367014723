/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over ofi and TCP, of ranks that are processes: all seventeen, with random arguments, one after the other
 * and many at once; and what the others are told of one that is killed, or leaves.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"
#include "operation.h"
#include "../stress/stress.h"

enum { VICTIM = 1, TOLD_MS = 2000 };

typedef struct plan {
    board *board;
    nbcoll_ofi_config config;
    int ranks, operations;
    size_t most;
    uint64_t seed;
    int dies; /* the victim: it is killed, else it leaves */
} plan;

typedef struct member {
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

static nbcoll_endpoint *open_rank(int rank, const plan *p)
{
    nbcoll_ofi_config config = p->config;

    config.size = sizeof config;
    config.address = "127.0.0.1";
    config.rank = rank;
    config.ranks = p->ranks;
    nbcoll_endpoint *endpoint = board_open(p->board, &config);
    CHECK(endpoint);
    return endpoint;
}

static member join(int rank, const plan *p)
{
    nbcoll_endpoint *endpoint = open_rank(rank, p);
    member m;

    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m.context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m.context, endpoint, NULL, &m.comm, 30 * SECOND));
    return m;
}

static crew crew_of(int ranks)
{
    crew c = {{0}};

    for (int i = 0; i < ranks; i++)
        c.threads[i] = 1;
    return c;
}

static void run(plan p, rank_main *main)
{
    crew c = crew_of(p.ranks);

    p.board = board_make();
    assert_non_null(p.board);
    crew_succeeds(&c, main, &p);
    board_free(p.board);
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
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, m.comm, 60 * SECOND));
        operation_check(&o, &s, rank, p->ranks);
        share_free(&s);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
}

static void every_collective_has_its_values(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++) {
        run((plan){.ranks = ranks, .operations = 51, .most = 200, .seed = seed + (uint64_t)ranks}, compute);
        run((plan){.ranks = ranks, .operations = 17, .most = 30000, .seed = seed + (uint64_t)ranks}, compute);
    }
}

/* ---- stress ------------------------------------------------------------------------------------------------------ */

typedef struct strain {
    plan plan;
    stress stress;
} strain;

static void endure(int rank, void *user)
{
    strain *s = user;
    stress_run(&s->stress, rank, open_rank(rank, &s->plan));
}

static void many_operations_at_once_have_their_values(void **state)
{
    static const nbcoll_ofi_config variants[] = {{.credits = 16}, {.credits = 2, .payload = 256}};
    const crew c = crew_of(STRESS_RANKS);

    (void)state;
    for (uint64_t seed = 0; seed < sizeof variants / sizeof variants[0]; seed++) {
        strain *s = shared_memory(sizeof *s);
        s->plan = (plan){.board = board_make(), .config = variants[seed], .ranks = STRESS_RANKS};
        stress_make(&s->stress, STRESS_RANKS, seed);
        s->stress.operations = 40;
        crew_succeeds(&c, endure, s);
        board_free(s->plan.board);
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
    const crew c = crew_of(4);
    plan p = {.ranks = 4, .dies = 1, .board = board_make()};
    int status[4];

    (void)state;
    assert_true(crew_run(&c, wait_for_one_that_ends, &p, status));
    for (int i = 0; i < 4; i++)
        assert_int_equal(status[i], i == VICTIM ? SIGKILL : 0);
    board_free(p.board);
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
