/* SPDX-License-Identifier: BSD-3-Clause
 * With NBCOLL_INLINE test and the first look of wait are inline. What they need not call for they answer without
 * progressing; all else is as without.
 */
#define NBCOLL_INLINE
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 2 };

static void count(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request, (void)status;
    ++*(int *)user;
}

/* A persistent barrier on each rank, started and over, not tested. */
static void over(world *w, nbcoll_request q[RANKS])
{
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_barrier_init(w->comm[i], &q[i]));
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_start(&q[i]));
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < RANKS; i++)
            EXPECT(OK, nbcoll_progress(w->context[i]));
}

/* The operation of another request has ended, and whoever comes into the context of rank 0 next tells `times`. */
static void to_be_told(world *w, nbcoll_request q[RANKS], int *times)
{
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_ibarrier(w->comm[i], &q[i]));
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < RANKS; i++)
            EXPECT(OK, nbcoll_progress(w->context[i]));
    EXPECT(OK, nbcoll_on_done(q[0], count, times));
}

static void an_ended_persistent_request_is_told_without_progressing(void **state)
{
    nbcoll_request q[RANKS], other[RANKS];
    int times = 0;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    over(&w, q);
    to_be_told(&w, other, &times);
    EXPECT(OK, nbcoll_test(&q[0]));
    EXPECT(OK, nbcoll_test(&q[0])); /* inactive now */
    EXPECT(OK, nbcoll_wait(&q[0], NBCOLL_FOREVER));
    assert_int_equal(times, 0);
    EXPECT(OK, (nbcoll_test)(&q[0])); /* the function of that name, which comes in */
    assert_int_equal(times, 1);
    EXPECT(OK, nbcoll_test(&other[1]));
    for (int i = 0; i < RANKS; i++) {
        EXPECT(OK, nbcoll_test(&q[i]));
        EXPECT(OK, nbcoll_request_free(&q[i]));
    }
    world_close(&w);
}

static void a_test_of_an_active_request_progresses(void **state)
{
    nbcoll_request q[RANKS];
    int tests = 0;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_barrier_init(w.comm[i], &q[i]));
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_start(&q[i]));
    EXPECT(ERR_REQUEST, nbcoll_start(&q[0])); /* it is active */
    while ((nbcoll_test(&q[0]) == NBCOLL_PENDING) | (nbcoll_test(&q[1]) == NBCOLL_PENDING))
        assert_true(++tests < 100);
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_request_free(&q[i]));
    world_close(&w);
}

static void how_it_ended_is_told_once(void **state)
{
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_start(&q));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, 0));
    EXPECT(OK, nbcoll_cancel(q));
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < RANKS; i++)
            EXPECT(OK, nbcoll_progress(w.context[i]));
    EXPECT(ERR_CANCELLED, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_request_free(&q));
    world_close(&w);
}

static void a_callback_set_after_the_end_is_called(void **state)
{
    nbcoll_request q[RANKS];
    int times = 0;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    over(&w, q);
    EXPECT(OK, nbcoll_on_done(q[0], count, &times));
    EXPECT(OK, nbcoll_test(&q[0]));
    assert_int_equal(times, 1);
    for (int i = 0; i < RANKS; i++) {
        EXPECT(OK, nbcoll_test(&q[i]));
        EXPECT(OK, nbcoll_request_free(&q[i]));
    }
    world_close(&w);
}

static void handles_are_recognised(void **state)
{
    nbcoll_request q[RANKS], none = NBCOLL_REQUEST_NULL;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    over(&w, q);
    EXPECT(OK, nbcoll_test(&none));
    EXPECT(OK, nbcoll_wait(&none, NBCOLL_FOREVER));
    EXPECT(ERR_NULL, nbcoll_test(NULL));
    EXPECT(ERR_NULL, nbcoll_wait(NULL, 0));
    nbcoll_request foreign = {q[1].at, q[0].generation}, stale = q[0];
    EXPECT(ERR_REQUEST, nbcoll_test(&foreign));
    EXPECT(ERR_REQUEST, nbcoll_wait(&foreign, 0));
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_test(&q[i]));
    EXPECT(OK, nbcoll_request_free(&q[0]));
    EXPECT(ERR_REQUEST, nbcoll_test(&stale));
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q[0])); /* in the same place */
    assert_ptr_equal(q[0].at, stale.at);
    EXPECT(ERR_REQUEST, nbcoll_test(&stale));
    EXPECT(ERR_REQUEST, nbcoll_wait(&stale, 0));
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_request_free(&q[i]));
    world_close(&w);
}

/* Inactive, and ended: both are told without a call in the process that made them. */
static void a_forked_handle_is_recognised(void **state)
{
    nbcoll_request q[RANKS];
    int status = 0;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    over(&w, q);
    EXPECT(OK, nbcoll_test(&q[0]));
    pid_t child = fork();
    if (child == 0)
        _exit(nbcoll_test(&q[0]) != NBCOLL_ERR_FORKED || nbcoll_test(&q[1]) != NBCOLL_ERR_FORKED ||
              nbcoll_wait(&q[0], 0) != NBCOLL_ERR_FORKED || nbcoll_start(&q[0]) != NBCOLL_ERR_FORKED);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    EXPECT(OK, nbcoll_test(&q[1]));
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_request_free(&q[i]));
    world_close(&w);
}

/* The block of a request that has gone in lines starts it; it never does what the call would refuse. */
static void a_persistent_request_that_went_before_is_started_through_its_block(void **state)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 1};
    nbcoll_loopback *l;
    nbcoll_endpoint *ep;
    nbcoll_context *c;
    nbcoll_comm *comm;
    nbcoll_request q, stale;
    double from = 0, to = 0;
    (void)state;
    EXPECT(OK, nbcoll_loopback_create(&loopback, &l));
    EXPECT(OK, nbcoll_loopback_open(l, 0, &ep));
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &c));
    EXPECT(OK, nbcoll_comm_create(c, ep, NULL, &comm, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_allreduce_init(&from, &to, 1, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &q));
    assert_null(((nbcoll_start_block *)q.at)->restart); /* it has not gone yet */
    for (from = 1; from < 10; from++) {
        EXPECT(OK, nbcoll_start(&q));
        EXPECT(ERR_REQUEST, nbcoll_start(&q)); /* it has ended, and that has not been reported */
        EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
        assert_true(to == from);
        assert_non_null(((nbcoll_start_block *)q.at)->restart);
        EXPECT(OK, ((nbcoll_start_block *)q.at)->restart((nbcoll_start_block *)q.at));
        EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    }
    stale = q;
    EXPECT(OK, nbcoll_request_free(&q));
    EXPECT(ERR_REQUEST, nbcoll_start(&stale));
    EXPECT(ERR_REQUEST, nbcoll_start(&q));
    EXPECT(ERR_NULL, nbcoll_start(NULL));
    EXPECT(OK, nbcoll_context_free(c));
    EXPECT(OK, nbcoll_loopback_free(l));
}

static void a_request_of_any_threads_context_is_started_by_the_call(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, &config, NULL);
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_barrier_init(w.comm[i], &q[i]));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < RANKS; i++)
            EXPECT(OK, nbcoll_start(&q[i]));
        world_finish(&w, RANKS, q);
        for (int i = 0; i < RANKS; i++)
            assert_null(((nbcoll_start_block *)q[i].at)->restart);
    }
    for (int i = 0; i < RANKS; i++)
        EXPECT(OK, nbcoll_request_free(&q[i]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_persistent_request_that_went_before_is_started_through_its_block),
        cmocka_unit_test(a_request_of_any_threads_context_is_started_by_the_call),
        cmocka_unit_test(an_ended_persistent_request_is_told_without_progressing),
        cmocka_unit_test(a_test_of_an_active_request_progresses),
        cmocka_unit_test(how_it_ended_is_told_once),
        cmocka_unit_test(a_callback_set_after_the_end_is_called),
        cmocka_unit_test(handles_are_recognised),
        cmocka_unit_test(a_forked_handle_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
