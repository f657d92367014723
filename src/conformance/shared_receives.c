/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of receives that several queue pairs share: rank 0 shares them among its pairs with ranks 1 and 2.
 */
#include <poll.h>
#include <string.h>

#include "player.h"

enum { SHARE_DEPTH = 4, SHARE_SENDS = 8, SHARE_TURNS = 500, SHARE_NUMBER = 6, SHARE_ROOM = 8, SHARE_MESSAGES = 40 };

struct sharing {
    struct world *w;
    const nbcoll_offload *call;
    nbcoll_completion_queue *sent[3], *received[3];
    nbcoll_shared_receives *shared;
    nbcoll_queue_pair *mine[3], *theirs[3]; /* by the sender */
    nbcoll_registration local[3];
    char memory[3][SHARE_DEPTH * SHARE_ROOM];
};

static nbcoll_endpoint *share_end(const struct sharing *s, int rank)
{
    return s->w->player[rank].ep;
}

static bool share_needs_local(const struct sharing *s)
{
    const nbcoll_bulk *bulk = share_end(s, 0)->transport->bulk;
    return bulk && !(bulk->flags & NBCOLL_BULK_ANY_LOCAL);
}

static bool share_is_offered(const nbcoll_offload *call)
{
    if (!call || call->size < offsetof(nbcoll_offload, admits) || !call->open_shared)
        return false;
    CHECK(call->post_shared && call->take && call->watch_shared && call->close_shared);
    return true;
}

static void share_open_queues(struct sharing *s, int rank)
{
    nbcoll_endpoint *ep = share_end(s, rank);
    const nbcoll_queue_config mine = {.size = sizeof mine,
                                      .peer = rank,
                                      .number = SHARE_NUMBER,
                                      .depth = SHARE_SENDS,
                                      .sent = s->sent[0],
                                      .shared = s->shared},
                              theirs = {.size = sizeof theirs,
                                        .number = SHARE_NUMBER,
                                        .depth = SHARE_SENDS,
                                        .sent = s->sent[rank],
                                        .received = s->received[rank]};
    CHECK_EQUAL(s->call->open_queue(share_end(s, 0), &mine, &s->mine[rank]), NBCOLL_OK);
    CHECK_EQUAL(s->call->open_queue(ep, &theirs, &s->theirs[rank]), NBCOLL_OK);
}

static void share_open(const nbcoll_conformance *c, struct sharing *s)
{
    memset(s, 0, sizeof *s);
    s->w = world_open(c, 3);
    s->call = share_end(s, 0)->transport->offload;
    if (!share_is_offered(s->call)) {
        CHECK(!(c->promises & NBCOLL_CONFORMANCE_RECEIVES));
        world_close(s->w);
        case_is_skipped("it has no shared receives");
    }
    for (int rank = 0; rank < 3; rank++) {
        if (share_needs_local(s))
            player_register(&s->w->player[rank], -1, s->memory[rank], sizeof s->memory[rank], NBCOLL_LOCAL_END,
                            &s->local[rank]);
        CHECK_EQUAL(s->call->open_cq(share_end(s, rank), SHARE_SENDS, &s->sent[rank]), NBCOLL_OK);
        CHECK_EQUAL(s->call->open_cq(share_end(s, rank), SHARE_SENDS, &s->received[rank]), NBCOLL_OK);
    }
    CHECK_EQUAL(s->call->open_shared(share_end(s, 0), SHARE_DEPTH, s->received[0], &s->shared), NBCOLL_OK);
    for (int rank = 1; rank < 3; rank++)
        share_open_queues(s, rank);
}

static void share_close_pair(struct sharing *s, nbcoll_queue_pair **pair, int rank)
{
    if (*pair)
        s->call->close(share_end(s, rank), *pair, NULL);
    *pair = NULL;
}

static void share_close(struct sharing *s)
{
    for (int rank = 1; rank < 3; rank++) {
        share_close_pair(s, &s->theirs[rank], rank);
        share_close_pair(s, &s->mine[rank], 0);
    }
    s->call->close_shared(share_end(s, 0), s->shared);
    for (int rank = 0; rank < 3; rank++) {
        s->call->close(share_end(s, rank), NULL, s->sent[rank]);
        s->call->close(share_end(s, rank), NULL, s->received[rank]);
        if (share_needs_local(s))
            player_deregister(&s->w->player[rank], &s->local[rank]);
    }
    world_close(s->w);
}

/* ---- what the ranks do ------------------------------------------------------------------------------------------- */

static nbcoll_posting share_posting(const struct sharing *s, int rank, nbcoll_posting_kind kind, char *at, size_t bytes)
{
    return (nbcoll_posting){.kind = kind,
                            .signal = 1,
                            .memory = bytes ? at : NULL,
                            .bytes = bytes,
                            .local = bytes && share_needs_local(s) ? &s->local[rank] : NULL};
}

/* What comes from that rank, into a part of rank 0's memory. */
static nbcoll_status share_await(struct sharing *s, int rank, size_t at, size_t room)
{
    nbcoll_posting p = share_posting(s, 0, NBCOLL_POSTING_RECEIVE, s->memory[0] + at * SHARE_ROOM, room);
    p.from = rank + 1;
    return s->call->post_shared(share_end(s, 0), s->shared, &p);
}

/* One more from the same rank. */
static nbcoll_status share_await_again(struct sharing *s, const nbcoll_shared_arrival *came)
{
    return share_await(s, came->pair == s->mine[2] ? 2 : 1, (size_t)((char *)came->memory - s->memory[0]) / SHARE_ROOM,
                       1);
}

static void share_send(struct sharing *s, int rank, size_t bytes)
{
    const nbcoll_posting p = share_posting(s, rank, NBCOLL_POSTING_SEND, s->memory[rank], bytes);
    CHECK_EQUAL(s->call->post(share_end(s, rank), s->theirs[rank], &p), NBCOLL_OK);
}

/* The senders go on, their queues as they ask for more than there can be. */
static void share_turn_senders(struct sharing *s)
{
    for (int rank = 0; rank < 3; rank++)
        player_progress(&s->w->player[rank]);
    for (int rank = 1; rank < 3; rank++)
        s->call->wait(share_end(s, rank), s->received[rank], SHARE_SENDS + 1);
}

static nbcoll_status share_take(struct sharing *s, nbcoll_shared_arrival *out)
{
    share_turn_senders(s);
    return s->call->take(share_end(s, 0), s->received[0], out);
}

static nbcoll_status share_takes(struct sharing *s, nbcoll_shared_arrival *out)
{
    nbcoll_status status;
    while ((status = share_take(s, out)) == NBCOLL_PENDING)
        case_waits("an entry of shared receives");
    return status;
}

/* The next entry is of this sender, and names this part of the memory. */
static void share_takes_from(struct sharing *s, int rank, size_t at)
{
    nbcoll_shared_arrival came = {0};
    CHECK_EQUAL(share_takes(s, &came), NBCOLL_OK);
    CHECK(came.pair == s->mine[rank]);
    CHECK(came.memory == s->memory[0] + at * SHARE_ROOM);
}

static void share_stays(struct sharing *s)
{
    nbcoll_shared_arrival came;
    for (int i = 0; i < SHARE_TURNS; i++)
        CHECK_EQUAL(share_take(s, &came), NBCOLL_PENDING);
}

static void share_waits(struct sharing *s, int rank, nbcoll_completion_queue *of, nbcoll_status wanted)
{
    nbcoll_status status;
    nbcoll_shared_arrival came;
    while ((status = s->call->wait(share_end(s, rank), of, 1)) == NBCOLL_PENDING) {
        CHECK(share_take(s, &came) != NBCOLL_OK);
        case_waits("an entry of a completion queue");
    }
    CHECK_EQUAL(status, wanted);
}

/* ---- the cases --------------------------------------------------------------------------------------------------- */

static void a_message_takes_the_shared_receive_that_was_posted_first(const nbcoll_conformance *c)
{
    struct sharing s;
    share_open(c, &s);
    for (size_t at = 0; at < 3; at++)
        CHECK_EQUAL(share_await(&s, 2 - (int)at % 2, at, SHARE_ROOM), NBCOLL_OK);
    s.memory[1][0] = 'a';
    s.memory[2][0] = 'b';
    share_send(&s, 2, 1);
    share_takes_from(&s, 2, 0);
    share_send(&s, 1, 1);
    share_takes_from(&s, 1, 1);
    share_send(&s, 2, 1);
    share_takes_from(&s, 2, 2);
    CHECK(s.memory[0][0] == 'b' && s.memory[0][SHARE_ROOM] == 'a' && s.memory[0][2 * SHARE_ROOM] == 'b');
    share_stays(&s);
    share_close(&s);
}

static void a_send_waits_for_a_shared_receive(const nbcoll_conformance *c)
{
    struct sharing s;
    share_open(c, &s);
    s.memory[1][0] = 'a';
    share_send(&s, 1, 1);
    share_stays(&s);
    CHECK_EQUAL(s.call->wait(share_end(&s, 1), s.sent[1], 1), NBCOLL_PENDING);
    CHECK_EQUAL(share_await(&s, 1, 1, 1), NBCOLL_OK);
    share_takes_from(&s, 1, 1);
    CHECK(s.memory[0][SHARE_ROOM] == 'a');
    share_waits(&s, 1, s.sent[1], NBCOLL_OK);
    share_send(&s, 2, 0); /* of no bytes, but it needs one, too */
    share_stays(&s);
    CHECK_EQUAL(share_await(&s, 2, 0, 0), NBCOLL_OK);
    nbcoll_shared_arrival came;
    CHECK_EQUAL(share_takes(&s, &came), NBCOLL_OK);
    CHECK(came.pair == s.mine[2]);
    share_close(&s);
}

/* More than there are receives: each is posted again when it has come. */
static void messages_of_pairs_that_share_receives_come_once_and_in_order(const nbcoll_conformance *c)
{
    size_t sent[3] = {0}, ended[3] = {0}, seen[3] = {0};
    struct sharing s;
    share_open(c, &s);
    for (size_t at = 0; at < SHARE_DEPTH; at++)
        CHECK_EQUAL(share_await(&s, 1 + (int)at % 2, at, 1), NBCOLL_OK);
    while (seen[1] + seen[2] < 2 * (size_t)SHARE_MESSAGES) {
        int rank = 1 + (int)(random_next(&s.w->random) % 2);
        nbcoll_shared_arrival came;
        if (sent[rank] == ended[rank] && sent[rank] < SHARE_MESSAGES) { /* its memory is free again */
            s.memory[rank][0] = (char)sent[rank]++;
            share_send(&s, rank, 1);
        }
        nbcoll_status status = share_take(&s, &came);
        for (rank = 1; rank < 3; rank++)
            ended[rank] += s.call->wait(share_end(&s, rank), s.sent[rank], 1) == NBCOLL_OK;
        if (status == NBCOLL_PENDING) {
            case_waits("messages into shared receives");
            continue;
        }
        CHECK_EQUAL(status, NBCOLL_OK);
        rank = came.pair == s.mine[2] ? 2 : 1;
        CHECK(came.pair == s.mine[rank]);
        CHECK_EQUAL(*(const char *)came.memory, seen[rank]++);
        CHECK_EQUAL(share_await_again(&s, &came), NBCOLL_OK);
    }
    share_stays(&s);
    share_close(&s);
}

static void a_pair_with_shared_receives_sends_to_one_without(const nbcoll_conformance *c)
{
    const nbcoll_posting credit = {.kind = NBCOLL_POSTING_SEND, .signal = 1},
                         wanted = {.kind = NBCOLL_POSTING_RECEIVE};
    struct sharing s;
    share_open(c, &s);
    nbcoll_posting wait = {.kind = NBCOLL_POSTING_WAIT, .completions = s.received[1], .count = 1};
    CHECK_EQUAL(s.call->post(share_end(&s, 1), s.theirs[1], &wanted), NBCOLL_OK);
    CHECK_EQUAL(s.call->post(share_end(&s, 1), s.theirs[1], &wait), NBCOLL_OK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_OK);
    share_send(&s, 1, 1);
    share_stays(&s); /* it waits for its credit */
    CHECK_EQUAL(s.call->post(share_end(&s, 0), s.mine[1], &credit), NBCOLL_OK);
    share_takes_from(&s, 1, 0);
    share_waits(&s, 0, s.sent[0], NBCOLL_OK);
    CHECK_EQUAL(s.call->post(share_end(&s, 0), s.mine[1], &wanted), NBCOLL_ERR_ARGUMENT);
    share_close(&s);
}

static void no_more_shared_receives_are_posted_than_there_is_room_for(const nbcoll_conformance *c)
{
    const nbcoll_posting send = {.kind = NBCOLL_POSTING_SEND};
    nbcoll_shared_receives *second;
    struct sharing s;
    share_open(c, &s);
    for (size_t at = 0; at < SHARE_DEPTH; at++)
        CHECK_EQUAL(share_await(&s, 1 + (int)at % 2, at, 1), NBCOLL_OK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_ERR_LIMIT);
    share_send(&s, 1, 1);
    share_takes_from(&s, 1, 0);
    CHECK_EQUAL(share_await(&s, 3, 0, 1), NBCOLL_ERR_RANK); /* of three */
    CHECK_EQUAL(share_await(&s, -2, 0, 1), NBCOLL_ERR_RANK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_OK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_ERR_LIMIT);
    CHECK_EQUAL(s.call->post_shared(share_end(&s, 0), s.shared, &send), NBCOLL_ERR_ARGUMENT);
    CHECK_EQUAL(s.call->open_shared(share_end(&s, 0), 1, s.received[0], &second), NBCOLL_ERR_BUSY);
    share_close(&s);
}

static void a_message_too_long_for_a_shared_receive_ends_its_pair_alone(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct sharing s;
    share_open(c, &s);
    for (int rank = 1; rank < 3; rank++) /* it may keep one */
        CHECK_EQUAL(share_await(&s, rank, (size_t)rank - 1, 2), NBCOLL_OK);
    memcpy(s.memory[1], "abcd", 4);
    memcpy(s.memory[2], "ef", 2);
    share_send(&s, 1, 4);
    CHECK_EQUAL(share_takes(&s, &came), NBCOLL_ERR_TRANSPORT);
    CHECK(s.memory[0][2] == 0 && s.memory[0][SHARE_ROOM + 2] == 0); /* nothing is written behind either */
    share_send(&s, 2, 2);
    while (share_take(&s, &came) != NBCOLL_OK)
        case_waits("a message of the other pair");
    CHECK(came.pair == s.mine[2] && memcmp(came.memory, "ef", 2) == 0);
    share_close(&s);
}

static void a_lost_pair_leaves_shared_receives_to_the_others(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct sharing s;
    share_open(c, &s);
    for (size_t at = 0; at < 3; at++)
        CHECK_EQUAL(share_await(&s, at ? 2 : 1, at, 1), NBCOLL_OK);
    share_send(&s, 1, 1);
    share_takes_from(&s, 1, 0);
    share_waits(&s, 1, s.sent[1], NBCOLL_OK);
    share_close_pair(&s, &s.theirs[1], 1);
    CHECK_EQUAL(share_takes(&s, &came), NBCOLL_ERR_PEER_LOST);
    s.memory[2][0] = 'b';
    share_send(&s, 2, 1);
    while (share_take(&s, &came) != NBCOLL_OK)
        case_waits("a message of the other pair");
    CHECK(came.pair == s.mine[2] && *(const char *)came.memory == 'b');
    share_close_pair(&s, &s.mine[1], 0);
    share_send(&s, 2, 1); /* closing took none of the receives */
    while (share_take(&s, &came) != NBCOLL_OK)
        case_waits("a message of the other pair");
    share_close(&s);
}

static bool share_is_rung(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 0) == 1;
}

/* It may wake for nothing, but not for ever. */
static int share_watch(struct sharing *s, uint32_t least)
{
    int fd = -1;
    do {
        CHECK_EQUAL(s->call->watch_shared(share_end(s, 0), s->shared, least, &fd), NBCOLL_OK);
        case_waits("a descriptor that is not readable while receives are left");
    } while (share_is_rung(fd));
    return fd;
}

/* Rank 0 sleeps but for that. */
static void who_watches_shared_receives_is_woken_when_few_are_left(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct sharing s;
    int fd;
    share_open(c, &s);
    for (int rank = 1; rank < 3; rank++)
        CHECK_EQUAL(share_await(&s, rank, (size_t)rank - 1, 1), NBCOLL_OK);
    for (int rank = 1; rank < 3; rank++) { /* they are joined */
        share_send(&s, rank, 1);
        share_takes_from(&s, rank, (size_t)rank - 1);
    }
    for (size_t at = 0; at < SHARE_DEPTH; at++)
        CHECK_EQUAL(share_await(&s, 1 + (int)at % 2, at, 1), NBCOLL_OK);
    fd = share_watch(&s, 2);
    for (int i = 0; i < SHARE_DEPTH + 2; i++)
        share_send(&s, 1 + i % 2, 1);
    while (!share_is_rung(fd)) {
        share_turn_senders(&s);
        case_waits("a descriptor that says that few receives are left");
    }
    for (size_t got = 0; got < SHARE_DEPTH + 2; got++) { /* what waited goes on */
        CHECK_EQUAL(share_takes(&s, &came), NBCOLL_OK);
        CHECK_EQUAL(share_await_again(&s, &came), NBCOLL_OK);
    }
    CHECK(share_watch(&s, 2) == fd);
    for (int i = 0; i < SHARE_DEPTH; i++)
        share_send(&s, 1 + i % 2, 1);
    for (size_t got = 0; got < SHARE_DEPTH; got++)
        CHECK_EQUAL(share_takes(&s, &came), NBCOLL_OK);
    CHECK_EQUAL(s.call->watch_shared(share_end(&s, 0), s.shared, 1, &fd), NBCOLL_OK);
    CHECK(share_is_rung(fd)); /* none was left at the call */
    share_watch(&s, 0);
    CHECK_EQUAL(s.call->watch_shared(share_end(&s, 0), s.shared, SHARE_DEPTH + 1, &fd), NBCOLL_ERR_LIMIT);
    share_close(&s);
}
