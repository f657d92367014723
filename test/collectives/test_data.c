/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective moves and combines the right values: in its three forms, by stepped ranks and by threads, for 1 to 9
 * ranks and 16, any root, counts around every limit, all types and ops, in place or not, over comfortable and
 * uncomfortable loopbacks. Results are compared with plain serial C. Normally a seeded sample of this grid is run;
 * NBCOLL_FULL=1 runs it all, DATA_SEED another sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alone.h"
#include "layout.h"
#include "operation.h"
#include "world.h"

/* The limits are low, so that small counts cross them: `eager` at 32 elements of 8 bytes, `large` at 256. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};
static const size_t counts[] = {0, 1, 7, 32, 33, 255, 1031};
static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
enum { COUNTS = sizeof counts / sizeof *counts, SIZES = sizeof sizes / sizeof *sizes };

typedef enum form { STARTED, PERSISTENT, BLOCKING, FORMS } form;

static const uint64_t deadline = 60000000000u;

/* ---- one operation --------------------------------------------------------------------------------------------- */

static void run_stepped(world *w, const operation *o, form f)
{
    share s[WORLD_MOST];
    nbcoll_request request[WORLD_MOST], active[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        s[r] = share_make(o, r, w->ranks);
        if (f == STARTED) {
            EXPECT(OK, operation_start(o, &s[r], w->comm[r], &request[r]));
        } else {
            EXPECT(OK, operation_init(o, &s[r], w->comm[r], &request[r]));
            EXPECT(OK, nbcoll_start(&request[r]));
        }
        active[r] = request[r];
        if (world_random(&w->random) % 2) /* what the first ones send comes too early for the last ones */
            world_step(w);
    }
    world_finish(w, (size_t)w->ranks, active);
    for (int r = 0; r < w->ranks; r++) {
        operation_check(o, &s[r], r, w->ranks);
        share_free(&s[r]);
        if (f == PERSISTENT)
            EXPECT(OK, nbcoll_request_free(&request[r]));
    }
}

typedef struct threaded {
    operation o;
    form form;
} threaded;

static void run_rank(world *w, int rank, void *user)
{
    const threaded *t = user;
    share s = share_make(&t->o, rank, w->ranks);
    nbcoll_request request;

    if (t->form == BLOCKING) {
        EXPECT(OK, operation_call(&t->o, &s, w->comm[rank], deadline));
    } else if (t->form == STARTED) {
        EXPECT(OK, operation_start(&t->o, &s, w->comm[rank], &request));
        EXPECT(OK, nbcoll_wait(&request, deadline));
    } else {
        EXPECT(OK, operation_init(&t->o, &s, w->comm[rank], &request));
        EXPECT(OK, nbcoll_start(&request));
        EXPECT(OK, nbcoll_wait(&request, deadline));
        EXPECT(OK, nbcoll_request_free(&request));
    }
    operation_check(&t->o, &s, rank, w->ranks);
    share_free(&s);
}

static void run(world *w, const operation *o, form f, int threads)
{
    threaded t = {*o, f};
    if (threads || f == BLOCKING) /* a blocking call needs others that run at the same time */
        world_threads(w, run_rank, &t);
    else if (!IS_FOR_THREADS)
        run_stepped(w, o, f);
}

/* ---- the grid -------------------------------------------------------------------------------------------------- */

/* All operations of a world: every root, count and place; the reductions by turns, so that each meets every other
 * dimension sooner or later. */
static size_t run_all_in(world *w, form f, int threads)
{
    size_t turn = 0;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (int root = 0; root < (has_root((nbcoll_operation)what) ? w->ranks : 1); root++)
            for (int count = 0; count < COUNTS; count++)
                for (int place = 0; place < 2; place++) {
                    operation o = {.what = (nbcoll_operation)what, .root = root, .count = counts[count],
                                   .how = operation_reduction(turn % operation_reductions()), .in_place = place,
                                   .seed = turn};
                    turn++;
                    run(w, &o, f, threads);
                }
    return turn;
}

static size_t run_all(void)
{
    size_t cases = 0;
    for (int size = 0; size < SIZES; size++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++)
            for (int f = 0; f < FORMS; f++)
                for (int threads = f == BLOCKING; threads < 2; threads++) {
                    nbcoll_loopback_config loopback = world_variant(variant, cases);
                    world w;
                    world_open(&w, sizes[size], &loopback, &contexts, &limits);
                    cases += run_all_in(&w, (form)f, threads);
                    world_close(&w);
                }
    return cases;
}

/* Some operations of some worlds. */
static size_t run_sample(uint64_t seed, int worlds)
{
    size_t cases = 0;
    for (int i = 0; i < worlds; i++) {
        nbcoll_loopback_config loopback = world_variant(i % WORLD_VARIANTS, world_random(&seed));
        world w;
        world_open(&w, sizes[world_random(&seed) % SIZES], &loopback, &contexts, &limits);
        w.random = world_random(&seed);
        for (int k = 0; k < 30; k++, cases++) {
            operation o = operation_random(&seed, w.ranks, 0);
            o.count = counts[world_random(&seed) % COUNTS];
            run(&w, &o, (form)(world_random(&seed) % FORMS), world_random(&seed) % 4 == 0);
        }
        world_close(&w);
    }
    return cases;
}

static void every_collective_has_the_values_of_serial_c(void **state)
{
    const char *full = getenv("NBCOLL_FULL"), *chosen = getenv("DATA_SEED");
    uint64_t seed = chosen ? strtoull(chosen, NULL, 10) : 20240521;

    (void)state;
    if (full && *full == '1') {
        printf("%zu operations\n", run_all());
    } else {
        printf("seed %llu\n", (unsigned long long)seed);
        printf("%zu operations\n", run_sample(seed, 84));
    }
}

/* The sample may leave out a reduction; this leaves out none. */
static void every_reduction_of_every_type_is_right(void **state)
{
    world w;
    (void)state;
    world_open(&w, 3, NULL, &contexts, &limits);
    for (size_t i = 0; i < operation_reductions(); i++)
        for (int what = NBCOLL_OPERATION_REDUCE; what <= NBCOLL_OPERATION_ALLREDUCE; what++)
            for (int count = 0; count < COUNTS; count++) {
                operation o = {.what = (nbcoll_operation)what, .count = counts[count], .how = operation_reduction(i),
                               .seed = i};
                run(&w, &o, STARTED, 0);
            }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_the_values_of_serial_c),
        unit_test_alone(every_reduction_of_every_type_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
