/* SPDX-License-Identifier: BSD-3-Clause
 * What programs written by the MPI standard rely on, as far as no other test shows it: which arguments are not looked
 * at, what may overlap, what a count of zero does, ties, types with the same bytes, and the examples of the standard's
 * section on correctness. docs/mpi.md says which section of the standard each of them is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

enum { RANKS = 4, MOST = 900, ROOT = 1 };

/* Arguments that must not be followed: reading or writing there ends the program. */
static void *volatile nowhere = (void *)64;

static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 1};
static const nbcoll_comm_config small = {.size = sizeof small, .slots = 4, .cells = 8, .schedules = 64,
                                         .eager = 256, .large = 2048};
static const size_t lengths[] = {3, MOST}; /* eager, by the algorithms for small data; announced, by those for large */

static world w;
static nbcoll_request request[RANKS];
static int32_t send[RANKS][RANKS * MOST], recv[RANKS][RANKS * MOST];
static size_t counts[RANKS], displs[RANKS];

/* The i-th element that a rank contributes; what is not written keeps 77. */
static int32_t value(int rank, size_t i)
{
    return (int32_t)(i * 10) + rank;
}

/* Buffers and blocks of n elements, as before each call. */
static void fill(size_t n)
{
    for (int r = 0; r < RANKS; r++) {
        counts[r] = n;
        displs[r] = (size_t)r * n;
        for (size_t i = 0; i < RANKS * MOST; i++) {
            send[r][i] = value(r, i);
            recv[r][i] = 77;
        }
    }
}

/* Starts the call on each rank, whose number is r, and waits. */
#define ON_ALL_RANKS(call)                                                                                             \
    do {                                                                                                               \
        fill(n);                                                                                                       \
        for (int r = 0; r < RANKS; r++) {                                                                              \
            int at_root = r == ROOT;                                                                                   \
            (void)at_root;                                                                                             \
            EXPECT(OK, call);                                                                                          \
        }                                                                                                              \
        world_finish(&w, RANKS, request);                                                                              \
    } while (0)
#define TO(r) w.comm[r], &request[r]

/* Runs `body` over each loopback, with few elements and many. */
static void everywhere(uint32_t flags, void (*body)(size_t n))
{
    nbcoll_comm_config config = small;

    config.flags = flags;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 1);
        world_open(&w, RANKS, &loopback, &contexts, &config);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            body(lengths[k]);
        works(&w);
        world_close(&w);
    }
}

/* recv[rank][at ..) has the n elements of another rank from `first` on. */
static void check(int rank, size_t at, int from, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(recv[rank][at + i], value(from, first + i));
}

/* ---- arguments that do not matter ------------------------------------------------------------------------------ */

static void move_from_and_to_the_root(size_t n)
{
    ON_ALL_RANKS(nbcoll_iscatter(at_root ? send[r] : nowhere, recv[r], n, NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(r, 0, ROOT, (size_t)r * n, n);
    ON_ALL_RANKS(nbcoll_iscatterv(at_root ? send[r] : nowhere, at_root ? counts : nowhere, at_root ? displs : nowhere,
                                  recv[r], n, NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(r, 0, ROOT, (size_t)r * n, n);
    ON_ALL_RANKS(nbcoll_igather(send[r], at_root ? recv[r] : nowhere, n, NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(ROOT, (size_t)r * n, r, 0, n);
    ON_ALL_RANKS(nbcoll_igatherv(send[r], n, at_root ? recv[r] : nowhere, at_root ? counts : nowhere,
                                 at_root ? displs : nowhere, NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(ROOT, (size_t)r * n, r, 0, n);
    ON_ALL_RANKS(nbcoll_ireduce(send[r], at_root ? recv[r] : nowhere, n, NBCOLL_INT32, NBCOLL_MIN, ROOT, TO(r)));
    check(ROOT, 0, 0, 0, n);
}

static void what_matters_at_the_root_is_not_looked_at_elsewhere(void **state)
{
    (void)state;
    everywhere(0, move_from_and_to_the_root);
}

static void move_known_blocks(size_t n)
{
    ON_ALL_RANKS(nbcoll_iscatterv(at_root ? send[r] : nowhere, counts, at_root ? displs : nowhere, recv[r], SIZE_MAX,
                                  NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(r, 0, ROOT, (size_t)r * n, n);
    ON_ALL_RANKS(nbcoll_igatherv(send[r], SIZE_MAX, at_root ? recv[r] : nowhere, counts, at_root ? displs : nowhere,
                                 NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(ROOT, (size_t)r * n, r, 0, n);
}

static void with_known_counts_only_these_are_looked_at(void **state)
{
    (void)state;
    everywhere(NBCOLL_COUNTS_KNOWN, move_known_blocks);
}

static void move_in_place(size_t n)
{
    static const nbcoll_type types[RANKS] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32};
    size_t bytes[RANKS];

    ON_ALL_RANKS(nbcoll_iscatterv(at_root ? send[r] : nowhere, counts, displs, at_root ? NBCOLL_IN_PLACE : recv[r],
                                  at_root ? SIZE_MAX : n, NBCOLL_INT32, ROOT, TO(r)));
    check(2, 0, ROOT, 2 * n, n);
    ON_ALL_RANKS((recv[r][n] = -1, nbcoll_igatherv(at_root ? NBCOLL_IN_PLACE : send[r], at_root ? SIZE_MAX : n, recv[r],
                                                   counts, displs, NBCOLL_INT32, ROOT, TO(r))));
    check(ROOT, 2 * n, 2, 0, n);
    assert_int_equal(recv[ROOT][n], -1); /* its own block stood there */
    ON_ALL_RANKS((memcpy(recv[r], send[r], sizeof recv[r]),
                  nbcoll_ialltoallv(NBCOLL_IN_PLACE, nowhere, nowhere, recv[r], counts, displs, NBCOLL_INT32, TO(r))));
    check(2, 0, 0, 2 * n, n);
    fill(n);
    for (int r = 0; r < RANKS; r++)
        bytes[r] = displs[r] * 4;
    ON_ALL_RANKS((memcpy(recv[r], send[r], sizeof recv[r]),
                  nbcoll_ialltoallw(NBCOLL_IN_PLACE, nowhere, nowhere, nowhere, recv[r], counts, bytes, types, TO(r))));
    check(2, 0, 0, 2 * n, n);
}

static void in_place_what_describes_the_other_buffer_is_not_looked_at(void **state)
{
    (void)state;
    everywhere(0, move_in_place);
}

/* Where the standard leaves rank 0's buffer undefined, it is not touched. */
static void scan_without_oneself(size_t n)
{
    ON_ALL_RANKS(nbcoll_iexscan(send[r], r ? recv[r] : nowhere, n, NBCOLL_INT32, NBCOLL_MAX, TO(r)));
    for (int r = 1; r < RANKS; r++)
        check(r, 0, r - 1, 0, n);
    ON_ALL_RANKS(nbcoll_iexscan(send[r], recv[r], n, NBCOLL_INT32, NBCOLL_MAX, TO(r)));
    for (size_t i = 0; i < RANKS * n; i++)
        assert_int_equal(recv[0][i], 77);
    ON_ALL_RANKS((memcpy(recv[r], send[r], sizeof recv[r]),
                  nbcoll_iexscan(NBCOLL_IN_PLACE, recv[r], n, NBCOLL_INT32, NBCOLL_MAX, TO(r))));
    check(0, 0, 0, 0, RANKS * n);
    for (int r = 1; r < RANKS; r++)
        check(r, 0, r - 1, 0, n);
}

static void the_first_rank_of_an_exscan_keeps_its_buffer(void **state)
{
    (void)state;
    everywhere(0, scan_without_oneself);
}

/* ---- what may overlap, and nothing at all ---------------------------------------------------------------------- */

static void send_everything_twice(size_t n)
{
    static const size_t same[RANKS] = {1, 1, 1, 1};
    static const nbcoll_type types[RANKS] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32};
    size_t bytes[RANKS];

    ON_ALL_RANKS(nbcoll_iscatterv(send[r], counts, same, recv[r], n, NBCOLL_INT32, ROOT, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(r, 0, ROOT, 1, n);
    ON_ALL_RANKS(nbcoll_ialltoallv(send[r], counts, same, recv[r], counts, displs, NBCOLL_INT32, TO(r)));
    for (int r = 0; r < RANKS; r++)
        check(2, (size_t)r * n, r, 1, n);
    fill(n);
    for (int r = 0; r < RANKS; r++)
        bytes[r] = displs[r] * 4;
    ON_ALL_RANKS(nbcoll_ialltoallw(send[r], counts, same, types, recv[r], counts, bytes, types, TO(r)));
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(recv[2] + (size_t)r * n, (char *)send[r] + 1, n * 4);
}

static void blocks_that_are_sent_may_overlap(void **state)
{
    (void)state;
    everywhere(0, send_everything_twice);
    everywhere(NBCOLL_COUNTS_KNOWN, send_everything_twice);
}

/* The host's functions do not get to see null buffers. */
static nbcoll_status never_packs(void *user, const void *from, void *to, size_t n)
{
    (void)user;
    (void)from;
    (void)to;
    (void)n;
    return NBCOLL_ERR_CALL;
}

static nbcoll_status never_combines(void *user, void *result, const void *left, const void *right, size_t n,
                                    nbcoll_type type)
{
    (void)type;
    (void)right;
    return never_packs(user, left, result, n);
}

/* Some ranks in place, if the operation may be. */
static void move_none_of(nbcoll_type t, nbcoll_op op, size_t n)
{
    static const size_t none[RANKS], far[RANKS] = {9, 9, 9, 9};
    const nbcoll_type types[RANKS] = {t, NBCOLL_BYTE, NBCOLL_INT64, NBCOLL_BOOL};

#define MINE (r % 2 ? NBCOLL_IN_PLACE : NULL)
#define ROOTS (at_root ? NBCOLL_IN_PLACE : NULL)
    ON_ALL_RANKS(nbcoll_ibcast(NULL, 0, t, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_iscatter(NULL, ROOTS, 0, t, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_iscatterv(NULL, none, far, ROOTS, 0, t, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_igather(ROOTS, NULL, 0, t, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_igatherv(ROOTS, 0, NULL, none, far, t, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_iallgather(MINE, NULL, 0, t, TO(r)));
    ON_ALL_RANKS(nbcoll_iallgatherv(MINE, NULL, none, far, t, TO(r)));
    ON_ALL_RANKS(nbcoll_ialltoall(MINE, NULL, 0, t, TO(r)));
    ON_ALL_RANKS(nbcoll_ialltoallv(MINE, none, far, NULL, none, far, t, TO(r)));
    ON_ALL_RANKS(nbcoll_ialltoallw(MINE, none, far, types, NULL, none, far, types, TO(r)));
    ON_ALL_RANKS(nbcoll_ireduce(ROOTS, NULL, 0, t, op, ROOT, TO(r)));
    ON_ALL_RANKS(nbcoll_iallreduce(MINE, NULL, 0, t, op, TO(r)));
    ON_ALL_RANKS(nbcoll_ireduce_scatter(MINE, NULL, none, t, op, TO(r)));
    ON_ALL_RANKS(nbcoll_ireduce_scatter_block(MINE, NULL, 0, t, op, TO(r)));
    ON_ALL_RANKS(nbcoll_iscan(MINE, NULL, 0, t, op, TO(r)));
    ON_ALL_RANKS(nbcoll_iexscan(MINE, NULL, 0, t, op, TO(r)));
}

static void move_nothing(size_t n)
{
    static const nbcoll_host_type gaps = {.size = sizeof gaps, .extent = 8, .packed = 4, .pack = never_packs,
                                          .unpack = never_packs};
    static const nbcoll_host_op ops[] = {{.size = sizeof *ops, .combine = never_combines, .commutative = 0},
                                         {.size = sizeof *ops, .combine = never_combines, .commutative = 1}};

    move_none_of(NBCOLL_INT32, NBCOLL_SUM, n);
    for (int i = 0; i < 2; i++)
        move_none_of(nbcoll_type_of(&gaps), nbcoll_op_of(&ops[i]), n);
}

static void counts_may_be_zero_and_buffers_null(void **state)
{
    (void)state;
    everywhere(0, move_nothing);
    everywhere(NBCOLL_COUNTS_KNOWN, move_nothing);
}

/* A rank whose block is empty has no receive buffer to be in place in. */
static void scatter_to_some(size_t n)
{
    size_t some[RANKS] = {n, 0, 2 * n, 0};

    ON_ALL_RANKS((memcpy(recv[r], send[r], sizeof recv[r]),
                  nbcoll_ireduce_scatter(some[r] ? NBCOLL_IN_PLACE : send[r], some[r] ? recv[r] : NULL, some,
                                         NBCOLL_INT32, NBCOLL_MIN, TO(r))));
    check(0, 0, 0, 0, n);
    check(2, 0, 0, n, 2 * n);
}

static void a_reduce_scatter_may_be_in_place_on_some_ranks(void **state)
{
    (void)state;
    everywhere(0, scatter_to_some);
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static void find_extremes(size_t n)
{
    static nbcoll_double_int pairs[RANKS][MOST], least[RANKS][MOST];

    fill(n);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++) /* all have the same value but rank 0; indices fall with the rank */
            pairs[r][i] = (nbcoll_double_int){r ? 1.5 : 2.5, 100 - r};
    ON_ALL_RANKS(nbcoll_iallreduce(pairs[r], least[r], n, NBCOLL_DOUBLE_INT, NBCOLL_MINLOC, TO(r)));
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++) {
            assert_true(least[r][i].value == 1.5); /* NOLINT: exact */
            assert_int_equal(least[r][i].index, 100 - (RANKS - 1));
        }
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++)
            pairs[r][i] = (nbcoll_double_int){r ? 1.5 : 0.5, r};
    ON_ALL_RANKS(nbcoll_ireduce(pairs[r], least[r], n, NBCOLL_DOUBLE_INT, NBCOLL_MAXLOC, ROOT, TO(r)));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(least[ROOT][i].index, 1); /* the first rank that has the greatest value */
}

static void equal_values_go_to_the_lowest_index(void **state)
{
    (void)state;
    everywhere(0, find_extremes);
}

/* Some ranks say how many numbers, others how many bytes. */
static void move_bytes_and_numbers(size_t n)
{
    nbcoll_type pairs[2] = {NBCOLL_INT32, NBCOLL_BYTE};
    size_t length[2] = {n, 4 * n}, bytes[RANKS], places[RANKS];

    fill(n);
    for (int r = 0; r < RANKS; r++) {
        bytes[r] = 4 * counts[r];
        places[r] = 4 * displs[r];
    }
#define COUNT length[r % 2]
#define TYPE pairs[r % 2]
#define COUNTS (r % 2 ? bytes : counts)
#define DISPLS (r % 2 ? places : displs)
    ON_ALL_RANKS(nbcoll_ibcast(at_root ? send[r] : recv[r], COUNT, TYPE, ROOT, TO(r)));
    check(2, 0, ROOT, 0, n);
    ON_ALL_RANKS(nbcoll_iscatter(send[r], recv[r], COUNT, TYPE, ROOT, TO(r)));
    check(2, 0, ROOT, 2 * n, n);
    ON_ALL_RANKS(nbcoll_igather(send[r], recv[r], COUNT, TYPE, ROOT, TO(r)));
    check(ROOT, 2 * n, 2, 0, n);
    ON_ALL_RANKS(nbcoll_iallgather(send[r], recv[r], COUNT, TYPE, TO(r)));
    check(2, n, 1, 0, n);
    ON_ALL_RANKS(nbcoll_ialltoall(send[r], recv[r], COUNT, TYPE, TO(r)));
    check(2, n, 1, 2 * n, n);
    ON_ALL_RANKS(nbcoll_iscatterv(send[r], COUNTS, DISPLS, recv[r], COUNT, TYPE, ROOT, TO(r)));
    check(2, 0, ROOT, 2 * n, n);
    ON_ALL_RANKS(nbcoll_igatherv(send[r], COUNT, recv[r], COUNTS, DISPLS, TYPE, ROOT, TO(r)));
    check(ROOT, 2 * n, 2, 0, n);
    ON_ALL_RANKS(nbcoll_iallgatherv(send[r], recv[r], COUNTS, DISPLS, TYPE, TO(r)));
    check(2, n, 1, 0, n);
    ON_ALL_RANKS(nbcoll_ialltoallv(send[r], COUNTS, DISPLS, recv[r], COUNTS, DISPLS, TYPE, TO(r)));
    check(2, n, 1, 2 * n, n);
}

static void ranks_may_pass_different_types_of_the_same_bytes(void **state)
{
    (void)state;
    everywhere(0, move_bytes_and_numbers);
    everywhere(NBCOLL_COUNTS_KNOWN, move_bytes_and_numbers);
}

static nbcoll_status take_every_second(void *user, const void *elements, void *packed, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        ((int32_t *)packed)[i] = ((const int32_t *)elements)[2 * i];
    return NBCOLL_OK;
}

static nbcoll_status put_every_second(void *user, const void *packed, void *elements, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        ((int32_t *)elements)[2 * i] = ((const int32_t *)packed)[i];
    return NBCOLL_OK;
}

/* The root's elements have gaps, those of the others have none. */
static void move_a_column(size_t n)
{
    static const nbcoll_host_type gaps = {.size = sizeof gaps, .extent = 8, .packed = 4, .pack = take_every_second,
                                          .unpack = put_every_second};
    nbcoll_type column = nbcoll_type_of(&gaps);

    n /= 2;
    ON_ALL_RANKS(nbcoll_ibcast(at_root ? send[r] : recv[r], n, at_root ? column : NBCOLL_INT32, ROOT, TO(r)));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(recv[2][i], value(ROOT, 2 * i));
    ON_ALL_RANKS(nbcoll_iscatter(send[r], recv[r], n, at_root ? column : NBCOLL_INT32, ROOT, TO(r)));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(recv[2][i], value(ROOT, 2 * (2 * n + i)));
    ON_ALL_RANKS(nbcoll_igather(send[r], recv[r], n, at_root ? column : NBCOLL_INT32, ROOT, TO(r)));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(recv[ROOT][2 * (2 * n + i)], value(2, i));
        assert_int_equal(recv[ROOT][2 * (2 * n + i) + 1], 77);
    }
    ON_ALL_RANKS(nbcoll_iallgather(send[r], recv[r], n, at_root ? column : NBCOLL_INT32, TO(r)));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(recv[2][n + i], value(ROOT, 2 * i));
}

static void elements_with_gaps_may_meet_elements_without(void **state)
{
    (void)state;
    everywhere(0, move_a_column);
}

/* Counts its calls. */
static nbcoll_status add(void *user, void *result, const void *left, const void *right, size_t n, nbcoll_type type)
{
    (void)type;
    ++*(int *)user;
    for (size_t i = 0; i < n; i++)
        ((int32_t *)result)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
    return NBCOLL_OK;
}

/* Each rank has a function of its own; they need only agree on whether operands may change places. */
static void ranks_may_pass_different_functions_if_all_commute_or_none(void **state)
{
    int calls[RANKS] = {0};
    nbcoll_host_op ops[RANKS]; /* they must not change while the communicator lives */
    nbcoll_status status[RANKS];

    (void)state;
    for (int commuting = 0; commuting <= RANKS; commuting++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            world_open(&w, RANKS, NULL, &contexts, &small);
            fill(lengths[k]);
            for (int r = 0; r < RANKS; r++) {
                nbcoll_host_op *op = &ops[r];
                *op = (nbcoll_host_op){.size = sizeof *op, .user = &calls[r], .combine = add,
                                       .commutative = r < commuting};
                EXPECT(OK, nbcoll_iallreduce(send[r], recv[r], lengths[k], NBCOLL_INT32, nbcoll_op_of(op), TO(r)));
            }
            world_settle(&w, RANKS, request, status);
            int agree = commuting == 0 || commuting == RANKS, told = 0;
            for (int r = 0; r < RANKS; r++) {
                told += status[r] == NBCOLL_ERR_MISMATCH;
                if (agree)
                    assert_int_equal(recv[r][1], 4 * 10 + 6);
            }
            assert_int_equal(told, agree ? 0 : RANKS);
            world_close(&w);
        }
}

static void operands_of_different_types_are_a_mismatch(void **state)
{
    static const nbcoll_type types[RANKS] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_FLOAT, NBCOLL_INT32};
    nbcoll_status status[RANKS];

    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        world_open(&w, RANKS, NULL, &contexts, &small);
        fill(lengths[k]);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallreduce(send[r], recv[r], lengths[k], types[r], NBCOLL_SUM, TO(r)));
        world_settle(&w, RANKS, request, status);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], NBCOLL_ERR_MISMATCH);
        world_close(&w);
    }
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

/* Each rank makes its requests in another order; what counts is that all start them in the same. */
static void make_and_start(size_t n)
{
    nbcoll_request scan[RANKS], bcast[RANKS];

    fill(n);
    for (int r = 0; r < RANKS; r++) {
        if (r % 2)
            EXPECT(OK, nbcoll_scan_init(send[r], recv[r], n, NBCOLL_INT32, NBCOLL_MAX, w.comm[r], &scan[r]));
        EXPECT(OK, nbcoll_bcast_init(r == ROOT ? send[r] + n : recv[r] + n, n, NBCOLL_INT32, ROOT, w.comm[r],
                                     &bcast[r]));
        if (r % 2 == 0)
            EXPECT(OK, nbcoll_scan_init(send[r], recv[r], n, NBCOLL_INT32, NBCOLL_MAX, w.comm[r], &scan[r]));
    }
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_start(&bcast[r]));
        EXPECT(OK, nbcoll_start(&scan[r]));
    }
    world_finish(&w, RANKS, scan);
    world_finish(&w, RANKS, bcast);
    for (int r = 0; r < RANKS; r++) {
        check(r, 0, r, 0, n);
        if (r != ROOT)
            check(r, n, ROOT, n, n);
        EXPECT(OK, nbcoll_request_free(&scan[r]));
        EXPECT(OK, nbcoll_request_free(&bcast[r]));
    }
}

static void persistent_requests_may_be_made_in_any_order(void **state)
{
    (void)state;
    everywhere(0, make_and_start);
}

/* Three communicators of two ranks each, in a circle: with blocking calls there is no order that could not deadlock. */
static void communicators_may_overlap_in_a_circle(void **state)
{
    nbcoll_comm *pair[3][3]; /* [the one that is left out][rank] */
    nbcoll_request started[6];
    int32_t sum[3][2], one[3] = {1, 10, 100};

    (void)state;
    world_open(&w, 3, NULL, NULL, NULL);
    for (int out = 0; out < 3; out++) {
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_isplit(w.comm[r], r == out ? -1 : 0, 0, &pair[out][r], &request[r]));
        world_finish(&w, 3, request);
    }
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 2; k++)
            EXPECT(OK, nbcoll_iallreduce(&one[r], &sum[r][k], 1, NBCOLL_INT32, NBCOLL_SUM, pair[(r + 1 + k) % 3][r],
                                         &started[2 * r + k]));
    world_finish(&w, 6, started);
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 2; k++)
            assert_int_equal(sum[r][k], 111 - one[(r + 1 + k) % 3]);
    world_close(&w);
}

/* The blocking call of one rank is the nonblocking one of another, and another operation is under way. */
static void interleave(world *all, int rank, void *user)
{
    nbcoll_request barrier, bcast;
    int32_t data = rank == ROOT ? 42 : 0;

    (void)user;
    EXPECT(OK, nbcoll_ibarrier(all->comm[rank], &barrier));
    if (rank % 2)
        EXPECT(OK, nbcoll_bcast(&data, 1, NBCOLL_INT32, ROOT, all->comm[rank], NBCOLL_FOREVER));
    else
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_INT32, ROOT, all->comm[rank], &bcast));
    EXPECT(OK, nbcoll_wait(&barrier, NBCOLL_FOREVER));
    if (rank % 2 == 0)
        EXPECT(OK, nbcoll_wait(&bcast, NBCOLL_FOREVER));
    assert_int_equal(data, 42);
}

static void a_blocking_call_may_come_while_another_operation_runs(void **state)
{
    (void)state;
    world_open(&w, RANKS, NULL, &contexts, &small);
    for (int i = 0; i < 20; i++)
        world_threads(&w, interleave, NULL);
    works(&w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_matters_at_the_root_is_not_looked_at_elsewhere),
        cmocka_unit_test(with_known_counts_only_these_are_looked_at),
        cmocka_unit_test(in_place_what_describes_the_other_buffer_is_not_looked_at),
        cmocka_unit_test(the_first_rank_of_an_exscan_keeps_its_buffer),
        cmocka_unit_test(blocks_that_are_sent_may_overlap),
        cmocka_unit_test(counts_may_be_zero_and_buffers_null),
        cmocka_unit_test(a_reduce_scatter_may_be_in_place_on_some_ranks),
        cmocka_unit_test(equal_values_go_to_the_lowest_index),
        cmocka_unit_test(ranks_may_pass_different_types_of_the_same_bytes),
        cmocka_unit_test(elements_with_gaps_may_meet_elements_without),
        cmocka_unit_test(ranks_may_pass_different_functions_if_all_commute_or_none),
        cmocka_unit_test(operands_of_different_types_are_a_mismatch),
        cmocka_unit_test(persistent_requests_may_be_made_in_any_order),
        cmocka_unit_test(communicators_may_overlap_in_a_circle),
        cmocka_unit_test(a_blocking_call_may_come_while_another_operation_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
