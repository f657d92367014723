/* SPDX-License-Identifier: BSD-3-Clause
 * Once a native schedule has been run, starting it again allocates nothing: not in the context, and not in the
 * transport. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "play.h"
#include "world.h"

/* Warm is what has met its greatest number of messages before their receives: a link stores them in a pool, which grows
 * to that, and which credits bound. The order of the ranks is random: the two announcements that a hierarchical
 * broadcast of 5000 elements has there at once come together only after some starts, and of the 20 pieces of a scan by
 * nodes ever more, the more seldom. */
enum { RANKS = 4, WARM = 160, STARTS = 160 };

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    ++*(size_t *)user;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

/* Starts them all, in any order, with looks in between. */
static void run(world *w, nbcoll_schedule *schedule[], const share s[])
{
    nbcoll_request q[RANKS];
    int first = (int)(world_random(&w->random) % RANKS);

    for (int i = 0; i < RANKS; i++) {
        int r = (first + i) % RANKS;
        EXPECT(OK, play_start(schedule[r], &s[r], w->comm[r], &q[r]));
        world_step(w);
    }
    for (int r = 0; r < RANKS; r++)
        while (nbcoll_test(&q[r]) == NBCOLL_PENDING)
            world_step(w);
}

static size_t allocations_of(world *w, size_t *allocations, const nbcoll_algorithm *a, size_t n)
{
    operation o = {.what = a->operation, .count = a->operation == NBCOLL_OPERATION_BARRIER ? 0 : n,
                   .how = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_schedule *schedule[RANKS];
    share s[RANKS];
    size_t before = 0;

    for (int r = 0; r < RANKS; r++) {
        s[r] = share_make(&o, r, RANKS);
        schedule[r] = play_schedule(a, &o, &s[r], w->comm[r], 1000);
    }
    for (int i = 0; i < WARM + STARTS; i++) {
        if (i == WARM)
            before = *allocations;
        run(w, schedule, s);
    }
    size_t made = *allocations - before;
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_schedule_free(schedule[r]));
        share_free(&s[r]);
    }
    return made;
}

static void starting_a_native_schedule_again_allocates_nothing(void **state)
{
    static const size_t counts[] = {1, 20, 5000};
    const nbcoll_algorithm *a;
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++) {
        size_t allocations = 0;
        nbcoll_context_config context = {.size = sizeof context,
                                         .host = {.user = &allocations, .alloc = counted_alloc, .free = counted_free}};
        nbcoll_host host = {.size = sizeof host, .user = &allocations, .alloc = counted_alloc, .free = counted_free};
        nbcoll_loopback_config loopback = world_variant(variant, 7);
        world w;
        loopback.host = &host;
        world_open(&w, RANKS, &loopback, &context, NULL);
        for (unsigned i = 0; (a = exposing_algorithm(i)); i++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(allocations_of(&w, &allocations, a, counts[c]), 0);
        assert_true(allocations > 0);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starting_a_native_schedule_again_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
