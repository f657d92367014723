/* SPDX-License-Identifier: BSD-3-Clause
 * Once a collective has been run, starting it again allocates nothing: runs, posts and places for early messages come
 * from pools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alone.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 4, STARTS = 1000, WARM = 100 };

/* ---- a counting host ------------------------------------------------------------------------------------------- */

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    atomic_fetch_add((atomic_size_t *)user, 1);
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

/* A world whose every allocation is counted, the transport's too. */
static void open_counted(world *w, atomic_size_t *count, int variant)
{
    nbcoll_context_config context = {.size = sizeof context, .credits = 4,
                                     .host = {.user = count, .alloc = counted_alloc, .free = counted_free}};
    nbcoll_host host = {.size = sizeof host, .user = count, .alloc = counted_alloc, .free = counted_free};
    nbcoll_comm_config comm = {.size = sizeof comm, .slots = 4, .cells = 8, .schedules = 64,
                               .eager = 512, .large = 4096};
    nbcoll_loopback_config loopback = world_variant(variant, 7);

    loopback.host = &host; /* copied */
    world_open(w, RANKS, &loopback, &context, &comm);
}

/* ---- stepped ranks --------------------------------------------------------------------------------------------- */

/* One run, in which the others start and go on while `late` has not started: what they send it comes unexpected. */
static void run_with_a_late_rank(world *w, const operation *o, share s[], int late)
{
    nbcoll_request request[RANKS];

    for (int r = 0; r < RANKS; r++)
        if (r != late)
            EXPECT(OK, operation_start(o, &s[r], w->comm[r], &request[r]));
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < RANKS; r++)
            nbcoll_progress(w->context[r]);
    EXPECT(OK, operation_start(o, &s[late], w->comm[late], &request[late]));
    for (int r = 0; r < RANKS; r++)
        while (nbcoll_test(&request[r]) == NBCOLL_PENDING)
            for (int other = 0; other < RANKS; other++)
                nbcoll_progress(w->context[other]);
}

static size_t allocations_of(world *w, atomic_size_t *count, const operation *o, int starts)
{
    share s[RANKS];
    size_t before;

    for (int r = 0; r < RANKS; r++)
        s[r] = share_make(o, r, RANKS);
    for (int i = 0; i < WARM; i++) /* each rank has been late, in every phase of the credits */
        run_with_a_late_rank(w, o, s, i % RANKS);
    before = *count;
    for (int i = 0; i < starts; i++)
        run_with_a_late_rank(w, o, s, i % RANKS);
    for (int r = 0; r < RANKS; r++)
        share_free(&s[r]);
    return *count - before;
}

static void starting_a_cached_collective_allocates_nothing(void **state)
{
    static const size_t counts[] = {1, 100, 2000}; /* eager; announced; by the algorithm for large data */
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        atomic_size_t count = 0;
        world w;
        open_counted(&w, &count, variant);
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (int i = 0; i < 3; i++) {
                operation o = {.what = (nbcoll_operation)what, .count = counts[i], .how = {NBCOLL_INT64, NBCOLL_SUM}};
                assert_int_equal(allocations_of(&w, &count, &o, variant ? 100 : STARTS), 0);
            }
        world_close(&w);
    }
}

static void start_again(world *w, atomic_size_t *count, const operation *o)
{
    nbcoll_request request[RANKS];
    share s[RANKS];
    size_t before = 0;

    for (int r = 0; r < RANKS; r++) {
        s[r] = share_make(o, r, RANKS);
        EXPECT(OK, operation_init(o, &s[r], w->comm[r], &request[r]));
    }
    for (int i = 0; i < STARTS; i++) {
        if (i == WARM) /* as above */
            before = *count;
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_start(&request[r]));
        while (nbcoll_test_all(RANKS, request, NULL) == NBCOLL_PENDING)
            ;
    }
    assert_int_equal(*count, before);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_request_free(&request[r]));
        share_free(&s[r]);
    }
}

static void starting_a_persistent_request_again_allocates_nothing(void **state)
{
    atomic_size_t count = 0;
    world w;

    (void)state;
    open_counted(&w, &count, 0);
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        operation o = {.what = (nbcoll_operation)what, .count = 100, .how = {NBCOLL_INT64, NBCOLL_SUM}};
        start_again(&w, &count, &o);
    }
    world_close(&w);
}

/* ---- packed blocks -------------------------------------------------------------------------------------------- */

enum { MOST = 90 };

/* An element is a number and another that does not travel. */
static nbcoll_status pack(void *user, const void *elements, void *to, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)to)[i] = ((const int64_t *)elements)[2 * i];
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *from, void *elements, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)elements)[2 * i] = ((const int64_t *)from)[i];
    return NBCOLL_OK;
}

static const nbcoll_host_type gapped = {.size = sizeof gapped, .extent = 16, .packed = 8, .pack = pack,
                                        .unpack = unpack};

static void exchange(world *w, size_t n)
{
    static int64_t send[RANKS][RANKS * MOST * 2], recv[RANKS][RANKS * MOST * 2];
    size_t counts[RANKS], displs[RANKS];
    nbcoll_request request[RANKS];

    for (size_t i = 0; i < RANKS; i++) {
        counts[i] = n;
        displs[i] = i * MOST;
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ialltoallv(r % 2 ? (void *)send[r] : NBCOLL_IN_PLACE, counts, displs, recv[r], counts, displs,
                                     nbcoll_type_of(&gapped), w->comm[r], &request[r]));
    world_finish(w, RANKS, request);
}

/* The room for packed blocks grows with the counts and is kept: counts no larger than those before need none. */
static void starting_packed_blocks_again_allocates_nothing(void **state)
{
    atomic_size_t count = 0;
    size_t before;
    world w;

    (void)state;
    open_counted(&w, &count, 0);
    for (int i = 0; i < WARM; i++)
        exchange(&w, (size_t)i * 7 % 60);
    before = count;
    for (int i = 0; i < STARTS; i++)
        exchange(&w, (size_t)i * 7 % 60);
    assert_int_equal(count, before);
    exchange(&w, MOST);
    assert_true(count > before); /* more counts, more room */
    world_close(&w);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static void run_many(world *w, int rank, void *user)
{
    const operation *o = user;
    share s = share_make(o, rank, RANKS);
    for (int i = 0; i < STARTS; i++)
        EXPECT(OK, operation_call(o, &s, w->comm[rank], 60000000000u));
    share_free(&s);
}

/* How far threads run ahead of each other is chance, and with it how many early messages there are at most. But pools
 * grow to that most and no further: with the starts nothing grows. */
static void threads_allocate_for_early_messages_only(void **state)
{
    const size_t most = RANKS * RANKS * (4 + 8); /* of a pair: credits, and headers of some operations */
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        operation o = {.what = (nbcoll_operation)what, .count = 20, .how = {NBCOLL_INT64, NBCOLL_SUM}};
        atomic_size_t count = 0;
        size_t before;
        world w;
        open_counted(&w, &count, 0);
        before = count;
        world_threads(&w, run_many, &o);
        assert_in_range(count - before, 0, most + RANKS * 20); /* that many for schedules and their runs */
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test_alone(starting_a_cached_collective_allocates_nothing),
        unit_test_alone(starting_a_persistent_request_again_allocates_nothing),
        unit_test_alone(starting_packed_blocks_again_allocates_nothing),
        cmocka_unit_test(threads_allocate_for_early_messages_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
