/* SPDX-License-Identifier: BSD-3-Clause
 * A rank closes relays that are still being opened, however far that has come: it needs no other rank for that, the
 * others are told, and all of them can be opened again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

static const int shape[] = {2, 1, 1, 0};

static void begin(party *p, int rank, nbcoll_relays_config config)
{
    for (int n = 0; n < p->nodes; n++)
        if (p->leader[n] == rank)
            config.agent = p->agent[n];
    EXPECT(OK, nbcoll_relays_open(p->w.comm[rank], &config, &p->relays[rank]));
}

/* While the other ranks call nothing; its own agent moves. */
static void give_up(party *p, int rank)
{
    nbcoll_status s;
    for (int looks = 0; (s = nbcoll_relays_close(p->relays[rank], 0)) == NBCOLL_ERR_TIMEOUT; looks++) {
        world_watchdog(&p->w, looks < PARTY_LOOKS);
        for (int n = 0; n < p->nodes; n++)
            if (p->leader[n] == rank)
                nbcoll_agent_progress(p->agent[n]);
    }
    assert_int_equal(s, NBCOLL_OK);
    p->relays[rank] = NULL;
}

/* Relays go well. */
static void use(party *p, nbcoll_relays_config config)
{
    party_open_relays(p, config);
    for (int r = 0; r < p->w.ranks && !config.carries; r++)
        EXPECT(OK, party_start(p, r, 0));
    for (int r = 0; r < p->w.ranks; r++)
        party_finish(p, r, config.carries ? 0 : p->number[r][0]);
    party_close_relays(p);
}

static void all_are_told(party *p, int but, int is_by_agents)
{
    for (int r = 0; r < p->w.ranks; r++) {
        nbcoll_status s = NBCOLL_PENDING;
        for (int looks = 0; r != but && s != NBCOLL_ERR_CANCELLED && s != NBCOLL_ERR_PEER_LOST; looks++) {
            world_watchdog(&p->w, looks < PARTY_LOOKS);
            party_step(p);
            for (int i = 0; i < p->w.ranks; i++)
                nbcoll_progress(p->w.context[i]);
            s = nbcoll_relays_test(p->relays[r], 0);
            assert_true(s == NBCOLL_PENDING || s == NBCOLL_OK || s == NBCOLL_ERR_CANCELLED ||
                        (s == NBCOLL_ERR_PEER_LOST && is_by_agents));
        }
    }
}

/* Of somebody. */
static void look_once(party *p)
{
    unsigned who = (unsigned)(world_random(&p->w.random) % (unsigned)(p->w.ranks + p->nodes));
    if (who >= (unsigned)p->w.ranks)
        nbcoll_agent_progress(p->agent[who - (unsigned)p->w.ranks]);
    else if (p->relays[who])
        nbcoll_relays_test(p->relays[who], 0);
}

/* Communicators whose id is not that of all endpoints' first ones. */
static void go_on_over_duplicates(world *w)
{
    nbcoll_comm *copy[PARTY_RANKS];
    nbcoll_request q[PARTY_RANKS];
    for (int r = 0; r < w->ranks; r++)
        EXPECT(OK, nbcoll_comm_idup(w->comm[r], &copy[r], &q[r]));
    world_finish(w, (size_t)w->ranks, q);
    memcpy(w->comm, copy, (size_t)w->ranks * sizeof *copy);
}

/* One opens them alone; or all do, and go on for `steps` looks. 1: they were not there yet. */
static int open_and_give_up(nbcoll_relays_config config, int rank, int alone, int steps)
{
    static party p;
    party_open(&p, shape, NULL);
    go_on_over_duplicates(&p.w);
    p.w.random = (uint64_t)(1000 * rank + steps + 1);
    for (int r = 0; r < p.w.ranks; r++)
        if (r == rank || !alone)
            begin(&p, r, config);
    for (int i = 0; i < steps; i++)
        look_once(&p);
    int is_early = alone || nbcoll_relays_test(p.relays[rank], 0) == NBCOLL_PENDING;
    if (is_early) {
        give_up(&p, rank);
        for (int r = 0; r < p.w.ranks; r++)
            if (r != rank && alone)
                begin(&p, r, config);
        all_are_told(&p, rank, (int)config.by_agents);
    }
    party_close_relays(&p);
    use(&p, config);
    party_close(&p);
    return is_early;
}

static void try_all(nbcoll_relays_config config)
{
    int early = 0, late = 0;
    for (int rank = 0; rank < 3; rank++)
        for (int steps = 0; steps < 60; steps++) {
            assert_int_equal(open_and_give_up(config, rank, 1, steps), 1);
            if (open_and_give_up(config, rank, 0, steps))
                early++;
            else
                late++;
        }
    assert_true(early > 10 && late > 10);
}

static void relays_by_ranks(void **state)
{
    (void)state;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_RING);
    config.by_agents = 0;
    try_all(config);
}

static void relays_by_nodes(void **state)
{
    (void)state;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_BRUCK);
    config.by_agents = 0;
    config.hierarchical = 1;
    try_all(config);
}

static void relays_that_carry_calls(void **state)
{
    (void)state;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_CAYLEY);
    config.by_agents = 0;
    config.carries = 16;
    try_all(config);
}

static void relays_by_agents(void **state)
{
    (void)state;
    try_all(party_config(NBCOLL_TOPOLOGY_DIRECT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays_by_ranks),
        cmocka_unit_test(relays_by_nodes),
        cmocka_unit_test(relays_that_carry_calls),
        cmocka_unit_test(relays_by_agents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
