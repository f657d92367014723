/* SPDX-License-Identifier: BSD-3-Clause
 * Receives that several queue pairs of a rank share, here loopback's, as transport.h says them: which message takes
 * which, who waits, who is told, and what is left when a pair ends. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "nbcoll/transport.h"
#include "world.h"

enum { SENDERS = 2, DEPTH = 4, SENDS = 8 };

/* Rank 0 shares receives among its pairs with ranks 1 and 2. */
typedef struct ends {
    nbcoll_loopback *world;
    nbcoll_endpoint *ep[1 + SENDERS];
    const nbcoll_offload *call;
    nbcoll_completion_queue *received, *sent, *their_received[SENDERS], *their_sent[SENDERS];
    nbcoll_shared_receives *shared;
    nbcoll_queue_pair *mine[SENDERS], *theirs[SENDERS];
} ends;

static nbcoll_status open_mine(ends *e, int sender)
{
    const nbcoll_queue_config c = {.size = sizeof c,
                                   .peer = sender + 1,
                                   .number = 3,
                                   .depth = SENDS,
                                   .sent = e->sent,
                                   .shared = e->shared};
    return e->call->open_queue(e->ep[0], &c, &e->mine[sender]);
}

static void open_theirs(ends *e, int sender)
{
    const nbcoll_queue_config c = {.size = sizeof c,
                                   .number = 3,
                                   .depth = SENDS,
                                   .sent = e->their_sent[sender],
                                   .received = e->their_received[sender]};
    EXPECT(OK, e->call->open_queue(e->ep[sender + 1], &c, &e->theirs[sender]));
}

static void open_ends(ends *e)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1 + SENDERS, .pairs = nbcoll_loopback_pairs()};
    memset(e, 0, sizeof *e);
    EXPECT(OK, nbcoll_loopback_create(&config, &e->world));
    for (int rank = 0; rank <= SENDERS; rank++)
        EXPECT(OK, nbcoll_loopback_open(e->world, rank, &e->ep[rank]));
    e->call = e->ep[0]->transport->offload;
    EXPECT(OK, e->call->open_cq(e->ep[0], DEPTH, &e->received));
    EXPECT(OK, e->call->open_cq(e->ep[0], SENDS, &e->sent));
    EXPECT(OK, e->call->open_shared(e->ep[0], DEPTH, e->received, &e->shared));
    for (int i = 0; i < SENDERS; i++) {
        EXPECT(OK, e->call->open_cq(e->ep[i + 1], SENDS, &e->their_received[i]));
        EXPECT(OK, e->call->open_cq(e->ep[i + 1], SENDS, &e->their_sent[i]));
        EXPECT(OK, open_mine(e, i));
        open_theirs(e, i);
    }
}

static void close_ends(ends *e)
{
    for (int i = 0; i < SENDERS; i++) {
        if (e->mine[i])
            e->call->close(e->ep[0], e->mine[i], NULL);
        if (e->theirs[i])
            e->call->close(e->ep[i + 1], e->theirs[i], NULL);
        e->call->close(e->ep[i + 1], NULL, e->their_received[i]);
        e->call->close(e->ep[i + 1], NULL, e->their_sent[i]);
    }
    e->call->close_shared(e->ep[0], e->shared);
    e->call->close(e->ep[0], NULL, e->received);
    e->call->close(e->ep[0], NULL, e->sent);
    for (int rank = 0; rank <= SENDERS; rank++)
        nbcoll_endpoint_close(e->ep[rank]);
    EXPECT(OK, nbcoll_loopback_free(e->world));
}

static nbcoll_status await(const ends *e, char *to, size_t bytes)
{
    const nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE, .memory = to, .bytes = bytes};
    return e->call->post_shared(e->ep[0], e->shared, &p);
}

static void sends(const ends *e, int sender, const char *text)
{
    const nbcoll_posting p = {
        .kind = NBCOLL_POSTING_SEND, .signal = 1, .memory = (void *)(uintptr_t)text, .bytes = strlen(text)};
    EXPECT(OK, e->call->post(e->ep[sender + 1], e->theirs[sender], &p));
}

/* The next entry is of that pair and memory. */
static void takes(const ends *e, const nbcoll_queue_pair *pair, const char *memory)
{
    nbcoll_shared_arrival came = {0};
    EXPECT(OK, e->call->take(e->ep[0], e->received, &came));
    assert_ptr_equal(came.pair, pair);
    assert_ptr_equal(came.memory, memory);
}

static nbcoll_status take_any(const ends *e)
{
    nbcoll_shared_arrival came;
    return e->call->take(e->ep[0], e->received, &came);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void the_receive_posted_first_is_taken_first_whatever_the_pair(void **state)
{
    char to[4][4] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    for (int i = 0; i < 4; i++)
        EXPECT(OK, await(&e, to[i], 4));
    sends(&e, 1, "a");
    sends(&e, 0, "b");
    sends(&e, 0, "");
    sends(&e, 1, "c");
    takes(&e, e.mine[1], to[0]);
    takes(&e, e.mine[0], to[1]);
    takes(&e, e.mine[0], to[2]);
    takes(&e, e.mine[1], to[3]);
    assert_memory_equal(to, "a\0\0\0b\0\0\0\0\0\0\0c", 14);
    EXPECT(PENDING, take_any(&e));
    close_ends(&e);
}

static void messages_of_one_pair_come_in_their_order(void **state)
{
    char to[DEPTH][2] = {{0}};
    uint64_t random = 7;
    ends e;
    (void)state;
    open_ends(&e);
    for (int turn = 0; turn < 200; turn++) {
        static const char *const text[] = {"0", "1", "2", "3"};
        size_t sent[SENDERS] = {0}, seen[SENDERS] = {0};
        size_t posted = 0, taken = 0;
        while (taken < 8) {
            nbcoll_shared_arrival came;
            size_t who = world_random(&random) % SENDERS;
            if (posted < 8 && posted - taken < DEPTH && world_random(&random) % 2)
                EXPECT(OK, await(&e, to[posted++ % DEPTH], 1));
            if (sent[who] < 4)
                sends(&e, (int)who, text[sent[who]++]);
            if (e.call->take(e.ep[0], e.received, &came) != NBCOLL_OK)
                continue;
            who = came.pair == e.mine[1];
            assert_ptr_equal(came.pair, e.mine[who]);
            assert_int_equal(*(const char *)came.memory, text[seen[who]++][0]);
            taken++;
        }
    }
    close_ends(&e);
}

static void a_send_waits_while_no_receive_is_posted(void **state)
{
    char to[2][2] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    sends(&e, 0, "a");
    EXPECT(PENDING, take_any(&e));
    EXPECT(PENDING, e.call->wait(e.ep[1], e.their_sent[0], 1));
    EXPECT(OK, await(&e, to[0], 1));
    takes(&e, e.mine[0], to[0]);
    assert_string_equal(to[0], "a");
    EXPECT(OK, e.call->wait(e.ep[1], e.their_sent[0], 1));
    close_ends(&e);
}

static void who_waits_longest_for_a_receive_gets_it_and_holds_nobody_up(void **state)
{
    char to[4][2] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    sends(&e, 1, "a");
    sends(&e, 1, "b");
    sends(&e, 0, "c");
    for (int i = 0; i < 3; i++)
        EXPECT(OK, await(&e, to[i], 1));
    takes(&e, e.mine[1], to[0]);
    takes(&e, e.mine[0], to[1]); /* not behind all of the other one's */
    takes(&e, e.mine[1], to[2]);
    EXPECT(OK, await(&e, to[3], 1));
    sends(&e, 0, "d");
    takes(&e, e.mine[0], to[3]);
    close_ends(&e);
}

/* Rank 0's pairs have shared receives; what it sends there takes receives of the other end's own. */
static void credits_go_the_other_way_of_a_pair(void **state)
{
    const nbcoll_posting credit = {.kind = NBCOLL_POSTING_SEND, .signal = 1};
    const nbcoll_posting wanted = {.kind = NBCOLL_POSTING_RECEIVE};
    const nbcoll_posting wait = {.kind = NBCOLL_POSTING_WAIT, .count = 1};
    char to[2] = "";
    ends e;
    (void)state;
    open_ends(&e);
    nbcoll_posting for_it = wait;
    for_it.completions = e.their_received[0];
    EXPECT(OK, e.call->post(e.ep[1], e.theirs[0], &wanted));
    EXPECT(OK, e.call->post(e.ep[1], e.theirs[0], &for_it));
    EXPECT(OK, await(&e, to, 1));
    sends(&e, 0, "a");
    EXPECT(PENDING, take_any(&e)); /* it waits for the credit */
    EXPECT(OK, e.call->post(e.ep[0], e.mine[0], &credit));
    takes(&e, e.mine[0], to);
    EXPECT(OK, e.call->wait(e.ep[0], e.sent, 1));
    EXPECT(ERR_ARGUMENT, e.call->post(e.ep[0], e.mine[0], &wanted));
    close_ends(&e);
}

static void as_many_receives_are_posted_as_there_is_room_for(void **state)
{
    const nbcoll_posting send = {.kind = NBCOLL_POSTING_SEND};
    nbcoll_shared_receives *second;
    char to[2] = "";
    ends e;
    (void)state;
    open_ends(&e);
    for (int i = 0; i < DEPTH; i++)
        EXPECT(OK, await(&e, to, 1));
    EXPECT(ERR_LIMIT, await(&e, to, 1));
    sends(&e, 0, "a");
    EXPECT(ERR_LIMIT, await(&e, to, 1)); /* its entry is not taken */
    takes(&e, e.mine[0], to);
    EXPECT(OK, await(&e, to, 1));
    EXPECT(ERR_ARGUMENT, e.call->post_shared(e.ep[0], e.shared, &send));
    EXPECT(ERR_BUSY, e.call->open_shared(e.ep[0], DEPTH, e.received, &second));
    EXPECT(ERR_LIMIT, e.call->open_shared(e.ep[0], 0, e.sent, &second));
    EXPECT(ERR_ARGUMENT, e.call->take(e.ep[0], e.sent, &(nbcoll_shared_arrival){0}));
    close_ends(&e);
}

static void a_message_that_is_too_long_ends_its_pair_and_no_other(void **state)
{
    char to[2][4] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    EXPECT(OK, await(&e, to[0], 1));
    sends(&e, 0, "ab");
    sends(&e, 0, "c");
    EXPECT(ERR_TRANSPORT, take_any(&e));
    assert_int_equal(to[0][0], 0);
    sends(&e, 1, "d");
    takes(&e, e.mine[1], to[0]); /* it is still there */
    assert_string_equal(to[0], "d");
    EXPECT(OK, await(&e, to[1], 4));
    EXPECT(ERR_TRANSPORT, take_any(&e)); /* what stood behind it does not come */
    EXPECT(ERR_TRANSPORT, e.call->wait(e.ep[1], e.their_sent[0], 1));
    close_ends(&e);
}

static void a_lost_pair_leaves_the_others_messages_coming(void **state)
{
    char to[4][2] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, await(&e, to[i], 1));
    sends(&e, 0, "a");
    e.call->close(e.ep[1], e.theirs[0], NULL);
    e.theirs[0] = NULL;
    sends(&e, 1, "b");
    takes(&e, e.mine[0], to[0]);
    takes(&e, e.mine[1], to[1]);
    EXPECT(ERR_PEER_LOST, take_any(&e));
    sends(&e, 1, "c");
    takes(&e, e.mine[1], to[2]);
    EXPECT(ERR_PEER_LOST, take_any(&e));
    close_ends(&e);
}

static void a_sender_that_waited_and_has_gone_takes_no_receive(void **state)
{
    char to[2] = "";
    ends e;
    (void)state;
    open_ends(&e);
    sends(&e, 0, "a");
    sends(&e, 1, "b");
    e.call->close(e.ep[1], e.theirs[0], NULL);
    e.theirs[0] = NULL;
    EXPECT(OK, await(&e, to, 1));
    takes(&e, e.mine[1], to);
    assert_string_equal(to, "b");
    close_ends(&e);
}

/* And its memory is named to who must give it back. */
static void an_entry_of_a_pair_that_was_closed_names_no_pair(void **state)
{
    char to[2][2] = {{0}};
    ends e;
    (void)state;
    open_ends(&e);
    EXPECT(OK, await(&e, to[0], 1));
    sends(&e, 0, "a");
    sends(&e, 0, "b"); /* waits */
    e.call->close(e.ep[0], e.mine[0], NULL);
    e.mine[0] = NULL;
    EXPECT(OK, await(&e, to[1], 1));
    takes(&e, NULL, to[0]);
    EXPECT(PENDING, take_any(&e));
    EXPECT(ERR_PEER_LOST, e.call->wait(e.ep[1], e.their_sent[0], 2));
    close_ends(&e);
}

static void a_configuration_without_shared_receives_is_that_of_an_older_header(void **state)
{
    const nbcoll_posting wanted = {.kind = NBCOLL_POSTING_RECEIVE};
    nbcoll_queue_config older = {
        .size = offsetof(nbcoll_queue_config, shared), .peer = 1, .number = 4, .depth = 1};
    nbcoll_queue_pair *pair;
    ends e;
    (void)state;
    open_ends(&e);
    older.shared = e.shared; /* what lies behind it, by chance */
    EXPECT(OK, e.call->open_queue(e.ep[0], &older, &pair));
    EXPECT(OK, e.call->post(e.ep[0], pair, &wanted)); /* it has its own */
    e.call->close(e.ep[0], pair, NULL);
    older.size = 0;
    EXPECT(ERR_CONFIG, e.call->open_queue(e.ep[0], &older, &pair));
    close_ends(&e);
}

static void who_watches_is_woken_when_fewer_than_so_many_are_left(void **state)
{
    char to[DEPTH][2] = {{0}};
    int fd, same;
    ends e;
    (void)state;
    open_ends(&e);
    for (int i = 0; i < DEPTH; i++)
        EXPECT(OK, await(&e, to[i], 1));
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 3, &fd));
    sends(&e, 0, "a");
    assert_false(is_readable(fd)); /* three are left */
    sends(&e, 1, "b");
    assert_true(is_readable(fd));
    takes(&e, e.mine[0], to[0]);
    takes(&e, e.mine[1], to[1]);
    EXPECT(OK, await(&e, to[0], 1));
    assert_true(is_readable(fd)); /* until the next call */
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 3, &same));
    assert_int_equal(fd, same);
    assert_false(is_readable(fd));
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 4, &same));
    assert_true(is_readable(fd)); /* they are fewer already */
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 0, &same));
    assert_false(is_readable(fd));
    sends(&e, 1, "c");
    assert_false(is_readable(fd));
    EXPECT(ERR_LIMIT, e.call->watch_shared(e.ep[0], e.shared, DEPTH + 1, &same));
    close_ends(&e);
}

static void one_descriptor_tells_of_all_shared_receives_of_an_endpoint(void **state)
{
    nbcoll_completion_queue *received;
    nbcoll_shared_receives *second;
    char to[2] = "";
    int fd;
    ends e;
    (void)state;
    open_ends(&e);
    EXPECT(OK, e.call->open_cq(e.ep[0], 1, &received));
    EXPECT(OK, e.call->open_shared(e.ep[0], 1, received, &second));
    EXPECT(OK, await(&e, to, 1));
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 1, &fd));
    EXPECT(OK, e.call->watch_shared(e.ep[0], second, 1, &fd)); /* it has none */
    sends(&e, 0, "a");
    EXPECT(OK, e.call->watch_shared(e.ep[0], second, 0, &fd));
    assert_true(is_readable(fd));
    EXPECT(OK, e.call->watch_shared(e.ep[0], e.shared, 0, &fd));
    assert_false(is_readable(fd));
    EXPECT(OK, e.call->watch_shared(e.ep[0], second, 1, &fd));
    assert_true(is_readable(fd));
    e.call->close_shared(e.ep[0], second); /* takes its news with it */
    e.call->close(e.ep[0], NULL, received);
    assert_false(is_readable(fd));
    close_ends(&e);
}

/* The host's memory runs out at each allocation in turn. */
static int left;

static void *sparing(void *user, size_t bytes, size_t align)
{
    (void)user;
    return left-- > 0 ? aligned_alloc(align, (bytes + align - 1) / align * align) : NULL;
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void without_memory_nothing_is_shared(void **state)
{
    const nbcoll_host host = {.size = sizeof host, .alloc = sparing, .free = give_back};
    const nbcoll_loopback_config config = {
        .size = sizeof config, .ranks = 2, .host = &host, .pairs = nbcoll_loopback_pairs()};
    nbcoll_completion_queue *received;
    nbcoll_shared_receives *shared;
    nbcoll_loopback *loopback;
    nbcoll_endpoint *ep;
    (void)state;
    left = 3; /* a world, an end, a completion queue */
    EXPECT(OK, nbcoll_loopback_create(&config, &loopback));
    EXPECT(OK, nbcoll_loopback_open(loopback, 0, &ep));
    const nbcoll_offload *call = ep->transport->offload;
    EXPECT(OK, call->open_cq(ep, 1, &received));
    EXPECT(ERR_MEMORY, call->open_shared(ep, 1, received, &shared));
    left = 1;
    EXPECT(OK, call->open_shared(ep, 1, received, &shared)); /* nothing had changed */
    call->close_shared(ep, shared);
    call->close(ep, NULL, received);
    nbcoll_endpoint_close(ep);
    EXPECT(OK, nbcoll_loopback_free(loopback));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_receive_posted_first_is_taken_first_whatever_the_pair),
        cmocka_unit_test(messages_of_one_pair_come_in_their_order),
        cmocka_unit_test(a_send_waits_while_no_receive_is_posted),
        cmocka_unit_test(who_waits_longest_for_a_receive_gets_it_and_holds_nobody_up),
        cmocka_unit_test(credits_go_the_other_way_of_a_pair),
        cmocka_unit_test(as_many_receives_are_posted_as_there_is_room_for),
        cmocka_unit_test(a_message_that_is_too_long_ends_its_pair_and_no_other),
        cmocka_unit_test(a_lost_pair_leaves_the_others_messages_coming),
        cmocka_unit_test(a_sender_that_waited_and_has_gone_takes_no_receive),
        cmocka_unit_test(an_entry_of_a_pair_that_was_closed_names_no_pair),
        cmocka_unit_test(a_configuration_without_shared_receives_is_that_of_an_older_header),
        cmocka_unit_test(who_watches_is_woken_when_fewer_than_so_many_are_left),
        cmocka_unit_test(one_descriptor_tells_of_all_shared_receives_of_an_endpoint),
        cmocka_unit_test(without_memory_nothing_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
