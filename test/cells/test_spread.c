/* SPDX-License-Identifier: BSD-3-Clause
 * An exposure that shows each other rank a few bytes of its own, alone and beside another one, with cells enough for
 * all of them and with fewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "world.h"

enum { RANKS = 6, MOST = 80, ROUNDS = 3 };

static void open_world(world *w, nbcoll_operation operation, uint32_t cells)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(operation, "slots")};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    config.rules = &rule;
    config.rule_count = 1;
    config.cells = cells;
    world_open(w, RANKS, &loopback, NULL, &config);
}

static void scatters(world *w, int root, size_t bytes, int round)
{
    unsigned char data[RANKS * (MOST + 1)], got[RANKS][MOST + 1];
    nbcoll_request request[RANKS];

    memset(got, 0, sizeof got);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < bytes; i++)
            data[(size_t)r * bytes + i] = (unsigned char)((size_t)round + 7 * (size_t)r + i);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iscatter(data, got[r], bytes, NBCOLL_BYTE, root, w->comm[r], &request[r]));
    world_finish(w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(got[r], data + (size_t)r * bytes, bytes);
}

static void each_rank_gets_its_few_bytes(void **state)
{
    static const uint32_t cells[] = {8, 2, 1};
    world w;

    (void)state;
    for (size_t c = 0; c < 3; c++) {
        open_world(&w, NBCOLL_OPERATION_SCATTER, cells[c]);
        for (size_t bytes = 1; bytes <= MOST + 1; bytes++)
            for (int i = 0; i < ROUNDS; i++) /* once it is replayed */
                scatters(&w, (int)(bytes % RANKS), bytes, i);
        world_close(&w);
    }
}

static void all_to_all_every_rank_gets_its_blocks(void **state)
{
    unsigned char data[RANKS][RANKS][MOST], got[RANKS][RANKS][MOST];
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    open_world(&w, NBCOLL_OPERATION_ALLTOALL, 8);
    for (size_t bytes = 1; bytes <= MOST; bytes += 1 + bytes / 8)
        for (int i = 0; i < ROUNDS; i++) {
            for (int r = 0; r < RANKS; r++) {
                for (size_t k = 0; k < RANKS * bytes; k++)
                    (&data[r][0][0])[k] = (unsigned char)((size_t)i + 31 * (size_t)r + k);
                EXPECT(OK, nbcoll_ialltoall(data[r], got[r], bytes, NBCOLL_BYTE, w.comm[r], &request[r]));
            }
            world_finish(&w, RANKS, request);
            for (int r = 0; r < RANKS; r++)
                for (int from = 0; from < RANKS; from++)
                    assert_memory_equal(&got[r][0][0] + (size_t)from * bytes,
                                        &data[from][0][0] + (size_t)r * bytes, bytes);
        }
    world_close(&w);
}

/* ---- several exposures ------------------------------------------------------------------------------------------ */

enum { WIDE = 24, NARROW = 8 };

/* Rank 0 shows each other rank WIDE bytes of its own, and then, or before, rank 1 a few more: cells 3 and 1. */
static nbcoll_schedule *shows_two(int rank, nbcoll_comm *comm, int is_before)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = RANKS, .cells = 8,
                                    .shares = nbcoll_comm_shares, .shares_user = comm};
    nbcoll_addr send = {NBCOLL_BUFFER_SEND, 0}, recv = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_part parts[RANKS - 1], more = {1, 0, nbcoll_span(send, NARROW)};
    nbcoll_schedule *s;
    nbcoll_builder *b;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    for (int to = 1; to < RANKS; to++)
        parts[to - 1] = (nbcoll_part){to, 0, nbcoll_span(nbcoll_at(send, (size_t)to * WIDE), WIDE)};
    for (int k = 0; k < 2; k++) {
        int is_more = k != is_before;
        if (!rank)
            nbcoll_add_expose(b, is_more ? 1 : RANKS - 1, is_more ? &more : parts);
        else if (!is_more || rank == 1)
            nbcoll_add_fetch(b, 0, nbcoll_at(recv, is_more * WIDE), is_more ? NARROW : WIDE);
    }
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void shown_beside(uint32_t cells, int is_before)
{
    unsigned char shown[RANKS][WIDE], got[RANKS][2][WIDE];
    nbcoll_schedule *schedule[RANKS];
    nbcoll_request request[RANKS];
    world w;

    for (size_t i = 0; i < sizeof shown; i++)
        (&shown[0][0])[i] = (unsigned char)(i + 1);
    open_world(&w, NBCOLL_OPERATION_SCATTER, cells);
    for (int r = 0; r < RANKS; r++)
        schedule[r] = shows_two(r, w.comm[r], is_before);
    for (int i = 0; i < 40; i++) { /* each slot some times */
        memset(got, 0, sizeof got);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_schedule_start(schedule[r], shown, got[r], w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        assert_memory_equal(got[1][1], shown[0], NARROW);
        for (int r = 1; r < RANKS; r++)
            assert_memory_equal(got[r][0], shown[r], WIDE);
    }
    world_close(&w);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_schedule_free(schedule[r]));
}

static void what_is_shown_beside_is_another_thing(void **state)
{
    static const uint32_t cells[] = {8, 4, 3, 2};

    (void)state;
    for (size_t c = 0; c < 4; c++)
        for (int is_before = 0; is_before < 2; is_before++)
            shown_beside(cells[c], is_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_gets_its_few_bytes),
        cmocka_unit_test(all_to_all_every_rank_gets_its_blocks),
        cmocka_unit_test(what_is_shown_beside_is_another_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
