/* SPDX-License-Identifier: BSD-3-Clause
 * Copies of what is exposed: with them the owner's operation ends before any reader has come, and its memory is its own
 * again; without room it is lent. Room comes back when the readers are through, also with what a freed communicator
 * has left; a large copy is made in several passes, and followed by its readers meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "native.h"
#include "world.h"

enum { RANKS = 3, BYTES = 3000, ROOM = 8192, LARGE = 4 * NBCOLL_PASS_BYTES, STAGING = 4 * LARGE };
enum { STREAMS = RANKS * 256 }; /* bytes beside a copy that readers follow and that fills the staging buffer else */

/* A world whose ranks share memory and have a staging buffer of so many bytes; of which parts are worth it, if that is
 * said. Unless all view memory in place the last rank does not. */
static void open_mixed(world *w, int ranks, uint32_t staging, int all_view, size_t (*part)(nbcoll_endpoint *))
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);

    nbcoll_request q[RANKS];
    native n;

    native_init(&n, NULL);
    for (size_t i = 0; i < n.config.rule_count; i++)
        n.rule[i].below = 0;
    world_open_contexts(w, ranks, &loopback, NULL);
    nbcoll_transport table = *w->endpoint[0]->transport;
    nbcoll_shared shared = *table.shared;
    nbcoll_bulk bulk = *table.bulk;
    table.shared = &shared;
    table.bulk = &bulk;
    shared.staging_part = part;
    for (int r = 0; r < ranks; r++) {
        const nbcoll_transport *own = w->endpoint[r]->transport;
        bulk.view = all_view || r + 1 < ranks ? own->bulk->view : NULL;
        w->endpoint[r]->transport = &table; /* is copied */
        w->endpoint[r]->limits.staging = staging;
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &n.config, &w->comm[r], &q[r]));
        w->endpoint[r]->transport = own;
    }
    world_finish(w, ranks, q);
}

static void open_ranks(world *w, int ranks, uint32_t staging, size_t (*part)(nbcoll_endpoint *))
{
    open_mixed(w, ranks, staging, 1, part);
}

static void open_world(world *w, uint32_t staging)
{
    open_ranks(w, RANKS, staging, NULL);
}

/* A broadcast of rank 0's; its other ranks start it when they are told to. */
typedef struct cast {
    unsigned char data[RANKS][LARGE];
    nbcoll_request q[RANKS];
} cast;

static void start(nbcoll_comm *comm[], cast *c, int r, size_t bytes, int value)
{
    memset(c->data[r], r ? 0xee : value, bytes);
    EXPECT(OK, nbcoll_ibcast(c->data[r], bytes, NBCOLL_BYTE, 0, comm[r], &c->q[r]));
}

/* The others come; all have the value, though the root's memory has been used again where its operation had ended. */
static void end(world *w, nbcoll_comm *comm[], cast *c, size_t bytes, int value)
{
    for (int r = 1; r < RANKS; r++)
        start(comm, c, r, bytes, 0);
    world_settle(w, RANKS, c->q, NULL);
    for (int r = 1; r < RANKS; r++)
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(c->data[r][i], value);
}

static void reuse(cast *c, size_t bytes)
{
    EXPECT(OK, nbcoll_test(&c->q[0]));
    memset(c->data[0], 0xaa, bytes);
}

static void the_owner_needs_no_reader(void **state)
{
    static cast c;
    world w;
    (void)state;
    open_world(&w, ROOM);
    start(w.comm, &c, 0, BYTES, 7);
    reuse(&c, BYTES);
    end(&w, w.comm, &c, BYTES, 7);
    world_close(&w);
}

static void without_room_memory_is_lent(void **state)
{
    static cast c[4];
    world w;
    (void)state;
    open_world(&w, ROOM);
    for (int i = 0; i < 3; i++)
        start(w.comm, &c[i], 0, BYTES, i);
    reuse(&c[0], BYTES);
    reuse(&c[1], BYTES);
    EXPECT(PENDING, nbcoll_test(&c[2].q[0]));
    for (int i = 0; i < 3; i++)
        end(&w, w.comm, &c[i], BYTES, i);
    for (int round = 0; round < 50; round++) { /* more than there is room for at once */
        start(w.comm, &c[3], 0, BYTES, round);
        reuse(&c[3], BYTES);
        end(&w, w.comm, &c[3], BYTES, round);
    }
    start(w.comm, &c[3], 0, ROOM + 1, 5); /* more than there ever is */
    EXPECT(PENDING, nbcoll_test(&c[3].q[0]));
    end(&w, w.comm, &c[3], ROOM + 1, 5);
    world_close(&w);
}

/* Where the last copy of rank 0 lies. */
static size_t last_place(const world *w)
{
    const nbcolli_staging *s = &w->context[0]->links->staging;
    return s->one[(s->first + s->count + NBCOLLI_MOST_STAGED - 1) % NBCOLLI_MOST_STAGED].begin;
}

/* The cache of who has read one may still hold its lines; ranks that share a core share that cache. */
static void small_copies_go_round_where_ranks_have_cores_of_their_own(void **state)
{
    static cast c;
    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        world w;
        open_world(&w, STAGING);
        w.context[0]->crowded = crowded;
        size_t apart = 0, most = 0, before = last_place(&w);
        for (int round = 0; round < 1000; round++) {
            start(w.comm, &c, 0, BYTES, round % 100);
            end(&w, w.comm, &c, BYTES, round % 100);
            apart += last_place(&w) != before;
            before = last_place(&w);
            most = before > most ? before : most;
        }
        assert_int_equal(apart, crowded ? 0 : 999); /* the first one lies where nothing has lain */
        assert_true(crowded ? most == 0 : most > (1u << 20) && most < (2u << 20));
        start(w.comm, &c, 0, LARGE, 1);
        end(&w, w.comm, &c, LARGE, 1);
        assert_int_equal(last_place(&w), 0);
        world_close(&w);
    }
}

static void duplicate(world *w, nbcoll_comm *comm[])
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(w->comm[r], &comm[r], &q[r]));
    world_finish(w, RANKS, q);
}

/* The owner frees the communicator while the others have still to read, and something of another one lies behind it. */
static void a_freed_communicator_keeps_its_place_until_all_have_left(void **state)
{
    static cast first, second, third;
    nbcoll_comm *comm[RANKS];
    world w;
    (void)state;
    open_world(&w, ROOM);
    duplicate(&w, comm);
    start(comm, &first, 0, ROOM / 2, 1);
    reuse(&first, ROOM / 2);
    EXPECT(OK, nbcoll_comm_free(comm[0]));
    start(w.comm, &second, 0, ROOM / 2, 2);
    reuse(&second, ROOM / 2);
    start(w.comm, &third, 0, ROOM / 2, 3);
    EXPECT(PENDING, nbcoll_test(&third.q[0]));
    end(&w, comm, &first, ROOM / 2, 1);
    for (int r = 1; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_free(comm[r]));
    end(&w, w.comm, &second, ROOM / 2, 2);
    end(&w, w.comm, &third, ROOM / 2, 3);
    for (int i = 0; i < 3; i++) {
        start(w.comm, &first, 0, ROOM, i);
        reuse(&first, ROOM);
        end(&w, w.comm, &first, ROOM, i);
    }
    world_close(&w);
}

/* Nothing is got from it any more, but what it has put in its staging buffer is there. */
static void the_owner_may_leave_before_readers_come(void **state)
{
    static const size_t bytes[] = {BYTES, LARGE};
    static cast c;
    (void)state;
    for (int i = 0; i < 2; i++) {
        world w;
        open_world(&w, LARGE + STREAMS);
        start(w.comm, &c, 0, bytes[i], 7);
        while (nbcoll_test(&c.q[0]) == NBCOLL_PENDING)
            ;
        EXPECT(OK, nbcoll_context_free(w.context[0]));
        w.context[0] = NULL;
        for (int passes = 0; passes < 10; passes++)
            for (int r = 1; r < RANKS; r++)
                EXPECT(OK, nbcoll_progress(w.context[r]));
        end(&w, w.comm, &c, bytes[i], 7);
        world_close(&w);
    }
}

/* It would have to get the copy, of a rank that may have left by then. */
static void memory_is_lent_where_a_rank_does_not_view_it(void **state)
{
    static cast c;
    world w;
    (void)state;
    open_mixed(&w, RANKS, ROOM, 0, NULL);
    start(w.comm, &c, 0, BYTES, 7);
    EXPECT(PENDING, nbcoll_test(&c.q[0]));
    end(&w, w.comm, &c, BYTES, 7);
    world_close(&w);
}

static void a_large_copy_takes_several_passes(void **state)
{
    static cast c, small;
    int passes = 0;
    world w;
    (void)state;
    open_world(&w, LARGE + STREAMS);
    start(w.comm, &c, 0, LARGE, 9);
    start(w.comm, &small, 0, BYTES, 8);
    EXPECT(PENDING, nbcoll_test(&small.q[0])); /* the room is taken, though nothing is there yet */
    while (nbcoll_test(&c.q[0]) == NBCOLL_PENDING)
        assert_true(++passes < 1000);
    assert_true(passes >= LARGE / NBCOLL_PASS_BYTES - 3);
    memset(c.data[0], 0xaa, LARGE);
    end(&w, w.comm, &c, LARGE, 9);
    end(&w, w.comm, &small, BYTES, 8);
    world_close(&w);
}

/* What has been copied is read, though the owner has still to copy the rest; who has read that waits. */
static void readers_follow_a_large_copy(void **state)
{
    static const size_t lengths[] = {LARGE, LARGE - 64, LARGE - 100}; /* whatever their places are rounded to */
    static cast c;
    (void)state;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t bytes = lengths[l];
        world w;
        open_world(&w, LARGE + 4096); /* what lies in front of it */
        start(w.comm, &c, 0, bytes, 9);
        for (int r = 1; r < RANKS; r++) {
            start(w.comm, &c, r, bytes, 0);
            for (int i = 0; i < 100; i++)
                EXPECT(PENDING, nbcoll_test(&c.q[r]));
            assert_int_equal(c.data[r][0], 9);
            assert_int_equal(c.data[r][bytes - 1], 0xee);
        }
        EXPECT(PENDING, nbcoll_test(&c.q[0]));
        world_finish(&w, RANKS, c.q);
        for (int r = 1; r < RANKS; r++)
            for (size_t i = 0; i < bytes; i++)
                assert_int_equal(c.data[r][i], 9);
        world_close(&w);
    }
}

/* A pass that ends before all has been copied for the others goes on with that, and only then with this rank's own. */
static void what_others_wait_for_comes_before_a_rank_s_own_copies(void **state)
{
    enum { BLOCK = 2 * NBCOLL_PASS_BYTES };
    static unsigned char from[2][BLOCK], to[2][2 * BLOCK];
    nbcoll_request q[2];
    world w;
    (void)state;
    open_ranks(&w, 2, STAGING, NULL);
    memset(from[0], 7, BLOCK);
    EXPECT(OK, nbcoll_iallgather(from[0], to[0], BLOCK, NBCOLL_BYTE, w.comm[0], &q[0]));
    for (int pass = 0; pass < 2; pass++)
        nbcoll_progress(w.context[0]);
    EXPECT(OK, nbcoll_iallgather(from[1], to[1], BLOCK, NBCOLL_BYTE, w.comm[1], &q[1]));
    for (int pass = 0; pass < 100 && nbcoll_test(&q[1]) == NBCOLL_PENDING; pass++)
        ;
    EXPECT(OK, nbcoll_test(&q[1])); /* without a further call of rank 0's */
    assert_memory_equal(to[1], from[0], BLOCK);
    world_finish(&w, 1, q);
    world_close(&w);
}

/* Of rank 0, whose copy readers do not follow, since it fetches itself; rank 1 calls as often as it has to. */
static int passes_of_a_copy(size_t bytes)
{
    static unsigned char from[2][LARGE], to[2][2 * LARGE];
    nbcoll_request q[2];
    int passes = 0;
    world w;
    open_ranks(&w, 2, STAGING, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_iallgather(from[r], to[r], bytes, NBCOLL_BYTE, w.comm[r], &q[r]));
    while (nbcoll_test(&q[1]) == NBCOLL_PENDING) {
        for (int pass = 0; pass < 30 && nbcoll_test(&q[1]) == NBCOLL_PENDING; pass++)
            ;
        assert_true(++passes < 1000);
        nbcoll_progress(w.context[0]);
    }
    world_finish(&w, 1, q);
    world_close(&w);
    return passes;
}

static void less_than_a_quarter_of_a_turn_is_not_left_for_another_pass(void **state)
{
    enum { TURN = NBCOLL_PASS_BYTES / 4 };
    int passes = passes_of_a_copy(2 * NBCOLL_PASS_BYTES);
    (void)state;
    assert_int_equal(passes_of_a_copy(2 * NBCOLL_PASS_BYTES + TURN / 5), passes);
    assert_true(passes_of_a_copy(2 * NBCOLL_PASS_BYTES + NBCOLL_PASS_BYTES / 2) > passes);
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

/* Pieces of the copy end within elements; whoever combines them waits for whole ones. */
static void reductions_follow_it_by_whole_elements(void **state)
{
    enum { COUNT = LARGE / sizeof(triple) - 1 };
    static const nbcoll_host_type type = {.size = sizeof type, .extent = sizeof(triple)};
    static const nbcoll_host_op op = {.size = sizeof op, .combine = add, .commutative = 1};
    static triple from[RANKS][COUNT], to[COUNT];
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    assert_true(NBCOLL_PASS_BYTES % sizeof(triple));
    open_world(&w, LARGE + STREAMS);
    for (int r = RANKS - 1; r >= 0; r--) {
        for (size_t i = 0; i < COUNT; i++)
            from[r][i] = (triple){{i, (size_t)r, i + (size_t)r}};
        EXPECT(OK, nbcoll_ireduce(from[r], to, COUNT, nbcoll_type_of(&type), nbcoll_op_of(&op), 0, w.comm[r], &q[r]));
    }
    for (int i = 0; i < 100; i++) /* it comes to the end of what is there */
        EXPECT(PENDING, nbcoll_test(&q[0]));
    world_finish(&w, RANKS, q);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(to[i].value[0], 3 * i);
        assert_int_equal(to[i].value[1], 0 + 1 + 2);
        assert_int_equal(to[i].value[2], 3 * i + 3);
    }
    world_close(&w);
}

/* Cancelled in the middle of it, it ends everywhere, and the room is used again; also where readers follow it. */
static void cancel_copies(int readers_come_first)
{
    static cast c;
    world w;
    open_world(&w, LARGE + STREAMS);
    for (int passes = 0; passes < 6; passes++) {
        nbcoll_status s[RANKS];
        for (int r = 1; r < RANKS && readers_come_first; r++)
            start(w.comm, &c, r, LARGE, 0);
        start(w.comm, &c, 0, LARGE, 9);
        for (int i = 0; i < passes && c.q[0].at; i++)
            for (int r = 0; r < (readers_come_first ? RANKS : 1); r++)
                nbcoll_test(&c.q[r]);
        int in_time = c.q[0].at != NULL;
        if (in_time)
            EXPECT(OK, nbcoll_cancel(c.q[passes % 2 && readers_come_first ? 1 : 0]));
        for (int r = 1; r < RANKS && !readers_come_first; r++)
            start(w.comm, &c, r, LARGE, 0);
        world_settle(&w, RANKS, c.q, s);
        for (int r = 0; r < RANKS && in_time; r++)
            EXPECT(ERR_CANCELLED, s[r]);
    }
    for (int i = 0; i < 40; i++) {
        start(w.comm, &c, 0, BYTES, i);
        reuse(&c, BYTES);
        end(&w, w.comm, &c, BYTES, i);
    }
    world_close(&w);
}

static void a_copy_can_be_cancelled(void **state)
{
    (void)state;
    cancel_copies(0);
}

static void a_copy_that_is_followed_can_be_cancelled(void **state)
{
    (void)state;
    cancel_copies(1);
}

/* The root of a scatter would copy alone what each reader can get for itself. */
static void different_parts_are_lent_where_the_owner_only_gives(void **state)
{
    static unsigned char from[RANKS * BYTES], to[RANKS][BYTES];
    nbcoll_request q[RANKS];
    world w;
    (void)state;
    open_world(&w, STAGING);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_iscatter(from, to[r], BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
        if (r == 0)
            EXPECT(PENDING, nbcoll_test(&q[0]));
    }
    world_finish(&w, RANKS, q);
    world_close(&w);
}

static size_t of_bytes(nbcoll_endpoint *ep)
{
    (void)ep;
    return BYTES;
}

static void start_of(nbcoll_operation operation, void *from, void *to, size_t bytes, nbcoll_comm *comm,
                     nbcoll_request *q)
{
    switch (operation) {
    case NBCOLL_OPERATION_ALLGATHER: EXPECT(OK, nbcoll_iallgather(from, to, bytes, NBCOLL_BYTE, comm, q)); break;
    case NBCOLL_OPERATION_ALLTOALL: EXPECT(OK, nbcoll_ialltoall(from, to, bytes, NBCOLL_BYTE, comm, q)); break;
    case NBCOLL_OPERATION_BCAST: EXPECT(OK, nbcoll_ibcast(to, bytes, NBCOLL_BYTE, 0, comm, q)); break;
    case NBCOLL_OPERATION_SCATTER: EXPECT(OK, nbcoll_iscatter(from, to, bytes, NBCOLL_BYTE, 0, comm, q)); break;
    case NBCOLL_OPERATION_GATHER: EXPECT(OK, nbcoll_igather(from, to, bytes, NBCOLL_BYTE, 0, comm, q)); break;
    case NBCOLL_OPERATION_REDUCE:
        EXPECT(OK, nbcoll_ireduce(from, to, bytes, NBCOLL_BYTE, NBCOLL_BXOR, 0, comm, q));
        break;
    default: EXPECT(OK, nbcoll_iallreduce(from, to, bytes, NBCOLL_BYTE, NBCOLL_BXOR, comm, q));
    }
}

/* Has rank r copied something, when it has started this, from as many bytes of a rank's? Afterwards all have come. */
static int copies(world *w, nbcoll_operation operation, int r, size_t bytes)
{
    static unsigned char from[RANKS][RANKS * LARGE], to[RANKS][RANKS * LARGE];
    nbcoll_request q[RANKS];
    int ranks = w->ranks, staged = 0;

    for (int i = 0; i < ranks; i++) {
        int rank = (r + i) % ranks;
        start_of(operation, from[rank], to[rank], bytes, w->comm[rank], &q[rank]);
        if (i == 0)
            staged = w->context[r]->links->staging.count > 0;
    }
    world_finish(w, ranks, q);
    return staged;
}

/* Where a get takes less time than both copies, only what readers wait for less than their owner is copied. */
static void long_parts_are_lent_but_where_readers_have_more_to_do(void **state)
{
    static const struct {
        nbcoll_operation operation;
        int ranks, rank;
        size_t bytes;
        int copied;
    } cases[] = {
        {NBCOLL_OPERATION_ALLGATHER, 3, 0, BYTES, 1},
        {NBCOLL_OPERATION_ALLGATHER, 3, 0, BYTES + 1, 0},
        {NBCOLL_OPERATION_ALLGATHER, 3, 0, LARGE, 0},
        {NBCOLL_OPERATION_ALLTOALL, 3, 0, BYTES, 1}, /* each part counts, not all of them */
        {NBCOLL_OPERATION_ALLTOALL, 3, 0, BYTES + 1, 0},
        {NBCOLL_OPERATION_BCAST, 3, 0, BYTES, 1},
        {NBCOLL_OPERATION_BCAST, 3, 0, BYTES + 1, 0},
        {NBCOLL_OPERATION_BCAST, 3, 0, LARGE, 1}, /* beyond the caches two cores copy faster than one */
        {NBCOLL_OPERATION_SCATTER, 2, 0, BYTES, 1},
        {NBCOLL_OPERATION_SCATTER, 2, 0, LARGE, 0}, /* whose root has a copy of its own to make */
        {NBCOLL_OPERATION_GATHER, 3, 1, BYTES + 1, 1},
        {NBCOLL_OPERATION_REDUCE, 3, 1, BYTES + 1, 1},
        {NBCOLL_OPERATION_ALLREDUCE, 3, 0, BYTES + 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        open_ranks(&w, cases[i].ranks, STAGING, of_bytes);
        assert_int_equal(copies(&w, cases[i].operation, cases[i].rank, cases[i].bytes), cases[i].copied);
        world_close(&w);
    }
}

static void of_the_longest_parts_the_least_counts_for_the_choice(void **state)
{
    nbcoll_terms terms = {.size = sizeof terms};
    world w;
    (void)state;
    open_ranks(&w, RANKS, STAGING, of_bytes);
    EXPECT(OK, nbcoll_comm_terms(w.comm[0], &terms));
    assert_int_equal(terms.staging_part, BYTES);
    world_close(&w);
    open_world(&w, STAGING);
    EXPECT(OK, nbcoll_comm_terms(w.comm[0], &terms));
    assert_int_equal(terms.staging_part, UINT32_MAX);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_needs_no_reader),
        cmocka_unit_test(without_room_memory_is_lent),
        cmocka_unit_test(small_copies_go_round_where_ranks_have_cores_of_their_own),
        cmocka_unit_test(a_freed_communicator_keeps_its_place_until_all_have_left),
        cmocka_unit_test(the_owner_may_leave_before_readers_come),
        cmocka_unit_test(memory_is_lent_where_a_rank_does_not_view_it),
        cmocka_unit_test(a_large_copy_takes_several_passes),
        cmocka_unit_test(readers_follow_a_large_copy),
        cmocka_unit_test(what_others_wait_for_comes_before_a_rank_s_own_copies),
        cmocka_unit_test(less_than_a_quarter_of_a_turn_is_not_left_for_another_pass),
        cmocka_unit_test(reductions_follow_it_by_whole_elements),
        cmocka_unit_test(a_copy_can_be_cancelled),
        cmocka_unit_test(a_copy_that_is_followed_can_be_cancelled),
        cmocka_unit_test(different_parts_are_lent_where_the_owner_only_gives),
        cmocka_unit_test(long_parts_are_lent_but_where_readers_have_more_to_do),
        cmocka_unit_test(of_the_longest_parts_the_least_counts_for_the_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
