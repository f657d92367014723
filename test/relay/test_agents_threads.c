/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move, with a thread for each rank and each agent: the store is theirs in common. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

enum { OPERATIONS = 300, CALLS = 100, BYTES = 13 };

typedef struct crew {
    party p;
    nbcoll_topology_kind kind;
    atomic_int is_over;
    atomic_int wrong;  /* blocks */
    atomic_int opened; /* ranks that have relays */
} crew;

typedef struct member {
    crew *crew;
    nbcoll_agent *agent;
} member;

static void *move_agent(void *user)
{
    const member *m = user;
    while (!atomic_load(&m->crew->is_over))
        if (!nbcoll_agent_progress(m->agent))
            sched_yield();
    return NULL;
}

static unsigned char value(int rank, int o, int i)
{
    return (unsigned char)(rank * 37 + o * 11 + i);
}

static void check(crew *c, const unsigned char *all, int o)
{
    for (int of = 0; of < c->p.w.ranks; of++)
        for (int i = 0; i < BYTES; i++)
            if (all[of * BYTES + i] != value(of, o, i))
                atomic_fetch_add(&c->wrong, 1);
}

static void run(world *w, int rank, void *user)
{
    crew *c = user;
    nbcoll_relays_config config = party_config(c->kind);
    unsigned char mine[BYTES], all[2][PARTY_RANKS * BYTES];
    uint64_t number = 0, random = (uint64_t)rank + 1;
    for (int n = 0; n < c->p.nodes; n++)
        if (c->p.leader[n] == rank)
            config.agent = c->p.agent[n];
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    EXPECT(OK, nbcoll_relays_wait(relays, 0, NBCOLL_FOREVER));
    for (int o = 0; o < OPERATIONS; o++) {
        for (uint64_t late = world_random(&random) % 20; late > 15; late--)
            sched_yield();
        for (int i = 0; i < BYTES; i++)
            mine[i] = value(rank, o, i);
        EXPECT(OK, nbcoll_relays_allgather(relays, mine, all[o % 2], BYTES, &number));
        if (o == 0)
            continue;
        EXPECT(OK, nbcoll_relays_wait(relays, number - 1, NBCOLL_FOREVER));
        check(c, all[(o - 1) % 2], o - 1);
    }
    EXPECT(OK, nbcoll_relays_wait(relays, number, NBCOLL_FOREVER));
    check(c, all[(OPERATIONS - 1) % 2], OPERATIONS - 1);
    EXPECT(OK, nbcoll_relays_close(relays, NBCOLL_FOREVER));
}

static nbcoll_relays *open_carrying(crew *c, int rank)
{
    nbcoll_relays_config config = party_config(c->kind);
    config.carries = 16;
    for (int n = 0; n < c->p.nodes; n++)
        if (c->p.leader[n] == rank)
            config.agent = c->p.agent[n];
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(c->p.w.comm[rank], &config, &relays));
    return relays;
}

/* Calls of the communicator, the first of them before relays are there. One of them each rank cancels: it ends so, or
 * well. */
static void run_calls(world *w, int rank, void *user)
{
    crew *c = user;
    nbcoll_relays *relays = open_carrying(c, rank);
    unsigned char mine[2][BYTES], all[2][PARTY_RANKS * BYTES];
    nbcoll_request q[2];
    uint64_t random = (uint64_t)rank + 1;
    for (int o = 0; o <= CALLS; o++) {
        for (uint64_t late = world_random(&random) % 20; late > 15; late--)
            sched_yield();
        for (int i = 0; i < BYTES; i++)
            mine[o % 2][i] = value(rank, o, i);
        if (o < CALLS)
            EXPECT(OK, nbcoll_iallgather(mine[o % 2], all[o % 2], BYTES, NBCOLL_BYTE, w->comm[rank], &q[o % 2]));
        if (o == 0)
            continue;
        if (o == CALLS / 2) /* relays are there: all have ended a call */
            EXPECT(OK, nbcoll_cancel(q[(o - 1) % 2]));
        nbcoll_status s = nbcoll_wait(&q[(o - 1) % 2], NBCOLL_FOREVER);
        if (s != NBCOLL_ERR_CANCELLED || o != CALLS / 2) {
            EXPECT(OK, s);
            check(c, all[(o - 1) % 2], o - 1);
        }
    }
    EXPECT(OK, nbcoll_relays_close(relays, NBCOLL_FOREVER));
}

static void with_threads(nbcoll_topology_kind kind, const int shape[], void (*each)(world *, int, void *))
{
    static crew c;
    pthread_t thread[PARTY_RANKS];
    member m[PARTY_RANKS];
    memset(&c, 0, sizeof c);
    c.kind = kind;
    party_open(&c.p, shape, NULL);
    for (int n = 0; n < c.p.nodes; n++) {
        m[n] = (member){&c, c.p.agent[n]};
        assert_int_equal(pthread_create(&thread[n], NULL, move_agent, &m[n]), 0);
    }
    world_threads(&c.p.w, each, &c);
    atomic_store(&c.is_over, 1);
    for (int n = 0; n < c.p.nodes; n++)
        pthread_join(thread[n], NULL);
    assert_int_equal(c.wrong, 0);
    party_close(&c.p);
}

static void ranks_and_agents_share_the_store(void **state)
{
    static const int shapes[][4] = {{2, 2, 1, 0}, {3, 0}, {1, 1, 1, 0}};
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            with_threads((nbcoll_topology_kind)kind, shapes[i], run);
}

static void ranks_and_agents_share_the_store_of_calls(void **state)
{
    static const int shapes[][4] = {{2, 2, 1, 0}, {3, 0}};
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            with_threads((nbcoll_topology_kind)kind, shapes[i], run_calls);
}

/* Rank 0 gives up rank 3, which starts nothing; each is told. */
static void run_and_lose(world *w, int rank, void *user)
{
    crew *c = user;
    nbcoll_relays_config config = party_config(c->kind);
    unsigned char mine[BYTES] = {0}, all[PARTY_RANKS * BYTES];
    uint64_t number;
    for (int n = 0; n < c->p.nodes; n++)
        if (c->p.leader[n] == rank)
            config.agent = c->p.agent[n];
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    EXPECT(OK, nbcoll_relays_wait(relays, 0, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_relays_allgather(relays, mine, all, BYTES, &number));
    atomic_fetch_add(&c->opened, 1);
    while (rank == 0 && atomic_load(&c->opened) < w->ranks)
        sched_yield();
    if (rank == 0)
        EXPECT(OK, nbcoll_comm_declare_lost(w->comm[rank], 3));
    EXPECT(ERR_PEER_LOST, nbcoll_relays_wait(relays, number, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_relays_close(relays, NBCOLL_FOREVER));
}

static void run_until_lost(world *w, int rank, void *user)
{
    if (rank != 3) {
        run_and_lose(w, rank, user);
        return;
    }
    crew *c = user;
    nbcoll_relays_config config = party_config(c->kind);
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    nbcoll_status s;
    EXPECT(OK, nbcoll_relays_wait(relays, 0, NBCOLL_FOREVER));
    atomic_fetch_add(&c->opened, 1);
    while ((s = nbcoll_relays_test(relays, 0)) == NBCOLL_OK)
        sched_yield();
    EXPECT(ERR_PEER_LOST, s);
    EXPECT(OK, nbcoll_relays_close(relays, NBCOLL_FOREVER));
}

static void a_lost_rank_ends_all_threads_waits(void **state)
{
    static const int shape[] = {2, 2, 1, 0};
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        with_threads((nbcoll_topology_kind)kind, shape, run_until_lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_and_agents_share_the_store),
        cmocka_unit_test(ranks_and_agents_share_the_store_of_calls),
        cmocka_unit_test(a_lost_rank_ends_all_threads_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
