/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that wait for their slot, and those that others have revoked before they are started: as many as a program
 * likes, each at a small price. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MANY = 50000 };
#else
enum { MANY = 1000000 }; /* a list walked whole would not end */
#endif

/* What the contexts have taken, and how many allocations from now one fails (0: none). */
static size_t taken;
static size_t fails_at;

static void *count_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (fails_at && --fails_at == 0)
        return NULL;
    taken += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    taken -= bytes;
    free(memory);
}

/* With so many slots; 0: as many as usual. */
static void open_counted(world *w, uint32_t slots)
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_context_config context = {.size = sizeof context,
                                     .host = {.size = sizeof context.host, .alloc = count_alloc, .free = count_free}};
    taken = fails_at = 0;
    comm.slots = slots ? slots : comm.slots;
    world_open(w, 2, NULL, &context, &comm);
}

/* Starts `n` broadcasts from rank 1 on this rank. */
static void start_many(const world *w, int rank, int n, nbcoll_request q[], double *data)
{
    for (int i = 0; i < n; i++)
        EXPECT(OK, nbcoll_ibcast(data, 1, NBCOLL_DOUBLE, 1, w->comm[rank], &q[i]));
}

static void a_million_requests_wait_for_their_slots(void **state)
{
    nbcoll_request *q[2] = {calloc(MANY, sizeof *q[0]), calloc(MANY, sizeof *q[1])};
    static double data[2];
    world w;
    (void)state;
    open_counted(&w, 0);
    start_many(&w, 0, 64, q[0], &data[0]);
    start_many(&w, 1, 64, q[1], &data[1]);
    world_finish(&w, 64, q[0]);
    world_finish(&w, 64, q[1]);
    size_t before = taken;
    start_many(&w, 0, MANY, q[0], &data[0]);
    assert_true((taken - before) / MANY <= 1024);
    start_many(&w, 1, MANY, q[1], &data[1]);
    for (int i = 0; i < MANY; i++)
        for (int r = 0; r < 2; r++)
            while (nbcoll_test(&q[r][i]) == NBCOLL_PENDING)
                EXPECT(OK, nbcoll_progress(w.context[1 - r]));
    world_close(&w);
    free(q[0]);
    free(q[1]);
}

static void a_request_that_waits_costs_the_same_whatever_it_is(void **state)
{
    enum { WAITING = 1000, COUNT = 100000 };
    static double in[COUNT], out[2 * COUNT];
    nbcoll_request q[WAITING + 1];
    world w;
    (void)state;
    open_counted(&w, 1);
    EXPECT(OK, nbcoll_ireduce(in, out, COUNT, NBCOLL_DOUBLE, NBCOLL_SUM, 0, w.comm[0], &q[0]));
    size_t before = taken;
    for (int i = 1; i <= WAITING; i++)
        EXPECT(OK, nbcoll_ireduce(in, out, COUNT, NBCOLL_DOUBLE, NBCOLL_SUM, 0, w.comm[0], &q[i]));
    assert_true((taken - before) / WAITING <= 1024);
    for (int i = 0; i <= WAITING; i++)
        EXPECT(OK, nbcoll_cancel(q[i]));
    EXPECT(OK, nbcoll_progress(w.context[1]));
    for (int i = 0; i <= WAITING; i++)
        while (nbcoll_test(&q[i]) == NBCOLL_PENDING)
            EXPECT(OK, nbcoll_progress(w.context[1]));
    world_close(&w);
}

/* In any order: the ones before and behind it go on. */
static void requests_are_cancelled_while_they_wait(void **state)
{
    enum { WAITING = 500 };
    uint64_t random = 5;
    nbcoll_request q[2][WAITING];
    char cancelled[WAITING] = {0};
    world w;
    (void)state;
    open_counted(&w, 3);
    for (int i = 0; i < WAITING; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0][i]));
    for (int k = 0; k < WAITING / 2; k++) {
        int i = 3 + (int)(world_random(&random) % (WAITING - 3));
        EXPECT(OK, nbcoll_cancel(q[0][i]));
        cancelled[i] = 1;
    }
    for (int i = 0; i < WAITING; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1][i]));
    for (int i = 0; i < WAITING; i++)
        for (int r = 0; r < 2; r++) {
            nbcoll_status s;
            while ((s = nbcoll_test(&q[r][i])) == NBCOLL_PENDING)
                EXPECT(OK, nbcoll_progress(w.context[1 - r]));
            assert_int_equal(s, cancelled[i] ? NBCOLL_ERR_CANCELLED : NBCOLL_OK);
        }
    world_close(&w);
}

/* Whether it takes the news at once (1) or makes no progress until all have been revoked. */
static void revoke_ahead(int listens)
{
    enum { AHEAD = 100000 };
    static double data[2];
    nbcoll_request q;
    world w;
    open_counted(&w, 0);
    size_t before = taken;
    for (int i = 0; i < AHEAD; i++) {
        EXPECT(OK, nbcoll_ibcast(&data[0], 1, NBCOLL_DOUBLE, 1, w.comm[0], &q));
        EXPECT(OK, nbcoll_cancel(q));
        EXPECT(ERR_CANCELLED, nbcoll_test(&q));
        if (listens)
            EXPECT(OK, nbcoll_progress(w.context[1]));
    }
    assert_true(taken - before < 20000);
    for (int i = 0; i < 10; i++)
        world_step(&w);
    for (int i = 0; i < AHEAD; i++) {
        EXPECT(OK, nbcoll_ibcast(&data[1], 1, NBCOLL_DOUBLE, 1, w.comm[1], &q));
        EXPECT(ERR_CANCELLED, nbcoll_test(&q));
    }
    nbcoll_request both[2]; /* go on together */
    for (int r = 0; r < 2; r++)
        start_many(&w, r, 1, &both[r], &data[r]);
    world_finish(&w, 2, both);
    world_close(&w);
}

static void operations_revoked_ahead_of_a_late_rank_cost_nothing(void **state)
{
    (void)state;
    revoke_ahead(1);
}

static void revocations_for_a_rank_that_does_not_listen_cost_nothing(void **state)
{
    (void)state;
    revoke_ahead(0);
}

/* Rank 0 has no memory for the run of an operation when its slot falls free: it ends there and everywhere. */
static void an_operation_without_memory_for_its_run_ends_on_all_ranks(void **state)
{
    static double data[2], sum[2];
    nbcoll_request first[2], second[2], third[2];
    world w;
    (void)state;
    open_counted(&w, 1);
    for (int r = 0; r < 2; r++) { /* posts for the news */
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &first[r]));
        EXPECT(OK, nbcoll_cancel(first[r]));
    }
    nbcoll_status ended[2];
    world_settle(&w, 2, first, ended);
    start_many(&w, 0, 1, &first[0], &data[0]);
    EXPECT(OK, nbcoll_iallreduce(&data[0], &sum[0], 1, NBCOLL_DOUBLE, NBCOLL_SUM, w.comm[0], &second[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &third[0]));
    start_many(&w, 1, 1, &first[1], &data[1]);
    EXPECT(OK, nbcoll_progress(w.context[1]));
    fails_at = 1;
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_int_equal(fails_at, 0);
    EXPECT(OK, nbcoll_iallreduce(&data[1], &sum[1], 1, NBCOLL_DOUBLE, NBCOLL_SUM, w.comm[1], &second[1]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &third[1]));
    world_finish(&w, 2, first);
    world_settle(&w, 2, second, ended);
    assert_int_equal(ended[0], NBCOLL_ERR_MEMORY);
    assert_int_equal(ended[1], NBCOLL_ERR_MEMORY);
    world_finish(&w, 2, third);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_requests_wait_for_their_slots),
        cmocka_unit_test(a_request_that_waits_costs_the_same_whatever_it_is),
        cmocka_unit_test(requests_are_cancelled_while_they_wait),
        cmocka_unit_test(operations_revoked_ahead_of_a_late_rank_cost_nothing),
        cmocka_unit_test(revocations_for_a_rank_that_does_not_listen_cost_nothing),
        cmocka_unit_test(an_operation_without_memory_for_its_run_ends_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
