/* SPDX-License-Identifier: BSD-3-Clause
 * Streams: what is longer than the staging buffer goes through it, by rings. Readers take it out while its owner
 * writes; nothing is overwritten that one of them has still to read; elements come whole; a cancelled one leaves the
 * staging buffer free. Where ranks might wait for each other in a circle the memory is lent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/trace.h"
#include "../../src/engine/state/context.h"
#include "native.h"
#include "world.h"

enum { RANKS = 3, STAGING = 64 << 10, BYTES = 5 * STAGING + 24 * 7, WORDS = BYTES / 8 };

static void open_ranks(world *w, int ranks, uint64_t seed, const char *allreduce)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, seed);
    nbcoll_request q[RANKS];
    native n;

    native_init(&n, NULL);
    for (size_t i = 0; i < n.config.rule_count; i++) {
        n.rule[i].below = 0;
        if (n.rule[i].algorithm->operation == NBCOLL_OPERATION_ALLREDUCE)
            n.rule[i].algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, allreduce);
    }
    world_open_contexts(w, ranks, &loopback, NULL);
    for (int r = 0; r < ranks; r++) {
        w->endpoint[r]->limits.staging = STAGING;
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &n.config, &w->comm[r], &q[r]));
    }
    world_finish(w, ranks, q);
}

static void open_world(world *w, uint64_t seed, const char *allreduce)
{
    open_ranks(w, RANKS, seed, allreduce);
}

static unsigned char data[RANKS][BYTES];

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 7 + i / 251);
}

static void start(world *w, int r, nbcoll_request *q)
{
    for (size_t i = 0; i < BYTES; i++)
        data[r][i] = r ? 0xee : byte_at(i);
    EXPECT(OK, nbcoll_ibcast(data[r], BYTES, NBCOLL_BYTE, 0, w->comm[r], q));
}

static void expect_all(void)
{
    for (int r = 1; r < RANKS; r++)
        for (size_t i = 0; i < BYTES; i++)
            assert_int_equal(data[r][i], byte_at(i));
}

static uint32_t exposed(const world *w, int r)
{
    return w->context[r]->links->staging.count;
}

static void progress(const world *w, int r)
{
    for (int i = 0; i < 100; i++)
        EXPECT(OK, nbcoll_progress(w->context[r]));
}

static void what_is_longer_than_the_staging_buffer_goes_through_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        nbcoll_request q[RANKS];
        world w;
        open_world(&w, seed, "slots_owners");
        start(&w, 0, &q[0]);
        assert_int_equal(exposed(&w, 0), 1);
        for (int r = 1; r < RANKS; r++)
            start(&w, r, &q[r]);
        world_finish(&w, RANKS, q);
        expect_all();
        world_close(&w);
    }
}

/* It has come as far as the staging buffer goes, and no further; the owner waits for the last of them. */
static void a_ring_waits_for_its_last_reader(void **state)
{
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    open_world(&w, 1, "slots_owners");
    start(&w, 0, &q[0]);
    start(&w, 1, &q[1]);
    for (int i = 0; i < 10; i++) {
        progress(&w, 0);
        progress(&w, 1);
    }
    EXPECT(PENDING, nbcoll_test(&q[0]));
    EXPECT(PENDING, nbcoll_test(&q[1]));
    assert_int_equal(data[1][STAGING / 4], byte_at(STAGING / 4));
    assert_int_equal(data[1][STAGING], 0xee);
    start(&w, 2, &q[2]);
    world_finish(&w, RANKS, q);
    expect_all();
    world_close(&w);
}

/* When all has been written its owner is through, though the last of it has still to be read. */
static void the_end_of_it_is_read_when_the_owner_has_left(void **state)
{
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    open_world(&w, 1, "slots_owners");
    for (int r = 0; r < RANKS; r++)
        start(&w, r, &q[r]);
    for (int i = 0; nbcoll_test(&q[0]) == NBCOLL_PENDING; i++)
        for (int r = 1; r < RANKS && i % 20 == 0; r++)
            EXPECT(OK, nbcoll_progress(w.context[r]));
    EXPECT(OK, nbcoll_context_free(w.context[0]));
    w.context[0] = NULL;
    world_finish(&w, RANKS - 1, q + 1);
    expect_all();
    world_close(&w);
}

typedef struct triple {
    uint64_t value[3];
} triple;

static nbcoll_status add(void *user, void *result, const void *left, const void *right, size_t count, nbcoll_type type)
{
    (void)user, (void)type;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            ((triple *)result)[i].value[k] = ((const triple *)left)[i].value[k] + ((const triple *)right)[i].value[k];
    return NBCOLL_OK;
}

/* Elements of 24 bytes, of which no ring of the staging buffer's size, nor a piece, is a multiple. */
static void reduce_triples(const char *allreduce, int is_reduce, uint32_t streams)
{
    enum { COUNT = BYTES / sizeof(triple) };
    static const nbcoll_host_type type = {.size = sizeof type, .extent = sizeof(triple)};
    static const nbcoll_host_op op = {.size = sizeof op, .combine = add, .commutative = 1};
    static triple from[RANKS][COUNT], to[RANKS][COUNT];
    nbcoll_request q[RANKS];
    world w;
    open_world(&w, 3, allreduce);
    for (int r = RANKS - 1; r >= 0; r--) {
        for (size_t i = 0; i < COUNT; i++)
            from[r][i] = (triple){{i, (size_t)r, i + (size_t)r}};
        if (is_reduce)
            EXPECT(OK, nbcoll_ireduce(from[r], to[r], COUNT, nbcoll_type_of(&type), nbcoll_op_of(&op), 0, w.comm[r],
                                      &q[r]));
        else
            EXPECT(OK, nbcoll_iallreduce(from[r], to[r], COUNT, nbcoll_type_of(&type), nbcoll_op_of(&op), w.comm[r],
                                         &q[r]));
    }
    assert_int_equal(exposed(&w, 2), streams);
    world_finish(&w, RANKS, q);
    for (int r = 0; r < (is_reduce ? 1 : RANKS); r++)
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(to[r][i].value[0], 3 * i);
            assert_int_equal(to[r][i].value[1], 0 + 1 + 2);
            assert_int_equal(to[r][i].value[2], 3 * i + 3);
        }
    world_close(&w);
}

/* The root's own vector is combined from where it is with the first one that comes: while nobody else has come, nothing
 * of it is in the result. */
static void what_a_root_gives_itself_is_not_copied_first(void **state)
{
    static uint64_t from[RANKS][WORDS], to[RANKS][WORDS];
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    open_world(&w, 4, "slots_owners");
    for (int r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < WORDS; i++) {
            from[r][i] = i << r;
            to[r][i] = UINT64_MAX;
        }
        EXPECT(OK, nbcoll_ireduce(from[r], to[r], WORDS, NBCOLL_UINT64, NBCOLL_SUM, 0, w.comm[r], &q[r]));
        if (r > 0)
            continue;
        progress(&w, 0);
        for (size_t i = 0; i < WORDS; i++)
            assert_true(to[0][i] == UINT64_MAX);
    }
    world_finish(&w, RANKS, q);
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(to[0][i], i + (i << 1) + (i << 2));
    world_close(&w);
}

static void reductions_take_whole_elements_out_of_a_ring(void **state)
{
    (void)state;
    reduce_triples("slots_owners", 1, 1);
}

static void each_part_has_a_ring(void **state)
{
    (void)state;
    reduce_triples("slots_owners", 0, 1); /* of the blocks; that of the result comes later */
}

/* By slots each rank combines the vectors of all in an order of its own: of three, one might wait for the second, that
 * for the third, and that for the first. */
static void what_ranks_come_to_in_turn_is_lent(void **state)
{
    (void)state;
    reduce_triples("slots", 0, 0);
}

static void exchange(int ranks, uint32_t rings)
{
    static unsigned char from[RANKS][RANKS * BYTES], to[RANKS][RANKS * BYTES];
    nbcoll_request q[RANKS];
    world w;
    open_ranks(&w, ranks, 5, "slots_owners");
    for (int r = 0; r < ranks; r++) {
        for (size_t i = 0; i < RANKS * BYTES; i++)
            from[r][i] = (unsigned char)(byte_at(i) + r);
        EXPECT(OK, nbcoll_ialltoall(from[r], to[r], BYTES, NBCOLL_BYTE, w.comm[r], &q[r]));
        assert_int_equal(exposed(&w, r), rings);
    }
    world_finish(&w, ranks, q);
    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < (size_t)ranks * BYTES; i++)
            assert_int_equal(to[r][i], from[i / BYTES][(size_t)r * BYTES + i % BYTES]);
    world_close(&w);
}

/* While its reader gets its part itself, the owner copies its own. */
static void a_part_for_the_one_reader_of_who_copies_itself_is_lent(void **state)
{
    (void)state;
    exchange(2, 0);
}

static void different_parts_for_several_readers_have_rings(void **state)
{
    (void)state;
    exchange(3, 1);
}

static void cancel_streams(int late)
{
    for (int passes = 0; passes < 4; passes++) {
        nbcoll_request q[RANKS];
        nbcoll_status s[RANKS];
        world w;
        open_world(&w, 1, "slots_owners");
        for (int round = 0; round < 4; round++) {
            for (int r = 0; r < RANKS - late; r++)
                start(&w, r, &q[r]);
            for (int i = 0; i < passes; i++)
                for (int r = 0; r < RANKS - late; r++)
                    EXPECT(OK, nbcoll_progress(w.context[r]));
            EXPECT(OK, nbcoll_cancel(q[round % (RANKS - late)]));
            for (int r = RANKS - late; r < RANKS; r++)
                start(&w, r, &q[r]);
            world_settle(&w, RANKS, q, s);
            for (int r = 0; r < RANKS; r++)
                EXPECT(ERR_CANCELLED, s[r]);
        }
        for (int r = 0; r < RANKS; r++)
            start(&w, r, &q[r]);
        assert_int_equal(exposed(&w, 0), 1); /* there is room again */
        world_finish(&w, RANKS, q);
        expect_all();
        world_close(&w);
    }
}

static void a_stream_can_be_cancelled(void **state)
{
    (void)state;
    cancel_streams(0);
}

static void a_stream_that_waits_for_a_late_reader_can_be_cancelled(void **state)
{
    (void)state;
    cancel_streams(1);
}

/* A schedule of the program's, whose readers come to two exposures in different orders. */
static nbcoll_schedule *crossing(world *w, int rank)
{
    nbcoll_builder_config config = {.size = sizeof config,
                                    .rank = rank,
                                    .ranks = 4,
                                    .shares = nbcoll_comm_shares,
                                    .shares_user = w->comm[rank]};
    nbcoll_schedule *s;
    nbcoll_builder *b;
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    if (rank < 2) {
        nbcoll_part part[2] = {{2, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BYTES)},
                               {3, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BYTES)}};
        nbcoll_add_expose(b, 2, part);
    } else {
        int first = rank == 3;
        nbcoll_step one = nbcoll_add_fetch(b, first, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, BYTES);
        nbcoll_after(b, nbcoll_add_fetch(b, !first, (nbcoll_addr){NBCOLL_BUFFER_RECV, BYTES}, BYTES), one);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void a_schedule_of_the_programs_is_lent(void **state)
{
    static unsigned char from[4][BYTES], to[4][2 * BYTES];
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);
    nbcoll_schedule *s[4];
    nbcoll_request q[4];
    world w;
    (void)state;
    world_open(&w, 4, &loopback, NULL, NULL);
    for (int r = 0; r < 4; r++) {
        memset(from[r], r + 1, BYTES);
        s[r] = crossing(&w, r);
        EXPECT(OK, nbcoll_schedule_start(s[r], from[r], to[r], w.comm[r], &q[r]));
    }
    world_finish(&w, 4, q);
    for (int r = 2; r < 4; r++)
        for (size_t i = 0; i < 2 * BYTES; i++)
            assert_int_equal(to[r][i], (i >= BYTES) == (r == 2) ? 2 : 1);
    for (int r = 0; r < 4; r++)
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    world_close(&w);
}

/* ---- parts without bytes ----------------------------------------------------------------------------------------- */

/* Rank 0 exposes a long part for rank 1 and an empty one for rank 2, which has no ring and no place. */
static void expose_beside_nothing(size_t bytes)
{
    nbcoll_schedule *s[RANKS];
    nbcoll_request q[RANKS];
    world w;
    open_world(&w, 1, "slots_owners");
    for (int r = 0; r < RANKS; r++) {
        nbcoll_builder_config config = {
            .size = sizeof config, .rank = r, .ranks = RANKS, .shares = nbcoll_comm_shares, .shares_user = w.comm[r]};
        nbcoll_part part[2] = {{1, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, bytes)},
                               {2, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, bytes}, 0)}};
        nbcoll_builder *b;
        EXPECT(OK, nbcoll_builder_open(&config, &b));
        if (r)
            nbcoll_add_fetch(b, 0, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, r == 1 ? bytes : 0);
        else
            nbcoll_add_expose(b, 2, part);
        EXPECT(OK, nbcoll_builder_finish(b, &s[r]));
        for (size_t i = 0; i < bytes; i++)
            data[r][i] = r ? 0xee : byte_at(i);
        EXPECT(OK, nbcoll_schedule_start(s[r], data[r], data[r], w.comm[r], &q[r]));
    }
    assert_int_equal(exposed(&w, 0), 1);
    world_finish(&w, RANKS, q);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(data[1][i], byte_at(i));
    assert_int_equal(data[2][0], 0xee);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    world_close(&w);
}

static void an_empty_part_beside_one_that_is_copied_is_there(void **state)
{
    (void)state;
    expose_beside_nothing(1000);
    expose_beside_nothing(STAGING / 4 * 3);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

enum { LONG = 4 << 20, LOOKS = 64 /* of the reader in vain before each step of its owner's */ };

typedef struct waiting {
    nbcoll_context *owner; /* null: not yet */
    long looks, armed;
} waiting;

static void step_owner(void *user, const nbcoll_trace_event *e)
{
    waiting *w = user;
    w->armed += e->call == NBCOLL_TRACE_ARM;
    if (w->owner && e->call == NBCOLL_TRACE_PROGRESS && ++w->looks % LOOKS == 0)
        EXPECT(OK, nbcoll_progress(w->owner)); /* of another context */
}

/* Its looks come to more than after which a rank sleeps that waits in vain; but something comes every now and then. */
static void who_waits_does_not_go_to_sleep_while_pieces_come(void **state)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);
    waiting waits = {0};
    nbcoll_trace_config trace = {.size = sizeof trace, .user = &waits, .event = step_owner};
    unsigned char *bytes = test_calloc(2, LONG);
    nbcoll_request q[2];
    native n;
    world w;
    (void)state;
    native_init(&n, NULL);
    for (size_t i = 0; i < n.config.rule_count; i++)
        n.rule[i].below = 0;
    world_open_contexts(&w, 2, &loopback, NULL);
    EXPECT(OK, nbcoll_trace_open(&trace, w.endpoint[1], &w.endpoint[1]));
    for (int r = 0; r < 2; r++) {
        w.endpoint[r]->limits.staging = STAGING;
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &n.config, &w.comm[r], &q[r]));
    }
    world_finish(&w, 2, q);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibcast(bytes + r * LONG, LONG, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
    waits = (waiting){.owner = w.context[0]};
    EXPECT(OK, nbcoll_wait(&q[1], NBCOLL_FOREVER));
    assert_in_range(waits.looks, 6000, 1000000);
    assert_int_equal(waits.armed, 0);
    waits.owner = NULL;
    EXPECT(OK, nbcoll_wait(&q[0], NBCOLL_FOREVER));
    world_close(&w);
    test_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_longer_than_the_staging_buffer_goes_through_it),
        cmocka_unit_test(a_ring_waits_for_its_last_reader),
        cmocka_unit_test(the_end_of_it_is_read_when_the_owner_has_left),
        cmocka_unit_test(what_a_root_gives_itself_is_not_copied_first),
        cmocka_unit_test(reductions_take_whole_elements_out_of_a_ring),
        cmocka_unit_test(each_part_has_a_ring),
        cmocka_unit_test(what_ranks_come_to_in_turn_is_lent),
        cmocka_unit_test(a_part_for_the_one_reader_of_who_copies_itself_is_lent),
        cmocka_unit_test(different_parts_for_several_readers_have_rings),
        cmocka_unit_test(a_stream_can_be_cancelled),
        cmocka_unit_test(a_stream_that_waits_for_a_late_reader_can_be_cancelled),
        cmocka_unit_test(a_schedule_of_the_programs_is_lent),
        cmocka_unit_test(an_empty_part_beside_one_that_is_copied_is_there),
        cmocka_unit_test(who_waits_does_not_go_to_sleep_while_pieces_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
