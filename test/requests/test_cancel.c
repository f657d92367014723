/* SPDX-License-Identifier: BSD-3-Clause
 * Cancelling: at any moment, by any rank; an operation ends only when nobody can touch its buffers any more; afterwards
 * the communicator works and nothing late reaches later operations. Buffers are freed the moment their operation has
 * ended, so that the address sanitizer sees whoever comes too late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "operation.h"
#include "works.h"
#include "world.h"

/* Small limits, so that small data crosses them. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 6, .cells = 8, .schedules = 32,
                                          .eager = 256, .large = 2048};

static void settle(world *w, int rank)
{
    for (int i = 0; i < 30; i++)
        nbcoll_progress(w->context[rank]);
}

/* ---- who and when ---------------------------------------------------------------------------------------------- */

static void cancelled_before_the_others_start_it_is_cancelled_for_them_too(void **state)
{
    nbcoll_request q[3];
    nbcoll_status s[3];
    world w;
    (void)state;
    world_open(&w, 3, NULL, &contexts, &limits);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_cancel(q[0]));
    settle(&w, 1);
    settle(&w, 2);
    for (int r = 1; r < 3; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    for (int r = 0; r < 3; r++)
        EXPECT(ERR_CANCELLED, nbcoll_test(&q[r])); /* at once */
    works(&w);
    world_settle(&w, 3, q, s);
    world_close(&w);
}

static void cancelled_by_all_ranks_it_ends_on_all(void **state)
{
    nbcoll_request q[3];
    nbcoll_status s[3];
    world w;
    (void)state;
    world_open(&w, 3, NULL, &contexts, &limits);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_cancel(q[r]));
    world_settle(&w, 3, q, s);
    for (int r = 0; r < 3; r++)
        EXPECT(ERR_CANCELLED, s[r]);
    works(&w);
    world_close(&w);
}

static void an_ended_operation_keeps_its_status(void **state)
{
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, &contexts, &limits);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_test(&q[1]));
    settle(&w, 0);
    EXPECT(OK, nbcoll_cancel(q[0]));
    EXPECT(OK, nbcoll_test(&q[0]));
    works(&w);
    world_close(&w);
}

static void cancelling_again_changes_nothing(void **state)
{
    static unsigned char data[100000];
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 2, NULL, &contexts, &limits);
    EXPECT(OK, nbcoll_ibcast(data, sizeof data, NBCOLL_BYTE, 0, w.comm[0], &q));
    EXPECT(OK, nbcoll_cancel(q));
    EXPECT(OK, nbcoll_cancel(q));
    EXPECT(PENDING, nbcoll_test(&q)); /* rank 1 may be reading */
    settle(&w, 1);
    EXPECT(ERR_CANCELLED, nbcoll_test(&q));
    EXPECT(ERR_CANCELLED, nbcoll_bcast(data, sizeof data, NBCOLL_BYTE, 0, w.comm[1], NBCOLL_FOREVER));
    works(&w);
    world_close(&w);
}

static void an_operation_without_a_slot_is_cancelled_at_once(void **state)
{
    nbcoll_comm_config one = limits;
    nbcoll_request q[6];
    nbcoll_status s[6];
    world w;
    (void)state;
    one.slots = 1;
    world_open(&w, 2, NULL, &contexts, &one);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[i]));
    EXPECT(OK, nbcoll_cancel(q[1]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&q[1]));
    settle(&w, 1);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[3 + i]));
    world_settle(&w, 6, q, s);
    EXPECT(OK, s[0]);
    EXPECT(OK, s[2]);
    EXPECT(OK, s[3]);
    EXPECT(ERR_CANCELLED, s[4]);
    EXPECT(OK, s[5]);
    works(&w);
    world_close(&w);
}

static void one_that_is_doomed_queued_and_cancelled_ends_once(void **state)
{
    nbcoll_comm_config one = limits;
    nbcoll_request q[4];
    nbcoll_status s[4];
    world w;
    (void)state;
    one.slots = 1;
    world_open(&w, 2, NULL, &contexts, &one);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[i]));
    EXPECT(OK, nbcoll_cancel(q[1]));
    settle(&w, 1); /* rank 1 knows of the first message and of the revocation */
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[2]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[3]));
    EXPECT(OK, nbcoll_cancel(q[3]));
    world_settle(&w, 4, q, s);
    EXPECT(OK, s[0]);
    EXPECT(ERR_CANCELLED, s[1]);
    EXPECT(OK, s[2]);
    EXPECT(ERR_CANCELLED, s[3]);
    works(&w);
    world_close(&w);
}

/* ---- in the middle of a transfer ------------------------------------------------------------------------------- */

/* Runs an operation for so many looks, cancels it on one rank, and lets each rank free its buffers when it ends. */
static void cancel_after(world *w, const operation *o, int looks, int rank)
{
    nbcoll_request q[WORLD_MOST];
    share s[WORLD_MOST];
    int left = w->ranks;

    for (int r = 0; r < w->ranks; r++) {
        s[r] = share_make(o, r, w->ranks);
        EXPECT(OK, operation_start(o, &s[r], w->comm[r], &q[r]));
    }
    for (int i = 0; i < looks; i++)
        nbcoll_progress(w->context[i % w->ranks]);
    EXPECT(OK, nbcoll_cancel(q[rank]));
    for (int rounds = 0; left; rounds++) {
        world_watchdog(w, rounds < 10000);
        world_step(w); /* also those that have ended: others may wait for their answers */
        for (int r = 0; r < w->ranks; r++) {
            if (!q[r].at)
                continue;
            nbcoll_status status = nbcoll_test(&q[r]);
            if (status == NBCOLL_PENDING)
                continue;
            if (status == NBCOLL_OK)
                operation_check(o, &s[r], r, w->ranks);
            else
                EXPECT(ERR_CANCELLED, status);
            share_free(&s[r]);
            left--;
        }
    }
}

static void cancelled_at_any_moment_of_a_transfer_it_ends_and_leaves_nothing(void **state)
{
    static const nbcoll_operation what[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
                                            NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_REDUCE,
                                            NBCOLL_OPERATION_ALLREDUCE};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 11);
        world w;
        world_open(&w, 3, &loopback, &contexts, &limits);
        for (size_t k = 0; k < sizeof what / sizeof *what; k++)
            for (int looks = 0; looks < 30; looks++)
                for (int rank = 0; rank < 3; rank++) {
                    operation o = {.what = what[k], .count = 300, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 5};
                    cancel_after(&w, &o, looks, rank);
                }
        works(&w);
        world_close(&w);
    }
}

/* An eager message takes a credit; a cancelled one must not keep it. The root of a small broadcast ends without help
 * only while it has credits. */
static void cancelled_operations_keep_no_credits(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 13);
        nbcoll_request q[2];
        nbcoll_status s[2];
        int value[2] = {0};
        world w;
        world_open(&w, 2, &loopback, &contexts, &limits);
        for (int i = 0; i < 50; i++) {
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_ibcast(&value[r], 1, NBCOLL_INT32, i % 2, w.comm[r], &q[r]));
            EXPECT(OK, nbcoll_cancel(q[i % 2]));
            world_settle(&w, 2, q, s);
        }
        works(&w);
        settle(&w, 0);
        settle(&w, 1);
        settle(&w, 0);
        EXPECT(OK, nbcoll_ibcast(&value[0], 1, NBCOLL_INT32, 0, w.comm[0], &q[0]));
        settle(&w, 0);
        EXPECT(OK, nbcoll_test(&q[0]));
        EXPECT(OK, nbcoll_ibcast(&value[1], 1, NBCOLL_INT32, 0, w.comm[1], &q[1]));
        world_finish(&w, 1, &q[1]);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_before_the_others_start_it_is_cancelled_for_them_too),
        cmocka_unit_test(cancelled_by_all_ranks_it_ends_on_all),
        cmocka_unit_test(an_ended_operation_keeps_its_status),
        cmocka_unit_test(cancelling_again_changes_nothing),
        cmocka_unit_test(an_operation_without_a_slot_is_cancelled_at_once),
        cmocka_unit_test(one_that_is_doomed_queued_and_cancelled_ends_once),
        cmocka_unit_test(cancelled_at_any_moment_of_a_transfer_it_ends_and_leaves_nothing),
        cmocka_unit_test(cancelled_operations_keep_no_credits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
