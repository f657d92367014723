/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks open their endpoints together: shared memory inside a machine, a network between machines without RDMA
 * devices. Without either they are refused, all of them, when they are on several machines.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>

#include "crew.h"

enum { RANKS = 3 };

/* Memory that the ranks share serves as their allgather. */
typedef struct table {
    unsigned char all[RANKS * 1024];
    atomic_int come;
    uint64_t part[RANKS];
    uint32_t flags;
    bool fails;
} table;

typedef struct seat {
    table *table;
    int rank, exchanges;
} seat;

static nbcoll_status exchange(void *user, const void *mine, void *all, size_t bytes)
{
    seat *s = user;

    CHECK(bytes <= 1024);
    if (s->table->fails)
        return NBCOLL_ERR_PEER_LOST;
    memcpy(s->table->all + (size_t)s->rank * bytes, mine, bytes);
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < (2 * s->exchanges + 1) * RANKS;)
        sched_yield();
    memcpy(all, s->table->all, RANKS * bytes);
    s->exchanges++;
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < 2 * s->exchanges * RANKS;)
        sched_yield();
    return NBCOLL_OK;
}

static nbcoll_status open_ends(int rank, table *t, nbcoll_endpoint *end[2], int *n)
{
    seat s = {.table = t, .rank = rank};
    nbcoll_cluster_config config = {.size = sizeof config,
                                    .rank = rank,
                                    .ranks = RANKS,
                                    .exchange = exchange,
                                    .user = &s,
                                    .part = t->part[rank],
                                    .flags = t->flags};
    return nbcoll_cluster_open(&config, end, n);
}

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
    nbcoll_endpoint *ep = NULL;
    nbcoll_ofi_address mine;

    (void)state;
    if (nbcoll_ofi_open(&(nbcoll_ofi_config){.size = sizeof(nbcoll_ofi_config), .ranks = 1}, &mine, &ep) != NBCOLL_OK)
        skip();
    nbcoll_endpoint_close(ep);
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
