/* SPDX-License-Identifier: BSD-3-Clause
 * What can be known of an operation while it runs: which parts of its result have arrived, and what the observer is
 * told of its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "works.h"

/* ---- parts ----------------------------------------------------------------------------------------------------- */

enum { RANKS = 5, BLOCK = 1000 };

static nbcoll_schedule *ring(int rank, size_t block)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLGATHER, .count = block,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BAND}};
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS};
    nbcoll_schedule *s = NULL;
    EXPECT(OK, nbcoll_build_schedule(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring"), &a, &config, &s));
    return s;
}

/* Looks at the blocks of one rank: those that have arrived are right, and stay. */
static int count_arrived(nbcoll_request q, const unsigned char *recv, size_t block, int has[RANKS])
{
    int n = 0;
    for (int from = 0; from < RANKS; from++) {
        nbcoll_status s = nbcoll_arrived(q, (size_t)from * block, block);
        if (s != NBCOLL_OK) {
            EXPECT(PENDING, s);
            assert_false(has[from]);
            continue;
        }
        has[from] = 1;
        n++;
        for (size_t i = 0; i < block; i++)
            assert_int_equal(recv[(size_t)from * block + i], from + 1);
    }
    return n;
}

/* Once, on schedules that are there. */
static void ring_once(world *w, nbcoll_schedule *const s[RANKS], size_t block)
{
    unsigned char send[RANKS][BLOCK], recv[RANKS][RANKS * BLOCK];
    int has[RANKS][RANKS] = {{0}}, seen[RANKS + 1] = {0}, left = RANKS;
    nbcoll_request q[RANKS];

    memset(recv, 0, sizeof recv);
    for (int r = 0; r < RANKS; r++) {
        memset(send[r], r + 1, block);
        EXPECT(OK, nbcoll_schedule_start(s[r], send[r], recv[r], w->comm[r], &q[r]));
    }
    for (int r = 0; r < RANKS; r++)
        seen[count_arrived(q[r], recv[r], block, has[r])]++;
    while (left)
        for (int r = 0; r < RANKS; r++) {
            nbcoll_progress(w->context[r]);
            if (!q[r].at)
                continue;
            seen[count_arrived(q[r], recv[r], block, has[r])]++;
            left -= nbcoll_test(&q[r]) == NBCOLL_OK;
        }
    for (int n = 1; n < RANKS; n++) /* its own at once, the others in turn */
        assert_true(seen[n] > 0);
}

/* Also where messages are lines, from their second time on; each with and without an observer (world.c). */
static void parts_of_a_ring_allgather_arrive_one_after_the_other(void **state)
{
    const size_t blocks[] = {BLOCK, 8};
    (void)state;
    for (int variant = 0; variant < 4 * WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant / 4, 17);
        size_t block = blocks[variant / 2 % 2];
        nbcoll_schedule *s[RANKS];
        world w;

        world_open(&w, RANKS, &loopback, NULL, NULL);
        for (int r = 0; r < RANKS; r++)
            s[r] = ring(r, block);
        for (int again = 0; again < 3; again++)
            ring_once(&w, s, block);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_schedule_free(s[r]));
        world_close(&w);
    }
}

static void nothing_has_arrived_of_a_queued_operation(void **state)
{
    nbcoll_comm_config one = NBCOLL_COMM_DEFAULTS;
    unsigned char data[2] = {0};
    nbcoll_request q[2];
    world w;
    (void)state;
    one.slots = 1;
    world_open(&w, 2, NULL, NULL, &one);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_ibcast(&data[i], 1, NBCOLL_BYTE, 1, w.comm[0], &q[i]));
    EXPECT(PENDING, nbcoll_arrived(q[1], 0, 1));
    EXPECT(OK, nbcoll_cancel(q[0]));
    EXPECT(OK, nbcoll_cancel(q[1]));
    world_close(&w);
}

static void parts_beyond_the_buffer_are_refused(void **state)
{
    unsigned char data[10];
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibcast(data, sizeof data, NBCOLL_BYTE, 1, w.comm[0], &q));
    EXPECT(PENDING, nbcoll_arrived(q, 0, 10));
    EXPECT(PENDING, nbcoll_arrived(q, 9, 1));
    EXPECT(OK, nbcoll_arrived(q, 10, 0));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 10, 1));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 11, 0));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 1, SIZE_MAX));
    EXPECT(ERR_REQUEST, nbcoll_arrived(NBCOLL_REQUEST_NULL, 0, 0));
    EXPECT(OK, nbcoll_cancel(q));
    world_close(&w);
}

/* Whatever the schedule does with them. */
static void the_buffer_is_that_of_the_call(void **state)
{
    static int v[12], s[12];
    const size_t counts[3] = {2, 1, 3}, displs[3] = {5, 0, 1};
    nbcoll_request q;
    nbcoll_status status;
    world w;

    (void)state;
    for (int i = 0; i < 6; i++) {
        world_open(&w, 1, NULL, NULL, NULL);
        size_t bytes = 40;
        switch (i) {
        case 0: EXPECT(OK, nbcoll_iallreduce(s, v, 10, NBCOLL_INT, NBCOLL_SUM, w.comm[0], &q)); break;
        case 1: EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, v, 10, NBCOLL_INT, NBCOLL_SUM, w.comm[0], &q)); break;
        case 2: EXPECT(OK, nbcoll_iallgather(NBCOLL_IN_PLACE, v, 10, NBCOLL_INT, w.comm[0], &q)); break;
        case 3: EXPECT(OK, nbcoll_ibcast(v, 10, NBCOLL_INT, 0, w.comm[0], &q)); break;
        case 4: EXPECT(OK, nbcoll_iexscan(NBCOLL_IN_PLACE, v, 10, NBCOLL_INT, NBCOLL_SUM, w.comm[0], &q)); break;
        default:
            bytes = 28; /* 5 before the block of 2 */
            EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, v, counts, displs, NBCOLL_INT, w.comm[0], &q));
        }
        EXPECT(OK, nbcoll_arrived(q, 0, bytes));
        EXPECT(ERR_COUNT, nbcoll_arrived(q, 0, bytes + 1));
        EXPECT(OK, nbcoll_wait(&q, 0));
        world_close(&w);
    }
    world_open(&w, 3, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_igather(NBCOLL_IN_PLACE, v, 4, NBCOLL_INT, 2, w.comm[2], &q));
    EXPECT(OK, nbcoll_arrived(q, 32, 16)); /* its own block, which stands there */
    EXPECT(PENDING, nbcoll_arrived(q, 0, 48));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 0, 49));
    EXPECT(OK, nbcoll_cancel(q));
    world_settle(&w, 1, &q, &status);
    EXPECT(OK, nbcoll_ireduce_scatter(NBCOLL_IN_PLACE, v, counts, NBCOLL_INT, NBCOLL_SUM, w.comm[1], &q));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 0, 25)); /* all of the vector */
    EXPECT(PENDING, nbcoll_arrived(q, 0, 24));
    EXPECT(OK, nbcoll_cancel(q));
    world_settle(&w, 1, &q, &status);
    EXPECT(OK, nbcoll_iallgatherv(s, v, counts, displs, NBCOLL_INT, w.comm[2], &q));
    EXPECT(ERR_COUNT, nbcoll_arrived(q, 0, 29));
    EXPECT(PENDING, nbcoll_arrived(q, 0, 28));
    EXPECT(OK, nbcoll_cancel(q));
    world_settle(&w, 1, &q, &status);
    world_close(&w);
}

static void all_has_arrived_when_it_ended_well_and_nothing_more_when_not(void **state)
{
    unsigned char data[2] = {1, 2};
    nbcoll_request q[2], p;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibcast(&data[0], 1, NBCOLL_BYTE, 1, w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_ibcast(&data[1], 1, NBCOLL_BYTE, 1, w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(OK, nbcoll_arrived(q[0], 0, 1));
    assert_int_equal(data[0], 2);
    EXPECT(OK, nbcoll_wait_all(2, q, NULL, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_ibcast(&data[0], 1, NBCOLL_BYTE, 1, w.comm[0], &p));
    EXPECT(OK, nbcoll_cancel(p));
    EXPECT(PENDING, nbcoll_arrived(p, 0, 1));
    EXPECT(ERR_CANCELLED, nbcoll_test(&p));
    world_close(&w);
}

/* ---- the observer ---------------------------------------------------------------------------------------------- */

/* What one rank's observer was told: for each step of each tag, the moments in order. */
typedef struct log {
    int tags;
    struct run {
        uint64_t tag;
        nbcoll_schedule_info info;
        const nbcoll_schedule *schedule;
        unsigned char moment[500]; /* how many of a step have been told */
        int ended;
    } run[64];
} log;

static void on_event(void *user, const nbcoll_event *e)
{
    log *l = user;
    int k = 0;

    while (k < l->tags && l->run[k].tag != e->tag)
        k++;
    struct run *run = &l->run[k];
    if (k == l->tags) {
        assert_true(l->tags++ < 64);
        memset(run, 0, sizeof *run);
        run->tag = e->tag;
        run->schedule = e->schedule;
        run->info.size = sizeof run->info;
        EXPECT(OK, nbcoll_schedule_query(e->schedule, &run->info));
        assert_in_range(run->info.steps, 2, sizeof run->moment);
    }
    assert_false(run->ended);
    assert_int_equal(e->moment, run->moment[e->step]); /* READY, STARTED, ENDED, each once and in this order */
    run->moment[e->step]++;
    run->ended = e->step == NBCOLL_END && e->moment == NBCOLL_STEP_ENDED;
    if (e->moment == NBCOLL_STEP_READY) /* then everything before it has ended */
        for (nbcoll_step s = 0; s < run->info.steps; s++) {
            const nbcoll_step_view *v = nbcoll_schedule_step(e->schedule, s);
            for (uint32_t i = 0; i < v->after_count; i++)
                assert_true(v->after[i] != e->step || run->moment[s] == 3);
        }
}

static void the_observer_is_told_of_each_step_once_and_in_order(void **state)
{
    static log l;
    const nbcoll_observer observer = {sizeof observer, &l, on_event};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    uint64_t random = 99;
    (void)state;
    comm.large = 1000; /* both algorithms of each operation */
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 19);
        world w;
        world_open_contexts(&w, 3, &loopback, NULL);
        /* The observer is rank 0's. */
        nbcoll_context_config config = {.size = sizeof config, .observer = &observer};
        EXPECT(OK, nbcoll_context_free(w.context[0]));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &config, &w.context[0]));
        l.tags = 0;
        nbcoll_request q[3];
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &comm, &w.comm[r], &q[r]));
        world_finish(&w, 3, q);
        for (int i = 0; i < 20; i++) {
            operation o = operation_random(&random, 3, 300);
            all_perform(&w, &o, w.comm, 3);
        }
        assert_int_equal(l.tags, 21); /* the creation too */
        for (int k = 0; k < l.tags; k++) {
            assert_true(l.run[k].ended);
            for (nbcoll_step s = 0; s < l.run[k].info.steps; s++)
                assert_int_equal(l.run[k].moment[s], 3);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_ring_allgather_arrive_one_after_the_other),
        cmocka_unit_test(nothing_has_arrived_of_a_queued_operation),
        cmocka_unit_test(parts_beyond_the_buffer_are_refused),
        cmocka_unit_test(the_buffer_is_that_of_the_call),
        cmocka_unit_test(all_has_arrived_when_it_ended_well_and_nothing_more_when_not),
        cmocka_unit_test(the_observer_is_told_of_each_step_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
