/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes without a driver: calls of the application's serve all of them, and results do not depend on them. With one:
 * driver/test_lanes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "world.h"

static nbcoll_builder *opened(int rank, int ranks)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_builder *b;
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    return b;
}

static nbcoll_schedule *finished(nbcoll_builder *b)
{
    nbcoll_schedule *s;
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static nbcoll_addr at(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

/* Byte 0 goes to 1 on ANY, from there to 2 on `second`, from there to 3 on `third`; byte 0 goes to 4 on ANY. */
static nbcoll_schedule *chain(nbcoll_lane second, nbcoll_lane third)
{
    nbcoll_builder *b = opened(0, 1);
    nbcoll_step step[3];
    for (size_t i = 0; i < 3; i++) {
        step[i] = nbcoll_add_copy(b, at(i + 1), at(i), 1);
        if (i)
            nbcoll_after(b, step[i], step[i - 1]);
    }
    nbcoll_set_lane(b, step[1], second);
    nbcoll_set_lane(b, step[2], third);
    nbcoll_add_copy(b, at(4), at(0), 1);
    return finished(b);
}

static void open_alone(world *w)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    world_open(w, 1, &loopback, NULL, NULL);
}

static void calls_serve_all_lanes_while_nobody_else_does(void **state)
{
    (void)state;
    for (int second = 0; second <= NBCOLL_LANE_START; second++)
        for (int third = 0; third <= NBCOLL_LANE_START; third++) {
            world w;
            char data[5] = "x";
            nbcoll_request q;
            nbcoll_schedule *s = chain((nbcoll_lane)second, (nbcoll_lane)third);

            open_alone(&w);
            for (int again = 0; again < 2; again++, memset(data + 1, 0, 4)) { /* then with a pooled run */
                EXPECT(OK, nbcoll_schedule_start(s, NULL, data, w.comm[0], &q));
                EXPECT(OK, nbcoll_test(&q));
                assert_memory_equal(data, "xxxxx", 5);
            }
            EXPECT(OK, nbcoll_schedule_free(s));
            world_close(&w);
        }
}

/* A ring of receives and sends of which each step has another lane, on ranks that all serve all. */
static void messages_of_all_lanes_arrive(void **state)
{
    (void)state;
    enum { RANKS = 4 };
    nbcoll_loopback_config loopback = world_variant(0, 5);
    nbcoll_schedule *s[RANKS];
    char data[RANKS][RANKS];
    nbcoll_request q[RANKS];
    world w;

    world_open(&w, RANKS, &loopback, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_builder *b = opened(r, RANKS);
        nbcoll_step before = NBCOLL_START;
        for (int i = 0; i < RANKS - 1; i++) {
            size_t mine = (size_t)((r - i + RANKS) % RANKS), next = (size_t)((r - i - 1 + RANKS) % RANKS);
            nbcoll_step send = nbcoll_add_send(b, (r + 1) % RANKS, at(mine), 1);
            nbcoll_after(b, send, before);
            before = nbcoll_add_recv(b, (r + RANKS - 1) % RANKS, at(next), 1);
            nbcoll_set_lane(b, send, (nbcoll_lane)((r + i) % 3));
            nbcoll_set_lane(b, before, (nbcoll_lane)((r + 2 * i + 1) % 3));
        }
        s[r] = finished(b);
        memset(data[r], 0, RANKS);
        data[r][r] = (char)('a' + r);
        EXPECT(OK, nbcoll_schedule_start(s[r], NULL, data[r], w.comm[r], &q[r]));
    }
    while (nbcoll_test_all(RANKS, q, NULL) == NBCOLL_PENDING)
        ;
    for (int r = 0; r < RANKS; r++) {
        assert_memory_equal(data[r], "abcd", RANKS);
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_serve_all_lanes_while_nobody_else_does),
        cmocka_unit_test(messages_of_all_lanes_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
