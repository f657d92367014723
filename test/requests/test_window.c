/* SPDX-License-Identifier: BSD-3-Clause
 * All communicators between two ranks share one window: none holds up another one, and whatever becomes of one, the
 * credits of its messages come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "crossing.h"
#include "world.h"

enum { CREDITS = 3, AHEAD = 3 * CREDITS, COMMS = 3 };

/* Beside the world's, some communicators of all its ranks. */
typedef struct scene {
    world w;
    nbcoll_comm *dup[COMMS][WORLD_MOST];
} scene;

static void scene_open(scene *s, int ranks, int variant, uint32_t credits)
{
    nbcoll_loopback_config loopback = world_variant(variant, 5);
    nbcoll_context_config context = {.size = sizeof context, .credits = credits};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    config.slots = AHEAD;
    config.eager = 256;
    world_open(&s->w, ranks, &loopback, &context, &config);
    for (int i = 0; i < COMMS; i++) {
        nbcoll_request made[WORLD_MOST];
        for (int r = 0; r < ranks; r++)
            EXPECT(OK, nbcoll_comm_idup(s->w.comm[r], &s->dup[i][r], &made[r]));
        world_finish(&s->w, (size_t)ranks, made);
    }
}

static void steps(scene *s, int n)
{
    for (int i = 0; i < n; i++)
        world_step(&s->w);
}

/* Rank `root` broadcasts something small, which needs nothing of the others but credits. */
static void ahead(nbcoll_comm *comm, int root, int n, nbcoll_request q[])
{
    static double data;
    for (int i = 0; i < n; i++)
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, root, comm, &q[i]));
}

/* So many broadcasts of the first rank go out before the second one starts any as there are credits; and all end. */
static void window_is_whole(scene *s, nbcoll_comm *first, nbcoll_comm *second, int root)
{
    nbcoll_request q[2 * AHEAD];
    int ended = 0;

    steps(s, 100);
    ahead(first, root, AHEAD, q);
    steps(s, 100);
    for (int i = 0; i < AHEAD; i++)
        ended += nbcoll_test(&q[i]) == NBCOLL_OK;
    assert_int_equal(ended, CREDITS);
    ahead(second, root, AHEAD, q + AHEAD);
    world_finish(&s->w, 2 * AHEAD, q);
}

static void windows_are_whole(scene *s, nbcoll_comm *const comm[])
{
    window_is_whole(s, comm[0], comm[1], 0);
    window_is_whole(s, comm[1], comm[0], 1);
}

/* ---- no communicator holds up another one ------------------------------------------------------------------------ */

static void shuffle(int order[], int n, uint64_t *random)
{
    for (int i = 0; i < n; i++) {
        int k = (int)(world_random(random) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
}

/* Rank 0 starts operations on all communicators; rank 1 takes one after the other, in another order. What it waits for
 * comes, although others hold all credits in both directions. */
static void cross(int variant, uint32_t credits, uint64_t seed)
{
    nbcoll_request q[2][COMMS];
    nbcoll_schedule *schedule[2][COMMS];
    unsigned char *send[2], *recv[2][COMMS];
    int order[2][COMMS];
    uint64_t random = seed;
    scene s;

    scene_open(&s, 2, variant, credits);
    for (int r = 0; r < 2; r++) {
        shuffle(order[r], COMMS, &random);
        send[r] = malloc(CROSSING_BYTES);
        crossing_fill(send[r], r);
        for (int i = 0; i < COMMS; i++) {
            recv[r][i] = calloc(1, CROSSING_BYTES);
            schedule[r][i] = crossing_make(r, seed + (uint64_t)i);
        }
    }
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < COMMS; k++) {
            int i = order[r][k];
            EXPECT(OK, nbcoll_schedule_start(schedule[r][i], send[r], recv[r][i], s.dup[i][r], &q[r][i]));
            steps(&s, 10);
            if (r == 1)
                world_finish(&s.w, 1, &q[1][i]);
        }
    world_finish(&s.w, COMMS, q[0]);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < COMMS; i++) {
            assert_true(crossing_is_right(recv[r][i], r));
            EXPECT(OK, nbcoll_schedule_free(schedule[r][i]));
            free(recv[r][i]);
        }
        free(send[r]);
    }
    world_close(&s.w);
}

static void operations_of_several_communicators_meet_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++)
            cross(variant, seed % 2 ? 1 : 4, seed * 100);
}

/* ---- credits come back ------------------------------------------------------------------------------------------- */

static void expect_end(nbcoll_status s)
{
    if (s != NBCOLL_OK && s != NBCOLL_ERR_CANCELLED && s != NBCOLL_ERR_PEER_LOST)
        EXPECT(ERR_MISMATCH, s);
}

static void settle(scene *s, int n, nbcoll_request q[])
{
    nbcoll_status ended[2 * AHEAD];
    world_settle(&s->w, (size_t)n, q, ended);
    for (int i = 0; i < n; i++)
        if (ended[i] != NBCOLL_PENDING) /* it had ended before */
            expect_end(ended[i]);
}

/* The second rank frees the communicator whose messages hold all credits. */
static void credits_of_a_freed_communicator_come_back(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int late = 0; late < 2; late++) {
            nbcoll_request q[AHEAD];
            scene s;
            scene_open(&s, 2, variant, CREDITS);
            if (late) /* before anything has come */
                EXPECT(OK, nbcoll_comm_free(s.dup[0][1]));
            ahead(s.dup[0][0], 0, AHEAD, q);
            steps(&s, 50);
            if (!late)
                EXPECT(OK, nbcoll_comm_free(s.dup[0][1]));
            settle(&s, AHEAD, q);
            windows_are_whole(&s, s.dup[1]);
            windows_are_whole(&s, s.w.comm);
            world_close(&s.w);
        }
}

/* All credits are held by another communicator, and stay held. */
static void what_stalls_ends_when_its_communicator_is_freed(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++) {
        nbcoll_request holding[2 * CREDITS], q[AHEAD];
        scene s;
        scene_open(&s, 2, variant, CREDITS);
        ahead(s.dup[1][0], 0, CREDITS, holding);
        steps(&s, 50);
        ahead(s.dup[0][0], 0, AHEAD, q);
        steps(&s, 50);
        EXPECT(PENDING, nbcoll_test(&q[0]));
        EXPECT(OK, nbcoll_comm_free(s.dup[0][1]));
        settle(&s, AHEAD, q);
        ahead(s.dup[1][1], 0, CREDITS, holding + CREDITS);
        world_finish(&s.w, 2 * CREDITS, holding);
        windows_are_whole(&s, s.dup[1]);
        world_close(&s.w);
    }
}

/* The same, freed before, while that rank makes a communicator: it does not know then which of both it is. */
static void what_stalls_ends_when_it_was_freed_before(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++) {
        nbcoll_request holding[2 * CREDITS], q[AHEAD], made[2];
        nbcoll_comm *other[2];
        scene s;
        scene_open(&s, 2, variant, CREDITS);
        EXPECT(OK, nbcoll_comm_free(s.dup[0][1]));
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[1], &other[1], &made[1]));
        ahead(s.dup[1][0], 0, CREDITS, holding);
        steps(&s, 50);
        ahead(s.dup[0][0], 0, AHEAD, q);
        steps(&s, 50);
        EXPECT(PENDING, nbcoll_test(&q[0]));
        EXPECT(OK, nbcoll_comm_idup(s.w.comm[0], &other[0], &made[0]));
        world_finish(&s.w, 2, made);
        settle(&s, AHEAD, q);
        ahead(s.dup[1][1], 0, CREDITS, holding + CREDITS);
        world_finish(&s.w, 2 * CREDITS, holding);
        windows_are_whole(&s, other);
        world_close(&s.w);
    }
}

/* The first rank has the communicator, and sends, before the second one looks; which then has it too, or has
 * cancelled. */
static void credits_of_one_that_is_being_made_come_back(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int cancels = 0; cancels < 2; cancels++) {
            nbcoll_request q[2 * AHEAD] = {NBCOLL_REQUEST_NULL}, made[2];
            nbcoll_comm *other[2] = {NULL, NULL};
            nbcoll_status as[2] = {NBCOLL_PENDING, NBCOLL_PENDING};
            scene s;
            scene_open(&s, 2, variant, CREDITS);
            EXPECT(OK, nbcoll_comm_idup(s.w.comm[1], &other[1], &made[1]));
            EXPECT(OK, nbcoll_progress(s.w.context[1]));
            EXPECT(OK, nbcoll_comm_idup(s.w.comm[0], &other[0], &made[0]));
            for (int i = 0; i < 20 && as[0] == NBCOLL_PENDING; i++)
                as[0] = nbcoll_test(&made[0]);
            EXPECT(OK, as[0]);
            ahead(other[0], 0, AHEAD, q);
            for (int i = 0; i < 20; i++)
                EXPECT(OK, nbcoll_progress(s.w.context[0]));
            if (cancels)
                EXPECT(OK, nbcoll_cancel(made[1]));
            world_settle(&s.w, 1, &made[1], &as[1]);
            if (as[1] == NBCOLL_OK)
                ahead(other[1], 0, AHEAD, q + AHEAD);
            settle(&s, 2 * AHEAD, q);
            windows_are_whole(&s, as[1] == NBCOLL_OK ? other : s.dup[0]);
            windows_are_whole(&s, s.w.comm);
            world_close(&s.w);
        }
}

/* Many messages each way, in all phases: some have come, some wait, some are lent to the transport. */
static void credits_of_cancelled_operations_come_back(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int before = 0; before < 40; before++) {
            unsigned char *send = malloc(CROSSING_BYTES), *recv[2] = {malloc(CROSSING_BYTES), malloc(CROSSING_BYTES)};
            nbcoll_schedule *schedule[2] = {crossing_make(0, 1), crossing_make(1, 1)};
            int late = before % 2;
            nbcoll_request q[2];
            scene s;
            scene_open(&s, 2, variant, CREDITS);
            crossing_fill(send, 0);
            for (int k = 0; k < 2; k++) {
                int r = k ^ late;
                EXPECT(OK, nbcoll_schedule_start(schedule[r], send, recv[r], s.dup[0][r], &q[r]));
                for (int i = 0; i < before / 4; i++)
                    nbcoll_progress(s.w.context[i % 2]);
            }
            if (q[before / 2 % 2].at)
                EXPECT(OK, nbcoll_cancel(q[before / 2 % 2]));
            settle(&s, 2, q);
            windows_are_whole(&s, s.dup[0]);
            windows_are_whole(&s, s.w.comm);
            world_close(&s.w);
            for (int r = 0; r < 2; r++) {
                EXPECT(OK, nbcoll_schedule_free(schedule[r]));
                free(recv[r]);
            }
            free(send);
        }
}

/* The third rank is lost: the communicators with it break, while messages between the others hold credits. */
static void credits_of_a_broken_communicator_come_back(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_SHARED; variant++)
        for (int before = 0; before < 20; before += 4) {
            nbcoll_request q[AHEAD], made[3];
            nbcoll_comm *two[3], *survivors[2];
            scene s;
            scene_open(&s, 3, variant, CREDITS);
            for (int r = 0; r < 3; r++)
                EXPECT(OK, nbcoll_comm_isplit(s.w.comm[r], r / 2, r, &two[r], &made[r]));
            world_finish(&s.w, 3, made);
            ahead(s.dup[0][0], 0, AHEAD, q);
            steps(&s, before);
            EXPECT(OK, nbcoll_comm_declare_lost(s.w.comm[1], 2));
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_comm_ishrink(s.w.comm[r], &survivors[r], &made[r]));
            world_finish(&s.w, 2, made);
            settle(&s, AHEAD, q);
            windows_are_whole(&s, two);
            windows_are_whole(&s, survivors);
            world_close(&s.w);
        }
}

/* Some broadcasts, if the communicator still allows them. */
static void try_ahead(nbcoll_comm *comm, int root, int n, nbcoll_request q[])
{
    static double data;

    for (int i = 0; i < n; i++) {
        nbcoll_status s = nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, root, comm, &q[i]);
        if (s == NBCOLL_OK)
            continue;
        expect_end(s);
        q[i] = NBCOLL_REQUEST_NULL;
    }
}

/* A new communicator, perhaps; operations on it and on an older one, some of which are cancelled; then it is freed. */
static void come_and_go(scene *s, int round, uint64_t *random)
{
    nbcoll_request q[2 * AHEAD] = {NBCOLL_REQUEST_NULL}, made[2];
    nbcoll_comm *other[2] = {NULL, NULL};
    nbcoll_status as[2];

    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_idup(s->w.comm[r], &other[r], &made[r]));
    steps(s, (int)(world_random(random) % 3));
    if (world_random(random) % 4 == 0)
        EXPECT(OK, nbcoll_cancel(made[round % 2]));
    world_settle(&s->w, 2, made, as);
    for (int n = 0; n + CREDITS <= 2 * AHEAD; n += CREDITS) {
        int r = (int)(world_random(random) % 2), root = (int)(world_random(random) % 2);
        nbcoll_comm *on = world_random(random) % 2 && other[r] ? other[r] : s->dup[0][r];
        try_ahead(on, root, CREDITS, q + n);
        steps(s, (int)(world_random(random) % 3));
        if (world_random(random) % 4 == 0 && q[n].at)
            EXPECT(OK, nbcoll_cancel(q[n]));
    }
    for (int r = 0; r < 2; r++)
        if (nbcoll_comm_free(other[r]) == NBCOLL_OK) /* else it is busy */
            other[r] = NULL;
    for (int i = 0; i < 2 * AHEAD; i++)
        if (q[i].at)
            EXPECT(OK, nbcoll_cancel(q[i]));
    settle(s, 2 * AHEAD, q);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_free(other[r]));
}

static void credits_come_back_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        scene s;
        scene_open(&s, 2, (int)(seed % WORLD_SHARED), CREDITS);
        for (int round = 0; round < 8; round++)
            come_and_go(&s, round, &random);
        for (int r = 0; r < 2; r++) /* what was started on one side only */
            EXPECT(OK, nbcoll_comm_free(s.dup[0][r]));
        windows_are_whole(&s, s.w.comm);
        world_close(&s.w);
    }
}

/* ---- receive buffers --------------------------------------------------------------------------------------------- */

static void receive_buffers_of_the_transport_bound_the_window(void **state)
{
    (void)state;
    for (uint32_t credits = CREDITS; credits <= UINT16_MAX; credits += UINT16_MAX - CREDITS) {
        nbcoll_context_config context = {.size = sizeof context, .credits = credits};
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        nbcoll_request made[2];
        scene s;

        config.slots = AHEAD;
        world_open_contexts(&s.w, 2, NULL, &context);
        for (int r = 0; r < 2; r++) {
            s.w.endpoint[r]->limits.receives = credits == CREDITS ? CREDITS + 1 : CREDITS;
            EXPECT(OK, nbcoll_comm_icreate(s.w.context[r], s.w.endpoint[r], &config, &s.w.comm[r], &made[r]));
        }
        world_finish(&s.w, 2, made);
        window_is_whole(&s, s.w.comm[0], s.w.comm[1], 0);
        world_close(&s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_several_communicators_meet_in_any_order),
        cmocka_unit_test(credits_of_a_freed_communicator_come_back),
        cmocka_unit_test(what_stalls_ends_when_its_communicator_is_freed),
        cmocka_unit_test(what_stalls_ends_when_it_was_freed_before),
        cmocka_unit_test(credits_of_one_that_is_being_made_come_back),
        cmocka_unit_test(credits_of_cancelled_operations_come_back),
        cmocka_unit_test(credits_of_a_broken_communicator_come_back),
        cmocka_unit_test(credits_come_back_whatever_happens),
        cmocka_unit_test(receive_buffers_of_the_transport_bound_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
