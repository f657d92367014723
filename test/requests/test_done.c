/* SPDX-License-Identifier: BSD-3-Clause
 * The callback that tells of an operation's end: when it runs, how often, what it may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 2 };

typedef struct told {
    int times;
    nbcoll_request request;
    nbcoll_status status;
} told;

static void tell(nbcoll_request request, nbcoll_status status, void *user)
{
    told *t = user;
    t->times++;
    t->request = request;
    t->status = status;
}

/* A barrier of both ranks; rank 0's is told to `t`, rank 1's ends. Rank 0 has not looked since. */
static nbcoll_request barrier_told_to(world *w, told *t)
{
    nbcoll_request q, other;
    EXPECT(OK, nbcoll_ibarrier(w->comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, tell, t));
    EXPECT(OK, nbcoll_ibarrier(w->comm[1], &other));
    while (nbcoll_test(&other) == NBCOLL_PENDING)
        ;
    assert_int_equal(t->times, 0);
    return q;
}

/* ---- when ------------------------------------------------------------------------------------------------------ */

static void it_runs_from_progress_and_releases_the_request(void **state)
{
    told t = {0};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = barrier_told_to(&w, &t);
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_int_equal(t.times, 1);
    EXPECT(OK, t.status);
    assert_ptr_equal(t.request.at, q.at);
    assert_int_equal(t.request.generation, q.generation);
    EXPECT(OK, nbcoll_test(&q));
    world_close(&w);
}

static void it_runs_from_test(void **state)
{
    told t = {0};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = barrier_told_to(&w, &t);
    EXPECT(OK, nbcoll_test(&q));
    assert_int_equal(t.times, 1);
    assert_null(q.at);
    world_close(&w);
}

static void it_runs_from_wait(void **state)
{
    told t = {0};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request q = barrier_told_to(&w, &t);
    EXPECT(OK, nbcoll_wait(&q, NBCOLL_FOREVER));
    assert_int_equal(t.times, 1);
    world_close(&w);
}

static void it_runs_from_the_wait_for_another_request(void **state)
{
    told t = {0};
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_request another = NBCOLL_REQUEST_NULL, last;
    barrier_told_to(&w, &t);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &another));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &last));
    EXPECT(OK, nbcoll_wait(&another, NBCOLL_FOREVER));
    assert_int_equal(t.times, 1);
    EXPECT(OK, nbcoll_wait(&last, NBCOLL_FOREVER));
    world_close(&w);
}

static void set_after_the_end_it_runs_at_the_next_progress(void **state)
{
    told t = {0};
    world w;
    nbcoll_request q;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q)); /* of one rank: it has ended */
    EXPECT(OK, nbcoll_on_done(q, tell, &t));
    assert_int_equal(t.times, 0);
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_int_equal(t.times, 1);
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_int_equal(t.times, 1);
    EXPECT(OK, nbcoll_test(&q));
    world_close(&w);
}

static void arm_says_again_while_a_callback_is_to_run(void **state)
{
    told t = {0};
    world w;
    nbcoll_request q;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, tell, &t));
    EXPECT(AGAIN, nbcoll_arm(w.context[0]));
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(OK, nbcoll_arm(w.context[0]));
    world_close(&w);
}

static void a_cancelled_operation_tells_so(void **state)
{
    told t = {0};
    world w;
    nbcoll_request q;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, tell, &t));
    EXPECT(OK, nbcoll_cancel(q));
    for (int i = 0; i < 10; i++)
        world_step(&w);
    assert_int_equal(t.times, 1);
    EXPECT(ERR_CANCELLED, t.status);
    world_close(&w);
}

static void a_null_callback_is_refused(void **state)
{
    world w;
    nbcoll_request q;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(ERR_NULL, nbcoll_on_done(q, NULL, NULL));
    EXPECT(ERR_REQUEST, nbcoll_on_done(NBCOLL_REQUEST_NULL, tell, NULL));
    world_close(&w);
}

/* An operation of rank 0 that has ended and is to be told to `t` by its next progress, and one that is active. */
static void ended_and_active(world *w, told *t, nbcoll_request q[2])
{
    nbcoll_request others[2];
    EXPECT(OK, nbcoll_ibarrier(w->comm[0], &q[0]));
    EXPECT(OK, nbcoll_ibarrier(w->comm[1], &others[0]));
    for (int k = 0; k < 20; k++)
        world_step(w);
    EXPECT(OK, nbcoll_test(&others[0]));
    EXPECT(OK, nbcoll_on_done(q[0], tell, t));
    EXPECT(OK, nbcoll_ibarrier(w->comm[0], &q[1]));
    assert_int_equal(t->times, 0);
}

static void a_wait_for_some_goes_on_when_a_callback_has_reported_the_one_that_had_ended(void **state)
{
    told t = {0};
    nbcoll_request q[2];
    nbcoll_status statuses[2];
    size_t ended, indices[2];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    ended_and_active(&w, &t, q);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_some(2, q, &ended, indices, statuses, 0));
    assert_int_equal(t.times, 1);
    assert_int_equal(ended, 0);
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[0]));
    world_finish(&w, 2, q);
    world_close(&w);
}

static void a_wait_for_any_goes_on_when_a_callback_has_reported_the_one_that_had_ended(void **state)
{
    told t = {0};
    nbcoll_request q[2];
    size_t index;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    ended_and_active(&w, &t, q);
    EXPECT(ERR_TIMEOUT, nbcoll_wait_any(2, q, &index, 0));
    assert_int_equal(t.times, 1);
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[0]));
    world_finish(&w, 2, q);
    world_close(&w);
}

/* ---- persistent requests --------------------------------------------------------------------------------------- */

static void a_persistent_request_tells_of_each_start_once(void **state)
{
    told t[RANKS] = {{0}};
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_barrier_init(w.comm[r], &q[r]));
        EXPECT(OK, nbcoll_on_done(q[r], tell, &t[r]));
    }
    for (int i = 1; i <= 5; i++) {
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_start(&q[r]));
        for (int k = 0; k < 20; k++)
            world_step(&w);
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(t[r].times, i);
            EXPECT(OK, nbcoll_test(&q[r]));
            assert_int_equal(t[r].times, i);
        }
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_request_free(&q[r]));
    world_close(&w);
}

/* A start that ends at once must not call back from inside itself: it would do so without end. */
typedef struct again {
    int times, most;
    int deep; /* callbacks on the stack */
} again;

static void start_again(nbcoll_request request, nbcoll_status status, void *user)
{
    again *a = user;
    EXPECT(OK, status);
    assert_int_equal(++a->deep, 1);
    if (++a->times < a->most)
        EXPECT(OK, nbcoll_start(&request));
    a->deep--;
}

static void it_may_start_its_own_request_again(void **state)
{
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        again a[3] = {{0}};
        nbcoll_request q[3];
        world w;
        (void)state;
        world_open(&w, ranks, NULL, NULL, NULL);
        for (int r = 0; r < ranks; r++) {
            a[r].most = 1000;
            EXPECT(OK, nbcoll_barrier_init(w.comm[r], &q[r]));
            EXPECT(OK, nbcoll_on_done(q[r], start_again, &a[r]));
            EXPECT(OK, nbcoll_start(&q[r]));
            assert_int_equal(a[r].times, 0);
        }
        for (int i = 0; i < 100000 && a[ranks - 1].times < 1000; i++)
            world_step(&w);
        for (int r = 0; r < ranks; r++)
            assert_int_equal(a[r].times, 1000);
        world_close(&w);
    }
}

static nbcoll_request freed_in_a_callback;

static void free_it(nbcoll_request request, nbcoll_status status, void *user)
{
    nbcoll_comm *comm = user;
    EXPECT(OK, status);
    EXPECT(OK, nbcoll_request_free(&request));
    EXPECT(OK, nbcoll_ibarrier(comm, &freed_in_a_callback)); /* takes its place in the table */
}

static void it_may_free_its_own_request(void **state)
{
    nbcoll_request q, old;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, free_it, w.comm[0]));
    EXPECT(OK, nbcoll_start(&q));
    old = q;
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(ERR_REQUEST, nbcoll_test(&old));
    assert_ptr_equal(freed_in_a_callback.at, old.at);
    EXPECT(OK, nbcoll_test(&freed_in_a_callback));
    assert_null(freed_in_a_callback.at);
    world_close(&w);
}

/* ---- what else it may do --------------------------------------------------------------------------------------- */

typedef struct chain {
    world *w;
    int rank, left;
    int value[2];
} chain;

static void next_in_chain(nbcoll_request request, nbcoll_status status, void *user)
{
    chain *c = user;
    nbcoll_request q;
    (void)request;
    EXPECT(OK, status);
    assert_int_equal(c->value[0], c->left);
    if (--c->left == 0)
        return;
    c->value[0] = c->rank == 0 ? c->left : -1;
    EXPECT(OK, nbcoll_ibcast(c->value, 1, NBCOLL_INT32, 0, c->w->comm[c->rank], &q));
    EXPECT(OK, nbcoll_on_done(q, next_in_chain, c));
}

static void it_may_start_the_next_operation(void **state)
{
    chain c[3];
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 3, NULL, NULL, NULL);
    for (int r = 0; r < 3; r++) {
        c[r] = (chain){.w = &w, .rank = r, .left = 100, .value = {r == 0 ? 100 : -1}};
        EXPECT(OK, nbcoll_ibcast(c[r].value, 1, NBCOLL_INT32, 0, w.comm[r], &q));
        EXPECT(OK, nbcoll_on_done(q, next_in_chain, &c[r]));
    }
    for (int i = 0; i < 10000 && c[0].left + c[1].left + c[2].left; i++)
        world_step(&w);
    for (int r = 0; r < 3; r++)
        assert_int_equal(c[r].left, 0);
    world_close(&w);
}

static nbcoll_status freeing;

static void free_comm(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    EXPECT(OK, status);
    freeing = nbcoll_comm_free(user);
}

/* Two operations have ended, and the first callback tries to free the communicator of the second. */
static void a_communicator_is_busy_while_a_callback_of_its_is_to_run(void **state)
{
    nbcoll_comm *second;
    nbcoll_request q, p;
    told t = {0};
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_comm_dup(w.comm[0], &second, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_barrier_init(second, &p));
    EXPECT(OK, nbcoll_start(&p));
    EXPECT(OK, nbcoll_on_done(p, tell, &t));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, free_comm, second)); /* runs first: the last one that ended */
    EXPECT(ERR_BUSY, nbcoll_comm_free(second));
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(ERR_BUSY, freeing);
    assert_int_equal(t.times, 1);
    EXPECT(OK, nbcoll_comm_free(second));
    EXPECT(ERR_REQUEST, nbcoll_test(&p));
    world_close(&w);
}

static void a_context_is_busy_while_a_callback_is_to_run_and_runs_it(void **state)
{
    told t = {0};
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_on_done(q, tell, &t));
    EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
    assert_int_equal(t.times, 1);
    world_close(&w);
}

/* Also much later, when others have had its index; but a handle without a callback is stale. */
static void waiting_for_it_is_ok_before_and_after_the_callback(void **state)
{
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    for (int others = 0; others < 200; others += 25) {
        told t = {0};
        nbcoll_request q, plain, copy, other;
        size_t index;
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
        EXPECT(OK, nbcoll_on_done(q, tell, &t));
        copy = q;
        EXPECT(OK, nbcoll_wait(&q, 0));
        assert_int_equal(t.times, 1);
        assert_null(q.at);
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &plain));
        q = plain;
        EXPECT(OK, nbcoll_wait(&q, 0));
        EXPECT(ERR_REQUEST, nbcoll_wait(&plain, 0));
        for (int i = 0; i < others; i++) {
            EXPECT(OK, nbcoll_ibarrier(w.comm[0], &other));
            EXPECT(OK, nbcoll_wait(&other, 0));
        }
        EXPECT(OK, nbcoll_cancel(copy));
        q = copy;
        EXPECT(OK, nbcoll_wait_any(1, &q, &index, 0));
        assert_int_equal(index, 1);
        EXPECT(OK, nbcoll_wait_all(1, &q, NULL, 0));
        assert_null(q.at);
        EXPECT(OK, nbcoll_test(&copy));
        assert_null(copy.at);
    }
    world_close(&w);
}

/* An end that nobody asked for is freed with the context: the leak checker watches. */
static void a_context_frees_ends_that_were_not_reported(void **state)
{
    nbcoll_request q, p;
    nbcoll_comm *second = NULL;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_comm_idup(w.comm[0], &second, &p));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_comm_free(w.comm[0]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_from_progress_and_releases_the_request),
        cmocka_unit_test(it_runs_from_test),
        cmocka_unit_test(it_runs_from_wait),
        cmocka_unit_test(it_runs_from_the_wait_for_another_request),
        cmocka_unit_test(set_after_the_end_it_runs_at_the_next_progress),
        cmocka_unit_test(arm_says_again_while_a_callback_is_to_run),
        cmocka_unit_test(a_cancelled_operation_tells_so),
        cmocka_unit_test(a_null_callback_is_refused),
        cmocka_unit_test(a_wait_for_some_goes_on_when_a_callback_has_reported_the_one_that_had_ended),
        cmocka_unit_test(a_wait_for_any_goes_on_when_a_callback_has_reported_the_one_that_had_ended),
        cmocka_unit_test(a_persistent_request_tells_of_each_start_once),
        cmocka_unit_test(it_may_start_its_own_request_again),
        cmocka_unit_test(it_may_free_its_own_request),
        cmocka_unit_test(it_may_start_the_next_operation),
        cmocka_unit_test(a_communicator_is_busy_while_a_callback_of_its_is_to_run),
        cmocka_unit_test(a_context_is_busy_while_a_callback_is_to_run_and_runs_it),
        cmocka_unit_test(waiting_for_it_is_ok_before_and_after_the_callback),
        cmocka_unit_test(a_context_frees_ends_that_were_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
