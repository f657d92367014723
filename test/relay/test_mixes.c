/* SPDX-License-Identifier: BSD-3-Clause
 * Relays, moved by agents or engines, on any nodes and by any topology, while at some moment there is no memory for a
 * while, an agent is cancelled or closed, a rank is declared lost, or closes relays that it still awaits, or ranks
 * cancel calls: what ends well has its blocks, all else is told, all can be closed, and nothing leaks. NBCOLL_TEST_SEED
 * sets another sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "party.h"
#include "tally.h"

enum { OPERATIONS = 12, AHEAD = 5, LATEST = 150, IN_TIME = 200000, SAMPLE = 175 };

typedef enum trouble {
    NONE,
    NO_MEMORY,
    AGENT_CANCELLED,
    AGENT_CLOSED,
    DECLARED_LOST,
    GIVEN_UP,
    CALLS_CANCELLED,
    TROUBLES
} trouble;

typedef enum mover { AGENTS, AGENTS_FOR_CALLS, NODES, RANKS, RANKS_FOR_CALLS, MOVERS } mover;

typedef struct scene {
    party p;
    nbcoll_relays_config config;
    trouble trouble;
    int at;                                       /* the step with the trouble */
    int begun[PARTY_RANKS], ended[PARTY_RANKS];   /* operations */
    nbcoll_request call[PARTY_RANKS][PARTY_MANY]; /* operations, where they carry out calls */
    nbcoll_status status[PARTY_RANKS]; /* PENDING; OK: all operations have ended; or what the rank was told */
    int is_given_up[PARTY_RANKS];
    int cancelled; /* calls */
} scene;

static long lacking; /* allocations that still fail */

static int lacks(void)
{
    return lacking > 0 && lacking--;
}

static tally counted = {0, lacks};

static unsigned draw(scene *s, unsigned below)
{
    return (unsigned)(world_random(&s->p.w.random) % below);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void be_in_trouble(scene *s)
{
    unsigned n = draw(s, (unsigned)s->p.nodes), r = draw(s, (unsigned)s->p.w.ranks);
    if (s->trouble == NO_MEMORY)
        lacking = 1 + (long)draw(s, draw(s, 2) ? 3 : 40);
    else if (s->trouble == AGENT_CANCELLED)
        EXPECT(OK, nbcoll_agent_cancel(s->p.agent[n]));
    else if (s->trouble == AGENT_CLOSED) {
        nbcoll_status closed = nbcoll_agent_close(s->p.agent[n]);
        assert_true(closed == NBCOLL_OK || closed == NBCOLL_ERR_BUSY); /* it is still to get relays */
        s->p.agent[n] = closed == NBCOLL_OK ? NULL : s->p.agent[n];
    } else if (s->trouble == DECLARED_LOST && s->p.w.ranks > 1)
        EXPECT(OK, nbcoll_comm_declare_lost(s->p.w.comm[r], (int)(r + 1) % s->p.w.ranks));
    else if (s->trouble == GIVEN_UP)
        s->is_given_up[r] = s->p.relays[r] && !s->begun[r] && nbcoll_relays_test(s->p.relays[r], 0) == NBCOLL_PENDING;
}

/* Of those that are under way. */
static void cancel_some(scene *s)
{
    unsigned r = draw(s, (unsigned)s->p.w.ranks), at = draw(s, PARTY_MANY);
    if (s->call[r][at].at && draw(s, 8) == 0)
        EXPECT(OK, nbcoll_cancel(s->call[r][at]));
}

static void begin(scene *s, int r)
{
    nbcoll_relays_config config = s->config;
    for (int n = 0; n < s->p.nodes; n++)
        if (s->p.leader[n] == r)
            config.agent = s->p.agent[n];
    nbcoll_status status = nbcoll_relays_open(s->p.w.comm[r], &config, &s->p.relays[r]);
    if (status == NBCOLL_OK || status == NBCOLL_ERR_MEMORY) /* that has changed nothing */
        return;
    s->status[r] = status;
}

static nbcoll_status test(scene *s, int r, int o)
{
    if (s->config.carries)
        return nbcoll_test(&s->call[r][o % PARTY_MANY]);
    return nbcoll_relays_test(s->p.relays[r], s->p.number[r][o % PARTY_MANY]);
}

static nbcoll_status start(scene *s, int r, int o)
{
    int at = o % PARTY_MANY;
    if (!s->config.carries)
        return party_start(&s->p, r, o);
    if (o == s->ended[r] + AHEAD)
        return NBCOLL_ERR_BUSY;
    return nbcoll_iallgather(s->p.send[r][at], s->p.recv[r][at], PARTY_BYTES, NBCOLL_BYTE, s->p.w.comm[r],
                             &s->call[r][at]);
}

static void look(scene *s, int r)
{
    int o = s->ended[r];
    nbcoll_status status = o < s->begun[r] ? test(s, r, o) : nbcoll_relays_test(s->p.relays[r], 0);
    if (status == NBCOLL_OK && o < s->begun[r]) {
        for (int of = 0; of < s->p.w.ranks; of++)
            assert_true(party_has_block(&s->p, r, o % PARTY_MANY, of));
        s->ended[r]++;
    }
    if (status == NBCOLL_ERR_CANCELLED && s->trouble == CALLS_CANCELLED && o < s->begun[r]) {
        s->ended[r]++;
        s->cancelled++;
        status = nbcoll_relays_test(s->p.relays[r], 0); /* the others go on, if they had been opened */
    }
    if (status == NBCOLL_OK && s->ended[r] == OPERATIONS)
        s->status[r] = NBCOLL_OK;
    else if (status != NBCOLL_OK && status != NBCOLL_PENDING)
        s->status[r] = status;
    else if (s->begun[r] < OPERATIONS && start(s, r, s->begun[r]) == NBCOLL_OK)
        s->begun[r]++;
}

/* Ranks that are done close, which needs all others to do so, unless they were told. */
static void step(scene *s)
{
    unsigned who = draw(s, (unsigned)(s->p.w.ranks + s->p.nodes));
    int r = (int)who;
    if (r >= s->p.w.ranks)
        nbcoll_agent_progress(s->p.agent[r - s->p.w.ranks]);
    else if (s->status[r] != NBCOLL_PENDING || s->is_given_up[r]) {
        for (int o = s->ended[r]; s->config.carries && o < s->begun[r]; o++)
            if (s->call[r][o % PARTY_MANY].at)
                (void)test(s, r, o);
        if (s->p.relays[r] && nbcoll_relays_close(s->p.relays[r], 0) == NBCOLL_OK) {
            s->p.relays[r] = NULL;
            s->status[r] = s->is_given_up[r] ? NBCOLL_ERR_CANCELLED : s->status[r];
        }
        nbcoll_progress(s->p.w.context[r]);
    } else if (!s->p.relays[r])
        begin(s, r);
    else
        look(s, r);
}

static int are_closed(const scene *s)
{
    int closed = 0;
    for (int r = 0; r < s->p.w.ranks; r++)
        closed += s->status[r] != NBCOLL_PENDING && !s->p.relays[r];
    return closed == s->p.w.ranks;
}

/* ---- a life ------------------------------------------------------------------------------------------------------ */

static int is_told(nbcoll_status s, trouble what)
{
    if (s == NBCOLL_ERR_UNSUPPORTED) /* it was closed before they were opened */
        return what == AGENT_CLOSED;
    return s == NBCOLL_OK || s == NBCOLL_ERR_PEER_LOST || s == NBCOLL_ERR_CANCELLED || s == NBCOLL_ERR_MEMORY;
}

static void say(const scene *s, uint64_t seed, mover by)
{
    print_message("seed %lu, moved by %d, trouble %d at %d\n", (unsigned long)seed, by, s->trouble, s->at);
    for (int r = 0; r < s->p.w.ranks; r++)
        print_message("rank %d: %s, %d begun, %d ended%s\n", r, nbcoll_status_name(s->status[r]), s->begun[r],
                      s->ended[r], s->p.relays[r] ? "" : ", closed");
}

static int live(uint64_t seed, mover by, trouble what)
{
    static scene s;
    nbcoll_host host = tally_host(&counted);
    uint64_t random = seed;
    int shape[5] = {0}, told = 0;
    for (int n = 0, nodes = 1 + (int)(world_random(&random) % 4); n < nodes; n++)
        shape[n] = 1 + (int)(world_random(&random) % 3);
    memset(&s, 0, sizeof s);
    lacking = 0;
    party_open(&s.p, shape, &host);
    s.p.w.random = random;
    s.config = party_config((nbcoll_topology_kind)draw(&s, NBCOLL_TOPOLOGY_COUNT));
    s.config.host = &host;
    s.config.by_agents = by == AGENTS || by == AGENTS_FOR_CALLS;
    s.config.hierarchical = by == NODES;
    s.config.carries = by == RANKS_FOR_CALLS || by == AGENTS_FOR_CALLS ? 2 * 8 : 0;
    s.trouble = what;
    s.at = (int)draw(&s, what == GIVEN_UP ? 30 : LATEST);
    for (int r = 0; r < s.p.w.ranks; r++)
        s.status[r] = NBCOLL_PENDING;
    for (int steps = 0; !are_closed(&s); steps++) {
        if (steps == IN_TIME)
            say(&s, seed, by);
        world_watchdog(&s.p.w, steps < IN_TIME);
        if (steps == s.at)
            be_in_trouble(&s);
        if (steps >= s.at && s.trouble == CALLS_CANCELLED)
            cancel_some(&s);
        step(&s);
    }
    lacking = 0;
    for (int r = 0; r < s.p.w.ranks; r++) {
        if (!is_told(s.status[r], what) || (what == NONE && s.status[r] != NBCOLL_OK)) {
            say(&s, seed, by);
            fail_msg("rank %d was told something else", r);
        }
        told += s.status[r] != NBCOLL_OK;
    }
    told += s.cancelled;
    party_close(&s.p);
    assert_int_equal(counted.used, 0);
    return told;
}

static void what_does_not_end_well_is_told(void **state)
{
    int told[TROUBLES] = {0};
    uint64_t seed = seed_of_test();
    (void)state;
    for (int i = 0; i < (is_full() ? 40 : 1) * SAMPLE; i++)
        told[i % TROUBLES] += live(random_of(&seed), (mover)(i / TROUBLES % MOVERS), (trouble)(i % TROUBLES));
    for (int i = 1; i < TROUBLES; i++)
        print_message("%d told of %d\n", told[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_end_well_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
