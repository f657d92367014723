/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the wakeup group: a rank that sleeps on its descriptor sleeps through nothing. The tests that sleep
 * have a timeout, which passes only when they fail.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

#include "player.h"

struct world *world_with_wakeups(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);
    bool has = w->in_processes ? c->promises & NBCOLL_CONFORMANCE_WAKEUP : w->player[0].ep->transport->wakeup != NULL;
    world_needs(w, has, "it has no wakeup group", NBCOLL_CONFORMANCE_WAKEUP);
    return w;
}

nbcoll_status player_arm(struct player *p)
{
    case_waits("something that ends a sleep, or to be let asleep");
    return p->ep->transport->wakeup->arm(p->ep);
}

bool is_rung(int fd, int timeout_ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, timeout_ms) == 1 && p.revents & POLLIN;
}

bool player_is_rung(const struct player *p, int timeout_ms)
{
    return is_rung(p->ep->transport->wakeup->fd(p->ep), timeout_ms);
}

/* One message: there is room for that. Its work request may be out until the other rank progresses. */
static void send_one(struct player *from, int to)
{
    player_write(from, to, 10);
    while (player_send(from), from->posted < from->messages) {
        player_progress(from);
        case_waits("room for one message");
    }
}

/* Until it is woken by what `from` has sent to it, who alone progresses meanwhile. */
static void await_ring(const struct player *p, struct player *from)
{
    for (; !player_is_rung(p, 0); case_waits("a message to wake a rank"))
        if (from != p)
            player_progress(from);
}

/* Arms; what a transport still has to do for itself after the last message may keep it from that, but not for ever. */
static void arm_at_last(struct player *p)
{
    for (; player_arm(p) != NBCOLL_OK; case_waits("arm to say OK when nothing is there"))
        player_progress(p);
}

static void arm_tells_what_waits(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 2);
    struct player *p = &w->player[1];
    world_meet(w);
    for (int round = 0; round < 10; round++) {
        arm_at_last(p);
        arm_at_last(p); /* again, without having slept */
        CHECK(!player_progress(p));
        send_one(&w->player[round % 2], 1); /* from another rank, or from itself */
        while (player_arm(p) != NBCOLL_AGAIN) /* under way: then it wakes */
            await_ring(p, &w->player[round % 2]);
        world_settle(w);
    }
    world_close(w);
}

/* Arms, so that the next thing that comes wakes it. It may be woken for nothing, but not for ever. */
static void fall_asleep(struct player *p)
{
    arm_at_last(p);
    while (player_is_rung(p, 0)) {
        case_waits("an armed rank, for which nothing comes, to sleep");
        player_progress(p);
        arm_at_last(p);
    }
}

static void an_armed_rank_sleeps_until_something_comes(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 2);
    struct player *sender = &w->player[0], *p = &w->player[1];
    CHECK(p->ep->transport->wakeup->fd(p->ep) >= 0);
    for (int round = 0; round < 10; round++) {
        player_write(sender, 1, 10); /* while it is not armed */
        world_settle(w);
        fall_asleep(p);
        send_one(sender, 1);
        await_ring(p, sender);
        world_settle(w);
        fall_asleep(p); /* what woke it is silenced */
        player_progress(p);
        player_write(sender, 1, 10); /* the progress between has disarmed it */
        world_settle(w);
        fall_asleep(p);
        player_progress(p);
    }
    world_close(w);
}

static void a_sleeper_leaves_room_to_be_woken(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 2);
    struct player *sender = &w->player[0], *p = &w->player[1];
    for (int k = 0; k < 1000 && sender->posted == sender->messages; k++) {
        player_write(sender, 1, 10);
        player_send(sender);
    }
    do
        player_progress(p);
    while (player_arm(p) != NBCOLL_OK);
    player_write(sender, 1, 10);
    while (!player_is_rung(p, 0)) { /* nothing but the sender moves now */
        case_waits("a message that ends a sleep");
        player_send(sender);
        player_progress(sender);
    }
    world_settle(w);
    world_close(w);
}

/* Posts the next message, when there is room. */
static void post_next(struct player *p)
{
    while (player_post(p, p->message[p->posted]) == NBCOLL_POST_NOT_NOW) {
        player_progress(p);
        case_waits("room for a message");
    }
    p->posted++;
}

struct waker {
    struct player *player;
    sem_t armed;
    int rounds;
};

static void *waker_main(void *argument)
{
    struct waker *waker = argument;
    struct player *p = waker->player;
    for (int i = 0; i < waker->rounds; i++) {
        sem_wait(&waker->armed);
        post_next(p);
        player_await_own_works(p);
    }
    return NULL;
}

static void a_sleeper_is_woken_by_another_thread(const nbcoll_conformance *c)
{
    enum { ROUNDS = 200 };
    struct world *w = world_with_wakeups(c, 2);
    struct waker waker = {.player = &w->player[0], .rounds = ROUNDS};
    struct player *p = &w->player[1];
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++)
        player_write(waker.player, 1, 16);
    sem_init(&waker.armed, 0, 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, waker_main, &waker), 0);
    for (size_t i = 1; i <= ROUNDS; i++) {
        while (player_arm(p) != NBCOLL_OK)
            player_progress(p);
        sem_post(&waker.armed);
        if (!player_is_rung(p, case_left_ms()))
            player_is_wrong(p, "slept through a message");
        while (p->arrived < i) {
            player_progress(p);
            case_waits("the message that has woken it");
        }
    }
    pthread_join(thread, NULL);
    sem_destroy(&waker.armed);
    world_settle(w);
    world_close(w);
}

static void a_leave_ends_a_sleep(const nbcoll_conformance *c)
{
    struct world *w = world_with_wakeups(c, 3);
    struct player *p = &w->player[1];
    for (int leaver = 0; leaver < 3; leaver += 2) {
        while (player_arm(p) != NBCOLL_OK)
            player_progress(p);
        world_close_end(w, leaver);
        CHECK(player_is_rung(p, case_left_ms()));
        player_progress(p);
        while (!player_knows_left(p, leaver)) { /* armed, it is told at once or woken again */
            CHECK(player_arm(p) == NBCOLL_AGAIN || player_is_rung(p, case_left_ms()));
            player_progress(p);
        }
        arm_at_last(p); /* and then can sleep */
        player_progress(p);
    }
    world_close(w);
}

/* Sleeps until `arrived` messages are here. */
static void sleep_until(struct player *p, size_t arrived)
{
    while (player_progress(p), p->arrived < arrived)
        if (player_arm(p) == NBCOLL_OK && !player_is_rung(p, case_left_ms()))
            player_is_wrong(p, "slept through message %zu", arrived);
}

/* Rank 0 sends a message round the circle, and the next one when it is back. */
static void circle_main(struct player *p)
{
    for (size_t i = 0; i < p->messages; i++) {
        sleep_until(p, p->rank ? i + 1 : i);
        post_next(p);
    }
    sleep_until(p, p->messages);
    player_await_own_works(p);
}

static void no_ring_is_lost_between_two_sleepers(const nbcoll_conformance *c)
{
    const int rounds = 500;
    struct world *w = world_with_wakeups(c, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < rounds; k++)
            player_write(&w->player[i], 1 - i, (size_t)k % 100);
    world_run(w, circle_main);
    world_close(w);
}
