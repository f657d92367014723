/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One credit is enough between processes and threads, however receives depend on later sends, in one communicator or
 * in several.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crossing.h"
#include "ranks.h"

static void cross(int rank, void *user)
{
    enum { ROUNDS = 3, AT_ONCE = 4 }; /* each message is some turns of each rank on its core: few, where others run */
    nbcoll_shm_config config = *(nbcoll_shm_config *)user;
    const nbcoll_context_config one = {.size = sizeof one, .credits = 1};
    const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 3, .cells = 8, .schedules = 8,
                                       .eager = 256, .large = NBCOLL_BY_COST};
    unsigned char *send = malloc(CROSSING_BYTES), *recv[AT_ONCE];
    nbcoll_schedule *schedule[AT_ONCE];
    nbcoll_request request[AT_ONCE];
    member m;

    config.rank = rank;
    member_join_limited(&m, &config, &one, &limits);
    crossing_fill(send, rank);
    for (int i = 0; i < AT_ONCE; i++)
        schedule[i] = crossing_make(rank, (uint64_t)i * 1000);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            recv[i] = calloc(1, CROSSING_BYTES);
            CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_start(schedule[i], send, recv[i], m.comm, &request[i]));
        }
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(AT_ONCE, request, NULL, 30 * SECOND));
        for (int i = 0; i < AT_ONCE; i++) {
            CHECK(crossing_is_right(recv[i], rank));
            free(recv[i]);
        }
    }
    for (int i = 0; i < AT_ONCE; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(schedule[i]));
    member_leave(&m);
    free(send);
}

/* Rank 0 starts operations in three communicators, rank 1 takes one after the other, the last one first. */
static void cross_between_communicators(int rank, void *user)
{
    enum { ROUNDS = 2, COMMS = 3 };
    nbcoll_shm_config config = *(nbcoll_shm_config *)user;
    const nbcoll_context_config one = {.size = sizeof one, .credits = 1};
    unsigned char *send = malloc(CROSSING_BYTES), *recv = malloc(COMMS * CROSSING_BYTES);
    nbcoll_schedule *schedule[COMMS];
    nbcoll_request request[COMMS];
    nbcoll_comm *comm[COMMS];
    member m;

    config.rank = rank;
    member_join(&m, &config, &one);
    crossing_fill(send, rank);
    for (int i = 0; i < COMMS; i++) {
        schedule[i] = crossing_make(rank, (uint64_t)i * 1000);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &comm[i], 30 * SECOND));
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(recv, 0, COMMS * CROSSING_BYTES);
        for (int k = 0; k < COMMS; k++) {
            int i = rank ? COMMS - 1 - k : k;
            CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_start(schedule[i], send, recv + i * CROSSING_BYTES, comm[i],
                                                          &request[i]));
            if (rank)
                CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request[i], 30 * SECOND));
        }
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(COMMS, request, NULL, 30 * SECOND));
        for (int i = 0; i < COMMS; i++)
            CHECK(crossing_is_right(recv + i * CROSSING_BYTES, rank));
    }
    for (int i = 0; i < COMMS; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(schedule[i]));
    member_leave(&m);
    free(send);
    free(recv);
}

static void run(const crew *c)
{
    static const nbcoll_shm_config variants[] = {{.flags = 0}, {.flags = NBCOLL_SHM_NO_BULK}, {.depth = 1}};
    for (unsigned i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        nbcoll_shm_config config = variants[i];
        config.size = sizeof config;
        config.id = fresh_id();
        config.ranks = 2;
        crew_succeeds(c, cross, &config);
        config.id = fresh_id();
        crew_succeeds(c, cross_between_communicators, &config);
    }
}

static void crossing_messages_meet_between_processes(void **state)
{
    crew two = PROCESSES_2;
    (void)state;
    run(&two);
}

static void crossing_messages_meet_between_threads(void **state)
{
    crew threads = CREW(2);
    (void)state;
    run(&threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossing_messages_meet_between_processes),
        cmocka_unit_test(crossing_messages_meet_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
