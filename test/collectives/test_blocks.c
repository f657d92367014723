/* SPDX-License-Identifier: BSD-3-Clause
 * The v and w forms: counts are bound when an operation starts, so that one schedule serves any; both ends of a message
 * are held to the same length; what has arrived can be asked for; and with counts that all ranks promise to know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "works.h"
#include "works.h"
#include "world.h"

enum { RANKS = 5 };

static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config small = {.size = sizeof small, .slots = 4, .cells = 8, .schedules = 64,
                                         .eager = 256, .large = 2048};

/* Notes which schedule rank 0 ran last. */
static void note_schedule(void *user, const nbcoll_event *event)
{
    if (nbcoll_comm_rank(event->comm) == 0)
        *(const nbcoll_schedule **)user = event->schedule;
}

static void one_schedule_serves_any_counts(void **state)
{
    static const nbcoll_operation bound[] = {NBCOLL_OPERATION_SCATTERV, NBCOLL_OPERATION_GATHERV,
                                             NBCOLL_OPERATION_ALLTOALLV, NBCOLL_OPERATION_ALLTOALLW};
    const nbcoll_schedule *last = NULL;
    nbcoll_observer observer = {.size = sizeof observer, .user = &last, .event = note_schedule};
    nbcoll_context_config context = {.size = sizeof context, .observer = &observer, .credits = contexts.credits};
    world w;

    (void)state;
    world_open(&w, RANKS, NULL, &context, &small);
    for (size_t k = 0; k < sizeof bound / sizeof *bound; k++) {
        const nbcoll_schedule *first = NULL;
        for (uint64_t seed = 0; seed < 50; seed++) {
            operation o = {.what = bound[k], .count = 80, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = seed};
            all_perform(&w, &o, w.comm, RANKS);
            first = first ? first : last;
            assert_ptr_equal(first, last);
        }
    }
    world_close(&w);
}

static void known_counts_give_the_same_values(void **state)
{
    nbcoll_comm_config promised = small;
    world w;

    (void)state;
    promised.flags = NBCOLL_COUNTS_KNOWN;
    world_open(&w, RANKS, NULL, &contexts, &promised);
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (uint64_t seed = 0; is_v((nbcoll_operation)what) && seed < 40; seed++) {
            operation o = {.what = (nbcoll_operation)what, .count = seed % 2 ? 80 : 3, .in_place = seed % 4 < 2,
                           .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = seed, .counts_known = 1};
            o.root = has_root(o.what) ? (int)(seed % RANKS) : 0;
            all_perform(&w, &o, w.comm, RANKS);
            all_perform(&w, &o, w.comm, RANKS); /* from the cache */
        }
    world_close(&w);
}

static void known_counts_that_differ_are_a_mismatch(void **state)
{
    size_t counts[2][2] = {{1, 2}, {1, 3}}, displs[2] = {0, 1};
    nbcoll_request request[2];
    nbcoll_status status[2];
    int32_t send[3] = {0}, recv[2][4] = {{0}};
    world w;

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_iallgatherv(send, recv[r], counts[r], displs, NBCOLL_INT32, w.comm[r], &request[r]));
    world_settle(&w, 2, request, status);
    assert_int_equal(status[0], NBCOLL_ERR_MISMATCH);
    assert_int_equal(status[1], NBCOLL_ERR_MISMATCH);
    world_close(&w);
}

/* Eager messages and announced ones, longer and shorter than the receiver's block. */
static void both_ends_of_a_block_are_compared(void **state)
{
    static const size_t lengths[][2] = {{1, 2}, {2, 1}, {0, 1}, {1, 0}, {2000, 1999}, {1999, 2000}, {1, 2000}};

    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            static int32_t send[2000], recv[4000];
            nbcoll_loopback_config loopback = world_variant(variant, k);
            size_t counts[2] = {lengths[k][1], 0}, displs[2] = {1, 0};
            nbcoll_request request[2];
            nbcoll_status status[2];
            world w;
            world_open(&w, 2, &loopback, &contexts, &small);
            memset(send, 1, sizeof send);
            memset(recv, 0, sizeof recv);
            EXPECT(OK, nbcoll_igatherv(send, lengths[k][0], NULL, NULL, NULL, NBCOLL_INT32, 1, w.comm[0], &request[0]));
            EXPECT(OK, nbcoll_igatherv(NULL, 0, recv, counts, displs, NBCOLL_INT32, 1, w.comm[1], &request[1]));
            world_settle(&w, 2, request, status);
            assert_int_equal(status[1], NBCOLL_ERR_MISMATCH);
            for (size_t i = 0; i < sizeof recv / sizeof *recv; i++)
                assert_int_equal(recv[i], 0); /* nothing was written */
            works(&w);
            world_close(&w);
        }
}

static void types_may_differ_where_bytes_do_not(void **state)
{
    size_t eight = 8, one = 1, zero = 0;
    nbcoll_type bytes = NBCOLL_BYTE, number = NBCOLL_INT64;
    int64_t from = 0x0102030405060708, to = 0;
    nbcoll_request request;
    world w;

    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ialltoallw(&from, &one, &zero, &number, &to, &eight, &zero, &bytes, w.comm[0], &request));
    world_finish(&w, 1, &request);
    assert_true(from == to);
    world_close(&w);
}

static void arrived_knows_bound_blocks(void **state)
{
    size_t counts[2] = {2, 3}, displs[2] = {4, 0};
    int32_t mine[2] = {1, 2}, theirs[3] = {3, 4, 5}, recv[6];
    nbcoll_request request[2];
    world w;

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_igatherv(mine, 2, recv, counts, displs, NBCOLL_INT32, 0, w.comm[0], &request[0]));
    EXPECT(OK, nbcoll_arrived(request[0], 16, 8)); /* its own */
    EXPECT(PENDING, nbcoll_arrived(request[0], 8, 4));
    EXPECT(PENDING, nbcoll_arrived(request[0], 0, 24));
    EXPECT(OK, nbcoll_arrived(request[0], 12, 4)); /* between the blocks */
    EXPECT(ERR_COUNT, nbcoll_arrived(request[0], 0, 25));
    EXPECT(OK, nbcoll_igatherv(theirs, 3, NULL, NULL, NULL, NBCOLL_INT32, 0, w.comm[1], &request[1]));
    world_finish(&w, 2, request);
    world_close(&w);
}

static void a_schedule_with_bound_blocks_cannot_be_started_by_itself(void **state)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLTOALLV,
                     .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    nbcoll_request request;
    nbcoll_schedule *s;
    int32_t x = 0;
    world w;

    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_build_schedule(nbcoll_algorithm_at(a.operation, 0), &a, &config, &s));
    EXPECT(ERR_UNSUPPORTED, nbcoll_schedule_start(s, &x, &x, w.comm[0], &request));
    EXPECT(OK, nbcoll_schedule_free(s));
    works(&w);
    world_close(&w);
}

static void unknown_flags_are_refused(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request request;
    nbcoll_comm *comm;
    world w;

    (void)state;
    world_open_contexts(&w, 1, NULL, NULL);
    config.flags = 16;
    EXPECT(ERR_CONFIG, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &config, &comm, &request));
    config.flags = 0;
    EXPECT(OK, nbcoll_comm_icreate(w.context[0], w.endpoint[0], &config, &comm, &request));
    world_finish(&w, 1, &request);
    world_close(&w);
}

static void the_ranks_agree_on_flags(void **state)
{
    static const uint32_t cases[][3] = { /* of rank 0, of rank 1, agreed */
        {0, 0, 0},
        {NBCOLL_REPRODUCIBLE, 0, NBCOLL_REPRODUCIBLE},
        {NBCOLL_COUNTS_KNOWN, 0, 0},
        {NBCOLL_COUNTS_KNOWN, NBCOLL_COUNTS_KNOWN | NBCOLL_REPRODUCIBLE, NBCOLL_COUNTS_KNOWN | NBCOLL_REPRODUCIBLE},
        {0, NBCOLL_ARRIVAL_TOLERANT, NBCOLL_ARRIVAL_TOLERANT}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nbcoll_comm *comm[2], *dup[2];
        nbcoll_request request[2];
        world w;
        world_open_contexts(&w, 2, NULL, NULL);
        for (int r = 0; r < 2; r++) {
            nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
            config.flags = cases[k][r];
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &config, &comm[r], &request[r]));
        }
        world_finish(&w, 2, request);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(comm[r], &dup[r], &request[r]));
        world_finish(&w, 2, request);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(nbcoll_comm_flags(comm[r]), cases[k][2]);
            assert_int_equal(nbcoll_comm_flags(dup[r]), cases[k][2]);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_schedule_serves_any_counts),
        cmocka_unit_test(known_counts_give_the_same_values),
        cmocka_unit_test(known_counts_that_differ_are_a_mismatch),
        cmocka_unit_test(both_ends_of_a_block_are_compared),
        cmocka_unit_test(types_may_differ_where_bytes_do_not),
        cmocka_unit_test(arrived_knows_bound_blocks),
        cmocka_unit_test(a_schedule_with_bound_blocks_cannot_be_started_by_itself),
        cmocka_unit_test(unknown_flags_are_refused),
        cmocka_unit_test(the_ranks_agree_on_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
