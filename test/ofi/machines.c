/* SPDX-License-Identifier: BSD-3-Clause
 * See machines.h. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>

#include "machines.h"

enum { COUNT = 100000 };

void must_run(const char *format, ...)
{
    char command[256];
    va_list list;

    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    CHECK(system(command) == 0);
}

void machine_awaits(atomic_int *what, int least)
{
    for (int there; (there = atomic_load(what)) < least;)
        syscall(SYS_futex, what, FUTEX_WAIT, there, NULL, NULL, 0);
}

void machine_tells(atomic_int *what)
{
    atomic_fetch_add(what, 1);
    syscall(SYS_futex, what, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

void machine_begins(pair *p, int rank, char address[32])
{
    CHECK(unshare(CLONE_NEWNET) == 0);
    machine_tells(&p->alone);
    machine_awaits(&p->joined, 1);
    snprintf(address, 32, p->is_v6 ? "fd00::%d" : "10.99.0.%d", p->are_one ? 1 : rank + 1);
    must_run("ip link set lo up && ip addr add %s/%d dev nb%d", address, p->is_v6 ? 64 : 24, rank);
    if (p->path && p->path->is_probed)
        must_run("echo 2 >/proc/sys/net/ipv4/tcp_mtu_probing");
    if (p->path && p->path->device_mtu)
        must_run("ip link set mtu %d dev nb%d", p->path->device_mtu, rank);
    must_run(p->is_late && rank == 1 ? "(sleep 1; ip link set nb%d up) &" : "ip link set nb%d up", rank);
    machine_tells(&p->joined);
    machine_awaits(&p->joined, 3);
}

static void print_log(void *user, nbcoll_status status, const char *text)
{
    (void)user;
    if (status != NBCOLL_OK)
        fprintf(stderr, "%s\n", text);
}

nbcoll_comm *machine_joins(pair *p, int rank, nbcoll_context **context)
{
    char address[32];
    nbcoll_comm *comm;

    machine_begins(p, rank, address);
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

void machine_sums(nbcoll_comm *comm)
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

void machine_opens(pair *p, int rank, nbcoll_endpoint *end[2])
{
    nbcoll_tcp_config way = {.size = sizeof way, .rank = rank, .ranks = 2};
    nbcoll_tcp *tcp;
    char address[32];
    int n = 0;

    machine_begins(p, rank, address);
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_create(&way, &p->id, &tcp));
        machine_tells(&p->is_named);
    }
    machine_awaits(&p->is_named, 1);
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
}

void machines_find_each_other(pair *p, int rank)
{
    nbcoll_endpoint *end[2];
    nbcoll_context *context;
    nbcoll_comm *comm;

    machine_opens(p, rank, end);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create_over(context, 2, end, NULL, &comm, 30 * SECOND));
    machine_sums(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static pid_t rank_starts(machine_main *main, pair *p, int rank)
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

void machines_run(machine_main *main, pair *p, bool vanishes)
{
    pid_t pid[2], relay = 0;
    int status;

    p->board = board_make();
    assert_non_null(p->board);
    for (int rank = 0; rank < 2; rank++)
        pid[rank] = rank_starts(main, p, rank);
    machine_awaits(&p->alone, 2);
    if (!p->path) {
        must_run("ip link add nb0 netns %d type veth peer name nb1 netns %d", (int)pid[0], (int)pid[1]);
        machine_tells(&p->joined);
    } else
        relay = relay_starts(p, pid);
    assert_int_equal(waitpid(pid[0], &status, 0), pid[0]);
    assert_int_equal(status, 0);
    if (vanishes)
        kill(pid[1], SIGKILL);
    assert_int_equal(waitpid(pid[1], &status, 0), pid[1]);
    assert_int_equal(status, vanishes ? SIGKILL : 0);
    if (relay) {
        kill(relay, SIGKILL);
        assert_int_equal(waitpid(relay, &status, 0), relay);
        assert_int_equal(status, SIGKILL); /* and not by itself */
    }
    board_free(p->board);
}

int machines_side_by_side(const struct CMUnitTest tests[], size_t n, int argc, char **argv)
{
    int failed = 0, status;

    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
            continue;
        pid_t pid = fork();
        if (pid == 0)
            exit(_cmocka_run_group_tests(tests[i].name, &tests[i], 1, NULL, NULL) != 0);
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}

bool machines_are_allowed(bool by_relay)
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0)
        _exit(unshare(CLONE_NEWNET) != 0 || system("ip link add nb0 type veth peer name nb1 2>/dev/null") != 0 ||
              (by_relay && system("ip tuntap add nb2 mode tun 2>/dev/null") != 0));
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
