/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move, between processes: the store of their node lies in memory that they share, each at a place
 * of its own. Ranks that are stopped, or die, or whose leader dies. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "lone.h"
#include "ranks.h"

enum { RANKS = 4, OPERATIONS = 200, BYTES = 50 };
static const crew node = {{1, 1, 1, 1, 0}};

typedef struct scene {
    nbcoll_shm_config config;
    rank_main *main;
    pid_t pid[RANKS];
    atomic_int started, ended;
} scene;

typedef struct actor {
    member m;
    scene *s;
    nbcoll_relays *relays;
    lone lead; /* of rank 0 */
} actor;

static void play(int rank, void *user)
{
    static actor a;
    scene *s = user;
    nbcoll_shm_config config = s->config;
    nbcoll_relays_config relays = NBCOLL_RELAYS_DEFAULTS;
    config.rank = rank;
    a.s = s;
    s->pid[rank] = getpid();
    member_join(&a.m, &config, NULL);
    if (rank == 0)
        lone_open(&a.lead, 0, RANKS);
    relays.by_agents = 1;
    relays.agent = a.lead.agent;
    relays.fragment = 16;
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_open(a.m.comm, &relays, &a.relays));
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(a.relays, 0, 30 * SECOND));
    s->main(rank, &a);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_close(a.relays, 30 * SECOND));
    if (rank == 0)
        lone_close(&a.lead);
    member_leave(&a.m);
}

static void run(rank_main *main, int status[RANKS])
{
    scene *s = shared_memory(sizeof *s);
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = RANKS, .quota = 4 << 20, .timeout = 30 * SECOND};
    s->main = main;
    bool all = crew_run(&node, play, s, status);
    munmap(s, sizeof *s);
    assert_true(all);
}

static void fill(unsigned char block[BYTES], int rank, int o)
{
    for (int i = 0; i < BYTES; i++)
        block[i] = (unsigned char)(rank * 37 + o * 11 + i);
}

static void check(const unsigned char *all, int of, int o)
{
    unsigned char wanted[BYTES];
    fill(wanted, of, o);
    CHECK(memcmp(all + of * BYTES, wanted, BYTES) == 0);
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static void gather_again_and_again(int rank, void *user)
{
    actor *a = user;
    unsigned char mine[BYTES], all[RANKS * BYTES];
    uint64_t number;
    for (int o = 0; o < OPERATIONS; o++) {
        fill(mine, rank, o);
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_allgather(a->relays, mine, all, BYTES, &number));
        CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(a->relays, number, 30 * SECOND));
        for (int of = 0; of < RANKS; of++)
            check(all, of, o);
    }
}

static void processes_share_the_store(void **state)
{
    int status[RANKS];
    (void)state;
    run(gather_again_and_again, status);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], 0);
}

/* The last rank is stopped before the others start; then it goes on. */
static void gather_beside_a_stopped_one(int rank, void *user)
{
    actor *a = user;
    scene *s = a->s;
    unsigned char mine[BYTES], all[RANKS * BYTES];
    uint64_t number, begin = clock_ns();
    fill(mine, rank, 0);
    if (rank == RANKS - 1)
        raise(SIGSTOP);
    while (rank != RANKS - 1 && !process_is_stopped(s->pid[RANKS - 1]) && !atomic_load(&s->ended))
        CHECK(clock_ns() - begin < 30 * SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_allgather(a->relays, mine, all, BYTES, &number));
    for (int of = 0; of < RANKS - 1 && rank != RANKS - 1; of++) {
        while (nbcoll_relays_arrived(a->relays, number, of) == NBCOLL_PENDING) {
            CHECK(clock_ns() - begin < 30 * SECOND);
            (void)nbcoll_relays_test(a->relays, number);
            sched_yield();
        }
        check(all, of, 0);
    }
    if (rank != RANKS - 1)
        CHECK_STATUS(NBCOLL_PENDING, nbcoll_relays_test(a->relays, number));
    if (atomic_fetch_add(&s->ended, 1) == RANKS - 2)
        kill(s->pid[RANKS - 1], SIGCONT);
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_wait(a->relays, number, 30 * SECOND));
    check(all, RANKS - 1, 0);
}

static void a_stopped_rank_holds_back_its_own_block_alone(void **state)
{
    int status[RANKS];
    (void)state;
    run(gather_beside_a_stopped_one, status);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], 0);
}

/* ---- deaths ---------------------------------------------------------------------------------------------------- */

/* When all others have started. */
static void lose(int rank, actor *a, int lost)
{
    unsigned char mine[BYTES] = {0}, all[RANKS * BYTES];
    uint64_t number;
    if (rank == lost) {
        rank_await(&a->s->started, RANKS - 1);
        kill(getpid(), SIGKILL);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_relays_allgather(a->relays, mine, all, BYTES, &number));
    atomic_fetch_add(&a->s->started, 1);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_wait(a->relays, number, 30 * SECOND));
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_relays_bcast(a->relays, all, BYTES, 1, &number));
}

static void lose_the_last(int rank, void *user)
{
    lose(rank, user, RANKS - 1);
}

static void lose_the_leader(int rank, void *user)
{
    lose(rank, user, 0);
}

static void a_rank_that_dies_ends_what_is_under_way(void **state)
{
    int status[RANKS];
    (void)state;
    run(lose_the_last, status);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == RANKS - 1 ? SIGKILL : 0);
}

static void so_does_a_leader_with_its_agent(void **state)
{
    int status[RANKS];
    (void)state;
    run(lose_the_leader, status);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], i == 0 ? SIGKILL : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_the_store),
        cmocka_unit_test(a_stopped_rank_holds_back_its_own_block_alone),
        cmocka_unit_test(a_rank_that_dies_ends_what_is_under_way),
        cmocka_unit_test(so_does_a_leader_with_its_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
