/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue pairs of verbs, as test/offload/test_queue_pairs.c has loopback's: what does not fit, what was closed, and
 * what had come by then. Runs in a guest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <nbcoll/verbs.h>

#include "crew.h"

typedef struct ends {
    nbcoll_endpoint *end[2];
    const nbcoll_offload *call;
    nbcoll_queue_pair *pair[2];
    nbcoll_completion_queue *received[2];
} ends;

static void open_ends(ends *e)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_verbs_address all[2];

    for (config.rank = 0; config.rank < 2; config.rank++)
        assert_int_equal(nbcoll_verbs_open(&config, &all[config.rank], &e->end[config.rank]), NBCOLL_OK);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(nbcoll_verbs_meet(e->end[rank], all), NBCOLL_OK);
    e->call = e->end[0]->transport->offload;
}

static void open_pair(ends *e, int rank)
{
    assert_int_equal(e->call->open_cq(e->end[rank], 4, &e->received[rank]), NBCOLL_OK);
    const nbcoll_queue_config config = {.size = sizeof config,
                                        .peer = 1 - rank,
                                        .number = 5,
                                        .depth = 4,
                                        .sent = e->received[rank],
                                        .received = e->received[rank]};
    nbcoll_queue_pair *second;
    assert_int_equal(e->call->open_queue(e->end[rank], &config, &e->pair[rank]), NBCOLL_OK);
    assert_int_equal(e->call->open_queue(e->end[rank], &config, &second), NBCOLL_ERR_DUPLICATE);
}

static void close_pair(ends *e, int rank)
{
    e->call->close(e->end[rank], e->pair[rank], NULL);
    e->call->close(e->end[rank], NULL, e->received[rank]);
}

/* What rank 1 has come to, while rank 0 goes on, too, if it has a pair. */
static nbcoll_status end_at_1(const ends *e, bool has_0)
{
    nbcoll_status status;
    uint64_t since = clock_ns();

    while ((status = e->call->wait(e->end[1], e->received[1], 1)) == NBCOLL_PENDING) {
        assert_true(clock_ns() - since < 60 * SECOND);
        if (has_0)
            assert_int_equal(e->call->wait(e->end[0], e->received[0], 1), NBCOLL_PENDING);
    }
    return status;
}

/* Rank 0 knows that its message has come, before rank 1 looks, which closes its pair. */
static nbcoll_status end_closed_at_1(const ends *e)
{
    nbcoll_status status;
    uint64_t since = clock_ns();

    while ((status = e->call->wait(e->end[0], e->received[0], 1)) == NBCOLL_PENDING)
        assert_true(clock_ns() - since < 60 * SECOND);
    assert_int_equal(status, NBCOLL_OK);
    e->call->close(e->end[1], e->pair[1], NULL);
    return e->call->wait(e->end[1], e->received[1], 1);
}

/* From rank 0 to rank 1. */
static nbcoll_status pass(ends *e, char *memory, size_t room, size_t bytes, bool closes)
{
    const nbcoll_bulk *bulk = e->end[0]->transport->bulk;
    nbcoll_registration local[2];

    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(bulk->register_memory(e->end[rank], -1, memory, 64, NBCOLL_LOCAL_END, &local[rank]),
                         NBCOLL_OK);
    const nbcoll_posting
        send = {.kind = NBCOLL_POSTING_SEND, .memory = memory, .bytes = bytes, .local = &local[0], .signal = closes},
        receive = {.kind = NBCOLL_POSTING_RECEIVE, .memory = memory + 32, .bytes = room, .local = &local[1]};
    assert_int_equal(e->call->post(e->end[0], e->pair[0], &send), NBCOLL_OK); /* waits for its receive */
    assert_int_equal(e->call->wait(e->end[1], e->received[1], 1), NBCOLL_PENDING);
    assert_int_equal(e->call->post(e->end[1], e->pair[1], &receive), NBCOLL_OK);
    nbcoll_status status = closes ? end_closed_at_1(e) : end_at_1(e, true);
    for (int rank = 0; rank < 2; rank++)
        bulk->deregister_memory(e->end[rank], &local[rank]);
    return status;
}

static void a_message_that_does_not_fit_is_an_error_and_not_cut(void **state)
{
    char memory[64] = "ab";
    ends e;

    (void)state;
    open_ends(&e);
    for (int rank = 0; rank < 2; rank++)
        open_pair(&e, rank);
    assert_int_equal(pass(&e, memory, 2, 2, false), NBCOLL_OK);
    assert_memory_equal(memory + 32, "ab", 2);
    assert_int_equal(pass(&e, memory, 1, 2, false), NBCOLL_ERR_TRANSPORT);
    for (int rank = 0; rank < 2; rank++) {
        close_pair(&e, rank);
        nbcoll_endpoint_close(e.end[rank]);
    }
}

static void a_closed_pair_is_news_to_its_peer_whenever_that_opens(void **state)
{
    char memory[64] = "ab";
    ends e;

    (void)state;
    open_ends(&e);
    open_pair(&e, 0);
    close_pair(&e, 0);
    open_pair(&e, 1);
    assert_int_equal(end_at_1(&e, false), NBCOLL_ERR_PEER_LOST);
    close_pair(&e, 1);
    for (int rank = 0; rank < 2; rank++) /* anew */
        open_pair(&e, rank);
    assert_int_equal(pass(&e, memory, 2, 2, false), NBCOLL_OK);
    close_pair(&e, 0);
    assert_int_equal(end_at_1(&e, false), NBCOLL_ERR_PEER_LOST);
    close_pair(&e, 1);
    for (int rank = 0; rank < 2; rank++)
        nbcoll_endpoint_close(e.end[rank]);
}

static void what_came_before_a_pair_is_closed_is_counted(void **state)
{
    char memory[64] = "ab";
    ends e;

    (void)state;
    open_ends(&e);
    for (int rank = 0; rank < 2; rank++)
        open_pair(&e, rank);
    assert_int_equal(pass(&e, memory, 2, 2, false), NBCOLL_OK); /* they are joined */
    assert_int_equal(pass(&e, memory, 2, 2, true), NBCOLL_OK);
    e.call->close(e.end[1], NULL, e.received[1]);
    close_pair(&e, 0);
    for (int rank = 0; rank < 2; rank++)
        nbcoll_endpoint_close(e.end[rank]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_does_not_fit_is_an_error_and_not_cut),
        cmocka_unit_test(a_closed_pair_is_news_to_its_peer_whenever_that_opens),
        cmocka_unit_test(what_came_before_a_pair_is_closed_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
