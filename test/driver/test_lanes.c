/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes while a driver runs: steps of CALLER run on the threads that call, those of PROGRESS on the driver's, and what
 * a start leaves of START is counted. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "scene.h"

enum { STEPS = 8, RUNS = 200, BIG = 10 * NBCOLL_PASS_BYTES };

typedef struct scene {
    world w;
    nbcoll_driver *driver;
    pthread_t caller;
    atomic_int ran[NBCOLL_LANE_START + 1]; /* by lane */
    atomic_int elsewhere;                  /* steps on a thread that is not theirs */
    atomic_int is_stopping;                /* no driver runs any more, perhaps */
} scene;

typedef struct one {
    scene *s;
    nbcoll_lane lane;
} one;

/* A step of the driver's that ends when the wait sleeps. */
static nbcoll_status outlasts_the_looks(void *user, const nbcoll_memory regions[])
{
    const nbcoll_context *c = user;
    uint64_t late = clock_ns() + 30 * SECOND;
    (void)regions;
    while (!atomic_load(&c->driven.sleepers) && clock_ns() < late)
        sched_yield();
    return NBCOLL_OK;
}

static nbcoll_status step(void *user, const nbcoll_memory regions[])
{
    const one *me = user;
    int is_caller = pthread_equal(pthread_self(), me->s->caller);
    (void)regions;
    atomic_fetch_add(&me->s->ran[me->lane], 1);
    if ((me->lane == NBCOLL_LANE_CALLER && !is_caller) ||
        (me->lane == NBCOLL_LANE_PROGRESS && is_caller && !atomic_load(&me->s->is_stopping)))
        atomic_fetch_add(&me->s->elsewhere, 1);
    return NBCOLL_OK;
}

/* A chain of steps on these lanes in turn; each knows its own. */
static nbcoll_schedule *chain(one steps[], const nbcoll_lane lanes[], int n, scene *s)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    nbcoll_step last = NBCOLL_START;
    nbcoll_schedule *out;
    nbcoll_builder *b;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int i = 0; i < n; i++) {
        steps[i] = (one){s, lanes[i]};
        nbcoll_step now = nbcoll_add_call(b, step, &steps[i], 0, NULL, 0, NULL);
        nbcoll_set_lane(b, now, lanes[i]);
        if (last != NBCOLL_START)
            nbcoll_after(b, now, last);
        last = now;
    }
    EXPECT(OK, nbcoll_builder_finish(b, &out));
    return out;
}

static void open_scene(scene *s)
{
    *s = (scene){.caller = pthread_self()};
    scene_open(&s->w, 1, NULL);
    s->driver = scene_drive(&s->w, 0, 1);
    scene_rest(&s->w, 0, 1); /* it has begun */
}

static const nbcoll_lane mixed[STEPS] = {NBCOLL_LANE_CALLER,   NBCOLL_LANE_PROGRESS, NBCOLL_LANE_ANY,
                                         NBCOLL_LANE_PROGRESS, NBCOLL_LANE_CALLER,   NBCOLL_LANE_PROGRESS,
                                         NBCOLL_LANE_QUEUE,    NBCOLL_LANE_RAIL}; /* hints, here as ANY */

static void wait_somehow(nbcoll_request *q, int how)
{
    size_t index;
    switch (how % 4) {
    case 0: EXPECT(OK, nbcoll_wait(q, deadline)); break;
    case 1: EXPECT(OK, nbcoll_wait_all(1, q, NULL, deadline)); break;
    case 2: EXPECT(OK, nbcoll_wait_any(1, q, &index, deadline)); break;
    default:
        while (nbcoll_test(q) == NBCOLL_PENDING)
            sched_yield();
    }
}

static void steps_run_where_their_lane_is_served(void **state)
{
    scene s;
    one steps[STEPS];
    nbcoll_request q;
    (void)state;
    open_scene(&s);
    nbcoll_schedule *schedule = chain(steps, mixed, STEPS, &s);
    for (int i = 0; i < RUNS; i++) {
        EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
        wait_somehow(&q, i);
    }
    assert_int_equal(atomic_load(&s.elsewhere), 0);
    assert_int_equal(atomic_load(&s.ran[NBCOLL_LANE_PROGRESS]), 3 * RUNS);
    assert_int_equal(atomic_load(&s.ran[NBCOLL_LANE_CALLER]), 2 * RUNS);
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
}

/* A pass does a part of each. */
static void each_lane_copies_its_large_part(void **state)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    unsigned char *from = malloc(BIG), *to = calloc(2, BIG);
    nbcoll_schedule *schedule;
    nbcoll_request q;
    nbcoll_builder *b;
    scene s;

    (void)state;
    assert_true(from && to);
    for (size_t i = 0; i < BIG; i++)
        from[i] = (unsigned char)((i * 7 + i / 251) | 1);
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (size_t i = 0; i < 2; i++)
        nbcoll_set_lane(b, nbcoll_add_copy(b, (nbcoll_addr){NBCOLL_BUFFER_RECV, i * BIG},
                                           (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BIG),
                        i ? NBCOLL_LANE_CALLER : NBCOLL_LANE_PROGRESS);
    EXPECT(OK, nbcoll_builder_finish(b, &schedule));
    open_scene(&s);
    EXPECT(OK, nbcoll_schedule_start(schedule, from, to, s.w.comm[0], &q));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    assert_memory_equal(to, from, BIG);
    assert_memory_equal(to + BIG, from, BIG);
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
    free(from);
    free(to);
}

/* The driver goes while steps of both lanes are left: the caller runs all that remain. */
static void without_the_driver_all_lanes_are_the_callers(void **state)
{
    scene s;
    one steps[STEPS];
    nbcoll_request q;
    (void)state;
    open_scene(&s);
    nbcoll_schedule *schedule = chain(steps, mixed, STEPS, &s);
    for (int i = 0; i < 20; i++) {
        atomic_store(&s.is_stopping, 0);
        EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
        atomic_store(&s.is_stopping, 1);
        EXPECT(OK, nbcoll_driver_free(s.driver));
        EXPECT(OK, nbcoll_wait(&q, deadline));
        s.driver = scene_drive(&s.w, 0, 1);
        scene_rest(&s.w, 0, 1);
    }
    assert_int_equal(atomic_load(&s.elsewhere), 0);
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
}

/* The driver makes no pass while nothing comes: what waits for a call waits. */
static void a_step_of_the_caller_waits_for_a_call(void **state)
{
    const nbcoll_lane lanes[2] = {NBCOLL_LANE_PROGRESS, NBCOLL_LANE_CALLER};
    scene s;
    one steps[2];
    nbcoll_request q;
    (void)state;
    open_scene(&s);
    nbcoll_schedule *schedule = chain(steps, lanes, 2, &s);
    EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
    uint64_t late = clock_ns() + 30 * SECOND;
    while (!atomic_load(&s.ran[NBCOLL_LANE_PROGRESS]) && clock_ns() < late)
        sched_yield();
    assert_int_equal(atomic_load(&s.ran[NBCOLL_LANE_PROGRESS]), 1);
    scene_rest(&s.w, 0, 1);
    assert_int_equal(atomic_load(&s.ran[NBCOLL_LANE_CALLER]), 0);
    do /* a call does nothing while the driver, about to sleep, has not left the context */
        EXPECT(OK, nbcoll_progress(s.w.context[0]));
    while (!atomic_load(&s.ran[NBCOLL_LANE_CALLER]) && clock_ns() < late);
    assert_int_equal(atomic_load(&s.ran[NBCOLL_LANE_CALLER]), 1);
    EXPECT(OK, nbcoll_wait(&q, deadline));
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
}

typedef struct latecomer {
    nbcoll_driver *driver;
    nbcoll_context *context;
    int at; /* the look at the clock in which the context comes */
    atomic_int looks;
} latecomer;

/* A clock of the driver's host, which each look takes a second further. */
static uint64_t come_late(void *user)
{
    latecomer *l = user;
    int look = atomic_load(&l->looks) + 1;
    if (look == l->at)
        EXPECT(OK, nbcoll_driver_add(l->driver, l->context));
    atomic_store(&l->looks, look);
    return (uint64_t)look * SECOND;
}

/* Between its passes, and between the last one and its sleep. */
static void a_context_that_comes_at_any_moment_is_driven(void **state)
{
    enum { FIRST = 2, PASSES = 4 }; /* looks before the first pass; and, behind each, one */
    const nbcoll_lane lanes[1] = {NBCOLL_LANE_PROGRESS};
    one steps[1];
    (void)state;
    for (int at = 1; at <= FIRST + PASSES; at++) {
        latecomer l = {.at = at};
        nbcoll_driver_config config = {.size = sizeof config, .spin_ns = PASSES * SECOND,
                                       .host = {.size = sizeof config.host, .now = come_late, .user = &l}};
        scene s = {.caller = pthread_self()};
        nbcoll_request q;
        scene_open(&s.w, 1, NULL);
        l.context = s.w.context[0];
        nbcoll_schedule *schedule = chain(steps, lanes, 1, &s);
        EXPECT(OK, nbcoll_driver_create(&config, &l.driver));
        EXPECT(OK, nbcoll_driver_start(l.driver));
        scene_rest(&s.w, 0, 1);
        EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
        EXPECT(OK, nbcoll_wait(&q, 30 * SECOND));
        assert_int_equal(atomic_load(&s.elsewhere), 0);
        EXPECT(OK, nbcoll_schedule_free(schedule));
        scene_close(&s.w, l.driver);
    }
}

/* A step of START runs in the start, while the driver sleeps; one behind a step of the driver's does not. */
static void what_a_start_leaves_is_counted(void **state)
{
    const nbcoll_lane lanes[3] = {NBCOLL_LANE_START, NBCOLL_LANE_PROGRESS, NBCOLL_LANE_START};
    scene s;
    one steps[3];
    nbcoll_request q;
    (void)state;
    open_scene(&s);
    nbcoll_schedule *schedule = chain(steps, lanes, 3, &s);
    for (int i = 1; i <= 5; i++) {
        scene_rest(&s.w, 0, 1);
        uint64_t before = scene_counts(s.driver).left;
        EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
        assert_true(atomic_load(&s.ran[NBCOLL_LANE_START]) >= 2 * i - 1);
        EXPECT(OK, nbcoll_wait(&q, deadline));
        assert_int_equal(scene_counts(s.driver).left, before + 1);
    }
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
}

/* By itself the wait would look after a tenth of a second. */
static void a_wait_that_sleeps_is_woken_for_its_step(void **state)
{
    scene s;
    nbcoll_request q;
    nbcoll_schedule *schedule;
    nbcoll_builder *b;
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    one last = {&s, NBCOLL_LANE_CALLER};
    uint64_t least = SECOND;
    (void)state;
    open_scene(&s);
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_step long_one = nbcoll_add_call(b, outlasts_the_looks, s.w.context[0], 0, NULL, 0, NULL);
    nbcoll_step after = nbcoll_add_call(b, step, &last, 0, NULL, 0, NULL);
    nbcoll_set_lane(b, long_one, NBCOLL_LANE_PROGRESS);
    nbcoll_set_lane(b, after, NBCOLL_LANE_CALLER);
    nbcoll_after(b, after, long_one);
    EXPECT(OK, nbcoll_builder_finish(b, &schedule));
    for (int i = 0; i < 200 && least > SECOND / 16; i++) { /* others may have the cores for most of a time */
        uint64_t from = clock_ns();
        EXPECT(OK, nbcoll_schedule_start(schedule, NULL, NULL, s.w.comm[0], &q));
        EXPECT(OK, nbcoll_wait(&q, deadline));
        uint64_t took = clock_ns() - from;
        least = took < least ? took : least;
    }
    assert_true(least <= SECOND / 16);
    assert_int_equal(atomic_load(&s.elsewhere), 0);
    EXPECT(OK, nbcoll_schedule_free(schedule));
    scene_close(&s.w, s.driver);
}

static void a_wait_that_sleeps_is_woken_for_its_step_on_one_core(void **state)
{
    scene_on_one_core(a_wait_that_sleeps_is_woken_for_its_step, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_run_where_their_lane_is_served),
        cmocka_unit_test(each_lane_copies_its_large_part),
        cmocka_unit_test(without_the_driver_all_lanes_are_the_callers),
        cmocka_unit_test(a_step_of_the_caller_waits_for_a_call),
        cmocka_unit_test(a_context_that_comes_at_any_moment_is_driven),
        cmocka_unit_test(what_a_start_leaves_is_counted),
        cmocka_unit_test(a_wait_that_sleeps_is_woken_for_its_step),
        cmocka_unit_test(a_wait_that_sleeps_is_woken_for_its_step_on_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
