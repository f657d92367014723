/* SPDX-License-Identifier: BSD-3-Clause
 * A creation that one rank cancels, or that times out there, when others have already ended it: what they have then is
 * refused at once, on all of them, for operations that are under way and for later ones. Tried after each step that a
 * rank makes, for each way to make a communicator, on messages and on shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "native.h"
#include "world.h"

enum { RANKS = 3, SEEDS = 3, LENGTH = 700, IN_TIME = 300 };

typedef enum way {
    CREATE,
    DUP,
    DUP_OF_FREED,     /* whoever has the new one frees the parent */
    SPLIT,            /* all of one colour */
    SPLIT_FROM_OTHER  /* the canceller is of another colour */
} way;

typedef struct play {
    world w;
    way kind;
    int canceller;
    nbcoll_comm *made[RANKS];
    nbcoll_request making[RANKS], work[RANKS];
    nbcoll_status made_as[RANKS], worked[RANKS]; /* PENDING as long as it has not ended */
    int64_t data[RANKS][2][LENGTH];
} play;

static void start_making(play *p, int r)
{
    int colour = p->kind == SPLIT_FROM_OTHER && r == p->canceller;
    native n;

    native_init(&n, NULL);
    if (p->kind == CREATE)
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &n.config, &p->made[r], &p->making[r]));
    else if (p->kind < SPLIT)
        EXPECT(OK, nbcoll_comm_idup(p->w.comm[r], &p->made[r], &p->making[r]));
    else
        EXPECT(OK, nbcoll_comm_isplit(p->w.comm[r], colour, 0, &p->made[r], &p->making[r]));
}

/* On what a rank has made: an operation that no rank ends alone, of one element or of many. */
static nbcoll_status start_work(play *p, int r)
{
    size_t count = p->canceller == 1 ? 1 : LENGTH;
    return nbcoll_iallreduce(p->data[r][0], p->data[r][1], count, NBCOLL_INT64, NBCOLL_SUM, p->made[r], &p->work[r]);
}

static void look(play *p, int r)
{
    if (p->making[r].at && (p->made_as[r] = nbcoll_test(&p->making[r])) == NBCOLL_OK) {
        p->worked[r] = start_work(p, r);
        if (p->worked[r] == NBCOLL_OK)
            p->worked[r] = NBCOLL_PENDING;
        if (p->kind == DUP_OF_FREED)
            EXPECT(OK, nbcoll_comm_free(p->w.comm[r]));
    }
    if (p->work[r].at)
        p->worked[r] = nbcoll_test(&p->work[r]);
}

static void open_play(play *p, way kind, int variant, uint64_t seed, int canceller)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);

    memset(p, 0, sizeof *p);
    if (kind == CREATE)
        world_open_contexts(&p->w, RANKS, &loopback, NULL);
    else
        world_open(&p->w, RANKS, &loopback, NULL, NULL);
    p->w.random = seed;
    p->kind = kind;
    p->canceller = canceller;
    for (int r = 0; r < RANKS; r++)
        p->made_as[r] = p->worked[r] = NBCOLL_PENDING;
}

/* All that was started ends soon. */
static void settle(play *p)
{
    for (int rounds = 0, left = 1; left; rounds++) {
        world_watchdog(&p->w, rounds < IN_TIME);
        left = 0;
        world_step(&p->w);
        for (int r = 0; r < RANKS; r++) {
            look(p, r);
            left |= p->making[r].at != NULL || p->work[r].at != NULL;
        }
    }
}

/* The creation did not end well on the canceller: who has made something cannot use it. Returns how many have. */
static int all_are_refused(play *p)
{
    nbcoll_failure failure;
    int have = 0;

    settle(p);
    for (int i = 0; i < 20; i++) /* all of one colour may have ended the work before they are told */
        world_step(&p->w);
    for (int r = 0; r < RANKS; r++) {
        if (p->made_as[r] != NBCOLL_OK) {
            EXPECT(ERR_CANCELLED, p->made_as[r]);
            assert_null(p->made[r]);
            continue;
        }
        have++;
        if (p->kind != SPLIT_FROM_OTHER || p->worked[r] != NBCOLL_OK)
            EXPECT(ERR_CANCELLED, p->worked[r]);
        EXPECT(ERR_CANCELLED, start_work(p, r));
        EXPECT(OK, nbcoll_last_failure(p->w.context[r], &failure));
        EXPECT(ERR_CANCELLED, failure.status);
        assert_ptr_equal(failure.comm, p->made[r]);
    }
    return have;
}

static void all_work(play *p)
{
    settle(p);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, p->made_as[r]);
        EXPECT(OK, p->worked[r]);
    }
}

/* Cancels after `passes` passes of one rank each. 0 when that is too late. */
static int cancel_after(way kind, int variant, uint64_t seed, int canceller, int passes, int *have)
{
    static play p;
    int in_time;

    open_play(&p, kind, variant, seed, canceller);
    for (int r = 0; r < RANKS; r++)
        start_making(&p, r);
    for (int i = 0; i < passes; i++)
        look(&p, (int)(world_random(&p.w.random) % RANKS));
    in_time = p.making[canceller].at != NULL;
    if (in_time)
        EXPECT(OK, nbcoll_cancel(p.making[canceller]));
    look(&p, canceller);
    in_time = p.made_as[canceller] != NBCOLL_OK;
    if (in_time)
        *have += all_are_refused(&p);
    else
        all_work(&p);
    world_close(&p.w);
    return in_time;
}

static void cancel_everywhere(way kind)
{
    int have = 0, tried = 0;

    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            for (int canceller = 0; canceller < RANKS; canceller++)
                for (int passes = 0; cancel_after(kind, variant, seed, canceller, passes, &have); passes++)
                    tried++;
    print_message("%d creations cancelled; %d ranks had made a communicator\n", tried, have);
    assert_true(have > 20);
}

static void the_first_communicator_is_refused_where_it_was_made(void **state)
{
    (void)state;
    cancel_everywhere(CREATE);
}

static void a_dup_is_refused_where_it_was_made(void **state)
{
    (void)state;
    cancel_everywhere(DUP);
}

static void a_dup_is_refused_also_when_its_parent_was_freed(void **state)
{
    (void)state;
    cancel_everywhere(DUP_OF_FREED);
}

static void a_split_is_refused_where_it_was_made(void **state)
{
    (void)state;
    cancel_everywhere(SPLIT);
}

static void a_split_is_refused_whatever_the_colour_of_the_canceller(void **state)
{
    (void)state;
    cancel_everywhere(SPLIT_FROM_OTHER);
}

/* The last rank comes late, calls, and does not wait: the others may have all votes by then. */
static int call_after(int variant, uint64_t seed, int late, int passes, int *have)
{
    static play p;
    nbcoll_status s;

    open_play(&p, DUP, variant, seed, late);
    for (int r = 0; r < RANKS; r++)
        if (r != late)
            start_making(&p, r);
    for (int i = 0; i < passes; i++)
        look(&p, (int)(world_random(&p.w.random) % RANKS));
    s = nbcoll_comm_dup(p.w.comm[late], &p.made[late], passes % 2 ? 0 : 20000);
    if (s == NBCOLL_ERR_TIMEOUT) {
        p.made_as[late] = NBCOLL_ERR_CANCELLED;
        *have += all_are_refused(&p);
    } else {
        EXPECT(OK, s);
        p.made_as[late] = NBCOLL_OK;
        p.worked[late] = start_work(&p, late);
        all_work(&p);
    }
    world_close(&p.w);
    return s == NBCOLL_OK;
}

static void a_dup_that_times_out_on_one_rank_is_refused_on_the_others(void **state)
{
    int have = 0, ended = 0;
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            for (int late = 0; late < RANKS; late++)
                for (int passes = 0; passes < 12; passes++)
                    ended += call_after(variant, seed, late, passes, &have);
    print_message("%d ended in time; %d ranks had made a communicator\n", ended, have);
    assert_true(have > 20);
}

/* Not collective: a rank may free what others then go on to use; they are told, and do not wait. */
static void an_operation_on_what_a_peer_has_freed_is_a_mismatch(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int early = 0; early < 2; early++) { /* its message is stored when the peer frees */
            static play p;
            open_play(&p, DUP, variant, 5, 0);
            for (int r = 0; r < RANKS; r++)
                start_making(&p, r);
            world_finish(&p.w, RANKS, p.making);
            if (!early)
                EXPECT(OK, nbcoll_comm_free(p.made[0]));
            for (int r = 1; r < RANKS; r++)
                EXPECT(OK, start_work(&p, r));
            for (int i = 0; i < 5; i++)
                world_step(&p.w);
            if (early)
                EXPECT(OK, nbcoll_comm_free(p.made[0]));
            settle(&p);
            for (int r = 1; r < RANKS; r++)
                EXPECT(ERR_MISMATCH, p.worked[r]);
            world_close(&p.w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_communicator_is_refused_where_it_was_made),
        cmocka_unit_test(a_dup_is_refused_where_it_was_made),
        cmocka_unit_test(a_dup_is_refused_also_when_its_parent_was_freed),
        cmocka_unit_test(a_split_is_refused_where_it_was_made),
        cmocka_unit_test(a_split_is_refused_whatever_the_colour_of_the_canceller),
        cmocka_unit_test(a_dup_that_times_out_on_one_rank_is_refused_on_the_others),
        cmocka_unit_test(an_operation_on_what_a_peer_has_freed_is_a_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
