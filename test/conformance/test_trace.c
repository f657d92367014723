/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What trace tells: every call, in order, with what it was given and what it said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/trace.h"

#include "ends.h"

/* Rank 0 of two, traced, and what was told of it. */
struct traced {
    nbcoll_loopback *world;
    nbcoll_endpoint *end[2];
    size_t told;
    nbcoll_trace_event event[16];
    nbcoll_header header[16]; /* copied: good only during the call */
};

static void keep(void *user, const nbcoll_trace_event *event)
{
    struct traced *t = user;
    assert_true(t->told < 16);
    if (event->header)
        t->header[t->told] = *event->header;
    t->event[t->told++] = *event;
}

static void traced_open(struct traced *t, const nbcoll_loopback_config *config)
{
    const nbcoll_trace_config trace = {.size = sizeof trace, .user = t, .event = keep};
    memset(t, 0, sizeof *t);
    t->world = loopback_ends(config, 2, 0, t->end);
    assert_int_equal(nbcoll_trace_open(&trace, t->end[0], &t->end[0]), NBCOLL_OK);
}

static void traced_close(struct traced *t)
{
    t->told = 0;
    nbcoll_endpoint_close(t->end[0]);
    nbcoll_endpoint_close(t->end[1]);
    assert_int_equal(t->told, 1);
    assert_int_equal(t->event[0].call, NBCOLL_TRACE_CLOSE);
    assert_int_equal(nbcoll_loopback_free(t->world), NBCOLL_OK);
}

/* The only thing told since the last look. */
static const nbcoll_trace_event *the_event(struct traced *t, nbcoll_trace_call call)
{
    assert_int_equal(t->told, 1);
    assert_int_equal(t->event[0].call, call);
    assert_int_equal(t->event[0].rank, 0);
    t->told = 0;
    return &t->event[0];
}

static void a_post_is_told_with_its_answer(void **state)
{
    struct traced t;
    nbcoll_header header = {{77}};
    nbcoll_work work = {0};
    (void)state;
    traced_open(&t, LOOPBACK(.depth = 1));
    for (int i = 0; i < 2; i++) { /* there is room for one */
        nbcoll_posted said = t.end[0]->transport->post(t.end[0], 1, &header, "payload", 8, &work);
        const nbcoll_trace_event *e = the_event(&t, NBCOLL_TRACE_POST);
        assert_int_equal(said, i ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_DONE);
        assert_int_equal(e->posted, said);
        assert_int_equal(e->peer, 1);
        assert_int_equal(t.header[0].word[0], 77);
        assert_string_equal(e->payload, "payload");
        assert_int_equal(e->bytes, 8);
        assert_ptr_equal(e->work, &work);
    }
    traced_close(&t);
}

static void a_progress_is_told_before_what_it_brought(void **state)
{
    struct traced t;
    nbcoll_work work[3] = {{0}}, theirs = {0};
    (void)state;
    traced_open(&t, LOOPBACK(.flags = NBCOLL_LOOPBACK_LEND));
    progress(t.end[0]);
    assert_int_equal(the_event(&t, NBCOLL_TRACE_PROGRESS)->bytes, 0);
    assert_int_equal(post_word(t.end[1], 0, 11, &theirs), NBCOLL_POST_IN_FLIGHT);
    assert_ptr_equal(progress(t.end[1]).completed, &theirs);
    assert_int_equal(post_word(t.end[0], 0, 12, &work[0]), NBCOLL_POST_IN_FLIGHT);
    assert_int_equal(the_event(&t, NBCOLL_TRACE_POST)->posted, NBCOLL_POST_IN_FLIGHT);
    assert_int_equal(post_word(t.end[0], 1, 13, &work[1]), NBCOLL_POST_IN_FLIGHT);
    t.end[0]->transport->cancel(t.end[0], &work[1]);
    assert_int_equal(t.event[1].call, NBCOLL_TRACE_CANCEL);
    assert_ptr_equal(t.event[1].work, &work[1]);
    t.told = 0;
    progress(t.end[0]);
    const int calls[] = {NBCOLL_TRACE_PROGRESS, NBCOLL_TRACE_ARRIVED, NBCOLL_TRACE_ARRIVED, NBCOLL_TRACE_COMPLETED,
                         NBCOLL_TRACE_COMPLETED};
    assert_int_equal(t.told, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(t.event[i].call, calls[i]);
    assert_int_equal(t.event[0].bytes, 4);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(t.header[i].word[0], t.event[i].peer ? 11 : 12);
        assert_int_equal(t.event[i].status, NBCOLL_OK);
    }
    for (int i = 3; i <= 4; i++)
        assert_int_equal(t.event[i].status, t.event[i].work == &work[1] ? NBCOLL_ERR_CANCELLED : NBCOLL_OK);
    traced_close(&t);
}

static void lines_are_told(void **state)
{
    struct traced t;
    const nbcoll_trace_event *e;
    (void)state;
    traced_open(&t, LOOPBACK(.depth = 1));
    const nbcoll_lines *lines = t.end[0]->transport->lines;
    for (int i = 0; i < 2; i++) { /* there is room for one */
        nbcoll_posted said = lines->post(t.end[0], 0, 3, 7, "payload", 8);
        e = the_event(&t, NBCOLL_TRACE_LINE);
        assert_int_equal(said, i ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_DONE);
        assert_int_equal(e->posted, said);
        assert_int_equal(e->peer, 0);
        assert_int_equal(e->channel, 3);
        assert_int_equal(e->turn, 7);
        assert_string_equal(e->payload, "payload");
        assert_int_equal(e->bytes, 8);
    }
    progress(t.end[0]);
    assert_int_equal(t.told, 2);
    assert_int_equal(t.event[0].bytes, 1);
    e = &t.event[1];
    assert_int_equal(e->call, NBCOLL_TRACE_LINE_ARRIVED);
    assert_int_equal(e->peer, 0);
    assert_int_equal(e->channel, 3);
    assert_int_equal(e->turn, 7);
    assert_string_equal(e->payload, "payload");
    assert_int_equal(e->bytes, 8);
    traced_close(&t);
}

static void bulk_calls_are_told(void **state)
{
    struct traced t;
    const nbcoll_trace_event *e;
    char memory[100] = "something to read", to[100];
    nbcoll_work work = {0};
    nbcoll_registration r = {{{0}}, {0}};
    (void)state;
    traced_open(&t, LOOPBACK(.depth = 1));
    const nbcoll_bulk *bulk = t.end[0]->transport->bulk;
    assert_int_equal(bulk->register_memory(t.end[0], 1, memory, 100, NBCOLL_PEER_READS, &r), NBCOLL_OK);
    e = the_event(&t, NBCOLL_TRACE_REGISTER);
    assert_ptr_equal(e->payload, memory);
    assert_int_equal(e->bytes, 100);
    assert_int_equal(e->status, NBCOLL_OK);
    assert_ptr_equal(e->key, &r.key);
    assert_int_equal(bulk->get(t.end[0], 0, &r.key, 10, NULL, to, 8, &work), NBCOLL_POST_DONE);
    e = the_event(&t, NBCOLL_TRACE_GET);
    assert_ptr_equal(e->key, &r.key);
    assert_int_equal(e->offset, 10);
    assert_int_equal(e->bytes, 8);
    assert_ptr_equal(e->payload, to);
    assert_string_equal(to, "to read");
    assert_int_equal(bulk->register_memory(t.end[0], 1, NULL, 100, NBCOLL_PEER_READS, &r), NBCOLL_ERR_BUFFER);
    assert_int_equal(the_event(&t, NBCOLL_TRACE_REGISTER)->status, NBCOLL_ERR_BUFFER);
    assert_null(bulk->deregister_memory); /* as inside */
    assert_null(bulk->reaches);
    traced_close(&t);
}

static void arm_is_told_with_its_status(void **state)
{
    struct traced t;
    nbcoll_work work = {0};
    (void)state;
    traced_open(&t, LOOPBACK(.depth = 1));
    assert_int_equal(t.end[0]->transport->wakeup->arm(t.end[0]), NBCOLL_OK);
    assert_int_equal(the_event(&t, NBCOLL_TRACE_ARM)->status, NBCOLL_OK);
    assert_int_equal(post_word(t.end[1], 0, 1, &work), NBCOLL_POST_DONE);
    assert_int_equal(t.end[0]->transport->wakeup->arm(t.end[0]), NBCOLL_AGAIN);
    assert_int_equal(the_event(&t, NBCOLL_TRACE_ARM)->status, NBCOLL_AGAIN);
    traced_close(&t);
}

/* A transport that only reports rank 1 as lost and rank 0 as left; what it may not do here it has from loopback. */
static void lose(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    found->lost = 1;
    found->departed = 0;
}

static void close_nothing(nbcoll_endpoint *ep)
{
    (void)ep;
}

static void a_loss_and_a_leave_are_told_and_missing_groups_stay_missing(void **state)
{
    struct traced t;
    nbcoll_endpoint *ep;
    const nbcoll_trace_config trace = {.size = sizeof trace, .user = &t, .event = keep};
    (void)state;
    traced_open(&t, LOOPBACK(.depth = 1));
    nbcoll_transport table = *t.end[1]->transport;
    nbcoll_endpoint inner = {.transport = &table, .rank = 1, .ranks = 2};
    table.size = offsetof(nbcoll_transport, bulk); /* what lies beyond is not the transport's */
    table.progress = lose;
    table.close = close_nothing;
    assert_int_equal(nbcoll_trace_open(&trace, &inner, &ep), NBCOLL_OK);
    assert_null(ep->transport->bulk);
    assert_null(ep->transport->wakeup);
    assert_int_equal(progress(ep).lost, 1);
    assert_int_equal(t.told, 3);
    assert_int_equal(t.event[1].call, NBCOLL_TRACE_LOST);
    assert_int_equal(t.event[1].peer, 1);
    assert_int_equal(t.event[1].rank, 1);
    assert_int_equal(t.event[2].call, NBCOLL_TRACE_LEFT);
    assert_int_equal(t.event[2].peer, 0);
    nbcoll_endpoint_close(ep);
    traced_close(&t);
}

static void what_cannot_be_traced_stays_the_callers(void **state)
{
    struct counted counted;
    struct traced t;
    nbcoll_endpoint *out = NULL;
    nbcoll_trace_config trace = {.size = sizeof trace, .host = &counted.host, .user = &t, .event = keep};
    (void)state;
    counted_host(&counted);
    traced_open(&t, LOOPBACK(.depth = 1));
    counted.fail_at = 1;
    assert_int_equal(nbcoll_trace_open(&trace, t.end[1], &out), NBCOLL_ERR_MEMORY);
    assert_int_equal(nbcoll_trace_open(NULL, t.end[1], &out), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_trace_open(&trace, NULL, &out), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_trace_open(&trace, t.end[1], NULL), NBCOLL_ERR_NULL);
    trace.event = NULL;
    assert_int_equal(nbcoll_trace_open(&trace, t.end[1], &out), NBCOLL_ERR_NULL);
    trace.event = keep;
    trace.size = 1;
    assert_int_equal(nbcoll_trace_open(&trace, t.end[1], &out), NBCOLL_ERR_CONFIG);
    trace.size = sizeof trace;
    nbcoll_transport table = *t.end[1]->transport;
    nbcoll_endpoint other = *t.end[1];
    other.transport = &table;
    other.owner = (nbcoll_context *)(void *)&other; /* some context's */
    assert_int_equal(nbcoll_trace_open(&trace, &other, &out), NBCOLL_ERR_BUSY);
    table.abi++;
    assert_int_equal(nbcoll_trace_open(&trace, &other, &out), NBCOLL_ERR_ABI);
    assert_null(out);
    assert_int_equal(nbcoll_trace_open(&trace, t.end[1], &out), NBCOLL_OK);
    nbcoll_endpoint_close(out);
    t.end[1] = NULL;
    assert_int_equal(counted.bytes, 0);
    traced_close(&t);
}

static void every_call_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_trace_call_name(NBCOLL_TRACE_POST), "post");
    assert_string_equal(nbcoll_trace_call_name(NBCOLL_TRACE_CLOSE), "close");
    assert_string_equal(nbcoll_trace_call_name(NBCOLL_TRACE_COUNT), "?");
    assert_string_equal(nbcoll_trace_call_name((nbcoll_trace_call)-1), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_post_is_told_with_its_answer),
        cmocka_unit_test(a_progress_is_told_before_what_it_brought),
        cmocka_unit_test(lines_are_told),
        cmocka_unit_test(bulk_calls_are_told),
        cmocka_unit_test(arm_is_told_with_its_status),
        cmocka_unit_test(a_loss_and_a_leave_are_told_and_missing_groups_stay_missing),
        cmocka_unit_test(what_cannot_be_traced_stays_the_callers),
        cmocka_unit_test(every_call_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
