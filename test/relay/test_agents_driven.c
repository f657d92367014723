/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move go on by the driver that has these agents, while their ranks are in waits; those that carry
 * out calls also by drivers of the contexts, to which ranks leave the passes. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "party.h"

enum { OPERATIONS = 200, CALLS = 60 };

static const uint64_t deadline = 60000000000u;

static void relay(world *w, int rank, void *user)
{
    party *p = user;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_RING);
    unsigned char one[4], all[2][PARTY_RANKS * 4];
    uint64_t number;
    for (int n = 0; n < p->nodes; n++)
        if (p->leader[n] == rank)
            config.agent = p->agent[n];
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    EXPECT(OK, nbcoll_relays_wait(relays, 0, deadline));
    for (int o = 0; o < OPERATIONS; o++) {
        memset(one, rank * 50 + o, sizeof one);
        EXPECT(OK, nbcoll_relays_allgather(relays, one, all[o % 2], sizeof one, &number));
        EXPECT(OK, nbcoll_relays_wait(relays, number, deadline));
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(all[o % 2][of * 4 + 3], (unsigned char)(of * 50 + o));
    }
    EXPECT(OK, nbcoll_relays_close(relays, deadline));
}

/* Ranks wait, look, or cancel at a deadline, in turns; all cancel the same calls or none. */
static void call(world *w, int rank, void *user)
{
    party *p = user;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_CAYLEY);
    unsigned char one[4], all[PARTY_RANKS * 4];
    nbcoll_relays *relays;
    config.carries = 16;
    for (int n = 0; n < p->nodes; n++)
        if (p->leader[n] == rank)
            config.agent = p->agent[n];
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    for (int o = 0; o < CALLS; o++) {
        nbcoll_request q;
        nbcoll_status s;
        memset(one, rank * 50 + o, sizeof one);
        EXPECT(OK, nbcoll_iallgather(one, all, sizeof one, NBCOLL_BYTE, w->comm[rank], &q));
        if (o % 3 == 0)
            EXPECT(OK, nbcoll_wait(&q, deadline));
        else
            while ((s = nbcoll_test(&q)) != NBCOLL_OK) {
                EXPECT(PENDING, s);
                sched_yield();
            }
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(all[of * 4 + 3], (unsigned char)(of * 50 + o));
        if (o % 5 == 4) {
            EXPECT(OK, nbcoll_iallgather(one, all, sizeof one, NBCOLL_BYTE, w->comm[rank], &q));
            EXPECT(OK, nbcoll_cancel(q));
            s = nbcoll_wait(&q, deadline);
            assert_true(s == NBCOLL_ERR_CANCELLED || s == NBCOLL_OK);
        }
    }
    EXPECT(OK, nbcoll_relays_close(relays, deadline));
}

/* Contexts of any threads, with drivers of their own for half of them. */
static void calls_go_on_by_drivers(void **state)
{
    enum { RANKS = 5, NEAR = 2 };
    static party p;
    nbcoll_driver *driver[2];
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_SHARED};
    nbcoll_context_config context = {.size = sizeof context, .flags = NBCOLL_ANY_THREAD};
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_request q[RANKS];
    (void)state;
    memset(&p, 0, sizeof p);
    world_open_contexts(&p.w, RANKS, &loopback, &context);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.node = 1 + (uint64_t)(r / NEAR);
        EXPECT(OK, nbcoll_comm_icreate(p.w.context[r], p.w.endpoint[r], &comm, &p.w.comm[r], &q[r]));
    }
    world_finish(&p.w, RANKS, q);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_driver_create(NULL, &driver[i]));
    for (int r = 0; r < RANKS; r += NEAR, p.nodes++) {
        p.leader[p.nodes] = r;
        EXPECT(OK, nbcoll_agent_open(p.w.endpoint[r], &agent, &p.agent[p.nodes]));
        EXPECT(OK, nbcoll_driver_add_agent(driver[0], p.agent[p.nodes]));
    }
    for (int r = 0; r < 3; r++) /* a whole node, and the leader of another one */
        EXPECT(OK, nbcoll_driver_add(driver[1], p.w.context[r]));
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_driver_start(driver[i]));
    world_threads(&p.w, call, &p);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_driver_free(driver[i]));
    party_close(&p);
}

static void relays_go_on_by_a_driver(void **state)
{
    static const int shape[] = {2, 2, 1, 0};
    static party p;
    nbcoll_driver *driver;
    (void)state;
    party_open(&p, shape, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    for (int n = 0; n < p.nodes; n++)
        EXPECT(OK, nbcoll_driver_add_agent(driver, p.agent[n]));
    EXPECT(OK, nbcoll_driver_start(driver));
    world_threads(&p.w, relay, &p);
    EXPECT(OK, nbcoll_driver_free(driver));
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays_go_on_by_a_driver),
        cmocka_unit_test(calls_go_on_by_drivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
