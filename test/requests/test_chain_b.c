/* SPDX-License-Identifier: BSD-3-Clause
 * Progress is the context's: a chain B over ranks 0-1-2, started before and waited for after another communicator's
 * barrier A, in every order, finishes. Rank 1 must pass B's data on while it waits for A, and the other way round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alone.h"
#include "world.h"

enum { RANKS = 3, ORDERS = 6, PIECES = 4, BYTES = 3000 };

/* What a rank does, in order: each starts an operation (s) or waits for it (w). */
static const char *const orders[ORDERS][4] = {
    {"sA", "sB", "wA", "wB"}, {"sA", "sB", "wB", "wA"}, {"sB", "sA", "wA", "wB"},
    {"sB", "sA", "wB", "wA"}, {"sA", "wA", "sB", "wB"}, {"sB", "wB", "sA", "wA"},
};

/* Would this end if A and B each ended only once all ranks have started them? Others are the program's own deadlock. */
static int is_possible(const int order[RANKS])
{
    int at[RANKS] = {0}, started[2] = {0}, moved = 1;
    while (moved) {
        moved = 0;
        for (int r = 0; r < RANKS; r++) {
            const char *next = at[r] < 4 ? orders[order[r]][at[r]] : NULL;
            if (!next || (next[0] == 'w' && started[next[1] - 'A'] < RANKS))
                continue;
            started[next[1] - 'A'] += next[0] == 's';
            at[r]++;
            moved = 1;
        }
    }
    return at[0] + at[1] + at[2] == 4 * RANKS;
}

/* ---- the two operations ---------------------------------------------------------------------------------------- */

typedef struct pair {
    world w;
    nbcoll_comm *second[RANKS]; /* B's */
    nbcoll_schedule *chain[RANKS];
    size_t bytes;
    int order[RANKS];
} pair;

static nbcoll_schedule *chain(int rank, size_t bytes)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    nbcoll_addr data = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_schedule *s = NULL;
    nbcoll_builder *b = NULL;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (size_t i = 0; i < PIECES; i++) {
        nbcoll_step piece = NBCOLL_START;
        if (rank > 0)
            piece = nbcoll_add_recv(b, rank - 1, nbcoll_at(data, i * bytes), bytes);
        if (rank + 1 < RANKS)
            nbcoll_after(b, nbcoll_add_send(b, rank + 1, nbcoll_at(data, i * bytes), bytes), piece);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void open_pair(pair *p, int variant, size_t bytes)
{
    nbcoll_loopback_config loopback = world_variant(variant, 31);
    nbcoll_request q[RANKS];

    world_open(&p->w, RANKS, &loopback, NULL, NULL);
    p->bytes = bytes;
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_comm_idup(p->w.comm[r], &p->second[r], &q[r]));
        p->chain[r] = chain(r, bytes);
    }
    world_finish(&p->w, RANKS, q);
}

static void close_pair(pair *p)
{
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_schedule_free(p->chain[r]));
    world_close(&p->w);
}

/* One rank in the middle of its order. */
typedef struct actor {
    int at;
    nbcoll_request q[2];
    unsigned char data[PIECES * BYTES];
} actor;

static void prepare(actor *a, int rank)
{
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < sizeof a->data; i++)
        a->data[i] = rank ? 0 : (unsigned char)(i % 251);
}

static void start(pair *p, actor *a, int rank, int which)
{
    if (which == 0)
        EXPECT(OK, nbcoll_ibarrier(p->w.comm[rank], &a->q[0]));
    else
        EXPECT(OK, nbcoll_schedule_start(p->chain[rank], NULL, a->data, p->second[rank], &a->q[1]));
}

static void check(const pair *p, const actor *a)
{
    for (size_t i = 0; i < PIECES * p->bytes; i++)
        assert_int_equal(a->data[i], i % 251);
}

/* ---- stepped --------------------------------------------------------------------------------------------------- */

static void run_stepped(pair *p)
{
    static actor actors[RANKS];
    int left = RANKS;

    for (int r = 0; r < RANKS; r++)
        prepare(&actors[r], r);
    for (int looks = 0; left; looks++) {
        int r = (int)(world_random(&p->w.random) % RANKS);
        actor *a = &actors[r];
        world_watchdog(&p->w, looks < 1000000);
        if (a->at == 4) {
            nbcoll_progress(p->w.context[r]); /* it goes on with other things */
            continue;
        }
        const char *next = orders[p->order[r]][a->at];
        if (next[0] == 's') {
            start(p, a, r, next[1] - 'A');
        } else {
            nbcoll_status s = nbcoll_test(&a->q[next[1] - 'A']);
            if (s == NBCOLL_PENDING)
                continue;
            EXPECT(OK, s);
        }
        left -= ++a->at == 4;
    }
    for (int r = 0; r < RANKS; r++)
        check(p, &actors[r]);
}

static void chain_b_started_before_and_waited_for_after_a_barrier_in_every_order_finishes(void **state)
{
    static const size_t bytes[] = {1, BYTES}; /* with its header; by bulk, or in several messages */
    static pair p;
    int possible = 0;
    (void)state;
    printf("seed 31\n");
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int size = 0; size < 2; size++) {
            open_pair(&p, variant, bytes[size]);
            for (int n = 0; n < ORDERS * ORDERS * ORDERS; n++) {
                p.order[0] = n % ORDERS;
                p.order[1] = n / ORDERS % ORDERS;
                p.order[2] = n / ORDERS / ORDERS;
                for (int again = 0; again < 3 && is_possible(p.order); again++, possible++)
                    run_stepped(&p);
            }
            close_pair(&p);
        }
    assert_true(possible >= 64 * 3 * WORLD_VARIANTS * 2); /* at least those that start both before they wait */
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static void act(world *w, int rank, void *user)
{
    static actor actors[RANKS];
    pair *p = user;
    actor *a = &actors[rank];
    (void)w;
    prepare(a, rank);
    for (; a->at < 4; a->at++) {
        const char *next = orders[p->order[rank]][a->at];
        if (next[0] == 's')
            start(p, a, rank, next[1] - 'A');
        else
            EXPECT(OK, nbcoll_wait(&a->q[next[1] - 'A'], 60000000000u));
    }
    check(p, a);
    EXPECT(OK, nbcoll_barrier(p->w.comm[rank], 60000000000u)); /* a rank that ended may have answers to give */
}

static void as_threads_it_finishes_too(void **state)
{
    static pair p;
    (void)state;
    open_pair(&p, 0, BYTES);
    for (int n = 0; n < ORDERS * ORDERS * ORDERS; n++) {
        p.order[0] = n % ORDERS;
        p.order[1] = n / ORDERS % ORDERS;
        p.order[2] = n / ORDERS / ORDERS;
        if (is_possible(p.order))
            world_threads(&p.w, act, &p);
    }
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(chain_b_started_before_and_waited_for_after_a_barrier_in_every_order_finishes),
        cmocka_unit_test(as_threads_it_finishes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
