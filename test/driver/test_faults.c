/* SPDX-License-Identifier: BSD-3-Clause
 * What a driver refuses, and how it ends: operations under way go back to their callers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "scene.h"

static void bad_arguments_are_refused(void **state)
{
    const int cores[] = {0, -1};
    nbcoll_driver_config config = {.size = sizeof config, .cores = cores, .core_count = 2};
    nbcoll_driver_counts counts = {.size = 0};
    nbcoll_context *of_one_thread;
    nbcoll_driver *driver;
    (void)state;
    EXPECT(ERR_NULL, nbcoll_driver_create(NULL, NULL));
    EXPECT(ERR_CONFIG, nbcoll_driver_create(&config, &driver));
    config = (nbcoll_driver_config){.size = sizeof config, .core_count = 1};
    EXPECT(ERR_NULL, nbcoll_driver_create(&config, &driver));
    config = (nbcoll_driver_config){.size = 1};
    EXPECT(ERR_CONFIG, nbcoll_driver_create(&config, &driver));
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &of_one_thread));
    EXPECT(ERR_CONFIG, nbcoll_driver_add(driver, of_one_thread));
    EXPECT(ERR_NULL, nbcoll_driver_add(driver, NULL));
    EXPECT(ERR_NULL, nbcoll_driver_add(NULL, of_one_thread));
    EXPECT(ERR_NULL, nbcoll_driver_remove(driver, NULL));
    EXPECT(ERR_ARGUMENT, nbcoll_driver_remove(driver, of_one_thread));
    EXPECT(ERR_NULL, nbcoll_driver_start(NULL));
    EXPECT(ERR_NULL, nbcoll_driver_run(NULL, 0));
    EXPECT(ERR_NULL, nbcoll_driver_stop(NULL));
    EXPECT(ERR_NULL, nbcoll_driver_count(driver, NULL));
    EXPECT(ERR_CONFIG, nbcoll_driver_count(driver, &counts));
    EXPECT(OK, nbcoll_driver_free(NULL));
    EXPECT(OK, nbcoll_driver_free(driver));
    EXPECT(OK, nbcoll_context_free(of_one_thread));
}

static void a_context_is_in_one_driver_and_is_not_freed_there(void **state)
{
    world w;
    nbcoll_driver *other;
    (void)state;
    scene_open(&w, 1, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    EXPECT(OK, nbcoll_driver_create(NULL, &other));
    EXPECT(ERR_BUSY, nbcoll_driver_add(other, w.context[0]));
    EXPECT(ERR_BUSY, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(ERR_ARGUMENT, nbcoll_driver_remove(other, w.context[0]));
    EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
    EXPECT(ERR_BUSY, nbcoll_context_abandon(w.context[0], NULL, NULL));
    EXPECT(OK, nbcoll_driver_remove(driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_add(other, w.context[0]));
    EXPECT(OK, nbcoll_barrier(w.comm[0], deadline));
    EXPECT(OK, nbcoll_driver_free(other));
    scene_close(&w, driver);
}

/* Its thread binds itself where it may: else it stays where it is, and works. */
static void a_driver_of_cores_outside_the_allowed_set_works_where_it_is(void **state)
{
    const int outside = CPU_SETSIZE - 1;
    nbcoll_driver_config config = {.size = sizeof config, .cores = &outside, .core_count = 1};
    nbcoll_driver *driver;
    nbcoll_request q[2];
    cpu_set_t allowed;
    world w;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_ISSET(outside, &allowed))
        skip();
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(&config, &driver));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_driver_add(driver, w.context[r]));
    EXPECT(OK, nbcoll_driver_start(driver));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    for (int r = 0; r < 2; r++)
        scene_watch(q[r]);
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, deadline));
    scene_close(&w, driver);
}

/* ---- a thread of the host's -------------------------------------------------------------------------------------- */

static void *run_driver(void *driver)
{
    return nbcoll_driver_run(driver, NBCOLL_FOREVER) == NBCOLL_OK ? driver : NULL;
}

static void a_thread_of_the_host_runs_it_until_it_is_stopped(void **state)
{
    world w;
    pthread_t thread;
    void *is_right;
    nbcoll_request q[2];
    nbcoll_driver *driver;
    (void)state;
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[1]));
    for (int round = 0; round < 3; round++) {
        assert_int_equal(pthread_create(&thread, NULL, run_driver, driver), 0);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
        for (int r = 0; r < 2; r++)
            scene_watch(q[r]);
        EXPECT(OK, nbcoll_wait_all(2, q, NULL, deadline));
        EXPECT(ERR_BUSY, nbcoll_driver_run(driver, 0));
        EXPECT(ERR_BUSY, nbcoll_driver_start(driver));
        EXPECT(ERR_BUSY, nbcoll_driver_free(driver));
        EXPECT(OK, nbcoll_driver_stop(driver));
        pthread_join(thread, &is_right);
        assert_non_null(is_right);
    }
    scene_close(&w, driver);
}

static void a_run_ends_at_its_deadline(void **state)
{
    world w;
    nbcoll_request q;
    nbcoll_driver *driver;
    (void)state;
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    uint64_t from = clock_ns();
    EXPECT(ERR_TIMEOUT, nbcoll_driver_run(driver, SECOND / 20));
    assert_true(clock_ns() - from >= SECOND / 20);
    EXPECT(OK, nbcoll_driver_stop(driver)); /* the next run */
    EXPECT(OK, nbcoll_driver_run(driver, NBCOLL_FOREVER));
    nbcoll_request other;
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other)); /* the same thread is the program's again */
    nbcoll_request both[2] = {q, other};
    world_finish(&w, 2, both);
    scene_close(&w, driver);
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static void *wait_for_it(void *request)
{
    return nbcoll_wait(request, deadline) == NBCOLL_OK ? request : NULL;
}

/* The waiting thread sleeps, and is to progress by itself when the driver is gone, not a tenth of a second later. */
static void a_wait_goes_on_when_the_driver_is_freed(void **state)
{
    uint64_t least[3] = {SECOND, SECOND, SECOND};
    (void)state;
    for (int i = 0; i < 300; i++) {
        int how = i % 3;
        if (i >= 15 && least[how] <= SECOND / 16)
            continue; /* others may have the cores for most of a time */
        world w;
        pthread_t thread;
        void *is_right;
        nbcoll_request q;
        scene_open(&w, 2, NULL);
        nbcoll_driver *driver = scene_drive(&w, 0, 1);
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
        assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &q), 0);
        while (!atomic_load(&w.context[0]->driven.sleepers))
            sched_yield();
        uint64_t from = clock_ns();
        if (how == 0)
            EXPECT(OK, nbcoll_driver_remove(driver, w.context[0]));
        else if (how == 1)
            EXPECT(OK, nbcoll_driver_stop(driver));
        else
            EXPECT(OK, nbcoll_driver_free(driver));
        EXPECT(OK, nbcoll_barrier(w.comm[1], deadline));
        pthread_join(thread, &is_right);
        assert_non_null(is_right);
        least[how] = clock_ns() - from < least[how] ? clock_ns() - from : least[how];
        scene_close(&w, how == 2 ? NULL : driver);
    }
    for (int how = 0; how < 3; how++)
        assert_true(least[how] <= SECOND / 16);
}

static void operations_go_back_to_the_caller_and_to_a_driver_again(void **state)
{
    enum { COUNT = 100000, ROUNDS = 20 };
    world w;
    nbcoll_request q[2];
    int64_t *in[2], *out[2];
    (void)state;
    scene_open(&w, 2, NULL);
    for (int r = 0; r < 2; r++) {
        in[r] = calloc(COUNT, sizeof **in);
        out[r] = calloc(COUNT, sizeof **out);
        for (int i = 0; i < COUNT; i++)
            in[r][i] = i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        nbcoll_driver *driver = scene_drive(&w, 0, 2);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_iallreduce(in[r], out[r], COUNT, NBCOLL_INT64, NBCOLL_SUM, w.comm[r], &q[r]));
        EXPECT(OK, nbcoll_driver_free(driver)); /* somewhere in between */
        if (round % 2)
            driver = scene_drive(&w, round % 4 == 1, 2);
        world_finish(&w, 2, q);
        for (int r = 0; r < 2; r++)
            assert_int_equal(out[r][COUNT - 1], 2 * (COUNT - 1));
        if (round % 2)
            EXPECT(OK, nbcoll_driver_free(driver));
    }
    for (int r = 0; r < 2; r++) {
        free(in[r]);
        free(out[r]);
    }
    world_close(&w);
}

/* ---- while it is inside an operation ----------------------------------------------------------------------------- */

typedef struct held {
    atomic_int is_inside;
    _Atomic uint64_t until;
} held;

/* A step of the driver's that lasts beyond the deadlines below. */
static nbcoll_status hold(void *user, const nbcoll_memory regions[])
{
    held *h = user;
    (void)regions;
    atomic_store(&h->is_inside, 1);
    while (clock_ns() < atomic_load(&h->until))
        sched_yield();
    return NBCOLL_OK;
}

/* Rank 0 runs that step, and then receives what rank 1 sends. */
static nbcoll_schedule *held_schedule(held *h, int rank)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    nbcoll_builder *b;
    nbcoll_schedule *s;
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    if (rank == 0) {
        nbcoll_step first = nbcoll_add_call(b, hold, h, 0, NULL, 0, NULL);
        nbcoll_set_lane(b, first, NBCOLL_LANE_PROGRESS);
        nbcoll_after(b, nbcoll_add_recv(b, 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 8), first);
    } else
        nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 8);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

/* Returns when the driver is inside the step. */
static void start_held(world *w, nbcoll_schedule *s, held *h, uint64_t *out, nbcoll_request *q)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    scene_rest(w, 0, 1); /* it has begun: the step is not the caller's */
    atomic_store(&h->is_inside, 0);
    atomic_store(&h->until, clock_ns() + SECOND / 10);
    EXPECT(OK, nbcoll_schedule_start(s, NULL, out, w->comm[0], q));
    while (!atomic_load(&h->is_inside)) {
        assert_true(clock_ns() < late);
        sched_yield();
    }
}

static void a_deadline_that_comes_inside_a_step_holds_when_that_ends(void **state)
{
    held h;
    world w;
    nbcoll_request q[2];
    nbcoll_failure failure;
    nbcoll_schedule *s[2];
    uint64_t in = 7, out = 0;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    for (int r = 0; r < 2; r++)
        s[r] = held_schedule(&h, r);
    start_held(&w, s[0], &h, &out, &q[0]);
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], SECOND / 20));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    assert_int_equal(failure.rank, 1);
    EXPECT(OK, nbcoll_schedule_start(s[1], &in, NULL, w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_wait(&q[1], deadline));
    EXPECT(OK, nbcoll_wait(&q[0], deadline));
    assert_int_equal(out, 7);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    scene_close(&w, driver);
}

static void a_cancelled_operation_ends_when_the_driver_leaves_its_step(void **state)
{
    held h;
    world w;
    nbcoll_request q;
    uint64_t out = 0;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 1);
    nbcoll_schedule *s = held_schedule(&h, 0);
    start_held(&w, s, &h, &out, &q);
    EXPECT(OK, nbcoll_cancel(q));
    assert_true(clock_ns() >= atomic_load(&h.until));
    EXPECT(ERR_CANCELLED, nbcoll_wait(&q, deadline));
    EXPECT(OK, nbcoll_schedule_free(s));
    scene_close(&w, driver);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static int refuses_all(nbcoll_driver *driver, nbcoll_context *context)
{
    nbcoll_driver_counts counts = {.size = sizeof counts};
    return nbcoll_driver_add(driver, context) == NBCOLL_ERR_FORKED &&
           nbcoll_driver_remove(driver, context) == NBCOLL_ERR_FORKED &&
           nbcoll_driver_start(driver) == NBCOLL_ERR_FORKED && nbcoll_driver_run(driver, 0) == NBCOLL_ERR_FORKED &&
           nbcoll_driver_stop(driver) == NBCOLL_ERR_FORKED &&
           nbcoll_driver_count(driver, &counts) == NBCOLL_ERR_FORKED &&
           nbcoll_driver_free(driver) == NBCOLL_ERR_FORKED;
}

static void a_forked_child_has_no_driver_and_disturbs_none(void **state)
{
    world w;
    nbcoll_request q[2];
    int how;
    (void)state;
    scene_open(&w, 2, NULL);
    nbcoll_driver *driver = scene_drive(&w, 0, 2);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    pid_t child = fork();
    if (child == 0) {
        nbcoll_request mine = q[0];
        int is_right = refuses_all(driver, w.context[0]) && nbcoll_test(&mine) == NBCOLL_ERR_FORKED &&
                       nbcoll_wait(&mine, NBCOLL_FOREVER) == NBCOLL_ERR_FORKED;
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    for (int r = 0; r < 2; r++)
        scene_watch(q[r]);
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, deadline));
    scene_close(&w, driver);
}

/* ---- the host's hooks -------------------------------------------------------------------------------------------- */

typedef struct host {
    atomic_int allocated, spawned, paused;
    pthread_t thread;
    void (*main)(void *);
    void *argument;
} host;

static void *host_alloc(void *user, size_t bytes, size_t align)
{
    atomic_fetch_add(&((host *)user)->allocated, 1);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void host_free(void *user, void *memory, size_t bytes)
{
    (void)bytes;
    atomic_fetch_sub(&((host *)user)->allocated, 1);
    free(memory);
}

static void *host_main(void *user)
{
    host *h = user;
    h->main(h->argument);
    return NULL;
}

static nbcoll_status host_spawn(void *user, void (*main)(void *), void *argument)
{
    host *h = user;
    if (atomic_fetch_add(&h->spawned, 1) == 0)
        return NBCOLL_ERR_LIMIT; /* the first time it has none */
    h->main = main;
    h->argument = argument;
    return pthread_create(&h->thread, NULL, host_main, h) == 0 ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

static void host_pause(void *user, uint64_t looks)
{
    (void)looks;
    atomic_fetch_add(&((host *)user)->paused, 1);
    sched_yield();
}

static void a_host_gives_thread_memory_and_pauses(void **state)
{
    host h = {0};
    nbcoll_driver_config config = {.size = sizeof config, .host = {.size = sizeof(nbcoll_host), .user = &h}};
    world w;
    nbcoll_request q[2];
    nbcoll_driver *driver;
    (void)state;
    config.host.alloc = host_alloc;
    config.host.free = host_free;
    config.host.spawn = host_spawn;
    config.host.pause = host_pause;
    scene_open(&w, 2, NULL);
    EXPECT(OK, nbcoll_driver_create(&config, &driver));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[0]));
    EXPECT(OK, nbcoll_driver_add(driver, w.context[1]));
    EXPECT(ERR_LIMIT, nbcoll_driver_start(driver));
    EXPECT(OK, nbcoll_driver_start(driver));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    for (int r = 0; r < 2; r++)
        scene_watch(q[r]);
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, deadline));
    assert_true(atomic_load(&h.allocated) > 0);
    scene_close(&w, driver);
    pthread_join(h.thread, NULL);
    assert_int_equal(atomic_load(&h.allocated), 0);
    assert_true(atomic_load(&h.paused) > 0);
}

/* What the thread of a driver leaves behind at its end, for the C library to tidy up. */
static pthread_key_t remains;
static atomic_int left, tidied;

static void tidy_up(void *user)
{
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_fetch_add((atomic_int *)user, 1);
}

static void leave_remains(void *user, uint64_t looks)
{
    (void)looks;
    if (!pthread_equal(pthread_self(), *(pthread_t *)user) && !pthread_getspecific(remains)) {
        pthread_setspecific(remains, &tidied);
        atomic_fetch_add(&left, 1);
    }
    sched_yield();
}

/* A program that forks next, or unloads the library, relies on it. */
static void its_thread_is_at_its_end_when_the_driver_is_freed_or_started_again(void **state)
{
    pthread_t test = pthread_self();
    nbcoll_driver_config config = {
        .size = sizeof config,
        .host = {.size = sizeof(nbcoll_host), .user = &test, .pause = leave_remains},
    };
    nbcoll_driver *driver;
    nbcoll_status s;
    (void)state;
    assert_int_equal(pthread_key_create(&remains, tidy_up), 0);
    EXPECT(OK, nbcoll_driver_create(&config, &driver));
    EXPECT(OK, nbcoll_driver_start(driver));
    while (atomic_load(&left) < 1)
        sched_yield();
    EXPECT(OK, nbcoll_driver_stop(driver));
    while ((s = nbcoll_driver_start(driver)) == NBCOLL_ERR_BUSY) /* its run is under way */
        sched_yield();
    assert_int_equal(s, NBCOLL_OK);
    assert_int_equal(atomic_load(&tidied), 1);
    while (atomic_load(&left) < 2)
        sched_yield();
    EXPECT(OK, nbcoll_driver_free(driver));
    assert_int_equal(atomic_load(&tidied), 2);
    pthread_key_delete(remains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_context_is_in_one_driver_and_is_not_freed_there),
        cmocka_unit_test(a_driver_of_cores_outside_the_allowed_set_works_where_it_is),
        cmocka_unit_test(a_thread_of_the_host_runs_it_until_it_is_stopped),
        cmocka_unit_test(a_run_ends_at_its_deadline),
        cmocka_unit_test(a_wait_goes_on_when_the_driver_is_freed),
        cmocka_unit_test(operations_go_back_to_the_caller_and_to_a_driver_again),
        cmocka_unit_test(a_deadline_that_comes_inside_a_step_holds_when_that_ends),
        cmocka_unit_test(a_cancelled_operation_ends_when_the_driver_leaves_its_step),
        cmocka_unit_test(a_forked_child_has_no_driver_and_disturbs_none),
        cmocka_unit_test(a_host_gives_thread_memory_and_pauses),
        cmocka_unit_test(its_thread_is_at_its_end_when_the_driver_is_freed_or_started_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
