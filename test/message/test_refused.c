/* SPDX-License-Identifier: BSD-3-Clause
 * What a call refuses, and what becomes of messages that nobody takes: cancelled, too many, after a close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

static unsigned char long_one[20000];

static nbcoll_status packs(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_OK;
}

static void arguments_are_checked_at_the_call(void **state)
{
    const nbcoll_host_type packing = {.size = sizeof packing, .extent = 8, .packed = 4, .pack = packs, .unpack = packs};
    const nbcoll_host_type piling = {.size = sizeof piling, .packed = 4, .pack = packs, .unpack = packs};
    nbcoll_request q = NBCOLL_REQUEST_NULL, as_before = q;
    int value = 7;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    nbcoll_messages *m = p.m[0];
    EXPECT(ERR_NULL, nbcoll_isend(&value, 1, NBCOLL_INT, 1, 0, NULL, &q));
    EXPECT(ERR_NULL, nbcoll_isend(&value, 1, NBCOLL_INT, 1, 0, m, NULL));
    EXPECT(ERR_BUFFER, nbcoll_isend(NULL, 1, NBCOLL_INT, 1, 0, m, &q));
    EXPECT(ERR_BUFFER, nbcoll_irecv(NULL, 1, NBCOLL_INT, 1, 0, m, NULL, &q));
    EXPECT(ERR_BUFFER, nbcoll_isend(NBCOLL_IN_PLACE, 1, NBCOLL_INT, 1, 0, m, &q));
    EXPECT(ERR_COUNT, nbcoll_isend(&value, SIZE_MAX, NBCOLL_INT, 1, 0, m, &q));
    EXPECT(ERR_TYPE, nbcoll_isend(&value, 1, NBCOLL_TYPE_COUNT, 1, 0, m, &q));
    EXPECT(ERR_COUNT, nbcoll_isend(&value, SIZE_MAX / 6, nbcoll_type_of(&packing), 1, 0, m, &q));
    EXPECT(ERR_TYPE, nbcoll_irecv(&value, 2, nbcoll_type_of(&piling), 1, 0, m, NULL, &q));
    EXPECT(ERR_RANK, nbcoll_isend(&value, 1, NBCOLL_INT, 2, 0, m, &q));
    EXPECT(ERR_RANK, nbcoll_isend(&value, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 0, m, &q));
    EXPECT(ERR_RANK, nbcoll_issend(&value, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 0, m, &q));
    EXPECT(ERR_RANK, nbcoll_send_init(&value, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, 0, m, &q));
    EXPECT(ERR_RANK, nbcoll_irecv(&value, 1, NBCOLL_INT, -2, 0, m, NULL, &q));
    EXPECT(ERR_TAG, nbcoll_isend(&value, 1, NBCOLL_INT, 1, -2, m, &q));
    EXPECT(ERR_TAG, nbcoll_isend(&value, 1, NBCOLL_INT, 1, NBCOLL_ANY_TAG, m, &q));
    EXPECT(ERR_TAG, nbcoll_irecv(&value, 1, NBCOLL_INT, 1, -2, m, NULL, &q));
    EXPECT(ERR_TAG, nbcoll_sendrecv(&value, 1, NBCOLL_INT, 1, -1, &value, 1, NBCOLL_INT, 1, 0, m, NULL, 0));
    EXPECT(ERR_NULL, nbcoll_iprobe(0, 0, m, NULL));
    EXPECT(ERR_TAG, nbcoll_iprobe(0, -2, m, &(nbcoll_message_info){0}));
    assert_int_equal(nbcoll_comm_active(p.w.comm[0]), 0);
    assert_memory_equal(&q, &as_before, sizeof q);
    assert_int_equal(value, 7);
    party_close(&p);
}

static void configurations_are_checked(void **state)
{
    const nbcoll_messages_config bad[] = {{.size = sizeof *bad, .credits = 8193},
                                          {.size = sizeof *bad, .eager = (1u << 30) + 1},
                                          {.size = sizeof *bad, .announced = 16385}};
    nbcoll_messages *m;
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++)
        EXPECT(ERR_CONFIG, nbcoll_messages_iopen(w.comm[0], &bad[i], &m, &q));
    EXPECT(ERR_NULL, nbcoll_messages_iopen(NULL, NULL, &m, &q));
    EXPECT(OK, nbcoll_messages_close(NULL));
    world_close(&w);
}

static void nothing_is_sent_before_they_are_open(void **state)
{
    nbcoll_messages *m[2];
    nbcoll_request q[2], other;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_messages_iopen(w.comm[0], NULL, &m[0], &q[0]));
    EXPECT(ERR_BUSY, nbcoll_isend(&w, 1, NBCOLL_BYTE, 1, 0, m[0], &other));
    EXPECT(ERR_BUSY, nbcoll_messages_close(m[0]));
    EXPECT(OK, nbcoll_messages_iopen(w.comm[1], NULL, &m[1], &q[1]));
    world_finish(&w, 2, q);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_BUSY, nbcoll_comm_free(w.comm[r]));
        EXPECT(OK, nbcoll_messages_close(m[r]));
    }
    world_close(&w);
}

static void a_receive_that_is_cancelled_gets_nothing(void **state)
{
    int in = 3, out[2] = {0, 0};
    nbcoll_request q[2];
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(OK, nbcoll_irecv(&out[0], 1, NBCOLL_INT, 0, 0, p.m[1], NULL, &q[0]));
    EXPECT(ERR_BUSY, nbcoll_messages_close(p.m[1]));
    EXPECT(OK, nbcoll_cancel(q[0]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&q[0]));
    EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 1, 0, p.m[0], &q[0]));
    EXPECT(OK, nbcoll_irecv(&out[1], 1, NBCOLL_INT, 0, 0, p.m[1], NULL, &q[1]));
    world_finish(&p.w, 2, q);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 3);
    party_close(&p);
}

/* Its number keeps its place: what was sent behind it comes. */
static void an_announced_send_can_be_withdrawn(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int steps = 0; steps < 6; steps++) {
            int in = 4, is = 0;
            nbcoll_request q[3];
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, p.m[0], &q[0]));
            EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 1, 0, p.m[0], &q[1]));
            for (int i = 0; i < steps; i++)
                world_step(&p.w);
            EXPECT(OK, nbcoll_cancel(q[0]));
            assert_int_equal(party_end(&p, &q[0]), NBCOLL_ERR_CANCELLED);
            EXPECT(OK, nbcoll_irecv(&is, 1, NBCOLL_INT, 0, 0, p.m[1], NULL, &q[2]));
            world_finish(&p.w, 2, &q[1]);
            assert_int_equal(is, 4);
            party_close(&p);
        }
}

static void a_send_that_has_been_matched_is_not_withdrawn(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        static unsigned char out[sizeof long_one];
        nbcoll_request q[2];
        party p;
        party_open(&p, 2, variant, NULL, NULL);
        EXPECT(OK, nbcoll_irecv(out, sizeof out, NBCOLL_BYTE, 0, 0, p.m[1], NULL, &q[1]));
        EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, p.m[0], &q[0]));
        for (int i = 0; i < 30; i++)
            nbcoll_progress(p.w.context[1]);
        EXPECT(OK, nbcoll_cancel(q[0]));
        world_finish(&p.w, 2, q);
        party_close(&p);
    }
}

static void what_this_rank_sends_itself_can_be_cancelled(void **state)
{
    nbcoll_request q;
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 0, 0, p.m[0], &q));
    EXPECT(PENDING, nbcoll_test(&q));
    EXPECT(OK, nbcoll_cancel(q));
    EXPECT(ERR_CANCELLED, nbcoll_test(&q));
    party_close(&p);
}

static void announcements_are_bounded(void **state)
{
    const nbcoll_messages_config config = {.size = sizeof config, .announced = 3};
    nbcoll_request q[4];
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, &config);
    for (int i = 0; i < 4; i++)
        EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, p.m[0], &q[i]));
    EXPECT(ERR_LIMIT, nbcoll_test(&q[3]));
    EXPECT(OK, nbcoll_messages_close(p.m[1]));
    for (int i = 0; i < 3; i++)
        assert_int_equal(party_end(&p, &q[i]), NBCOLL_ERR_CANCELLED);
    EXPECT(OK, nbcoll_messages_close(p.m[0]));
    world_close(&p.w);
}

/* Whether it announces before the close or after it, and though the communicator be freed. */
static void who_sends_to_a_rank_that_has_closed_is_told(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int when = 0; when < 3; when++) {
            nbcoll_request q;
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            if (when == 0) {
                EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, p.m[0], &q));
                for (int i = 0; i < 20; i++)
                    world_step(&p.w);
            }
            EXPECT(OK, nbcoll_messages_close(p.m[1]));
            if (when == 2)
                EXPECT(OK, nbcoll_comm_free(p.w.comm[1]));
            if (when)
                EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, p.m[0], &q));
            assert_int_equal(party_end(&p, &q), NBCOLL_ERR_CANCELLED);
            EXPECT(OK, nbcoll_isend(long_one, 8, NBCOLL_BYTE, 1, 0, p.m[0], &q)); /* goes nowhere */
            assert_int_equal(party_end(&p, &q), NBCOLL_OK);
            EXPECT(OK, nbcoll_messages_close(p.m[0]));
            if (when == 2)
                p.w.comm[1] = NULL;
            world_close(&p.w);
        }
}

/* The ranks hear on channels of different numbers: rank 1 has had messages of its own before. */
static void who_announces_to_a_rank_that_closes_is_told_by_its_own_number(void **state)
{
    nbcoll_comm *own[2];
    nbcoll_messages *m[2], *before;
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_isplit(w.comm[r], r, 0, &own[r], &q[r]));
    world_finish(&w, 2, q);
    EXPECT(OK, nbcoll_messages_open(own[1], NULL, &before, NBCOLL_FOREVER));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_iopen(w.comm[r], NULL, &m[r], &q[r]));
    world_finish(&w, 2, q);
    for (int when = 0; when < 2; when++) {
        EXPECT(OK, nbcoll_isend(long_one, sizeof long_one, NBCOLL_BYTE, 1, 0, m[0], &q[0]));
        for (int i = 0; i < 20; i++)
            world_step(&w);
        if (when == 0)
            EXPECT(OK, nbcoll_messages_close(m[1]));
        nbcoll_status s;
        world_settle(&w, 1, q, &s);
        assert_int_equal(s, NBCOLL_ERR_CANCELLED);
    }
    EXPECT(OK, nbcoll_messages_close(m[0]));
    EXPECT(OK, nbcoll_messages_close(before));
    world_close(&w);
}

static void a_persistent_request_outlives_its_messages(void **state)
{
    nbcoll_request q;
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    EXPECT(OK, nbcoll_send_init(long_one, 8, NBCOLL_BYTE, 0, 0, p.m[0], &q));
    party_close_messages(&p);
    EXPECT(ERR_REQUEST, nbcoll_start(&q));
    EXPECT(OK, nbcoll_request_free(&q));
    world_close(&p.w);
}

static void a_deadline_names_the_rank_and_the_tag(void **state)
{
    nbcoll_failure failure;
    nbcoll_request q;
    char text[200];
    int value;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(OK, nbcoll_irecv(&value, 1, NBCOLL_INT, 1, 17, p.m[0], NULL, &q));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&q, 1000));
    EXPECT(OK, nbcoll_last_failure(p.w.context[0], &failure));
    assert_int_equal(failure.rank, 1);
    assert_int_equal(failure.tag, NBCOLL_FAILURE_MESSAGE + 17);
    nbcoll_failure_text(&failure, text, sizeof text);
    assert_string_equal(text, "a message with tag 17 waits for rank 1");
    EXPECT(OK, nbcoll_cancel(q));
    EXPECT(ERR_CANCELLED, nbcoll_test(&q));
    EXPECT(ERR_TIMEOUT, nbcoll_recv(&value, 1, NBCOLL_INT, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, p.m[0], NULL, 1000));
    EXPECT(OK, nbcoll_last_failure(p.w.context[0], &failure));
    nbcoll_failure_text(&failure, text, sizeof text);
    assert_string_equal(text, "a receive of any tag has not ended");
    party_close(&p);
}

static void closes(nbcoll_request request, nbcoll_status status, void *user)
{
    nbcoll_messages **m = user;
    (void)request;
    EXPECT(OK, status);
    nbcoll_status s = nbcoll_messages_close(*m);
    assert_int_equal(s, NBCOLL_ERR_BUSY);
}

/* Each callback sees that nothing is active, and closes; so does the program, in whose call they run. */
static void callbacks_of_a_close_cannot_close_again(void **state)
{
    nbcoll_request q[2];
    int sent = 3, got = 0;
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    EXPECT(OK, nbcoll_irecv(&got, 1, NBCOLL_INT, 0, 1, p.m[0], NULL, &q[0]));
    EXPECT(OK, nbcoll_isend(&sent, 1, NBCOLL_INT, 0, 1, p.m[0], &q[1]));
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_on_done(q[i], closes, &p.m[0]));
    while (nbcoll_messages_close(p.m[0]) == NBCOLL_ERR_BUSY)
        ;
    p.m[0] = NULL;
    assert_int_equal(got, 3);
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_of_a_close_cannot_close_again),
        cmocka_unit_test(arguments_are_checked_at_the_call),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(nothing_is_sent_before_they_are_open),
        cmocka_unit_test(a_receive_that_is_cancelled_gets_nothing),
        cmocka_unit_test(an_announced_send_can_be_withdrawn),
        cmocka_unit_test(a_send_that_has_been_matched_is_not_withdrawn),
        cmocka_unit_test(what_this_rank_sends_itself_can_be_cancelled),
        cmocka_unit_test(announcements_are_bounded),
        cmocka_unit_test(who_sends_to_a_rank_that_has_closed_is_told),
        cmocka_unit_test(who_announces_to_a_rank_that_closes_is_told_by_its_own_number),
        cmocka_unit_test(a_persistent_request_outlives_its_messages),
        cmocka_unit_test(a_deadline_names_the_rank_and_the_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
