/* SPDX-License-Identifier: BSD-3-Clause
 * Native schedules give the values of serial C: every algorithm with exposures, and random boards, of ranks in one
 * process, stepped and as threads; with few slots and cells, payloads inline and by reference, gets that take their
 * time. What needs more cells than there are is refused at the start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "alone.h"
#include "crew.h"
#include "play.h"
#include "world.h"

static const struct limits {
    uint32_t slots, cells;
} limits[] = {{1, 1}, {1, 8}, {2, 3}, {32, 8}};
static const size_t counts[] = {0, 1, 4, 20, 21, 700, 20000};
enum { LIMITS = 4, COUNTS = 7 };

static nbcoll_comm_config config_of(const struct limits *l)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = l->slots;
    config.cells = l->cells;
    return config;
}

static operation operation_of(const nbcoll_algorithm *a, size_t count, int ranks, uint64_t *random)
{
    operation o = operation_random(random, ranks, 1);
    o.what = a->operation;
    o.root = play_has_root(a->operation) ? (int)(world_random(random) % (uint64_t)ranks) : 0;
    o.count = a->operation == NBCOLL_OPERATION_BARRIER ? 0 : count;
    return o;
}

/* ---- stepped --------------------------------------------------------------------------------------------------- */

/* Starts what fits on all ranks; else each rank that it does not fit refuses it. Returns whether it was started. */
static int start_all(world *w, const nbcoll_comm_config *config, nbcoll_schedule *schedule[], const share s[],
                     nbcoll_request q[])
{
    int fits = 1;
    for (int r = 0; r < w->ranks; r++) {
        demand d = demand_of(schedule[r]);
        if (d.cells <= config->cells && d.parts <= 2 * (uint32_t)w->ranks)
            continue;
        fits = 0;
        EXPECT(ERR_LIMIT, play_start(schedule[r], &s[r], w->comm[r], &q[r]));
    }
    for (int r = 0; fits && r < w->ranks; r++)
        EXPECT(OK, play_start(schedule[r], &s[r], w->comm[r], &q[r]));
    return fits;
}

static void step_algorithm(world *w, const nbcoll_comm_config *config, const nbcoll_algorithm *a, size_t count)
{
    operation o = operation_of(a, count, w->ranks, &w->random);
    size_t segment = world_random(&w->random) % 2 ? 1 + world_random(&w->random) % 5000 : 0;
    nbcoll_schedule *schedule[WORLD_MOST];
    nbcoll_request q[WORLD_MOST];
    share s[WORLD_MOST];
    int is_native = 0;

    for (int r = 0; r < w->ranks; r++) {
        s[r] = share_make(&o, r, w->ranks);
        schedule[r] = play_schedule(a, &o, &s[r], w->comm[r], segment);
        is_native |= demand_of(schedule[r]).is_native;
    }
    assert_int_equal(is_native, w->ranks > 1);
    int started = start_all(w, config, schedule, s, q);
    if (started)
        world_finish(w, (size_t)w->ranks, q);
    for (int r = 0; r < w->ranks; r++) {
        if (started)
            operation_check(&o, &s[r], r, w->ranks);
        share_free(&s[r]);
        EXPECT(OK, nbcoll_schedule_free(schedule[r]));
    }
}

static void algorithms_in_one_thread(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 8};
    uint64_t seed = seed_of_test();
    const nbcoll_algorithm *a;
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int size = 0; size < 5; size++)
            for (int l = 0; l < LIMITS; l++) {
                nbcoll_loopback_config loopback = world_variant(variant, seed);
                nbcoll_comm_config config = config_of(&limits[l]);
                world w;
                world_open(&w, sizes[size], &loopback, NULL, &config);
                w.random = random_of(&seed);
                for (unsigned i = 0; (a = exposing_algorithm(i)); i++)
                    for (int c = (int)i % sampled(3); c < COUNTS; c += sampled(3))
                        step_algorithm(&w, &config, a, counts[c]);
                world_close(&w);
            }
}

static void step_board(world *w, uint64_t seed, uint32_t cells)
{
    board b = board_make(seed, w->ranks, (int)cells, 70000);
    nbcoll_schedule *schedule[WORLD_MOST];
    nbcoll_request q[WORLD_MOST];
    share s[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        s[r] = board_share(&b, r);
        schedule[r] = board_schedule(&b, w->comm[r]);
        EXPECT(OK, play_start(schedule[r], &s[r], w->comm[r], &q[r]));
        for (int i = (int)(world_random(&w->random) % 3); i > 0; i--)
            world_step(w);
    }
    world_finish(w, (size_t)w->ranks, q);
    for (int r = 0; r < w->ranks; r++) {
        board_check(&b, &s[r], r);
        share_free(&s[r]);
        EXPECT(OK, nbcoll_schedule_free(schedule[r]));
    }
}

static void boards_in_one_thread(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int l = 0; l < LIMITS; l++) {
            nbcoll_loopback_config loopback = world_variant(variant, seed);
            nbcoll_comm_config config = config_of(&limits[l]);
            world w;
            world_open(&w, 2 + (int)(random_of(&seed) % 5), &loopback, NULL, &config);
            for (int i = 0; i < 40; i++)
                step_board(&w, random_of(&seed), config.cells);
            world_close(&w);
        }
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

typedef struct run {
    uint64_t seed;
    uint32_t cells;
} run;

static void play_rank(world *w, int rank, void *user)
{
    const run *given = user;
    uint64_t random = given->seed;
    nbcoll_comm *comm = w->comm[rank];
    const nbcoll_algorithm *a;
    nbcoll_request q;

    for (unsigned i = 0; (a = exposing_algorithm(i)); i++)
        for (int c = (int)i % sampled(3); c < COUNTS; c += sampled(3)) {
            operation o = operation_of(a, counts[c], w->ranks, &random);
            share s = share_make(&o, rank, w->ranks);
            nbcoll_schedule *schedule = play_schedule(a, &o, &s, comm, 3000);
            assert_true(demand_of(schedule).cells <= given->cells);
            EXPECT(OK, play_start(schedule, &s, comm, &q));
            EXPECT(OK, nbcoll_wait(&q, 60 * SECOND));
            operation_check(&o, &s, rank, w->ranks);
            share_free(&s);
            EXPECT(OK, nbcoll_schedule_free(schedule));
        }
    for (int i = 0; i < 50; i++) {
        board b = board_make(random_of(&random), w->ranks, (int)given->cells, 5000);
        share s = board_share(&b, rank);
        nbcoll_schedule *schedule = board_schedule(&b, comm);
        EXPECT(OK, play_start(schedule, &s, comm, &q));
        EXPECT(OK, nbcoll_wait(&q, 60 * SECOND));
        board_check(&b, &s, rank);
        share_free(&s);
        EXPECT(OK, nbcoll_schedule_free(schedule));
    }
}

static void algorithms_and_boards_of_threads(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int ranks = 2; ranks <= (is_full() ? 4 : 3); ranks++) {
            nbcoll_loopback_config loopback = world_variant(variant, seed);
            struct limits l = {(uint32_t)ranks - 1, 3}; /* the most that the allgather of one exposure each needs */
            nbcoll_comm_config config = config_of(&l);
            run r = {random_of(&seed), config.cells};
            world w;
            world_open(&w, ranks, &loopback, NULL, &config);
            world_threads(&w, play_rank, &r);
            world_close(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(algorithms_in_one_thread),
        unit_test_alone(boards_in_one_thread),
        cmocka_unit_test(algorithms_and_boards_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
