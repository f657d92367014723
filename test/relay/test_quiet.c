/* SPDX-License-Identifier: BSD-3-Clause
 * Relays with nothing to do cost little: their operations stand ready for long, and nobody is asked where it is; a look
 * makes one pass over the context, however many streams there are; they are closed by a few messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "nbcoll/trace.h"
#include "stepped.h"
#include "world.h"

enum { RANKS = 6, LOOKS = 4000, MILLISECOND = 1000000 };

typedef struct party {
    world w;
    nbcoll_relays *relays[RANKS];
    uint64_t clock;
    uint64_t calls[NBCOLL_TRACE_COUNT]; /* on endpoints */
} party;

static uint64_t clock_of(void *user)
{
    return ((party *)user)->clock;
}

static void count(void *user, const nbcoll_trace_event *event)
{
    ((party *)user)->calls[event->call]++;
}

static void step(party *p)
{
    for (int r = 0; r < RANKS; r++)
        nbcoll_relays_test(p->relays[r], 0);
}

static void open_all(party *p, uint32_t at_once)
{
    nbcoll_trace_config trace = {.size = sizeof trace, .user = p, .event = count};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_context_config context = {.size = sizeof context, .host = {.size = sizeof context.host, .user = p,
                                                                      .now = clock_of}};
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    nbcoll_request q[RANKS];
    config.at_once = at_once;

    memset(p, 0, sizeof *p);
    p->clock = 1;
    world_open_contexts(&p->w, RANKS, &loopback, &context);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_trace_open(&trace, p->w.endpoint[r], &p->w.endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], NULL, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, RANKS, q);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_open(p->w.comm[r], &config, &p->relays[r]));
    for (int looks = 0; looks < LOOKS; looks++)
        step(p);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_relays_test(p->relays[r], 0));
    memset(p->calls, 0, sizeof p->calls);
}

static void close_all(party *p)
{
    stepped_close(&p->w, p->relays);
    world_close(&p->w);
}

static void relays_that_stand_ready_ask_nobody(void **state)
{
    static party p;
    (void)state;
    open_all(&p, 4);
    for (int looks = 0; looks < LOOKS; looks++) { /* four seconds: who waits would ask after some tens of ms */
        p.clock += MILLISECOND;
        step(&p);
    }
    assert_int_equal(p.calls[NBCOLL_TRACE_POST], 0);
    assert_int_equal(p.calls[NBCOLL_TRACE_LINE], 0);
    close_all(&p);
}

static void a_look_makes_one_pass(void **state)
{
    static party p;
    (void)state;
    open_all(&p, 4);
    nbcoll_progress(p.w.context[0]);
    uint64_t one = p.calls[NBCOLL_TRACE_PROGRESS];
    assert_true(one > 0);
    nbcoll_relays_test(p.relays[0], 0);
    assert_int_equal(p.calls[NBCOLL_TRACE_PROGRESS], 2 * one);
    close_all(&p);
}

/* Messages by which relays are closed that have carried one operation. */
static uint64_t messages_of_a_closing(uint32_t at_once)
{
    static party p;
    static char all[RANKS][RANKS];
    open_all(&p, at_once);
    for (int r = 0; r < RANKS; r++) {
        uint64_t number;
        EXPECT(OK, nbcoll_relays_allgather(p.relays[r], NULL, all[r], 1, &number));
    }
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    memset(p.calls, 0, sizeof p.calls);
    close_all(&p);
    return p.calls[NBCOLL_TRACE_POST] + p.calls[NBCOLL_TRACE_LINE];
}

static void closing_takes_as_many_messages_however_much_stands_ready(void **state)
{
    enum { TURNS = 4 }; /* worlds take turns in what their contexts have */
    uint64_t few[TURNS];
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        few[turn] = messages_of_a_closing(1);
        assert_in_range(few[turn], RANKS, 4 * RANKS * RANKS); /* two short collectives */
    }
    for (int turn = 0; turn < TURNS; turn++)
        assert_int_equal(messages_of_a_closing(16), few[turn]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays_that_stand_ready_ask_nobody),
        cmocka_unit_test(a_look_makes_one_pass),
        cmocka_unit_test(closing_takes_as_many_messages_however_much_stands_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
