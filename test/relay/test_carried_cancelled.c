/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that relays carry out and that are cancelled end alone, on all ranks, also on those that start them later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"

/* On all ranks, also on one that starts it later. The others go on. */
static void a_cancelled_call_ends_alone(void **state)
{
    static carried p;
    nbcoll_request q[RANKS];
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        carried_open(&p, RANKS, carried_config((nbcoll_topology_kind)kind), NULL);
        carried_await(&p);
        for (int r = 0; r + 1 < RANKS; r++) {
            carried_gather(&p, r, 0);
            carried_gather(&p, r, 1);
            q[r] = p.request[r][0];
        }
        EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
        EXPECT(OK, nbcoll_cancel(p.request[1][0]));
        carried_steps(&p, LOOKS / 10);
        for (int r = 0; r + 1 < RANKS; r++)
            EXPECT(ERR_CANCELLED, nbcoll_test(&q[r]));
        carried_gather(&p, RANKS - 1, 0);
        carried_gather(&p, RANKS - 1, 1);
        carried_finish(&p, 1);
        for (int r = 0; r < RANKS; r++)
            carried_has_gathered(&p, r, 1);
        for (int looks = 0; nbcoll_test(&p.request[RANKS - 1][0]) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            carried_step(&p);
        }
        carried_close(&p);
    }
}

static int broadcasts(int o)
{
    return o % 3 == 1;
}

static void start_one(carried *p, int rank, int o)
{
    if (!broadcasts(o)) {
        carried_gather(p, rank, o);
        return;
    }
    if (rank == o % RANKS)
        memcpy(p->recv[rank][o], p->send[rank][o], BYTES);
    EXPECT(OK, nbcoll_ibcast(p->recv[rank][o], BYTES, NBCOLL_BYTE, o % RANKS, p->w.comm[rank], &p->request[rank][o]));
}

/* 1: it has ended. Then its memory is the test's. */
static int look_at_one(carried *p, int rank, int o, unsigned ended[])
{
    enum { MARK = 0xee };
    if (!p->request[rank][o].at)
        return 1;
    nbcoll_status s = nbcoll_test(&p->request[rank][o]);
    if (s == NBCOLL_PENDING)
        return 0;
    assert_true(s == NBCOLL_OK || (s == NBCOLL_ERR_CANCELLED && o + 1 < MANY));
    if (s == NBCOLL_OK && broadcasts(o))
        assert_memory_equal(p->recv[rank][o], p->send[o % RANKS][o], BYTES);
    else if (s == NBCOLL_OK)
        carried_has_gathered(p, rank, o);
    ended[s == NBCOLL_OK]++;
    memset(p->recv[rank][o], MARK, sizeof p->recv[rank][o]);
    return 1;
}

/* Far more than may be under way, which ranks start and cancel in a seeded order. One of them is late, so that others
 * find no room for their blocks. Each ends, well only with all data, and writes nothing later; the last one, which
 * nobody cancels, ends well. */
static void cancel_at_random(unsigned turn, unsigned ended[])
{
    static carried p;
    int started[RANKS] = {0};
    carried_open(&p, RANKS, carried_config((nbcoll_topology_kind)(turn % NBCOLL_TOPOLOGY_COUNT)), NULL);
    carried_await(&p);
    p.w.random = turn + 1;
    for (int left = 1, looks = 0; left; looks++) {
        int r = (int)(world_random(&p.w.random) % RANKS), some = (int)(world_random(&p.w.random) % (MANY - 1));
        world_watchdog(&p.w, looks < 10 * LOOKS);
        uint64_t pace = r == (int)turn % RANKS ? 64 : 4;
        if (started[r] < MANY && world_random(&p.w.random) % pace == 0)
            start_one(&p, r, started[r]++);
        else if (p.request[r][some].at && world_random(&p.w.random) % 16 == 0)
            EXPECT(OK, nbcoll_cancel(p.request[r][some]));
        carried_step(&p);
        for (r = left = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                left += o >= started[r] || !look_at_one(&p, r, o, ended);
    }
    carried_close(&p);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < sizeof p.recv[r]; i++)
            assert_int_equal(((unsigned char *)p.recv[r])[i], 0xee);
}

static void calls_cancelled_in_any_order_leave_the_others(void **state)
{
    unsigned ended[2] = {0}; /* as cancelled; well */
    (void)state;
    for (unsigned turn = 0; turn < 40; turn++)
        cancel_at_random(turn, ended);
    assert_true(ended[0] > 100 && ended[1] > 400);
}

static void broadcast(carried *p, int rank, int root, int o)
{
    if (rank == root)
        memcpy(p->recv[rank][o], p->send[rank][o], BYTES);
    EXPECT(OK, nbcoll_ibcast(p->recv[rank][o], BYTES, NBCOLL_BYTE, root, p->w.comm[rank], &p->request[rank][o]));
}

/* Rank 1 has filled its stream, of which rank 2, late, has taken nothing, when rank 0 cancels a call: for that one rank
 * 1 has sent nothing, rank 0 all of its block, and of a later call. Rank 2 is told as it starts that call, and not only
 * when it starts the later one; whether the others then go on or close. */
static void cancel_without_room(int closes)
{
    enum { FILL = 6, REVOKED = FILL, BEHIND, LATER };
    static carried p;
    carried_open(&p, 3, carried_config(NBCOLL_TOPOLOGY_DIRECT), NULL);
    carried_steps(&p, LOOKS / 10);
    for (int o = 0; o < FILL; o++) {
        for (int r = 0; r < 2; r++)
            broadcast(&p, r, 1, o);
        carried_steps(&p, LOOKS / 10);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_test(&p.request[r][o]));
    }
    for (int r = 0; r < 2; r++) {
        carried_gather(&p, r, REVOKED);
        broadcast(&p, r, 0, BEHIND);
    }
    carried_steps(&p, LOOKS / 10);
    EXPECT(OK, nbcoll_cancel(p.request[0][REVOKED]));
    carried_steps(&p, LOOKS / 10);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[r][REVOKED]));
        EXPECT(OK, nbcoll_test(&p.request[r][BEHIND]));
        if (closes)
            EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
        else
            carried_gather(&p, r, LATER);
    }
    if (closes > 1) { /* also the late one, which has started nothing */
        carried_close(&p);
        return;
    }
    for (int o = 0; o < FILL; o++)
        broadcast(&p, 2, 1, o);
    carried_gather(&p, 2, REVOKED);
    for (int looks = 0; looks < 10; looks++) {
        carried_steps(&p, LOOKS / 10);
        for (int r = 0; r < 2 && closes; r++)
            EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
    }
    for (int o = 0; o < FILL; o++)
        EXPECT(OK, nbcoll_test(&p.request[2][o]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[2][REVOKED]));
    broadcast(&p, 2, 0, BEHIND);
    if (!closes)
        carried_gather(&p, 2, LATER);
    carried_steps(&p, LOOKS / 10);
    EXPECT(OK, nbcoll_test(&p.request[2][BEHIND]));
    for (int r = 0; r < 3 && !closes; r++) {
        EXPECT(OK, nbcoll_test(&p.request[r][LATER]));
        carried_has_gathered(&p, r, LATER);
    }
    carried_close(&p);
}

static void who_had_no_room_for_its_block_says_that_the_call_is_revoked(void **state)
{
    (void)state;
    for (int closes = 0; closes < 3; closes++)
        cancel_without_room(closes);
}

/* By agents, where revoked calls are among those at once until all ranks have started them: F are revoked, after all of
 * their blocks have gone, while rank 2 is late; the next one waits until it comes. 1: the others close meanwhile. */
static void cancel_ahead(int closes)
{
    enum { NEXT = AT_ONCE };
    static carried p;
    carried_open(&p, 3, carried_config(NBCOLL_TOPOLOGY_RING), NULL);
    carried_await(&p);
    p.late = 1u << 2;
    for (int r = 0; r < 2; r++)
        for (int o = 0; o < NEXT + !closes; o++)
            carried_gather(&p, r, o);
    carried_steps(&p, LOOKS / 10);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(OK, nbcoll_cancel(p.request[o % 2][o]));
    carried_steps(&p, LOOKS / 10);
    for (int r = 0; r < 2; r++)
        for (int o = 0; o < AT_ONCE; o++)
            EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[r][o]));
    for (int r = 0; r < 2 && closes; r++)
        EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
    carried_steps(&p, LOOKS / 10);
    p.late = 0;
    for (int o = 0; o < NEXT + !closes; o++)
        carried_gather(&p, 2, o);
    carried_steps(&p, LOOKS / 10);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[2][o]));
    if (!closes) {
        carried_finish(&p, NEXT);
        for (int r = 0; r < 3; r++)
            carried_has_gathered(&p, r, NEXT);
    }
    carried_close(&p);
}

static void by_agents_revoked_calls_count_until_all_have_started_them(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++)
        cancel_ahead(closes);
}

static void a_call_is_cancelled_before_the_relays_are_there(void **state)
{
    static carried p;
    const nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_relays_config config = carried_config(NBCOLL_TOPOLOGY_RING);
    (void)state;
    carried_open_ranks(&p, 3, NULL, &comm);
    EXPECT(OK, carried_open_relays(&p, 0, config));
    carried_gather(&p, 0, 0);
    EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
    EXPECT(OK, nbcoll_cancel(p.request[0][0]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[0][0]));
    for (int r = 1; r < 3; r++) {
        EXPECT(OK, carried_open_relays(&p, r, config));
        carried_gather(&p, r, 0);
    }
    for (int r = 1; r < 3; r++)
        for (int looks = 0; nbcoll_test(&p.request[r][0]) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            carried_step(&p);
        }
    carried_close(&p);
}

int main(void)
{
    const struct CMUnitTest engines[] = {
        cmocka_unit_test(a_cancelled_call_ends_alone),
        cmocka_unit_test(calls_cancelled_in_any_order_leave_the_others),
        cmocka_unit_test(a_call_is_cancelled_before_the_relays_are_there),
        cmocka_unit_test(who_had_no_room_for_its_block_says_that_the_call_is_revoked),
    };
    const struct CMUnitTest agents[] = {
        cmocka_unit_test(a_cancelled_call_ends_alone),
        cmocka_unit_test(calls_cancelled_in_any_order_leave_the_others),
        cmocka_unit_test(a_call_is_cancelled_before_the_relays_are_there),
        cmocka_unit_test(by_agents_revoked_calls_count_until_all_have_started_them),
    };
    int failed = cmocka_run_group_tests_name("by engines", engines, NULL, NULL);
    carried_by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", agents, NULL, NULL);
}
