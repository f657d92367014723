/* SPDX-License-Identifier: BSD-3-Clause
 * A transport that fails: the N-th post, get or exposure, for N = 1, 2, ... until nothing fails. Operations that need
 * it end with the loss of a peer, on all ranks; who gets OK has its data; buffers are free at the end of their
 * operation; everything can be freed. And the death of a rank, which the others name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "nbcoll/fault.h"
#include "operation.h"
#include "world.h"

/* Every call in turn; where one thread steps all ranks the thread sanitizer has little to say, and takes minutes. */
#ifdef __SANITIZE_THREAD__
enum { MOST = 3, EVERY = 8 };
#else
enum { MOST = 3, EVERY = 1 };
#endif

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

/* Runs it on all ranks, each of which frees its buffers when it ends. Returns whether it ended well everywhere. */
static int run(world *w, const operation *o)
{
    nbcoll_request q[MOST] = {NBCOLL_REQUEST_NULL};
    share s[MOST];
    int left = 0, well = 1;

    for (int r = 0; r < w->ranks; r++) {
        s[r] = share_make(o, r, w->ranks);
        nbcoll_status status = operation_start(o, &s[r], w->comm[r], &q[r]);
        left += status == NBCOLL_OK;
        if (status != NBCOLL_OK) {
            EXPECT(ERR_PEER_LOST, status);
            share_free(&s[r]);
            well = 0;
        }
    }
    for (int rounds = 0; left; rounds++) {
        world_watchdog(w, rounds < 5000);
        world_step(w);
        for (int r = 0; r < w->ranks; r++) {
            nbcoll_status status = q[r].at ? nbcoll_test(&q[r]) : NBCOLL_PENDING;
            if (status == NBCOLL_PENDING)
                continue;
            if (status == NBCOLL_OK)
                operation_check(o, &s[r], r, w->ranks);
            else
                EXPECT(ERR_PEER_LOST, status);
            well &= status == NBCOLL_OK;
            share_free(&s[r]);
            left--;
        }
    }
    return well;
}

/* Whether the call was reached. */
static int live_with(int ranks, int variant, uint32_t what, uint64_t n)
{
    static const size_t counts[] = {1, 100, 400};
    nbcoll_fault_config fault = {.size = sizeof fault, .fail = what, .fail_at = n, .fail_with = NBCOLL_POST_FAILED};
    int well = 1;
    world w;

    open_faulty(&w, ranks, variant);
    EXPECT(OK, nbcoll_fault_set(w.endpoint[0], &fault));
    for (int k = 0; k < 6 * NBCOLL_OPERATION_COUNT && well; k++) { /* each of them twice: runs are pooled */
        operation o = {.what = (nbcoll_operation)(k / 2 % NBCOLL_OPERATION_COUNT),
                       .count = counts[k / 2 / NBCOLL_OPERATION_COUNT], .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
        well = run(&w, &o);
    }
    int reached = nbcoll_fault_calls(w.endpoint[0]) >= n;
    if (what == NBCOLL_FAULT_REGISTER || !reached)
        assert_true(well); /* without a key the payload goes in messages */
    for (int i = 0; !well && i < 30; i++)
        world_step(&w);
    for (int r = 0; r < ranks && !well; r++) { /* all know, and say so */
        nbcoll_request q;
        nbcoll_failure failure;
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[r], &q));
        EXPECT(OK, nbcoll_last_failure(w.context[r], &failure));
        EXPECT(ERR_PEER_LOST, failure.status);
        assert_in_range(failure.rank, 0, ranks - 1);
    }
    world_close(&w);
    return reached;
}

static void whichever_call(uint32_t what, const char *name, int variants)
{
    for (int ranks = 2; ranks <= MOST; ranks++)
        for (int variant = 0; variant < variants; variant++) {
            uint64_t n = 1;
            while (live_with(ranks, variant, what, n))
                n += EVERY;
            printf("%d ranks, variant %d: fewer than %d %s\n", ranks, variant, (int)n, name);
        }
}

static void whichever_post_fails_all_ranks_learn_of_it(void **state)
{
    (void)state;
    whichever_call(NBCOLL_FAULT_POST, "posts", WORLD_VARIANTS);
}

static void whichever_get_fails_all_ranks_learn_of_it(void **state)
{
    (void)state;
    whichever_call(NBCOLL_FAULT_GET, "gets", WORLD_VARIANTS);
}

static void whichever_put_fails_all_ranks_learn_of_it(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= MOST; ranks++)
        for (int variant = WORLD_PUTS; variant < WORLD_SHARED; variant++) {
            uint64_t n = 1;
            while (live_with(ranks, variant, NBCOLL_FAULT_PUT, n))
                n += EVERY;
            assert_true(n > 1); /* some puts were made */
        }
}

static void an_exposure_that_fails_changes_nothing_where_messages_replace_it(void **state)
{
    (void)state;
    whichever_call(NBCOLL_FAULT_REGISTER, "registrations", WORLD_SHARED);
}

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
        assert_true(run(&w, &o)); /* the communicator goes on */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_post_fails_all_ranks_learn_of_it),
        cmocka_unit_test(whichever_get_fails_all_ranks_learn_of_it),
        cmocka_unit_test(whichever_put_fails_all_ranks_learn_of_it),
        cmocka_unit_test(an_exposure_that_fails_changes_nothing_where_messages_replace_it),
        cmocka_unit_test(an_exposure_in_a_cell_that_fails_ends_the_operation_on_all_ranks),
        cmocka_unit_test(the_death_of_a_rank_ends_its_operations_with_its_name),
        cmocka_unit_test(a_death_is_named_before_what_fails_with_it),
        cmocka_unit_test(a_communicator_made_while_a_member_dies_knows_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
