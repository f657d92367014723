/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of ranks that compute go on by their drivers: of threads, and of processes. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "nbcoll/shm.h"
#include "scene.h"

enum { RANKS = 4, LATE = 1, BIG = 9000 }; /* on a ring, rank 1 lies between rank 0 and the others */

static nbcoll_relays_config ring(void)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    config.wiring = NBCOLL_WIRING_RING;
    return config;
}

static void the_driver_of_a_rank_that_computes_passes_on(void **state)
{
    world w;
    nbcoll_relays_config config = ring();
    nbcoll_relays *relays[RANKS];
    static char buffer[RANKS][BIG];
    uint64_t number[RANKS];
    (void)state;
    scene_open(&w, RANKS, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, RANKS);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_open(w.comm[r], &config, &relays[r]));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_wait(relays[r], 0, deadline));
    memset(buffer[0], 5, BIG);
    for (int turn = 0; turn < 2; turn++) /* first all but the late one */
        for (int wait = 0; wait < 2; wait++)
            for (int r = 0; r < RANKS; r++)
                if ((r == LATE) == turn && wait)
                    EXPECT(OK, nbcoll_relays_wait(relays[r], number[r], deadline));
                else if ((r == LATE) == turn)
                    EXPECT(OK, nbcoll_relays_bcast(relays[r], buffer[r], BIG, 0, &number[r]));
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(buffer[r], buffer[0], BIG);
    for (int left = RANKS; left;)
        for (int r = left = 0; r < RANKS; r++)
            if (relays[r] && nbcoll_relays_close(relays[r], 1000000) == NBCOLL_OK)
                relays[r] = NULL;
            else
                left += relays[r] != NULL;
    scene_close(&w, driver);
}

typedef struct group {
    nbcoll_shm_id id;
    atomic_int have; /* ranks that have the broadcast */
} group;

static void rank_process(int rank, void *user)
{
    group *all = user;
    nbcoll_shm_config shm = {.size = sizeof shm, .id = all->id, .rank = rank, .ranks = RANKS};
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_relays_config wired = ring();
    nbcoll_endpoint *ep;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_driver *driver;
    nbcoll_relays *relays;
    uint64_t number;
    static char buffer[BIG];
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&shm, &ep));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, &config, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, ep, NULL, &comm, deadline));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_create(NULL, &driver));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_add(driver, context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_start(driver));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(comm, &wired, &relays));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(relays, 0, deadline));
    memset(buffer, rank ? 0 : 5, BIG);
    while (rank == LATE && atomic_load(&all->have) < RANKS - 1)
        sched_yield();
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_bcast(relays, buffer, BIG, 0, &number));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(relays, number, deadline));
    for (int i = 0; i < BIG; i++)
        CHECK(buffer[i] == 5);
    atomic_fetch_add(&all->have, 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(relays, deadline));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_free(driver));
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
}

static void the_same_of_processes(void **state)
{
    group *all = shared_memory(sizeof *all);
    crew c = CREW(1, 1, 1, 1);
    (void)state;
    EXPECT(OK, nbcoll_shm_id_make(&all->id));
    crew_succeeds(&c, rank_process, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_driver_of_a_rank_that_computes_passes_on),
                                       cmocka_unit_test(the_same_of_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
