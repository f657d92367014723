/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that nobody brings an id meet at a host that they know by name, with a secret from a file: whoever comes first.
 * A file that others could have read or written is refused; who has another secret, or is of another job, is nobody.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "../../src/cluster/tcp.h"

enum { RANKS = 3 };

static const char text[] = "0123456789abcdef0123456789abcdef";

typedef struct table {
    uint32_t port;
    char secret[2][64]; /* of ranks 0 and 1, and of the last one */
    const char *job[2];
    unsigned late_ms[RANKS]; /* when each comes */
    uint64_t timeout;
    nbcoll_status status;
} table;

static void write_secret(char path[64], const char *what, size_t bytes, mode_t mode)
{
    strcpy(path, "/tmp/nbcoll-secret-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, what, bytes) == (ssize_t)bytes && fchmod(fd, mode) == 0);
    close(fd);
}

/* A port that was free just now. */
static uint32_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static nbcoll_status meet(const table *t, int rank, nbcoll_tcp **tcp)
{
    const nbcoll_tcp_config config = {.size = sizeof config,
                                      .rank = rank,
                                      .ranks = RANKS,
                                      .port = t->port,
                                      .timeout = t->timeout * (rank ? 2 : 1)}; /* the first one says that it is over */
    const nbcoll_tcp_place place = {.size = sizeof place,
                                    .host = "localhost",
                                    .secret = t->secret[rank == RANKS - 1],
                                    .job = t->job[rank == RANKS - 1]};
    return nbcoll_tcp_meet(&config, &place, tcp);
}

static void come(int rank, void *user)
{
    const table *t = user;
    nbcoll_tcp *tcp;
    uint64_t mine = 7 + (uint64_t)rank, all[RANKS] = {0};

    usleep(1000 * t->late_ms[rank]);
    CHECK_STATUS(NBCOLL_OK, meet(t, rank, &tcp));
    for (int round = 0; round < 2; round++) {
        nbcoll_status status = nbcoll_tcp_exchange(tcp, &mine, all, sizeof mine);
        CHECK_STATUS(t->status, status);
        for (int i = 0; i < RANKS && status == NBCOLL_OK; i++)
            CHECK(all[i] == 7 + (uint64_t)i);
        if (status != NBCOLL_OK)
            break;
    }
    nbcoll_tcp_close(tcp);
}

static table *fresh_table(uint64_t timeout)
{
    table *t = shared_memory(sizeof *t);

    t->port = free_port();
    t->timeout = timeout;
    write_secret(t->secret[0], text, sizeof text, 0600);
    strcpy(t->secret[1], t->secret[0]);
    return t;
}

static void ranks_meet_whoever_comes_first(void **state)
{
    table *t = fresh_table(30 * SECOND);

    (void)state;
    crew_succeeds(&PROCESSES_3, come, t);
    t->port = free_port();
    t->late_ms[0] = 1500; /* more than a guest of an id waits for a host that refuses it */
    crew_succeeds(&PROCESSES_3, come, t);
    unlink(t->secret[0]);
}

static void another_secret_or_job_is_nobody(void **state)
{
    table *t = fresh_table(SECOND);

    (void)state;
    t->status = NBCOLL_ERR_TIMEOUT;
    t->job[0] = "17.0";
    t->job[1] = "17.1";
    crew_succeeds(&PROCESSES_3, come, t);
    t->port = free_port();
    t->job[1] = t->job[0];
    write_secret(t->secret[1], "0123456789abcdef0123456789abcdeg", sizeof text, 0600);
    crew_succeeds(&PROCESSES_3, come, t);
    unlink(t->secret[0]);
    unlink(t->secret[1]);
}

static void a_file_that_is_no_secret_is_refused(void **state)
{
    static const mode_t bad[] = {0644, 0604, 0602, 0620, 0601};
    table t = {.port = 20000, .timeout = SECOND};
    nbcoll_tcp *tcp;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_secret(t.secret[0], text, sizeof text, bad[i]);
        assert_int_equal(meet(&t, 1, &tcp), NBCOLL_ERR_ARGUMENT);
        unlink(t.secret[0]);
    }
    assert_int_equal(meet(&t, 1, &tcp), NBCOLL_ERR_ARGUMENT); /* it is not there */
    write_secret(t.secret[0], text, 15, 0600);
    assert_int_equal(meet(&t, 1, &tcp), NBCOLL_ERR_ARGUMENT);
    unlink(t.secret[0]);
    strcpy(t.secret[0], "/dev/zero");
    assert_int_equal(meet(&t, 1, &tcp), NBCOLL_ERR_ARGUMENT);
    write_secret(t.secret[0], text, 16, 0440); /* as Kubernetes lays it down for a group */
    assert_int_equal(meet(&t, 1, &tcp), NBCOLL_OK);
    nbcoll_tcp_close(tcp);
    unlink(t.secret[0]);
}

static void bad_arguments_are_refused(void **state)
{
    nbcoll_tcp_config config = {.size = sizeof config, .ranks = 2, .rank = 1, .port = 20000, .timeout = SECOND / 4};
    nbcoll_tcp_place place = {.size = sizeof place, .host = "nowhere.invalid"};
    char secret[64];
    nbcoll_tcp *tcp;

    (void)state;
    assert_int_equal(nbcoll_tcp_meet(&config, NULL, &tcp), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_tcp_meet(&config, &place, &tcp), NBCOLL_ERR_NULL);
    write_secret(secret, text, sizeof text, 0600);
    place.secret = secret;
    assert_int_equal(nbcoll_tcp_meet(&config, &place, &tcp), NBCOLL_ERR_TIMEOUT); /* nobody knows the name */
    config.rank = 2;
    assert_int_equal(nbcoll_tcp_meet(&config, &place, &tcp), NBCOLL_ERR_RANK);
    config.rank = 1;
    config.port = 0;
    assert_int_equal(nbcoll_tcp_meet(&config, &place, &tcp), NBCOLL_ERR_CONFIG);
    config.port = 65536;
    assert_int_equal(nbcoll_tcp_meet(&config, &place, &tcp), NBCOLL_ERR_CONFIG);
    unlink(secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_meet_whoever_comes_first),
        cmocka_unit_test(another_secret_or_job_is_nobody),
        cmocka_unit_test(a_file_that_is_no_secret_is_refused),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
