/* SPDX-License-Identifier: BSD-3-Clause
 * Messages whose receives name source and tag: of all lengths, over loopbacks of all kinds, whichever side comes
 * first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

enum { MOST = 300000 };

static unsigned char sent[MOST], got[MOST];
static const size_t lengths[] = {0, 1, 8, 48, 49, 200, 4096, 4097, 20000, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

typedef nbcoll_status start_send(const void *, size_t, nbcoll_type, int, int, nbcoll_messages *, nbcoll_request *);

static void one_message(party *p, start_send *send, size_t bytes, int n, int receive_first)
{
    nbcoll_message_info info = {-7, -7, 1};
    nbcoll_request q[2];

    party_fill(sent, bytes, n);
    memset(got, 0xee, bytes);
    for (int i = 0; i < 2; i++) {
        if (i == receive_first)
            EXPECT(OK, send(sent, bytes, NBCOLL_BYTE, 1, n, p->m[0], &q[0]));
        else
            EXPECT(OK, nbcoll_irecv(got, bytes, NBCOLL_BYTE, 0, n, p->m[1], &info, &q[1]));
        for (int k = 0; k < 3; k++)
            world_step(&p->w);
    }
    world_finish(&p->w, 2, q);
    assert_true(party_is(got, bytes, n));
    assert_int_equal(info.source, 0);
    assert_int_equal(info.tag, n);
    assert_int_equal(info.bytes, bytes);
}

static void all_lengths(start_send *send)
{
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        party p;
        party_open(&p, 2, variant, NULL, NULL);
        for (int i = 0; i < LENGTHS; i++)
            for (int first = 0; first < 2; first++)
                one_message(&p, send, lengths[i], 2 * i + first, first);
        party_close(&p);
    }
}

static void messages_of_all_lengths_come_whole(void **state)
{
    (void)state;
    all_lengths(nbcoll_isend);
}

static void synchronous_ones_too(void **state)
{
    (void)state;
    all_lengths(nbcoll_issend);
}

static void a_synchronous_send_ends_when_it_is_matched(void **state)
{
    party p;
    nbcoll_request sends, receives;
    int value = 5, is = 0;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(OK, nbcoll_issend(&value, 1, NBCOLL_INT, 1, 3, p.m[0], &sends));
    for (int i = 0; i < 50; i++)
        world_step(&p.w);
    EXPECT(PENDING, nbcoll_test(&sends));
    EXPECT(OK, nbcoll_irecv(&is, 1, NBCOLL_INT, 0, 3, p.m[1], NULL, &receives));
    assert_int_equal(party_end(&p, &receives), NBCOLL_OK);
    assert_int_equal(party_end(&p, &sends), NBCOLL_OK);
    assert_int_equal(is, 5);
    party_close(&p);
}

/* Long and short ones mixed; more short ones than credits. */
static void messages_of_one_tag_stay_in_order(void **state)
{
    enum { COUNT = 60 };
    static unsigned char in[COUNT][6000], out[COUNT][6000];
    const nbcoll_messages_config config = {.size = sizeof config, .credits = 5};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q[2 * COUNT];
        party p;
        party_open(&p, 2, variant, NULL, &config);
        for (int i = 0; i < COUNT; i++) {
            size_t bytes = i % 3 ? 8 : i % 2 ? 100 : 6000;
            party_fill(in[i], bytes, i);
            EXPECT(OK, nbcoll_isend(in[i], bytes, NBCOLL_BYTE, 1, 9, p.m[0], &q[i]));
            if (i % 7 == 0)
                world_step(&p.w);
        }
        for (int i = 0; i < COUNT; i++) {
            EXPECT(OK, nbcoll_irecv(out[i], 6000, NBCOLL_BYTE, 0, 9, p.m[1], NULL, &q[COUNT + i]));
            if (i % 5 == 0)
                world_step(&p.w);
        }
        world_finish(&p.w, 2 * COUNT, q);
        for (int i = 0; i < COUNT; i++)
            assert_true(party_is(out[i], i % 3 ? 8 : i % 2 ? 100 : 6000, i));
        party_close(&p);
    }
}

/* The receive of the last one is the only one: it meets its send though no credit is left for it. */
static void no_message_blocks_one_of_another_tag(void **state)
{
    enum { COUNT = 40 };
    const nbcoll_messages_config config = {.size = sizeof config, .credits = 2};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q[2 * COUNT];
        int in[COUNT], out[COUNT];
        party p;
        party_open(&p, 2, variant, NULL, &config);
        for (int i = 0; i < COUNT; i++) {
            in[i] = 100 + i;
            EXPECT(OK, nbcoll_isend(&in[i], 1, NBCOLL_INT, 1, i, p.m[0], &q[i]));
        }
        for (int i = COUNT; i-- > 0;) {
            EXPECT(OK, nbcoll_irecv(&out[i], 1, NBCOLL_INT, 0, i, p.m[1], NULL, &q[COUNT + i]));
            nbcoll_request one = q[COUNT + i];
            assert_int_equal(party_end(&p, &one), NBCOLL_OK);
            q[COUNT + i] = NBCOLL_REQUEST_NULL;
            assert_int_equal(out[i], 100 + i);
        }
        world_finish(&p.w, COUNT, q);
        party_close(&p);
    }
}

static void a_rank_sends_to_itself(void **state)
{
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    for (int i = 0; i < LENGTHS; i++)
        for (int first = 0; first < 2; first++) {
            nbcoll_request q[2];
            party_fill(sent, lengths[i], i);
            if (first)
                EXPECT(OK, nbcoll_irecv(got, MOST, NBCOLL_BYTE, 0, i, p.m[0], NULL, &q[1]));
            EXPECT(OK, nbcoll_isend(sent, lengths[i], NBCOLL_BYTE, 0, i, p.m[0], &q[0]));
            if (!first)
                EXPECT(OK, nbcoll_irecv(got, MOST, NBCOLL_BYTE, 0, i, p.m[0], NULL, &q[1]));
            world_finish(&p.w, 2, q);
            assert_true(party_is(got, lengths[i], i));
        }
    party_close(&p);
}

static void persistent_requests_send_again_and_again(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (size_t bytes = 8; bytes <= 8000; bytes *= 1000) {
            nbcoll_request q[2];
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            EXPECT(OK, nbcoll_send_init(sent, bytes, NBCOLL_BYTE, 1, 0, p.m[0], &q[0]));
            EXPECT(OK, nbcoll_recv_init(got, bytes, NBCOLL_BYTE, 0, 0, p.m[1], NULL, &q[1]));
            for (int i = 0; i < 20; i++) {
                party_fill(sent, bytes, i);
                EXPECT(OK, nbcoll_start(&q[i % 2]));
                EXPECT(OK, nbcoll_start(&q[1 - i % 2]));
                world_finish(&p.w, 2, q);
                assert_true(party_is(got, bytes, i));
            }
            EXPECT(OK, nbcoll_request_free(&q[0]));
            EXPECT(OK, nbcoll_request_free(&q[1]));
            party_close(&p);
        }
}

static void a_receive_that_is_too_short_is_named(void **state)
{
    const size_t longer[] = {9, 100, 5000};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int i = 0; i < 6; i++) {
            nbcoll_message_info info;
            nbcoll_failure failure;
            nbcoll_request q[2];
            char text[200];
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            memset(got, 0xee, 8);
            if (i % 2)
                EXPECT(OK, nbcoll_irecv(got, 8, NBCOLL_BYTE, 0, 4, p.m[1], &info, &q[1]));
            EXPECT(OK, nbcoll_isend(sent, longer[i / 2], NBCOLL_BYTE, 1, 4, p.m[0], &q[0]));
            world_step(&p.w);
            if (i % 2 == 0)
                EXPECT(OK, nbcoll_irecv(got, 8, NBCOLL_BYTE, 0, 4, p.m[1], &info, &q[1]));
            assert_int_equal(party_end(&p, &q[1]), NBCOLL_ERR_TRUNCATED);
            EXPECT(OK, nbcoll_last_failure(p.w.context[1], &failure));
            nbcoll_failure_text(&failure, text, sizeof text);
            assert_string_equal(text, "rank 0 sent more than the buffer holds: a message with tag 4");
            assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
            assert_int_equal(info.bytes, longer[i / 2]);
            for (int k = 0; k < 8; k++)
                assert_int_equal(got[k], 0xee);
            party_close(&p);
        }
}

/* Collectives of the communicator go on beside them, and are in the order that they always have. */
static void messages_and_collectives_go_side_by_side(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q[9];
        int sum[3], in[3] = {1, 2, 3}, out[3];
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        for (int i = 0; i < 20; i++) {
            for (int r = 0; r < 3; r++) {
                if (r != 1)
                    EXPECT(OK, nbcoll_iallreduce(&in[r], &sum[r], 1, NBCOLL_INT, NBCOLL_SUM, p.w.comm[r], &q[r]));
                EXPECT(OK, nbcoll_isend(&in[r], 1, NBCOLL_INT, (r + 1) % 3, 0, p.m[r], &q[3 + r]));
                EXPECT(OK, nbcoll_irecv(&out[r], 1, NBCOLL_INT, (r + 2) % 3, 0, p.m[r], NULL, &q[6 + r]));
                if (r == 1)
                    EXPECT(OK, nbcoll_iallreduce(&in[r], &sum[r], 1, NBCOLL_INT, NBCOLL_SUM, p.w.comm[r], &q[r]));
            }
            world_finish(&p.w, 9, q);
            for (int r = 0; r < 3; r++) {
                assert_int_equal(sum[r], 6);
                assert_int_equal(out[r], in[(r + 2) % 3]);
            }
        }
        party_close(&p);
    }
}

static void two_ends_on_one_communicator_do_not_meet(void **state)
{
    nbcoll_messages *other[2];
    nbcoll_request q[2];
    int in[2] = {1, 2}, out = 0;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_iopen(p.w.comm[r], NULL, &other[r], &q[r]));
    world_finish(&p.w, 2, q);
    EXPECT(OK, nbcoll_isend(&in[0], 1, NBCOLL_INT, 1, 0, p.m[0], &q[0]));
    assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
    EXPECT(OK, nbcoll_isend(&in[1], 1, NBCOLL_INT, 1, 0, other[0], &q[0]));
    EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, 0, 0, other[1], NULL, &q[1]));
    world_finish(&p.w, 2, q);
    assert_int_equal(out, 2);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_close(other[r]));
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_lengths_come_whole),
        cmocka_unit_test(synchronous_ones_too),
        cmocka_unit_test(a_synchronous_send_ends_when_it_is_matched),
        cmocka_unit_test(messages_of_one_tag_stay_in_order),
        cmocka_unit_test(no_message_blocks_one_of_another_tag),
        cmocka_unit_test(a_rank_sends_to_itself),
        cmocka_unit_test(persistent_requests_send_again_and_again),
        cmocka_unit_test(a_receive_that_is_too_short_is_named),
        cmocka_unit_test(messages_and_collectives_go_side_by_side),
        cmocka_unit_test(two_ends_on_one_communicator_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
