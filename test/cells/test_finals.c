/* SPDX-License-Identifier: BSD-3-Clause
 * Of fetches for which nothing waits but the end of a small operation, a pass looks at one, however many are missing;
 * and what is wrong with the others is noticed all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "nbcoll/select.h"
#include "world.h"

enum { RANKS = 6 };

/* Its barriers and allreduces, like its allgathers, go by cells. */
static void open_world(world *w)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "slots")},
                           {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "slots")},
                           {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "slots")}};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.rules = rules;
    config.rule_count = 3;
    world_open(w, RANKS, &loopback, NULL, &config);
}

static int watched_by(const nbcoll_context *c)
{
    return (int)c->watched.count;
}

static void a_pass_in_vain_looks_once(void **state)
{
    nbcoll_request q[RANKS];
    world w;

    (void)state;
    open_world(&w);
    for (int late = 0; late < RANKS; late++) { /* who comes last is looked at first, or last, or in between */
        for (int i = 1; i <= RANKS; i++) {
            int rank = (late + i) % RANKS;
            EXPECT(OK, nbcoll_ibarrier(w.comm[rank], &q[rank]));
            for (int r = 0; i < RANKS && r < RANKS; r++) {
                EXPECT(OK, nbcoll_progress(w.context[r]));
                assert_true(watched_by(w.context[r]) <= 1);
            }
        }
        world_finish(&w, RANKS, q);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(watched_by(w.context[r]), 0);
    }
    world_close(&w);
}

static void every_rank_combines_in_rank_order(void **state)
{
    nbcoll_request q[RANKS];
    world w;

    (void)state;
    open_world(&w);
    for (int in_place = 0; in_place < 2; in_place++)
        for (int last = 0; last < RANKS; last++) {
            float mine[RANKS] = {1e8f, 1, -1e8f, 3, 1e-3f, -7}, sum[RANKS], whole = mine[0];
            for (int r = 1; r < RANKS; r++)
                whole += mine[r];
            for (int i = 1; i <= RANKS; i++) {
                int r = (last + i) % RANKS;
                sum[r] = mine[r];
                EXPECT(OK, nbcoll_iallreduce(in_place ? NBCOLL_IN_PLACE : &mine[r], &sum[r], 1, NBCOLL_FLOAT,
                                             NBCOLL_SUM, w.comm[r], &q[r]));
            }
            world_finish(&w, RANKS, q);
            for (int r = 0; r < RANKS; r++)
                assert_true(sum[r] == whole);
        }
    world_close(&w);
}

/* Rank 0 looks at rank 1 first, which does not come. */
static void that_a_rank_has_left_is_noticed_while_another_one_is_missing(void **state)
{
    static const int leavers[] = {2, RANKS - 1};
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int before = 0; before < 2; before++) {
            nbcoll_request q = {0};
            nbcoll_status s = NBCOLL_PENDING;
            world w;
            open_world(&w);
            if (before)
                EXPECT(OK, nbcoll_context_free(w.context[leavers[l]]));
            EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
            if (!before)
                EXPECT(OK, nbcoll_context_free(w.context[leavers[l]]));
            w.context[leavers[l]] = NULL;
            for (int pass = 0; pass < 100 && s == NBCOLL_PENDING; pass++) {
                for (int r = 1; r < RANKS; r++)
                    if (w.context[r])
                        EXPECT(OK, nbcoll_progress(w.context[r]));
                s = nbcoll_test(&q);
            }
            EXPECT(ERR_PEER_LOST, s);
            world_close(&w);
        }
}

static void a_rank_that_ends_it_without_showing_anything_is_out_of_step(void **state)
{
    int32_t mine[RANKS] = {0}, all[RANKS][RANKS];
    nbcoll_status s[RANKS];
    nbcoll_request q[RANKS];
    world w;

    (void)state;
    open_world(&w);
    for (int r = 0; r < RANKS; r++)
        if (r == RANKS - 1)
            EXPECT(OK, nbcoll_ibcast(&mine[r], 1, NBCOLL_INT32, r, w.comm[r], &q[r]));
        else
            EXPECT(OK, nbcoll_iallgather(&mine[r], all[r], 1, NBCOLL_INT32, w.comm[r], &q[r]));
    world_settle(&w, RANKS, q, s);
    for (int r = 0; r < RANKS - 1; r++)
        EXPECT(ERR_MISMATCH, s[r]);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_in_vain_looks_once),
        cmocka_unit_test(every_rank_combines_in_rank_order),
        cmocka_unit_test(that_a_rank_has_left_is_noticed_while_another_one_is_missing),
        cmocka_unit_test(a_rank_that_ends_it_without_showing_anything_is_out_of_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
