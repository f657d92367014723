/* SPDX-License-Identifier: BSD-3-Clause
 * A context made with NBCOLL_ANY_THREAD: several threads start, test, wait and cancel on it at the same time. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 2, THREADS = 3, OPERATIONS = 100, AT_ONCE = 40 };

static const uint64_t deadline = 60000000000u;

typedef struct worker {
    pthread_t thread;
    nbcoll_context *context;
    nbcoll_comm *comm; /* of this thread and its like on the other ranks */
    int rank, number;
} worker;

/* A world whose threads each have a communicator of their own, in the one context of their rank. */
static void open_shared(world *w, worker workers[RANKS][THREADS], uint32_t flags)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = flags};
    nbcoll_request q[RANKS];

    world_open(w, RANKS, &loopback, &config, NULL);
    for (int t = 0; t < THREADS; t++) {
        for (int r = 0; r < RANKS; r++) {
            workers[r][t] = (worker){.context = w->context[r], .rank = r, .number = t};
            EXPECT(OK, nbcoll_comm_idup(w->comm[r], &workers[r][t].comm, &q[r]));
        }
        world_finish(w, RANKS, q);
    }
}

static void run_workers(worker workers[RANKS][THREADS], void *(*main)(void *))
{
    for (int r = 0; r < RANKS; r++)
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&workers[r][t].thread, NULL, main, &workers[r][t]), 0);
    for (int r = 0; r < RANKS; r++)
        for (int t = 0; t < THREADS; t++)
            pthread_join(workers[r][t].thread, NULL);
}

/* ---- start, test, wait ----------------------------------------------------------------------------------------- */

static int wait_somehow(nbcoll_request *q, int how)
{
    size_t index;
    switch (how % 4) {
    case 0: return nbcoll_wait(q, deadline) == NBCOLL_OK;
    case 1: return nbcoll_wait_all(1, q, NULL, deadline) == NBCOLL_OK;
    case 2: return nbcoll_wait_any(1, q, &index, deadline) == NBCOLL_OK;
    default: {
        nbcoll_status s;
        while ((s = nbcoll_test(q)) == NBCOLL_PENDING)
            ;
        return s == NBCOLL_OK;
    }
    }
}

static void *start_and_wait(void *argument)
{
    const worker *me = argument;
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t in[50], out[50];
        nbcoll_request q;
        for (int k = 0; k < 50; k++)
            in[k] = me->rank + i + k + me->number;
        EXPECT(OK, nbcoll_iallreduce(in, out, 50, NBCOLL_INT64, NBCOLL_SUM, me->comm, &q));
        assert_true(wait_somehow(&q, i + me->number));
        for (int k = 0; k < 50; k++)
            assert_int_equal(out[k], 2 * (i + k + me->number) + 1);
    }
    return NULL;
}

static void threads_start_and_wait_on_one_context(void **state)
{
    worker workers[RANKS][THREADS];
    world w;
    (void)state;
    open_shared(&w, workers, 0);
    run_workers(workers, start_and_wait);
    world_close(&w);
}

static void threads_start_and_wait_over_a_transport_that_lends(void **state)
{
    worker workers[RANKS][THREADS];
    world w;
    (void)state;
    open_shared(&w, workers, NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_NO_BULK);
    run_workers(workers, start_and_wait);
    world_close(&w);
}

/* The table of requests grows while other threads look into it. */
static void *hold_many(void *argument)
{
    const worker *me = argument;
    nbcoll_request q[AT_ONCE];
    nbcoll_failure failure;
    int value[AT_ONCE];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            value[i] = me->rank ? 0 : i + round;
            EXPECT(OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 0, me->comm, &q[i]));
            nbcoll_progress(me->context);
            nbcoll_comm_active(me->comm);
            EXPECT(OK, nbcoll_last_failure(me->context, &failure));
        }
        for (int i = AT_ONCE; i-- > 0;) {
            EXPECT(OK, nbcoll_wait(&q[i], deadline));
            assert_int_equal(value[i], i + round);
        }
    }
    return NULL;
}

static void threads_hold_many_requests_at_once(void **state)
{
    worker workers[RANKS][THREADS];
    world w;
    (void)state;
    open_shared(&w, workers, 0);
    run_workers(workers, hold_many);
    world_close(&w);
}

/* ---- stale requests -------------------------------------------------------------------------------------------- */

typedef struct contest {
    nbcoll_request request;
    atomic_int won;
} contest;

static void *contend(void *argument)
{
    contest *c = argument;
    nbcoll_request mine = c->request;
    nbcoll_status s = nbcoll_wait(&mine, deadline);
    if (s == NBCOLL_OK)
        atomic_fetch_add(&c->won, 1);
    else
        EXPECT(ERR_REQUEST, s);
    return NULL;
}

/* Copies of one request in several threads: one of them gets the end, the others learn that it is gone. */
static void one_of_several_threads_that_wait_for_a_request_gets_its_end(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, &config, NULL);
    for (int i = 0; i < 50; i++) {
        contest c = {.won = 0};
        pthread_t thread[THREADS];
        nbcoll_request other;
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &c.request));
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&thread[t], NULL, contend, &c), 0);
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other));
        EXPECT(OK, nbcoll_wait(&other, deadline));
        for (int t = 0; t < THREADS; t++)
            pthread_join(thread[t], NULL);
        assert_int_equal(c.won, 1);
    }
    world_close(&w);
}

/* ---- callbacks and cancelling ---------------------------------------------------------------------------------- */

static void count(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    EXPECT(OK, status);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void *start_with_callbacks(void *argument)
{
    const worker *me = argument;
    atomic_int told = 0;
    nbcoll_request q;

    EXPECT(OK, nbcoll_barrier_init(me->comm, &q));
    EXPECT(OK, nbcoll_on_done(q, count, &told));
    for (int i = 1; i <= OPERATIONS; i++) {
        EXPECT(OK, nbcoll_start(&q));
        while (atomic_load(&told) < i) /* any thread's progress may tell */
            nbcoll_progress(me->context);
    }
    EXPECT(OK, nbcoll_request_free(&q));
    return NULL;
}

static void callbacks_run_once_whichever_thread_progresses(void **state)
{
    worker workers[RANKS][THREADS];
    world w;
    (void)state;
    open_shared(&w, workers, 0);
    run_workers(workers, start_with_callbacks);
    world_close(&w);
}

static void *start_and_cancel(void *argument)
{
    const worker *me = argument;
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t in[50] = {0}, out[50];
        nbcoll_request q;
        EXPECT(OK, nbcoll_iallreduce(in, out, 50, NBCOLL_INT64, NBCOLL_SUM, me->comm, &q));
        if (me->rank == i % RANKS)
            EXPECT(OK, nbcoll_cancel(q));
        nbcoll_status s = nbcoll_wait(&q, deadline);
        if (s != NBCOLL_OK)
            EXPECT(ERR_CANCELLED, s);
        nbcoll_status b = nbcoll_barrier(me->comm, deadline);
        EXPECT(OK, b);
    }
    return NULL;
}

static void threads_cancel_on_one_context(void **state)
{
    worker workers[RANKS][THREADS];
    world w;
    (void)state;
    open_shared(&w, workers, NBCOLL_LOOPBACK_LEND);
    run_workers(workers, start_and_cancel);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_start_and_wait_on_one_context),
        cmocka_unit_test(threads_start_and_wait_over_a_transport_that_lends),
        cmocka_unit_test(threads_hold_many_requests_at_once),
        cmocka_unit_test(one_of_several_threads_that_wait_for_a_request_gets_its_end),
        cmocka_unit_test(callbacks_run_once_whichever_thread_progresses),
        cmocka_unit_test(threads_cancel_on_one_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
