/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of what a post may answer, of lent work requests and of closing: nothing is lost, doubled or kept.
 */
#include <stddef.h>
#include <stdint.h>

#include "player.h"

static void a_refused_post_leaves_nothing_behind_and_later_succeeds(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    struct player *p = &w->player[0];
    nbcoll_posted said = NBCOLL_POST_DONE;
    const int most = w->c->promises & NBCOLL_CONFORMANCE_REFUSES ? 10000 : 1000;
    for (int k = 0; k < most && said != NBCOLL_POST_NOT_NOW; k++)
        said = player_post(p, player_write(p, 1, 8));
    if (said != NBCOLL_POST_NOT_NOW)
        world_settle(w);
    world_needs(w, said == NBCOLL_POST_NOT_NOW, "no post was refused", NBCOLL_CONFORMANCE_REFUSES);
    struct message *refused = p->message[p->messages - 1];
    for (int k = 0; k < 10 && refused->state == MESSAGE_READY; k++)
        player_post(p, refused);
    world_settle(w); /* posts it when there is room; each arrives once */
    CHECK_EQUAL(refused->arrived, 1);
    world_close(w);
}

static void a_lent_work_request_comes_back_once_with_everything_intact(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    bool lent = false;
    for (int k = 0; k < 200; k++) {
        struct player *p = &w->player[k % 3];
        struct message *l = player_write(p, (int)(random_next(&w->random) % 3), (size_t)k);
        player_post_at_last(p, l);
        lent |= l->loan.lent;
    }
    world_settle(w);
    for (int k = 0; k < 100; k++)
        CHECK(!world_progress(w));
    world_needs(w, lent, "no post was lent", NBCOLL_CONFORMANCE_KEEPS);
    world_close(w);
}

static void a_cancelled_work_request_comes_back_once(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    struct player *p = &w->player[0];
    size_t cancelled = 0;
    world_meet(w);
    for (int k = 0; k < 100; k++)
        player_write(p, k % 2, (size_t)k);
    player_send(p);
    for (size_t k = 0; k < p->posted; k++) {
        struct message *l = p->message[k];
        if (!l->loan.lent || k % 3 == 1)
            continue;
        player_cancel(p, &l->loan);
        if (k % 3 == 2)
            player_cancel(p, &l->loan);
        cancelled++;
    }
    player_write(p, 1, 99); /* the transport is as good as before, at once and later */
    player_send(p);
    player_await_works(p);
    player_write(p, 1, 99);
    player_write(&w->player[1], 0, 99);
    world_settle(w);
    for (int k = 0; k < 1000; k++)
        world_progress(w);
    world_needs(w, cancelled > 0, "no post was lent", NBCOLL_CONFORMANCE_KEEPS);
    world_close(w);
}

/* Rank 0 posts what there is room for, and leaves. */
static struct world *world_that_one_leaves(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    struct player *p = &w->player[0];
    world_meet(w);
    for (size_t k = 0; k < 30; k++) {
        struct message *l = player_write(p, 1 + (int)k % 2, k);
        if (player_post(p, l) == NBCOLL_POST_NOT_NOW)
            player_revoke(p, l);
    }
    player_await_works(p);
    world_close_end(w, 0);
    return w;
}

static void messages_posted_before_a_close_are_delivered(const nbcoll_conformance *c)
{
    struct world *w = world_that_one_leaves(c);
    world_settle(w);
    CHECK(w->player[1].arrived > 3 && w->player[2].arrived > 3); /* when they met */
    world_close(w);
}

static void await_leave(struct world *w, int rank)
{
    const struct player *p = w->player;
    while (!player_knows_left(p + 1, rank) || !player_knows_left(p + 2, rank)) {
        world_progress(w);
        case_waits("the report that rank 0 has left");
    }
}

static void a_leave_is_reported_once_after_the_last_message(const nbcoll_conformance *c)
{
    struct world *w = world_that_one_leaves(c);
    await_leave(w, 0);
    CHECK(w->player[1].arrived > 3 && w->player[2].arrived > 3);   /* when they met */
    for (uint64_t start = now_ns(); now_ns() - start < 250000000;) /* longer than any transport looks away */
        world_progress(w);
    world_close(w);
}

static void what_is_posted_to_one_who_has_left_goes_nowhere(const nbcoll_conformance *c)
{
    struct world *w = world_that_one_leaves(c);
    for (int k = 0; k < 400; k++) { /* more than any ring holds, before the leave is known and after */
        struct player *p = &w->player[1 + k % 2];
        player_post_at_last(p, player_write(p, k % 20 ? 0 : 3 - p->rank, (size_t)k % 200));
        if (k == 200)
            await_leave(w, 0);
    }
    world_settle(w);
    world_close(w);
}

/* Also where nothing more can be posted: what tells of the leave must not need room. */
static void a_leave_needs_no_room(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    struct player *p = &w->player[0];
    bool is_full[3] = {false, false, false};
    for (int k = 0; k < 10000 && p->lent < 100 && !(is_full[1] && is_full[2]); k++) {
        int to = 1 + k % 2;
        struct message *l = player_write(p, to, 8);
        is_full[to] = player_post(p, l) == NBCOLL_POST_NOT_NOW;
        if (is_full[to])
            player_revoke(p, l);
    }
    player_await_works(p);
    world_close_end(w, 0);
    await_leave(w, 0);
    world_settle(w);
    world_close(w);
}

/* Rank 0 abandons its end without having ended what it began, and is lost. */
static struct world *world_that_one_abandons(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    struct player *p = &w->player[0];
    const nbcoll_transport *t = p->ep->transport;

    world_needs(w, t->size >= offsetof(nbcoll_transport, abandon) + sizeof t->abandon && t->abandon,
                "it cannot be abandoned", 0);
    world_meet(w);
    for (size_t k = p->messages, end = k + 6; k < end; k++) {
        player_revoke(p, player_write(p, 1 + (int)k % 2, 16)); /* it may arrive, or not */
        if (player_post(p, p->message[k]) != NBCOLL_POST_NOT_NOW)
            p->message[k]->state = MESSAGE_REVOKED;
    }
    w->doomed = 0;
    t->abandon(p->ep);
    p->ep = NULL;
    p->lent = 0;
    for (; !w->player[1].knows_lost || !w->player[2].knows_lost; case_waits("the report that rank 0 is lost"))
        world_progress(w);
    return w;
}

/* Which is reported once; what it had posted may still come. */
static void an_end_that_is_abandoned_is_reported_lost(const nbcoll_conformance *c)
{
    struct world *w = world_that_one_abandons(c);
    player_write(&w->player[1], 2, 100); /* the others go on */
    world_settle(w);
    world_close(w);
}

/* One progress. Returns whom it reports lost, or -1; -1, too, for `lost`, who was reported before. */
static int player_loses(const struct player *p, int lost)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    p->ep->transport->progress(p->ep, &found);
    CHECK_EQUAL(found.departed, -1);
    CHECK(found.lost < 0 || lost < 0);
    return found.lost;
}

/* Or hears that it is lost itself, to all. give_up is no loss: no call of transport.h makes one. */
static void who_is_lost_and_lives_loses_the_other_one(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    int lost[2] = {-1, -1};

    world_needs(w, c->lose, "the table does not say how a rank that lives is lost", 0);
    world_meet(w);
    c->lose(c, w->made, w->player[0].ep, 1);
    for (; lost[0] < 0 || lost[1] < 0; case_waits("both ranks to report the loss"))
        for (int rank = 0; rank < 2; rank++) {
            int is = player_loses(&w->player[rank], lost[rank]);
            lost[rank] = is < 0 ? lost[rank] : is;
        }
    for (int rank = 0; rank < 2; rank++) {
        nbcoll_endpoint *ep = w->player[rank].ep;
        CHECK(lost[rank] != rank || lost[1 - rank] == rank);
        if (lost[rank] != rank)
            CHECK_EQUAL(ep->transport->post(ep, 1 - rank, &header, NULL, 0, &work), NBCOLL_POST_LOST);
    }
    world_close(w);
}

static void a_world_with_undelivered_messages_can_be_closed(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            for (size_t k = 0; k < 5; k++)
                player_post(&w->player[from], player_write(&w->player[from], to, 10 * k));
    for (int i = 0; i < 3; i++) {
        struct player *p = &w->player[i];
        for (size_t k = 0; k < p->messages; k++)
            if (p->message[k]->loan.lent)
                player_cancel(p, &p->message[k]->loan);
    }
    for (int i = 0; i < 3; i++)
        player_await_works(&w->player[i]);
    for (int i = 0; i < 3; i++)
        world_close_end(w, i);
    world_close(w);
}
