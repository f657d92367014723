/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of ranks that compute go on by their drivers: of threads, and of processes. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "nbcoll/shm.h"
#include "scene.h"

enum { RANKS = 4, LATE = 1, BIG = 9000 }; /* on a ring, rank 1 lies between rank 0 and the others */

static nbcoll_relays_config ring(void)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    config.topology = NBCOLL_TOPOLOGY_RING;
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

/* Whose calls are the communicator's: the late one calls nothing until all others have the broadcasts. */
static void the_driver_passes_on_what_calls_contribute(void **state)
{
    enum { TIMES = 20, SHORT = 64 };
    world w;
    nbcoll_relays_config config = ring();
    nbcoll_relays *relays[RANKS];
    static char buffer[RANKS][SHORT], all[RANKS][TIMES][RANKS * SHORT];
    nbcoll_request some[RANKS], every[RANKS][TIMES];
    (void)state;
    config.carries = SHORT;
    scene_open(&w, RANKS, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, RANKS);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_open(w.comm[r], &config, &relays[r]));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_wait(relays[r], 0, deadline));
    memset(buffer[0], 5, SHORT);
    for (int turn = 0; turn < 2; turn++)
        for (int wait = 0; wait < 2; wait++)
            for (int r = 0; r < RANKS; r++)
                if ((r == LATE) == turn && wait)
                    EXPECT(OK, nbcoll_wait(&some[r], deadline));
                else if ((r == LATE) == turn)
                    EXPECT(OK, nbcoll_ibcast(buffer[r], SHORT, NBCOLL_BYTE, 0, w.comm[r], &some[r]));
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(buffer[r], buffer[0], SHORT);
    for (int r = 0; r < RANKS; r++)
        for (int t = 0; t < TIMES; t++)
            EXPECT(OK, nbcoll_iallgather(buffer[r], all[r][t], SHORT, NBCOLL_BYTE, w.comm[r], &every[r][t]));
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_wait_all(TIMES, every[r], NULL, deadline));
        for (int t = 0; t < TIMES; t++)
            for (int i = 0; i < RANKS * SHORT; i++)
                assert_int_equal(all[r][t][i], 5);
    }
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
    atomic_int have; /* ranks that have the broadcast, or are there */
    int carries;     /* their relays carry out the communicator's calls */
    size_t quota;    /* of shared memory; 0: the default */
    int hierarchical;    /* ranks of a node; 1: two nodes, of which rank 1 leads one; 0: not by nodes */
    int hoards;      /* the last rank has all of its shared memory in use */
    atomic_int stopped; /* the process that stops */
} group;

/* A rank with a context in a driver, and relays on a ring. */
typedef struct member {
    nbcoll_context *context;
    nbcoll_driver *driver;
    nbcoll_relays *relays;
    nbcoll_comm *comm;
    char buffer[BIG];
} member;

static void member_open(member *me, const group *all, int rank)
{
    nbcoll_shm_config shm = {.size = sizeof shm, .id = all->id, .rank = rank, .ranks = RANKS};
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_relays_config wired = ring();
    nbcoll_endpoint *ep;
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    wired.carries = all->carries ? BIG : 0;
    wired.hierarchical = all->hierarchical != 0;
    shm.quota = all->quota;
    comm.node = all->hierarchical == 1  ? 1 + (uint64_t)(rank % 2)
                : all->hierarchical > 1 ? 1 + (uint64_t)(rank / all->hierarchical)
                                    : 0;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&shm, &ep));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, &config, &me->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(me->context, ep, &comm, &me->comm, deadline));
    void *taken;
    while (all->hoards && rank == RANKS - 1 && nbcoll_mem_alloc(me->comm, 512, &taken) == NBCOLL_OK)
        ; /* what is left would do for no stream */
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_create(NULL, &me->driver));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_add(me->driver, me->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_start(me->driver));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(me->comm, &wired, &me->relays));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(me->relays, 0, deadline));
    memset(me->buffer, rank ? 0 : 5, BIG);
}

static void member_close(member *me)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(me->relays, deadline));
    CHECK_STATUS(NBCOLL_OK, nbcoll_driver_free(me->driver));
    while (nbcoll_context_free(me->context) == NBCOLL_ERR_BUSY)
        nbcoll_progress(me->context);
}

static void late_or_not(int rank, void *user)
{
    group *all = user;
    static member me;
    uint64_t number;
    member_open(&me, all, rank);
    while (rank == LATE && atomic_load(&all->have) < RANKS - 1)
        sched_yield();
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_bcast(me.relays, me.buffer, BIG, 0, &number));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(me.relays, number, deadline));
    for (int i = 0; i < BIG; i++)
        CHECK(me.buffer[i] == 5);
    atomic_fetch_add(&all->have, 1);
    member_close(&me);
}

static group *group_make(int carries, int hierarchical, size_t quota)
{
    group *all = shared_memory(sizeof *all);
    all->carries = carries;
    all->hierarchical = hierarchical;
    all->quota = quota;
    EXPECT(OK, nbcoll_shm_id_make(&all->id));
    return all;
}

static void the_same_of_processes(void **state)
{
    crew c = CREW(1, 1, 1, 1);
    (void)state;
    crew_succeeds(&c, late_or_not, group_make(0, 0, 0));
}

/* With the store in shared memory; with cells, but no room for that; with cells for some of the streams, or none. */
static void the_same_by_nodes_however_little_memory_they_share(void **state)
{
    static const size_t quotas[] = {8 << 20, 0, 60 << 10, 40 << 10, 4096};
    crew c = CREW(1, 1, 1, 1);
    (void)state;
    for (int hierarchical = 2; hierarchical <= RANKS; hierarchical += 2)
        for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++)
            crew_succeeds(&c, late_or_not, group_make(0, hierarchical, quotas[i]));
}

/* Neither its leader nor the others, who see nothing of its part, take the cells of any stream. */
static void a_node_of_which_one_led_rank_lacks_memory_goes_by_messages(void **state)
{
    group *all = group_make(0, RANKS, 60 << 10);
    crew c = CREW(1, 1, 1, 1);
    (void)state;
    all->hoards = 1;
    crew_succeeds(&c, late_or_not, all);
}

/* Of the ranks of a node one process stops, driver and all, unless it leads that: all others go on. */
static void stops_or_not(int rank, void *user)
{
    group *all = user;
    static member me;
    nbcoll_request q;
    member_open(&me, all, rank);
    if (rank == LATE) {
        atomic_store(&all->stopped, getpid());
        kill(getpid(), SIGSTOP);
    }
    while (!atomic_load(&all->stopped) || (!atomic_load(&all->have) && !process_is_stopped(atomic_load(&all->stopped))))
        sched_yield();
    if (all->carries)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(me.buffer, BIG, NBCOLL_BYTE, 0, me.comm, &q));
    uint64_t number;
    CHECK_STATUS(NBCOLL_OK, all->carries ? nbcoll_wait(&q, deadline)
                                         : nbcoll_relays_bcast(me.relays, me.buffer, BIG, 0, &number));
    if (!all->carries)
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(me.relays, number, deadline));
    for (int i = 0; i < BIG; i++)
        CHECK(me.buffer[i] == 5);
    if (atomic_fetch_add(&all->have, 1) + 1 == RANKS - 1)
        kill(atomic_load(&all->stopped), SIGCONT);
    member_close(&me);
}

static void a_process_that_leads_no_node_may_be_stopped(void **state)
{
    crew c = CREW(1, 1, 1, 1);
    (void)state;
    for (int carries = 0; carries < 2; carries++)
        for (int hierarchical = 2; hierarchical <= RANKS; hierarchical += 2)
            crew_succeeds(&c, stops_or_not, group_make(carries, hierarchical, 8 << 20));
}

/* Whoever waits is told; all that stands ready ends; nothing is written to what the program has got back. */
static void dies_or_not(int rank, void *user)
{
    group *all = user;
    static member me;
    uint64_t number;
    member_open(&me, all, rank);
    atomic_fetch_add(&all->have, 1);
    while (atomic_load(&all->have) < RANKS)
        sched_yield();
    if (rank == LATE)
        kill(getpid(), SIGKILL);
    nbcoll_status s = nbcoll_relays_allgather(me.relays, NULL, me.buffer, BIG / RANKS, &number);
    if (s == NBCOLL_OK)
        s = nbcoll_relays_wait(me.relays, number, deadline);
    CHECK(s == NBCOLL_ERR_PEER_LOST);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_bcast(me.relays, me.buffer, 1, 0, &number));
    member_close(&me);
}

/* The same where the communicator's calls are carried out: one that is under way, and a later one. */
static void dies_or_calls(int rank, void *user)
{
    group *all = user;
    static member me;
    nbcoll_request q;
    member_open(&me, all, rank);
    if (rank != LATE)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallgather(NBCOLL_IN_PLACE, me.buffer, BIG / RANKS, NBCOLL_BYTE, me.comm, &q));
    atomic_fetch_add(&all->have, 1);
    while (atomic_load(&all->have) < RANKS)
        sched_yield();
    if (rank == LATE)
        kill(getpid(), SIGKILL);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_wait(&q, deadline));
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_bcast(me.buffer, 1, NBCOLL_BYTE, 0, me.comm, deadline));
    member_close(&me);
}

static void one_dies(void (*main)(int rank, void *user), int carries)
{
    crew c = CREW(1, 1, 1, 1);
    int status[RANKS];
    for (int hierarchical = 0; hierarchical <= RANKS; hierarchical += hierarchical < 2 ? 1 : 2) {
        assert_true(crew_run(&c, main, group_make(carries, hierarchical, 0), status));
        for (int r = 0; r < RANKS; r++)
            if (r == LATE)
                assert_int_equal(WTERMSIG(status[r]), SIGKILL);
            else
                assert_int_equal(status[r], 0);
    }
}

static void a_rank_that_dies_ends_the_operations_of_all(void **state)
{
    (void)state;
    one_dies(dies_or_not, 0);
}

static void a_rank_that_dies_ends_the_calls_of_all(void **state)
{
    (void)state;
    one_dies(dies_or_calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_driver_of_a_rank_that_computes_passes_on),
                                       cmocka_unit_test(the_driver_passes_on_what_calls_contribute),
                                       cmocka_unit_test(the_same_of_processes),
                                       cmocka_unit_test(the_same_by_nodes_however_little_memory_they_share),
        cmocka_unit_test(a_node_of_which_one_led_rank_lacks_memory_goes_by_messages),
                                       cmocka_unit_test(a_process_that_leads_no_node_may_be_stopped),
                                       cmocka_unit_test(a_rank_that_dies_ends_the_operations_of_all),
                                       cmocka_unit_test(a_rank_that_dies_ends_the_calls_of_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
