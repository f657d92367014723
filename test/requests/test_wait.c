/* SPDX-License-Identifier: BSD-3-Clause
 * Test and wait, of one request and of several: what they return, what they leave, what they release. Two ranks are
 * stepped; an operation that only rank 0 has started stays active there. */
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 2 };

/* Rank 0 waits for this broadcast until rank 1 starts it too. */
static nbcoll_request start(world *w, int rank, int *value)
{
    nbcoll_request q;
    EXPECT(OK, nbcoll_ibcast(value, 1, NBCOLL_INT32, 1, w->comm[rank], &q));
    return q;
}

static int same(nbcoll_request a, nbcoll_request b)
{
    return a.at == b.at && a.generation == b.generation;
}

static int is_null(nbcoll_request q)
{
    return same(q, NBCOLL_REQUEST_NULL);
}

/* Two broadcasts on rank 0: the first has ended, unreported; the second is active. */
static void one_ended_one_active(world *w, int value[4], nbcoll_request q[2])
{
    nbcoll_request other;

    q[0] = start(w, 0, &value[0]);
    q[1] = start(w, 0, &value[1]);
    other = start(w, 1, &value[2]);
    world_finish(w, 1, &other);
    for (int i = 0; i < 10; i++)
        nbcoll_progress(w->context[0]);
}

static void end_the_other(world *w, int *value, nbcoll_request *q)
{
    nbcoll_request both[2] = {*q, start(w, 1, value)};
    world_finish(w, 2, both);
}

/* ---- one request ----------------------------------------------------------------------------------------------- */

static void test_of_an_active_operation_is_pending_and_keeps_the_request(void **state)
{
    int value[2] = {0, 7};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = start(&w, 0, &value[0]), copy = q;
    EXPECT(PENDING, nbcoll_test(&q));
    assert_true(same(q, copy));
    end_the_other(&w, &value[1], &q);
    assert_int_equal(value[0], 7);
    world_close(&w);
}

static void the_end_is_reported_once_and_releases_the_request(void **state)
{
    int value[2] = {0, 7};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = start(&w, 0, &value[0]), copy = q;
    end_the_other(&w, &value[1], &q);
    EXPECT(ERR_REQUEST, nbcoll_test(&copy));
    EXPECT(ERR_REQUEST, nbcoll_wait(&copy, 0));
    EXPECT(ERR_REQUEST, nbcoll_start(&copy));
    EXPECT(ERR_REQUEST, nbcoll_cancel(copy));
    EXPECT(ERR_REQUEST, nbcoll_arrived(copy, 0, 1));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&copy));
    world_close(&w);
}

static void a_stale_request_is_recognised_when_its_place_is_taken_again(void **state)
{
    int value[4] = {0};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request old = start(&w, 0, &value[0]), copy = old;
    end_the_other(&w, &value[1], &old);
    nbcoll_request again = start(&w, 0, &value[2]);
    assert_ptr_equal(again.at, copy.at);
    EXPECT(ERR_REQUEST, nbcoll_test(&copy));
    EXPECT(PENDING, nbcoll_test(&again));
    end_the_other(&w, &value[3], &again);
    world_close(&w);
}

static void a_null_request_has_ended_well(void **state)
{
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    (void)state;
    EXPECT(OK, nbcoll_test(&q));
    EXPECT(OK, nbcoll_wait(&q, 0));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(ERR_NULL, nbcoll_test(NULL));
    EXPECT(ERR_REQUEST, nbcoll_start(&q));
    EXPECT(ERR_REQUEST, nbcoll_cancel(q));
}

static void an_inactive_persistent_request_has_ended_well(void **state)
{
    world w;
    nbcoll_request q;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_test(&q));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_request_free(&q));
    assert_true(is_null(q));
    world_close(&w);
}

/* ---- deadlines ------------------------------------------------------------------------------------------------- */

static void wait_with_timeout_0_looks_once_and_leaves_the_operation_active(void **state)
{
    int value[2] = {0, 7};
    nbcoll_failure failure;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = start(&w, 0, &value[0]), copy = q;
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, 0));
    assert_true(same(q, copy));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    EXPECT(ERR_TIMEOUT, failure.status);
    assert_ptr_equal(failure.comm, w.comm[0]);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 1);
    end_the_other(&w, &value[1], &q);
    assert_int_equal(value[0], 7);
    world_close(&w);
}

/* A clock that only pauses move. */
typedef struct fake {
    uint64_t now, pauses;
    world *w;
    int *value; /* with what rank 1 starts, at the tenth pause */
    nbcoll_request other;
} fake;

static uint64_t fake_now(void *user)
{
    return ((fake *)user)->now;
}

static void fake_pause(void *user, uint64_t looks)
{
    fake *f = user;
    assert_int_equal(looks, ++f->pauses);
    f->now += 1000;
    if (f->value && looks == 10)
        f->other = start(f->w, 1, f->value);
    if (f->value && looks > 10)
        nbcoll_progress(f->w->context[1]);
}

static void wait_gives_up_at_its_deadline_and_not_before(void **state)
{
    fake f = {0};
    nbcoll_context_config config = {.size = sizeof config,
                                    .host = {.user = &f, .now = fake_now, .pause = fake_pause}};
    int value[2] = {0, 7};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, &config, NULL);
    f.pauses = 0;
    nbcoll_request q = start(&w, 0, &value[0]);
    uint64_t before = f.now;
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, 100000));
    assert_int_equal(f.now - before, 100000);
    f.pauses = 0;
    end_the_other(&w, &value[1], &q);
    world_close(&w);
}

static void wait_forever_waits_until_the_operation_ends(void **state)
{
    int value[2] = {0, 7};
    world w;
    fake f = {.w = &w, .value = &value[1]};
    nbcoll_context_config config = {.size = sizeof config,
                                    .host = {.user = &f, .now = fake_now, .pause = fake_pause}};
    (void)state;
    world_open(&w, RANKS, NULL, &config, NULL);
    nbcoll_request q = start(&w, 0, &value[0]);
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    assert_int_equal(value[0], 7);
    assert_true(f.pauses >= 10);
    f.value = NULL;
    world_finish(&w, 1, &f.other);
    world_close(&w);
}

/* Spinning, yielding and sleeping on the wakeup: all of them keep the time. */
static void wait_keeps_real_time(void **state)
{
    const uint64_t timeout = 20000000;
    int value[2] = {0, 7};
    struct timespec a, b;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = start(&w, 0, &value[0]);
    clock_gettime(CLOCK_MONOTONIC, &a);
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, timeout));
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true((uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec >= timeout);
    end_the_other(&w, &value[1], &q);
    world_close(&w);
}

/* ---- several requests ------------------------------------------------------------------------------------------ */

static void wait_all_takes_null_inactive_and_active_requests_of_several_contexts(void **state)
{
    int value[2] = {0, 7};
    nbcoll_request q[4] = {NBCOLL_REQUEST_NULL};
    nbcoll_status s[4];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q[1]));
    q[2] = start(&w, 0, &value[0]);
    q[3] = start(&w, 1, &value[1]);
    EXPECT(OK, nbcoll_wait_all(4, q, s, NBCOLL_FOREVER));
    for (int i = 0; i < 4; i++)
        EXPECT(OK, s[i]);
    assert_true(is_null(q[2]) && is_null(q[3]));
    assert_false(is_null(q[1]));
    assert_int_equal(value[0], 7);
    EXPECT(OK, nbcoll_wait_all(4, q, NULL, 0));
    EXPECT(OK, nbcoll_wait_all(0, NULL, NULL, 0));
    world_close(&w);
}

static void wait_all_returns_the_first_error_in_order(void **state)
{
    int value[4] = {0};
    nbcoll_request q[4], gone;
    nbcoll_status s[4];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    gone = start(&w, 0, &value[2]);
    q[0] = start(&w, 0, &value[0]);
    q[2] = gone;
    end_the_other(&w, &value[3], &gone);
    EXPECT(OK, nbcoll_cancel(q[0]));
    q[1] = q[0];
    q[0] = NBCOLL_REQUEST_NULL;
    nbcoll_progress(w.context[1]); /* rank 1 knows before it starts */
    q[3] = start(&w, 1, &value[1]);
    EXPECT(ERR_CANCELLED, nbcoll_wait_all(4, q, s, NBCOLL_FOREVER));
    EXPECT(OK, s[0]);
    EXPECT(ERR_CANCELLED, s[1]);
    EXPECT(ERR_REQUEST, s[2]);
    EXPECT(ERR_CANCELLED, s[3]);
    world_close(&w);
}

static void test_all_says_what_each_test_would_say(void **state)
{
    int value[4] = {0};
    nbcoll_request q[2], copy;
    nbcoll_status s[2];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    one_ended_one_active(&w, value, q);
    copy = q[0];
    s[0] = s[1] = NBCOLL_ERR_ABI;
    EXPECT(PENDING, nbcoll_test_all(2, q, s));
    EXPECT(OK, s[0]);
    EXPECT(PENDING, s[1]);
    assert_true(same(q[0], copy)); /* nothing is released before all have ended */
    EXPECT(ERR_TIMEOUT, nbcoll_wait_all(2, q, s, 0));
    EXPECT(OK, s[0]);
    EXPECT(PENDING, s[1]);
    nbcoll_request other = start(&w, 1, &value[3]);
    world_finish(&w, 1, &other);
    for (int i = 0; i < 10; i++)
        nbcoll_progress(w.context[0]);
    EXPECT(OK, nbcoll_test_all(2, q, s));
    assert_true(is_null(q[0]) && is_null(q[1]));
    world_close(&w);
}

/* Two allreduces, at places 0 and 2 rank 0's end of them, at 1 and 3 rank 1's. A context is progressed where one of its
 * requests is active: at place 2 that ends the one at place 0, which was active when it was looked at. */
static void test_all_ends_when_its_statuses_all_say_an_end(void **state)
{
    enum { COUNT = 5000 };
    static int32_t data[2 * RANKS][COUNT];
    nbcoll_status s, statuses[2 * RANKS];
    nbcoll_request q[2 * RANKS];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int i = 0; i < 2 * RANKS; i++)
        EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, data[i], COUNT, NBCOLL_INT32, NBCOLL_SUM, w.comm[i % 2], &q[i]));
    do {
        int active = 0;
        s = nbcoll_test_all(2 * RANKS, q, statuses);
        for (int i = 0; i < 2 * RANKS; i++)
            active += statuses[i] == NBCOLL_PENDING;
        assert_int_equal(s == NBCOLL_PENDING, active > 0);
    } while (s == NBCOLL_PENDING);
    EXPECT(OK, s);
    world_close(&w);
}

static void wait_any_takes_one_that_ended_and_passes_over_the_idle(void **state)
{
    int value[4] = {0};
    nbcoll_request q[4] = {NBCOLL_REQUEST_NULL}, both[2];
    size_t index = 9;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q[1]));
    one_ended_one_active(&w, value, both);
    q[2] = both[1];
    q[3] = both[0];
    EXPECT(OK, nbcoll_wait_any(4, q, &index, NBCOLL_FOREVER));
    assert_int_equal(index, 3);
    assert_true(is_null(q[3]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(4, q, &index, 1000));
    assert_int_equal(index, 4);
    end_the_other(&w, &value[3], &q[2]);
    q[2] = NBCOLL_REQUEST_NULL;
    EXPECT(OK, nbcoll_wait_any(4, q, &index, NBCOLL_FOREVER));
    assert_int_equal(index, 4);
    world_close(&w);
}

static void wait_some_takes_all_that_ended_in_rising_order(void **state)
{
    int value[8] = {0};
    nbcoll_request q[6] = {NBCOLL_REQUEST_NULL}, both[2], later[2];
    size_t ended = 9, indices[6];
    nbcoll_status s[6];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    one_ended_one_active(&w, value, both);
    q[1] = both[0];
    q[3] = both[1];
    q[5] = start(&w, 0, &value[4]);
    EXPECT(OK, nbcoll_cancel(q[5])); /* ends at once: nobody has anything of it */
    EXPECT(ERR_CANCELLED, nbcoll_wait_some(6, q, &ended, indices, s, NBCOLL_FOREVER));
    assert_int_equal(ended, 2);
    assert_int_equal(indices[0], 1);
    assert_int_equal(indices[1], 5);
    EXPECT(OK, s[0]);
    EXPECT(OK, s[1]);
    EXPECT(PENDING, s[3]);
    EXPECT(ERR_CANCELLED, s[5]);
    assert_true(is_null(q[1]) && is_null(q[5]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_some(6, q, &ended, indices, s, 0));
    assert_int_equal(ended, 0);
    EXPECT(PENDING, s[3]);
    nbcoll_progress(w.context[1]); /* rank 1 knows of it before it starts */
    later[0] = start(&w, 1, &value[3]);
    later[1] = start(&w, 1, &value[5]);
    world_settle(&w, 2, later, s);
    EXPECT(OK, s[0]);
    EXPECT(ERR_CANCELLED, s[1]);
    EXPECT(OK, nbcoll_wait_some(6, q, &ended, indices, NULL, NBCOLL_FOREVER));
    assert_int_equal(ended, 1);
    assert_int_equal(indices[0], 3);
    EXPECT(OK, nbcoll_wait_some(6, q, &ended, indices, s, NBCOLL_FOREVER));
    assert_int_equal(ended, 0);
    world_close(&w);
}

static void the_plurals_refuse_null_arrays(void **state)
{
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    size_t n = 0;
    (void)state;
    EXPECT(ERR_NULL, nbcoll_test_all(1, NULL, NULL));
    EXPECT(ERR_NULL, nbcoll_wait_all(1, NULL, NULL, 0));
    EXPECT(ERR_NULL, nbcoll_wait_any(1, NULL, &n, 0));
    EXPECT(ERR_NULL, nbcoll_wait_any(1, &q, NULL, 0));
    EXPECT(ERR_NULL, nbcoll_wait_some(1, NULL, &n, &n, NULL, 0));
    EXPECT(ERR_NULL, nbcoll_wait_some(1, &q, NULL, &n, NULL, 0));
    EXPECT(ERR_NULL, nbcoll_wait_some(1, &q, &n, NULL, NULL, 0));
}

/* One thread that waits for requests of several contexts steps them all: it must not sleep for one of them while
 * another has work. The transfer needs thousands of looks; a sleep gives the core away of its own accord. */
static void wait_all_over_several_contexts_does_not_sleep(void **state)
{
    enum { BYTES = 1 << 20 };
    static unsigned char data[RANKS][BYTES];
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_NO_BULK, .depth = 1,
                                       .payload = 256};
    nbcoll_request q[RANKS];
    struct rusage before, after;
    world w;
    (void)state;
    world_open(&w, RANKS, &loopback, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(data[r], BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
    assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
    EXPECT(OK, nbcoll_wait_all(RANKS, q, NULL, NBCOLL_FOREVER));
    assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
    assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, 100);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_an_active_operation_is_pending_and_keeps_the_request),
        cmocka_unit_test(the_end_is_reported_once_and_releases_the_request),
        cmocka_unit_test(a_stale_request_is_recognised_when_its_place_is_taken_again),
        cmocka_unit_test(a_null_request_has_ended_well),
        cmocka_unit_test(an_inactive_persistent_request_has_ended_well),
        cmocka_unit_test(wait_with_timeout_0_looks_once_and_leaves_the_operation_active),
        cmocka_unit_test(wait_gives_up_at_its_deadline_and_not_before),
        cmocka_unit_test(wait_forever_waits_until_the_operation_ends),
        cmocka_unit_test(wait_keeps_real_time),
        cmocka_unit_test(wait_all_takes_null_inactive_and_active_requests_of_several_contexts),
        cmocka_unit_test(wait_all_returns_the_first_error_in_order),
        cmocka_unit_test(test_all_says_what_each_test_would_say),
        cmocka_unit_test(test_all_ends_when_its_statuses_all_say_an_end),
        cmocka_unit_test(wait_any_takes_one_that_ended_and_passes_over_the_idle),
        cmocka_unit_test(wait_some_takes_all_that_ended_in_rising_order),
        cmocka_unit_test(the_plurals_refuse_null_arrays),
        cmocka_unit_test(wait_all_over_several_contexts_does_not_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
