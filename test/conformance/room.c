/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of the wakeup group where there is no room: a rank whose posts were refused sleeps, and whoever makes
 * room wakes it. The tests that sleep have a timeout, which passes only when they fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "player.h"

enum { MOST = 10000, TOO_LONG_MS = 10000 };

/* Posts until the player may sleep with letters unposted or lent. False if the transport took them all. */
static bool fill(struct player *p, int to)
{
    uint64_t start = now_ns();

    for (int k = 0; k < MOST; k++)
        player_write(p, to, 10);
    do {
        assert_true(now_ns() - start < TOO_LONG_MS * UINT64_C(1000000));
        player_progress(p);
        player_send(p);
        world_check(p->world);
    } while (player_arm(p) != NBCOLL_OK);
    return p->posted < p->letters || p->lent;
}

void a_rank_without_room_sleeps_until_there_is_some(void **state)
{
    struct world *w = world_with_wakeups(state, 2);
    struct player *sender = &w->player[0], *receiver = &w->player[1];
    bool is_full = fill(sender, 1);

    assert_true(is_full || !(w->c->promises & NBCOLL_CONFORMANCE_REFUSES));
    while (is_full) {
        size_t waiting = sender->letters - sender->posted + sender->lent;
        assert_false(player_is_rung(sender, 0));
        for (uint64_t start = now_ns(); !player_is_rung(sender, 0);) { /* nobody but the receiver moves */
            assert_true(now_ns() - start < TOO_LONG_MS * UINT64_C(1000000));
            player_progress(receiver);
            world_check(w);
        }
        uint64_t start = now_ns();
        do { /* it gets rid of some, now or when it has slept again */
            assert_true(now_ns() - start < TOO_LONG_MS * UINT64_C(1000000));
            player_progress(sender);
            player_send(sender);
            player_progress(receiver);
        } while (sender->letters - sender->posted + sender->lent == waiting);
        while (player_arm(sender) != NBCOLL_OK) {
            player_progress(sender);
            player_send(sender);
        }
        is_full = sender->letters - sender->posted + sender->lent > MOST / 2;
    }
    world_settle(w);
    world_close(w);
}

/* Sends all that it has to send, asleep whenever nothing moves. */
static void flood_main(struct player *p)
{
    for (;;) {
        size_t before = p->posted;
        bool moved = player_progress(p);
        player_send(p); /* again after each progress, as the core does */
        moved |= p->posted != before;
        if (player_is_done(p) || p->world->wrong)
            return;
        if (!moved && player_arm(p) == NBCOLL_OK && !player_is_rung(p, TOO_LONG_MS))
            player_is_wrong(p, "slept beside room, or a message: %zu of %zu posted, %zu of %zu here", p->posted,
                            p->letters, p->arrived, p->expected);
    }
}

void no_room_is_missed_between_two_sleepers(void **state)
{
    struct world *w = world_with_wakeups(state, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < MOST; k++)
            player_write(&w->player[i], 1 - i, (size_t)k % 100);
    world_run(w, flood_main);
    world_close(w);
}
