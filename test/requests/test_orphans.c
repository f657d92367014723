/* SPDX-License-Identifier: BSD-3-Clause
 * While a rank makes a communicator it keeps what is said of communicators that it does not have: one of those may be
 * the one. How much that is does not grow with what others cancel. Here it is a duplicate that rank 0 has freed, and
 * rank 1 has not joined in the making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tally.h"
#include "works.h"
#include "world.h"

enum { RANKS = 2, CREDITS = 4 };

typedef struct scene {
    world w;
    tally memory;                    /* of all ranks together */
    nbcoll_comm *twin, *made[RANKS]; /* rank 1's; what is being made */
    nbcoll_request q[RANKS];
} scene;

/* A clock that stands still: nobody asks whether rank 0 has freed the duplicate. */
static uint64_t still(void *user)
{
    (void)user;
    return 1;
}

static void scene_open(scene *s)
{
    nbcoll_context_config config = {.size = sizeof config, .credits = CREDITS, .host = tally_host(&s->memory)};
    nbcoll_comm *twin[RANKS];

    s->memory = (tally){0};
    config.host.now = still;
    world_open(&s->w, RANKS, NULL, &config, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(s->w.comm[r], &twin[r], &s->q[r]));
    world_finish(&s->w, RANKS, s->q);
    EXPECT(OK, nbcoll_comm_free(twin[0]));
    s->twin = twin[1];
    EXPECT(OK, nbcoll_comm_idup(s->w.comm[0], &s->made[0], &s->q[0]));
}

/* Rank 1 cancels so many operations, and rank 0 hears of each. */
static void cancel_many(scene *s, int n)
{
    for (int i = 0; i < n; i++) {
        nbcoll_request q;
        EXPECT(OK, nbcoll_ibarrier(s->twin, &q));
        EXPECT(OK, nbcoll_cancel(q));
        do
            world_step(&s->w);
        while (nbcoll_test(&q) == NBCOLL_PENDING);
    }
}

static void what_is_cancelled_in_a_row_is_kept_as_one(void **state)
{
    scene s;
    (void)state;
    scene_open(&s);
    cancel_many(&s, 100);
    size_t before = s.memory.used;
    cancel_many(&s, 5000);
    assert_true(s.memory.used <= before);
    EXPECT(OK, nbcoll_comm_idup(s.w.comm[1], &s.made[1], &s.q[1]));
    world_finish(&s.w, RANKS, s.q);
    works(&s.w);
    world_close(&s.w);
    assert_int_equal(s.memory.used, 0);
}

static void of_too_much_nothing_is_made(void **state)
{
    enum { MANY = 1100 };
    static nbcoll_request q[2 * MANY];
    nbcoll_status status[2 * MANY];
    scene s;
    (void)state;
    scene_open(&s);
    for (int i = 0; i < 2 * MANY; i++) { /* every second one: no two are in a row */
        EXPECT(OK, nbcoll_ibarrier(s.twin, &q[i]));
        if (i % 2)
            EXPECT(OK, nbcoll_cancel(q[i]));
        world_step(&s.w);
    }
    EXPECT(OK, nbcoll_comm_idup(s.w.comm[1], &s.made[1], &s.q[1]));
    world_settle(&s.w, RANKS, s.q, status);
    EXPECT(ERR_LIMIT, status[0]);
    if (status[1] == NBCOLL_OK) { /* rank 1 had ended its own: it has one that not all have */
        for (int i = 0; i < 5; i++)
            world_step(&s.w);
        EXPECT(ERR_CANCELLED, nbcoll_ibarrier(s.made[1], &s.q[1]));
        EXPECT(OK, nbcoll_comm_free(s.made[1]));
    } else
        EXPECT(ERR_LIMIT, status[1]);
    for (int i = 0; i < 2 * MANY; i += 2)
        EXPECT(OK, nbcoll_cancel(q[i]));
    world_settle(&s.w, 2 * MANY, q, status);
    EXPECT(OK, nbcoll_comm_free(s.twin));
    works(&s.w);
    world_close(&s.w);
    assert_int_equal(s.memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_cancelled_in_a_row_is_kept_as_one),
        cmocka_unit_test(of_too_much_nothing_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
