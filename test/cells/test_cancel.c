/* SPDX-License-Identifier: BSD-3-Clause
 * Cancelling native operations, stepped: after any number of looks, by any rank, active and queued ones. The memory of
 * an operation is overwritten the moment it has ended on its rank, and must then stay as it was left; those for which
 * it ended well have its values, and so have all operations after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "play.h"
#include "world.h"

enum { RANKS = 3, TRAP = 0x5a, LOOKS_MOST = 200 };

#define EVERY (is_full() ? 1 : RANKS * sampled(3)) /* of the moments; each rank has others */

/* One operation on all ranks, which takes its memory away where it has ended. */
typedef struct flight {
    board b; /* without an algorithm */
    const nbcoll_algorithm *algorithm;
    operation o;
    nbcoll_schedule *schedule[RANKS];
    nbcoll_request q[RANKS];
    share s[RANKS];
    size_t sent[RANKS], received[RANKS]; /* bytes of traps */
    int well, cancelled;
} flight;

static void fly(world *w, flight *f, const nbcoll_algorithm *a, size_t count, uint64_t seed)
{
    *f = (flight){.algorithm = a, .o = {.count = count, .how = {NBCOLL_INT32, NBCOLL_SUM}, .seed = seed}};
    if (a)
        f->o.what = a->operation;
    else
        f->b = board_make(seed, RANKS, 8, count);
    for (int r = 0; r < RANKS; r++) {
        f->s[r] = a ? share_make(&f->o, r, RANKS) : board_share(&f->b, r);
        f->schedule[r] = a ? play_schedule(a, &f->o, &f->s[r], w->comm[r], 100) : board_schedule(&f->b, w->comm[r]);
    }
}

static void start(world *w, flight *f, int rank)
{
    EXPECT(OK, play_start(f->schedule[rank], &f->s[rank], w->comm[rank], &f->q[rank]));
}

static void lay_trap(void *memory, size_t bytes)
{
    if (memory)
        memset(memory, TRAP, bytes);
}

/* The operation has ended on this rank. */
static void take_away(flight *f, int r, nbcoll_status status)
{
    nbcoll_schedule_info info = {.size = sizeof info};

    if (status == NBCOLL_OK && f->algorithm)
        operation_check(&f->o, &f->s[r], r, RANKS);
    else if (status == NBCOLL_OK)
        board_check(&f->b, &f->s[r], r);
    else
        EXPECT(ERR_CANCELLED, status);
    f->well += status == NBCOLL_OK;
    f->cancelled += status != NBCOLL_OK;
    EXPECT(OK, nbcoll_schedule_query(f->schedule[r], &info));
    f->sent[r] = info.extent[NBCOLL_BUFFER_SEND];
    f->received[r] = info.extent[NBCOLL_BUFFER_RECV];
    lay_trap(f->s[r].send, f->sent[r]);
    lay_trap(f->s[r].recv, f->received[r]);
}

static void spring(const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    if (at && bytes)
        assert_true(at[0] == TRAP && !memcmp(at, at + 1, bytes - 1));
}

static void land(flight *f)
{
    for (int r = 0; r < RANKS; r++) {
        spring(f->s[r].send, f->sent[r]);
        spring(f->s[r].recv, f->received[r]);
        share_free(&f->s[r]);
        EXPECT(OK, nbcoll_schedule_free(f->schedule[r]));
    }
}

/* One test of a rank's request, which progresses the rank. */
static int look(flight *f, int r)
{
    int was = f->q[r].at != NULL;
    nbcoll_status s = nbcoll_test(&f->q[r]);
    if (was && s != NBCOLL_PENDING)
        take_away(f, r, s);
    return s == NBCOLL_PENDING;
}

static void finish(world *w, int n, flight f[])
{
    for (int rounds = 0, left = 1; left; rounds++) {
        world_watchdog(w, rounds < 100000);
        for (int i = left = 0; i < n; i++)
            for (int k = 0, r = (int)(world_random(&w->random) % RANKS); k < RANKS; k++, r = (r + 1) % RANKS)
                left += look(&f[i], r);
        world_step(w);
    }
}

static void open_world(world *w, int variant, uint32_t slots, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = slots;
    world_open(w, RANKS, &loopback, NULL, &config);
    w->random = seed;
}

/* ---- every moment ------------------------------------------------------------------------------------------------ */

/* Looks at one rank after the other, in a seeded order, and cancels after `looks` of them. False when there was nothing
 * to cancel any more. */
static int cancel_after(world *w, flight *f, int by, int looks)
{
    for (int i = 0; i < looks; i++) {
        int r = (int)(world_random(&w->random) % RANKS);
        if (f->q[r].at)
            look(f, r);
    }
    if (!f->q[by].at)
        return 0;
    EXPECT(OK, nbcoll_cancel(f->q[by]));
    return 1;
}

/* Returns how often the cancelling came in time. */
static int cancel_at_every_moment(const nbcoll_algorithm *a, size_t count, int variant, uint32_t slots, uint64_t *seed)
{
    int cancelled = 0;
    for (int by = 0; by < RANKS; by++) {
        world w;
        open_world(&w, variant, slots, random_of(seed));
        for (int looks = by * EVERY / RANKS, goes_on = 1; goes_on && looks < LOOKS_MOST; looks += EVERY) {
            flight f[3];
            fly(&w, &f[0], a, count, random_of(seed));
            for (int i = 1; i < 3; i++) /* they come into the same cells */
                fly(&w, &f[i], NULL, 2000, random_of(seed));
            for (int r = 0; r < RANKS; r++)
                start(&w, &f[0], r);
            goes_on = cancel_after(&w, &f[0], by, looks);
            for (int i = 1; i < 3; i++)
                for (int r = 0; r < RANKS; r++)
                    start(&w, &f[i], r);
            finish(&w, 3, f);
            cancelled += goes_on;
            for (int i = 1; i < 3; i++)
                assert_int_equal(f[i].well, RANKS);
            for (int i = 0; i < 3; i++)
                land(&f[i]);
        }
        world_close(&w);
    }
    return cancelled;
}

static void algorithms_are_cancelled_at_any_moment_by_anyone(void **state)
{
    static const size_t counts[] = {1, 100, 5000};
    uint64_t seed = seed_of_test();
    const nbcoll_algorithm *a;
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (uint32_t slots = 1; slots <= 2; slots++)
            for (unsigned i = 0; (a = exposing_algorithm(i)); i++)
                for (int c = 0; c < (a->operation == NBCOLL_OPERATION_BARRIER ? 1 : 3); c++)
                    assert_true(cancel_at_every_moment(a, a->operation == NBCOLL_OPERATION_BARRIER ? 0 : counts[c],
                                                       variant, slots, &seed) > 0);
}

static void boards_are_cancelled_at_any_moment_by_anyone(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int i = 0; i < 10; i++)
            cancel_at_every_moment(NULL, 5000, variant, 1 + (uint32_t)i % 2, &seed);
}

/* ---- several in flight ------------------------------------------------------------------------------------------- */

/* Many operations, started by each rank when it likes; some are cancelled by some rank, active or queued. */
static int cancel_some_of_many(int variant, uint32_t slots, uint64_t seed)
{
    enum { MANY = 12 };
    flight *f = calloc(MANY, sizeof *f);
    int at[RANKS] = {0}, victim[MANY], cancelled = 0;
    world w;

    open_world(&w, variant, slots, seed);
    for (int i = 0; i < MANY; i++) {
        const nbcoll_algorithm *a = exposing_algorithm((unsigned)(world_random(&w.random) % 16));
        victim[i] = world_random(&w.random) % 3 ? -1 : (int)(world_random(&w.random) % RANKS);
        size_t count = a && a->operation == NBCOLL_OPERATION_BARRIER ? 0 : 1 + world_random(&w.random) % 3000;
        fly(&w, &f[i], a, count, seed + (uint64_t)i);
    }
    for (int left = RANKS * MANY; left;) {
        int r = (int)(world_random(&w.random) % RANKS), i = (int)(world_random(&w.random) % MANY);
        if (world_random(&w.random) % 2 && at[r] < MANY) {
            start(&w, &f[at[r]++], r);
            left--;
        } else if (i < at[r] && f[i].q[r].at) {
            if (victim[i] == r && world_random(&w.random) % 2)
                EXPECT(OK, nbcoll_cancel(f[i].q[r]));
            look(&f[i], r);
        }
    }
    finish(&w, MANY, f);
    for (int i = 0; i < MANY; i++) {
        assert_true(victim[i] >= 0 || f[i].well == RANKS);
        cancelled += f[i].cancelled > 0;
        land(&f[i]);
    }
    world_close(&w);
    free(f);
    return cancelled;
}

static void operations_among_cancelled_ones_have_their_values(void **state)
{
    uint64_t seed = seed_of_test();
    int cancelled = 0;
    (void)state;
    for (int i = 0; i < 600; i++)
        cancelled += cancel_some_of_many(WORLD_SHARED + i % (WORLD_VARIANTS - WORLD_SHARED), 1 + (uint32_t)i % 3,
                                         random_of(&seed));
    assert_true(cancelled > 600);
}

/* Rank 1 cancels the third while the first has the slot. That says nothing of the second, which is still to be read. */
static void a_queued_operation_that_failed_says_nothing_of_those_before_it(void **state)
{
    enum { COUNT = WORLD_STAGING }; /* more than lies in a staging buffer */
    static int32_t data[3][RANKS][COUNT];
    nbcoll_request q[3][RANKS];
    world w;
    (void)state;
    open_world(&w, WORLD_SHARED, 1, 1);
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < RANKS; r++) {
            data[i][r][COUNT - 1] = r ? -1 : i;
            EXPECT(OK, nbcoll_ibcast(data[i][r], COUNT, NBCOLL_INT32, 0, w.comm[r], &q[i][r]));
        }
    EXPECT(OK, nbcoll_cancel(q[2][1]));
    nbcoll_progress(w.context[1]); /* has the first one */
    nbcoll_progress(w.context[2]);
    nbcoll_progress(w.context[0]); /* shows the second */
    nbcoll_progress(w.context[2]); /* has that, too */
    EXPECT(PENDING, nbcoll_test(&q[1][0]));
    EXPECT(ERR_CANCELLED, nbcoll_wait(&q[2][1], 0));
    world_finish(&w, 2 * RANKS, q[0]);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(data[1][r][COUNT - 1], 1);
    nbcoll_status s[RANKS];
    world_settle(&w, RANKS, q[2], s);
    world_close(&w);
}

/* ---- who is out of step, and who is not -------------------------------------------------------------------------- */

/* Rank 2 cancels two operations. There is room for one message to a rank: rank 1 hears of the first only, while rank 0
 * hears of both, and has ended the one that came next into the same cells. Rank 1 waits for rank 0 in the second, in
 * vain, but nobody is out of step. */
static void what_is_cancelled_and_not_yet_known_is_no_mismatch(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_request q[2][RANKS], later[2][RANKS];
    nbcoll_schedule *s[RANKS];
    int32_t data[2][RANKS] = {{0}}, value[RANKS] = {77};
    world w;
    (void)state;
    loopback.depth = 1;
    config.slots = 2;
    world_open(&w, RANKS, &loopback, NULL, &config);
    for (int r = 0; r < RANKS; r++) { /* a chain, 2 to 0 to 1, that begins when rank 1 has told it to: never */
        nbcoll_builder_config c = {.size = sizeof c, .rank = r, .ranks = RANKS, .shares = nbcoll_comm_shares,
                                   .shares_user = w.comm[r]};
        nbcoll_builder *b;
        nbcoll_part to_0 = {0, 0, nbcoll_span(at, 4)}, to_1 = {1, 0, nbcoll_span(at, 4)};
        EXPECT(OK, nbcoll_builder_open(&c, &b));
        if (r == 2)
            nbcoll_after(b, nbcoll_add_expose(b, 1, &to_0), nbcoll_add_recv(b, 1, at, 0));
        if (r == 0)
            nbcoll_after(b, nbcoll_add_expose(b, 1, &to_1), nbcoll_add_fetch(b, 2, at, 4));
        if (r == 1)
            nbcoll_after(b, nbcoll_add_send(b, 2, at, 0), nbcoll_add_fetch(b, 0, at, 4));
        EXPECT(OK, nbcoll_builder_finish(b, &s[r]));
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_schedule_start(s[r], NULL, &data[i][r], w.comm[r], &q[i][r]));
    }
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_cancel(q[i][2]));
    for (int i = 0; i < 4; i++) { /* rank 2 sends on what it has kept back */
        nbcoll_progress(w.context[0]);
        nbcoll_progress(w.context[2]);
    }
    for (int i = 0; i < 2; i++)
        EXPECT(ERR_CANCELLED, nbcoll_wait(&q[i][0], 0));
    for (int i = 0; i < 2; i++) /* one of these is in the slot of the second, whichever slot that is */
        EXPECT(OK, nbcoll_ibcast(&value[0], 1, NBCOLL_INT32, 0, w.comm[0], &later[i][0]));
    EXPECT(OK, nbcoll_wait(&later[0][0], 0));
    EXPECT(OK, nbcoll_wait(&later[1][0], 0));
    for (int i = 0; i < 3; i++)
        nbcoll_progress(w.context[1]);
    nbcoll_status ended[RANKS];
    for (int i = 0; i < 2; i++)
        world_settle(&w, RANKS, q[i], ended);
    EXPECT(ERR_CANCELLED, ended[1]);
    for (int r = 1; r < RANKS; r++)
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, 0, w.comm[r], &later[i][r]));
    for (int i = 0; i < 2; i++)
        world_finish(&w, RANKS, later[i]);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(value[r], 77);
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    }
    world_close(&w);
}

/* Rank 1 has made the first communicator, shows memory, and cancels. Rank 0 hears of that with what makes it there. */
static void who_cancels_hears_of_one_that_still_makes_the_communicator(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    static unsigned char data[1000];
    nbcoll_part to_0 = {0, 0, nbcoll_span(at, sizeof data)};
    nbcoll_request made[2], q;
    nbcoll_schedule *s;
    nbcoll_builder *b;
    world w;
    (void)state;
    world_open_contexts(&w, 2, &loopback, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &made[r]));
    EXPECT(OK, nbcoll_wait(&made[1], 0)); /* a few looks */
    nbcoll_builder_config c = {.size = sizeof c, .rank = 1, .ranks = 2, .shares = nbcoll_comm_shares,
                               .shares_user = w.comm[1]};
    EXPECT(OK, nbcoll_builder_open(&c, &b));
    nbcoll_add_expose(b, 1, &to_0);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    EXPECT(OK, nbcoll_schedule_start(s, NULL, data, w.comm[1], &q));
    EXPECT(OK, nbcoll_cancel(q));
    for (int i = 0; i < 20; i++)
        nbcoll_progress(w.context[i % 2]);
    EXPECT(ERR_CANCELLED, nbcoll_wait(&q, 0));
    EXPECT(OK, nbcoll_wait(&made[0], 0));
    EXPECT(OK, nbcoll_schedule_free(s));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_are_cancelled_at_any_moment_by_anyone),
        cmocka_unit_test(boards_are_cancelled_at_any_moment_by_anyone),
        cmocka_unit_test(operations_among_cancelled_ones_have_their_values),
        cmocka_unit_test(a_queued_operation_that_failed_says_nothing_of_those_before_it),
        cmocka_unit_test(what_is_cancelled_and_not_yet_known_is_no_mismatch),
        cmocka_unit_test(who_cancels_hears_of_one_that_still_makes_the_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
