/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators that their members alone make, from a list of ranks: of a communicator, or of an endpoint. The first
 * three are callers as programs are: rows and columns of a grid, a communicator that grows, and one repaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alone.h"
#include "crew.h"
#include "nbcoll/group.h"
#include "nbcoll/nodes.h"
#include "works.h"

enum { MOST = 16 };

#define MS UINT64_C(1000000)

/* A group of a world: whom it lists. */
static void make(world *w, int n, const int ranks[], int tag, nbcoll_comm *made[])
{
    nbcoll_request q[MOST];

    for (int i = 0; i < n; i++)
        EXPECT(OK, nbcoll_comm_icreate_group(w->comm[ranks[i]], n, ranks, tag, &made[i], &q[i]));
    world_finish(w, (size_t)n, q);
}

static void free_all(int n, nbcoll_comm *const comm[])
{
    for (int i = 0; i < n; i++)
        EXPECT(OK, nbcoll_comm_free(comm[i]));
}

/* ---- callers --------------------------------------------------------------------------------------------------- */

/* Overlapping groups at once, under a tag for each dimension. */
static void rows_and_columns_of_a_grid(void **state)
{
    enum { ROWS = 3, COLUMNS = 4, RANKS = ROWS * COLUMNS };
    (void)state;

    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 1 + (uint64_t)variant);
        nbcoll_comm *row[RANKS], *column[RANKS], *one[RANKS];
        nbcoll_request q[2 * RANKS];
        world w;

        world_open(&w, RANKS, &loopback, NULL, NULL);
        for (int r = 0; r < RANKS; r++) {
            int in_row[COLUMNS], in_column[ROWS], y = r / COLUMNS, x = r % COLUMNS;
            for (int i = 0; i < COLUMNS; i++)
                in_row[i] = y * COLUMNS + i;
            for (int i = 0; i < ROWS; i++)
                in_column[i] = i * COLUMNS + x;
            for (int i = 0; i < 2; i++) /* in any order: the tags differ */
                if (i == r % 2)
                    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[r], COLUMNS, in_row, 0, &row[r], &q[2 * r]));
                else
                    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[r], ROWS, in_column, 1, &column[r], &q[2 * r + 1]));
        }
        world_finish(&w, (size_t)2 * RANKS, q);
        for (int y = 0; y < ROWS; y++)
            works_over(&w, &row[y * COLUMNS], COLUMNS);
        for (int x = 0; x < COLUMNS; x++) {
            for (int y = 0; y < ROWS; y++)
                one[y] = column[y * COLUMNS + x];
            works_over(&w, one, ROWS);
        }
        works_over(&w, w.comm, RANKS);
        free_all(RANKS, row);
        free_all(RANKS, column);
        world_close(&w);
    }
}

/* Ranks that join later: those that work already make the larger one with them, and then free theirs. */
static void a_communicator_grows(void **state)
{
    static const int list[6] = {2, 0, 4, 1, 5, 3};
    (void)state;

    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 7 + (uint64_t)variant);
        nbcoll_comm *small[6], *large[6];
        nbcoll_request q[6];
        world w;

        world_open_contexts(&w, 6, &loopback, NULL);
        for (int i = 0, n = 2; n <= 6; n += 2) {
            for (i = 0; i < n; i++) {
                int r = list[i];
                EXPECT(OK, nbcoll_comm_icreate_among(w.context[r], w.endpoint[r], n, list, 0, NULL, &large[i], &q[i]));
                if (i + 1 == n - 2)
                    works_over(&w, small, n - 2); /* while it is made */
            }
            world_finish(&w, (size_t)n, q);
            if (n > 2)
                free_all(n - 2, small);
            works_over(&w, large, n);
            memcpy(small, large, sizeof small);
        }
        world_close(&w);
    }
}

/* Under one tag, of the first communicator and of those that are made of it: all lists of ranks 0 to 2 are others. */
static void a_list_is_told_from_its_parts(void **state)
{
    enum { RANKS = 3, LISTS = 15 };
    static const int lists[LISTS][1 + RANKS] = {{1, 0},       {1, 1},       {1, 2},       {2, 0, 1},    {2, 1, 0},
                                                {2, 0, 2},    {2, 2, 0},    {2, 1, 2},    {2, 2, 1},    {3, 0, 1, 2},
                                                {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 1, 2, 0}, {3, 2, 0, 1}, {3, 2, 1, 0}};
    nbcoll_comm *of[RANKS], *made[3][LISTS][RANKS];
    nbcoll_request q[RANKS];
    world w;
    (void)state;

    world_open(&w, RANKS, NULL, NULL, NULL);
    memcpy(of, w.comm, sizeof of);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < LISTS; i++) {
            int n = lists[i][0];
            for (int m = 0; m < n; m++)
                EXPECT(OK, nbcoll_comm_icreate_group(of[lists[i][1 + m]], n, &lists[i][1], 0, &made[k][i][m], &q[m]));
            world_finish(&w, (size_t)n, q);
            works_over(&w, made[k][i], n);
        }
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_idup(w.comm[r], &of[r], &q[r]));
        world_finish(&w, RANKS, q);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < LISTS; i++)
            free_all(lists[i][0], made[k][i]);
    free_all(RANKS, of);
    world_close(&w);
}

/* Who knows who is left needs no agreement: the list says it. */
static void survivors_that_are_known_go_on(void **state)
{
    static const int list[3] = {0, 1, 3};
    nbcoll_comm *made[3];
    nbcoll_request lost;
    int64_t x = 0;
    world w;
    (void)state;

    world_open(&w, 4, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_comm_declare_lost(w.comm[list[i]], 2));
    EXPECT(ERR_PEER_LOST, nbcoll_ibcast(&x, 1, NBCOLL_INT64, 0, w.comm[0], &lost));
    make(&w, 3, list, 0, made);
    works_over(&w, made, 3);
    world_close(&w);
}

/* ---- what is made ---------------------------------------------------------------------------------------------- */

static void the_list_is_the_order_and_a_tag_can_be_used_again(void **state)
{
    static const int lists[4][4] = {{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 1}, {1}};
    static const int n[4] = {4, 4, 2, 1};
    nbcoll_comm *made[4];
    world w;
    (void)state;

    world_open(&w, 5, NULL, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        make(&w, n[i % 4], lists[i % 4], 0, made);
        works_over(&w, made, n[i % 4]);
        free_all(n[i % 4], made);
    }
    works_over(&w, w.comm, 5);
    world_close(&w);
}

/* Each member as it comes: what others have sent is kept until then, however many groups they make at once. */
static void members_come_late_and_in_any_order(void **state)
{
    enum { RANKS = 5, GROUPS = 80 };
    static const int list[RANKS] = {4, 2, 0, 1, 3};
    (void)state;

    for (int variant = 0; variant < WORLD_VARIANTS; variant += 3) {
        nbcoll_loopback_config loopback = world_variant(variant, 3);
        nbcoll_comm *made[GROUPS][RANKS], *one[RANKS];
        nbcoll_request q[GROUPS][RANKS];
        world w;

        world_open(&w, RANKS, &loopback, NULL, NULL);
        for (int i = 0; i < RANKS; i++) {
            for (int k = 0; k < GROUPS; k++) {
                int g = i % 2 ? k : GROUPS - 1 - k;
                EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[i]], RANKS, list, g, &made[g][i], &q[g][i]));
            }
            for (int steps = 0; steps < 300; steps++)
                world_step(&w);
            if (i == 2)
                works_over(&w, w.comm, RANKS);
        }
        world_finish(&w, (size_t)GROUPS * RANKS, q[0]);
        for (int g = 0; g < GROUPS; g += 7) {
            memcpy(one, made[g], sizeof one);
            works_over(&w, one, RANKS);
        }
        world_close(&w);
    }
}

/* Of named nodes: the group has those of its communicator. */
static void a_group_keeps_the_nodes(void **state)
{
    static const int list[4] = {5, 0, 4, 1};
    nbcoll_comm *named[6], *made[4];
    nbcoll_request q[6];
    world w;
    (void)state;

    world_open(&w, 6, NULL, NULL, NULL);
    for (int r = 0; r < 6; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.node = 1 + (uint64_t)r / 2;
        EXPECT(OK, nbcoll_comm_idup_with(w.comm[r], &config, &named[r], &q[r]));
    }
    world_finish(&w, 6, q);
    for (int i = 0; i < 4; i++)
        EXPECT(OK, nbcoll_comm_icreate_group(named[list[i]], 4, list, 9, &made[i], &q[i]));
    world_finish(&w, 4, q);
    for (int i = 0; i < 4; i++) {
        const nbcoll_nodes *nodes = nbcoll_comm_nodes(made[i]);
        assert_int_equal(nodes->count, 2);
        assert_int_equal(nbcoll_node_of(nodes, 0), nbcoll_node_of(nodes, 2));
        assert_int_equal(nbcoll_node_of(nodes, 1), nbcoll_node_of(nodes, 3));
    }
    works_over(&w, made, 4);
    world_close(&w);
}

/* ---- what is not made ------------------------------------------------------------------------------------------ */

static void wrong_lists_are_refused(void **state)
{
    static const int twice[3] = {0, 1, 0}, beyond[2] = {0, 3}, below[2] = {-1, 0}, others[2] = {1, 2}, good[1] = {0};
    nbcoll_request q = NBCOLL_REQUEST_NULL, as_before = q;
    nbcoll_comm *out = NULL;
    world w;
    (void)state;

    world_open(&w, 3, NULL, NULL, NULL);
    EXPECT(ERR_DUPLICATE, nbcoll_comm_icreate_group(w.comm[0], 3, twice, 0, &out, &q));
    EXPECT(ERR_RANK, nbcoll_comm_icreate_group(w.comm[0], 2, beyond, 0, &out, &q));
    EXPECT(ERR_RANK, nbcoll_comm_icreate_group(w.comm[0], 2, below, 0, &out, &q));
    EXPECT(ERR_RANK, nbcoll_comm_icreate_group(w.comm[0], 2, others, 0, &out, &q));
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_group(w.comm[0], 0, good, 0, &out, &q));
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_group(w.comm[0], 1, good, -1, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_group(w.comm[0], 1, NULL, 0, &out, &q));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_group(NULL, 1, good, 0, &out, &q));
    EXPECT(ERR_FOREIGN, nbcoll_comm_icreate_among(w.context[1], w.endpoint[0], 1, good, 0, NULL, &out, &q));
    EXPECT(ERR_RANK, nbcoll_comm_icreate_among(w.context[0], w.endpoint[0], 2, others, 0, NULL, &out, &q));
    EXPECT(ERR_DUPLICATE, nbcoll_comm_icreate_among(w.context[0], w.endpoint[0], 3, twice, 0, NULL, &out, &q));
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_among(w.context[0], w.endpoint[0], 1, good, -1, NULL, &out, &q));
    assert_null(out);
    assert_memory_equal(&q, &as_before, sizeof q);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    works_over(&w, w.comm, 3);
    world_close(&w);
}

/* A refused first list leaves the endpoint to the caller. */
static void a_refused_list_leaves_the_endpoint(void **state)
{
    static const int others[1] = {1}, list[2] = {1, 0};
    nbcoll_comm *made[2];
    nbcoll_request q[2];
    world w;
    (void)state;

    world_open_contexts(&w, 2, NULL, NULL);
    EXPECT(ERR_RANK, nbcoll_comm_icreate_among(w.context[0], w.endpoint[0], 1, others, 0, NULL, &made[0], &q[0]));
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_comm_icreate_among(w.context[1 - i], w.endpoint[1 - i], 2, list, 0, NULL, &made[i], &q[i]));
    world_finish(&w, 2, q);
    works_over(&w, made, 2);
    world_close(&w);
}

static void step_for(world *w, uint64_t ns)
{
    for (uint64_t end = clock_ns() + ns; clock_ns() < end;)
        world_step(w);
}

/* It is named; who calls later gets word of it, and meets the others in the next one. */
static void a_member_that_does_not_call_is_waited_for(void **state)
{
    static const int list[3] = {3, 1, 0};
    nbcoll_failure failure;
    nbcoll_request q[3];
    nbcoll_comm *made[3];
    nbcoll_status s[3];
    world w;
    (void)state;

    world_open(&w, 4, NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[i]], 3, list, 5, &made[i], &q[i]));
    step_for(&w, 150 * MS);
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 0));
    EXPECT(OK, nbcoll_last_failure(w.context[3], &failure));
    assert_int_equal(failure.status, NBCOLL_ERR_TIMEOUT);
    assert_int_equal(failure.rank, 2);
    assert_int_equal(failure.position, NBCOLL_POSITION_NOT_STARTED);
    EXPECT(OK, nbcoll_cancel(q[0]));
    world_settle(&w, 2, q, s);
    assert_int_equal(s[0], NBCOLL_ERR_CANCELLED);
    assert_int_equal(s[1], NBCOLL_ERR_CANCELLED);
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 3, list, 5, &made[2], &q[2]));
    world_settle(&w, 1, &q[2], s);
    assert_int_equal(s[0], NBCOLL_ERR_CANCELLED);
    make(&w, 3, list, 5, made);
    works_over(&w, made, 3);
    world_close(&w);
}

/* That it is asked where it is, has made one of this list before, and has sent something else, is no other list. */
static void a_member_of_the_creation_before_is_waited_for(void **state)
{
    static const int list[3] = {2, 1, 0};
    nbcoll_comm *made[3], *first[3];
    nbcoll_request q[3], sent[3];
    int number[3] = {7};
    world w;
    (void)state;

    world_open(&w, 3, NULL, NULL, NULL);
    make(&w, 3, list, 5, first);
    EXPECT(OK, nbcoll_ibcast(&number[0], 1, NBCOLL_INT, 0, w.comm[0], &sent[0])); /* the others have it, unasked */
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[i]], 3, list, 5, &made[i], &q[i]));
    step_for(&w, 150 * MS);
    EXPECT(PENDING, nbcoll_test(&q[0]));
    EXPECT(PENDING, nbcoll_test(&q[1]));
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 3, list, 5, &made[2], &q[2]));
    world_finish(&w, 3, q);
    for (int i = 1; i < 3; i++)
        EXPECT(OK, nbcoll_ibcast(&number[i], 1, NBCOLL_INT, 0, w.comm[i], &sent[i]));
    world_finish(&w, 3, sent);
    works_over(&w, made, 3);
    world_close(&w);
}

/* Also if the others have called again before it calls first: what they say of the second creation is kept. */
static void a_late_member_meets_the_others_in_the_next_creation(void **state)
{
    static const int list[3] = {2, 1, 0};
    nbcoll_request q[3];
    nbcoll_comm *made[3];
    nbcoll_status s[2];
    (void)state;

    for (int times = 1; times <= 3; times++) {
        world w;
        world_open(&w, 3, NULL, NULL, NULL);
        for (int given_up = 0; given_up < times; given_up++) {
            for (int i = 0; i < 2; i++)
                EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[i]], 3, list, 5, &made[i], &q[i]));
            for (int i = 0; i < 100; i++)
                world_step(&w);
            EXPECT(OK, nbcoll_cancel(q[given_up % 2]));
            world_settle(&w, 2, q, s);
            assert_true(s[0] == NBCOLL_ERR_CANCELLED && s[1] == NBCOLL_ERR_CANCELLED);
        }
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[i]], 3, list, 5, &made[i], &q[i]));
        for (int i = 0; i < 100; i++)
            world_step(&w);
        for (int given_up = 0; given_up < times; given_up++) {
            EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 3, list, 5, &made[2], &q[2]));
            world_settle(&w, 1, &q[2], s);
            assert_int_equal(s[0], NBCOLL_ERR_CANCELLED);
        }
        EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 3, list, 5, &made[2], &q[2]));
        world_finish(&w, 3, q);
        works_over(&w, made, 3);
        world_close(&w);
    }
}

static void a_member_that_is_lost_ends_it(void **state)
{
    static const int list[3] = {2, 1, 0};
    nbcoll_failure failure;
    nbcoll_request q[2];
    nbcoll_comm *made[2];
    nbcoll_status s[2];
    (void)state;

    for (int before = 0; before < 2; before++) {
        world w;
        world_open(&w, 4, NULL, NULL, NULL);
        if (before)
            EXPECT(OK, nbcoll_comm_declare_lost(w.comm[2], 1));
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_comm_icreate_group(w.comm[list[2 * i]], 3, list, 5, &made[i], &q[i]));
        if (!before)
            EXPECT(OK, nbcoll_comm_declare_lost(w.comm[2], 1));
        world_settle(&w, 2, q, s);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(s[i], NBCOLL_ERR_PEER_LOST);
            EXPECT(OK, nbcoll_last_failure(w.context[list[2 * i]], &failure));
            assert_int_equal(failure.rank, 1);
        }
        EXPECT(ERR_PEER_LOST, nbcoll_comm_icreate_group(w.comm[2], 3, list, 5, &made[0], &q[0]));
        world_close(&w);
    }
}

/* Also of members that had made one of either list before. */
static void lists_that_differ_are_found_by_all_that_call(void **state)
{
    static const int two[2] = {0, 1}, three[3] = {0, 1, 2}, turned[3] = {1, 0, 2};
    (void)state;

    for (int variant = 0; variant < 12; variant++) {
        nbcoll_comm *made[3];
        nbcoll_failure failure;
        nbcoll_request q[3];
        nbcoll_status s[3];
        int is_turned = variant % 2, warm = variant / 2 % 3, from = variant / 6;
        const int *other = is_turned ? turned : two;
        world w;

        world_open(&w, 4, NULL, NULL, NULL);
        for (int k = 0; k < 2; k++) {
            if (warm > k) {
                make(&w, k ? 2 + is_turned : 3, k ? other : three, 1, made);
                free_all(k ? 2 + is_turned : 3, made);
            }
        }
        for (int i = 0; i < 3; i++) {
            int r = (i + from) % 3;
            if (r == 1)
                EXPECT(OK, nbcoll_comm_icreate_group(w.comm[r], 2 + is_turned, other, 1, &made[r], &q[r]));
            else
                EXPECT(OK, nbcoll_comm_icreate_group(w.comm[r], 3, three, 1, &made[r], &q[r]));
        }
        world_settle(&w, 3, q, s);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(s[r], NBCOLL_ERR_MISMATCH);
            EXPECT(OK, nbcoll_last_failure(w.context[r], &failure));
            assert_in_range(failure.rank, 0, 2);
        }
        make(&w, 3, three, 2, made); /* another tag */
        works_over(&w, made, 3);
        works_over(&w, w.comm, 4);
        world_close(&w);
    }
}

/* One member makes them one after the other; another one is through with the first before, and waits in the second. */
static void lists_one_after_the_other_do_not_differ(void **state)
{
    static const int two[2] = {0, 1}, three[3] = {2, 1, 0}, pair[2] = {0, 2};
    nbcoll_comm *made[3][3];
    nbcoll_request q[3][3];
    world w;
    (void)state;

    world_open(&w, 3, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[1], 2, two, 0, &made[0][1], &q[0][1]));
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[1], 3, three, 0, &made[1][1], &q[1][1]));
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[2], 3, three, 0, &made[1][2], &q[1][2]));
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[2], 2, pair, 0, &made[2][2], &q[2][2]));
    step_for(&w, 150 * MS);
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 2, two, 0, &made[0][0], &q[0][0]));
    step_for(&w, 150 * MS);
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 3, three, 0, &made[1][0], &q[1][0]));
    EXPECT(OK, nbcoll_comm_icreate_group(w.comm[0], 2, pair, 0, &made[2][0], &q[2][0]));
    world_finish(&w, 2, q[0]);
    world_finish(&w, 3, q[1]);
    world_finish(&w, 1, &q[2][0]);
    world_finish(&w, 1, &q[2][2]);
    world_close(&w);
}

/* Freed while another member has voted already: that one is told. */
static void a_communicator_that_is_freed_takes_its_groups_along(void **state)
{
    static const int list[2] = {0, 1};
    nbcoll_comm *made[2], *dup[2], *other[2];
    nbcoll_request q[2];
    nbcoll_status s;
    world w;
    (void)state;

    world_open(&w, 2, NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[i], &dup[i], &q[i]));
    world_finish(&w, 2, q);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_comm_icreate_group(dup[i], 2, list, 0, &made[i], &q[i]));
    world_finish(&w, 2, q);
    free_all(2, made);
    EXPECT(OK, nbcoll_comm_icreate_group(dup[0], 2, list, 0, &made[0], &q[0]));
    step_for(&w, 10 * MS);
    EXPECT(OK, nbcoll_comm_free(dup[1]));
    make(&w, 2, list, 0, other); /* whose call finds that it is freed */
    world_settle(&w, 1, q, &s);
    assert_int_equal(s, NBCOLL_ERR_CANCELLED);
    EXPECT(OK, nbcoll_comm_free(dup[0]));
    works_over(&w, w.comm, 2);
    works_over(&w, other, 2);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(rows_and_columns_of_a_grid),
        unit_test_alone(a_communicator_grows),
        unit_test_alone(a_list_is_told_from_its_parts),
        unit_test_alone(survivors_that_are_known_go_on),
        unit_test_alone(the_list_is_the_order_and_a_tag_can_be_used_again),
        unit_test_alone(members_come_late_and_in_any_order),
        unit_test_alone(a_group_keeps_the_nodes),
        unit_test_alone(wrong_lists_are_refused),
        unit_test_alone(a_refused_list_leaves_the_endpoint),
        unit_test_alone(a_member_that_does_not_call_is_waited_for),
        unit_test_alone(a_member_of_the_creation_before_is_waited_for),
        unit_test_alone(a_late_member_meets_the_others_in_the_next_creation),
        unit_test_alone(a_member_that_is_lost_ends_it),
        unit_test_alone(lists_that_differ_are_found_by_all_that_call),
        unit_test_alone(lists_one_after_the_other_do_not_differ),
        unit_test_alone(a_communicator_that_is_freed_takes_its_groups_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
