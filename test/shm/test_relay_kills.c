/* SPDX-License-Identifier: BSD-3-Clause
 * A rank is killed at some moment while relays are opened, used or closed: the others are told in time, whoever moves
 * them, close theirs, and open others in what is left of the communicator; nothing is left of all. */
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
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "lone.h"
#include "ranks.h"

enum { RANKS = 4, BYTES = 50, FEW = 5, LONGEST_US = 20000, TURNS = 100 };
#define IN_TIME (10 * SECOND)

typedef enum moment { OPENING, RUNNING, CLOSING, MOMENTS } moment;
typedef enum mover { AGENTS, NODES, RANKS_THEMSELVES, MOVERS } mover;

typedef struct scene {
    nbcoll_shm_config config;
    mover mover;
    nbcoll_topology_kind topology;
    moment moment;
    int victim;
    unsigned after_us; /* of that moment */
    atomic_int joined;      /* ranks that have the communicator of all */
    _Atomic uint64_t death; /* when it is to be; 0: not known yet */
} scene;

/* SIGALRM, which nobody handles, ends a process wherever it is. */
static void perhaps_die(scene *s, int rank, moment now)
{
    struct itimerval in = {.it_value = {.tv_usec = (suseconds_t)s->after_us + 1}};
    if (rank != s->victim || now != s->moment)
        return;
    while (atomic_load(&s->joined) < RANKS)
        sched_yield();
    atomic_store(&s->death, clock_ns() + UINT64_C(1000) * s->after_us);
    setitimer(ITIMER_REAL, &in, NULL);
}

static nbcoll_status gather(nbcoll_relays *relays, int rank, int ranks, int o)
{
    unsigned char mine[BYTES], all[RANKS * BYTES];
    uint64_t number;
    memset(mine, rank * 37 + o, BYTES);
    nbcoll_status status = nbcoll_relays_allgather(relays, mine, all, BYTES, &number);
    if (status == NBCOLL_OK)
        status = nbcoll_relays_wait(relays, number, 3 * IN_TIME);
    for (int i = 0; i < ranks * BYTES && status == NBCOLL_OK; i++)
        CHECK(all[i] == (unsigned char)(i / BYTES * 37 + o));
    return status;
}

static void be_told(const scene *s, nbcoll_status status)
{
    if (status != NBCOLL_ERR_PEER_LOST)
        fprintf(stderr, "%s\n", nbcoll_status_name(status));
    CHECK(status == NBCOLL_ERR_PEER_LOST);
    uint64_t death = atomic_load(&s->death);
    CHECK(death && clock_ns() < death + IN_TIME);
}

/* In so many calls, each with its own deadline: a machine that stands still for long takes one of them from each rank,
 * where it would take all of a single deadline. */
static void close_in_time(nbcoll_relays *relays)
{
    nbcoll_status status = NBCOLL_ERR_TIMEOUT;
    for (int turn = 0; turn < TURNS && status == NBCOLL_ERR_TIMEOUT; turn++)
        status = nbcoll_relays_close(relays, IN_TIME / TURNS);
    if (status == NBCOLL_ERR_TIMEOUT)
        fprintf(stderr, "relays do not close: %s\n", nbcoll_status_name(nbcoll_relays_test(relays, 0)));
    CHECK_STATUS(NBCOLL_OK, status);
}

/* Opens relays, uses and closes them. Until something is wrong, or `times` operations have ended. */
static nbcoll_status use(scene *s, nbcoll_comm *comm, int me, int times)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    nbcoll_relays *relays;
    lone m;
    config.topology = s->topology;
    config.by_agents = s->mover == AGENTS;
    config.hierarchical = s->mover == NODES;
    config.fragment = 16;
    if (rank == 0 && s->mover == AGENTS)
        lone_open(&m, me, RANKS);
    config.agent = rank == 0 && s->mover == AGENTS ? m.agent : NULL;
    perhaps_die(s, me, OPENING);
    nbcoll_status status = nbcoll_relays_open(comm, &config, &relays), opened = status;
    if (opened == NBCOLL_OK)
        status = nbcoll_relays_wait(relays, 0, 3 * IN_TIME);
    perhaps_die(s, me, RUNNING);
    for (int o = 0; o < times && status == NBCOLL_OK; o++)
        status = gather(relays, rank, ranks, o);
    perhaps_die(s, me, CLOSING);
    if (opened == NBCOLL_OK)
        close_in_time(relays);
    if (rank == 0 && s->mover == AGENTS)
        lone_close(&m);
    return status;
}

static void play(int rank, void *user)
{
    scene *s = user;
    nbcoll_shm_config config = s->config;
    nbcoll_comm *rest;
    member m;
    config.rank = rank;
    member_join(&m, &config, NULL);
    atomic_fetch_add(&s->joined, 1);
    nbcoll_status status = use(s, m.comm, rank, s->moment == CLOSING ? FEW : INT32_MAX);
    while (rank == s->victim)
        pause();
    if (status != NBCOLL_OK || s->moment != CLOSING)
        be_told(s, status);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(m.comm, &rest, 3 * IN_TIME));
    if (nbcoll_comm_size(rest) == RANKS - 1) /* else it dies later */
        CHECK_STATUS(NBCOLL_OK, use(s, rest, rank, FEW));
    member_leave(&m);
}

static void kill_one(uint64_t *random, mover by)
{
    const crew ranks = CREW(1, 1, 1, 1);
    scene *s = shared_memory(sizeof *s);
    int status[RANKS], names = shared_names();
    s->config = (nbcoll_shm_config){
        .size = sizeof s->config, .id = fresh_id(), .ranks = RANKS, .quota = 4 << 20, .timeout = 30 * SECOND};
    s->mover = by;
    s->topology = (nbcoll_topology_kind)(random_of(random) % NBCOLL_TOPOLOGY_COUNT);
    s->moment = (moment)(random_of(random) % MOMENTS);
    s->victim = (int)(random_of(random) % RANKS);
    s->after_us = (unsigned)((random_of(random) % LONGEST_US) >> random_of(random) % 12);
    bool all = crew_run(&ranks, play, s, status);
    for (int i = 0; i < RANKS; i++)
        if (!all || status[i] != (i == s->victim ? SIGALRM : 0))
            fail_msg("rank %d ended with 0x%x: moved by %d, topology %d, rank %d, %u us after %d%s", i,
                     (unsigned)status[i], s->mover, s->topology, s->victim, s->after_us, s->moment,
                     all ? "" : ", at the deadline");
    munmap(s, sizeof *s);
    assert_int_equal(shared_names(), names);
}

static void kill_some(mover by)
{
    uint64_t random = seed_of_test();
    for (int i = 0; i < (is_full() ? 200 : 8); i++)
        kill_one(&random, by);
}

static void with_relays_by_agents(void **state)
{
    (void)state;
    kill_some(AGENTS);
}

static void with_relays_by_nodes(void **state)
{
    (void)state;
    kill_some(NODES);
}

static void with_relays_by_ranks(void **state)
{
    (void)state;
    kill_some(RANKS_THEMSELVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_relays_by_agents),
        cmocka_unit_test(with_relays_by_nodes),
        cmocka_unit_test(with_relays_by_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
