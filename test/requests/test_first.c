/* SPDX-License-Identifier: BSD-3-Clause
 * Waits for any or some of an array that was waited for before look at what has ended since, not at all of it. Whatever
 * the program does with the array between them, they return what has ended, nothing else, and all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "world.h"

enum { MOST = 200, ROUNDS = 40 };

/* Rank 1 has an array of barriers, each on a communicator of its own, which rank 0 starts when the test says so. */
typedef struct array {
    world w;
    nbcoll_comm *comm[2][MOST];
    nbcoll_request root[MOST], persistent[MOST], request[MOST];
    int of[MOST];   /* whose operation an entry of the array is; -1: none */
    int sent[MOST]; /* rank 0 has started it */
    int n, active;
} array;

static void open_array(array *a, int n, uint64_t seed)
{
    *a = (array){.n = n};
    nbcoll_loopback_config loopback = world_variant(0, seed);
    world_open(&a->w, 2, &loopback, NULL, NULL);
    a->w.random = seed;
    for (int i = 0; i < n; i++) {
        nbcoll_request made[2];
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(a->w.comm[r], &a->comm[r][i], &made[r]));
        world_finish(&a->w, 2, made);
        EXPECT(OK, nbcoll_barrier_init(a->comm[1][i], &a->persistent[i]));
        a->of[i] = -1;
    }
}

static void close_array(array *a)
{
    for (int i = 0; i < a->n; i++) {
        EXPECT(OK, nbcoll_request_free(&a->persistent[i]));
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_free(a->comm[r][i]));
    }
    world_close(&a->w);
}

static int below(array *a, int n)
{
    return (int)(world_random(&a->w.random) % (uint64_t)n);
}

/* Starts operation `i` at the place `at` of the array, which is free; some as a persistent one. */
static void start_at(array *a, int at, int i)
{
    if (i % 3 == 0) {
        EXPECT(OK, nbcoll_start(&a->persistent[i]));
        a->request[at] = a->persistent[i];
    } else
        EXPECT(OK, nbcoll_ibarrier(a->comm[1][i], &a->request[at]));
    a->of[at] = i;
    a->sent[i] = 0;
    a->active++;
}

/* Rank 0 takes part in some of them, so that they end with one of the next passes of rank 1. */
static void send_some(array *a, int most)
{
    for (int k = 0; k < most; k++) {
        int at = below(a, a->n), i = a->of[at];
        if (i < 0 || a->sent[i])
            continue;
        EXPECT(OK, nbcoll_ibarrier(a->comm[0][i], &a->root[i]));
        a->sent[i] = 1;
    }
    for (int k = 0; k < 4; k++)
        nbcoll_progress(a->w.context[0]);
}

/* The wait has returned the entry: rank 0 has sent, and so it is over there, too. */
static void took(array *a, size_t at)
{
    assert_in_range(at, 0, a->n - 1);
    int i = a->of[at];
    assert_true(i >= 0 && a->sent[i]);
    world_finish(&a->w, 1, &a->root[i]);
    a->request[at] = NBCOLL_REQUEST_NULL; /* a persistent one may come in elsewhere */
    a->of[at] = -1;
    a->active--;
}

/* Leaves the array as programs do: entries change places, one is tested, others are started in free places. */
static void disturb(array *a)
{
    int from = below(a, a->n), to = below(a, a->n);

    nbcoll_request request = a->request[from];
    a->request[from] = a->request[to];
    a->request[to] = request;
    int of = a->of[from];
    a->of[from] = a->of[to];
    a->of[to] = of;
    int at = below(a, a->n);
    if (a->of[at] >= 0 && nbcoll_test(&a->request[at]) == NBCOLL_OK)
        took(a, (size_t)at);
}

static int is_free(const array *a, int i)
{
    for (int at = 0; at < a->n; at++)
        if (a->of[at] == i)
            return 0;
    return 1;
}

/* Waits once. Returns whether it found anything. */
static int wait_once(array *a, uint64_t timeout)
{
    static size_t indices[MOST];
    static nbcoll_status statuses[MOST];
    size_t ended = 1;
    int how = below(a, 3);
    nbcoll_status s =
        how == 0 ? nbcoll_wait_any((size_t)a->n, a->request, indices, timeout)
                 : nbcoll_wait_some((size_t)a->n, a->request, &ended, indices, how == 1 ? NULL : statuses, timeout);

    if (s == NBCOLL_ERR_TIMEOUT)
        return 0;
    EXPECT(OK, s);
    if (how == 0 && indices[0] == (size_t)a->n)
        ended = 0;
    assert_true(ended > 0 || a->active == 0);
    for (size_t i = 0; i < ended; i++) {
        assert_true(i == 0 || indices[i] > indices[i - 1]);
        took(a, indices[i]);
    }
    return ended > 0;
}

static void play(int n, uint64_t seed)
{
    static array a;

    open_array(&a, n, seed);
    for (int i = 0; i < n; i++)
        start_at(&a, i, i);
    for (int round = 0; round < ROUNDS; round++) {
        send_some(&a, below(&a, 4) ? 3 : n); /* at times more than are noted */
        for (int waits = below(&a, 6); waits > 0; waits--)
            wait_once(&a, 0);
        if (below(&a, 2))
            disturb(&a);
        for (int at = 0; at < n && below(&a, 2); at++)
            for (int i = 0; i < n && a.of[at] < 0; i++)
                if (is_free(&a, i))
                    start_at(&a, at, i);
    }
    for (int k = 0; a.active > 0; k++) { /* all of them end, and each wait finds one */
        send_some(&a, n);
        while (wait_once(&a, 0))
            ;
        world_watchdog(&a.w, k < 10000);
    }
    close_array(&a);
}

static void whatever_is_done_with_the_array_all_that_end_are_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        printf("seed %d\n", (int)seed);
        play(seed % 3 == 0 ? MOST : seed % 3 == 1 ? 9 : 70, seed);
    }
}

/* What has ended when it comes into an array that is known, at the place of another one, is found by the first look of
 * a wait that has no time. */
static void what_has_ended_before_it_came_into_the_array_is_found(void **state)
{
    static array a;
    nbcoll_request extra, root;
    size_t index;

    (void)state;
    open_array(&a, 20, 1);
    EXPECT(OK, nbcoll_ibarrier(a.w.comm[1], &extra));
    for (int i = 0; i < a.n; i++)
        start_at(&a, i, i);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(20, a.request, &index, 0));
    EXPECT(OK, nbcoll_ibarrier(a.w.comm[0], &root));
    world_finish(&a.w, 1, &root);
    for (int k = 0; k < 4; k++)
        nbcoll_progress(a.w.context[1]);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(20, a.request, &index, 0)); /* its end is of nobody in the array */
    nbcoll_request kept = a.request[7];
    a.request[7] = extra;
    EXPECT(OK, nbcoll_wait_any(20, a.request, &index, 0));
    assert_int_equal(index, 7);
    a.request[7] = kept;
    while (a.active > 0) {
        send_some(&a, 20);
        while (wait_once(&a, 0))
            ;
    }
    close_array(&a);
}

static void send_operation(array *a, int i)
{
    EXPECT(OK, nbcoll_ibarrier(a->comm[0][i], &a->root[i]));
    a->sent[i] = 1;
    for (int k = 0; k < 4; k++) {
        nbcoll_progress(a->w.context[0]);
        nbcoll_progress(a->w.context[1]);
    }
}

static void what_has_ended_twice_is_told_once(void **state)
{
    static array a;
    size_t index, ended, indices[20];

    (void)state;
    open_array(&a, 20, 1);
    for (int i = 0; i < a.n; i++)
        start_at(&a, i, i);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(20, a.request, &index, 0));
    send_operation(&a, 6);
    EXPECT(OK, nbcoll_test(&a.request[6]));
    world_finish(&a.w, 1, &a.root[6]);
    EXPECT(OK, nbcoll_start(&a.request[6])); /* which is persistent */
    send_operation(&a, 6);
    send_operation(&a, 3);
    EXPECT(OK, nbcoll_wait_some(20, a.request, &ended, indices, NULL, 0));
    assert_int_equal(ended, 2);
    assert_int_equal(indices[0], 3);
    assert_int_equal(indices[1], 6);
    took(&a, 3);
    took(&a, 6);
    while (a.active > 0) {
        send_some(&a, 20);
        while (wait_once(&a, 0))
            ;
    }
    close_array(&a);
}

/* Others of the context have ended, more than the array has, and nobody has been told: what ends in the array is found
 * beside them, and each of them where it comes in. */
static void what_has_ended_beside_the_array_hides_nothing(void **state)
{
    enum { N = 10, OTHERS = 40 };
    static array a;
    size_t index, ended, indices[N];
    nbcoll_request own[OTHERS], root[OTHERS];

    (void)state;
    open_array(&a, N, 1);
    for (int i = 0; i < N; i++)
        start_at(&a, i, i);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(N, a.request, &index, 0));
    for (int i = 0; i < OTHERS; i++) {
        EXPECT(OK, nbcoll_ibarrier(a.w.comm[1], &own[i]));
        EXPECT(OK, nbcoll_ibarrier(a.w.comm[0], &root[i]));
        for (int k = 0; k < 4; k++) {
            nbcoll_progress(a.w.context[0]);
            nbcoll_progress(a.w.context[1]);
        }
        EXPECT(ERR_TIMEOUT, nbcoll_wait_any(N, a.request, &index, 0));
        if (i % 4)
            continue;
        int at = i / 4;
        send_operation(&a, at);
        if (i % 8)
            EXPECT(OK, nbcoll_wait_any(N, a.request, &indices[0], NBCOLL_FOREVER));
        else
            EXPECT(OK, nbcoll_wait_some(N, a.request, &ended, indices, NULL, NBCOLL_FOREVER));
        assert_int_equal(indices[0], at);
        took(&a, indices[0]);
        start_at(&a, at, at);
    }
    for (int i = 0; i < OTHERS; i++) {
        nbcoll_request kept = a.request[i % N];
        a.request[i % N] = own[i];
        EXPECT(OK, nbcoll_wait_any(N, a.request, &index, 0));
        assert_int_equal(index, i % N);
        a.request[i % N] = kept;
    }
    world_finish(&a.w, OTHERS, root);
    while (a.active > 0) {
        send_some(&a, N);
        while (wait_once(&a, 0))
            ;
    }
    close_array(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_done_with_the_array_all_that_end_are_found),
        cmocka_unit_test(what_has_ended_before_it_came_into_the_array_is_found),
        cmocka_unit_test(what_has_ended_twice_is_told_once),
        cmocka_unit_test(what_has_ended_beside_the_array_hides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
