/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that a probe takes out of the queue: who gets them, and what becomes of those that nobody receives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

enum { LONG = 20000 };

static const size_t lengths[] = {0, 8, 200, LONG};
static unsigned char sent[2][LONG], got[LONG];

static nbcoll_message probe(party *p, int from, int tag, nbcoll_message_info *info)
{
    nbcoll_message message = {0};
    nbcoll_status s = NBCOLL_PENDING;
    for (int i = 0; i < 10000 && s == NBCOLL_PENDING; i++) {
        world_step(&p->w);
        s = nbcoll_improbe(from, tag, p->m[1], info, &message);
    }
    assert_int_equal(s, NBCOLL_OK);
    return message;
}

/* The second one is received first; a copy of its handle names nothing then. */
static void who_has_probed_a_message_gets_it(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int k = 0; k < 4; k++) {
            size_t bytes = lengths[k];
            nbcoll_message_info info[2];
            nbcoll_message message[2], copy;
            nbcoll_request q[4];
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            for (int i = 0; i < 2; i++) {
                party_fill(sent[i], bytes, i);
                EXPECT(OK, (k % 2 ? nbcoll_isend : nbcoll_issend)(sent[i], bytes, NBCOLL_BYTE, 1, i, p.m[0], &q[i]));
            }
            for (int i = 0; i < 2; i++)
                message[i] = probe(&p, i ? 0 : NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, &info[i]);
            EXPECT(PENDING, nbcoll_iprobe(0, NBCOLL_ANY_TAG, p.m[1], &info[0]));
            EXPECT(OK, nbcoll_irecv(got, LONG, NBCOLL_BYTE, 0, NBCOLL_ANY_TAG, p.m[1], NULL, &q[2]));
            for (int i = 0; i < 30; i++)
                world_step(&p.w);
            EXPECT(PENDING, nbcoll_test(&q[2]));
            EXPECT(OK, nbcoll_cancel(q[2]));
            EXPECT(ERR_CANCELLED, nbcoll_test(&q[2]));
            for (int i = 2; i-- > 0;) {
                assert_int_equal(info[i].tag, i);
                assert_int_equal(info[i].bytes, bytes);
                copy = message[i];
                memset(got, 0xee, sizeof got);
                EXPECT(OK, nbcoll_imrecv(got, bytes, NBCOLL_BYTE, &message[i], &q[3]));
                assert_null(message[i].of);
                assert_int_equal(party_end(&p, &q[3]), NBCOLL_OK);
                assert_true(party_is(got, bytes, i));
                EXPECT(ERR_REQUEST, nbcoll_imrecv(got, bytes, NBCOLL_BYTE, &copy, &q[3]));
            }
            world_finish(&p.w, 2, q);
            party_close(&p);
        }
}

static void a_rank_probes_what_it_sends_itself(void **state)
{
    nbcoll_message_info info;
    nbcoll_message message;
    nbcoll_request q[2];
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    party_fill(sent[0], LONG, 3);
    EXPECT(OK, nbcoll_isend(sent[0], LONG, NBCOLL_BYTE, 0, 0, p.m[0], &q[0]));
    EXPECT(OK, nbcoll_improbe(0, 0, p.m[0], &info, &message));
    EXPECT(PENDING, nbcoll_test(&q[0]));
    EXPECT(OK, nbcoll_imrecv(got, LONG, NBCOLL_BYTE, &message, &q[1]));
    world_finish(&p.w, 2, q);
    assert_true(party_is(got, LONG, 3));
    party_close(&p);
}

static void a_probed_message_that_is_too_long_is_taken(void **state)
{
    nbcoll_message_info info;
    nbcoll_message message;
    nbcoll_request q[2];
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(OK, nbcoll_isend(sent[0], LONG, NBCOLL_BYTE, 1, 0, p.m[0], &q[0]));
    message = probe(&p, 0, 0, &info);
    EXPECT(OK, nbcoll_imrecv(got, 8, NBCOLL_BYTE, &message, &q[1]));
    assert_int_equal(party_end(&p, &q[1]), NBCOLL_ERR_TRUNCATED);
    assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
    party_close(&p);
}

/* Its sender is told, if it waits. */
static void what_is_probed_and_not_received_is_dropped(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int k = 0; k < 4; k++) {
            nbcoll_message_info info;
            nbcoll_request q;
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            EXPECT(OK, nbcoll_isend(sent[0], lengths[k], NBCOLL_BYTE, 1, 0, p.m[0], &q));
            probe(&p, 0, 0, &info);
            EXPECT(OK, nbcoll_messages_close(p.m[1]));
            assert_int_equal(party_end(&p, &q), lengths[k] == LONG ? NBCOLL_ERR_CANCELLED : NBCOLL_OK);
            EXPECT(OK, nbcoll_messages_close(p.m[0]));
            world_close(&p.w);
        }
}

/* Till it is received it has its sender's credit: the next one is announced. */
static void a_probed_message_keeps_its_credit(void **state)
{
    const nbcoll_messages_config config = {.size = sizeof config, .credits = 1};
    nbcoll_message_info info;
    nbcoll_message message;
    nbcoll_request q[3];
    int in = 5, out = 0;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, &config);
    EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 1, 0, p.m[0], &q[0]));
    message = probe(&p, 0, 0, &info);
    EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 1, 0, p.m[0], &q[1]));
    for (int i = 0; i < 30; i++)
        world_step(&p.w);
    EXPECT(PENDING, nbcoll_test(&q[1]));
    EXPECT(OK, nbcoll_imrecv(&out, 1, NBCOLL_INT, &message, &q[2]));
    assert_int_equal(party_end(&p, &q[2]), NBCOLL_OK);
    assert_int_equal(out, 5);
    EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, 0, 0, p.m[1], NULL, &q[2]));
    world_finish(&p.w, 3, q);
    party_close(&p);
}

static void arguments_are_checked(void **state)
{
    nbcoll_message_info info;
    nbcoll_message message = {0};
    nbcoll_request q[2];
    int in = 1, out;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(ERR_NULL, nbcoll_improbe(0, 0, p.m[1], &info, NULL));
    EXPECT(ERR_NULL, nbcoll_improbe(0, 0, p.m[1], NULL, &message));
    EXPECT(ERR_NULL, nbcoll_improbe(0, 0, NULL, &info, &message));
    EXPECT(ERR_RANK, nbcoll_improbe(2, 0, p.m[1], &info, &message));
    EXPECT(ERR_TAG, nbcoll_improbe(0, -2, p.m[1], &info, &message));
    EXPECT(ERR_REQUEST, nbcoll_imrecv(&out, 1, NBCOLL_INT, &message, q));
    EXPECT(ERR_NULL, nbcoll_imrecv(&out, 1, NBCOLL_INT, NULL, q));
    EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, 1, 0, p.m[0], &q[0]));
    message = probe(&p, 0, 0, &info);
    EXPECT(ERR_NULL, nbcoll_imrecv(&out, 1, NBCOLL_INT, &message, NULL));
    EXPECT(ERR_BUFFER, nbcoll_imrecv(NULL, 1, NBCOLL_INT, &message, &q[1]));
    EXPECT(ERR_TYPE, nbcoll_imrecv(&out, 1, NBCOLL_TYPE_COUNT, &message, &q[1]));
    EXPECT(OK, nbcoll_imrecv(&out, 1, NBCOLL_INT, &message, &q[1]));
    world_finish(&p.w, 2, q);
    assert_int_equal(out, 1);
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_probed_a_message_gets_it),
        cmocka_unit_test(a_rank_probes_what_it_sends_itself),
        cmocka_unit_test(a_probed_message_that_is_too_long_is_taken),
        cmocka_unit_test(what_is_probed_and_not_received_is_dropped),
        cmocka_unit_test(a_probed_message_keeps_its_credit),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
