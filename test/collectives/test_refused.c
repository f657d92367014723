/* SPDX-License-Identifier: BSD-3-Clause
 * Bad arguments of the v and w forms, and of what has blocks, are refused at the call with the right name, and nothing
 * has changed: the communicator works as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

enum { RANKS = 2 };

static world w;
static nbcoll_comm *comm;
static nbcoll_request request;
static int32_t buffer[8];
static const size_t counts[RANKS] = {1, 2}, displs[RANKS] = {0, 1}, most[RANKS] = {SIZE_MAX / 4, SIZE_MAX / 4},
                    far[RANKS] = {0, SIZE_MAX / 4}, other[RANKS] = {2, 1}, none[RANKS] = {0, 0};
static const nbcoll_type types[RANKS] = {NBCOLL_INT32, NBCOLL_INT32},
                         unknown[RANKS] = {NBCOLL_INT32, NBCOLL_TYPE_COUNT};

static int open(void **state)
{
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    comm = w.comm[0];
    return 0;
}

static int close(void **state)
{
    (void)state;
    works(&w);
    world_close(&w);
    return 0;
}

static void arrays_must_be_there(void **state)
{
    (void)state;
    EXPECT(ERR_NULL, nbcoll_iscatterv(buffer, NULL, displs, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_NULL, nbcoll_iscatterv(buffer, counts, NULL, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_NULL, nbcoll_igatherv(buffer, 1, buffer, NULL, displs, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_NULL, nbcoll_igatherv(buffer, 1, buffer, counts, NULL, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_NULL, nbcoll_iallgatherv(buffer, buffer, NULL, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_NULL, nbcoll_iallgatherv(buffer, buffer, counts, NULL, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_NULL, nbcoll_ialltoallv(buffer, counts, displs, buffer, counts, NULL, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_NULL, nbcoll_ialltoallv(buffer, NULL, displs, buffer, counts, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_NULL, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, buffer, NULL, displs, NBCOLL_INT32, comm,
                                       &request));
    EXPECT(ERR_NULL, nbcoll_ialltoallw(buffer, counts, displs, NULL, buffer, counts, displs, types, comm, &request));
    EXPECT(ERR_NULL, nbcoll_ialltoallw(NBCOLL_IN_PLACE, NULL, NULL, NULL, buffer, counts, displs, NULL, comm,
                                       &request));
    EXPECT(ERR_NULL, nbcoll_ireduce_scatter(buffer, buffer, NULL, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_NULL, nbcoll_iscan(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, NULL));
    EXPECT(ERR_NULL, nbcoll_iscan(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, NULL, &request));
}

static void buffers_with_elements_must_be_there(void **state)
{
    (void)state;
    EXPECT(ERR_BUFFER, nbcoll_iscatterv(NULL, counts, displs, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iscatterv(buffer, counts, displs, NULL, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_igatherv(NULL, 1, buffer, counts, displs, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_igatherv(buffer, 1, NULL, counts, displs, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iallgatherv(buffer, NULL, counts, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iallgatherv(NULL, buffer, counts, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ialltoall(NULL, buffer, 1, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ialltoall(NBCOLL_IN_PLACE, NULL, 1, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ialltoallv(NULL, counts, displs, buffer, counts, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ireduce_scatter(buffer, NULL, counts, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iexscan(NULL, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iexscan(NBCOLL_IN_PLACE, NULL, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iexscan(buffer, NULL, 1, NBCOLL_INT32, NBCOLL_SUM, w.comm[1], &request));
}

static void in_place_is_for_one_buffer_and_where_it_means_something(void **state)
{
    (void)state;
    EXPECT(ERR_BUFFER, nbcoll_ibcast(NBCOLL_IN_PLACE, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iscatterv(NBCOLL_IN_PLACE, counts, displs, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iscatterv(NULL, NULL, NULL, NBCOLL_IN_PLACE, 1, NBCOLL_INT32, 0, w.comm[1], &request));
    EXPECT(ERR_BUFFER, nbcoll_igatherv(NBCOLL_IN_PLACE, 1, NULL, NULL, NULL, NBCOLL_INT32, 0, w.comm[1], &request));
    EXPECT(ERR_BUFFER, nbcoll_iallgatherv(buffer, NBCOLL_IN_PLACE, counts, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ialltoall(buffer, NBCOLL_IN_PLACE, 1, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iexscan(NBCOLL_IN_PLACE, NBCOLL_IN_PLACE, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
}

/* What would be written while it is still read. With displacements only the program knows. */
static void one_buffer_for_both_is_refused(void **state)
{
    nbcoll_request requests[RANKS];

    (void)state;
    EXPECT(ERR_BUFFER, nbcoll_iscatter(buffer, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_igather(buffer, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iallgather(buffer, buffer, 1, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ialltoall(buffer, buffer, 1, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ireduce(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, 0, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ireduce_scatter(buffer, buffer, counts, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_ireduce_scatter_block(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iscan(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_BUFFER, nbcoll_iexscan(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, w.comm[1], &request));
    /* Not where a rank uses one of them, or none. */
    EXPECT(OK, nbcoll_iscatter(buffer, buffer + 4, 1, NBCOLL_INT32, 0, comm, &requests[0]));
    EXPECT(OK, nbcoll_iscatter(buffer + 5, buffer + 5, 1, NBCOLL_INT32, 0, w.comm[1], &requests[1]));
    world_finish(&w, RANKS, requests);
    EXPECT(OK, nbcoll_iexscan(buffer, buffer, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &requests[0]));
    EXPECT(OK, nbcoll_iexscan(buffer + 1, buffer + 2, 1, NBCOLL_INT32, NBCOLL_SUM, w.comm[1], &requests[1]));
    world_finish(&w, RANKS, requests);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallreduce(buffer, buffer, 0, NBCOLL_INT32, NBCOLL_SUM, w.comm[r], &requests[r]));
    world_finish(&w, RANKS, requests);
}

static nbcoll_status pack(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_OK;
}

static const nbcoll_host_type
    packing = {.size = sizeof packing, .extent = 8, .packed = 4, .pack = pack, .unpack = pack},
    growing = {.size = sizeof growing, .extent = 1, .packed = 8, .pack = pack, .unpack = pack};

static void packed_bytes_that_overflow_are_refused(void **state)
{
    nbcoll_type grows = nbcoll_type_of(&growing), types_grow[RANKS] = {grows, grows};
    static const size_t much[RANKS] = {SIZE_MAX / 8 + 1, 0};

    (void)state;
    EXPECT(ERR_COUNT, nbcoll_iscatterv(buffer, much, displs, buffer, much[0], grows, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_igatherv(buffer, much[0], buffer, NULL, NULL, grows, 0, w.comm[1], &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, buffer, much, displs, grows, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallw(buffer, much, displs, types_grow, buffer, much, displs, types_grow, comm,
                                        &request));
}

static void bytes_that_overflow_are_refused(void **state)
{
    (void)state;
    EXPECT(ERR_COUNT, nbcoll_iscatterv(buffer, most, displs, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_iscatterv(buffer, counts, far, buffer, 1, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_iscatterv(NULL, NULL, NULL, buffer, SIZE_MAX / 2, NBCOLL_INT32, 0, w.comm[1], &request));
    EXPECT(ERR_COUNT, nbcoll_igatherv(buffer, 1, buffer, most, displs, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_iallgatherv(buffer, buffer, most, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_iallgatherv(buffer, buffer, counts, far, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoall(buffer, buffer, SIZE_MAX / 4, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(buffer, most, displs, buffer, most, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallw(buffer, most, displs, types, buffer, most, displs, types, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ireduce_scatter(buffer, buffer, most, NBCOLL_INT32, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ireduce_scatter_block(buffer, buffer, SIZE_MAX / 4, NBCOLL_INT32, NBCOLL_SUM, comm,
                                                   &request));
}

static void what_a_rank_keeps_is_as_long_at_both_ends(void **state)
{
    nbcoll_type packs = nbcoll_type_of(&packing), halves[RANKS] = {packs, packs};
    static const nbcoll_type longs[RANKS] = {NBCOLL_INT64, NBCOLL_INT64};

    (void)state;
    EXPECT(ERR_COUNT, nbcoll_iscatterv(buffer, counts, displs, buffer, 2, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_igatherv(buffer, 2, buffer, counts, displs, NBCOLL_INT32, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(buffer, counts, displs, buffer, other, displs, NBCOLL_INT32, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallw(buffer, counts, displs, types, buffer, other, displs, types, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_igatherv(buffer, 2, buffer, counts, displs, packs, 0, comm, &request));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(buffer, counts, displs, buffer, other, displs, packs, comm, &request));
    /* Counts are equal, and bytes in the buffers: not bytes as they travel. */
    EXPECT(ERR_COUNT, nbcoll_ialltoallw(buffer, counts, displs, longs, buffer, counts, displs, halves, comm, &request));
}

static void types_and_operations_must_fit(void **state)
{
    nbcoll_type packs = nbcoll_type_of(&packing);

    (void)state;
    EXPECT(ERR_TYPE, nbcoll_iscatterv(buffer, counts, displs, buffer, 1, NBCOLL_TYPE_COUNT, 0, comm, &request));
    EXPECT(ERR_TYPE, nbcoll_ialltoallw(buffer, counts, displs, unknown, buffer, counts, displs, types, comm, &request));
    EXPECT(ERR_TYPE, nbcoll_ialltoallw(buffer, counts, displs, types, buffer, counts, displs, unknown, comm, &request));
    EXPECT(ERR_TYPE, nbcoll_iscan(buffer, buffer, 1, NBCOLL_TYPE_COUNT, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_OP, nbcoll_iscan(buffer, buffer, 1, NBCOLL_FLOAT, NBCOLL_BXOR, comm, &request));
    EXPECT(ERR_OP, nbcoll_ireduce_scatter(buffer, buffer, counts, NBCOLL_INT32, NBCOLL_OP_COUNT, comm, &request));
    EXPECT(ERR_OP, nbcoll_iallreduce(buffer, buffer, 1, packs, NBCOLL_SUM, comm, &request));
    EXPECT(ERR_ROOT, nbcoll_igatherv(buffer, 1, buffer, counts, displs, NBCOLL_INT32, RANKS, comm, &request));
    EXPECT(ERR_ROOT, nbcoll_iscatterv(buffer, counts, displs, buffer, 1, NBCOLL_INT32, -1, comm, &request));
}

/* Empty blocks and those of others need no buffers, and what a rank does not use may be anything. */
static void what_is_not_used_may_be_null(void **state)
{
    nbcoll_request requests[RANKS];

    (void)state;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ialltoallv(NULL, none, far, NULL, none, far, NBCOLL_INT32, w.comm[r], &requests[r]));
    world_finish(&w, RANKS, requests);
    EXPECT(OK, nbcoll_igatherv(buffer, 1, buffer + 2, counts, displs, NBCOLL_INT32, 0, comm, &requests[0]));
    EXPECT(OK, nbcoll_igatherv(buffer, 2, NULL, NULL, NULL, NBCOLL_INT32, 0, w.comm[1], &requests[1]));
    world_finish(&w, RANKS, requests);
    EXPECT(OK, nbcoll_iexscan(buffer, NULL, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &requests[0]));
    EXPECT(OK, nbcoll_iexscan(buffer, buffer + 2, 1, NBCOLL_INT32, NBCOLL_SUM, w.comm[1], &requests[1]));
    world_finish(&w, RANKS, requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arrays_must_be_there, open, close),
        cmocka_unit_test_setup_teardown(buffers_with_elements_must_be_there, open, close),
        cmocka_unit_test_setup_teardown(in_place_is_for_one_buffer_and_where_it_means_something, open, close),
        cmocka_unit_test_setup_teardown(one_buffer_for_both_is_refused, open, close),
        cmocka_unit_test_setup_teardown(bytes_that_overflow_are_refused, open, close),
        cmocka_unit_test_setup_teardown(packed_bytes_that_overflow_are_refused, open, close),
        cmocka_unit_test_setup_teardown(what_a_rank_keeps_is_as_long_at_both_ends, open, close),
        cmocka_unit_test_setup_teardown(types_and_operations_must_fit, open, close),
        cmocka_unit_test_setup_teardown(what_is_not_used_may_be_null, open, close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
