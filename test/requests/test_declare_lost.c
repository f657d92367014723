/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that stops for good, and is declared lost by another: what the others do ends, and they can free all they have
 * without its help. It may wake up later: that disturbs nobody, and it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "layout.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 4, STOPPED = 2 };

/* Small limits, so that small data crosses them. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 2};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 2, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};

static void open_world(world *w, int variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    world_open(w, RANKS, &loopback, &contexts, &limits);
}

/* One progress of each rank but the one that is stopped, if one is (else -1). */
static void step(world *w, int stopped)
{
    for (int r = 0; r < RANKS; r++)
        if (r != stopped && w->context[r])
            nbcoll_progress(w->context[r]);
}

static nbcoll_status end_of(world *w, nbcoll_request *q, int stopped)
{
    nbcoll_status s;
    for (int rounds = 0; (s = nbcoll_test(q)) == NBCOLL_PENDING; rounds++) {
        world_watchdog(w, rounds < 5000);
        step(w, stopped);
    }
    return s;
}

/* It ended well, or the stopped rank is the cause. */
static void expect_end(world *w, int rank, nbcoll_request *q, int stopped)
{
    nbcoll_status s = end_of(w, q, stopped);
    nbcoll_failure failure;

    if (s == NBCOLL_OK)
        return;
    EXPECT(ERR_PEER_LOST, s);
    EXPECT(OK, nbcoll_last_failure(w->context[rank], &failure));
    EXPECT(ERR_PEER_LOST, failure.status);
    assert_int_equal(failure.rank, STOPPED);
}

static void free_context(world *w, int rank, int stopped)
{
    for (int tries = 0; nbcoll_context_free(w->context[rank]) == NBCOLL_ERR_BUSY; tries++) {
        world_watchdog(w, tries < 1000);
        step(w, stopped);
    }
    w->context[rank] = NULL;
}

/* A few operations, in which it stops after so many steps; another rank declares it lost. */
static void stop_in_the_middle(int variant, const operation *o, int steps, int wakes)
{
    nbcoll_request q[RANKS];
    share s[RANKS];
    world w;

    open_world(&w, variant, 3);
    for (int r = 0; r < RANKS; r++) {
        s[r] = share_make(o, r, RANKS);
        EXPECT(OK, operation_start(o, &s[r], w.comm[r], &q[r]));
        for (int i = 0; r == STOPPED && i < steps; i++)
            step(&w, -1);
    }
    EXPECT(OK, nbcoll_comm_declare_lost(w.comm[0], STOPPED));
    for (int r = 0; r < RANKS; r++)
        if (r != STOPPED)
            expect_end(&w, r, &q[r], STOPPED);
    if (wakes)
        expect_end(&w, STOPPED, &q[STOPPED], -1);
    for (int r = 0; r < RANKS; r++)
        if (r != STOPPED)
            free_context(&w, r, STOPPED);
    nbcoll_status last = end_of(&w, &q[STOPPED], -1); /* where its ring was full, it only sees that they have left */
    assert_true(last == NBCOLL_OK || last == NBCOLL_ERR_PEER_LOST);
    world_close(&w);
    for (int r = 0; r < RANKS; r++)
        share_free(&s[r]);
}

static void what_the_others_do_ends_with_its_name(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (int steps = 0; steps < 5; steps++)
                for (int wakes = 0; wakes < 2; wakes++) {
                    operation o = {.what = (nbcoll_operation)what, .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM},
                                   .seed = (uint64_t)steps, .root = (what + steps) % RANKS};
                    if (!has_root(o.what))
                        o.root = 0;
                    stop_in_the_middle(variant, &o, steps, wakes);
                }
}

/* Those that have a communicator without it work there, and make others, also when it wakes up and writes what it was
 * about to write. */
static void those_without_it_go_on_when_it_wakes_up(void **state)
{
    operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 8, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int wakes = 0; wakes < 12; wakes++) {
            nbcoll_comm *others[RANKS], *made[RANKS];
            nbcoll_request q[RANKS], last;
            share s = share_make(&o, STOPPED, RANKS);
            world w;

            open_world(&w, variant, 5);
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, nbcoll_comm_isplit(w.comm[r], r == STOPPED, 0, &others[r], &q[r]));
            world_finish(&w, RANKS, q);
            EXPECT(OK, operation_start(&o, &s, w.comm[STOPPED], &last));
            EXPECT(OK, nbcoll_comm_declare_lost(w.comm[3], STOPPED));
            for (int round = 0; round < 12; round++) {
                int stopped = round < wakes ? STOPPED : -1;
                for (int r = 0; r < RANKS; r++)
                    if (r != STOPPED)
                        EXPECT(OK, nbcoll_comm_idup(others[r], &made[r], &q[r]));
                for (int r = 0; r < RANKS; r++)
                    if (r != STOPPED)
                        EXPECT(OK, end_of(&w, &q[r], stopped));
                for (int r = 0; r < RANKS; r++)
                    if (r != STOPPED)
                        EXPECT(OK, nbcoll_ibarrier(made[r], &q[r]));
                EXPECT(OK, nbcoll_comm_free(round == 0 ? w.comm[0] : NULL)); /* its cells were there */
                for (int r = 0; r < RANKS; r++)
                    if (r != STOPPED)
                        EXPECT(OK, end_of(&w, &q[r], stopped));
                for (int r = 0; r < RANKS; r++)
                    if (r != STOPPED)
                        EXPECT(OK, nbcoll_comm_free(made[r]));
            }
            expect_end(&w, STOPPED, &last, -1);
            world_close(&w);
            share_free(&s);
        }
}

static void it_is_told_that_it_is_lost_itself(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q;
        nbcoll_failure failure;
        world w;

        open_world(&w, variant, 7);
        EXPECT(OK, nbcoll_comm_declare_lost(w.comm[1], STOPPED));
        for (int r = 0; r < RANKS; r++) /* nobody is left to talk to */
            if (r != STOPPED)
                free_context(&w, r, STOPPED);
        EXPECT(OK, nbcoll_progress(w.context[STOPPED]));
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[STOPPED], &q));
        EXPECT(OK, nbcoll_last_failure(w.context[STOPPED], &failure));
        assert_int_equal(failure.rank, STOPPED);
        world_close(&w);
    }
}

static void it_is_told_while_the_others_shrink_and_one_of_them_is_late(void **state)
{
    enum { LATE = 1 };
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_comm *made[RANKS];
        nbcoll_request q[RANKS];
        nbcoll_failure failure;
        world w;

        open_world(&w, variant, 13);
        EXPECT(OK, nbcoll_ibarrier(w.comm[STOPPED], &q[STOPPED]));
        for (int r = 0; r < RANKS; r++)
            if (r != STOPPED && r != LATE)
                EXPECT(OK, nbcoll_comm_ishrink(w.comm[r], &made[r], &q[r]));
        EXPECT(OK, nbcoll_comm_declare_lost(w.comm[0], STOPPED));
        EXPECT(ERR_PEER_LOST, end_of(&w, &q[STOPPED], LATE));
        EXPECT(OK, nbcoll_last_failure(w.context[STOPPED], &failure));
        assert_int_equal(failure.rank, STOPPED);
        EXPECT(OK, nbcoll_comm_ishrink(w.comm[LATE], &made[LATE], &q[LATE]));
        for (int r = 0; r < RANKS; r++)
            if (r != STOPPED)
                EXPECT(OK, end_of(&w, &q[r], -1));
        world_close(&w);
    }
}

static void later_calls_are_refused_with_its_name(void **state)
{
    nbcoll_request q;
    nbcoll_failure failure;
    world w;

    (void)state;
    open_world(&w, 0, 9);
    EXPECT(OK, nbcoll_comm_declare_lost(w.comm[0], STOPPED));
    EXPECT(OK, nbcoll_comm_declare_lost(w.comm[0], STOPPED)); /* again: nothing */
    EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[0], &q));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    assert_int_equal(failure.rank, STOPPED);
    world_close(&w);
}

static void a_declaration_with_bad_arguments_changes_nothing(void **state)
{
    world w;

    (void)state;
    open_world(&w, 0, 11);
    EXPECT(ERR_NULL, nbcoll_comm_declare_lost(NULL, 0));
    EXPECT(ERR_RANK, nbcoll_comm_declare_lost(w.comm[1], -1));
    EXPECT(ERR_RANK, nbcoll_comm_declare_lost(w.comm[1], RANKS));
    EXPECT(ERR_RANK, nbcoll_comm_declare_lost(w.comm[1], 1));
    nbcoll_request q[RANKS];
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    world_finish(&w, RANKS, q);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_others_do_ends_with_its_name),
        cmocka_unit_test(those_without_it_go_on_when_it_wakes_up),
        cmocka_unit_test(it_is_told_that_it_is_lost_itself),
        cmocka_unit_test(it_is_told_while_the_others_shrink_and_one_of_them_is_late),
        cmocka_unit_test(later_calls_are_refused_with_its_name),
        cmocka_unit_test(a_declaration_with_bad_arguments_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
