/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks as an algorithm's author meets them: what arguments say of known, bound and equal ones, which regions they
 * give, and where a builder takes a bound one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "nbcoll/show.h"

enum { RANKS = 3 };

static const size_t counts[RANKS] = {4, 0, 5}, displs[RANKS] = {10, 7, 1}, most[RANKS] = {SIZE_MAX / 8, 1, 0};

static nbcoll_args args(nbcoll_operation operation)
{
    return (nbcoll_args){.size = sizeof(nbcoll_args), .operation = operation, .reduction = {NBCOLL_INT64, NBCOLL_SUM}};
}

static void check_region(nbcoll_region is, nbcoll_buffer buffer, size_t offset, size_t bytes)
{
    assert_int_equal(is.at.buffer, buffer);
    assert_int_equal(is.at.offset, offset);
    assert_int_equal(is.bytes, bytes);
}

static void known_counts_are_summed(void **state)
{
    nbcoll_args a = args(NBCOLL_OPERATION_ALLGATHERV);

    (void)state;
    a.counts = counts;
    a.displs = displs;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_OK);
    assert_int_equal(a.count, 9);
    assert_int_equal(a.bytes, 72);
    assert_int_equal(a.element, 8);
    assert_ptr_equal(a.displs, displs);
}

static void counts_must_be_there_and_fit(void **state)
{
    nbcoll_args a = args(NBCOLL_OPERATION_ALLGATHERV), before;

    (void)state;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_ERR_NULL);
    a.counts = most;
    before = a;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_ERR_COUNT); /* the sum; each alone fits */
    assert_memory_equal(&a, &before, sizeof a);
    a.counts = counts;
    a.displs = most;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_ERR_COUNT); /* the end of the first */
}

static void arrays_that_a_rank_does_not_use_are_dropped(void **state)
{
    nbcoll_args a = args(NBCOLL_OPERATION_GATHERV);

    (void)state;
    a.root = 1;
    a.counts = counts;
    a.displs = most;
    assert_int_equal(nbcoll_args_complete(&a, 2, RANKS), NBCOLL_OK); /* the displacements are the root's */
    assert_ptr_equal(a.counts, counts);
    assert_null(a.displs);
    a = args(NBCOLL_OPERATION_ALLTOALL);
    a.counts = counts;
    assert_int_equal(nbcoll_args_complete(&a, 2, RANKS), NBCOLL_OK);
    assert_null(a.counts);
    a = args(NBCOLL_OPERATION_ALLTOALLV);
    a.counts = counts;
    assert_int_equal(nbcoll_args_complete(&a, 2, RANKS), NBCOLL_OK); /* bound, unless in place */
    assert_null(a.counts);
    assert_int_equal(a.bytes, 0);
}

static void an_older_struct_is_not_written_beyond_its_end(void **state)
{
    nbcoll_args a = args(NBCOLL_OPERATION_BCAST);

    (void)state;
    a.size = offsetof(nbcoll_args, counts);
    a.counts = counts;
    a.element = 77;
    a.count = 3;
    assert_int_equal(nbcoll_args_complete(&a, 0, RANKS), NBCOLL_OK);
    assert_int_equal(a.size, offsetof(nbcoll_args, counts));
    assert_int_equal(a.bytes, 24);
    assert_ptr_equal(a.counts, counts);
    assert_int_equal(a.element, 77);
}

/* The two regions of rank 2 and `peer`, of complete arguments. */
static void regions(nbcoll_args a, int peer, nbcoll_region *send, nbcoll_region *recv)
{
    nbcoll_builder b = {.rank = 2, .ranks = RANKS};
    assert_int_equal(nbcoll_args_complete(&a, b.rank, b.ranks), NBCOLL_OK);
    *send = nbcoll_send_block(&b, &a, peer);
    *recv = nbcoll_recv_block(&b, &a, peer);
}

static void regions_are_right_for_equal_known_and_bound_blocks(void **state)
{
    nbcoll_region send, recv;
    nbcoll_args a = args(NBCOLL_OPERATION_ALLTOALL);

    (void)state;
    a.count = 6;
    regions(a, 1, &send, &recv);
    check_region(send, NBCOLL_BUFFER_SEND, 48, 48);
    check_region(recv, NBCOLL_BUFFER_RECV, 48, 48);
    a.in_place = 1;
    regions(a, 1, &send, &recv);
    check_region(send, NBCOLL_BUFFER_RECV, 48, 48);
    a = args(NBCOLL_OPERATION_ALLGATHERV);
    a.counts = counts;
    a.displs = displs;
    regions(a, 0, &send, &recv);
    check_region(send, NBCOLL_BUFFER_SEND, 0, 40);
    check_region(recv, NBCOLL_BUFFER_RECV, 80, 32);
    a.in_place = 1;
    regions(a, 0, &send, &recv);
    check_region(send, NBCOLL_BUFFER_RECV, 8, 40);
    a = args(NBCOLL_OPERATION_REDUCE_SCATTER);
    a.counts = counts;
    regions(a, 2, &send, &recv);
    check_region(send, NBCOLL_BUFFER_SEND, 32, 40);
    check_region(recv, NBCOLL_BUFFER_RECV, 0, 40);
    a = args(NBCOLL_OPERATION_ALLTOALLV);
    regions(a, 1, &send, &recv);
    check_region(send, NBCOLL_BUFFER_SEND_BLOCK, 1, 0);
    check_region(recv, NBCOLL_BUFFER_RECV_BLOCK, 1, 0);
    a.in_place = 1;
    a.counts = counts;
    a.displs = displs;
    regions(a, 0, &send, &recv);
    check_region(send, NBCOLL_BUFFER_RECV, 80, 32);
    check_region(recv, NBCOLL_BUFFER_RECV, 80, 32);
}

/* ---- builders -------------------------------------------------------------------------------------------------- */

static nbcoll_status do_nothing(void *user, const nbcoll_memory memory[])
{
    (void)user, (void)memory;
    return NBCOLL_OK;
}

/* The i-th wrong use of a bound block; 0 when there is none. */
static int misuse(nbcoll_builder *b, int i)
{
    nbcoll_addr send = {NBCOLL_BUFFER_SEND_BLOCK, 1}, recv = {NBCOLL_BUFFER_RECV_BLOCK, 1};
    nbcoll_addr beyond = {NBCOLL_BUFFER_SEND_BLOCK, RANKS}, plain = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_region block = nbcoll_span(send, 0);
    nbcoll_part part = {1, 0, block};
    nbcoll_reduction how = {NBCOLL_INT64, NBCOLL_SUM};

    switch (i) {
    case 0: nbcoll_add_send(b, 1, send, 8); return 1;
    case 1: nbcoll_add_send(b, 1, beyond, 0); return 1;
    case 2: nbcoll_add_send(b, 1, recv, 0); return 1;
    case 3: nbcoll_add_recv(b, 1, send, 0); return 1;
    case 4: nbcoll_add_copy(b, plain, send, 0); return 1;
    case 5: nbcoll_add_copy(b, recv, plain, 0); return 1;
    case 6: nbcoll_add_combine(b, recv, send, send, 0, how); return 1;
    case 7: nbcoll_add_expose(b, 1, &part); return 1;
    case 8: nbcoll_add_fetch(b, 1, recv, 0); return 1;
    case 9: nbcoll_add_call(b, do_nothing, NULL, 0, NULL, 1, &block); return 1;
    case 10: nbcoll_add_send(b, 1, (nbcoll_addr){NBCOLL_BUFFER_SEND_PACKED, RANKS}, 0); return 1;
    case 11: nbcoll_add_recv(b, 1, (nbcoll_addr){NBCOLL_BUFFER_RECV_PACKED, 1}, 8); return 1;
    case 12: nbcoll_add_copy(b, (nbcoll_addr){NBCOLL_BUFFER_SEND_PACKED, 1}, plain, 0); return 1;
    default: return 0;
    }
}

static void a_block_is_taken_where_it_can_be_bound_only(void **state)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = RANKS};
    nbcoll_schedule *s;
    nbcoll_builder *b;

    (void)state;
    for (int i = 0;; i++) {
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
        int is_one = misuse(b, i);
        nbcoll_status status = nbcoll_builder_finish(b, &s);
        if (!is_one) {
            assert_int_equal(status, NBCOLL_OK);
            nbcoll_schedule_free(s);
            return;
        }
        assert_int_equal(status, NBCOLL_ERR_ARGUMENT);
    }
}

typedef struct text {
    char bytes[4096];
    size_t used;
} text;

static int keep(void *user, const char *more, size_t bytes)
{
    text *t = user;
    if (bytes > sizeof t->bytes - 1 - t->used)
        return 1;
    memcpy(t->bytes + t->used, more, bytes);
    t->used += bytes;
    return 0;
}

/* What the schedule of the operation's first algorithm on rank 2 says of itself, and its text. */
static nbcoll_schedule_info describe(const nbcoll_args *a, text *t)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 2, .ranks = RANKS};
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcoll_schedule *s;

    *t = (text){{0}, 0};
    assert_int_equal(nbcoll_build_schedule(nbcoll_algorithm_at(a->operation, 0), a, &config, &s), NBCOLL_OK);
    assert_int_equal(nbcoll_schedule_query(s, &info), NBCOLL_OK);
    assert_int_equal(nbcoll_show_text(s, keep, t), NBCOLL_OK);
    nbcoll_schedule_free(s);
    return info;
}

static void bound_schedules_say_so(void **state)
{
    nbcoll_args a = args(NBCOLL_OPERATION_ALLTOALLV);
    text t;
    nbcoll_schedule_info info = describe(&a, &t);

    (void)state;
    assert_int_equal(info.extent[NBCOLL_BUFFER_SEND_BLOCK], RANKS);
    assert_int_equal(info.extent[NBCOLL_BUFFER_RECV_BLOCK], RANKS);
    assert_int_equal(info.extent[NBCOLL_BUFFER_RECV], 0);
    assert_non_null(strstr(t.bytes, "send block 1 -> rank 1"));
    assert_non_null(strstr(t.bytes, "recv block 2 <- send block 2"));
}

static nbcoll_status no_packing(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_OK;
}

static void packed_forms_of_bound_blocks_say_so(void **state)
{
    static const nbcoll_host_type packing = {.size = sizeof packing, .extent = 16, .packed = 8, .pack = no_packing,
                                            .unpack = no_packing};
    nbcoll_args a = args(NBCOLL_OPERATION_ALLTOALLV);
    text t;

    (void)state;
    a.reduction.type = nbcoll_type_of(&packing);
    a.in_place = 1;
    nbcoll_schedule_info info = describe(&a, &t);
    assert_int_equal(info.extent[NBCOLL_BUFFER_SEND_PACKED], RANKS);
    assert_int_equal(info.extent[NBCOLL_BUFFER_RECV_PACKED], RANKS);
    assert_int_equal(info.extent[NBCOLL_BUFFER_SCRATCH], 0);
    assert_non_null(strstr(t.bytes, "CALL reads send block 1, writes packed send block 1"));
    assert_non_null(strstr(t.bytes, "packed send block 1 -> rank 1"));
    assert_non_null(strstr(t.bytes, "packed recv block 2 <- packed send block 2"));
    assert_non_null(strstr(t.bytes, "CALL reads packed recv block 0, writes recv block 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_counts_are_summed),
        cmocka_unit_test(counts_must_be_there_and_fit),
        cmocka_unit_test(arrays_that_a_rank_does_not_use_are_dropped),
        cmocka_unit_test(an_older_struct_is_not_written_beyond_its_end),
        cmocka_unit_test(regions_are_right_for_equal_known_and_bound_blocks),
        cmocka_unit_test(a_block_is_taken_where_it_can_be_bound_only),
        cmocka_unit_test(bound_schedules_say_so),
        cmocka_unit_test(packed_forms_of_bound_blocks_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
