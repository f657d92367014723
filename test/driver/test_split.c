/* SPDX-License-Identifier: BSD-3-Clause
 * Split trees whose ranks, threads, compute beside two drivers: results are right for any split and root, and no step
 * begins on a thread that does not serve its lane. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "operation.h"
#include "scene.h"

enum { TREES = 5, MOST_RANKS = 6, MOST_SPLIT = 3, FEW = 3, MANY = 5000 };

static const nbcoll_operation trees[TREES] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER,
                                              NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_REDUCE,
                                              NBCOLL_OPERATION_ALLREDUCE};

/* What the observer of all contexts sees. */
typedef struct seen {
    atomic_int callers, drivers; /* steps of the lanes CALLER and PROGRESS */
    atomic_int elsewhere;        /* of these, on a thread that is not theirs */
} seen;

static _Thread_local int is_rank;

static void look(void *user, const nbcoll_event *e)
{
    seen *s = user;
    const nbcoll_step_view *step = nbcoll_schedule_step(e->schedule, e->step);
    if (e->moment != NBCOLL_STEP_STARTED || !step)
        return;
    if (step->lane == NBCOLL_LANE_CALLER)
        atomic_fetch_add(&s->callers, 1);
    if (step->lane == NBCOLL_LANE_PROGRESS)
        atomic_fetch_add(&s->drivers, 1);
    if ((step->lane == NBCOLL_LANE_CALLER && !is_rank) || (step->lane == NBCOLL_LANE_PROGRESS && is_rank))
        atomic_fetch_add(&s->elsewhere, 1);
}

static void one(world *w, int rank, nbcoll_operation what, int root, size_t count)
{
    operation o = {.what = what, .root = root, .count = count, .seed = count + (size_t)root,
                   .how = {NBCOLL_INT32, NBCOLL_SUM}};
    share s = share_make(&o, rank, w->ranks);
    nbcoll_request q;
    EXPECT(OK, operation_start(&o, &s, w->comm[rank], &q));
    if ((rank + root) % 2)
        EXPECT(OK, nbcoll_wait_started(&q, deadline));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    operation_check(&o, &s, rank, w->ranks);
    share_free(&s);
}

static void run_rank(world *w, int rank, void *user)
{
    static const size_t counts[] = {FEW, MANY};
    (void)user;
    is_rank = 1;
    for (int t = 0; t < TREES; t++)
        for (int root = 0; root < (trees[t] == NBCOLL_OPERATION_ALLREDUCE ? 1 : w->ranks); root++)
            for (int i = 0; i < 2; i++)
                one(w, rank, trees[t], root, counts[i]);
}

static void play(int ranks, unsigned split)
{
    seen s = {0};
    const nbcoll_observer observer = {.size = sizeof observer, .user = &s, .event = look};
    nbcoll_context_config context = {.size = sizeof context, .flags = NBCOLL_ANY_THREAD, .observer = &observer};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_rule rules[TREES];
    nbcoll_driver *driver[2];
    world w;

    for (int t = 0; t < TREES; t++)
        rules[t] = (nbcoll_rule){.algorithm = nbcoll_algorithm_find(trees[t], "binomial"), .split = split};
    config.rules = rules;
    config.rule_count = TREES;
    world_open(&w, ranks, &loopback, &context, &config);
    for (int i = 0; i < 2; i++) {
        driver[i] = scene_drive(&w, i * (ranks / 2), i ? ranks : ranks / 2);
        scene_rest(&w, i * (ranks / 2), i ? ranks : ranks / 2); /* it has begun */
    }
    world_threads(&w, run_rank, NULL);
    assert_int_equal(atomic_load(&s.elsewhere), 0);
    assert_true(split || !(atomic_load(&s.callers) + atomic_load(&s.drivers)));
    if (split == 1 && ranks > 2) /* there is a level above the last */
        assert_true(atomic_load(&s.callers) && atomic_load(&s.drivers));
    EXPECT(OK, nbcoll_driver_free(driver[0]));
    scene_close(&w, driver[1]);
}

static void results_are_right_and_steps_are_where_their_lane_is_served(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++)
        for (unsigned split = 0; split <= MOST_SPLIT; split++)
            play(ranks, split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right_and_steps_are_where_their_lane_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
