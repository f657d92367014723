/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two machines, as two network namespaces that a veth pair joins: how their ranks find each other, also by a link that
 * is not up yet, and what they do when the link is down for two seconds, when one computes for long, and when one of
 * them vanishes without a word.
 * Skipped where namespaces are refused.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <nbcoll/cluster.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

enum { DOWN_S = 2, COMPUTES_S = 4, LOST_MS = 6000, SHORT_MS = 1000, LATE_MS = 1500, COUNT = 100000 };

/* What the two ranks and their parent tell each other. */
typedef struct pair {
    board *board;
    uint32_t lost_ms; /* 0: as it is by default */
    bool is_v6;       /* by IPv6, whose addresses are tentative at first */
    bool is_late;     /* the link is up a second after the ranks have begun */
    nbcoll_tcp_id id;
    atomic_int is_named;      /* the id */
    atomic_int alone, joined; /* ranks in namespaces of their own; 1: the link is there */
    atomic_uint_fast64_t vanished;
} pair;

static void must_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void must_run(const char *format, ...)
{
    char command[256];
    va_list list;

    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    CHECK(system(command) == 0);
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

/* This process is a machine of its own, at *address. */
static void be_apart(pair *p, int rank, char address[32])
{
    CHECK(unshare(CLONE_NEWNET) == 0);
    atomic_fetch_add(&p->alone, 1);
    while (!atomic_load(&p->joined))
        usleep(1000);
    snprintf(address, 32, p->is_v6 ? "fd00::%d" : "10.99.0.%d", rank + 1);
    must_run("ip link set lo up && ip addr add %s/%d dev nb%d", address, p->is_v6 ? 64 : 24, rank);
    must_run(p->is_late && rank == 1 ? "(sleep 1; ip link set nb%d up) &" : "ip link set nb%d up", rank);
    atomic_fetch_add(&p->joined, 1);
    while (atomic_load(&p->joined) < 3)
        usleep(1000);
}

static void print_log(void *user, nbcoll_status status, const char *text)
{
    (void)user;
    if (status != NBCOLL_OK)
        fprintf(stderr, "%s\n", text);
}

static nbcoll_comm *join(pair *p, int rank, nbcoll_context **context)
{
    char address[32];
    nbcoll_comm *comm;

    be_apart(p, rank, address);
    const nbcoll_ofi_config config = {.size = sizeof config,
                                      .rank = rank,
                                      .ranks = 2,
                                      .address = address,
                                      .lost_ms = p->lost_ms,
                                      .host = {.size = sizeof config.host, .log = print_log}};
    nbcoll_endpoint *endpoint = board_open(p->board, &config);
    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(*context, endpoint, NULL, &comm, 30 * SECOND));
    return comm;
}

static void sum_some(nbcoll_comm *comm)
{
    static int64_t own[COUNT], sum[COUNT];

    for (size_t n = 1; n <= COUNT; n *= 10) {
        for (size_t i = 0; i < n; i++)
            own[i] = (int64_t)i + nbcoll_comm_rank(comm);
        CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(own, sum, n, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND));
        for (size_t i = 0; i < n; i++)
            CHECK(sum[i] == 2 * (int64_t)i + 1);
    }
}

/* With what a program on two machines has: no memory that they share, but an id that somebody brings from one to the
 * other. */
static void find_each_other(pair *p, int rank)
{
    nbcoll_tcp_config way = {.size = sizeof way, .rank = rank, .ranks = 2};
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_tcp *tcp;
    nbcoll_comm *comm;
    char address[32];
    int n = 0;

    be_apart(p, rank, address);
    if (rank == 0)
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_create(&way, &p->id, &tcp));
    atomic_fetch_add(&p->is_named, rank == 0);
    while (!atomic_load(&p->is_named))
        usleep(1000);
    if (rank == 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_join(&way, &p->id, &tcp));
    const nbcoll_cluster_config config = {.size = sizeof config,
                                          .rank = rank,
                                          .ranks = 2,
                                          .exchange = nbcoll_tcp_exchange,
                                          .user = tcp,
                                          .flags = NBCOLL_CLUSTER_NO_VERBS};
    CHECK_STATUS(NBCOLL_OK, nbcoll_cluster_open(&config, end, &n));
    CHECK(n == 2);
    nbcoll_tcp_close(tcp);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(context, n, end, NULL, &comm, 30 * SECOND));
    sum_some(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

/* One of them has nothing else: both are told so. */
static void offer_the_loopback(pair *p, int rank)
{
    nbcoll_ofi_address all[2];
    nbcoll_endpoint *endpoint;
    char address[32];

    be_apart(p, rank, address);
    const nbcoll_ofi_config config = {
        .size = sizeof config, .rank = rank, .ranks = 2, .address = rank ? "127.0.0.1" : address};
    CHECK_STATUS(NBCOLL_OK, nbcoll_ofi_open(&config, &all[rank], &endpoint));
    board_exchange(p->board, rank, 2, all);
    CHECK_STATUS(NBCOLL_ERR_TRANSPORT, nbcoll_ofi_meet(endpoint, all));
    nbcoll_endpoint_close(endpoint);
}

static void sum_by_the_address_that_is_named(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context);

    sum_some(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void lose_the_link_for_a_while(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context);

    sum_some(comm);
    if (rank == 1) {
        must_run("ip link set nb1 down");
        sleep(DOWN_S);
        must_run("ip link set nb1 up");
    }
    sum_some(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

/* It calls nothing meanwhile: its machine answers for it. */
static void wait_for_one_that_computes(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context);

    sum_some(comm);
    if (rank == 1)
        sleep(COMPUTES_S);
    sum_some(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void wait_for_one_that_vanishes(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = join(p, rank, &context);
    nbcoll_failure failure = {0};
    int64_t own = 1, sum;

    sum_some(comm);
    if (rank == 1) {
        must_run("ip link set nb1 down");
        atomic_store(&p->vanished, clock_ns());
        for (;;)
            pause();
    }
    nbcoll_status status = nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND);
    uint64_t ms = (clock_ns() - atomic_load(&p->vanished)) / 1000000;
    unsigned most = p->lost_ms ? 2000 : LOST_MS;
    printf("a machine that vanished is lost after %u ms, at most %u\n", (unsigned)ms, most);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK(ms < most + LATE_MS);
    nbcoll_comm_failure(comm, &failure);
    CHECK(failure.rank == 1);
    CHECK(failure.reason.text);
    nbcoll_context_abandon(context, NULL, NULL);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static pid_t rank_starts(void (*main)(pair *p, int rank), pair *p, int rank)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(RANKS_SECONDS); /* also for one whose peer has failed */
        main(p, rank);
        exit(0); /* a leak checker looks */
    }
    return pid;
}

/* Runs two ranks, of which the second one is killed, if it is to vanish, when the first has ended. */
static void apart_as(void (*main)(pair *p, int rank), pair *p, bool vanishes)
{
    pid_t pid[2];
    int status;

    p->board = board_make();
    assert_non_null(p->board);
    for (int rank = 0; rank < 2; rank++)
        pid[rank] = rank_starts(main, p, rank);
    while (atomic_load(&p->alone) < 2)
        usleep(1000);
    must_run("ip link add nb0 netns %d type veth peer name nb1 netns %d", (int)pid[0], (int)pid[1]);
    atomic_store(&p->joined, 1);
    assert_int_equal(waitpid(pid[0], &status, 0), pid[0]);
    assert_int_equal(status, 0);
    if (vanishes)
        kill(pid[1], SIGKILL);
    assert_int_equal(waitpid(pid[1], &status, 0), pid[1]);
    assert_int_equal(status, vanishes ? SIGKILL : 0);
    board_free(p->board);
}

static void apart(void (*main)(pair *p, int rank), uint32_t lost_ms, bool vanishes)
{
    pair *p = shared_memory(sizeof *p);

    p->lost_ms = lost_ms;
    apart_as(main, p, vanishes);
}

static void ranks_of_two_machines_find_each_other(void **state)
{
    (void)state;
    apart(find_each_other, 0, false);
}

static void a_link_that_is_not_up_yet_is_awaited(void **state)
{
    pair *p = shared_memory(sizeof *p);

    (void)state;
    p->is_late = true;
    apart_as(find_each_other, p, false);
    p = shared_memory(sizeof *p);
    p->is_late = true;
    apart_as(sum_by_the_address_that_is_named, p, false);
}

static void an_address_that_is_tentative_is_awaited(void **state)
{
    pair *p = shared_memory(sizeof *p);

    (void)state;
    p->is_v6 = true;
    apart_as(find_each_other, p, false);
    p = shared_memory(sizeof *p);
    p->is_v6 = true;
    apart_as(sum_by_the_address_that_is_named, p, false);
}

static void the_loopback_joins_no_machines(void **state)
{
    (void)state;
    apart(offer_the_loopback, 0, false);
}

static void a_rank_that_computes_for_long_is_not_lost(void **state)
{
    (void)state;
    apart(wait_for_one_that_computes, SHORT_MS, false);
}

static void two_seconds_without_a_link_are_survived(void **state)
{
    (void)state;
    apart(lose_the_link_for_a_while, 0, false);
}

static void a_machine_that_vanishes_is_named(void **state)
{
    (void)state;
    apart(wait_for_one_that_vanishes, 0, true);
    apart(wait_for_one_that_vanishes, SHORT_MS, true);
}

/* Can this process make a namespace and a link in it? */
static bool is_allowed(void)
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0)
        _exit(unshare(CLONE_NEWNET) != 0 || system("ip link add nb0 type veth peer name nb1 2>/dev/null") != 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_two_machines_find_each_other),
        cmocka_unit_test(a_link_that_is_not_up_yet_is_awaited),
        cmocka_unit_test(an_address_that_is_tentative_is_awaited),
        cmocka_unit_test(the_loopback_joins_no_machines),
        cmocka_unit_test(a_rank_that_computes_for_long_is_not_lost),
        cmocka_unit_test(two_seconds_without_a_link_are_survived),
        cmocka_unit_test(a_machine_that_vanishes_is_named),
    };
    if (!is_allowed())
        return 77;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
