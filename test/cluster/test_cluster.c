/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks open their endpoints together: shared memory inside a machine, a network between machines without RDMA
 * devices. Without either they are refused, all of them, when they are on several machines.
 */
#include "seats.h"

static void sum_over(int rank, nbcoll_endpoint *end[2], int n)
{
    nbcoll_context *context;
    nbcoll_comm *comm;
    int sum = 0;

    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(context, n, end, NULL, &comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&rank, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, 30 * SECOND));
    CHECK(sum == RANKS * (RANKS - 1) / 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void share(int rank, void *user)
{
    nbcoll_endpoint *end[2];
    int n = 0;

    CHECK_STATUS(NBCOLL_OK, open_ends(rank, user, end, &n));
    CHECK(n == 1 && end[0]->ranks == RANKS && strcmp(end[0]->transport->name, "shm") == 0);
    sum_over(rank, end, n);
}

/* Over shm and ofi, or ofi alone. */
static void are_joined(int rank, void *user)
{
    const table *t = user;
    nbcoll_endpoint *end[2];
    int n = 0, shares = !(t->flags & NBCOLL_CLUSTER_NO_SHM);

    CHECK_STATUS(NBCOLL_OK, open_ends(rank, user, end, &n));
    CHECK(n == 1 + shares && strcmp(end[n - 1]->transport->name, "ofi") == 0 && end[n - 1]->ranks == RANKS);
    CHECK(!shares || end[0]->ranks == (t->part[rank] ? 1 : RANKS - 1));
    sum_over(rank, end, n);
}

static void ranks_of_several_machines_are_joined_by_a_network(void **state)
{
    table *t = shared_memory(sizeof *t);

    (void)state;
    needs_a_network();
    t->flags = NBCOLL_CLUSTER_NO_VERBS;
    t->part[RANKS - 1] = 1; /* as if it were on another one */
    crew_succeeds(&PROCESSES_3, are_joined, t);
    atomic_store(&t->come, 0);
    t->flags |= NBCOLL_CLUSTER_NO_SHM;
    crew_succeeds(&PROCESSES_3, are_joined, t);
}

static void ranks_of_one_machine_share_memory(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_3, share, shared_memory(sizeof(table)));
}

static void are_refused(int rank, void *user)
{
    nbcoll_endpoint *end[2];
    int n;
    CHECK_STATUS(NBCOLL_ERR_UNSUPPORTED, open_ends(rank, user, end, &n));
}

static void ranks_of_several_machines_are_refused_without_devices(void **state)
{
    table *t = shared_memory(sizeof *t);
    (void)state;
    t->part[RANKS - 1] = 1; /* as if it were on another one */
    t->flags = NBCOLL_CLUSTER_NO_VERBS | NBCOLL_CLUSTER_NO_OFI;
    crew_succeeds(&PROCESSES_3, are_refused, t);
    atomic_store(&t->come, 0);
    t->part[RANKS - 1] = 0;
    t->flags |= NBCOLL_CLUSTER_NO_SHM;
    crew_succeeds(&PROCESSES_3, are_refused, t);
}

static void errors_of_the_exchange_are_returned(void **state)
{
    table t = {.fails = true};
    nbcoll_endpoint *end[2];
    int n;
    (void)state;
    assert_int_equal(open_ends(0, &t, end, &n), NBCOLL_ERR_PEER_LOST);
}

static void bad_arguments_are_refused(void **state)
{
    nbcoll_cluster_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_endpoint *end[2];
    int n;

    (void)state;
    assert_int_equal(nbcoll_cluster_open(&config, end, &n), NBCOLL_ERR_NULL); /* no exchange */
    config.exchange = exchange;
    assert_int_equal(nbcoll_cluster_open(&config, NULL, &n), NBCOLL_ERR_NULL);
    config.rank = 1;
    assert_int_equal(nbcoll_cluster_open(&config, end, &n), NBCOLL_ERR_RANK);
    config.size = 1;
    assert_int_equal(nbcoll_cluster_open(&config, end, &n), NBCOLL_ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_machine_share_memory),
        cmocka_unit_test(ranks_of_several_machines_are_joined_by_a_network),
        cmocka_unit_test(ranks_of_several_machines_are_refused_without_devices),
        cmocka_unit_test(errors_of_the_exchange_are_returned),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
