/* SPDX-License-Identifier: BSD-3-Clause
 * A communicator notes what a call without arrays came to, and a call like it goes straight to its schedule. Each call
 * still does what its own arguments say: in place or not, refused or not, with host types whose address was another
 * one's and arrays whose contents have changed, when two kinds of call have the same place, and after their schedules
 * have left the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/comm/cache.h"
#include "layout.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 4, COUNT = 5 };

static void open_world(world *w, uint32_t schedules)
{
    nbcoll_comm_config comm = {.size = sizeof comm, .slots = 4, .cells = 8, .schedules = schedules,
                               .eager = 256, .large = 2048};
    world_open(w, RANKS, NULL, NULL, &comm);
}

static void run(world *w, const operation *o)
{
    share s[RANKS];
    nbcoll_request request[RANKS];

    for (int r = 0; r < RANKS; r++) {
        s[r] = share_make(o, r, RANKS);
        EXPECT(OK, operation_start(o, &s[r], w->comm[r], &request[r]));
    }
    world_finish(w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        operation_check(o, &s[r], r, RANKS);
        share_free(&s[r]);
    }
}

/* Its only schedule. */
static nbcolli_cached *cached(const nbcoll_comm *comm)
{
    return NBCOLLI_HOLDER(nbcolli_cached, age, comm->cache.entries.first);
}

static int notes(const nbcoll_comm *comm)
{
    int n = 0;
    for (uint32_t i = 0; i < NBCOLLI_NOTES; i++)
        n += comm->cache.memo[i] != NULL;
    return n;
}

/* Is an 8-byte sum of all, or a broadcast from 0, of so many elements noted? */
static int has_noted(nbcoll_comm *comm, nbcoll_operation what, size_t count)
{
    static char buffers[2];
    uint64_t word = what == NBCOLL_OPERATION_BCAST
                        ? nbcolli_call_word(what, NBCOLL_INT64, NBCOLL_SUM, 0, NULL, buffers)
                        : nbcolli_call_word(what, NBCOLL_INT64, NBCOLL_SUM, 0, buffers, buffers + 1);
    const nbcolli_cached *e = *nbcolli_note_at(comm, word, count);
    return e && e->what == word && e->args.count == count;
}

static operation of(nbcoll_operation what, size_t count)
{
    return (operation){.what = what, .count = count, .how = {NBCOLL_INT64, NBCOLL_SUM}};
}

static void a_call_like_an_earlier_one_needs_no_look_into_the_cache(void **state)
{
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (int in_place = 0; in_place < 2; in_place++) {
            operation o = of((nbcoll_operation)what, COUNT);
            nbcolli_cached *hidden[RANKS];
            world w;
            o.in_place = in_place;
            open_world(&w, 16);
            run(&w, &o);
            for (int r = 0; r < RANKS; r++) {
                assert_int_equal(notes(w.comm[r]), !is_v(o.what));
                hidden[r] = cached(w.comm[r]);
                hidden[r]->hash ^= !is_v(o.what); /* a look there would not find it, and build a second one */
            }
            for (uint64_t seed = 1; seed < 4; seed++) { /* other buffers, with other inputs */
                o.seed = is_v(o.what) ? 0 : seed;
                run(&w, &o);
            }
            for (int r = 0; r < RANKS; r++) {
                hidden[r]->hash ^= !is_v(o.what);
                assert_int_equal(w.comm[r]->cache.entries.count, 1);
            }
            world_close(&w);
        }
}

static void a_call_is_refused_whatever_was_noted(void **state)
{
    int64_t in[COUNT] = {0}, out[RANKS * COUNT];
    nbcoll_request request[RANKS], none;
    world w;

    (void)state;
    open_world(&w, 16);
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallreduce(in, &out[r * COUNT], COUNT, NBCOLL_INT64, NBCOLL_BAND, w.comm[r],
                                         &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(&out[r * COUNT], COUNT, NBCOLL_INT64, 1, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
    }
    nbcoll_comm *comm = w.comm[0];
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(NULL, out, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, NULL, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, in, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_BUFFER, nbcoll_iallreduce(in, NBCOLL_IN_PLACE, COUNT, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, COUNT, NBCOLL_DOUBLE, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, COUNT, NBCOLL_INT64, NBCOLL_OP_COUNT, comm, &none));
    EXPECT(ERR_TYPE, nbcoll_iallreduce(in, out, COUNT, NBCOLL_TYPE_COUNT, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_COUNT, nbcoll_iallreduce(in, out, SIZE_MAX / 4, NBCOLL_INT64, NBCOLL_BAND, comm, &none));
    EXPECT(ERR_ROOT, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, RANKS, comm, &none));
    EXPECT(ERR_ROOT, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, -1, comm, &none));
    EXPECT(ERR_NULL, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, 1, comm, NULL));
    EXPECT(ERR_NULL, nbcoll_ibcast(out, COUNT, NBCOLL_INT64, 1, NULL, &none));
    assert_int_equal(notes(comm), 2);
    world_close(&w);
}

/* ---- what may change behind an address ------------------------------------------------------------------------- */

static void an_array_with_other_contents_is_another_call(void **state)
{
    size_t counts[RANKS], displs[RANKS];
    int64_t in[RANKS][RANKS], out[RANKS][RANKS * RANKS];
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    open_world(&w, 16);
    for (int turn = 0; turn < RANKS; turn++) { /* rank r gives 1 + (r + turn) % RANKS elements */
        for (int r = 0; r < RANKS; r++) {
            counts[r] = 1 + (size_t)(r + turn) % RANKS;
            displs[r] = (size_t)((r + turn) % RANKS) * RANKS;
            for (int i = 0; i < RANKS; i++)
                in[r][i] = turn * 100 + r * 10 + i;
        }
        memset(out, 0, sizeof out);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallgatherv(in[r], out[r], counts, displs, NBCOLL_INT64, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (int from = 0; from < RANKS; from++)
                for (size_t i = 0; i < RANKS; i++)
                    assert_int_equal(out[r][displs[from] + i], i < counts[from] ? in[from][i] : 0);
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(notes(w.comm[r]), 0);
    world_close(&w);
}

static nbcoll_status multiply(void *user, void *result, const void *left, const void *right, size_t count,
                              nbcoll_type type)
{
    (void)type;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)result)[i] = ((const int64_t *)left)[i] * ((const int64_t *)right)[i] + *(int64_t *)user;
    return NBCOLL_OK;
}

/* Calls with the host's are not noted: see test_descriptors for what they come to. */
static void a_descriptor_at_the_address_of_another_is_another_one(void **state)
{
    nbcoll_host_type type = {.size = sizeof type};
    int64_t plus;
    nbcoll_host_op op = {.size = sizeof op, .combine = multiply, .user = &plus, .commutative = 1};
    world w;

    (void)state;
    open_world(&w, 16);
    for (int n = 1; n <= 3; n++) { /* elements of n numbers; plus 0, 1, 2 */
        int64_t data[RANKS][3], sum[RANKS];
        nbcoll_request request[RANKS];
        type.extent = (size_t)n * sizeof(int64_t);
        plus = n - 1;
        for (int i = 0; i < 2; i++) {
            for (int r = 0; r < RANKS; r++)
                for (int k = 0; k < 3; k++)
                    data[r][k] = r ? -1 : k + 7;
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, nbcoll_ibcast(data[r], 1, nbcoll_type_of(&type), 0, w.comm[r], &request[r]));
            world_finish(&w, RANKS, request);
            for (int r = 1; r < RANKS; r++)
                for (int k = 0; k < 3; k++)
                    assert_int_equal(data[r][k], k < n ? k + 7 : -1);
            for (int r = 0; r < RANKS; r++) {
                sum[r] = 0;
                EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, &sum[r], 1, NBCOLL_INT64, nbcoll_op_of(&op), w.comm[r],
                                             &request[r]));
            }
            world_finish(&w, RANKS, request);
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(sum[r] > 0, plus > 0);
        }
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(notes(w.comm[r]), 0);
    }
    world_close(&w);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

/* The count of a broadcast that is noted where a sum of COUNT elements is. */
static size_t rival_of(nbcoll_comm *comm)
{
    static char buffers[2];
    uint64_t sum = nbcolli_call_word(NBCOLL_OPERATION_ALLREDUCE, NBCOLL_INT64, NBCOLL_SUM, 0, buffers, buffers + 1);
    uint64_t bcast = nbcolli_call_word(NBCOLL_OPERATION_BCAST, NBCOLL_INT64, NBCOLL_SUM, 0, NULL, buffers);

    for (size_t count = 1; count < 100000; count++)
        if (nbcolli_note_at(comm, bcast, count) == nbcolli_note_at(comm, sum, COUNT))
            return count;
    fail();
    return 0;
}

static void calls_that_share_a_place_take_turns(void **state)
{
    world w;

    (void)state;
    open_world(&w, 16);
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, rival_of(w.comm[0]));
    for (int i = 0; i < 4; i++) {
        sum.seed = bcast.seed = (uint64_t)i;
        run(&w, &sum);
        assert_true(has_noted(w.comm[1], sum.what, COUNT));
        assert_false(has_noted(w.comm[1], bcast.what, bcast.count));
        run(&w, &bcast);
        assert_false(has_noted(w.comm[1], sum.what, COUNT));
        assert_true(has_noted(w.comm[1], bcast.what, bcast.count));
    }
    for (size_t count = 0; count < 3 * NBCOLLI_NOTES; count++) { /* more than there are places */
        sum.count = count % (2 * NBCOLLI_NOTES);
        run(&w, &sum);
    }
    world_close(&w);
}

/* ---- the cache ------------------------------------------------------------------------------------------------- */

static void a_schedule_that_leaves_the_cache_takes_its_notes_along(void **state)
{
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, COUNT);
    world w;

    (void)state;
    open_world(&w, 1);
    for (int i = 0; i < 3; i++) { /* each run builds its schedule anew: the sanitizer sees who uses an old one */
        run(&w, &sum);
        assert_true(has_noted(w.comm[2], sum.what, COUNT));
        run(&w, &bcast);
        assert_false(has_noted(w.comm[2], sum.what, COUNT));
        assert_int_equal(notes(w.comm[2]), 1);
    }
    world_close(&w);
}

/* The request that still runs it holds an evicted schedule; the memo does not. */
static void a_note_holds_no_schedule(void **state)
{
    int64_t data[RANKS] = {5}, other[RANKS] = {6};
    nbcoll_request request[RANKS], second[RANKS];
    world w;

    (void)state;
    open_world(&w, 1);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibcast(&data[r], 1, NBCOLL_INT64, 0, w.comm[r], &request[r]));
    for (int r = 0; r < RANKS; r++) {
        const nbcoll_schedule *first = cached(w.comm[r])->schedule;
        assert_int_equal(first->users, nbcoll_test(&request[r]) == NBCOLL_PENDING);
        EXPECT(OK, nbcoll_ibcast(&other[r], 1, NBCOLL_INT64, 1, w.comm[r], &second[r]));
        assert_false(has_noted(w.comm[r], NBCOLL_OPERATION_BCAST, 1));
    }
    world_finish(&w, RANKS, request);
    world_finish(&w, RANKS, second);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(data[r], 5);
        assert_int_equal(w.comm[r]->cache.entries.count, 1);
        assert_int_equal(cached(w.comm[r])->schedule->users, 0);
    }
    world_close(&w);
}

static void a_noted_call_counts_as_a_use_of_its_schedule(void **state)
{
    operation sum = of(NBCOLL_OPERATION_ALLREDUCE, COUNT), bcast = of(NBCOLL_OPERATION_BCAST, COUNT);
    operation barrier = of(NBCOLL_OPERATION_BARRIER, 0);
    world w;

    (void)state;
    open_world(&w, 2);
    run(&w, &sum);
    run(&w, &bcast);
    run(&w, &sum); /* by its note: the broadcast is now the one used longest ago */
    run(&w, &barrier);
    assert_true(has_noted(w.comm[0], sum.what, COUNT));
    assert_false(has_noted(w.comm[0], bcast.what, COUNT));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_like_an_earlier_one_needs_no_look_into_the_cache),
        cmocka_unit_test(a_call_is_refused_whatever_was_noted),
        cmocka_unit_test(an_array_with_other_contents_is_another_call),
        cmocka_unit_test(a_descriptor_at_the_address_of_another_is_another_one),
        cmocka_unit_test(calls_that_share_a_place_take_turns),
        cmocka_unit_test(a_schedule_that_leaves_the_cache_takes_its_notes_along),
        cmocka_unit_test(a_note_holds_no_schedule),
        cmocka_unit_test(a_noted_call_counts_as_a_use_of_its_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
