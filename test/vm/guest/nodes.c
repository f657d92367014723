/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two guests are two nodes of two ranks each: within a node they talk over shm, between nodes over verbs. All
 * collectives have their values, as chosen and, where they are small, by algorithms that go by nodes. Runs in each of
 * two guests.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/select.h>
#include <nbcoll/shm.h>
#include <nbcoll/verbs.h>

#include "crew.h"
#include "operation.h"

enum { NEAR = 2, RANKS = 4, PORT = 7777, OPERATIONS = 51, MOST = 3000, SMALL = 1000 };

/* ---- addresses --------------------------------------------------------------------------------------------------- */

struct letter {
    int rank;
    nbcoll_verbs_address address;
};

static struct sockaddr_in of_first_guest(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, "10.7.0.1", &at.sin_addr);
    return at;
}

/* Rank 0 takes a letter of each rank, and sends all addresses back. */
static void collect(nbcoll_verbs_address all[])
{
    struct sockaddr_in at = of_first_guest();
    int listening = socket(AF_INET, SOCK_STREAM, 0), from[RANKS] = {0};
    struct letter l;

    CHECK(bind(listening, (struct sockaddr *)&at, sizeof at) == 0 && listen(listening, RANKS) == 0);
    for (int i = 1; i < RANKS; i++) {
        from[i] = accept(listening, NULL, NULL);
        CHECK(recv(from[i], &l, sizeof l, MSG_WAITALL) == sizeof l && l.rank > 0 && l.rank < RANKS);
        all[l.rank] = l.address;
    }
    for (int i = 1; i < RANKS; i++) {
        CHECK(send(from[i], all, RANKS * sizeof *all, 0) == (ssize_t)(RANKS * sizeof *all));
        close(from[i]);
    }
    close(listening);
}

static void ask(int rank, nbcoll_verbs_address all[])
{
    struct sockaddr_in at = of_first_guest();
    struct letter l = {rank, all[rank]};
    uint64_t until = clock_ns() + 60 * SECOND;
    int fd;

    while (fd = socket(AF_INET, SOCK_STREAM, 0), connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd); /* the other guest may still be starting */
        CHECK(clock_ns() < until);
        usleep(50000);
    }
    CHECK(send(fd, &l, sizeof l, 0) == sizeof l);
    CHECK(recv(fd, all, RANKS * sizeof *all, MSG_WAITALL) == (ssize_t)(RANKS * sizeof *all));
    close(fd);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void open_both(int rank, const nbcoll_shm_id *id, nbcoll_endpoint *end[2])
{
    const nbcoll_shm_config shm = {.size = sizeof shm, .id = *id, .rank = rank % NEAR, .ranks = NEAR};
    const nbcoll_verbs_config verbs = {.size = sizeof verbs, .rank = rank, .ranks = RANKS};
    nbcoll_verbs_address all[RANKS];

    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&shm, &end[0]));
    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_open(&verbs, &all[rank], &end[1]));
    if (rank == 0)
        collect(all);
    else
        ask(rank, all);
    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_meet(end[1], all));
}

static void compute(nbcoll_comm *comm, int rank)
{
    uint64_t random = 20261122;

    for (int i = 0; i < OPERATIONS; i++) {
        operation o = operation_random(&random, RANKS, i % 4 ? 100 : MOST);
        o.what = (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT);
        o.counts_known = 0;
        share s = share_make(&o, rank, RANKS);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, comm, 60 * SECOND));
        operation_check(&o, &s, rank, RANKS);
        share_free(&s);
    }
}

static void live(int near_rank, void *user)
{
    static const nbcoll_operation by_nodes[] = {
        NBCOLL_OPERATION_BARRIER,   NBCOLL_OPERATION_BCAST,     NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
        NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_ALLTOALL};
    enum { RULES = sizeof by_nodes / sizeof by_nodes[0] };
    int rank = NEAR * atoi(getenv("GUEST")) + near_rank;
    nbcoll_rule rules[RULES] = {{0}};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_comm *comm;

    open_both(rank, user, end);
    for (int i = 0; i < RULES; i++)
        rules[i] = (nbcoll_rule){.algorithm = nbcoll_algorithm_find(by_nodes[i], "hierarchical"), .below = SMALL};
    config.rules = rules;
    config.rule_count = RULES;
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(context, 2, end, &config, &comm, 60 * SECOND));
    compute(comm, rank);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 60 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void two_guests_are_two_nodes(void **state)
{
    static nbcoll_shm_id id;
    const crew c = CREW(1, 1);
    (void)state;
    assert_int_equal(nbcoll_shm_id_make(&id), NBCOLL_OK);
    crew_succeeds(&c, live, &id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_guests_are_two_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
