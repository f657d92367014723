/* SPDX-License-Identifier: BSD-3-Clause
 * The slots of a communicator: how many operations run at once, what waits, and what is said about it. Also blocking
 * calls that run out of time, which leave their operation behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 3 };

static nbcoll_comm_config slots(uint32_t n)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = n;
    return config;
}

/* ---- waiting for a slot ---------------------------------------------------------------------------------------- */

static void an_operation_without_a_slot_is_queued_and_says_who_holds_it(void **state)
{
    const nbcoll_comm_config one = slots(1);
    int a[RANKS] = {1, 2, 3}, b[RANKS] = {4, 5, 6};
    nbcoll_request q[2 * RANKS];
    nbcoll_failure held, failure;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, &one);
    /* Rank 0 waits for rank 2, the root, in the first operation; the second one waits for the first. */
    EXPECT(OK, nbcoll_ibcast(&a[0], 1, NBCOLL_INT32, 2, w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_ibcast(&b[0], 1, NBCOLL_INT32, 1, w.comm[0], &q[1]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 0));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &held));
    EXPECT(ERR_NO_SLOT, nbcoll_wait(&q[1], 0));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    EXPECT(ERR_NO_SLOT, failure.status);
    assert_int_equal(failure.tag, held.tag);
    assert_int_equal(failure.rank, 2);
    assert_ptr_equal(failure.comm, w.comm[0]);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 2);
    for (int r = 1; r < RANKS; r++) {
        EXPECT(OK, nbcoll_ibcast(&a[r], 1, NBCOLL_INT32, 2, w.comm[r], &q[2 * r]));
        EXPECT(OK, nbcoll_ibcast(&b[r], 1, NBCOLL_INT32, 1, w.comm[r], &q[2 * r + 1]));
    }
    world_finish(&w, 2 * RANKS, q);
    assert_int_equal(a[0], 3);
    assert_int_equal(b[0], 5);
    world_close(&w);
}

/* Rank 1 receives from rank 2 and passes it to rank 0: it waits for rank 2 only. */
static void the_one_who_holds_the_slot_is_who_is_waited_for_now(void **state)
{
    const nbcoll_comm_config one = slots(1);
    nbcoll_builder_config config = {.size = sizeof config, .rank = 1, .ranks = RANKS};
    nbcoll_addr data = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_schedule *s;
    nbcoll_builder *b;
    nbcoll_request q[2];
    nbcoll_failure failure;
    int value;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, &one);
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_after(b, nbcoll_add_send(b, 0, data, sizeof value), nbcoll_add_recv(b, 2, data, sizeof value));
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    EXPECT(OK, nbcoll_schedule_start(s, NULL, &value, w.comm[1], &q[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    EXPECT(ERR_NO_SLOT, nbcoll_wait(&q[1], 0));
    EXPECT(OK, nbcoll_last_failure(w.context[1], &failure));
    assert_int_equal(failure.rank, 2);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_cancel(q[i]));
    EXPECT(ERR_CANCELLED, nbcoll_wait(&q[0], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_schedule_free(s));
    world_close(&w);
}

static void a_start_never_blocks(void **state)
{
    enum { MANY = 300 };
    static nbcoll_request q[RANKS][MANY];
    const nbcoll_comm_config two = slots(2);
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, &two);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < MANY; i++)
            EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r][i]));
    assert_int_equal(nbcoll_comm_active(w.comm[0]), MANY);
    world_finish(&w, RANKS * MANY, q[0]);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    world_close(&w);
}

/* ---- every order of waiting ------------------------------------------------------------------------------------ */

enum { OPERATIONS = 4, ORDERS = 24 };

/* The n-th permutation of 0..OPERATIONS-1. */
static void permute(int n, int order[OPERATIONS])
{
    int left[OPERATIONS] = {0, 1, 2, 3};
    for (int i = 0, size = OPERATIONS; i < OPERATIONS; i++, size--) {
        int at = n % size;
        n /= size;
        order[i] = left[at];
        for (int k = at; k + 1 < size; k++)
            left[k] = left[k + 1];
    }
}

typedef struct ordered {
    uint64_t deadline;
    int order[RANKS][OPERATIONS];
} ordered;

/* Starts all, then waits for each in this rank's order. */
static void wait_in_order(world *w, int rank, void *user)
{
    ordered *o = user;
    nbcoll_request q[OPERATIONS];
    int value[OPERATIONS];

    for (int i = 0; i < OPERATIONS; i++) {
        value[i] = rank == i % RANKS ? 100 + i : -1;
        EXPECT(OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, i % RANKS, w->comm[rank], &q[i]));
    }
    for (int i = 0; i < OPERATIONS; i++) {
        EXPECT(OK, nbcoll_wait(&q[o->order[rank][i]], o->deadline));
        assert_int_equal(value[o->order[rank][i]], 100 + o->order[rank][i]);
    }
}

static void more_operations_than_slots_finish_in_every_order_of_waiting(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 3; k++) {
        const nbcoll_comm_config config = slots(k);
        world w;
        world_open(&w, RANKS, NULL, NULL, &config);
        for (int n = 0; n < ORDERS; n++) {
            ordered o = {.deadline = 60000000000u};
            for (int r = 0; r < RANKS; r++)
                permute((n * (r * 5 + 1) + r) % ORDERS, o.order[r]);
            world_threads(&w, wait_in_order, &o);
        }
        world_close(&w);
    }
}

/* The same, stepped: each rank takes the next look at what it waits for when a seeded choice says so. */
static void step_in_order(world *w, int order[RANKS][OPERATIONS])
{
    nbcoll_request q[RANKS][OPERATIONS];
    int value[RANKS][OPERATIONS], at[RANKS] = {0}, left = RANKS * OPERATIONS;

    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < OPERATIONS; i++) {
            value[r][i] = r == i % RANKS ? 100 + i : -1;
            EXPECT(OK, nbcoll_ibcast(&value[r][i], 1, NBCOLL_INT32, i % RANKS, w->comm[r], &q[r][i]));
        }
    for (int looks = 0; left; looks++) {
        int r = (int)(world_random(&w->random) % RANKS);
        world_watchdog(w, looks < 100000);
        if (at[r] == OPERATIONS)
            continue;
        int i = order[r][at[r]];
        if (nbcoll_test(&q[r][i]) == NBCOLL_PENDING)
            continue;
        assert_int_equal(value[r][i], 100 + i);
        at[r]++;
        left--;
    }
}

static void stepped_ranks_finish_in_every_order_of_waiting_too(void **state)
{
    (void)state;
    printf("seed 5\n");
    for (uint32_t k = 1; k <= 3; k++) {
        const nbcoll_comm_config config = slots(k);
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            nbcoll_loopback_config loopback = world_variant(variant, 5);
            world w;
            world_open(&w, RANKS, &loopback, NULL, &config);
            for (int n = 0; n < ORDERS * ORDERS; n++) {
                int order[RANKS][OPERATIONS];
                permute(n % ORDERS, order[0]);
                permute(n / ORDERS, order[1]);
                permute((int)(world_random(&w.random) % ORDERS), order[2]);
                step_in_order(&w, order);
            }
            world_close(&w);
        }
    }
}

/* ---- blocking calls -------------------------------------------------------------------------------------------- */

static void a_blocking_call_that_times_out_leaves_its_buffers_lent(void **state)
{
    enum { BYTES = 1000000 };
    static unsigned char data[BYTES];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    /* The root's data is announced to rank 1, who may take it any time. */
    EXPECT(ERR_TIMEOUT, nbcoll_bcast(data, BYTES, NBCOLL_BYTE, 0, w.comm[0], 1000));
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 1);
    EXPECT(ERR_BUSY, nbcoll_comm_free(w.comm[0]));
    for (int i = 0; i < 10; i++)
        nbcoll_progress(w.context[0]);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 1);
    for (int i = 0; i < 10; i++)
        world_step(&w);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    EXPECT(ERR_CANCELLED, nbcoll_bcast(data, BYTES, NBCOLL_BYTE, 0, w.comm[1], NBCOLL_FOREVER));
    world_close(&w);
}

static void a_blocking_call_that_times_out_without_a_slot_ends_at_once(void **state)
{
    const nbcoll_comm_config one = slots(1);
    nbcoll_request q;
    nbcoll_failure failure;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, &one);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(ERR_NO_SLOT, nbcoll_barrier(w.comm[0], 0));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    EXPECT(ERR_NO_SLOT, failure.status);
    assert_int_equal(failure.rank, 1);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 1);
    nbcoll_request other[3] = {q};
    nbcoll_status s[3];
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other[1]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &other[2]));
    world_settle(&w, 3, other, s);
    EXPECT(OK, s[0]);
    EXPECT(OK, s[1]);
    EXPECT(ERR_CANCELLED, s[2]);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_without_a_slot_is_queued_and_says_who_holds_it),
        cmocka_unit_test(the_one_who_holds_the_slot_is_who_is_waited_for_now),
        cmocka_unit_test(a_start_never_blocks),
        cmocka_unit_test(more_operations_than_slots_finish_in_every_order_of_waiting),
        cmocka_unit_test(stepped_ranks_finish_in_every_order_of_waiting_too),
        cmocka_unit_test(a_blocking_call_that_times_out_leaves_its_buffers_lent),
        cmocka_unit_test(a_blocking_call_that_times_out_without_a_slot_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
