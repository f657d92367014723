/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two guests are two nodes of two ranks each: within a node they talk over shm, between nodes over verbs. All
 * collectives have their values, as chosen and, where they are small, by algorithms that go by nodes, and by those that
 * know of none; also where agents carry out what is between nodes, over the device: threads, and a process on each
 * node. Runs in each of two guests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>
#include <nbcoll/offload.h>
#include <nbcoll/select.h>

#include "crew.h"

#include "agents.h"
#include "exchange.h"
#include "operation.h"

enum { NEAR = 2, RANKS = 4, OPERATIONS = 51, MOST = 3000, SMALL = 1000 };

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static nbcoll_status exchange(void *user, const void *mine, void *all, size_t bytes)
{
    int rank = *(const int *)user;
    memcpy((char *)all + (size_t)rank * bytes, mine, bytes);
    exchange_all(7777, rank, RANKS, all, bytes);
    return NBCOLL_OK;
}

static void compute(nbcoll_comm *comm, int operations, int rank)
{
    uint64_t random = seed_of_test();

    for (int i = 0; i < operations; i++) {
        operation o = operation_random(&random, RANKS, i % 4 ? 100 : MOST);
        o.what = (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT);
        o.counts_known = 0;
        share s = share_make(&o, rank, RANKS);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, comm, 60 * SECOND));
        operation_check(&o, &s, rank, RANKS);
        share_free(&s);
    }
}

typedef struct way {
    nbcoll_operation operation;
    const char *hierarchical, *flat;
} way;

static const way ways[] = {{NBCOLL_OPERATION_BARRIER, "hierarchical", "dissemination"},
                           {NBCOLL_OPERATION_BCAST, "hierarchical", "binomial"},
                           {NBCOLL_OPERATION_SCATTER, "hierarchical", "binomial"},
                           {NBCOLL_OPERATION_GATHER, "hierarchical", "binomial"},
                           {NBCOLL_OPERATION_ALLGATHER, "hierarchical", "bruck"},
                           {NBCOLL_OPERATION_ALLREDUCE, "hierarchical", "recursive_doubling"},
                           {NBCOLL_OPERATION_ALLTOALL, "hierarchical", "flat"}};

enum { RULES = sizeof ways / sizeof ways[0] };

static nbcoll_comm_config config_of(nbcoll_rule rules[RULES], bool is_flat)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    for (int i = 0; i < RULES; i++) {
        const char *name = is_flat ? ways[i].flat : ways[i].hierarchical;
        rules[i] = (nbcoll_rule){.algorithm = nbcoll_algorithm_find(ways[i].operation, name), .below = SMALL};
        CHECK(rules[i].algorithm);
    }
    config.rules = rules;
    config.rule_count = RULES;
    return config;
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static int sent, exposed; /* by the engine of this rank */

static void note(void *user, const nbcoll_event *e)
{
    nbcoll_kind kind = nbcoll_schedule_step(e->schedule, e->step)->kind;

    (void)user;
    sent += e->moment == NBCOLL_STEP_STARTED && kind == NBCOLL_SEND;
    exposed += e->moment == NBCOLL_STEP_STARTED && kind == NBCOLL_EXPOSE;
}

/* Ranks of a node meet in memory, and send nothing themselves. */
static void are_offloaded(nbcoll_comm *comm)
{
    for (int i = 0; i < RULES; i++) {
        const nbcoll_args args = {
            .size = sizeof args, .operation = ways[i].operation, .count = 10, .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_offloads(comm, &args, NULL));
    }
    sent = exposed = 0;
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 60 * SECOND));
    CHECK(sent == 0 && exposed > 0);
}

static void compute_by(nbcoll_agent *agent, nbcoll_comm *comm, nbcoll_comm_config config, int operations, int rank)
{
    nbcoll_comm *offloading;

    config.agent = agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup_with(comm, &config, &offloading, 60 * SECOND));
    are_offloaded(offloading);
    compute(offloading, operations, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 60 * SECOND)); /* nobody needs the agents any more */
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(offloading));
}

static void compute_by_agents(nbcoll_comm *comm, nbcoll_endpoint *end, nbcoll_comm_config config, int rank)
{
    helper h;

    helper_start(&h, end);
    compute_by(h.agent, comm, config, OPERATIONS, rank);
    helper_end(&h);
}

/* One process in each guest, for its ranks. */
static void compute_by_processes(nbcoll_comm *comm, nbcoll_endpoint *end[2], int socket, nbcoll_comm_config config,
                                 int rank)
{
    const nbcoll_attach_config attach = {.size = sizeof attach, .socket = dup(socket), .memory = end[0]};
    nbcoll_agent *agent;

    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(end[1], &attach, &agent));
    compute_by(agent, comm, config, NBCOLL_OPERATION_COUNT, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(agent));
}

static void meet(nbcoll_verbs_address all[])
{
    exchange_all(7778, atoi(getenv("GUEST")), RANKS / NEAR, all, NEAR * sizeof all[0]);
}

static void serve(int sockets[NEAR][2])
{
    /* all buffers are private: they are copied */
    const nbcoll_serve_config how = {.programs = 2, .copied = 1 << 19};
    agents_serve_some(NEAR * atoi(getenv("GUEST")), NEAR, RANKS, meet, sockets, how);
}

static void live(int near_rank, void *user)
{
    int(*sockets)[2] = user;
    if (near_rank == NEAR) {
        serve(sockets);
        return;
    }
    int rank = NEAR * atoi(getenv("GUEST")) + near_rank;
    nbcoll_rule hierarchical[RULES], flat[RULES];
    nbcoll_comm_config config = config_of(hierarchical, false), other = config_of(flat, true);
    static const nbcoll_observer observer = {.size = sizeof observer, .event = note};
    const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer};
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_comm *comm, *second;

    const nbcoll_cluster_config cluster = {
        .size = sizeof cluster, .rank = rank, .ranks = RANKS, .exchange = exchange, .user = &rank};
    int n = 0;

    CHECK_STATUS(NBCOLL_OK, nbcoll_cluster_open(&cluster, end, &n));
    CHECK(n == 2 && end[0]->ranks == NEAR && end[1]->ranks == RANKS);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, &contexts, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(context, n, end, &config, &comm, 60 * SECOND));
    compute(comm, OPERATIONS, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup_with(comm, &other, &second, 60 * SECOND));
    compute(second, OPERATIONS, rank);
    compute_by_agents(comm, end[1], config, rank);
    compute_by_processes(comm, end, sockets[near_rank][0], config, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void two_guests_are_two_nodes(void **state)
{
    const crew c = CREW(1, 1, 1); /* the ranks, and their agents' process */
    int sockets[NEAR][2];
    (void)state;
    for (int i = 0; i < NEAR; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets[i]), 0);
    crew_succeeds(&c, live, sockets);
    for (int i = 0; i < NEAR; i++)
        for (int k = 0; k < 2; k++)
            close(sockets[i][k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_guests_are_two_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
