/* SPDX-License-Identifier: BSD-3-Clause
 * Any collectives of ranks with agents, ahead of each other, among them programs that are cancelled half way, ranks
 * that have no memory for a while, that cancel their agent, are declared lost, or leave early: what ends well has the
 * values of serial C, all else is told, nobody waits for ever, and nothing leaks. NBCOLL_TEST_SEED sets another
 * sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "nbcoll/offload.h"
#include "operation.h"
#include "tally.h"
#include "world.h"

enum { MOST = 5, OPERATIONS = 24, AHEAD = 3, IN_TIME = 400000, SAMPLE = 60 };

typedef enum trouble { NONE, NO_MEMORY, CANCELLED, AGENT_CANCELLED, DECLARED_LOST, LEAVES, TROUBLES } trouble;

typedef struct actor {
    nbcoll_agent *agent;
    int next, oldest; /* operations: to be started; the first whose end was not seen */
    int has_left, is_done;
    nbcoll_request request[OPERATIONS];
    share data[OPERATIONS];
    nbcoll_status status[OPERATIONS];
} actor;

typedef struct scene {
    world w;
    trouble trouble;
    int victim, at; /* the trouble comes when that rank starts that operation */
    operation what[OPERATIONS];
    actor actor[MOST];
} scene;

static struct memory {
    int caller, victim; /* ranks: who is inside a call; who has none */
    long left;          /* how many more allocations fail */
} memory;

static int lacks(void)
{
    return memory.caller == memory.victim && memory.left > 0 && memory.left--;
}

static tally counted = {0, lacks};

/* A call of rank r. */
#define BY(r, call) (memory.caller = (r), by_somebody(call))
static nbcoll_status by_somebody(nbcoll_status s)
{
    memory.caller = -1;
    return s;
}

/* ---- what a rank does ------------------------------------------------------------------------------------------ */

static void be_in_trouble(scene *s, int r)
{
    actor *a = &s->actor[r];
    int open = a->next - a->oldest;
    if (s->trouble == NO_MEMORY) {
        memory.victim = r;
        memory.left = 1 + (long)(world_random(&s->w.random) % (world_random(&s->w.random) % 2 ? 3 : 60));
    } else if (s->trouble == CANCELLED && open) {
        nbcoll_request q = a->request[a->oldest + (int)(world_random(&s->w.random) % (unsigned)open)];
        if (q.at)
            EXPECT(OK, BY(r, nbcoll_cancel(q)));
    } else if (s->trouble == AGENT_CANCELLED)
        EXPECT(OK, BY(r, nbcoll_agent_cancel(a->agent)));
    else if (s->trouble == DECLARED_LOST)
        EXPECT(OK, BY(r, nbcoll_comm_declare_lost(s->w.comm[r], (r + 1) % s->w.ranks)));
    else if (s->trouble == LEAVES) {
        a->has_left = 1;
        a->is_done = !open;
    }
    s->trouble = s->trouble == NONE ? NONE : TROUBLES; /* once */
}

static void start(scene *s, int r)
{
    actor *a = &s->actor[r];
    if (r == s->victim && a->next == s->at)
        be_in_trouble(s, r);
    if (a->has_left || a->next == OPERATIONS || a->next - a->oldest == AHEAD)
        return;
    int o = a->next;
    nbcoll_status status = BY(r, operation_start(&s->what[o], &a->data[o], s->w.comm[r], &a->request[o]));
    if (status == NBCOLL_ERR_MEMORY) /* it has changed nothing */
        return;
    a->status[o] = status == NBCOLL_OK ? NBCOLL_PENDING : status;
    a->next++;
}

static void look(scene *s, int r)
{
    actor *a = &s->actor[r];
    int which = a->oldest + (int)(world_random(&s->w.random) % AHEAD);
    if (which < a->next && a->status[which] == NBCOLL_PENDING)
        a->status[which] = BY(r, nbcoll_test(&a->request[which]));
    else
        BY(r, nbcoll_progress(s->w.context[r]));
    while (a->oldest < a->next && a->status[a->oldest] != NBCOLL_PENDING)
        a->oldest++;
    a->is_done = a->oldest == (a->has_left ? a->next : OPERATIONS);
}

/* A rank that leaves has ended all that it has started; its context is held until its agent is closed. */
static void leave(scene *s, int r)
{
    actor *a = &s->actor[r];
    if (!s->w.context[r] || !a->is_done)
        return;
    if (a->agent) {
        EXPECT(ERR_BUSY, BY(r, nbcoll_context_free(s->w.context[r])));
        EXPECT(OK, BY(r, nbcoll_comm_free(s->w.comm[r])));
        s->w.comm[r] = NULL;
        nbcoll_agent_progress(a->agent);
        EXPECT(OK, BY(r, nbcoll_agent_close(a->agent)));
        a->agent = NULL;
    }
    if (BY(r, nbcoll_context_free(s->w.context[r])) == NBCOLL_OK)
        s->w.context[r] = NULL;
}

static int step(scene *s)
{
    int r = (int)(world_random(&s->w.random) % (unsigned)s->w.ranks), left = 0;
    actor *a = &s->actor[r];
    unsigned what = (unsigned)(world_random(&s->w.random) % 10);
    if (what < 4 && a->agent) {
        memory.caller = r;
        nbcoll_agent_progress(a->agent);
        memory.caller = -1;
    } else if (what < 6 && a->agent)
        start(s, r);
    else if (a->agent)
        look(s, r);
    if (a->has_left)
        leave(s, r);
    for (int i = 0; i < s->w.ranks; i++)
        left += !s->actor[i].is_done;
    return left;
}

/* ---- a life ---------------------------------------------------------------------------------------------------- */

static void scene_open(scene *s, uint64_t seed)
{
    uint64_t random = seed;
    nbcoll_host host = tally_host(&counted);
    static const int variants[] = {0, 2, 4, 6, 7, 8, 9, 10, 11}; /* with bulk data */
    nbcoll_loopback_config loopback = world_variant(variants[world_random(&random) % 9], seed | 1);
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_agent_config agent = {.size = sizeof agent, .host = &host};
    nbcoll_request request[MOST];
    memset(s, 0, sizeof *s);
    memory = (struct memory){-1, -1, 0};
    loopback.host = &host;
    s->trouble = (trouble)(world_random(&random) % TROUBLES);
    int ranks = 2 + (int)(world_random(&random) % (MOST - 1));
    s->victim = (int)(world_random(&random) % (unsigned)ranks);
    s->at = (int)(world_random(&random) % OPERATIONS);
    agent.in_flight = 1 + (uint32_t)(world_random(&random) % 3);
    world_open_contexts(&s->w, ranks, &loopback, &context);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        EXPECT(OK, nbcoll_agent_open(s->w.endpoint[r], &agent, &s->actor[r].agent));
        comm.agent = s->actor[r].agent;
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], &comm, &s->w.comm[r], &request[r]));
    }
    world_finish(&s->w, (size_t)ranks, request);
    for (int o = 0; o < OPERATIONS; o++) {
        s->what[o] = operation_random(&random, ranks, world_random(&random) % 4 ? 40 : 3000);
        for (int r = 0; r < ranks; r++)
            s->actor[r].data[o] = share_make(&s->what[o], r, ranks);
    }
}

static int is_told(nbcoll_status s)
{
    return s == NBCOLL_ERR_CANCELLED || s == NBCOLL_ERR_PEER_LOST || s == NBCOLL_ERR_MEMORY ||
           s == NBCOLL_ERR_MISMATCH;
}

static int scene_close(scene *s, trouble was)
{
    int told = 0;
    memory.left = 0;
    for (int r = 0; r < s->w.ranks; r++)
        for (int o = 0; o < OPERATIONS; o++) {
            nbcoll_status status = s->actor[r].status[o];
            if (o < s->actor[r].next && status == NBCOLL_OK)
                operation_check(&s->what[o], &s->actor[r].data[o], r, s->w.ranks);
            else if (o < s->actor[r].next && (was == NONE || !is_told(status)))
                fail_msg("rank %d: operation %d has ended with %s", r, o, nbcoll_status_name(status));
            told += o < s->actor[r].next && status != NBCOLL_OK;
            share_free(&s->actor[r].data[o]);
        }
    for (int r = 0; r < s->w.ranks; r++)
        if (s->actor[r].agent) {
            nbcoll_agent_progress(s->actor[r].agent);
            EXPECT(OK, nbcoll_agent_close(s->actor[r].agent));
        }
    world_close(&s->w);
    assert_int_equal(counted.used, 0);
    return told;
}

static void say(const scene *s, uint64_t seed, trouble was)
{
    print_message("seed %lu, trouble %d of rank %d at %d\n", (unsigned long)seed, was, s->victim, s->at);
    for (int r = 0; r < s->w.ranks; r++)
        for (int o = 0; o < s->actor[r].next; o++)
            print_message("rank %d: operation %d (%d): %s\n", r, o, s->what[o].what,
                          nbcoll_status_name(s->actor[r].status[o]));
}

static void live(uint64_t seed, int told[TROUBLES])
{
    static scene s;
    scene_open(&s, seed);
    trouble was = s.trouble;
    for (long steps = 0; step(&s); steps++) {
        if (steps >= IN_TIME)
            say(&s, seed, was);
        world_watchdog(&s.w, steps < IN_TIME);
    }
    told[was] += scene_close(&s, was);
}

static void what_does_not_end_well_is_told(void **state)
{
    int told[TROUBLES] = {0};
    uint64_t seed = seed_of_test();
    (void)state;
    for (int i = 0; i < (is_full() ? 50 : 1) * SAMPLE; i++) {
        uint64_t own = random_of(&seed);
        live(own, told);
    }
    print_message("told: %d %d %d %d %d %d\n", told[0], told[1], told[2], told[3], told[4], told[5]);
    assert_int_equal(told[NONE], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_end_well_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
