/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent requests: made once, started any number of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 3, COUNT = 100 };

static void it_is_inactive_until_it_is_started_and_after_each_end(void **state)
{
    int64_t send[RANKS][COUNT], recv[RANKS][COUNT];
    nbcoll_request q[RANKS], active[RANKS];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_allreduce_init(send[r], recv[r], COUNT, NBCOLL_INT64, NBCOLL_SUM, w.comm[r], &q[r]));
        EXPECT(OK, nbcoll_test(&q[r]));
        assert_int_equal(nbcoll_comm_active(w.comm[r]), 0);
    }
    for (int start = 0; start < 20; start++) {
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < COUNT; i++)
                send[r][i] = start * 1000 + r * 10 + i;
        for (int r = 0; r < RANKS; r++) {
            EXPECT(OK, nbcoll_start(&q[r]));
            active[r] = q[r];
        }
        world_finish(&w, RANKS, active);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < COUNT; i++)
                assert_int_equal(recv[r][i], 3 * (start * 1000 + i) + 30);
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_request_free(&q[r]));
    world_close(&w);
}

static void starting_an_active_one_is_refused_and_takes_no_tag(void **state)
{
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_barrier_init(w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_start(&q[0]));
    EXPECT(ERR_REQUEST, nbcoll_start(&q[0]));
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 1);
    EXPECT(OK, nbcoll_start(&q[1]));
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, NBCOLL_FOREVER));
    for (int r = 0; r < 2; r++) /* the tags agree: the next one works */
        EXPECT(OK, nbcoll_start(&q[r]));
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, NBCOLL_FOREVER));
    EXPECT(ERR_NULL, nbcoll_start(NULL));
    world_close(&w);
}

static void one_whose_end_is_not_reported_cannot_be_started(void **state)
{
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_start(&q));
    EXPECT(ERR_REQUEST, nbcoll_start(&q));
    EXPECT(OK, nbcoll_test(&q));
    EXPECT(OK, nbcoll_start(&q));
    EXPECT(OK, nbcoll_test(&q));
    world_close(&w);
}

static void freeing_an_active_one_is_busy(void **state)
{
    nbcoll_request q, other;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_start(&q));
    EXPECT(ERR_BUSY, nbcoll_request_free(&q));
    EXPECT(ERR_BUSY, nbcoll_comm_free(w.comm[0]));
    EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other));
    EXPECT(OK, nbcoll_wait(&other, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_request_free(&q));
    assert_null(q.at);
    EXPECT(ERR_REQUEST, nbcoll_request_free(&q));
    EXPECT(ERR_NULL, nbcoll_request_free(NULL));
    world_close(&w);
}

static void one_that_is_not_persistent_is_not_freed(void **state)
{
    nbcoll_request q, other;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&q));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other));
    EXPECT(OK, nbcoll_wait(&other, NBCOLL_FOREVER));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&q));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    world_close(&w);
}

static void it_ends_with_its_communicator(void **state)
{
    nbcoll_request q, copy;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_start(&q));
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_comm_free(w.comm[0]));
    copy = q;
    EXPECT(ERR_REQUEST, nbcoll_test(&copy));
    EXPECT(ERR_REQUEST, nbcoll_start(&q));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&q));
    world_close(&w);
}

static void a_cancelled_one_can_be_started_again(void **state)
{
    nbcoll_request q[2];
    nbcoll_status s[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_barrier_init(w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_start(&q[0]));
    EXPECT(OK, nbcoll_cancel(q[0]));
    EXPECT(OK, nbcoll_progress(w.context[1])); /* rank 1 knows before it starts */
    EXPECT(OK, nbcoll_start(&q[1]));
    EXPECT(ERR_CANCELLED, nbcoll_wait_all(2, q, s, NBCOLL_FOREVER));
    EXPECT(ERR_CANCELLED, s[0]);
    EXPECT(ERR_CANCELLED, s[1]);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_start(&q[r]));
    EXPECT(OK, nbcoll_wait_all(2, q, s, NBCOLL_FOREVER));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_inactive_until_it_is_started_and_after_each_end),
        cmocka_unit_test(starting_an_active_one_is_refused_and_takes_no_tag),
        cmocka_unit_test(one_whose_end_is_not_reported_cannot_be_started),
        cmocka_unit_test(freeing_an_active_one_is_busy),
        cmocka_unit_test(one_that_is_not_persistent_is_not_freed),
        cmocka_unit_test(it_ends_with_its_communicator),
        cmocka_unit_test(a_cancelled_one_can_be_started_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
