/* SPDX-License-Identifier: BSD-3-Clause
 * A transport that fails: an exposure in a cell, and the death of a rank, which the others name, whatever else fails
 * with it. (Each post, get, put and registration in turn: test/storm.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nbcoll/fault.h"
#include "operation.h"
#include "works.h"
#include "world.h"

enum { MOST = 3 };

static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 2};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};

/* Over a loopback variant, each end wrapped. */
static void open_faulty(world *w, int ranks, int variant)
{
    nbcoll_loopback_config loopback = world_variant(variant, 3);
    nbcoll_request q[MOST];

    world_open_contexts(w, ranks, &loopback, &contexts);
    for (int r = 0; r < ranks; r++) {
        nbcoll_endpoint *inner = w->endpoint[r];
        EXPECT(OK, nbcoll_fault_open(NULL, inner, &w->endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &limits, &w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
}

/* ---- one call fails -------------------------------------------------------------------------------------------- */

static void an_exposure_in_a_cell_that_fails_ends_the_operation_on_all_ranks(void **state)
{
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++) {
        const nbcoll_fault_config fault = {
            .size = sizeof fault, .fail = NBCOLL_FAULT_REGISTER, .fail_at = 1, .fail_with = NBCOLL_POST_FAILED};
        const operation o = {.what = NBCOLL_OPERATION_BCAST, .count = 100, .how = {NBCOLL_INT64, NBCOLL_SUM}};
        nbcoll_request q[MOST];
        nbcoll_status status[MOST];
        share s[MOST];
        world w;
        open_faulty(&w, MOST, variant);
        EXPECT(OK, nbcoll_fault_set(w.endpoint[0], &fault));
        for (int r = 0; r < MOST; r++) {
            s[r] = share_make(&o, r, MOST);
            EXPECT(OK, operation_start(&o, &s[r], w.comm[r], &q[r]));
        }
        world_settle(&w, MOST, q, status);
        for (int r = 0; r < MOST; r++) {
            EXPECT(ERR_TRANSPORT, status[r]);
            share_free(&s[r]);
        }
        works(&w); /* the communicator goes on */
        world_close(&w);
    }
}

/* ---- a rank dies ----------------------------------------------------------------------------------------------- */

static void lose(world *w, int rank, int lost)
{
    nbcoll_fault_config fault = {.size = sizeof fault, .lost_at = 1, .lost = lost};
    EXPECT(OK, nbcoll_fault_set(w->endpoint[rank], &fault));
    nbcoll_progress(w->context[rank]);
}

static void the_death_of_a_rank_ends_its_operations_with_its_name(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int looks = 0; looks < 20; looks++) {
            const operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM}};
            nbcoll_request q[MOST];
            share s[MOST];
            world w;
            open_faulty(&w, MOST, variant);
            for (int r = 0; r < MOST; r++) {
                s[r] = share_make(&o, r, MOST);
                EXPECT(OK, operation_start(&o, &s[r], w.comm[r], &q[r]));
            }
            for (int i = 0; i < looks; i++)
                nbcoll_progress(w.context[i % MOST]);
            lose(&w, 0, 2); /* rank 2 does nothing any more; rank 1 hears of it from rank 0 */
            for (int r = 0; r < 2; r++) {
                nbcoll_failure failure;
                nbcoll_status status = NBCOLL_PENDING;
                for (int i = 0; i < 1000 && status == NBCOLL_PENDING; i++) {
                    nbcoll_progress(w.context[1 - r]);
                    status = nbcoll_test(&q[r]);
                    if (i == 100)
                        lose(&w, 1, 2); /* its own transport notices: only now can it know that nobody reads */
                }
                if (status == NBCOLL_OK) {
                    operation_check(&o, &s[r], r, MOST);
                    continue;
                }
                EXPECT(ERR_PEER_LOST, status);
                EXPECT(OK, nbcoll_last_failure(w.context[r], &failure));
                EXPECT(ERR_PEER_LOST, failure.status);
                assert_int_equal(failure.rank, 2);
            }
            lose(&w, 2, 0); /* for the test's sake it is freed too */
            lose(&w, 2, 1);
            for (int i = 0; i < 100 && nbcoll_test(&q[2]) == NBCOLL_PENDING; i++)
                world_step(&w);
            for (int r = 0; r < MOST; r++)
                share_free(&s[r]);
            world_close(&w);
        }
}

static void forget(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)status;
    (void)user;
}

/* In one progress rank 2 hears of the death of rank 1, and fails to send what had to wait to rank 0. */
static void a_death_is_named_before_what_fails_with_it(void **state)
{
    const nbcoll_fault_config fault = {.size = sizeof fault, .fail = NBCOLL_FAULT_POST, .fail_at = 2,
                                       .fail_with = NBCOLL_POST_LOST, .lost_at = 1, .lost = 1};
    nbcoll_request q;
    nbcoll_failure failure;
    int value[2] = {1, 2};
    world w;
    (void)state;
    open_faulty(&w, MOST, 6); /* with room for one message */
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 2, w.comm[2], &q));
        EXPECT(OK, nbcoll_on_done(q, forget, NULL));
    }
    EXPECT(OK, nbcoll_fault_set(w.endpoint[2], &fault));
    nbcoll_progress(w.context[2]);
    EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[2], &q));
    EXPECT(OK, nbcoll_last_failure(w.context[2], &failure));
    assert_int_equal(failure.rank, 1);
    world_close(&w);
}

/* The death is noticed at any moment of a dup, also in the very progress that ends it. */
static void a_communicator_made_while_a_member_dies_knows_of_it(void **state)
{
    int made = 0;
    (void)state;
    for (uint64_t n = 1; n < 10; n++) {
        nbcoll_fault_config fault = {.size = sizeof fault, .lost_at = n, .lost = 1};
        nbcoll_comm *dup[2] = {NULL};
        nbcoll_request q[2], use;
        nbcoll_status s = NBCOLL_PENDING;
        world w;
        open_faulty(&w, 2, 0);
        EXPECT(OK, nbcoll_fault_set(w.endpoint[0], &fault));
        EXPECT(OK, nbcoll_comm_idup(w.comm[1], &dup[1], &q[1]));
        EXPECT(OK, nbcoll_comm_idup(w.comm[0], &dup[0], &q[0]));
        for (int i = 0; i < 20 && s == NBCOLL_PENDING; i++)
            s = nbcoll_test(&q[0]);
        for (int i = 0; i < 20; i++)
            nbcoll_progress(w.context[0]);
        if (s == NBCOLL_OK) {
            made++;
            EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(dup[0], &use));
        }
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[0], &use));
        while (nbcoll_test(&q[1]) == NBCOLL_PENDING)
            lose(&w, 1, 0);
        world_close(&w);
    }
    assert_in_range(made, 1, 9);
}

/* ---- one rank has lost the other -------------------------------------------------------------------------------- */

/* What comes from there of a communicator that it does not know is no difference: of a shrink it may have ended without
 * that rank. */
static void who_is_cut_off_hears_of_a_loss(void **state)
{
    const nbcoll_fault_config fault = {
        .size = sizeof fault, .fail = NBCOLL_FAULT_POST, .fail_at = 1, .fail_with = NBCOLL_POST_FAILED};
    nbcoll_comm *freed[2];
    nbcoll_request q[2];
    nbcoll_status status;
    world w;

    (void)state;
    open_faulty(&w, 2, 0);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &freed[r], &q[r]));
    world_finish(&w, 2, q);
    EXPECT(OK, nbcoll_comm_free(freed[1]));
    EXPECT(OK, nbcoll_fault_set(w.endpoint[1], &fault));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    while ((status = nbcoll_test(&q[1])) == NBCOLL_PENDING)
        nbcoll_progress(w.context[0]);
    EXPECT(ERR_PEER_LOST, status);
    EXPECT(OK, nbcoll_ibarrier(freed[0], &q[0]));
    while ((status = nbcoll_test(&q[0])) == NBCOLL_PENDING)
        nbcoll_progress(w.context[1]);
    EXPECT(ERR_PEER_LOST, status);
    EXPECT(OK, nbcoll_comm_free(freed[0]));
    world_close(&w);
}

/* Rank 0 has voted, and has not heard rank 1's vote: rank 1 decides, and ends. */
static void who_waits_for_a_decision_that_fails_hears_that_it_is_lost(void **state)
{
    const nbcoll_fault_config fault = {
        .size = sizeof fault, .fail = NBCOLL_FAULT_POST, .fail_at = 1, .fail_with = NBCOLL_POST_FAILED};
    nbcoll_comm *made[2];
    nbcoll_request q[2];
    nbcoll_status status = NBCOLL_PENDING;
    world w;

    (void)state;
    open_faulty(&w, 3, 0);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_declare_lost(w.comm[r], 2));
    for (int i = 0; i < 10; i++)
        world_step(&w);
    EXPECT(OK, nbcoll_comm_ishrink(w.comm[1], &made[1], &q[1]));
    nbcoll_progress(w.context[1]);
    nbcoll_progress(w.context[0]); /* it has not started: it keeps no vote */
    EXPECT(OK, nbcoll_comm_ishrink(w.comm[0], &made[0], &q[0]));
    nbcoll_progress(w.context[0]);
    EXPECT(OK, nbcoll_fault_set(w.endpoint[1], &fault));
    EXPECT(OK, nbcoll_test(&q[1]));
    for (int i = 0; i < 100 && (status = nbcoll_test(&q[0])) == NBCOLL_PENDING; i++)
        nbcoll_progress(w.context[1]);
    EXPECT(ERR_PEER_LOST, status);
    EXPECT(OK, nbcoll_comm_free(made[1]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exposure_in_a_cell_that_fails_ends_the_operation_on_all_ranks),
        cmocka_unit_test(the_death_of_a_rank_ends_its_operations_with_its_name),
        cmocka_unit_test(a_death_is_named_before_what_fails_with_it),
        cmocka_unit_test(a_communicator_made_while_a_member_dies_knows_of_it),
        cmocka_unit_test(who_is_cut_off_hears_of_a_loss),
        cmocka_unit_test(who_waits_for_a_decision_that_fails_hears_that_it_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
