/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that differ in an operation which ends well all the same, since nothing is compared in it: the next one for
 * which two of them exchange anything fails. What may differ lawfully, and what became of an operation, leaves no
 * trace. A checked communicator tells all in the operation itself, before data moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "operation.h"
#include "scene.h"

enum { MOST = 4, LIMIT = 200, LARGE = 20000 };

static int32_t small[MOST][MOST * LARGE], large[MOST][MOST * LARGE];

/* ---- differences that end well --------------------------------------------------------------------------------- */

enum { WARM = 6 };

/* What a rank passes to a rooted operation and to an allreduce, and persistent requests for both. */
typedef struct two_calls {
    share s[2];
    nbcoll_request q[2];
} two_calls;

/* Both again and again, alike on all ranks, so that they go the short ways. */
static void warm_up(scene *s, two_calls c[])
{
    for (int i = 0; i < 2 * WARM; i++) {
        nbcoll_request q[MOST];
        nbcoll_status status[MOST];
        for (int r = 0; r < s->w.ranks; r++) {
            q[r] = c[r].q[i % 2];
            EXPECT(OK, nbcoll_start(&q[r]));
        }
        scene_settle(s, (size_t)s->w.ranks, q, status, LIMIT);
        for (int r = 0; r < s->w.ranks; r++)
            EXPECT(OK, status[r]);
    }
}

/* `rooted` with another root at the odd rank, then the allreduce, which fails on all, if it can be started. */
static void run_two(const operation *rooted, int ranks, int odd, int variant, int is_warm)
{
    two_calls c[MOST];
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    operation all = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 1, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 2};
    size_t started = 0;
    scene s;

    scene_open(&s, ranks, variant, NULL);
    for (int r = 0; r < ranks; r++) {
        c[r] = (two_calls){.s = {share_make(rooted, r, ranks), share_make(&all, r, ranks)}};
        EXPECT(OK, operation_init(rooted, &c[r].s[0], s.w.comm[r], &c[r].q[0]));
        EXPECT(OK, operation_init(&all, &c[r].s[1], s.w.comm[r], &c[r].q[1]));
    }
    if (is_warm)
        warm_up(&s, c);
    for (int r = 0; r < ranks; r++) {
        operation mine = *rooted;
        mine.root = r == odd;
        share_free(&c[r].s[0]);
        c[r].s[0] = share_make(&mine, r, ranks);
        EXPECT(OK, operation_start(&mine, &c[r].s[0], s.w.comm[r], &q[r]));
    }
    scene_settle(&s, (size_t)ranks, q, status, LIMIT);
    for (int r = 0; r < ranks; r++) {
        nbcoll_status second = nbcoll_start(&c[r].q[1]);
        if (second == NBCOLL_OK)
            q[started++] = c[r].q[1];
        else
            EXPECT(ERR_MISMATCH, second);
    }
    scene_settle(&s, started, q, status, LIMIT);
    for (size_t i = 0; i < started; i++)
        EXPECT(ERR_MISMATCH, status[i]);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < 2; i++) {
            EXPECT(OK, nbcoll_request_free(&c[r].q[i]));
            share_free(&c[r].s[i]);
        }
    world_close(&s.w);
}

static void a_difference_that_ends_well_is_found_with_the_next_exchange(void **state)
{
    static const nbcoll_operation rooted[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER,
                                              NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_REDUCE};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int ranks = 2; ranks <= MOST; ranks++)
            for (int odd = 0; odd < ranks; odd++)
                for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                    operation o = {.what = rooted[k], .count = variant % 2 ? 1 : LARGE,
                                   .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
                    run_two(&o, ranks, odd, variant, 0);
                    o.count = 1;
                    run_two(&o, ranks, odd, variant, 1);
                }
}

/* The odd rank calls something else: all are told in that operation, and no buffer has been written to. */
static void run_checked(const operation *common, const operation *other, int ranks, int odd, int variant)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    share sh[MOST];
    void *before[MOST];
    scene s;

    config.flags = NBCOLL_CHECKED;
    scene_open(&s, ranks, variant, &config);
    for (int r = 0; r < ranks; r++) {
        const operation *o = r == odd ? other : common;
        size_t bytes = extent(o, r, RECV, ranks) * sizeof(int64_t);
        sh[r] = share_make(o, r, ranks);
        before[r] = malloc(bytes + 1);
        memcpy(before[r], sh[r].recv ? sh[r].recv : "", sh[r].recv ? bytes : 0);
        EXPECT(OK, operation_start(o, &sh[r], s.w.comm[r], &q[r]));
    }
    scene_settle(&s, (size_t)ranks, q, status, LIMIT);
    for (int r = 0; r < ranks; r++) {
        const operation *o = r == odd ? other : common;
        EXPECT(ERR_MISMATCH, status[r]);
        if (sh[r].recv)
            assert_memory_equal(sh[r].recv, before[r], extent(o, r, RECV, ranks) * sizeof(int64_t));
        free(before[r]);
        share_free(&sh[r]);
    }
    world_close(&s.w);
}

static void a_checked_communicator_tells_all_before_data_moves(void **state)
{
    (void)state;
    for (int what = NBCOLL_OPERATION_BCAST; what < NBCOLL_OPERATION_COUNT; what++)
        for (int ranks = 2; ranks <= MOST; ranks++)
            for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                operation common = {.what = (nbcoll_operation)what, .count = variant % 2 ? 2 : 5000,
                                    .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
                operation other = common;
                if (has_root(common.what))
                    other.root = 1;
                else if (is_v(common.what))
                    other.what = NBCOLL_OPERATION_ALLGATHER;
                else
                    other.count++;
                run_checked(&common, &other, ranks, variant % ranks, variant);
            }
}

static void a_checked_communicator_does_what_others_do(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    share sh[MOST];
    scene s;

    (void)state;
    config.flags = NBCOLL_CHECKED;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        int ranks = 2 + variant % 3;
        scene_open(&s, ranks, variant, &config);
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (size_t count = 0; count <= 5000; count = 10 * count + 5) {
                operation o = {.what = (nbcoll_operation)what, .count = count, .how = {NBCOLL_INT64, NBCOLL_SUM},
                               .seed = count + 1};
                for (int r = 0; r < ranks; r++) {
                    sh[r] = share_make(&o, r, ranks);
                    EXPECT(OK, operation_start(&o, &sh[r], s.w.comm[r], &q[r]));
                }
                scene_settle(&s, (size_t)ranks, q, status, LIMIT);
                for (int r = 0; r < ranks; r++) {
                    EXPECT(OK, status[r]);
                    operation_check(&o, &sh[r], r, ranks);
                    share_free(&sh[r]);
                }
            }
        world_close(&s.w);
    }
}

/* What ranks may say differently, and what became of an operation, is no difference. */
static void what_may_differ_from_rank_to_rank_leaves_no_trace(void **state)
{
    nbcoll_request q[MOST];
    nbcoll_status status[MOST];
    scene s;

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        scene_open(&s, 3, variant, NULL);
        for (int i = 0; i < 4; i++) {
            for (int r = 0; r < 3; r++) /* a type */
                EXPECT(OK, r ? nbcoll_ibcast(small[r], 4, NBCOLL_INT32, 0, s.w.comm[r], &q[r])
                             : nbcoll_ibcast(small[r], 16, NBCOLL_BYTE, 0, s.w.comm[r], &q[r]));
            scene_settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++) /* in place */
                EXPECT(OK, nbcoll_iallgather(r == i % 3 ? NBCOLL_IN_PLACE : small[r], large[r], 4, NBCOLL_INT32,
                                             s.w.comm[r], &q[r]));
            scene_settle(&s, 3, q, status, LIMIT);
            const size_t counts[3] = {(size_t)i, 1, 2}, displs[3] = {0, 8, 16};
            for (int r = 0; r < 3; r++) /* counts of one's own */
                EXPECT(OK, nbcoll_igatherv(small[r], counts[r], r ? NULL : large[r], r ? NULL : counts,
                                           r ? NULL : displs, NBCOLL_INT32, 0, s.w.comm[r], &q[r]));
            scene_settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++) /* who cancels, and when the others have begun */
                if (r != 2)
                    EXPECT(OK, nbcoll_ibarrier(s.w.comm[r], &q[r]));
            EXPECT(OK, nbcoll_cancel(q[i % 2]));
            scene_settle(&s, 2, q, status, LIMIT);
            EXPECT(ERR_CANCELLED, status[0]);
            nbcoll_status late = nbcoll_ibarrier(s.w.comm[2], &q[2]);
            EXPECT(OK, late);
            scene_settle(&s, 1, &q[2], &status[2], LIMIT);
            assert_true(status[2] == NBCOLL_ERR_CANCELLED || status[2] == NBCOLL_OK); /* all had come, for it */
            for (int r = 0; r < 3; r++)
                EXPECT(OK, nbcoll_iallreduce(small[r], large[r], 4, NBCOLL_INT32, NBCOLL_SUM, s.w.comm[r], &q[r]));
            scene_settle(&s, 3, q, status, LIMIT);
            for (int r = 0; r < 3; r++)
                EXPECT(OK, status[r]);
        }
        world_close(&s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_that_ends_well_is_found_with_the_next_exchange),
        cmocka_unit_test(a_checked_communicator_tells_all_before_data_moves),
        cmocka_unit_test(a_checked_communicator_does_what_others_do),
        cmocka_unit_test(what_may_differ_from_rank_to_rank_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
