/* SPDX-License-Identifier: BSD-3-Clause
 * A call that equals an earlier one builds no schedule, and still does what its own arguments say: in place or not,
 * refused or not, with host types whose address was another one's and arrays whose contents have changed, whatever else
 * was called in between, and after its schedule has left the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "works.h"

enum { RANKS = 4, COUNT = 5 };

static void open_world(world *w, uint32_t schedules)
{
    nbcoll_comm_config comm = {.size = sizeof comm, .slots = 4, .cells = 8, .schedules = schedules,
                               .eager = 256, .large = 2048};
    world_open(w, RANKS, NULL, NULL, &comm);
}

static uint64_t built(const world *w, int rank)
{
    nbcoll_schedules is = {.size = sizeof is};
    EXPECT(OK, nbcoll_comm_schedules(w->comm[rank], &is));
    return is.built;
}

static operation of(nbcoll_operation what, size_t count)
{
    return (operation){.what = what, .count = count, .how = {NBCOLL_INT64, NBCOLL_SUM}};
}

static void a_call_like_an_earlier_one_builds_nothing(void **state)
{
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (int in_place = 0; in_place < 2; in_place++) {
            operation o = of((nbcoll_operation)what, COUNT);
            world w;
            o.in_place = in_place;
            open_world(&w, 16);
            for (uint64_t seed = 0; seed < 4; seed++) { /* other buffers, with other inputs */
                o.seed = is_v(o.what) ? 0 : seed;
                all_perform(&w, &o, w.comm, RANKS);
            }
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(built(&w, r), 1);
            world_close(&w);
        }
}

static void a_call_is_refused_whatever_was_called_before(void **state)
{
    int64_t in[COUNT] = {0}, out[RANKS * COUNT];
    nbcoll_request request[RANKS], none;
    world w;

    (void)state;
    open_world(&w, 16);
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallreduce(in, &out[r * COUNT], COUNT, NBCOLL_INT64, NBCOLL_BAND, w.comm[r],
                                         &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(&out[r * COUNT], COUNT, NBCOLL_INT64, 1, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
    }
    nbcoll_comm *comm = w.comm[0];
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(NULL, out, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, NULL, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, in, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, NBCOLL_IN_PLACE, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, COUNT, NBCOLL_DOUBLE, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, COUNT, NBCOLL_INT64, NBCOLL_OP_COUNT, comm, &none));
    EXPECT(ERR_TYPE, nbcoll_iallreduce(in, out, COUNT, NBCOLL_TYPE_COUNT, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_COUNT, nbcoll_iallreduce(in, out, SIZE_MAX / 4, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_ROOT, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, RANKS, comm, &none));
    EXPECT(ERR_ROOT, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, -1, comm, &none));
    EXPECT(ERR_NULL, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, 1, comm, NULL));
    EXPECT(ERR_NULL, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, 1, NULL, &none));
    assert_int_equal(built(&w, 0), 2);
    world_close(&w);
}

/* ---- what may change behind an address ------------------------------------------------------------------------- */

static void an_array_with_other_contents_is_another_call(void **state)
{
    size_t counts[RANKS], displs[RANKS];
    int64_t in[RANKS][RANKS], out[RANKS][RANKS * RANKS];
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    open_world(&w, 16);
    for (int turn = 0; turn < RANKS; turn++) { /* rank r gives 1 + (r + turn) % RANKS elements */
        for (int r = 0; r < RANKS; r++) {
            counts[r] = 1 + (size_t)(r + turn) % RANKS;
            displs[r] = (size_t)((r + turn) % RANKS) * RANKS;
            for (int i = 0; i < RANKS; i++)
                in[r][i] = turn * 100 + r * 10 + i;
        }
        memset(out, 0, sizeof out);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallgatherv(in[r], out[r], counts, displs, NBCOLL_INT64, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (int from = 0; from < RANKS; from++)
                for (size_t i = 0; i < RANKS; i++)
                    assert_int_equal(out[r][displs[from] + i], i < counts[from] ? in[from][i] : 0);
    }
    world_close(&w);
}

static nbcoll_status multiply(void *user, void *result, const void *left, const void *right, size_t count,
                              nbcoll_type type)
{
    (void)type;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)result)[i] = ((const int64_t *)left)[i] * ((const int64_t *)right)[i] + *(int64_t *)user;
    return NBCOLL_OK;
}

static void a_descriptor_at_the_address_of_another_is_another_one(void **state)
{
    nbcoll_host_type type = {.size = sizeof type};
    int64_t plus;
    nbcoll_host_op op = {.size = sizeof op, .combine = multiply, .user = &plus, .commutative = 1};
    world w;

    (void)state;
    open_world(&w, 16);
    for (int n = 1; n <= 3; n++) { /* elements of n numbers; plus 0, 1, 2 */
        int64_t data[RANKS][3], sum[RANKS];
        nbcoll_request request[RANKS];
        type.extent = (size_t)n * sizeof(int64_t);
        plus = n - 1;
        for (int i = 0; i < 2; i++) {
            for (int r = 0; r < RANKS; r++)
                for (int k = 0; k < 3; k++)
                    data[r][k] = r ? -1 : k + 7;
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, nbcoll_ibcast(data[r], 1, nbcoll_type_of(&type), 0, w.comm[r], &request[r]));
            world_finish(&w, RANKS, request);
            for (int r = 1; r < RANKS; r++)
                for (int k = 0; k < 3; k++)
                    assert_int_equal(data[r][k], k < n ? k + 7 : -1);
            for (int r = 0; r < RANKS; r++) {
                sum[r] = 0;
                EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, &sum[r], 1, NBCOLL_INT64, nbcoll_op_of(&op), w.comm[r],
                                             &request[r]));
            }
            world_finish(&w, RANKS, request);
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(sum[r] > 0, plus > 0);
        }
    }
    world_close(&w);
}

/* ---- several calls --------------------------------------------------------------------------------------------- */

static void many_calls_in_turn_do_each_their_own(void **state)
{
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, COUNT);
    world w;

    (void)state;
    open_world(&w, 16); /* fewer than there are calls */
    for (size_t i = 0; i < 200; i++) {
        sum.seed = bcast.seed = i;
        sum.count = i % 67;
        bcast.count = i % 61;
        all_perform(&w, &sum, w.comm, RANKS);
        all_perform(&w, &bcast, w.comm, RANKS);
    }
    world_close(&w);
}

/* Each run builds its schedule anew: the sanitizer sees who uses an old one. */
static void a_schedule_that_has_left_the_cache_is_built_again(void **state)
{
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, COUNT);
    world w;

    (void)state;
    open_world(&w, 1);
    for (unsigned i = 0; i < 3; i++) {
        all_perform(&w, &sum, w.comm, RANKS);
        all_perform(&w, &bcast, w.comm, RANKS);
        assert_int_equal(built(&w, 2), 2 * i + 2);
    }
    world_close(&w);
}

/* A request that still runs it holds an evicted schedule. */
static void an_evicted_schedule_ends_its_run(void **state)
{
    int64_t data[RANKS] = {5}, other[RANKS] = {6};
    nbcoll_request request[RANKS], second[RANKS];
    world w;

    (void)state;
    open_world(&w, 1);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(&data[r], 1, NBCOLL_INT64, 0, w.comm[r], &request[r]));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(&other[r], 1, NBCOLL_INT64, 1, w.comm[r], &second[r]));
    world_finish(&w, RANKS, request);
    world_finish(&w, RANKS, second);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_schedules is = {.size = sizeof is};
        EXPECT(OK, nbcoll_comm_schedules(w.comm[r], &is));
        assert_int_equal(is.kept, 1);
        assert_int_equal(data[r], 5);
    }
    world_close(&w);
}

static void a_call_like_an_earlier_one_is_a_use_of_its_schedule(void **state)
{
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, COUNT);
    operation barrier = of(NBCOLL_OPERATION_BARRIER, 0);
    world w;

    (void)state;
    open_world(&w, 2);
    all_perform(&w, &sum, w.comm, RANKS);
    all_perform(&w, &bcast, w.comm, RANKS);
    all_perform(&w, &sum, w.comm, RANKS); /* the broadcast is now the one used longest ago */
    all_perform(&w, &barrier, w.comm, RANKS);
    all_perform(&w, &sum, w.comm, RANKS);
    assert_int_equal(built(&w, 0), 3);
    all_perform(&w, &bcast, w.comm, RANKS);
    assert_int_equal(built(&w, 0), 4);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_like_an_earlier_one_builds_nothing),
        cmocka_unit_test(a_call_is_refused_whatever_was_called_before),
        cmocka_unit_test(an_array_with_other_contents_is_another_call),
        cmocka_unit_test(a_descriptor_at_the_address_of_another_is_another_one),
        cmocka_unit_test(many_calls_in_turn_do_each_their_own),
        cmocka_unit_test(a_schedule_that_has_left_the_cache_is_built_again),
        cmocka_unit_test(an_evicted_schedule_ends_its_run),
        cmocka_unit_test(a_call_like_an_earlier_one_is_a_use_of_its_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
