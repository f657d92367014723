/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two machines, as two network namespaces that a veth pair joins: what their ranks do while they are joined, when the
 * link is down for two seconds, and when one of them vanishes without a word. Skipped where namespaces are refused.
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
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

enum { DOWN_S = 2, LOST_MS = 6000, LATE_MS = 1500, COUNT = 100000 };

/* What the two ranks and their parent tell each other. */
typedef struct pair {
    board *board;
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

static nbcoll_comm *join(pair *p, int rank, nbcoll_context **context)
{
    char address[32];
    nbcoll_comm *comm;

    CHECK(unshare(CLONE_NEWNET) == 0);
    atomic_fetch_add(&p->alone, 1);
    while (!atomic_load(&p->joined))
        usleep(1000);
    snprintf(address, sizeof address, "10.99.0.%d", rank + 1);
    must_run("ip link set lo up && ip addr add %s/24 dev nb%d && ip link set nb%d up", address, rank, rank);
    atomic_fetch_add(&p->joined, 1);
    while (atomic_load(&p->joined) < 3)
        usleep(1000);
    const nbcoll_ofi_config config = {.size = sizeof config, .rank = rank, .ranks = 2, .address = address};
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
    printf("a machine that vanished is lost after %u ms\n", (unsigned)ms);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK(ms < LOST_MS + LATE_MS);
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
        main(p, rank);
        exit(0); /* a leak checker looks */
    }
    return pid;
}

/* Runs two ranks, of which the second one is killed, if it is to vanish, when the first has ended. */
static void apart(void (*main)(pair *p, int rank), bool vanishes)
{
    pair *p = shared_memory(sizeof *p);
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

static void two_seconds_without_a_link_are_survived(void **state)
{
    (void)state;
    apart(lose_the_link_for_a_while, false);
}

static void a_machine_that_vanishes_is_named(void **state)
{
    (void)state;
    apart(wait_for_one_that_vanishes, true);
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
        cmocka_unit_test(two_seconds_without_a_link_are_survived),
        cmocka_unit_test(a_machine_that_vanishes_is_named),
    };
    if (!is_allowed())
        return 77;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
