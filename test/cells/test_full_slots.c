/* SPDX-License-Identifier: BSD-3-Clause
 * More native operations than slots: they finish whatever the order of waiting, across communicators, and one that
 * cannot go on says who has the slot, which keeps what a rank that is given up may read. NBCOLL_FULL=1 has every
 * permutation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../shm/ranks.h"
#include "operation.h"
#include "world.h"

static nbcoll_comm_config slots(uint32_t n)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = n;
    return config;
}

/* ---- every order of waiting -------------------------------------------------------------------------------------- */

enum { OPERATIONS = 5, ORDERS = 120 };

/* The n-th permutation of 0..OPERATIONS-1. */
static void permute(int n, int order[OPERATIONS])
{
    int left[OPERATIONS] = {0, 1, 2, 3, 4};
    for (int i = 0, size = OPERATIONS; i < OPERATIONS; i++, size--) {
        int at = n % size;
        n /= size;
        order[i] = left[at];
        for (int k = at; k + 1 < size; k++)
            left[k] = left[k + 1];
    }
}

/* Operations 0, 2, 4 on one communicator, 1 and 3 on the other; inline, by reference, and reductions. */
static operation operation_at(int i, int n, int ranks)
{
    static const nbcoll_operation what[OPERATIONS] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_ALLREDUCE,
                                                      NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_SCATTER,
                                                      NBCOLL_OPERATION_BCAST};
    static const size_t counts[] = {1, 21, 1000, 40000};
    operation o = {.what = what[i], .count = counts[(i + n) % 4], .how = {NBCOLL_INT32, NBCOLL_SUM},
                   .seed = (uint64_t)(n * OPERATIONS + i)};
    if (o.what == NBCOLL_OPERATION_BCAST || o.what == NBCOLL_OPERATION_SCATTER)
        o.root = (i + n) % ranks;
    return o;
}

static void wait_in_order(nbcoll_comm *comm[2], int n)
{
    int rank = nbcoll_comm_rank(comm[0]), ranks = nbcoll_comm_size(comm[0]), order[OPERATIONS];
    nbcoll_request q[OPERATIONS];
    operation o[OPERATIONS];
    share s[OPERATIONS];

    permute((n * (rank * 7 + 1) + rank * 31) % ORDERS, order);
    for (int i = 0; i < OPERATIONS; i++) {
        o[i] = operation_at(i, n, ranks);
        s[i] = share_make(&o[i], rank, ranks);
        EXPECT(OK, operation_start(&o[i], &s[i], comm[i % 2], &q[i]));
    }
    for (int i = 0; i < OPERATIONS; i++) {
        int at = order[i];
        EXPECT(OK, nbcoll_wait(&q[at], 30 * SECOND));
        operation_check(&o[at], &s[at], rank, ranks);
        share_free(&s[at]);
    }
}

static void all_orders(nbcoll_comm *first)
{
    nbcoll_comm *comm[2] = {first, NULL};
    EXPECT(OK, nbcoll_comm_dup(first, &comm[1], 30 * SECOND));
    assert_true(nbcoll_comm_shares(first, 0) && nbcoll_comm_shares(comm[1], 0));
    for (int n = 0; n < ORDERS; n += is_full() ? 1 : 7)
        wait_in_order(comm, n);
    EXPECT(OK, nbcoll_barrier(comm[1], 30 * SECOND));
    EXPECT(OK, nbcoll_comm_free(comm[1]));
}

static void thread_main(world *w, int rank, void *user)
{
    (void)user;
    all_orders(w->comm[rank]);
}

static void threads_finish_in_every_order_of_waiting(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 2; k++)
        for (int ranks = 2; ranks <= 3; ranks++) {
            nbcoll_loopback_config loopback = world_variant(WORLD_SHARED + (int)k, 5);
            const nbcoll_comm_config config = slots(k);
            world w;
            world_open(&w, ranks, &loopback, NULL, &config);
            world_threads(&w, thread_main, NULL);
            world_close(&w);
        }
}

struct plan {
    nbcoll_shm_config config;
    nbcoll_comm_config limits;
    size_t bytes;
    int pipe[2];
};

static void process_main(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    member m;
    config.rank = rank;
    member_join_limited(&m, &config, NULL, &p->limits);
    all_orders(m.comm);
    member_leave(&m);
}

static void ranks_over_shm_finish_in_every_order_of_waiting(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{1, 2}}};
    (void)state;
    for (uint32_t k = 1; k <= 2; k++)
        for (int i = 0; i < 2; i++) {
            struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = crew_ranks(&crews[i])},
                             .limits = slots(k)};
            crew_succeeds(&crews[i], process_main, &p);
        }
}

/* ---- no slot ----------------------------------------------------------------------------------------------------- */

static void fill(unsigned char *data, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(with + i * 7);
}

static void check(const unsigned char *data, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK(data[i] == (unsigned char)(with + i * 7));
}

/* Rank 0 broadcasts twice into the one slot while rank 1 sits in a read(), which rank 0 ends when it has been told that
 * it waits for rank 1. */
static void broadcast_twice(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    unsigned char *data[2] = {calloc(1, p->bytes), calloc(1, p->bytes)}, word = 1;
    nbcoll_failure held, failure;
    nbcoll_request q[2];
    member m;

    config.rank = rank;
    member_join_limited(&m, &config, NULL, &p->limits);
    CHECK(nbcoll_comm_shares(m.comm, 1 - rank));
    for (int i = 0; rank == 0 && i < 2; i++)
        fill(data[i], p->bytes, (unsigned char)(i + 1));
    if (rank == 1)
        CHECK(read(p->pipe[0], &word, 1) == 1);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data[i], p->bytes, NBCOLL_BYTE, 0, m.comm, &q[i]));
    if (rank == 0) {
        nbcoll_status first = nbcoll_wait(&q[0], 0); /* over, if it is in the cell */
        CHECK_STATUS(p->bytes > 80 ? NBCOLL_ERR_TIMEOUT : NBCOLL_OK, first);
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &held));
        uint64_t from = clock_ns();
        CHECK_STATUS(NBCOLL_ERR_NO_SLOT, nbcoll_wait(&q[1], SECOND / 10));
        CHECK(clock_ns() - from >= SECOND / 10 && clock_ns() - from < 10 * SECOND);
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
        CHECK(failure.status == NBCOLL_ERR_NO_SLOT && failure.rank == 1 && failure.comm == m.comm);
        CHECK(failure.tag == (first == NBCOLL_OK ? 1 : held.tag)); /* the first after the vote */
        CHECK(write(p->pipe[1], &word, 1) == 1);
    }
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q[i], 30 * SECOND));
    for (int i = 0; i < 2; i++) {
        check(data[i], p->bytes, (unsigned char)(i + 1));
        free(data[i]);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
}

static void a_wait_without_a_slot_names_the_tag_and_rank_that_hold_it(void **state)
{
    static const size_t sizes[] = {8, 100000};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = 2,
                                    .flags = NBCOLL_SHM_NO_STAGING},
                         .limits = slots(1),
                         .bytes = sizes[i]};
        assert_int_equal(pipe(p.pipe), 0);
        crew_succeeds(&PROCESSES_2, broadcast_twice, &p);
        close(p.pipe[0]);
        close(p.pipe[1]);
    }
}

/* The first broadcast is in rank 0's cells, and ended; the second waits for them; the third waits for the second. */
static void so_does_one_that_waits_for_one_without_cells(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    const nbcoll_comm_config one = slots(1);
    nbcoll_request q[3][3];
    nbcoll_failure failure[2];
    int value[3][3] = {{1}, {2}, {3}};
    world w;
    (void)state;
    world_open(&w, 3, &loopback, NULL, &one);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibcast(&value[i][0], 1, NBCOLL_INT32, 0, w.comm[0], &q[i][0]));
    EXPECT(OK, nbcoll_wait(&q[0][0], 0));
    EXPECT(OK, nbcoll_ibcast(&value[0][1], 1, NBCOLL_INT32, 0, w.comm[1], &q[0][1]));
    EXPECT(OK, nbcoll_wait(&q[0][1], 0));
    for (int i = 1; i < 3; i++) {
        EXPECT(ERR_NO_SLOT, nbcoll_wait(&q[i][0], 0));
        EXPECT(OK, nbcoll_last_failure(w.context[0], &failure[i - 1]));
        assert_int_equal(failure[i - 1].rank, 2);
    }
    assert_int_equal(failure[0].tag, failure[1].tag);
    for (int r = 1; r < 3; r++)
        for (int i = r == 1; i < 3; i++)
            EXPECT(OK, nbcoll_ibcast(&value[i][r], 1, NBCOLL_INT32, 0, w.comm[r], &q[i][r]));
    world_finish(&w, 9, q[0]);
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++)
            assert_int_equal(value[i][r], i + 1);
    world_close(&w);
}

/* ---- who is given up --------------------------------------------------------------------------------------------- */

/* It may be alive, and at it: what it has been shown stays, and an operation that waits for the slot fails. */
static void what_a_rank_that_is_given_up_may_read_stays(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);
    nbcoll_comm_config config = slots(1);
    unsigned char data[3] = {7, 0, 0}, next = 9;
    nbcoll_request q[3], waits;
    nbcoll_status ends;
    world w;

    (void)state;
    world_open(&w, 3, &loopback, NULL, &config);
    for (int r = 0; r < 3; r += 2)
        EXPECT(OK, nbcoll_ibcast(&data[r], 1, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_ibcast(&next, 1, NBCOLL_BYTE, 0, w.comm[0], &waits));
    EXPECT(OK, nbcoll_test(&q[0]));
    EXPECT(OK, nbcoll_test(&q[2]));
    EXPECT(PENDING, nbcoll_test(&waits));
    EXPECT(OK, nbcoll_comm_declare_lost(w.comm[2], 1));
    EXPECT(OK, nbcoll_progress(w.context[2]));
    while ((ends = nbcoll_test(&waits)) == NBCOLL_PENDING)
        ;
    EXPECT(ERR_PEER_LOST, ends);
    EXPECT(OK, nbcoll_ibcast(&data[1], 1, NBCOLL_BYTE, 0, w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_test(&q[1]));
    assert_int_equal(data[1], 7);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_finish_in_every_order_of_waiting),
        cmocka_unit_test(ranks_over_shm_finish_in_every_order_of_waiting),
        cmocka_unit_test(a_wait_without_a_slot_names_the_tag_and_rank_that_hold_it),
        cmocka_unit_test(so_does_one_that_waits_for_one_without_cells),
        cmocka_unit_test(what_a_rank_that_is_given_up_may_read_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
