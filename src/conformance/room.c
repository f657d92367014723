/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the wakeup group where there is no room: a rank whose posts were refused sleeps, and whoever makes
 * room wakes it. The tests that sleep have a timeout, which passes only when they fail.
 */
#include <stddef.h>
#include <stdint.h>


#include "player.h"

/* More than there is room for, where room ends; where posts are lent instead, each may cost more the more there are. */
static int flood_of(const nbcoll_conformance *c)
{
    return c->promises & NBCOLL_CONFORMANCE_REFUSES ? 10000 : 2000;
}

/* Until it sleeps. It may be woken for nothing, but not for ever. */
static void sleep_beside_the_rest(struct player *p)
{
    do {
        case_waits("a rank without room to sleep");
        player_progress(p);
        player_send(p);
    } while (player_arm(p) != NBCOLL_OK || player_is_rung(p, 0));
}

/* Posts until the player sleeps with messages unposted or lent. False if the transport took them all. */
static bool fill(struct player *p, int to)
{
    for (int k = flood_of(p->world->c); k > 0; k--)
        player_write(p, to, 10);
    sleep_beside_the_rest(p);
    return p->posted < p->messages || p->lent;
}

static void a_rank_without_room_sleeps_until_there_is_some(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 2);
    struct player *sender = &w->player[0], *receiver = &w->player[1];
    bool is_full = fill(sender, 1);

    CHECK(is_full || !(w->c->promises & NBCOLL_CONFORMANCE_REFUSES));
    while (is_full) {
        size_t waiting = sender->messages - sender->posted + sender->lent;
        while (!player_is_rung(sender, 0)) { /* nobody but the receiver moves */
            case_waits("a rank that made room to wake its sender");
            player_progress(receiver);
        }
        do { /* it gets rid of some, now or when it has slept again */
            case_waits("a rank with room to get rid of its messages");
            player_progress(sender);
            player_send(sender);
            player_progress(receiver);
        } while (sender->messages - sender->posted + sender->lent == waiting);
        sleep_beside_the_rest(sender);
        is_full = sender->messages - sender->posted + sender->lent > sender->messages / 2;
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
        if (player_is_done(p))
            return;
        if (!moved && player_arm(p) == NBCOLL_OK && !player_is_rung(p, case_left_ms()))
            player_is_wrong(p, "slept beside room, or a message: %zu of %zu posted, %zu of %zu here", p->posted,
                            p->messages, p->arrived, p->expected);
    }
}

static void no_room_is_missed_between_two_sleepers(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < flood_of(c); k++)
            player_write(&w->player[i], 1 - i, (size_t)k % 100);
    world_run(w, flood_main);
    world_close(w);
}
