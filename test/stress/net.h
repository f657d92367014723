/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives over a network, of ranks that are processes: all seventeen, with random arguments, one after the other
 * and many at once; and what the others are told of one that is killed, or leaves.
 *
 * The test of a network, which includes this at its end, has defined before: NET_MOST, the most ranks without stress;
 * NET_AT_ONCE, operations of a rank under stress; net_make, memory in which ranks meet, and net_free; net_open, which
 * opens the endpoint of a rank, as is usual (0), and in the two other ways that are stressed. */
#ifndef TEST_STRESS_NET_H
#define TEST_STRESS_NET_H

enum { VICTIM = 1, TOLD_MS = 2000 };

typedef struct plan {
    void *meeting;
    int ranks, operations;
    size_t most;
    uint64_t seed;
    int dies; /* the victim: it is killed, else it leaves */
    int way;
    stress stress;
} plan;

typedef struct member {
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

static member join(int rank, const plan *p)
{
    nbcoll_endpoint *endpoint = net_open(p->meeting, p->way, rank, p->ranks);
    member m;

    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m.context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m.context, endpoint, NULL, &m.comm, 30 * SECOND));
    return m;
}

/* The victim dies of SIGKILL, if it is to, and the others succeed. */
static void run(plan *p, rank_main *main)
{
    int status[STRESS_RANKS];
    crew c = {{0}};

    for (int i = 0; i < p->ranks; i++)
        c.threads[i] = 1;
    p->meeting = net_make();
    assert_non_null(p->meeting);
    assert_true(crew_run(&c, main, p, status));
    for (int i = 0; i < p->ranks; i++)
        assert_int_equal(status[i], p->dies && i == VICTIM ? SIGKILL : 0);
    net_free(p->meeting);
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
    for (int ranks = 2; ranks <= NET_MOST; ranks += ranks < 4 ? 1 : 4) {
        run(&(plan){.ranks = ranks, .operations = 51, .most = 200, .seed = seed + (uint64_t)ranks}, compute);
        run(&(plan){.ranks = ranks, .operations = 17, .most = 30000, .seed = seed + (uint64_t)ranks}, compute);
    }
}

/* ---- stress ------------------------------------------------------------------------------------------------------ */

static void endure(int rank, void *user)
{
    plan *p = user;
    nbcoll_endpoint *endpoint = net_open(p->meeting, p->way, rank, p->ranks);

    CHECK(endpoint);
    stress_run(&p->stress, rank, endpoint);
}

static void many_operations_at_once_have_their_values(void **state)
{
    (void)state;
    for (int way = 1; way <= 2; way++) {
        plan *p = shared_memory(sizeof *p);
        *p = (plan){.ranks = STRESS_RANKS, .way = way};
        stress_make(&p->stress, STRESS_RANKS, (uint64_t)way - 1);
        p->stress.operations = NET_AT_ONCE;
        run(p, endure);
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
    run(&(plan){.ranks = 4}, wait_for_one_that_ends);
}

static void a_rank_that_is_killed_is_named_to_who_waits_for_it(void **state)
{
    (void)state;
    run(&(plan){.ranks = 4, .dies = 1}, wait_for_one_that_ends);
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

#endif
