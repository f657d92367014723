/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core over a transport with RDMA's limits: results are right, and everything that it registers is registered as
 * long as it is used and no longer, whatever ends an operation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/fault.h"
#include "operation.h"
#include "rdma_like.h"
#include "world.h"

enum { RANKS = 4, OPERATIONS = 60 };

static const nbcoll_comm_config limits = {
    .size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16, .eager = 256, .large = 2048};

/* ---- memory of which an abandoned context leaves some behind ----------------------------------------------------- */

enum { LINE = 128 };

struct block {
    struct block *next, **at;
};
static struct block *blocks;

static void *block_alloc(void *user, size_t bytes, size_t align)
{
    struct block *b = aligned_alloc(LINE, (bytes + 2 * LINE - 1) / LINE * LINE);
    (void)user;
    assert_true(b && align <= LINE);
    *b = (struct block){blocks, &blocks};
    if (blocks)
        blocks->at = &b->next;
    blocks = b;
    return (char *)b + LINE;
}

static void block_free(void *user, void *memory, size_t bytes)
{
    struct block *b = (struct block *)(void *)((char *)memory - LINE);
    (void)user;
    (void)bytes;
    *b->at = b->next;
    if (b->next)
        b->next->at = b->at;
    free(b);
}

static rdma_like *open_wrapped(world *w, uint32_t variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .seed = seed, .payload = 1024};
    rdma_like *shared = rdma_like_make(variant);
    nbcoll_request q[RANKS];

    const nbcoll_context_config contexts = {
        .size = sizeof contexts,
        .credits = 3,
        .host = {.size = sizeof contexts.host, .alloc = block_alloc, .free = block_free}};

    world_open_contexts(w, RANKS, &loopback, &contexts);
    for (int r = 0; r < RANKS; r++) {
        w->endpoint[r] = rdma_like_open(shared, w->endpoint[r]);
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &limits, &w->comm[r], &q[r]));
    }
    world_finish(w, RANKS, q);
    return shared;
}

static void check(rdma_like *shared, int left_registered)
{
    rdma_like_count count = rdma_like_counted(shared);
    assert_int_equal(count.bad_key, 0);
    assert_int_equal(count.bad_local, 0);
    assert_int_equal(count.bad_deregister, 0);
    assert_int_equal(count.registered, left_registered);
}

/* One operation of the first ranks, cancelled by `canceller` after so many steps, or not (-1). Buffers go the moment it
 * ends. */
static void run(world *w, int ranks, const operation *o, int canceller, int steps)
{
    nbcoll_request q[RANKS];
    share s[RANKS];
    int left = ranks;

    for (int r = 0; r < ranks; r++) {
        s[r] = share_make(o, r, ranks);
        EXPECT(OK, operation_start(o, &s[r], w->comm[r], &q[r]));
    }
    for (int rounds = 0; left; rounds++) {
        world_watchdog(w, rounds < 100000);
        if (rounds == steps && canceller >= 0 && q[canceller].at)
            EXPECT(OK, nbcoll_cancel(q[canceller]));
        world_step(w);
        for (int r = 0; r < ranks; r++) {
            nbcoll_status status = q[r].at ? nbcoll_test(&q[r]) : NBCOLL_PENDING;
            if (status == NBCOLL_PENDING)
                continue;
            if (status == NBCOLL_OK)
                operation_check(o, &s[r], r, ranks);
            else
                assert_true(canceller >= 0 && status == NBCOLL_ERR_CANCELLED);
            share_free(&s[r]);
            left--;
        }
    }
}

static void collectives_register_what_they_use_and_no_longer(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++) {
        uint64_t random = 20261122 + variant;
        world w;
        rdma_like *shared = open_wrapped(&w, variant, random);
        for (int k = 0; k < OPERATIONS; k++) {
            operation o = operation_random(&random, RANKS, 3000);
            run(&w, RANKS, &o, -1, 0);
        }
        check(shared, 0);
        rdma_like_count count = rdma_like_counted(shared);
        assert_int_equal(count.gets > 0, !(variant & RDMA_LIKE_NO_GET));
        assert_int_equal(count.puts > 0, !(variant & RDMA_LIKE_NO_PUT));
        world_close(&w);
        rdma_like_free(shared);
    }
}

static void cancelled_at_any_moment_they_leave_nothing_registered(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++) {
        uint64_t random = 42 + variant;
        world w;
        rdma_like *shared = open_wrapped(&w, variant, random);
        for (int k = 0; k < 2 * OPERATIONS; k++) {
            operation o = operation_random(&random, RANKS, 3000);
            run(&w, RANKS, &o, k % RANKS, k % 17);
            check(shared, 0);
        }
        world_close(&w);
        rdma_like_free(shared);
    }
}

/* The program's own memory is registered once. */
static void memory_of_mem_alloc_is_registered_once(void **state)
{
    enum { BYTES = 20000 };
    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++) {
        void *memory[RANKS];
        nbcoll_request q[RANKS];
        world w;
        rdma_like *shared = open_wrapped(&w, variant, 7);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_mem_alloc(w.comm[r], BYTES, &memory[r]));
        check(shared, RANKS);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(memory[r], BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
        for (int i = 0; i < 3; i++) {
            world_step(&w);
            check(shared, RANKS); /* nothing else */
        }
        world_finish(&w, RANKS, q);
        EXPECT(OK, nbcoll_mem_free(w.comm[0], memory[0]));
        check(shared, RANKS - 1);
        world_close(&w); /* the others end with their contexts */
        check(shared, 0);
        rdma_like_free(shared);
    }
}

/* Rank 3 stops in the middle of a transfer and is abandoned: the others name it, and settle. */
static void a_rank_that_dies_in_the_middle_leaves_nothing_registered_elsewhere(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++)
        for (int steps = 0; steps < 12; steps++) {
            const operation o = {.what = NBCOLL_OPERATION_ALLTOALL, .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM}};
            nbcoll_request q[RANKS];
            nbcoll_status status[RANKS];
            share s[RANKS];
            world w;
            rdma_like *shared = open_wrapped(&w, variant, (uint64_t)steps + 1);
            for (int r = 0; r < RANKS; r++) {
                s[r] = share_make(&o, r, RANKS);
                EXPECT(OK, operation_start(&o, &s[r], w.comm[r], &q[r]));
            }
            for (int i = 0; i < steps; i++)
                world_step(&w);
            EXPECT(OK, nbcoll_context_abandon(w.context[3], NULL, NULL));
            watch_free(&w.watch[3]);
            w.ranks = 3;
            world_settle(&w, 3, q, status);
            for (int r = 0; r < 3; r++)
                assert_true(status[r] == NBCOLL_OK || status[r] == NBCOLL_ERR_PEER_LOST);
            world_close(&w);
            check(shared, 0);
            for (int r = 0; r < RANKS; r++)
                share_free(&s[r]);
            while (blocks)
                block_free(NULL, (char *)blocks + LINE, 0);
            rdma_like_free(shared);
        }
}

/* Opens a world that puts only, in which rank 0 can be told to fail. */
static rdma_like *open_faulty(world *w)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .payload = 1024};
    rdma_like *shared = rdma_like_make(RDMA_LIKE_NO_GET);
    nbcoll_request q[2];

    world_open_contexts(w, 2, &loopback, NULL);
    for (int r = 0; r < 2; r++) {
        w->endpoint[r] = rdma_like_open(shared, w->endpoint[r]);
        if (r == 0)
            EXPECT(OK, nbcoll_fault_open(NULL, w->endpoint[r], &w->endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &limits, &w->comm[r], &q[r]));
    }
    world_finish(w, 2, q);
    return shared;
}

static void a_sender_that_cannot_register_its_end_of_a_put_sends_fragments(void **state)
{
    const nbcoll_fault_config no_end = {.size = sizeof no_end, .fail = NBCOLL_FAULT_REGISTER, .fail_at = 1,
                                        .fail_with = NBCOLL_POST_FAILED};
    const operation o = {.what = NBCOLL_OPERATION_BCAST, .count = 200, .how = {NBCOLL_INT64, NBCOLL_SUM}};
    world w;
    (void)state;
    rdma_like *shared = open_faulty(&w);
    EXPECT(OK, nbcoll_fault_set(w.endpoint[0], &no_end));
    run(&w, 2, &o, -1, 0);
    assert_int_equal(nbcoll_fault_calls(w.endpoint[0]), 1);
    assert_int_equal(rdma_like_counted(shared).puts, 0);
    check(shared, 0);
    run(&w, 2, &o, -1, 0); /* the next one it can */
    assert_int_equal(rdma_like_counted(shared).puts, 1);
    check(shared, 0);
    world_close(&w);
    rdma_like_free(shared);
}

/* Rank 3 frees its context in the middle of the others' operation: who needed it names it, nobody is lost, and the
 * others go on. */
static void a_rank_that_leaves_in_the_middle_leaves_nothing_registered(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++)
        for (int steps = 0; steps < 12; steps++) {
            const operation o = {.what = NBCOLL_OPERATION_ALLTOALL, .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM}};
            nbcoll_request q[RANKS];
            nbcoll_status status[RANKS], left;
            nbcoll_comm *three[RANKS];
            share s[RANKS];
            world w;
            rdma_like *shared = open_wrapped(&w, variant, (uint64_t)steps + 1);
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, nbcoll_comm_isplit(w.comm[r], r / 3, 0, &three[r], &q[r]));
            world_finish(&w, RANKS, q);
            for (int r = 0; r < 3; r++) {
                s[r] = share_make(&o, r, RANKS);
                EXPECT(OK, operation_start(&o, &s[r], w.comm[r], &q[r]));
            }
            for (int i = 0; i < steps; i++)
                world_step(&w);
            for (int i = 0; (left = nbcoll_context_free(w.context[3])) == NBCOLL_ERR_BUSY; i++) {
                world_watchdog(&w, i < 1000);
                world_step(&w);
            }
            EXPECT(OK, left);
            watch_free(&w.watch[3]);
            w.ranks = 3;
            world_settle(&w, 3, q, status);
            for (int r = 0; r < 3; r++) {
                EXPECT(ERR_PEER_LOST, status[r]); /* it had not started it */
                share_free(&s[r]);
                w.comm[r] = three[r];
            }
            check(shared, 0);
            run(&w, 3, &o, -1, 0);
            world_close(&w);
            check(shared, 0);
            assert_null(blocks);
            rdma_like_free(shared);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_register_what_they_use_and_no_longer),
        cmocka_unit_test(cancelled_at_any_moment_they_leave_nothing_registered),
        cmocka_unit_test(memory_of_mem_alloc_is_registered_once),
        cmocka_unit_test(a_rank_that_dies_in_the_middle_leaves_nothing_registered_elsewhere),
        cmocka_unit_test(a_rank_that_leaves_in_the_middle_leaves_nothing_registered),
        cmocka_unit_test(a_sender_that_cannot_register_its_end_of_a_put_sends_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
