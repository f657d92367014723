/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of the wakeup group: a rank that sleeps on its descriptor sleeps through nothing. The tests that sleep
 * have a timeout, which passes only when they fail.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "player.h"

#define TOO_LONG_MS 10000

struct world *world_with_wakeups(void **state, int ranks)
{
    struct world *w = world_open(state, ranks);
    if (!w->process && !w->player[0].ep->transport->wakeup) {
        assert_false(w->c->promises & NBCOLL_CONFORMANCE_DOORBELL);
        world_close(w);
        skip();
    }
    return w;
}

nbcoll_status player_arm(struct player *p)
{
    return p->ep->transport->wakeup->arm(p->ep);
}

bool player_is_rung(const struct player *p, int timeout_ms)
{
    struct pollfd fd = {p->ep->transport->wakeup->fd(p->ep), POLLIN, 0};
    for (; poll(&fd, 1, timeout_ms < 100 ? timeout_ms : 100) == 0; timeout_ms -= 100)
        if (timeout_ms <= 100 || p->world->wrong)
            return false;
    return fd.revents & POLLIN;
}

/* One letter: there is room for that. Its work request may still be out when the letter is to the player itself, who
 * would receive it while waiting for that. */
static void send_one(struct player *from, int to)
{
    player_write(from, to, 10);
    while (player_send(from), from->posted < from->letters)
        player_progress(from);
    if (to != from->rank)
        player_await_records(from);
}

void arm_tells_what_waits(void **state)
{
    struct world *w = world_with_wakeups(state, 2);
    struct player *p = &w->player[1];
    for (int round = 0; round < 10; round++) {
        assert_int_equal(player_arm(p), NBCOLL_OK);
        assert_int_equal(player_arm(p), NBCOLL_OK); /* again, without having slept */
        assert_false(player_progress(p));
        send_one(&w->player[round % 2], 1); /* from another rank, or from itself */
        while (player_arm(p) != NBCOLL_AGAIN) /* under way: then it rings */
            assert_true(player_is_rung(p, TOO_LONG_MS));
        world_settle(w);
        assert_false(player_is_rung(p, 0));
    }
    world_close(w);
}

void a_descriptor_is_readable_only_when_armed_and_rung(void **state)
{
    struct world *w = world_with_wakeups(state, 2);
    struct player *sender = &w->player[0], *p = &w->player[1];
    assert_true(p->ep->transport->wakeup->fd(p->ep) >= 0);
    for (int round = 0; round < 10; round++) {
        assert_false(player_is_rung(p, 0));
        player_write(sender, 1, 10);
        world_settle(w);
        assert_false(player_is_rung(p, 0)); /* not armed */
        assert_int_equal(player_arm(p), NBCOLL_OK);
        assert_false(player_is_rung(p, 0)); /* not rung */
        send_one(sender, 1);
        assert_true(player_is_rung(p, TOO_LONG_MS));
        world_settle(w);
        assert_false(player_is_rung(p, 0)); /* silenced */
        assert_int_equal(player_arm(p), NBCOLL_OK);
        player_progress(p);
        player_write(sender, 1, 10);
        world_settle(w);
        assert_false(player_is_rung(p, 0)); /* disarmed by the progress between */
    }
    world_close(w);
}

void a_sleeper_leaves_room_to_be_woken(void **state)
{
    struct world *w = world_with_wakeups(state, 2);
    struct player *sender = &w->player[0], *p = &w->player[1];
    for (int k = 0; k < 1000 && sender->posted == sender->letters; k++) {
        player_write(sender, 1, 10);
        player_send(sender);
    }
    do
        player_progress(p);
    while (player_arm(p) != NBCOLL_OK);
    player_write(sender, 1, 10);
    for (uint64_t start = now_ns(); !player_is_rung(p, 0);) { /* nothing but the sender moves now */
        assert_true(now_ns() - start < TOO_LONG_MS * UINT64_C(1000000));
        player_send(sender);
        player_progress(sender);
    }
    world_settle(w);
    world_close(w);
}

/* Posts the next letter, when there is room. */
static void post_next(struct player *p)
{
    while (player_post(p, p->letter[p->posted]) == NBCOLL_POST_NOT_NOW && !p->world->wrong)
        player_progress(p);
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
        while (p->lent && !p->world->wrong)
            player_progress(p);
    }
    return NULL;
}

void a_sleeper_is_woken_by_another_thread(void **state)
{
    enum { ROUNDS = 200 };
    struct world *w = world_with_wakeups(state, 2);
    struct waker waker = {.player = &w->player[0], .rounds = ROUNDS};
    struct player *p = &w->player[1];
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++)
        player_write(waker.player, 1, 16);
    sem_init(&waker.armed, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, waker_main, &waker), 0);
    for (size_t i = 1; i <= ROUNDS; i++) {
        while (!w->wrong && player_arm(p) != NBCOLL_OK)
            player_progress(p);
        sem_post(&waker.armed);
        if (!player_is_rung(p, TOO_LONG_MS))
            player_is_wrong(p, "slept through a message");
        while (p->arrived < i && !w->wrong)
            player_progress(p);
    }
    pthread_join(thread, NULL);
    sem_destroy(&waker.armed);
    world_settle(w);
    world_close(w);
}

void a_leave_ends_a_sleep(void **state)
{
    struct world *w = world_with_wakeups(state, 3);
    struct player *p = &w->player[1];
    for (int leaver = 0; leaver < 3; leaver += 2) {
        while (player_arm(p) != NBCOLL_OK)
            player_progress(p);
        world_close_end(w, leaver);
        assert_true(player_is_rung(p, TOO_LONG_MS));
        player_progress(p);
        while (!player_knows_left(p, leaver)) { /* armed, it is told at once or woken again */
            assert_true(player_arm(p) == NBCOLL_AGAIN || player_is_rung(p, TOO_LONG_MS));
            player_progress(p);
        }
        assert_int_equal(player_arm(p), NBCOLL_OK); /* and then can sleep */
        player_progress(p);
    }
    world_close(w);
}

/* Sleeps until `arrived` messages are here. */
static void sleep_until(struct player *p, size_t arrived)
{
    while (player_progress(p), p->arrived < arrived && !p->world->wrong)
        if (player_arm(p) == NBCOLL_OK && !player_is_rung(p, TOO_LONG_MS))
            player_is_wrong(p, "slept through message %zu", arrived);
}

/* Rank 0 sends a letter round the circle, and the next one when it is back. */
static void circle_main(struct player *p)
{
    for (size_t i = 0; i < p->letters && !p->world->wrong; i++) {
        sleep_until(p, p->rank ? i + 1 : i);
        post_next(p);
    }
    sleep_until(p, p->letters);
    while (p->lent && !p->world->wrong)
        player_progress(p);
}

void no_ring_is_lost_between_two_sleepers(void **state)
{
    const int rounds = 500;
    struct world *w = world_with_wakeups(state, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < rounds; k++)
            player_write(&w->player[i], 1 - i, (size_t)k % 100);
    world_run(w, circle_main);
    world_close(w);
}
