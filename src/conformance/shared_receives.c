/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of receives that several queue pairs share: rank 0 shares them among its pairs with ranks 1 and 2.
 */
#include <string.h>

#include "player.h"

enum { SHARE_DEPTH = 4, SHARE_SENDS = 8, SHARE_TURNS = 500, SHARE_NUMBER = 6, SHARE_ROOM = 8, SHARE_MESSAGES = 40 };

static bool share_is_offered(const nbcoll_offload *call)
{
    if (!call || call->size < offsetof(nbcoll_offload, admits) || !call->open_shared)
        return false;
    CHECK(call->post_shared && call->take && call->watch_shared && call->close_shared);
    return true;
}

static void share_open_queues(struct queue_ends *s, int rank)
{
    nbcoll_endpoint *ep = queue_end(s, rank);
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
    CHECK_EQUAL(s->call->open_queue(queue_end(s, 0), &mine, &s->mine[rank]), NBCOLL_OK);
    CHECK_EQUAL(s->call->open_queue(ep, &theirs, &s->theirs[rank]), NBCOLL_OK);
}

static void share_open(const nbcoll_conformance *c, struct queue_ends *s)
{
    ends_open(c, s, 3);
    world_needs(s->w, share_is_offered(s->call), "it has no shared receives", NBCOLL_CONFORMANCE_RECEIVES);
    ends_equip(s, SHARE_SENDS);
    CHECK_EQUAL(s->call->open_shared(queue_end(s, 0), SHARE_DEPTH, s->received[0], &s->shared), NBCOLL_OK);
    for (int rank = 1; rank < 3; rank++)
        share_open_queues(s, rank);
}

static void share_close(struct queue_ends *s)
{
    for (int rank = 1; rank < 3; rank++) {
        pair_close(s, &s->theirs[rank], rank);
        pair_close(s, &s->mine[rank], 0);
    }
    s->call->close_shared(queue_end(s, 0), s->shared);
    ends_close(s);
}

/* ---- what the ranks do ------------------------------------------------------------------------------------------- */

/* What comes from that rank, into a part of rank 0's memory. */
static nbcoll_status share_await(struct queue_ends *s, int rank, size_t at, size_t room)
{
    nbcoll_posting p = queue_posting(s, 0, NBCOLL_POSTING_RECEIVE, s->memory[0] + at * SHARE_ROOM, room);
    p.from = rank + 1;
    return s->call->post_shared(queue_end(s, 0), s->shared, &p);
}

/* One byte each from the two by turns. */
static void share_await_turns(struct queue_ends *s, int receives)
{
    for (int i = 0; i < receives; i++)
        CHECK_EQUAL(share_await(s, 1 + i % 2, (size_t)i, 1), NBCOLL_OK);
}

/* One more from the same rank. */
static nbcoll_status share_await_again(struct queue_ends *s, const nbcoll_shared_arrival *came)
{
    return share_await(s, came->pair == s->mine[2] ? 2 : 1, (size_t)((char *)came->memory - s->memory[0]) / SHARE_ROOM,
                       1);
}

static void share_send(struct queue_ends *s, int rank, size_t bytes)
{
    const nbcoll_posting p = queue_posting(s, rank, NBCOLL_POSTING_SEND, s->memory[rank], bytes);
    CHECK_EQUAL(s->call->post(queue_end(s, rank), s->theirs[rank], &p), NBCOLL_OK);
}

/* The senders go on, their queues as they ask for more than there can be. */
static void share_turn_senders(struct queue_ends *s)
{
    world_progress(s->w);
    for (int rank = 1; rank < 3; rank++)
        s->call->wait(queue_end(s, rank), s->received[rank], SHARE_SENDS + 1);
}

static nbcoll_status share_take(struct queue_ends *s, nbcoll_shared_arrival *out)
{
    share_turn_senders(s);
    return s->call->take(queue_end(s, 0), s->received[0], out);
}

static nbcoll_status share_takes(struct queue_ends *s, nbcoll_shared_arrival *out)
{
    nbcoll_status status;
    while ((status = share_take(s, out)) == NBCOLL_PENDING)
        case_waits("an entry of shared receives");
    return status;
}

/* The next entry is of this sender, and names this part of the memory. */
static void share_takes_from(struct queue_ends *s, int rank, size_t at)
{
    nbcoll_shared_arrival came = {0};
    CHECK_EQUAL(share_takes(s, &came), NBCOLL_OK);
    CHECK(came.pair == s->mine[rank]);
    CHECK(came.memory == s->memory[0] + at * SHARE_ROOM);
}

static void share_takes_of_other(struct queue_ends *s, nbcoll_shared_arrival *out)
{
    while (share_take(s, out) != NBCOLL_OK)
        case_waits("a message of the other pair");
    CHECK(out->pair == s->mine[2]);
}

static void share_stays(struct queue_ends *s)
{
    nbcoll_shared_arrival came;
    for (int i = 0; i < SHARE_TURNS; i++)
        CHECK_EQUAL(share_take(s, &came), NBCOLL_PENDING);
}

static void share_waits(struct queue_ends *s, int rank, nbcoll_completion_queue *of, nbcoll_status wanted)
{
    nbcoll_status status;
    nbcoll_shared_arrival came;
    while ((status = s->call->wait(queue_end(s, rank), of, 1)) == NBCOLL_PENDING) {
        CHECK(share_take(s, &came) != NBCOLL_OK);
        case_waits("an entry of a completion queue");
    }
    CHECK_EQUAL(status, wanted);
}

/* ---- the cases --------------------------------------------------------------------------------------------------- */

static void a_message_takes_the_shared_receive_that_was_posted_first(const nbcoll_conformance *c)
{
    struct queue_ends s;
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
    struct queue_ends s;
    share_open(c, &s);
    s.memory[1][0] = 'a';
    share_send(&s, 1, 1);
    share_stays(&s);
    CHECK_EQUAL(s.call->wait(queue_end(&s, 1), s.sent[1], 1), NBCOLL_PENDING);
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
    struct queue_ends s;
    share_open(c, &s);
    share_await_turns(&s, SHARE_DEPTH);
    while (seen[1] + seen[2] < 2 * (size_t)SHARE_MESSAGES) {
        int rank = 1 + (int)(random_next(&s.w->random) % 2);
        nbcoll_shared_arrival came;
        if (sent[rank] == ended[rank] && sent[rank] < SHARE_MESSAGES) { /* its memory is free again */
            s.memory[rank][0] = (char)sent[rank]++;
            share_send(&s, rank, 1);
        }
        nbcoll_status status = share_take(&s, &came);
        for (rank = 1; rank < 3; rank++)
            ended[rank] += s.call->wait(queue_end(&s, rank), s.sent[rank], 1) == NBCOLL_OK;
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
    struct queue_ends s;
    share_open(c, &s);
    nbcoll_posting wait = {.kind = NBCOLL_POSTING_WAIT, .completions = s.received[1], .count = 1};
    CHECK_EQUAL(s.call->post(queue_end(&s, 1), s.theirs[1], &wanted), NBCOLL_OK);
    CHECK_EQUAL(s.call->post(queue_end(&s, 1), s.theirs[1], &wait), NBCOLL_OK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_OK);
    share_send(&s, 1, 1);
    share_stays(&s); /* it waits for its credit */
    CHECK_EQUAL(s.call->post(queue_end(&s, 0), s.mine[1], &credit), NBCOLL_OK);
    share_takes_from(&s, 1, 0);
    share_waits(&s, 0, s.sent[0], NBCOLL_OK);
    CHECK_EQUAL(s.call->post(queue_end(&s, 0), s.mine[1], &wanted), NBCOLL_ERR_ARGUMENT);
    share_close(&s);
}

static void no_more_shared_receives_are_posted_than_there_is_room_for(const nbcoll_conformance *c)
{
    const nbcoll_posting send = {.kind = NBCOLL_POSTING_SEND};
    nbcoll_shared_receives *second;
    struct queue_ends s;
    share_open(c, &s);
    share_await_turns(&s, SHARE_DEPTH);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_ERR_LIMIT);
    share_send(&s, 1, 1);
    share_takes_from(&s, 1, 0);
    CHECK_EQUAL(share_await(&s, 3, 0, 1), NBCOLL_ERR_RANK); /* of three */
    CHECK_EQUAL(share_await(&s, -2, 0, 1), NBCOLL_ERR_RANK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_OK);
    CHECK_EQUAL(share_await(&s, 1, 0, 1), NBCOLL_ERR_LIMIT);
    CHECK_EQUAL(s.call->post_shared(queue_end(&s, 0), s.shared, &send), NBCOLL_ERR_ARGUMENT);
    CHECK_EQUAL(s.call->open_shared(queue_end(&s, 0), 1, s.received[0], &second), NBCOLL_ERR_BUSY);
    share_close(&s);
}

static void a_message_too_long_for_a_shared_receive_ends_its_pair_alone(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct queue_ends s;
    share_open(c, &s);
    for (int rank = 1; rank < 3; rank++) /* it may keep one */
        CHECK_EQUAL(share_await(&s, rank, (size_t)rank - 1, 2), NBCOLL_OK);
    memcpy(s.memory[1], "abcd", 4);
    memcpy(s.memory[2], "ef", 2);
    share_send(&s, 1, 4);
    CHECK_EQUAL(share_takes(&s, &came), NBCOLL_ERR_TRANSPORT);
    CHECK(s.memory[0][2] == 0 && s.memory[0][SHARE_ROOM + 2] == 0); /* nothing is written behind either */
    share_send(&s, 2, 2);
    share_takes_of_other(&s, &came);
    CHECK(memcmp(came.memory, "ef", 2) == 0);
    share_close(&s);
}

static void a_lost_pair_leaves_shared_receives_to_the_others(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct queue_ends s;
    share_open(c, &s);
    for (size_t at = 0; at < 3; at++)
        CHECK_EQUAL(share_await(&s, at ? 2 : 1, at, 1), NBCOLL_OK);
    share_send(&s, 1, 1);
    share_takes_from(&s, 1, 0);
    share_waits(&s, 1, s.sent[1], NBCOLL_OK);
    pair_close(&s, &s.theirs[1], 1);
    CHECK_EQUAL(share_takes(&s, &came), NBCOLL_ERR_PEER_LOST);
    s.memory[2][0] = 'b';
    share_send(&s, 2, 1);
    share_takes_of_other(&s, &came);
    CHECK(*(const char *)came.memory == 'b');
    pair_close(&s, &s.mine[1], 0);
    share_send(&s, 2, 1); /* closing took none of the receives */
    share_takes_of_other(&s, &came);
    share_close(&s);
}

/* It may wake for nothing, but not for ever. */
static int share_watch(struct queue_ends *s, uint32_t least)
{
    int fd = -1;
    do {
        CHECK_EQUAL(s->call->watch_shared(queue_end(s, 0), s->shared, least, &fd), NBCOLL_OK);
        case_waits("a descriptor that is not readable while receives are left");
    } while (is_rung(fd, 0));
    return fd;
}

/* Rank 0 sleeps but for that. */
static void who_watches_shared_receives_is_woken_when_few_are_left(const nbcoll_conformance *c)
{
    nbcoll_shared_arrival came;
    struct queue_ends s;
    int fd;
    share_open(c, &s);
    share_await_turns(&s, 2);
    for (int rank = 1; rank < 3; rank++) { /* they are joined */
        share_send(&s, rank, 1);
        share_takes_from(&s, rank, (size_t)rank - 1);
    }
    share_await_turns(&s, SHARE_DEPTH);
    fd = share_watch(&s, 2);
    for (int i = 0; i < SHARE_DEPTH + 2; i++)
        share_send(&s, 1 + i % 2, 1);
    while (!is_rung(fd, 0)) {
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
    CHECK_EQUAL(s.call->watch_shared(queue_end(&s, 0), s.shared, 1, &fd), NBCOLL_OK);
    CHECK(is_rung(fd, 0)); /* none was left at the call */
    share_watch(&s, 0);
    CHECK_EQUAL(s.call->watch_shared(queue_end(&s, 0), s.shared, SHARE_DEPTH + 1, &fd), NBCOLL_ERR_LIMIT);
    share_close(&s);
}
