/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of messages: the table, delivery once and whole, order where promised, how long an arrival lasts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "player.h"

void the_table_and_the_endpoint_are_valid(void **state)
{
    struct world *w = world_open(state, 3);
    for (int i = 0; i < w->ranks; i++) {
        const nbcoll_endpoint *ep = w->player[i].ep;
        const nbcoll_transport *t = ep->transport;
        assert_int_equal(ep->rank, i);
        assert_int_equal(ep->ranks, w->ranks);
        assert_true(ep->limits.payload >= 256);
        assert_int_equal(t->abi, NBCOLL_ABI);
        assert_true(t->size >= offsetof(nbcoll_transport, bulk));
        assert_true(t->name && t->name[0]);
        assert_true(t->post && t->progress && t->cancel && t->close);
        if (w->c->promises & NBCOLL_CONFORMANCE_BULK)
            assert_non_null(t->bulk);
        if (t->bulk) {
            assert_true(t->bulk->size >= offsetof(nbcoll_bulk, reaches));
            assert_true(t->bulk->expose && t->bulk->withdraw && t->bulk->get);
        }
        if (w->c->promises & NBCOLL_CONFORMANCE_DOORBELL)
            assert_non_null(t->wakeup);
        if (t->wakeup) {
            assert_true(t->wakeup->size >= sizeof(nbcoll_wakeup));
            assert_true(t->wakeup->fd && t->wakeup->arm);
        }
    }
    world_close(w);
}

void an_idle_progress_reports_nothing(void **state)
{
    struct world *w = world_open(state, 2);
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < w->ranks; i++)
            assert_false(player_progress(&w->player[i]));
    world_close(w);
}

void every_pair_exchanges_every_length_of_interest(void **state)
{
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++) {
        struct world *w = world_open(state, ranks);
        size_t most = w->player[0].ep->limits.payload;
        const size_t bytes[] = {0, 1, 7, 8, 9, 255, most - 1, most};
        for (int from = 0; from < ranks; from++)
            for (int to = 0; to < ranks; to++)
                for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++)
                    player_write(&w->player[from], to, bytes[k]);
        world_settle(w);
        world_close(w);
    }
}

void every_length_arrives_whole(void **state)
{
    struct world *w = world_open(state, 2);
    size_t most = w->player[0].ep->limits.payload;
    for (size_t bytes = 0; bytes <= most; bytes += bytes < 300 || bytes > most - 20 ? 1 : 61)
        player_write(&w->player[0], 1, bytes);
    world_settle(w);
    world_close(w);
}

void many_random_messages_arrive_exactly_once(void **state)
{
    struct world *w = world_open(state, 5);
    size_t most = w->player[0].ep->limits.payload;
    for (int k = 0; k < 3000; k++) {
        uint64_t random = random_next(&w->random);
        size_t bytes = random >> 32 & 7 ? random >> 40 & 63 : (random >> 40) % (most + 1);
        player_write(&w->player[random % 5], (int)((random >> 8) % 5), bytes);
    }
    world_settle(w);
    for (int k = 0; k < 100; k++) /* nothing comes twice, later */
        for (int i = 0; i < w->ranks; i++)
            assert_false(player_progress(&w->player[i]));
    world_close(w);
}

void promised_order_is_kept(void **state)
{
    struct world *w = world_open(state, 3);
    if (!(w->c->promises & NBCOLL_CONFORMANCE_ORDERED)) {
        world_close(w);
        skip();
    }
    for (int k = 0; k < 1000; k++)
        for (int from = 0; from < 3; from++)
            player_write(&w->player[from], k % 3, k % 7 ? 8 : w->player[0].ep->limits.payload);
    world_settle(w);
    world_close(w);
}

void arrivals_stay_readable_until_the_next_progress(void **state)
{
    struct world *w = world_open(state, 2);
    struct player *sender = &w->player[0], *receiver = &w->player[1];
    for (int round = 0; round < 20; round++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        for (size_t k = 0; k < 3; k++)
            player_write(sender, 1, 100 + k);
        while (!found.arrived) {
            player_send(sender);
            player_progress(sender);
            receiver->ep->transport->progress(receiver->ep, &found);
            assert_null(found.completed);
        }
        for (size_t k = 0; k < 50; k++)
            player_write(sender, 1, 100 + k);
        player_send(sender);
        for (int k = 0; k < 50; k++)
            player_progress(sender);
        for (nbcoll_arrival *a = found.arrived; a; a = a->next)
            player_check_arrival(receiver, a);
        player_write(receiver, 0, 64); /* a post is not a progress */
        player_send(receiver);
        for (nbcoll_arrival *a = found.arrived; a; a = a->next)
            player_receive(receiver, a);
        world_settle(w);
    }
    world_close(w);
}
