/* SPDX-License-Identifier: BSD-3-Clause
 * Small messages that come again go as lines, on channels that their ranks agree on by the first ones; and a line is
 * treated as the message that it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "nbcoll/trace.h"
#include "world.h"

enum { COMMS = 7, LONGEST = 48, WANT = 11 };

/* Two ranks over loopback, whose posts are counted, stepped by one thread. */
typedef struct scene {
    nbcoll_loopback *loopback;
    nbcoll_context *context[2];
    nbcoll_comm *comm[2], *dup[COMMS][2];
    int lines, messages; /* with a payload; of rank 0 */
    int wanted, given;   /* of rank 1: messages that it has asked for; credits that it has given back */
} scene;

static void count(void *user, const nbcoll_trace_event *e)
{
    scene *s = user;
    if (e->posted != NBCOLL_POST_DONE)
        return;
    if (e->rank) {
        uint64_t word = e->call == NBCOLL_TRACE_POST ? e->header->word[3] : 0;
        s->wanted += (word >> 48 & 0xff) == WANT;
        s->given += (int)(word >> 32 & 0xffff);
        return;
    }
    s->lines += e->call == NBCOLL_TRACE_LINE;
    if (e->call != NBCOLL_TRACE_POST || !e->bytes)
        return;
    s->messages++;
}

static void finish(size_t n, nbcoll_request q[])
{
    nbcoll_status s;
    while ((s = nbcoll_test_all(n, q, NULL)) == NBCOLL_PENDING)
        ;
    EXPECT(OK, s);
}

static void scene_open_with(scene *s, uint32_t credits)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 2};
    nbcoll_context_config config = {.size = sizeof config, .credits = credits};
    nbcoll_trace_config trace = {.size = sizeof trace, .user = s, .event = count};
    nbcoll_request q[2];

    memset(s, 0, sizeof *s);
    EXPECT(OK, nbcoll_loopback_create(&loopback, &s->loopback));
    for (int r = 0; r < 2; r++) {
        nbcoll_endpoint *inner, *ep;
        EXPECT(OK, nbcoll_loopback_open(s->loopback, r, &inner));
        EXPECT(OK, nbcoll_trace_open(&trace, inner, &ep));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &config, &s->context[r]));
        EXPECT(OK, nbcoll_comm_icreate(s->context[r], ep, NULL, &s->comm[r], &q[r]));
    }
    finish(2, q);
    for (int i = 0; i < COMMS; i++) {
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_comm_idup(s->comm[r], &s->dup[i][r], &q[r]));
        finish(2, q);
    }
}

static void scene_open(scene *s)
{
    scene_open_with(s, 0);
}

static void scene_close(scene *s)
{
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < COMMS; i++)
            EXPECT(OK, nbcoll_comm_free(s->dup[i][r]));
        EXPECT(OK, nbcoll_comm_free(s->comm[r]));
        EXPECT(OK, nbcoll_context_free(s->context[r]));
    }
    EXPECT(OK, nbcoll_loopback_free(s->loopback));
}

static void bcast(scene *s, nbcoll_comm *const comm[2], size_t bytes, unsigned char value)
{
    unsigned char data[2][LONGEST] = {{0}};
    nbcoll_request q[2];

    memset(data[0], value, bytes);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibcast(data[r], bytes, NBCOLL_BYTE, 0, comm[r], &q[r]));
    finish(2, q);
    assert_memory_equal(data[0], data[1], bytes);
    for (int r = 0; r < 2; r++)
        nbcoll_progress(s->context[r]); /* a rank that only sends need not look at all */
}

static void after_the_first_a_small_message_is_a_line(void **state)
{
    scene s;

    (void)state;
    scene_open(&s);
    for (int i = 0; i < 2; i++)
        bcast(&s, s.comm, 8, (unsigned char)i);
    s.lines = s.messages = 0;
    for (int i = 0; i < 20; i++)
        bcast(&s, s.comm, 8, (unsigned char)(i + 7));
    assert_int_equal(s.lines, 20);
    assert_int_equal(s.messages, 0);
    scene_close(&s);
}

/* The root of a broadcast has nothing to receive, and ends in its start: with many credits nothing makes it look at
 * what has come, which is where the answer to its first messages is. */
static void who_only_sends_hears_of_its_channel_however_many_credits_there_are(void **state)
{
    static const uint32_t credits[] = {64, 1000, 60000};

    (void)state;
    for (size_t c = 0; c < sizeof credits / sizeof *credits; c++) {
        unsigned char data[2] = {0};
        nbcoll_request q[2];
        scene s;
        scene_open_with(&s, credits[c]);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_bcast_init(&data[r], 1, NBCOLL_BYTE, 0, s.comm[r], &q[r]));
        s.lines = s.messages = 0;
        for (int i = 0; i < 200; i++) {
            data[0] = (unsigned char)i;
            for (int r = 0; r < 2; r++) {
                EXPECT(OK, nbcoll_start(&q[r]));
                EXPECT(OK, nbcoll_wait(&q[r], NBCOLL_FOREVER));
            }
            assert_int_equal(data[1], i);
        }
        assert_true(s.messages <= 20);
        assert_true(s.lines >= 180);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_request_free(&q[r]));
        scene_close(&s);
    }
}

static void all_lengths_that_fit_go_as_lines(void **state)
{
    scene s;

    (void)state;
    scene_open(&s);
    for (size_t bytes = 1; bytes <= LONGEST; bytes++) {
        bcast(&s, s.comm, bytes, 1);
        bcast(&s, s.comm, bytes, 2);
        s.lines = 0;
        bcast(&s, s.comm, bytes, 3);
        assert_int_equal(s.lines, 1);
    }
    scene_close(&s);
}

/* More kinds of messages than a pair of ranks has channels, again and again. */
static void channels_are_used_anew(void **state)
{
    scene s;

    (void)state;
    scene_open(&s);
    for (int round = 0; round < 4; round++) {
        s.lines = 0;
        for (int i = 0; i < COMMS; i++)
            for (size_t bytes = 1; bytes <= LONGEST; bytes++)
                for (int again = 0; again < 4; again++)
                    bcast(&s, s.dup[i], bytes, (unsigned char)(16 * round + 4 * i + again));
        assert_true(s.lines >= COMMS * LONGEST);
    }
    scene_close(&s);
}

/* What its receiver has asked for is counted among what is under way: with all credits at home nothing is, so that no
 * message opens its channel in an epoch that has begun since. */
static void a_message_that_is_asked_for_holds_a_credit_too(void **state)
{
    enum { BURST = 4 };
    scene s;

    (void)state;
    scene_open_with(&s, 1);
    s.messages = s.lines = s.wanted = s.given = 0;
    for (int i = 0; i < COMMS; i++) {
        unsigned char data[2][BURST][BURST] = {{{1}, {2, 3}, {4, 5, 6}, {7, 8, 9, 10}}};
        nbcoll_request q[2][BURST];
        for (int r = 0; r < 2; r++)
            for (size_t k = 0; k < BURST; k++)
                EXPECT(OK, nbcoll_ibcast(data[r][k], k + 1, NBCOLL_BYTE, 0, s.dup[i][r], &q[r][k]));
        for (int turn = 0; turn < 100; turn++)
            nbcoll_progress(s.context[turn % 2]);
        for (int r = 0; r < 2; r++)
            finish(BURST, q[r]);
        assert_memory_equal(data[0], data[1], sizeof data[0]);
    }
    assert_true(s.wanted > 0);
    assert_int_equal(s.given, s.messages + s.lines);
    scene_close(&s);
}

/* Rank 1 looks before it starts: what came is kept. */
static void a_line_that_comes_before_its_receive_is_kept(void **state)
{
    double data[2][3] = {{1, 2, 3}, {0}};
    nbcoll_request q[2][3];
    scene s;

    (void)state;
    scene_open(&s);
    for (int i = 0; i < 3; i++)
        bcast(&s, s.comm, 8, 1);
    s.lines = 0;
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibcast(&data[0][i], 1, NBCOLL_DOUBLE, 0, s.comm[0], &q[0][i]));
    assert_int_equal(s.lines, 3);
    for (int i = 0; i < 10; i++)
        nbcoll_progress(s.context[1]);
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibcast(&data[1][i], 1, NBCOLL_DOUBLE, 0, s.comm[1], &q[1][i]));
    finish(3, q[0]);
    finish(3, q[1]);
    assert_memory_equal(data[0], data[1], sizeof data[0]);
    scene_close(&s);
}

/* Rank 1 frees a communicator without having started what comes: its sender learns of it, as by a message. */
static void a_line_of_a_communicator_that_is_gone_is_answered(void **state)
{
    nbcoll_status status = NBCOLL_OK;
    nbcoll_request q;
    double data = 1;
    scene s;

    (void)state;
    scene_open(&s);
    for (int i = 0; i < 3; i++)
        bcast(&s, s.dup[0], 8, 1);
    s.lines = 0;
    EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, s.dup[0][0], &q));
    assert_int_equal(s.lines, 1);
    EXPECT(OK, nbcoll_comm_free(s.dup[0][1]));
    s.dup[0][1] = NULL;
    finish(1, &q);
    for (int i = 0; i < 100 && status == NBCOLL_OK; i++) {
        nbcoll_progress(s.context[1]);
        nbcoll_progress(s.context[0]);
        status = nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, s.dup[0][0], &q);
        if (status == NBCOLL_OK)
            nbcoll_wait(&q, 1000000);
    }
    EXPECT(ERR_MISMATCH, status);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_first_a_small_message_is_a_line),
        cmocka_unit_test(who_only_sends_hears_of_its_channel_however_many_credits_there_are),
        cmocka_unit_test(all_lengths_that_fit_go_as_lines),
        cmocka_unit_test(channels_are_used_anew),
        cmocka_unit_test(a_message_that_is_asked_for_holds_a_credit_too),
        cmocka_unit_test(a_line_that_comes_before_its_receive_is_kept),
        cmocka_unit_test(a_line_of_a_communicator_that_is_gone_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
