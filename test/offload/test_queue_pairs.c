/* SPDX-License-Identifier: BSD-3-Clause
 * The queue pairs of a transport, here loopback's, as transport.h says them: what is held, what waits, what counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "nbcoll/transport.h"
#include "world.h"

typedef struct ends {
    nbcoll_loopback *world;
    nbcoll_endpoint *ep[2];
    const nbcoll_offload *call;
    nbcoll_completion_queue *sent[2], *received[2];
    nbcoll_queue_pair *pair[2];
} ends;

static nbcoll_queue_config config_of(const ends *e, int rank, uint32_t held)
{
    return (nbcoll_queue_config){.size = sizeof(nbcoll_queue_config),
                                 .peer = 1 - rank,
                                 .number = 5,
                                 .depth = 4,
                                 .held = held,
                                 .sent = e->sent[rank],
                                 .received = e->received[rank]};
}

/* Rank 0 holds sends or not, rank 1 receives or not. */
static void open_ends(ends *e, uint32_t held0, uint32_t held1)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 2, .pairs = nbcoll_loopback_pairs()};
    EXPECT(OK, nbcoll_loopback_create(&config, &e->world));
    for (int rank = 0; rank < 2; rank++) {
        EXPECT(OK, nbcoll_loopback_open(e->world, rank, &e->ep[rank]));
        e->call = e->ep[rank]->transport->offload;
        EXPECT(OK, e->call->open_cq(e->ep[rank], 4, &e->sent[rank]));
        EXPECT(OK, e->call->open_cq(e->ep[rank], 4, &e->received[rank]));
        nbcoll_queue_config c = config_of(e, rank, rank ? held1 : held0);
        EXPECT(OK, e->call->open_queue(e->ep[rank], &c, &e->pair[rank]));
    }
}

static void close_ends(ends *e)
{
    for (int rank = 0; rank < 2; rank++)
        if (e->pair[rank])
            e->call->close(e->ep[rank], e->pair[rank], NULL);
    for (int rank = 0; rank < 2; rank++) {
        e->call->close(e->ep[rank], NULL, e->sent[rank]);
        e->call->close(e->ep[rank], NULL, e->received[rank]);
        nbcoll_endpoint_close(e->ep[rank]);
    }
    EXPECT(OK, nbcoll_loopback_free(e->world));
}

static nbcoll_status post(const ends *e, int rank, nbcoll_posting_kind kind, void *memory, size_t bytes)
{
    nbcoll_posting p = {.kind = kind, .signal = 1, .memory = memory, .bytes = bytes};
    return e->call->post(e->ep[rank], e->pair[rank], &p);
}

static void a_send_waits_for_its_receive(void **state)
{
    char from[] = "abc", to[4] = "";
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, from, 4));
    assert_int_equal(NBCOLL_PENDING, e.call->wait(e.ep[0], e.sent[0], 1));
    EXPECT(OK, post(&e, 1, NBCOLL_POSTING_RECEIVE, to, 4));
    assert_string_equal(to, "abc");
    EXPECT(OK, e.call->wait(e.ep[0], e.sent[0], 1));
    EXPECT(OK, e.call->wait(e.ep[1], e.received[1], 1));
    assert_int_equal(NBCOLL_PENDING, e.call->wait(e.ep[1], e.received[1], 1)); /* it was consumed */
    close_ends(&e);
}

static void held_sends_go_when_they_are_enabled_and_so_many(void **state)
{
    char from[] = "ab", to[2] = "";
    ends e;
    (void)state;
    open_ends(&e, 1, 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, post(&e, 1, NBCOLL_POSTING_RECEIVE, &to[i], 1));
        EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, &from[i], 1));
    }
    assert_int_equal(NBCOLL_PENDING, e.call->wait(e.ep[1], e.received[1], 1));
    e.call->enable(e.ep[0], e.pair[0], 1, 0);
    assert_memory_equal(to, "a", 2);
    assert_int_equal(NBCOLL_PENDING, e.call->wait(e.ep[1], e.received[1], 2));
    e.call->enable(e.ep[0], e.pair[0], 1, 0);
    EXPECT(OK, e.call->wait(e.ep[1], e.received[1], 2));
    close_ends(&e);
}

static void held_receives_take_nothing_before_they_are_enabled(void **state)
{
    char from = 'a', to = 0;
    ends e;
    (void)state;
    open_ends(&e, 0, 2);
    EXPECT(OK, post(&e, 1, NBCOLL_POSTING_RECEIVE, &to, 1));
    EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, &from, 1));
    assert_int_equal(to, 0);
    e.call->enable(e.ep[1], e.pair[1], 0, 1);
    assert_int_equal(to, 'a');
    close_ends(&e);
}

/* Rank 0's send waits for a message of rank 1. */
static void a_wait_in_a_send_queue_holds_back_what_stands_behind_it(void **state)
{
    char from = 'a', to = 0;
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    nbcoll_posting wait = {.kind = NBCOLL_POSTING_WAIT, .completions = e.received[0], .count = 1};
    EXPECT(OK, post(&e, 0, NBCOLL_POSTING_RECEIVE, NULL, 0));
    EXPECT(OK, e.call->post(e.ep[0], e.pair[0], &wait));
    EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, &from, 1));
    EXPECT(OK, post(&e, 1, NBCOLL_POSTING_RECEIVE, &to, 1));
    assert_int_equal(to, 0);
    EXPECT(OK, post(&e, 1, NBCOLL_POSTING_SEND, NULL, 0));
    assert_int_equal(to, 'a');
    assert_int_equal(NBCOLL_PENDING, e.call->wait(e.ep[0], e.received[0], 1)); /* the wait has consumed it */
    close_ends(&e);
}

static void a_full_queue_and_a_second_pair_are_refused(void **state)
{
    char byte = 0;
    nbcoll_queue_pair *second;
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    for (int i = 0; i < 4; i++)
        EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, &byte, 1));
    EXPECT(ERR_LIMIT, post(&e, 0, NBCOLL_POSTING_SEND, &byte, 1));
    nbcoll_queue_config c = config_of(&e, 0, 0);
    EXPECT(ERR_DUPLICATE, e.call->open_queue(e.ep[0], &c, &second));
    c.peer = 2;
    EXPECT(ERR_RANK, e.call->open_queue(e.ep[0], &c, &second));
    close_ends(&e);
}

static void a_message_that_does_not_fit_is_an_error_and_not_cut(void **state)
{
    char from[] = "ab", to[2] = "";
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    EXPECT(OK, post(&e, 1, NBCOLL_POSTING_RECEIVE, to, 1));
    EXPECT(OK, post(&e, 0, NBCOLL_POSTING_SEND, from, 2));
    EXPECT(ERR_TRANSPORT, e.call->wait(e.ep[1], e.received[1], 1));
    assert_int_equal(to[0], 0);
    close_ends(&e);
}

static void a_closed_pair_is_news_to_its_peer_whenever_that_opens(void **state)
{
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    e.call->close(e.ep[0], e.pair[0], NULL);
    EXPECT(ERR_PEER_LOST, e.call->wait(e.ep[1], e.received[1], 1));
    e.call->close(e.ep[1], e.pair[1], NULL);
    nbcoll_queue_config c = config_of(&e, 0, 0);
    c.number = 6;
    EXPECT(OK, e.call->open_queue(e.ep[0], &c, &e.pair[0]));
    e.call->close(e.ep[0], e.pair[0], NULL); /* before rank 1 has come */
    e.pair[0] = NULL;
    e.call->close(e.ep[1], NULL, e.received[1]);
    EXPECT(OK, e.call->open_cq(e.ep[1], 4, &e.received[1]));
    c = config_of(&e, 1, 0);
    c.number = 6;
    EXPECT(OK, e.call->open_queue(e.ep[1], &c, &e.pair[1]));
    EXPECT(ERR_PEER_LOST, e.call->wait(e.ep[1], e.received[1], 1));
    close_ends(&e);
}

static void what_came_before_a_pair_is_closed_is_counted(void **state)
{
    char memory[2][2] = {"a", ""};
    ends e;
    (void)state;
    open_ends(&e, 0, 0);
    const nbcoll_posting send = {.kind = NBCOLL_POSTING_SEND, .memory = memory[0], .bytes = 2, .signal = 1};
    const nbcoll_posting receive = {.kind = NBCOLL_POSTING_RECEIVE, .memory = memory[1], .bytes = 2};
    EXPECT(OK, e.call->post(e.ep[1], e.pair[1], &receive));
    EXPECT(OK, e.call->post(e.ep[0], e.pair[0], &send));
    EXPECT(OK, e.call->wait(e.ep[0], e.sent[0], 1));
    e.call->close(e.ep[1], e.pair[1], NULL);
    e.pair[1] = NULL;
    EXPECT(OK, e.call->wait(e.ep[1], e.received[1], 1));
    close_ends(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_send_waits_for_its_receive),
        cmocka_unit_test(held_sends_go_when_they_are_enabled_and_so_many),
        cmocka_unit_test(held_receives_take_nothing_before_they_are_enabled),
        cmocka_unit_test(a_wait_in_a_send_queue_holds_back_what_stands_behind_it),
        cmocka_unit_test(a_full_queue_and_a_second_pair_are_refused),
        cmocka_unit_test(a_message_that_does_not_fit_is_an_error_and_not_cut),
        cmocka_unit_test(a_closed_pair_is_news_to_its_peer_whenever_that_opens),
        cmocka_unit_test(what_came_before_a_pair_is_closed_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
