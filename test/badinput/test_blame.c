/* SPDX-License-Identifier: BSD-3-Clause
 * What the failure of ranks that are out of step says: which of them differs from most, or both sides, and what they
 * have called as the first operation in which they differ, however many have gone well since. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "scene.h"

enum { MOST = 4, LIMIT = 200, COUNT = 10 };

static int32_t in[MOST][COUNT], out[MOST][COUNT];

static nbcoll_status odd_or_not(nbcoll_comm *comm, int rank, int is_odd, nbcoll_request *q)
{
    return is_odd ? nbcoll_ibarrier(comm, q)
                  : nbcoll_iallreduce(in[rank], out[rank], COUNT, NBCOLL_INT32, NBCOLL_SUM, comm, q);
}

static void all_start(scene *s, int odd, nbcoll_request q[])
{
    for (int r = 0; r < s->w.ranks; r++)
        EXPECT(OK, odd_or_not(s->w.comm[r], r, r == odd, &q[r]));
}

static void says(scene *s, int rank, const char *wanted)
{
    scene_says(s, rank, NBCOLL_ERR_MISMATCH, wanted);
}

/* `odd` differs from `other` in an operation, and there is no majority: each names both. */
static void they_name_both_sides(scene *s, int other, int odd, int operation)
{
    char text[120];

    snprintf(text, sizeof text, "rank %d called barrier as operation %d, but rank %d called allreduce (10 INT32, SUM)",
             odd, operation, other);
    says(s, other, text);
    snprintf(text, sizeof text, "rank %d called allreduce (10 INT32, SUM) as operation %d, but rank %d called barrier",
             other, operation, odd);
    says(s, odd, text);
}

static void the_rank_that_differs_from_most_is_named_by_all(void **state)
{
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    char wanted[200];
    scene s;

    (void)state;
    for (int ranks = 3; ranks <= MOST; ranks++)
        for (int odd = 0; odd < ranks; odd++)
            for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                scene_open(&s, ranks, variant, NULL);
                all_start(&s, odd, q);
                scene_settle(&s, (size_t)ranks, q, status, LIMIT);
                snprintf(wanted, sizeof wanted,
                         "rank %d called barrier as operation 1, but most ranks called allreduce (10 INT32, SUM)", odd);
                for (int r = 0; r < ranks; r++) {
                    EXPECT(ERR_MISMATCH, status[r]);
                    says(&s, r, wanted);
                }
                world_close(&s.w);
            }
}

static void refused_calls_leave_what_is_known_of_the_difference(void **state)
{
    static char bytes[1000];
    nbcoll_request q[MOST], refused;
    nbcoll_status status[MOST];
    scene s;

    (void)state;
    scene_open(&s, 3, 0, NULL);
    all_start(&s, 1, q);
    scene_settle(&s, 3, q, status, LIMIT);
    for (size_t n = 1; n <= sizeof bytes; n++) /* more calls than a rank remembers */
        for (int r = 0; r < 3; r++)
            EXPECT(ERR_MISMATCH, nbcoll_ibcast(bytes, n, NBCOLL_BYTE, 0, s.w.comm[r], &refused));
    for (int r = 0; r < 3; r++)
        says(&s, r, "rank 1 called barrier as operation 1, but most ranks called allreduce (10 INT32, SUM)");
    world_close(&s.w);
}

static void without_a_majority_both_sides_are_named(void **state)
{
    nbcoll_request q[2];
    nbcoll_status status[2];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 2, variant, NULL);
        all_start(&s, 1, q);
        scene_settle(&s, 2, q, status, LIMIT);
        they_name_both_sides(&s, 0, 1, 1);
        world_close(&s.w);
    }
}

/* Schedules in which nothing is said, `n` times on each rank. */
static void pass_unseen(scene *s, int n)
{
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];

    for (int i = 0; i < n; i++) {
        nbcoll_schedule *idle[MOST];
        for (int r = 0; r < s->w.ranks; r++) {
            nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = s->w.ranks};
            nbcoll_builder *b;
            EXPECT(OK, nbcoll_builder_open(&config, &b));
            EXPECT(OK, nbcoll_builder_finish(b, &idle[r]));
            EXPECT(OK, nbcoll_schedule_start(idle[r], NULL, NULL, s->w.comm[r], &q[r]));
        }
        scene_settle(s, (size_t)s->w.ranks, q, status, LIMIT);
        for (int r = 0; r < s->w.ranks; r++) {
            EXPECT(OK, status[r]);
            nbcoll_schedule_free(idle[r]);
        }
    }
}

/* Does nobody know yet that the ranks are out of step? */
static int is_unknown(scene *s)
{
    int unknown = 1;

    scene_passes(s, 10);
    for (int r = 0; r < s->w.ranks; r++) {
        nbcoll_failure failure;
        EXPECT(OK, nbcoll_comm_failure(s->w.comm[r], &failure));
        unknown &= failure.status == NBCOLL_OK;
    }
    return unknown;
}

/* A bcast of which rank 2 thinks that it is the root, `unseen` operations, then an allreduce. Returns whether nobody
 * knew before that. */
static int differ_early(int variant, int unseen, const char *wanted)
{
    nbcoll_request q[3];
    nbcoll_status status[3];
    size_t started = 0;
    int unknown;
    scene s;

    scene_open(&s, 3, variant, NULL);
    pass_unseen(&s, 3);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_ibcast(in[r], COUNT, NBCOLL_INT32, r == 2 ? 2 : 0, s.w.comm[r], &q[r]));
    scene_settle(&s, 3, q, status, LIMIT);
    unknown = is_unknown(&s);
    if (unknown)
        pass_unseen(&s, unseen);
    for (int r = 0; r < 3; r++)
        started += odd_or_not(s.w.comm[r], r, 0, &q[started]) == NBCOLL_OK;
    scene_settle(&s, started, q, status, LIMIT);
    for (int r = 0; r < 3; r++)
        says(&s, r, wanted);
    world_close(&s.w);
    return unknown;
}

static void the_first_difference_is_told_though_others_have_ended_well_since(void **state)
{
    int unknown = 0;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int unseen = 0; unseen <= 40; unseen += 20)
            unknown += differ_early(variant, unseen,
                                    "rank 2 called bcast (10 INT32, root 2) as operation 4, but most ranks called "
                                    "bcast (10 INT32, root 0)");
    assert_true(unknown > 0);
}

static void a_difference_that_is_forgotten_lies_before_what_is_remembered(void **state)
{
    nbcoll_request q[2];
    nbcoll_status status[2];
    scene s;

    (void)state;
    scene_open(&s, 2, WORLD_SHARED, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibcast(in[r], COUNT, NBCOLL_INT32, r, s.w.comm[r], &q[r]));
    scene_settle(&s, 2, q, status, LIMIT);
    EXPECT(OK, status[0]);
    EXPECT(OK, status[1]);
    pass_unseen(&s, 70);
    all_start(&s, -1, q);
    scene_settle(&s, 2, q, status, LIMIT);
    says(&s, 0, "rank 1 called something else than rank 0 before operation 10");
    says(&s, 1, "rank 0 called something else than rank 1 before operation 10");
    world_close(&s.w);
}

/* It is refused, and says what it was about to call. */
static void a_rank_that_comes_late_names_the_right_one_too(void **state)
{
    nbcoll_request q[3];
    nbcoll_status status[3];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, odd_or_not(s.w.comm[r], r, r == 1, &q[r]));
        scene_settle(&s, 2, q, status, LIMIT);
        scene_passes(&s, 5);
        EXPECT(ERR_MISMATCH, odd_or_not(s.w.comm[2], 2, 0, &q[2]));
        scene_passes(&s, 5);
        for (int r = 0; r < 3; r++)
            says(&s, r, "rank 1 called barrier as operation 1, but most ranks called allreduce (10 INT32, SUM)");
        world_close(&s.w);
    }
}

/* All are alike in the first operation, to which one comes late; the others are in the second, where they differ. The
 * late one has called nothing there, so that it is on neither's side, and says no more than it has heard. */
static void a_rank_that_has_not_come_sides_with_nobody(void **state)
{
    nbcoll_request q[4], unused;
    nbcoll_status status[4];
    char text[200];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int late = 0; late < 3; late++) {
            int other = late == 0, odd = late == 2 ? 1 : 2;
            nbcoll_failure failure;
            scene_open(&s, 3, variant, NULL);
            for (int operation = 0; operation < 2; operation++) {
                EXPECT(OK, odd_or_not(s.w.comm[other], other, 0, &q[operation]));
                EXPECT(OK, odd_or_not(s.w.comm[odd], odd, operation, &q[2 + operation]));
            }
            scene_passes(&s, 30);
            EXPECT(ERR_MISMATCH, odd_or_not(s.w.comm[late], late, 0, &unused));
            scene_settle(&s, 4, q, status, LIMIT);
            scene_passes(&s, 5);
            they_name_both_sides(&s, other, odd, 2);
            EXPECT(OK, nbcoll_comm_failure(s.w.comm[late], &failure));
            nbcoll_failure_text(&failure, text, sizeof text);
            assert_non_null(strstr(text, "the ranks are out of step, in operation 2 or before it"));
            world_close(&s.w);
        }
}

static void who_computes_is_not_waited_for(void **state)
{
    nbcoll_request q[3];
    nbcoll_status status[3];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        s.silent = 2;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, odd_or_not(s.w.comm[r], r, r == 1, &q[r]));
        scene_settle(&s, 2, q, status, LIMIT);
        they_name_both_sides(&s, 0, 1, 1);
        world_close(&s.w);
    }
}

/* While those that are out of step still hear what others have called, one of these is lost: that is what ends the
 * communicator, and nobody waits any longer. */
static void who_is_lost_meanwhile_is_named_as_lost_and_waited_for_no_longer(void **state)
{
    nbcoll_failure failure;
    nbcoll_request q[2];
    nbcoll_status status[2];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        s.silent = 2;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, odd_or_not(s.w.comm[r], r, r == 1, &q[r]));
        for (int n = 0; n < LIMIT; n++) {
            scene_pass(&s);
            EXPECT(OK, nbcoll_comm_failure(s.w.comm[0], &failure));
            if (failure.status == NBCOLL_ERR_MISMATCH)
                break;
        }
        EXPECT(ERR_MISMATCH, failure.status);
        EXPECT(OK, nbcoll_comm_declare_lost(s.w.comm[0], 2));
        assert_true(scene_settle(&s, 2, q, status, LIMIT) < LIMIT / 4);
        scene_passes(&s, LIMIT);
        for (int r = 0; r < 2; r++) {
            EXPECT(OK, nbcoll_comm_failure(s.w.comm[r], &failure));
            EXPECT(ERR_PEER_LOST, failure.status);
            assert_int_equal(failure.rank, 2);
            assert_int_equal(failure.other, -1);
        }
        world_close(&s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_that_differs_from_most_is_named_by_all),
        cmocka_unit_test(refused_calls_leave_what_is_known_of_the_difference),
        cmocka_unit_test(without_a_majority_both_sides_are_named),
        cmocka_unit_test(the_first_difference_is_told_though_others_have_ended_well_since),
        cmocka_unit_test(a_difference_that_is_forgotten_lies_before_what_is_remembered),
        cmocka_unit_test(a_rank_that_comes_late_names_the_right_one_too),
        cmocka_unit_test(a_rank_that_has_not_come_sides_with_nobody),
        cmocka_unit_test(who_computes_is_not_waited_for),
        cmocka_unit_test(who_is_lost_meanwhile_is_named_as_lost_and_waited_for_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
