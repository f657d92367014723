/* SPDX-License-Identifier: BSD-3-Clause
 * The survivors of a communicator make another one: with deaths before and at every step of their agreement, which each
 * of them learns of at another time; with ranks that are declared lost and live on. The ranks are stepped in a seeded
 * order, so that a failure can be played again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/fault.h"
#include "world.h"

enum { MOST = 20, PLAYED = 6, ENDLESS = 20000 };

typedef struct play {
    world w;
    uint64_t random;
    int stopped;               /* bits of the ranks that do nothing any more */
    int due[MOST][MOST];       /* progresses after which a rank learns that another has stopped */
    int steps, when, victim;   /* the victim dies at step `when`; 0: never */
    int declared;              /* it stops and is declared lost, instead of dying */
    nbcoll_comm *comm[MOST];   /* the one that they work on now */
    nbcoll_request q[MOST];
    int64_t mine[MOST], all[MOST];
} play;

static int is_stopped(const play *p, int rank)
{
    return p->stopped >> rank & 1;
}

static void play_open_with(play *p, int ranks, const nbcoll_loopback_config *loopback, uint64_t seed)
{
    *p = (play){.random = seed};
    world_open_contexts(&p->w, ranks, loopback, NULL);
    for (int r = 0; r < ranks; r++) {
        nbcoll_endpoint *inner = p->w.endpoint[r];
        EXPECT(OK, nbcoll_fault_open(NULL, inner, &p->w.endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], NULL, &p->w.comm[r], &p->q[r]));
    }
    world_finish(&p->w, (size_t)ranks, p->q);
    for (int r = 0; r < ranks; r++)
        p->comm[r] = p->w.comm[r];
}

static void play_open(play *p, int ranks, int variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    play_open_with(p, ranks, &loopback, seed);
}

/* The rank stops. The others learn of its death, or declare it lost, one after the other. */
static void stop(play *p, int rank)
{
    p->stopped |= 1 << rank;
    for (int r = 0; r < p->w.ranks; r++)
        p->due[r][rank] = 1 + (int)(world_random(&p->random) % 12);
}

static void lose(play *p, int rank, int lost)
{
    const nbcoll_fault_config fault = {.size = sizeof fault, .lost_at = 1, .lost = lost};

    if (p->declared)
        EXPECT(OK, nbcoll_comm_declare_lost(p->w.comm[rank], lost));
    else
        EXPECT(OK, nbcoll_fault_set(p->w.endpoint[rank], &fault));
    EXPECT(OK, nbcoll_progress(p->w.context[rank]));
}

static void step_one(play *p, int rank)
{
    EXPECT(OK, nbcoll_progress(p->w.context[rank]));
    for (int lost = 0; lost < p->w.ranks; lost++)
        if (p->due[rank][lost] && --p->due[rank][lost] == 0)
            lose(p, rank, lost);
}

static void step(play *p)
{
    int rank = (int)(world_random(&p->random) % (uint64_t)p->w.ranks);

    if (++p->steps == p->when && !is_stopped(p, p->victim))
        stop(p, p->victim);
    if (!is_stopped(p, rank))
        step_one(p, rank);
}

static nbcoll_status end_of(play *p, int rank)
{
    nbcoll_status s = NBCOLL_PENDING;
    for (int rounds = 0; !is_stopped(p, rank) && (s = nbcoll_test(&p->q[rank])) == NBCOLL_PENDING; rounds++) {
        world_watchdog(&p->w, rounds < ENDLESS);
        step(p);
    }
    return s;
}

/* All that go on shrink what they work on; true if the result is whole. A victim may die meanwhile. */
static int shrink_all(play *p)
{
    int64_t *mine = p->mine, *all = p->all;
    int survivors = 0, whole = 1;

    for (int r = 0; r < p->w.ranks; r++) {
        for (int i = (int)(world_random(&p->random) % 8); i > 0; i--)
            step(p);
        if (!is_stopped(p, r))
            EXPECT(OK, nbcoll_comm_ishrink(p->comm[r], &p->comm[r], &p->q[r]));
    }
    for (int r = 0; r < p->w.ranks; r++)
        if (end_of(p, r) != NBCOLL_PENDING)
            assert_true(p->comm[r] && !p->q[r].at);
    for (int r = 0; r < p->w.ranks; r++) {
        mine[r] = INT64_C(1) << r;
        all[r] = 0;
        if (!is_stopped(p, r) &&
            nbcoll_iallreduce(&mine[r], &all[r], 1, NBCOLL_INT64, NBCOLL_BOR, p->comm[r], &p->q[r]) != NBCOLL_OK)
            whole = 0;
    }
    for (int r = 0; r < p->w.ranks; r++)
        whole &= is_stopped(p, r) || end_of(p, r) == NBCOLL_OK;
    for (int r = 0; r < p->w.ranks; r++) {
        survivors |= !is_stopped(p, r) << r;
        for (int other = 0; other < r; other++) /* all have got the same */
            if (!is_stopped(p, r) && !is_stopped(p, other))
                assert_int_equal(nbcoll_comm_size(p->comm[r]), nbcoll_comm_size(p->comm[other]));
    }
    for (int r = 0; r < p->w.ranks && whole; r++)
        if (!is_stopped(p, r)) {
            assert_int_equal(all[r] & survivors, survivors);
            assert_int_equal(nbcoll_comm_size(p->comm[r]), __builtin_popcountll((unsigned long long)all[r]));
        }
    return whole;
}

/* What stopped goes on, so that it can be freed. One that was declared lost finds that out. */
static void play_close(play *p)
{
    nbcoll_failure failure;
    int stopped = p->stopped;

    p->stopped = 0;
    memset(p->due, 0, sizeof p->due);
    for (int r = 0; r < p->w.ranks; r++) {
        if (!(stopped >> r & 1) || !p->q[r].at)
            continue;
        if (!p->declared)
            EXPECT(OK, nbcoll_cancel(p->q[r]));
        nbcoll_status s = end_of(p, r);
        if (p->declared && s != NBCOLL_OK) {
            EXPECT(ERR_PEER_LOST, s);
            EXPECT(OK, nbcoll_last_failure(p->w.context[r], &failure));
            assert_int_equal(failure.rank, nbcoll_comm_rank(failure.comm));
        }
    }
    world_close(&p->w);
}

/* Returns how many steps it took. */
static int shrink_with_deaths(int ranks, int variant, uint64_t seed, int when, int declared)
{
    play p;

    play_open(&p, ranks, variant, seed);
    p.declared = declared;
    p.victim = (int)(world_random(&p.random) % (uint64_t)ranks);
    p.when = when;
    int first = (int)(world_random(&p.random) % (uint64_t)ranks);
    if (ranks > 2 && first != p.victim)
        stop(&p, first);
    for (int tries = 0; !shrink_all(&p); tries++)
        assert_true(tries < 4);
    int steps = p.steps;
    play_close(&p);
    return steps;
}

static void all_steps(int declared)
{
    for (int ranks = 2; ranks <= PLAYED; ranks++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            uint64_t seed = (uint64_t)(100 * ranks + variant);
            int steps = shrink_with_deaths(ranks, variant, seed, 0, declared);
            for (int when = 1; when < steps; when += 1 + when / 16)
                shrink_with_deaths(ranks, variant, seed + 1000 * (uint64_t)when, when, declared);
        }
}

static void survivors_agree_whenever_another_dies(void **state)
{
    (void)state;
    all_steps(0);
}

static void survivors_agree_whenever_another_is_declared_lost(void **state)
{
    (void)state;
    all_steps(1);
}

/* ---- without deaths --------------------------------------------------------------------------------------------- */

static void without_losses_it_is_a_duplicate(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        play p;
        play_open(&p, 5, variant, 31);
        assert_true(shrink_all(&p));
        for (int r = 0; r < 5; r++) {
            assert_int_equal(nbcoll_comm_size(p.comm[r]), 5);
            assert_int_equal(nbcoll_comm_rank(p.comm[r]), r);
            EXPECT(OK, nbcoll_ibarrier(p.w.comm[r], &p.q[r])); /* the old one works as before */
        }
        world_finish(&p.w, 5, p.q);
        play_close(&p);
    }
}

static void its_cells_are_shared_while_messages_can_name_them(void **state)
{
    (void)state;
    for (int ranks = 6; ranks <= MOST; ranks += MOST - 6) {
        nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
        nbcoll_cells cells = {.size = sizeof cells};
        play p;
        loopback.payload = 256;
        play_open_with(&p, ranks, &loopback, 33);
        stop(&p, 3);
        while (!shrink_all(&p))
            ;
        EXPECT(OK, nbcoll_comm_cells(p.comm[0], &cells));
        assert_int_equal(cells.present, ranks == 6);
        play_close(&p);
    }
}

/* ---- lost and alive ---------------------------------------------------------------------------------------------- */

/* Two halves declare each other lost, before any of them hears of it. */
static void two_halves_get_two_communicators(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        play p;
        play_open(&p, 4, variant, 35);
        for (int r = 0; r < 4; r++)
            for (int other = 0; other < 4; other++)
                if (r % 2 != other % 2)
                    EXPECT(OK, nbcoll_comm_declare_lost(p.comm[r], other));
        for (int r = 0; r < 4; r++)
            EXPECT(OK, nbcoll_comm_ishrink(p.comm[r], &p.comm[r], &p.q[r]));
        world_finish(&p.w, 4, p.q);
        for (int r = 0; r < 4; r++) {
            assert_int_equal(nbcoll_comm_size(p.comm[r]), 2);
            assert_int_equal(nbcoll_comm_rank(p.comm[r]), r / 2);
            EXPECT(OK, nbcoll_ibarrier(p.comm[r], &p.q[r]));
        }
        world_finish(&p.w, 4, p.q);
        play_close(&p);
    }
}

static void who_is_declared_lost_finds_itself_lost(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_failure failure;
        play p;
        play_open(&p, 3, variant, 37);
        EXPECT(OK, nbcoll_comm_declare_lost(p.comm[0], 1));
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_ishrink(p.comm[r], &p.comm[r], &p.q[r]));
        EXPECT(OK, end_of(&p, 0));
        EXPECT(OK, end_of(&p, 2));
        EXPECT(ERR_PEER_LOST, end_of(&p, 1));
        EXPECT(OK, nbcoll_last_failure(p.w.context[1], &failure));
        assert_int_equal(failure.rank, 1);
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(p.w.comm[1], &p.q[1]));
        EXPECT(OK, nbcoll_last_failure(p.w.context[1], &failure));
        assert_int_equal(failure.rank, 1);
        assert_int_equal(nbcoll_comm_size(p.comm[2]), 2);
        play_close(&p);
    }
}

/* ---- cancelled --------------------------------------------------------------------------------------------------- */

/* Whoever has a communicator then cannot use it; all others are cancelled. */
static void cancel_after(int variant, int steps)
{
    nbcoll_failure failure;
    play p;

    play_open(&p, 4, variant, 39);
    for (int r = 0; r < 4; r++)
        EXPECT(OK, nbcoll_comm_ishrink(p.w.comm[r], &p.comm[r], &p.q[r]));
    for (int i = 0; i < steps; i++)
        step(&p);
    EXPECT(OK, nbcoll_cancel(p.q[2]));
    nbcoll_status end[4];
    for (int r = 0; r < 4; r++) {
        end[r] = end_of(&p, r);
        if (end[r] != NBCOLL_OK) {
            EXPECT(ERR_CANCELLED, end[r]);
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[r], &failure));
            assert_int_equal(failure.rank, 2); /* whoever has told it */
        }
    }
    for (int r = 0; r < 4 && end[2] != NBCOLL_OK; r++)
        if (end[r] == NBCOLL_OK) {
            nbcoll_status s = nbcoll_ibarrier(p.comm[r], &p.q[r]);
            if (s == NBCOLL_OK)
                EXPECT(ERR_CANCELLED, end_of(&p, r));
            else
                EXPECT(ERR_CANCELLED, s);
            EXPECT(OK, nbcoll_last_failure(p.w.context[r], &failure));
            if (failure.rank >= 0) /* who is sent data of what it has not cannot say why nobody has made it */
                EXPECT(ERR_CANCELLED, end[failure.rank]);
        }
    play_close(&p);
}

static void a_cancelled_shrink_leaves_no_communicator_that_works(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int steps = 0; steps < 30; steps++)
            cancel_after(variant, steps);
}

/* What was to tell the others that it is over is on its way when one of them leaves: it is asked for, and comes back */
static void who_leaves_when_it_is_over_is_not_lost(void **state)
{
    const nbcoll_fault_config holds = {.size = sizeof holds, .hold = 900, .longest = 40};
    nbcoll_failure failure;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        play p;
        play_open(&p, 3, 0, seed);
        EXPECT(OK, nbcoll_fault_set(p.w.endpoint[0], &holds));
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_ishrink(p.w.comm[r], &p.comm[r], &p.q[r]));
        EXPECT(OK, end_of(&p, 1));
        p.stopped = 1 << 1;
        for (uint64_t i = 0; i < seed; i++)
            step(&p);
        while (nbcoll_context_free(p.w.context[1]) == NBCOLL_ERR_BUSY)
            EXPECT(OK, nbcoll_progress(p.w.context[1]));
        p.w.context[1] = NULL;
        for (int r = 0; r < 3; r += 2)
            EXPECT(OK, end_of(&p, r));
        for (int i = 0; i < 100; i++)
            step(&p);
        for (int r = 0; r < 3; r += 2) {
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[r], &failure));
            EXPECT(OK, failure.status);
        }
        p.stopped = 0;
        world_close(&p.w);
    }
}

static void one_that_is_left_at_its_timeout_ends_on_all(void **state)
{
    nbcoll_failure failure;
    nbcoll_comm *made;
    play p;

    (void)state;
    play_open(&p, 3, 0, 41);
    EXPECT(OK, nbcoll_comm_ishrink(p.comm[1], &p.comm[1], &p.q[1]));
    EXPECT(ERR_TIMEOUT, nbcoll_comm_shrink(p.w.comm[0], &made, 0));
    EXPECT(OK, nbcoll_last_failure(p.w.context[0], &failure));
    assert_int_equal(failure.rank, 2); /* it has not come */
    EXPECT(OK, nbcoll_comm_ishrink(p.comm[2], &p.comm[2], &p.q[2]));
    for (int r = 1; r < 3; r++)
        EXPECT(ERR_CANCELLED, end_of(&p, r));
    play_close(&p);
}

static void a_communicator_that_is_being_shrunk_cannot_be_freed(void **state)
{
    play p;

    (void)state;
    play_open(&p, 2, 0, 43);
    EXPECT(ERR_NULL, nbcoll_comm_ishrink(NULL, &p.comm[0], &p.q[0]));
    EXPECT(ERR_NULL, nbcoll_comm_ishrink(p.comm[0], NULL, &p.q[0]));
    EXPECT(ERR_NULL, nbcoll_comm_ishrink(p.comm[0], &p.comm[0], NULL));
    EXPECT(OK, nbcoll_comm_ishrink(p.w.comm[0], &p.comm[0], &p.q[0]));
    EXPECT(ERR_BUSY, nbcoll_comm_free(p.w.comm[0]));
    EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[0]));
    EXPECT(PENDING, nbcoll_arrived(p.q[0], 0, 0));
    EXPECT(OK, nbcoll_comm_ishrink(p.w.comm[1], &p.comm[1], &p.q[1]));
    world_finish(&p.w, 2, p.q);
    EXPECT(OK, nbcoll_comm_free(p.w.comm[0]));
    assert_true(shrink_all(&p));
    play_close(&p);
}

/* Who is gone is said in one message of the transport's. The call is refused, and all goes on. */
static void more_ranks_than_a_message_can_name_cannot_be_shrunk(void **state)
{
    enum { RANKS = 240 };
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS, .payload = 256, .depth = 4};
    static nbcoll_context *context[RANKS];
    static nbcoll_comm *comm[RANKS];
    static nbcoll_request q[RANKS];
    nbcoll_request shrink = NBCOLL_REQUEST_NULL;
    nbcoll_comm *made = NULL;
    nbcoll_loopback *loopback;
    (void)state;
    EXPECT(OK, nbcoll_loopback_create(&config, &loopback));
    for (int r = 0; r < RANKS; r++) {
        nbcoll_endpoint *ep;
        EXPECT(OK, nbcoll_loopback_open(loopback, r, &ep));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context[r]));
        EXPECT(OK, nbcoll_comm_icreate(context[r], ep, NULL, &comm[r], &q[r]));
    }
    while (nbcoll_test_all(RANKS, q, NULL) == NBCOLL_PENDING)
        ;
    EXPECT(ERR_LIMIT, nbcoll_comm_ishrink(comm[0], &made, &shrink));
    EXPECT(ERR_LIMIT, nbcoll_comm_shrink(comm[1], &made, 0));
    assert_null(made);
    assert_null(shrink.at);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(nbcoll_comm_active(comm[r]), 0);
        EXPECT(OK, nbcoll_ibarrier(comm[r], &q[r]));
    }
    while (nbcoll_test_all(RANKS, q, NULL) == NBCOLL_PENDING)
        ;
    for (int r = 0; r < RANKS; r++)
        while (nbcoll_context_free(context[r]) == NBCOLL_ERR_BUSY)
            for (int other = r; other < RANKS; other++)
                nbcoll_progress(context[other]);
    EXPECT(OK, nbcoll_loopback_free(loopback));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_agree_whenever_another_dies),
        cmocka_unit_test(survivors_agree_whenever_another_is_declared_lost),
        cmocka_unit_test(without_losses_it_is_a_duplicate),
        cmocka_unit_test(its_cells_are_shared_while_messages_can_name_them),
        cmocka_unit_test(two_halves_get_two_communicators),
        cmocka_unit_test(who_is_declared_lost_finds_itself_lost),
        cmocka_unit_test(a_cancelled_shrink_leaves_no_communicator_that_works),
        cmocka_unit_test(who_leaves_when_it_is_over_is_not_lost),
        cmocka_unit_test(one_that_is_left_at_its_timeout_ends_on_all),
        cmocka_unit_test(a_communicator_that_is_being_shrunk_cannot_be_freed),
        cmocka_unit_test(more_ranks_than_a_message_can_name_cannot_be_shrunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
