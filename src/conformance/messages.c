/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of messages: the table, delivery once and whole, order where promised, how long an arrival lasts.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "player.h"

static void the_table_and_the_endpoint_are_valid(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    for (int i = 0; i < w->ranks; i++) {
        const nbcoll_endpoint *ep = w->player[i].ep;
        const nbcoll_transport *t = ep->transport;
        CHECK_EQUAL(ep->rank, i);
        CHECK_EQUAL(ep->ranks, w->ranks);
        CHECK(ep->limits.size > offsetof(nbcoll_limits, payload) && ep->limits.payload >= 256);
        CHECK_EQUAL(t->abi, NBCOLL_ABI);
        CHECK(t->size >= offsetof(nbcoll_transport, bulk));
        CHECK(t->name && t->name[0]);
        CHECK(t->post && t->progress && t->cancel && t->close);
        if (w->c->promises & NBCOLL_CONFORMANCE_BULK)
            CHECK(t->bulk);
        if (t->bulk) {
            CHECK(t->bulk->size >= offsetof(nbcoll_bulk, put));
            CHECK(t->bulk->register_memory && (t->bulk->get || t->bulk->put));
            CHECK(ep->limits.key_bytes > 0 && ep->limits.key_bytes <= sizeof(nbcoll_key));
        }
        if (w->c->promises & NBCOLL_CONFORMANCE_WAKEUP)
            CHECK(t->wakeup);
        if (t->wakeup) {
            CHECK(t->wakeup->size >= sizeof(nbcoll_wakeup));
            CHECK(t->wakeup->fd && t->wakeup->arm);
        }
    }
    world_close(w);
}

static void an_idle_progress_reports_nothing(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    for (int k = 0; k < 100; k++)
        CHECK(!world_progress(w));
    world_close(w);
}

static void every_pair_exchanges_every_length_of_interest(const nbcoll_conformance *c)
{
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++) {
        struct world *w = world_open(c, ranks);
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

static void every_length_arrives_whole(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    size_t most = w->player[0].ep->limits.payload;
    for (size_t bytes = 0; bytes <= most; bytes += bytes < 300 || bytes > most - 20 ? 1 : 61)
        player_write(&w->player[0], 1, bytes);
    world_settle(w);
    world_close(w);
}

static void many_random_messages_arrive_exactly_once(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 5);
    world_write_random(w, 600);
    world_settle(w);
    for (int k = 0; k < 100; k++) /* nothing comes twice, later */
        CHECK(!world_progress(w));
    world_close(w);
}

static void receive_buffers_take_what_they_promise(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    const nbcoll_limits *limits = &w->player[0].ep->limits;
    uint32_t receives = limits->size > offsetof(nbcoll_limits, receives) ? limits->receives : 0;
    world_needs(w, receives, "its receive buffers bound nothing", 0);
    for (int round = 0; round < 3; round++) { /* rank 0 does nothing before the settling */
        for (int from = 0; from < w->ranks; from++)
            for (uint32_t k = 0; k < receives; k++)
                player_write(&w->player[from], 0, k % 2 ? 0 : limits->payload);
        for (int from = 0; from < w->ranks; from++) {
            player_send(&w->player[from]);
            CHECK_EQUAL(w->player[from].posted, w->player[from].messages);
        }
        world_settle(w);
    }
    world_close(w);
}

static void promised_order_is_kept(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    world_needs(w, c->promises & NBCOLL_CONFORMANCE_ORDERED, "it does not promise order", 0);
    for (int k = 0; k < 1000; k++)
        for (int from = 0; from < 3; from++)
            player_write(&w->player[from], k % 3, k % 7 ? 8 : w->player[0].ep->limits.payload);
    world_settle(w);
    world_close(w);
}

static void arrivals_stay_readable_until_the_next_progress(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    struct player *sender = &w->player[0], *receiver = &w->player[1];
    for (int round = 0; round < 20; round++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        for (size_t k = 0; k < 3; k++)
            player_write(sender, 1, 100 + k);
        while (!found.arrived) {
            player_send(sender);
            player_progress(sender);
            receiver->ep->transport->progress(receiver->ep, &found);
            CHECK(!found.completed);
            case_waits("a message");
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
