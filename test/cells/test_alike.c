/* SPDX-License-Identifier: BSD-3-Clause
 * Few bytes, which all readers get, and those that only some of them get: a reader takes nothing that is for others, or
 * another part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/exposures/cells.h" /* who reads, among more ranks than there are bits */
#include "world.h"

enum { RANKS = 4, MOST = 80 };

static void open_world(world *w)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    world_open(w, RANKS, &loopback, NULL, NULL);
}

static void all_readers_get_the_same_few_bytes(void **state)
{
    unsigned char data[RANKS][MOST + 1];
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    open_world(&w);
    for (size_t bytes = 0; bytes <= sizeof data[0]; bytes++) {
        for (int r = 0; r < RANKS; r++)
            memset(data[r], r ? 0 : (int)bytes + 1, sizeof data[r]);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(data[r], bytes, NBCOLL_BYTE, 0, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < sizeof data[r]; i++)
                assert_int_equal(data[r][i], r && i >= bytes ? 0 : bytes + 1);
    }
    world_close(&w);
}

/* ---- several cells --------------------------------------------------------------------------------------------- */

/* Rank 0 shows three things of 8 bytes: the first to rank 1, the next to ranks 1 and 2, for the one its second part,
 * for the other its first; the last to rank 3. */
static nbcoll_schedule *shows_three(int rank, nbcoll_comm *comm)
{
    static const int readers[3][2] = {{1, 0}, {1, 2}, {3, 0}};
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS, .cells = 8,
                                    .shares = nbcoll_comm_shares, .shares_user = comm};
    nbcoll_addr send = {NBCOLL_BUFFER_SEND, 0}, recv = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_schedule *s;
    nbcoll_builder *b;
    size_t got = 0;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (size_t i = 0; i < 3; i++) {
        nbcoll_part parts[2];
        size_t n = 0;
        for (int k = 0; k < 2; k++) {
            if (readers[i][k])
                parts[n++] = (nbcoll_part){readers[i][k], 0, nbcoll_span(nbcoll_at(send, 8 * i), 8)};
            if (rank && readers[i][k] == rank)
                nbcoll_add_fetch(b, 0, nbcoll_at(recv, 8 * got++), 8);
        }
        if (!rank)
            nbcoll_add_expose(b, n, parts);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void a_reader_takes_nothing_that_is_for_others(void **state)
{
    static const int64_t shown[3] = {10, 20, 30};
    static const int64_t wanted[RANKS][2] = {{0, 0}, {10, 20}, {20, 0}, {30, 0}};
    nbcoll_schedule *schedule[RANKS];
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    open_world(&w);
    for (int r = 0; r < RANKS; r++)
        schedule[r] = shows_three(r, w.comm[r]);
    for (int i = 0; i < 40; i++) { /* each slot some times */
        int64_t got[RANKS][2] = {{0}};
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_schedule_start(schedule[r], shown, got[r], w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        assert_memory_equal(got, wanted, sizeof got);
    }
    world_close(&w);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_schedule_free(schedule[r]));
}

/* ---- many ranks ------------------------------------------------------------------------------------------------- */

enum { MANY = 130 }; /* four of which share a bit */

static int all_share(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

/* Who is said to read what `rank` shows those from `first` to `last`. */
static uint64_t readers_of(int rank, int first, int last)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = MANY, .cells = 8,
                                    .shares = all_share};
    nbcoll_part parts[MANY];
    nbcoll_schedule *s;
    nbcoll_builder *b;
    size_t n = 0;

    for (int reader = first; reader <= last; reader++)
        if (reader != rank)
            parts[n++] = (nbcoll_part){reader, 0, nbcoll_span(nbcoll_at((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, 0), 8)};
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_add_expose(b, n, parts);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    uint64_t readers = nbcolli_alike(&s->step[NBCOLL_END + 1], rank, MANY);
    EXPECT(OK, nbcoll_schedule_free(s));
    return readers;
}

static void ranks_that_share_a_bit_read_all_or_none(void **state)
{
    (void)state;
    assert_int_equal(readers_of(4, 4, 7), 1 << 1);
    assert_int_equal(readers_of(0, 4, 11), 3 << 1);
    assert_int_equal(readers_of(4, 4, 6), 0);
    assert_int_equal(readers_of(0, 4, 6), 0);
    assert_int_equal(readers_of(9, 0, MANY - 1), (UINT64_C(1) << 33) - 1);
    assert_int_equal(readers_of(0, 128, 129), UINT64_C(1) << 32); /* the last bit is that of two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_readers_get_the_same_few_bytes),
        cmocka_unit_test(a_reader_takes_nothing_that_is_for_others),
        cmocka_unit_test(ranks_that_share_a_bit_read_all_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
