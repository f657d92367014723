/* SPDX-License-Identifier: BSD-3-Clause
 * Types and operations of the host's in every collective that takes them: elements with gaps are packed before they
 * travel, combined as packed, and unpacked without touching what is between them; operations that do not commute are
 * combined in rank order; a function that fails ends the operation on all ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

enum { RANKS = 5, COUNT = 300 };

static const nbcoll_comm_config small = {.size = sizeof small, .slots = 4, .cells = 8, .credits = 3, .schedules = 64,
                                         .eager = 256, .large = 2048};

/* An affine map x -> a x + b. Following one after another is associative, but does not commute. */
typedef struct affine {
    uint32_t a;
    uint32_t label; /* the owner's: does not travel */
    uint32_t b;
} affine;

typedef struct packed {
    uint32_t a, b;
} packed;

static nbcoll_status pack(void *user, const void *elements, void *to, size_t count)
{
    const affine *from = elements;
    packed *p = to;
    for (size_t i = 0; i < count; i++)
        p[i] = (packed){from[i].a, from[i].b};
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *from, void *elements, size_t count)
{
    affine *to = elements;
    const packed *p = from;
    for (size_t i = 0; i < count; i++) {
        to[i].a = p[i].a;
        to[i].b = p[i].b;
    }
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static packed then(packed first, packed second)
{
    return (packed){first.a * second.a, first.b * second.a + second.b};
}

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    const packed *l = left, *r = right;
    packed *to = result;
    (void)type;
    for (size_t i = 0; i < count; i++)
        to[i] = then(l[i], r[i]);
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static const nbcoll_host_type affines = {.size = sizeof affines, .extent = sizeof(affine), .packed = sizeof(packed),
                                         .pack = pack, .unpack = unpack};
static const nbcoll_host_type pairs = {.size = sizeof pairs, .extent = sizeof(packed)}; /* travels as it is */
static const nbcoll_host_op following = {.size = sizeof following, .combine = combine};

static packed value(int rank, size_t i)
{
    return (packed){(uint32_t)(rank * 7 + (int)i) * 2 + 1, (uint32_t)(rank + 1) * 1000003u + (uint32_t)i};
}

/* The maps of ranks first..last, one after another. */
static packed chain(int first, int last, size_t i)
{
    packed p = value(first, i);
    for (int r = first + 1; r <= last; r++)
        p = then(p, value(r, i));
    return p;
}

typedef struct share {
    affine send[RANKS * COUNT], recv[RANKS * COUNT];
} share;

static world w;
static share s[RANKS];
static nbcoll_request request[RANKS];

static int open(void **state)
{
    (void)state;
    world_open(&w, RANKS, NULL, NULL, &small);
    return 0;
}

static int close(void **state)
{
    (void)state;
    works(&w);
    world_close(&w);
    return 0;
}

static void fill(void)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < RANKS * COUNT; i++) {
            packed p = value(r, i);
            s[r].send[i] = (affine){p.a, 77, p.b};
            s[r].recv[i] = (affine){1, 99, 2};
        }
}

/* Element i of a receive buffer is that value, or as it was; its label is the owner's in any case. */
static void check(int rank, size_t i, const packed *is)
{
    const affine *e = &s[rank].recv[i];
    assert_int_equal(e->a, is ? is->a : 1);
    assert_int_equal(e->b, is ? is->b : 2);
    assert_int_equal(e->label, 99);
}

/* Starts the call on each rank, whose number is r, and waits. */
#define ON_ALL_RANKS(call)                                                                                             \
    do {                                                                                                               \
        fill();                                                                                                        \
        for (int r = 0; r < RANKS; r++)                                                                                \
            EXPECT(OK, call);                                                                                          \
        world_finish(&w, RANKS, request);                                                                              \
    } while (0)

static void packed_elements_are_moved(void **state)
{
    static const size_t counts[] = {COUNT, 20}; /* both algorithms */
    nbcoll_type t = nbcoll_type_of(&affines);

    (void)state;
    for (int k = 0; k < 2; k++) {
        size_t n = counts[k];
        packed p;
        fill();
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(r == 2 ? s[r].send : s[r].recv, n, t, 2, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (size_t i = 0; i < RANKS * COUNT; i++)
            check(1, i, i < n ? (p = value(2, i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_iscatter(s[r].send, s[r].recv, n, t, 1, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < RANKS * COUNT; i++)
                check(r, i, i < n ? (p = value(1, (size_t)r * n + i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_igather(s[r].send, s[r].recv, n, t, 3, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++) {
            check(3, i, (p = value((int)(i / n), i % n), &p));
            check(0, i, NULL);
        }
        ON_ALL_RANKS(nbcoll_iallgather(s[r].send, s[r].recv, n, t, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++)
            check(4, i, (p = value((int)(i / n), i % n), &p));
        ON_ALL_RANKS(nbcoll_ialltoall(s[r].send, s[r].recv, n, t, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++)
            check(4, i, (p = value((int)(i / n), 4 * n + i % n), &p));
    }
}

static void packed_elements_move_in_place(void **state)
{
    nbcoll_type t = nbcoll_type_of(&affines);
    packed p;

    (void)state;
    fill();
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 10; i++) {
            p = value(r, i);
            s[r].recv[(size_t)r * 10 + i] = (affine){p.a, 99, p.b};
        }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallgather(NBCOLL_IN_PLACE, s[r].recv, 10, t, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < RANKS * 10; i++)
            check(r, i, (p = value((int)(i / 10), i % 10), &p));
    fill();
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iscatter(s[r].send, r == 1 ? NBCOLL_IN_PLACE : s[r].recv, 10, t, 1, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (size_t i = 0; i < 10; i++) {
        check(1, i, NULL);
        check(2, i, (p = value(1, 20 + i), &p));
    }
}

static void packed_blocks_of_known_counts_are_moved(void **state)
{
    size_t counts[RANKS] = {3, 0, 5, 1, 2}, displs[RANKS] = {20, 0, 2, 8, 10};
    nbcoll_type t = nbcoll_type_of(&affines);
    int owner[25];
    packed p;

    (void)state;
    ON_ALL_RANKS(nbcoll_iallgatherv(s[r].send, s[r].recv, counts, displs, t, w.comm[r], &request[r]));
    memset(owner, -1, sizeof owner);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < counts[r]; i++)
            owner[displs[r] + i] = r;
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 25; i++)
            check(r, i, owner[i] < 0 ? NULL : (p = value(owner[i], i - displs[owner[i]]), &p));
}

static void packed_blocks_of_promised_counts_are_moved(void **state)
{
    size_t counts[RANKS] = {3, 0, 5, 1, 2}, displs[RANKS] = {20, 0, 2, 8, 10};
    nbcoll_comm_config promised = small;
    nbcoll_type t = nbcoll_type_of(&affines);
    packed p;

    (void)state;
    promised.flags = NBCOLL_COUNTS_KNOWN;
    world_open(&w, RANKS, NULL, NULL, &promised);
    ON_ALL_RANKS(nbcoll_igatherv(s[r].send, 99, s[r].recv, counts, r == 1 ? displs : NULL, t, 1, w.comm[r],
                                 &request[r]));
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < counts[r]; i++)
            check(1, displs[r] + i, (p = value(r, i), &p));
    check(1, 7, NULL);
    ON_ALL_RANKS(nbcoll_iscatterv(s[r].send, counts, r == 1 ? displs : NULL, r == 1 ? NBCOLL_IN_PLACE : s[r].recv, 99,
                                  t, 1, w.comm[r], &request[r]));
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 6; i++)
            check(r, i, r != 1 && i < counts[r] ? (p = value(1, displs[r] + i), &p) : NULL);
    world_close(&w);
}

static void operations_that_do_not_commute_keep_rank_order(void **state)
{
    static const size_t counts[] = {COUNT, 20, 1};
    size_t parts[RANKS] = {3, 0, 5, 1, 2};
    nbcoll_type t = nbcoll_type_of(&affines);
    nbcoll_op op = nbcoll_op_of(&following);
    packed p;

    (void)state;
    for (int k = 0; k < 3; k++) {
        size_t n = counts[k];
        ON_ALL_RANKS(nbcoll_ireduce(s[r].send, s[r].recv, n, t, op, 2, w.comm[r], &request[r]));
        for (size_t i = 0; i < n; i++)
            check(2, i, (p = chain(0, RANKS - 1, i), &p));
        ON_ALL_RANKS(nbcoll_iallreduce(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (size_t i = 0; i < n; i++)
            check(4, i, (p = chain(0, RANKS - 1, i), &p));
        ON_ALL_RANKS(nbcoll_iscan(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, (p = chain(0, r, i), &p));
        ON_ALL_RANKS(nbcoll_iexscan(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, r ? (p = chain(0, r - 1, i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_ireduce_scatter_block(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, (p = chain(0, RANKS - 1, (size_t)r * n + i), &p));
    }
    ON_ALL_RANKS(nbcoll_ireduce_scatter(s[r].send, s[r].recv, parts, t, op, w.comm[r], &request[r]));
    for (size_t i = 0; i < 6; i++)
        check(2, i, i < 5 ? (p = chain(0, RANKS - 1, 3 + i), &p) : NULL);
}

/* The same elements without gaps travel as they are, also in bound blocks. */
static void contiguous_host_types_need_no_packing(void **state)
{
    static packed send[RANKS][COUNT], recv[RANKS][RANKS * COUNT];
    size_t counts[RANKS], displs[RANKS];
    nbcoll_type t = nbcoll_type_of(&pairs);
    nbcoll_op op = nbcoll_op_of(&following);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        counts[r] = (size_t)r * 40;
        displs[r] = (size_t)r * COUNT;
        for (size_t i = 0; i < COUNT; i++)
            send[r][i] = value(r, i);
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_igatherv(send[r], counts[r], recv[r], counts, displs, t, 1, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(&recv[1][displs[r]], send[r], counts[r] * sizeof(packed));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallreduce(send[r], recv[r], COUNT, t, op, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (size_t i = 0; i < COUNT; i++) {
        packed p = chain(0, RANKS - 1, i);
        assert_memory_equal(&recv[3][i], &p, sizeof p);
    }
}

static void expect_failure(void)
{
    nbcoll_status status[RANKS];
    world_settle(&w, RANKS, request, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], NBCOLL_ERR_CALL);
}

/* Of rank 3 only; no rank can end an allreduce without it. */
static void a_function_that_fails_ends_the_operation_everywhere(void **state)
{
    static nbcoll_host_type broken_type;
    static nbcoll_host_op broken_op;

    (void)state;
    broken_type = affines;
    broken_op = following;
    broken_type.user = broken_op.user = &w; /* not null */
    for (int which = 0; which < 2; which++) {
        fill();
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallreduce(s[r].send, s[r].recv, 4,
                                         nbcoll_type_of(which == 0 && r == 3 ? &broken_type : &affines),
                                         nbcoll_op_of(which == 1 && r == 3 ? &broken_op : &following), w.comm[r],
                                         &request[r]));
        expect_failure();
        works(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_elements_are_moved, open, close),
        cmocka_unit_test_setup_teardown(packed_elements_move_in_place, open, close),
        cmocka_unit_test_setup_teardown(packed_blocks_of_known_counts_are_moved, open, close),
        cmocka_unit_test(packed_blocks_of_promised_counts_are_moved),
        cmocka_unit_test_setup_teardown(operations_that_do_not_commute_keep_rank_order, open, close),
        cmocka_unit_test_setup_teardown(contiguous_host_types_need_no_packing, open, close),
        cmocka_unit_test_setup_teardown(a_function_that_fails_ends_the_operation_everywhere, open, close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
