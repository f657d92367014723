/* SPDX-License-Identifier: BSD-3-Clause
 * What the simulator tells while it plays fits together, and what happens at the same time is told in the order of
 * ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

#define RANKS 24

typedef struct told {
    int started, ended;
    uint64_t messages, cpu, last[RANKS];
    nbcoll_sim_rank rank[RANKS];
} told;

static void hear(void *user, const nbcoll_sim_event *e)
{
    told *t = user;
    assert_true(e->begin <= e->end);
    switch (e->what) {
    case NBCOLL_SIM_STARTED:
        assert_int_equal(e->rank, t->started);
        assert_int_equal(e->begin, 5);
        t->started++;
        break;
    case NBCOLL_SIM_STEP: /* one after the other */
        assert_true(e->begin >= t->last[e->rank]);
        t->last[e->rank] = e->end;
        t->cpu += e->end - e->begin;
        break;
    case NBCOLL_SIM_MESSAGE:
        assert_true(e->peer >= 0 && e->peer < RANKS && e->peer != e->rank);
        t->messages++;
        break;
    case NBCOLL_SIM_ENDED:
        assert_int_equal(e->end, t->last[e->rank]);
        t->ended++;
    }
}

static void events_fit_together(void **state)
{
    (void)state;
    told t = {0};
    scene s = scene_of(NBCOLL_OPERATION_ALLREDUCE, "ring", RANKS, 100000);
    assert_int_equal(nbcoll_sim_model_find("cluster", &s.model), NBCOLL_OK);
    s.model.eager = 4000; /* blocks of 4167 and 4166 bytes are asked for, or announced and got: two ranks send to the
                             other node */
    scene_program(&s, 5, 0, 0);
    s.config.user = &t;
    s.config.event = hear;
    s.result.rank = t.rank;
    scene_play(&s);
    assert_int_equal(t.started, RANKS);
    assert_int_equal(t.ended, RANKS);
    assert_int_equal(t.messages, s.result.messages);
    assert_int_equal(s.result.arrivals, 2 * s.result.messages + s.result.messages * 2 / RANKS);
    assert_int_equal(t.cpu, s.result.cpu);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(t.rank[r].ended, t.last[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_fit_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
