/* SPDX-License-Identifier: BSD-3-Clause
 * Bad arguments of calls: each is an error with a name, at the call that got it, and changes nothing. Rank 0 of two
 * makes the bad call alone; afterwards both work, so that it has taken no tag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

static world w;
static int64_t a[100], b[100];

static int open_world(void **state)
{
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    return 0;
}

/* Nothing has changed. */
static int close_world(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    works(&w);
    world_close(&w);
    return 0;
}

/* The three forms of a call return this, and make no request. */
#define ALL_FORMS(status, name, ...)                                                                                   \
    do {                                                                                                               \
        nbcoll_request q = NBCOLL_REQUEST_NULL;                                                                        \
        EXPECT(status, nbcoll_i##name(__VA_ARGS__, &q));                                                               \
        EXPECT(status, nbcoll_##name##_init(__VA_ARGS__, &q));                                                         \
        EXPECT(status, nbcoll_##name(__VA_ARGS__, 0));                                                                 \
        assert_null(q.at);                                                                                             \
    } while (0)

/* ---- root, type, op -------------------------------------------------------------------------------------------- */

static void wrong_root(void **state)
{
    static const int wrong[] = {-1, 2, INT32_MAX, INT32_MIN};
    (void)state;
    for (int i = 0; i < 4; i++) {
        ALL_FORMS(ERR_ROOT, bcast, a, 1, NBCOLL_INT64, wrong[i], w.comm[0]);
        ALL_FORMS(ERR_ROOT, scatter, a, b, 1, NBCOLL_INT64, wrong[i], w.comm[0]);
        ALL_FORMS(ERR_ROOT, gather, a, b, 1, NBCOLL_INT64, wrong[i], w.comm[0]);
        ALL_FORMS(ERR_ROOT, reduce, a, b, 1, NBCOLL_INT64, NBCOLL_SUM, wrong[i], w.comm[0]);
    }
}

static void unknown_type(void **state)
{
    static const nbcoll_type wrong[] = {NBCOLL_TYPE_COUNT, (nbcoll_type)1000};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ALL_FORMS(ERR_TYPE, bcast, a, 1, wrong[i], 0, w.comm[0]);
        ALL_FORMS(ERR_TYPE, scatter, a, b, 1, wrong[i], 0, w.comm[0]);
        ALL_FORMS(ERR_TYPE, gather, a, b, 1, wrong[i], 0, w.comm[0]);
        ALL_FORMS(ERR_TYPE, allgather, a, b, 1, wrong[i], w.comm[0]);
        ALL_FORMS(ERR_TYPE, reduce, a, b, 1, wrong[i], NBCOLL_SUM, 0, w.comm[0]);
        ALL_FORMS(ERR_TYPE, allreduce, a, b, 1, wrong[i], NBCOLL_SUM, w.comm[0]);
    }
}

static void unknown_op(void **state)
{
    (void)state;
    ALL_FORMS(ERR_OP, reduce, a, b, 1, NBCOLL_INT64, NBCOLL_OP_COUNT, 0, w.comm[0]);
    ALL_FORMS(ERR_OP, allreduce, a, b, 1, NBCOLL_INT64, NBCOLL_OP_COUNT, w.comm[0]);
    ALL_FORMS(ERR_OP, allreduce, a, b, 1, NBCOLL_INT64, (nbcoll_op)1000, w.comm[0]);
}

static void op_that_the_type_does_not_have(void **state)
{
    (void)state;
    ALL_FORMS(ERR_OP, allreduce, a, b, 1, NBCOLL_DOUBLE, NBCOLL_BAND, w.comm[0]);
    ALL_FORMS(ERR_OP, reduce, a, b, 1, NBCOLL_FLOAT, NBCOLL_BXOR, 0, w.comm[0]);
    ALL_FORMS(ERR_OP, allreduce, a, b, 1, NBCOLL_BYTE, NBCOLL_SUM, w.comm[0]);
    ALL_FORMS(ERR_OP, reduce, a, b, 1, NBCOLL_BYTE, NBCOLL_MAX, 1, w.comm[0]);
}

/* ---- buffers and counts ---------------------------------------------------------------------------------------- */

static void null_buffers(void **state)
{
    (void)state;
    ALL_FORMS(ERR_BUFFER, bcast, NULL, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, bcast, NULL, 1, NBCOLL_INT64, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, scatter, NULL, b, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, scatter, a, NULL, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, gather, NULL, b, 1, NBCOLL_INT64, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, gather, a, NULL, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allgather, NULL, b, 1, NBCOLL_INT64, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allgather, a, NULL, 1, NBCOLL_INT64, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, reduce, NULL, b, 1, NBCOLL_INT64, NBCOLL_SUM, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, reduce, a, NULL, 1, NBCOLL_INT64, NBCOLL_SUM, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allreduce, NULL, b, 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allreduce, a, NULL, 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[0]);
}

static void in_place_where_there_is_no_place(void **state)
{
    (void)state;
    ALL_FORMS(ERR_BUFFER, bcast, NBCOLL_IN_PLACE, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, scatter, NBCOLL_IN_PLACE, b, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, scatter, a, NBCOLL_IN_PLACE, 1, NBCOLL_INT64, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, gather, NBCOLL_IN_PLACE, b, 1, NBCOLL_INT64, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, gather, a, NBCOLL_IN_PLACE, 1, NBCOLL_INT64, 0, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allgather, a, NBCOLL_IN_PLACE, 1, NBCOLL_INT64, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, reduce, NBCOLL_IN_PLACE, b, 1, NBCOLL_INT64, NBCOLL_SUM, 1, w.comm[0]);
    ALL_FORMS(ERR_BUFFER, allreduce, a, NBCOLL_IN_PLACE, 1, NBCOLL_INT64, NBCOLL_SUM, w.comm[0]);
}

static void count_that_overflows(void **state)
{
    static const size_t wrong[] = {SIZE_MAX, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1}; /* the last: times two ranks */
    (void)state;
    for (int i = 0; i < 3; i++) {
        ALL_FORMS(ERR_COUNT, bcast, a, wrong[i], NBCOLL_INT64, 0, w.comm[0]);
        ALL_FORMS(ERR_COUNT, scatter, a, b, wrong[i], NBCOLL_INT64, 0, w.comm[0]);
        ALL_FORMS(ERR_COUNT, gather, a, b, wrong[i], NBCOLL_INT64, 0, w.comm[0]);
        ALL_FORMS(ERR_COUNT, allgather, a, b, wrong[i], NBCOLL_INT64, w.comm[0]);
        ALL_FORMS(ERR_COUNT, reduce, a, b, wrong[i], NBCOLL_INT64, NBCOLL_SUM, 0, w.comm[0]);
        ALL_FORMS(ERR_COUNT, allreduce, a, b, wrong[i], NBCOLL_INT64, NBCOLL_SUM, w.comm[0]);
    }
}

static void null_communicator_or_request(void **state)
{
    nbcoll_comm *none = NULL;
    (void)state;
    EXPECT(ERR_NULL, nbcoll_barrier(none, 0));
    EXPECT(ERR_NULL, nbcoll_ibarrier(w.comm[0], NULL));
    EXPECT(ERR_NULL, nbcoll_barrier_init(w.comm[0], NULL));
    ALL_FORMS(ERR_NULL, bcast, a, 1, NBCOLL_INT64, 0, none);
    ALL_FORMS(ERR_NULL, scatter, a, b, 1, NBCOLL_INT64, 0, none);
    ALL_FORMS(ERR_NULL, gather, a, b, 1, NBCOLL_INT64, 0, none);
    ALL_FORMS(ERR_NULL, allgather, a, b, 1, NBCOLL_INT64, none);
    ALL_FORMS(ERR_NULL, reduce, a, b, 1, NBCOLL_INT64, NBCOLL_SUM, 0, none);
    ALL_FORMS(ERR_NULL, allreduce, a, b, 1, NBCOLL_INT64, NBCOLL_SUM, none);
    EXPECT(ERR_NULL, nbcoll_ibcast(a, 1, NBCOLL_INT64, 0, w.comm[0], NULL));
    EXPECT(ERR_NULL, nbcoll_bcast_init(a, 1, NBCOLL_INT64, 0, w.comm[0], NULL));
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static void freed_request(void **state)
{
    nbcoll_request q, copy;
    (void)state;
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    copy = q;
    EXPECT(OK, nbcoll_request_free(&q));
    EXPECT(ERR_REQUEST, nbcoll_start(&copy));
    EXPECT(ERR_REQUEST, nbcoll_test(&copy));
    EXPECT(ERR_REQUEST, nbcoll_wait(&copy, NBCOLL_FOREVER));
    EXPECT(ERR_REQUEST, nbcoll_cancel(copy));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&copy));
}

/* A request with the context of another one. */
static void foreign_request(void **state)
{
    nbcoll_request q, other, wrong;
    (void)state;
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    EXPECT(OK, nbcoll_barrier_init(w.comm[1], &other));
    wrong = q;
    wrong.at = other.at;
    EXPECT(ERR_REQUEST, nbcoll_start(&wrong));
    EXPECT(ERR_REQUEST, nbcoll_test(&wrong));
    EXPECT(ERR_REQUEST, nbcoll_wait(&wrong, NBCOLL_FOREVER));
    EXPECT(ERR_REQUEST, nbcoll_wait_all(1, &wrong, NULL, NBCOLL_FOREVER));
    EXPECT(ERR_REQUEST, nbcoll_cancel(wrong));
    EXPECT(ERR_REQUEST, nbcoll_request_free(&wrong));
    EXPECT(OK, nbcoll_request_free(&q));
    EXPECT(OK, nbcoll_request_free(&other));
}

static void request_with_a_wrong_generation(void **state)
{
    nbcoll_request q;
    (void)state;
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &q));
    const uint64_t wrong[] = {0, q.generation - 1, q.generation + 1, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        nbcoll_request other = q;
        other.generation = wrong[i];
        EXPECT(ERR_REQUEST, nbcoll_test(&other));
        EXPECT(ERR_REQUEST, nbcoll_start(&other));
    }
    EXPECT(OK, nbcoll_request_free(&q));
}

/* ---- schedules ------------------------------------------------------------------------------------------------- */

static nbcoll_schedule *schedule(int rank, int ranks, int peer, nbcoll_status expected)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_schedule *s = NULL;
    nbcoll_builder *builder;
    EXPECT(OK, nbcoll_builder_open(&config, &builder));
    nbcoll_add_send(builder, peer, at, 8);
    nbcoll_add_recv(builder, peer, at, 8);
    assert_int_equal(nbcoll_builder_finish(builder, &s), expected);
    return s;
}

static void schedule_with_a_wrong_peer(void **state)
{
    (void)state;
    assert_null(schedule(0, 2, 2, NBCOLL_ERR_RANK));
    assert_null(schedule(0, 2, -1, NBCOLL_ERR_RANK));
    assert_null(schedule(0, 2, 0, NBCOLL_ERR_RANK));
}

static void schedule_for_another_rank_or_size(void **state)
{
    nbcoll_schedule *other_rank = schedule(1, 2, 0, NBCOLL_OK), *other_size = schedule(0, 3, 1, NBCOLL_OK);
    nbcoll_request q;
    (void)state;
    EXPECT(ERR_RANK, nbcoll_schedule_start(other_rank, NULL, a, w.comm[0], &q));
    EXPECT(ERR_RANK, nbcoll_schedule_init(other_rank, NULL, a, w.comm[0], &q));
    EXPECT(ERR_RANK, nbcoll_schedule_start(other_size, NULL, a, w.comm[0], &q));
    EXPECT(ERR_RANK, nbcoll_schedule_init(other_size, NULL, a, w.comm[0], &q));
    EXPECT(OK, nbcoll_schedule_free(other_rank));
    EXPECT(OK, nbcoll_schedule_free(other_size));
}

static void schedule_without_its_buffers(void **state)
{
    nbcoll_schedule *s = schedule(0, 2, 1, NBCOLL_OK);
    nbcoll_request q;
    (void)state;
    EXPECT(ERR_BUFFER, nbcoll_schedule_start(s, NULL, NULL, w.comm[0], &q));
    EXPECT(ERR_BUFFER, nbcoll_schedule_init(s, NULL, NULL, w.comm[0], &q));
    EXPECT(ERR_NULL, nbcoll_schedule_start(NULL, NULL, a, w.comm[0], &q));
    EXPECT(ERR_NULL, nbcoll_schedule_start(s, NULL, a, NULL, &q));
    EXPECT(ERR_NULL, nbcoll_schedule_start(s, NULL, a, w.comm[0], NULL));
    EXPECT(OK, nbcoll_schedule_free(s));
}

static void schedule_started_on_another_context(void **state)
{
    nbcoll_schedule *s = schedule(0, 2, 1, NBCOLL_OK);
    nbcoll_request q, p;
    world other;
    (void)state;
    world_open(&other, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_schedule_init(s, NULL, a, other.comm[0], &q));
    EXPECT(ERR_FOREIGN, nbcoll_schedule_start(s, NULL, a, w.comm[0], &p));
    EXPECT(ERR_FOREIGN, nbcoll_schedule_init(s, NULL, a, w.comm[0], &p));
    EXPECT(OK, nbcoll_request_free(&q));
    works(&other);
    world_close(&other);
    EXPECT(OK, nbcoll_schedule_init(s, NULL, a, w.comm[0], &p)); /* nobody's any more */
    EXPECT(OK, nbcoll_request_free(&p));
    EXPECT(OK, nbcoll_schedule_free(s));
}

static void schedule_freed_while_a_request_holds_it(void **state)
{
    nbcoll_schedule *s = schedule(0, 2, 1, NBCOLL_OK);
    nbcoll_request q;
    (void)state;
    EXPECT(OK, nbcoll_schedule_init(s, NULL, a, w.comm[0], &q));
    EXPECT(ERR_BUSY, nbcoll_schedule_free(s));
    EXPECT(OK, nbcoll_request_free(&q));
    EXPECT(OK, nbcoll_schedule_free(s));
    EXPECT(OK, nbcoll_schedule_free(NULL));
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(wrong_root),
        WITH_WORLD(unknown_type),
        WITH_WORLD(unknown_op),
        WITH_WORLD(op_that_the_type_does_not_have),
        WITH_WORLD(null_buffers),
        WITH_WORLD(in_place_where_there_is_no_place),
        WITH_WORLD(count_that_overflows),
        WITH_WORLD(null_communicator_or_request),
        WITH_WORLD(freed_request),
        WITH_WORLD(foreign_request),
        WITH_WORLD(request_with_a_wrong_generation),
        WITH_WORLD(schedule_with_a_wrong_peer),
        WITH_WORLD(schedule_for_another_rank_or_size),
        WITH_WORLD(schedule_without_its_buffers),
        WITH_WORLD(schedule_started_on_another_context),
        WITH_WORLD(schedule_freed_while_a_request_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
