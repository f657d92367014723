/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators are freed by each rank for itself, in any order, parents before their children too, as soon as it has
 * nothing to do there any more; while others still work there, and everywhere while others are being made. Each rank
 * goes through one random program at a pace of its own. NBCOLL_TEST_SEED runs another seed than all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "operation.h"
#include "world.h"

enum { RANKS = 3, EVENTS = 40, COMMS = 8, SEEDS = 12 };

/* An operation on a communicator, or the making of one of it. */
typedef struct event {
    int on, makes; /* communicators; 0: the first of the world; makes: 0 if none */
    int key;       /* of the split that makes it, times the rank; 0: a dup */
    operation o;
    int canceller; /* a rank, or -1 */
    unsigned waits; /* bits: ranks that start it only when all they started before has ended */
} event;

typedef struct player {
    int at; /* the event to start next */
    nbcoll_comm *comm[COMMS];
    int is_freed[COMMS], rank[EVENTS];
    nbcoll_request request[EVENTS];
    nbcoll_status status[EVENTS];
    share share[EVENTS];
} player;

typedef struct play {
    world w;
    uint64_t random;
    event event[EVENTS];
    player player[RANKS];
} play;

static int below(play *p, int n)
{
    return (int)(world_random(&p->random) % (uint64_t)n);
}

static void write_program(play *p, int cancels)
{
    int made = 1;

    for (int i = 0; i < EVENTS; i++) {
        event *e = &p->event[i];
        int makes = made < COMMS && below(p, 4) == 0;
        *e = (event){.on = below(p, made), .canceller = -1, .waits = (unsigned)(below(p, 8) & below(p, 8))};
        if (makes) {
            e->makes = made++;
            e->key = below(p, 3) - 1;
        } else {
            e->o = operation_random(&p->random, RANKS, 2000);
            e->canceller = cancels && below(p, 3) == 0 ? below(p, RANKS) : -1;
        }
    }
}

static void see_end(player *me, const event *e, int i)
{
    nbcoll_status s = me->request[i].at ? nbcoll_test(&me->request[i]) : NBCOLL_PENDING;

    if (s == NBCOLL_PENDING)
        return;
    if (e->canceller < 0 || s != NBCOLL_ERR_CANCELLED)
        assert_int_equal(s, NBCOLL_OK);
    me->status[i] = s;
    if (e->makes)
        return;
    if (s == NBCOLL_OK)
        operation_check(&e->o, &me->share[i], me->rank[i], RANKS);
    share_free(&me->share[i]);
}

/* Has all ended that the rank has started, or all of it on one communicator? -1: on any. */
static int is_idle(const play *p, const player *me, int on)
{
    for (int i = 0; i < me->at; i++)
        if (me->status[i] == NBCOLL_PENDING && (on < 0 || p->event[i].on == on))
            return 0;
    return 1;
}

static void start_next(play *p, int rank)
{
    player *me = &p->player[rank];
    const event *e = &p->event[me->at];
    nbcoll_comm *on = me->at < EVENTS ? me->comm[e->on] : NULL;
    int i = me->at;

    if (!on || (e->waits >> rank & 1 && !is_idle(p, me, -1)))
        return;
    me->at++;
    me->rank[i] = nbcoll_comm_rank(on);
    if (e->makes && e->key)
        EXPECT(OK, nbcoll_comm_isplit(on, 5, e->key * me->rank[i], &me->comm[e->makes], &me->request[i]));
    else if (e->makes)
        EXPECT(OK, nbcoll_comm_idup(on, &me->comm[e->makes], &me->request[i]));
    else {
        me->share[i] = share_make(&e->o, me->rank[i], RANKS);
        EXPECT(OK, operation_start(&e->o, &me->share[i], on, &me->request[i]));
    }
    if (e->canceller == rank)
        EXPECT(OK, nbcoll_cancel(me->request[i]));
}

/* It has no use for the communicator any more, but perhaps operations that have not ended. */
static void free_one(play *p, player *me, int k)
{
    if (!me->comm[k] || me->is_freed[k])
        return;
    for (int i = me->at; i < EVENTS; i++)
        if (p->event[i].on == k)
            return;
    size_t active = nbcoll_comm_active(me->comm[k]);
    nbcoll_status s = nbcoll_comm_free(me->comm[k]);
    assert_int_equal(s, active ? NBCOLL_ERR_BUSY : NBCOLL_OK);
    me->is_freed[k] = s == NBCOLL_OK;
}

static int is_over(const play *p, const player *me)
{
    for (int k = 0; k < COMMS; k++)
        if (me->comm[k] && !me->is_freed[k])
            return 0;
    return me->at == EVENTS && is_idle(p, me, -1);
}

static void act(play *p, int rank)
{
    player *me = &p->player[rank];

    switch (below(p, 4)) {
    case 0: start_next(p, rank); break;
    case 1:
        for (int i = 0, from = below(p, EVENTS); i < EVENTS; i++)
            if (me->status[(from + i) % EVENTS] == NBCOLL_PENDING)
                see_end(me, &p->event[(from + i) % EVENTS], (from + i) % EVENTS);
        break;
    case 2: free_one(p, me, below(p, COMMS)); break;
    default: nbcoll_progress(p->w.context[rank]);
    }
}

static void run(int variant, uint64_t seed, int cancels)
{
    static play p;
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    int over = 0;

    memset(&p, 0, sizeof p);
    p.random = seed;
    write_program(&p, cancels);
    world_open(&p.w, RANKS, &loopback, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        p.player[r].comm[0] = p.w.comm[r];
        for (int i = 0; i < EVENTS; i++)
            p.player[r].status[i] = NBCOLL_PENDING;
    }
    for (int turns = 0; over < RANKS; turns++) {
        if (turns == 1000000)
            print_message("variant %d, seed %llu\n", variant, (unsigned long long)seed);
        world_watchdog(&p.w, turns < 1000000);
        act(&p, below(&p, RANKS));
        over = 0;
        for (int r = 0; r < RANKS; r++)
            over += is_over(&p, &p.player[r]);
    }
    world_close(&p.w);
}

static void run_seeds(int cancels)
{
    const char *text = getenv("NBCOLL_TEST_SEED");

    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        if (text && *text)
            run(variant, strtoull(text, NULL, 10), cancels);
        else
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                run(variant, seed, cancels);
}

static void communicators_are_freed_in_any_order_while_others_work(void **state)
{
    (void)state;
    run_seeds(0);
}

static void communicators_are_freed_after_operations_that_were_cancelled(void **state)
{
    (void)state;
    run_seeds(1);
}

/* Rank 0 cancels, frees, and makes the next communicator, in which rank 1 joins only when its own operation has ended;
 * and that needs an answer of rank 0, which no longer has the communicator. */
static void who_makes_the_next_communicator_still_answers_for_the_freed_one(void **state)
{
    enum { BYTES = 20000 };
    static char data[2][BYTES];

    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 5);
        nbcoll_comm_config whole = NBCOLL_COMM_DEFAULTS; /* in one message, which is announced */
        nbcoll_comm *dup[2], *next[2];
        nbcoll_request q[2], making[2];
        nbcoll_status s;
        world w;
        whole.large = SIZE_MAX - 1;
        world_open(&w, 2, &loopback, NULL, &whole);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
        world_finish(&w, 2, q);
        EXPECT(OK, nbcoll_ibcast(data[0], BYTES, NBCOLL_BYTE, 1, dup[0], &q[0]));
        EXPECT(OK, nbcoll_cancel(q[0]));
        EXPECT(ERR_CANCELLED, nbcoll_wait(&q[0], NBCOLL_FOREVER));
        EXPECT(OK, nbcoll_comm_free(dup[0]));
        EXPECT(OK, nbcoll_comm_idup(w.comm[0], &next[0], &making[0]));
        EXPECT(OK, nbcoll_ibcast(data[1], BYTES, NBCOLL_BYTE, 1, dup[1], &q[1]));
        world_settle(&w, 1, &q[1], &s);
        assert_int_equal(s, NBCOLL_ERR_CANCELLED);
        EXPECT(OK, nbcoll_comm_free(dup[1]));
        EXPECT(OK, nbcoll_comm_idup(w.comm[1], &next[1], &making[1]));
        world_finish(&w, 2, making);
        world_close(&w);
    }
}

/* Rank 1 sends what rank 0 never receives, since that has freed the communicator, and makes the next one: what stands
 * ready asks nobody, but once it is cancelled it waits for an answer. */
static void what_stood_ready_is_answered_by_who_has_freed_the_communicator(void **state)
{
    enum { BYTES = 20000 };
    static char data[BYTES];
    const nbcoll_builder_config config = {.size = sizeof config, .rank = 1, .ranks = 2};

    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 5);
        nbcoll_comm_config whole = NBCOLL_COMM_DEFAULTS; /* in one message, which is announced */
        nbcoll_comm *dup[2], *next[2];
        nbcoll_request q[2], making[2];
        nbcoll_schedule *sends;
        nbcoll_builder *b;
        nbcoll_status s;
        world w;
        whole.large = SIZE_MAX - 1;
        world_open(&w, 2, &loopback, NULL, &whole);
        EXPECT(OK, nbcoll_builder_open(&config, &b));
        nbcoll_set_preposted(b);
        nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BYTES);
        EXPECT(OK, nbcoll_builder_finish(b, &sends));
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
        world_finish(&w, 2, q);
        EXPECT(OK, nbcoll_comm_free(dup[0]));
        EXPECT(OK, nbcoll_comm_idup(w.comm[0], &next[0], &making[0]));
        EXPECT(OK, nbcoll_schedule_start(sends, data, NULL, dup[1], &q[1]));
        for (int i = 0; i < 20; i++)
            world_step(&w);
        EXPECT(OK, nbcoll_cancel(q[1]));
        world_settle(&w, 1, &q[1], &s);
        EXPECT(ERR_CANCELLED, s);
        EXPECT(OK, nbcoll_schedule_free(sends));
        EXPECT(OK, nbcoll_comm_free(dup[1]));
        EXPECT(OK, nbcoll_comm_idup(w.comm[1], &next[1], &making[1]));
        world_finish(&w, 2, making);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communicators_are_freed_in_any_order_while_others_work),
        cmocka_unit_test(communicators_are_freed_after_operations_that_were_cancelled),
        cmocka_unit_test(who_makes_the_next_communicator_still_answers_for_the_freed_one),
        cmocka_unit_test(what_stood_ready_is_answered_by_who_has_freed_the_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
