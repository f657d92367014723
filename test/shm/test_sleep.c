/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting costs nothing, and a child of fork disturbs nobody.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

static void join(int rank, const nbcoll_shm_config *all, member *m)
{
    nbcoll_shm_config config = *all;
    config.rank = rank;
    member_join(m, &config, NULL);
}

static uint64_t cpu_ns(void)
{
    struct rusage u;
    CHECK(getrusage(RUSAGE_SELF, &u) == 0);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void wait_a_second(int rank, void *user)
{
    member m;

    join(rank, user, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    uint64_t before = cpu_ns(), start = clock_ns();
    if (rank == 0)
        poll(NULL, 0, 1000);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    CHECK(clock_ns() - start > SECOND * 9 / 10);
    CHECK(cpu_ns() - before < SECOND / 20);
    member_leave(&m);
}

static void an_idle_wait_of_a_second_costs_less_than_a_twentieth(void **state)
{
    crew three = PROCESSES_3;
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 3};
    (void)state;
    crew_succeeds(&three, wait_a_second, &config);
}

/* Rank 0's messages fill the ring to rank 1, which does not come; then both have all at once. */
static void wait_for_one_who_is_late(int rank, void *user)
{
    enum { AHEAD = 200, COUNT = 500 };
#ifdef __SANITIZE_THREAD__ /* the operations themselves take twenty times as long */
    enum { SHARE = 2 };
#else
    enum { SHARE = 10 };
#endif
    nbcoll_request request[AHEAD];
    float *data = calloc(AHEAD * COUNT, sizeof *data);
    member m;

    CHECK(data != NULL);
    join(rank, user, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    uint64_t before = cpu_ns();
    if (rank == 1)
        poll(NULL, 0, 1000);
    for (int i = 0; i < AHEAD; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, data + i * COUNT, COUNT, NBCOLL_FLOAT, NBCOLL_SUM,
                                                  m.comm, &request[i]));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(AHEAD, request, NULL, 30 * SECOND));
    CHECK(cpu_ns() - before < SECOND / SHARE);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    member_leave(&m);
    free(data);
}

static void waiting_for_room_costs_less_than_a_tenth(void **state)
{
    crew two = PROCESSES_2;
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 2, .depth = 8,
                                .flags = NBCOLL_SHM_NO_BULK};
    (void)state;
    crew_succeeds(&two, wait_for_one_who_is_late, &config);
}

/* Both have more to say at once than there is room for, and sleep whenever they wait. */
static void talk_past_each_other(int rank, void *user)
{
    enum { ROUNDS = 60, AHEAD = 200 };
    static double in[AHEAD], out[AHEAD];
    nbcoll_request request[AHEAD];
    member m;

    join(rank, user, &m);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AHEAD; i++)
            CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(&in[i], &out[i], 1, NBCOLL_DOUBLE, NBCOLL_SUM, m.comm,
                                                      &request[i]));
        while (nbcoll_test_all(AHEAD, request, NULL) == NBCOLL_PENDING) {
            struct pollfd p = {.events = POLLIN};
            CHECK_STATUS(NBCOLL_OK, nbcoll_fd(m.context, &p.fd));
            if (nbcoll_arm(m.context) == NBCOLL_OK)
                CHECK(poll(&p, 1, 20000) == 1); /* whatever is missed is missed for good */
        }
    }
    member_leave(&m);
}

static void no_ring_is_lost_where_all_wait_for_room(void **state)
{
    crew two = PROCESSES_2;
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 2, .depth = 2,
                                .flags = NBCOLL_SHM_NO_BULK};
    (void)state;
    crew_succeeds(&two, talk_past_each_other, &config);
}

/* The child is told FORKED, closes its copy of a bare endpoint, and exits; nobody notices. */
static void fork_in_the_middle(int rank, void *user)
{
    nbcoll_shm_config second = ((nbcoll_shm_config *)user)[1];
    nbcoll_endpoint *bare;
    nbcoll_request request;
    int status;
    member m;

    join(rank, user, &m);
    second.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&second, &bare));
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &request));
    pid_t child = fork();
    if (child == 0) {
        CHECK_STATUS(NBCOLL_ERR_FORKED, nbcoll_test(&request));
        CHECK_STATUS(NBCOLL_ERR_FORKED, nbcoll_context_free(m.context));
        nbcoll_endpoint_close(bare);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < 200; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 10 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &request));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, 10 * SECOND));
    for (uint64_t start = clock_ns(); clock_ns() - start < SECOND / 4;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        bare->transport->progress(bare, &found);
        CHECK(found.lost == -1 && found.departed == -1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    nbcoll_endpoint_close(bare);
    member_leave(&m);
}

static void a_child_of_fork_disturbs_nobody(void **state)
{
    crew three = PROCESSES_3;
    nbcoll_shm_config config[2] = {{.size = sizeof config[0], .id = fresh_id(), .ranks = 3},
                                   {.size = sizeof config[0], .id = fresh_id(), .ranks = 3}};
    (void)state;
    crew_succeeds(&three, fork_in_the_middle, config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_wait_of_a_second_costs_less_than_a_twentieth),
        cmocka_unit_test(waiting_for_room_costs_less_than_a_tenth),
        cmocka_unit_test(no_ring_is_lost_where_all_wait_for_room),
        cmocka_unit_test(a_child_of_fork_disturbs_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
