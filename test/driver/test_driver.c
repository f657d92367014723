/* SPDX-License-Identifier: BSD-3-Clause
 * What a driver does: operations end while the program calls nothing; waits that sleep are woken; an idle driver
 * sleeps. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "scene.h"

enum { BIG = 300000 };

static void start_sums(world *w, int n, int64_t in[], int64_t out[], size_t count, nbcoll_request q[])
{
    for (int r = 0; r < n; r++)
        EXPECT(OK, nbcoll_iallreduce(in + (size_t)r * count, out + (size_t)r * count, count, NBCOLL_INT64, NBCOLL_SUM,
                                     w->comm[r], &q[r]));
}

static void operations_end_while_the_program_calls_nothing(void **state)
{
    world w;
    nbcoll_request q[SCENE_RANKS];
    int64_t *in = calloc(SCENE_RANKS * BIG, sizeof *in), *out = calloc(SCENE_RANKS * BIG, sizeof *out);
    (void)state;
    scene_open(&w, SCENE_RANKS, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, SCENE_RANKS);
    for (size_t count = 1; count <= BIG; count *= 67) {
        for (size_t i = 0; i < SCENE_RANKS * count; i++)
            in[i] = (int64_t)i;
        start_sums(&w, SCENE_RANKS, in, out, count, q);
        for (int r = 0; r < SCENE_RANKS; r++) {
            scene_watch(q[r]);
            assert_int_equal(out[(size_t)r * count + count - 1], (int64_t)(6 * count + 4 * (count - 1)));
            EXPECT(OK, nbcoll_test(&q[r]));
        }
    }
    scene_close(&w, driver);
    free(in);
    free(out);
}

/* The other rank is in no driver, and comes when this thread makes it. */
static void a_test_looks_and_makes_no_pass(void **state)
{
    world w;
    nbcoll_request q[2];
    int64_t in[2] = {1, 2}, out[2];
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    start_sums(&w, 1, in, out, 1, q);
    scene_rest(&w, 0, 1);
    uint64_t rings = scene_counts(driver).rings;
    for (int i = 0; i < 1000; i++)
        EXPECT(PENDING, nbcoll_test(&q[0]));
    scene_rest(&w, 0, 1);
    assert_int_equal(scene_counts(driver).rings, rings); /* a pass would have disarmed, and rung */
    EXPECT(OK, nbcoll_iallreduce(&in[1], &out[1], 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_wait(&q[1], deadline));
    scene_watch(q[0]);
    EXPECT(OK, nbcoll_test(&q[0]));
    assert_int_equal(out[0], 3);
    scene_close(&w, driver);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

typedef struct waiter {
    world *w;
    nbcoll_request q[2];
    int how;
    long switches; /* of its thread that it asked for */
    atomic_int begun;
} waiter;

static void *wait_main(void *user)
{
    waiter *me = user;
    size_t index, ended, which[2];
    nbcoll_status s[2];
    atomic_store(&me->begun, 1);
    switch (me->how) {
    case 0: EXPECT(OK, nbcoll_wait(&me->q[0], deadline)); break;
    case 1: EXPECT(OK, nbcoll_wait_all(1, me->q, NULL, deadline)); break;
    case 2: EXPECT(OK, nbcoll_wait_any(1, me->q, &index, deadline)); break;
    case 3: EXPECT(OK, nbcoll_wait_some(1, me->q, &ended, which, s, deadline)); break;
    case 4: EXPECT(OK, nbcoll_barrier(me->w->comm[0], deadline)); break;
    default: EXPECT(OK, nbcoll_wait_all(2, me->q, NULL, deadline)); break;
    }
    return NULL;
}

static void sleeps(const waiter *me)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    while (!atomic_load(&me->w->context[0]->driven.sleepers)) {
        assert_true(clock_ns() < late);
        sched_yield();
    }
}

/* A wait on rank 0 sleeps, since rank 1 has not come; then it comes, and only the driver knows. Returns how long the
 * rest took. */
static uint64_t wait_and_wake(world *w, int how)
{
    waiter me = {.w = w, .how = how};
    pthread_t thread;
    if (how != 4)
        EXPECT(OK, nbcoll_ibarrier(w->comm[0], &me.q[0]));
    assert_int_equal(pthread_create(&thread, NULL, wait_main, &me), 0);
    sleeps(&me);
    uint64_t from = clock_ns();
    EXPECT(OK, nbcoll_barrier(w->comm[1], deadline));
    pthread_join(thread, NULL);
    return clock_ns() - from;
}

/* By themselves they would look after a tenth of a second. */
static void waits_that_sleep_are_woken(void **state)
{
    world w;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    scene_rest(&w, 0, 1);
    for (int how = 0; how < 5; how++) {
        uint64_t least = SECOND;
        for (int i = 0; i < 200 && least > SECOND / 16; i++) {
            uint64_t took = wait_and_wake(&w, how);
            least = took < least ? took : least;
        }
        assert_true(least <= SECOND / 16);
    }
    scene_close(&w, driver);
}

static void waits_that_sleep_are_woken_on_one_core(void **state)
{
    scene_on_one_core(waits_that_sleep_are_woken, state);
}

/* ---- a wait that yields ------------------------------------------------------------------------------------------ */

static _Thread_local atomic_int *held; /* the thread's pauses last until it is 2; 1: one has begun */

static void hold(void *user, uint64_t looks)
{
    (void)user, (void)looks;
    if (held && atomic_load(held) == 0)
        atomic_store(held, 1);
    do
        sched_yield();
    while (held && atomic_load(held) < 2);
}

typedef struct holder {
    nbcoll_request q;
    atomic_int held;
} holder;

static void *wait_held(void *user)
{
    holder *me = user;
    held = &me->held;
    EXPECT(OK, nbcoll_wait(&me->q, deadline));
    return NULL;
}

/* Rank 0 waits, and has given its core away for so long as rank 1 needs, as if that computed there. Only the driver of
 * rank 0 is left, which goes on. */
static void a_wait_yields(void **state)
{
    world w;
    nbcoll_context_config context = {.size = sizeof context, .flags = NBCOLL_ANY_THREAD, .host.pause = hold};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    nbcoll_driver_config config = {.size = sizeof config, .spin_ns = UINT64_MAX};
    nbcoll_driver *driver;
    holder me = {.q = NBCOLL_REQUEST_NULL};
    pthread_t thread;
    (void)state;
    atomic_init(&me.held, 0);
    world_open(&w, 2, &loopback, &context, NULL);
    EXPECT(OK, nbcoll_driver_create(&config, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_start(driver));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &me.q));
    assert_int_equal(pthread_create(&thread, NULL, wait_held, &me), 0);
    while (atomic_load(&me.held) == 0)
        sched_yield();
    EXPECT(OK, nbcoll_barrier(w.comm[1], deadline));
    scene_watch(me.q);
    atomic_store(&me.held, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    scene_close(&w, driver);
}

/* This thread computes on the driver's core, and yields to nobody: a driver that yields to it would get the core back
 * at the end of each of its slices only. */
static void the_core_is_computed_on(void **state)
{
    world w;
    nbcoll_driver_config config = {.size = sizeof config, .spin_ns = UINT64_MAX};
    nbcoll_driver *driver;
    nbcoll_request q;
    (void)state;
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(&config, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_start(driver));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    uint64_t late = clock_ns() + 30 * SECOND;
    while (scene_counts(driver).sleeps == 0)
        assert_true(clock_ns() < late);
    EXPECT(OK, nbcoll_barrier(w.comm[1], deadline));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    scene_close(&w, driver);
}

static void where_somebody_computes_a_driver_sleeps_however_long_it_may_spin(void **state)
{
    scene_on_one_core(the_core_is_computed_on, state);
}

static void while_a_wait_has_yielded_its_core_the_driver_goes_on(void **state)
{
    scene_on_one_core(a_wait_yields, state);
}

/* One sleep is on the news of all: the thread looks at drivers ten times a second, as in one context. */
static void *count_switches(void *user)
{
    struct rusage before, after;
    waiter *me = user;
    assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
    wait_main(me);
    assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
    me->switches = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

static void a_wait_for_contexts_of_several_drivers_sleeps_once(void **state)
{
    struct timespec pause = {0, 500000000};
    _Atomic uint32_t words[2] = {0}, *const at[2] = {&words[0], &words[1]};
    const uint32_t values[2] = {1, 1}; /* others: it returns at once */
    world w;
    (void)state;
    if (nbcolli_words_sleep(2, at, values, SECOND) < 0)
        skip(); /* before Linux 5.16 it looks each millisecond */
    scene_open(&w, 3, NULL);
    nbcoll_driver *one = scene_drive(&w, 0, 1), *other = scene_drive(&w, 1, 2);
    scene_rest(&w, 0, 2);
    for (int round = 0; round < 2; round++) {
        waiter me = {.w = &w, .how = 5};
        pthread_t thread;
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_ibarrier(w.comm[i], &me.q[i]));
        uint64_t from = clock_ns();
        assert_int_equal(pthread_create(&thread, NULL, count_switches, &me), 0);
        sleeps(&me);
        nanosleep(&pause, NULL);
        EXPECT(OK, nbcoll_barrier(w.comm[2], deadline));
        pthread_join(thread, NULL);
        long tenths = (long)((clock_ns() - from) / (SECOND / 10));
        print_message("%ld switches in %ld tenths of a second\n", me.switches, tenths);
        assert_true(me.switches <= 10 + 2 * tenths);
    }
    EXPECT(OK, nbcoll_driver_free(other));
    scene_close(&w, one);
}

/* Of contexts in several drivers, and in none. */
static void a_wait_for_several_contexts_ends(void **state)
{
    world w;
    (void)state;
    scene_open(&w, 3, NULL);
    nbcoll_driver *one = scene_drive(&w, 0, 1), *other = scene_drive(&w, 1, 2);
    for (int i = 0; i < 20; i++) {
        waiter me = {.w = &w, .how = 5};
        pthread_t thread;
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &me.q[i % 2]));
        EXPECT(OK, nbcoll_ibarrier(w.comm[1 + i / 10], &me.q[1 - i % 2]));
        assert_int_equal(pthread_create(&thread, NULL, wait_main, &me), 0);
        EXPECT(OK, nbcoll_barrier(w.comm[2 - i / 10], deadline));
        pthread_join(thread, NULL);
    }
    EXPECT(OK, nbcoll_driver_free(other));
    scene_close(&w, one);
}

static void a_wait_ends_at_its_deadline_and_says_who_is_late(void **state)
{
    world w;
    nbcoll_request q;
    nbcoll_failure failure;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    uint64_t from = clock_ns();
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, SECOND / 10));
    assert_true(clock_ns() - from >= SECOND / 10);
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    assert_int_equal(failure.rank, 1);
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, 0));
    EXPECT(OK, nbcoll_barrier(w.comm[1], deadline));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    scene_close(&w, driver);
}

/* What it needed may have been sent before the cancelling. */
static void ends_or_is_cancelled(nbcoll_status s)
{
    assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_CANCELLED);
}

static void what_a_driver_runs_can_be_cancelled(void **state)
{
    world w;
    nbcoll_request q[2];
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 2);
    for (int i = 0; i < 100; i++) {
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
        EXPECT(OK, nbcoll_cancel(q[0]));
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
        scene_watch(q[0]);
        EXPECT(ERR_CANCELLED, nbcoll_test(&q[0]));
        scene_watch(q[1]);
        ends_or_is_cancelled(nbcoll_test(&q[1]));
        EXPECT(ERR_TIMEOUT, nbcoll_barrier(w.comm[0], 1000));
        ends_or_is_cancelled(nbcoll_barrier(w.comm[1], deadline));
    }
    scene_close(&w, driver);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

typedef struct chain {
    world *w;
    nbcoll_driver *driver;
    nbcoll_request q;
    atomic_int ended;
    nbcoll_status inside[5];
} chain;

static void next_barrier(nbcoll_request request, nbcoll_status status, void *user)
{
    chain *c = user;
    nbcoll_request q;
    (void)request;
    EXPECT(OK, status);
    int n = atomic_fetch_add(&c->ended, 1);
    if (n == 0) {
        c->inside[0] = nbcoll_driver_add(c->driver, c->w->context[0]);
        c->inside[1] = nbcoll_driver_remove(c->driver, c->w->context[0]);
        c->inside[2] = nbcoll_driver_free(c->driver);
        c->inside[3] = nbcoll_driver_run(c->driver, 0);
        c->inside[4] = nbcoll_driver_start(c->driver);
    }
    if (n < 20) {
        EXPECT(OK, nbcoll_ibarrier(c->w->comm[0], &q));
        EXPECT(OK, nbcoll_on_done(q, next_barrier, c));
    }
    if (n % 2) { /* a wait inside a callback goes on, though the driver does not */
        EXPECT(OK, nbcoll_ibarrier(c->w->comm[1], &q));
        EXPECT(OK, nbcoll_wait(&q, deadline));
    } else
        EXPECT(OK, nbcoll_ibarrier(c->w->comm[1], &c->q));
}

static void callbacks_run_on_the_driver_and_may_start_and_wait(void **state)
{
    world w;
    chain c = {.w = &w};
    nbcoll_request q;
    (void)state;
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &c.driver));
    EXPECT(OK, nbcoll_driver_add(c.driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_add(c.driver, w.context[1]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, next_barrier, &c));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q));
    EXPECT(OK, nbcoll_driver_start(c.driver));
    uint64_t late = clock_ns() + 30 * SECOND;
    while (atomic_load(&c.ended) < 21 && clock_ns() < late)
        sched_yield();
    assert_int_equal(atomic_load(&c.ended), 21);
    for (int i = 0; i < 5; i++)
        assert_int_equal(c.inside[i], NBCOLL_ERR_BUSY);
    /* The last one left one barrier too many of rank 1. */
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    scene_close(&w, c.driver);
}

/* ---- idle -------------------------------------------------------------------------------------------------------- */

static void an_idle_driver_does_not_wake(void **state)
{
    struct timespec pause = {0, 400000000};
    world w;
    nbcoll_request q[2];
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 2);
    for (int round = 0; round < 2; round++) { /* as it begins, and after it has worked */
        scene_rest(&w, 0, 2);
        nbcoll_driver_counts before = scene_counts(driver);
        nanosleep(&pause, NULL);
        nbcoll_driver_counts after = scene_counts(driver);
        assert_int_equal(after.sleeps, before.sleeps);
        assert_int_equal(after.passes, before.passes);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
        for (int r = 0; r < 2; r++)
            scene_watch(q[r]);
        EXPECT(OK, nbcoll_wait_all(2, q, NULL, deadline));
    }
    scene_close(&w, driver);
}

static void with_operations_outstanding_it_looks_ten_times_a_second_at_most(void **state)
{
    struct timespec pause = {1, 0};
    world w;
    nbcoll_request q;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    scene_rest(&w, 0, 1);
    uint64_t from = clock_ns();
    nbcoll_driver_counts before = scene_counts(driver);
    nanosleep(&pause, NULL);
    nbcoll_driver_counts after = scene_counts(driver);
    uint64_t tenths = (clock_ns() - from) / (SECOND / 10) + 1;
    assert_true(after.sleeps - before.sleeps <= tenths);
    assert_true(after.looks - before.looks <= tenths);
    EXPECT(OK, nbcoll_barrier(w.comm[1], deadline));
    EXPECT(OK, nbcoll_wait(&q, deadline));
    scene_close(&w, driver);
}

/* A clock of its host's, which each look takes 1 us further: so many passes in vain, then it sleeps. */
static uint64_t count_looks(void *user)
{
    return 1000 * atomic_fetch_add((_Atomic uint64_t *)user, 1);
}

static void it_spins_for_so_long_and_no_longer(void **state)
{
    const uint64_t spins[] = {0, 200000, 1000};
    (void)state;
    for (int i = 0; i < 3; i++) {
        _Atomic uint64_t looks = 0;
        nbcoll_driver_config config = {.size = sizeof config, .spin_ns = spins[i],
                                       .host = {.size = sizeof config.host, .now = count_looks, .user = &looks}};
        uint64_t expected = (spins[i] ? spins[i] : NBCOLL_DRIVER_SPIN) / 1000;
        nbcoll_driver *driver;
        world w;
        scene_open(&w, 1, NULL);
        EXPECT(OK, nbcoll_driver_create(&config, &driver));
        EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
        EXPECT(OK, nbcoll_driver_start(driver));
        scene_rest(&w, 0, 1);
        assert_in_range(scene_counts(driver).passes, expected, expected + 2);
        scene_close(&w, driver);
    }
}

/* ---- fair -------------------------------------------------------------------------------------------------------- */

static nbcoll_status count_up(void *user, const nbcoll_memory regions[])
{
    (void)regions;
    atomic_fetch_add((atomic_int *)user, 1);
    return NBCOLL_OK;
}

/* A chain of so many CALL steps, each behind a copy of a whole pass. */
static nbcoll_schedule *long_work(atomic_int *count, int steps, size_t bytes)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    nbcoll_builder *b;
    nbcoll_schedule *s;
    nbcoll_step last = NBCOLL_START;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int i = 0; i < steps; i++) {
        nbcoll_step copy = nbcoll_add_copy(b, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0},
                                           (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, bytes);
        nbcoll_after(b, copy, last);
        last = nbcoll_add_call(b, count_up, count, 0, NULL, 0, NULL);
        nbcoll_after(b, last, copy);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

typedef struct quiet {
    world *w;
    int rank, barriers;
    const atomic_int *busy; /* steps */
    atomic_int ended;       /* 1 + those when the last barrier had ended */
} quiet;

static void start_quiet(quiet *q);
static void quiet_done(nbcoll_request request, nbcoll_status status, void *user)
{
    quiet *q = user;
    (void)request;
    EXPECT(OK, status);
    if (--q->barriers > 0)
        start_quiet(q);
    else
        atomic_store(&q->ended, 1 + atomic_load(q->busy));
}

static void start_quiet(quiet *q)
{
    nbcoll_request request;
    EXPECT(OK, nbcoll_ibarrier(q->w->comm[q->rank], &request));
    EXPECT(OK, nbcoll_on_done(request, quiet_done, q));
}

/* The busy context copies for a long time without a pause, a step in a pass. Beside it barriers of two quiet ones
 * follow each other by callbacks, each in a few passes. */
static void a_busy_context_does_not_hold_up_a_quiet_one(void **state)
{
    enum { STEPS = 2000, BARRIERS = 50, PASSES = 10 };
    const size_t bytes = NBCOLL_PASS_BYTES;
    world busy, others;
    nbcoll_request q;
    atomic_int count;
    quiet two[2];
    char *from = calloc(1, bytes), *to = calloc(1, bytes);
    (void)state;
    atomic_init(&count, 0);
    scene_open(&busy, 1, NULL);
    scene_open(&others, 2, NULL);
    nbcoll_schedule *s = long_work(&count, STEPS, bytes);
    for (int r = 0; r < 2; r++) {
        two[r] = (quiet){&others, r, BARRIERS, &count, 0};
        start_quiet(&two[r]);
    }
    EXPECT(OK, nbcoll_schedule_start(s, from, to, busy.comm[0], &q));
    nbcoll_driver *driver = scene_drive(&others, 0, 2);
    EXPECT(OK, nbcoll_driver_add(driver, busy.context[0]));
    scene_watch(q);
    EXPECT(OK, nbcoll_test(&q));
    assert_int_equal(atomic_load(&count), STEPS);
    for (int r = 0; r < 2; r++)
        assert_in_range(atomic_load(&two[r].ended), 1, BARRIERS * PASSES);
    EXPECT(OK, nbcoll_driver_free(driver));
    EXPECT(OK, nbcoll_schedule_free(s));
    world_close(&busy);
    world_close(&others);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_end_while_the_program_calls_nothing),
        cmocka_unit_test(a_test_looks_and_makes_no_pass),
        cmocka_unit_test(waits_that_sleep_are_woken),
        cmocka_unit_test(waits_that_sleep_are_woken_on_one_core),
        cmocka_unit_test(while_a_wait_has_yielded_its_core_the_driver_goes_on),
        cmocka_unit_test(where_somebody_computes_a_driver_sleeps_however_long_it_may_spin),
        cmocka_unit_test(a_wait_for_several_contexts_ends),
        cmocka_unit_test(a_wait_for_contexts_of_several_drivers_sleeps_once),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_says_who_is_late),
        cmocka_unit_test(what_a_driver_runs_can_be_cancelled),
        cmocka_unit_test(callbacks_run_on_the_driver_and_may_start_and_wait),
        cmocka_unit_test(an_idle_driver_does_not_wake),
        cmocka_unit_test(with_operations_outstanding_it_looks_ten_times_a_second_at_most),
        cmocka_unit_test(it_spins_for_so_long_and_no_longer),
        cmocka_unit_test(a_busy_context_does_not_hold_up_a_quiet_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
