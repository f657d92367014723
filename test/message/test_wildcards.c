/* SPDX-License-Identifier: BSD-3-Clause
 * Receives from any source or of any tag, beside others: which message each gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

static void steps(party *p, int n)
{
    for (int i = 0; i < n; i++)
        world_step(&p->w);
}

static void send_one(party *p, int from, int tag, int *value)
{
    nbcoll_request q;
    EXPECT(OK, nbcoll_isend(value, 1, NBCOLL_INT, 1, tag, p->m[from], &q));
    assert_int_equal(party_end(p, &q), NBCOLL_OK);
}

/* Posted in this order: exact, any tag, any source, exact. The messages of rank 0 meet them in that order. */
static void the_receive_that_was_posted_first_gets_the_first_message(void **state)
{
    static const int source[] = {0, 0, NBCOLL_ANY_SOURCE, 0}, tag[] = {5, NBCOLL_ANY_TAG, 5, 5};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        int in[4] = {10, 11, 12, 13}, out[4];
        nbcoll_request q[4];
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        for (int i = 0; i < 4; i++)
            EXPECT(OK, nbcoll_irecv(&out[i], 1, NBCOLL_INT, source[i], tag[i], p.m[1], NULL, &q[i]));
        for (int i = 0; i < 4; i++)
            send_one(&p, 0, 5, &in[i]);
        world_finish(&p.w, 4, q);
        for (int i = 0; i < 4; i++)
            assert_int_equal(out[i], in[i]);
        party_close(&p);
    }
}

/* The messages come first: a receive takes the first one that fits. */
static void a_receive_gets_the_first_message_that_fits(void **state)
{
    static const int source[] = {NBCOLL_ANY_SOURCE, 0, NBCOLL_ANY_SOURCE, 0}, tag[] = {2, NBCOLL_ANY_TAG, 1, 2};
    static const int tags[] = {1, 2, 1, 2}, gets[] = {1, 0, 2, 3};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        int in[4] = {10, 11, 12, 13};
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        for (int i = 0; i < 4; i++)
            send_one(&p, 0, tags[i], &in[i]);
        steps(&p, 20);
        for (int i = 0; i < 4; i++) {
            nbcoll_message_info info;
            nbcoll_request q;
            int out = 0;
            EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, source[i], tag[i], p.m[1], &info, &q));
            assert_int_equal(party_end(&p, &q), NBCOLL_OK);
            assert_int_equal(out, in[gets[i]]);
            assert_int_equal(info.source, 0);
            assert_int_equal(info.tag, tags[gets[i]]);
        }
        party_close(&p);
    }
}

enum { MANY = 120 };

static size_t length_of(uint64_t random)
{
    static const size_t lengths[] = {4, 40, 100, 5000};
    return lengths[random % 4];
}

/* Two ranks send at random, lines, longer ones and announced ones; the third one receives whatever comes. */
static void messages_of_a_sender_are_never_overtaken(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const nbcoll_messages_config config = {.size = sizeof config, .credits = 1 + seed * 3 % 7};
            static unsigned char in[2][MANY][5000], out[2 * MANY][5000];
            static nbcoll_request q[4 * MANY];
            static nbcoll_message_info info[2 * MANY];
            int sent[2] = {0, 0}, received = 0, last[2] = {-1, -1};
            uint64_t random = seed;
            party p;
            party_open(&p, 3, variant, NULL, &config);
            while (sent[0] < MANY || sent[1] < MANY || received < 2 * MANY) {
                int who = (int)(world_random(&random) % 4);
                if (who < 2 && sent[who] < MANY) {
                    int n = sent[who]++;
                    size_t bytes = length_of(world_random(&random));
                    memset(in[who][n], 0, bytes);
                    memcpy(in[who][n], &n, sizeof n);
                    EXPECT(OK, nbcoll_isend(in[who][n], bytes, NBCOLL_BYTE, 1, n % 3, p.m[2 * who],
                                            &q[who * MANY + n]));
                } else if (who == 2 && received < 2 * MANY) {
                    int n = received++;
                    EXPECT(OK, nbcoll_irecv(out[n], 5000, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, p.m[1],
                                            &info[n], &q[2 * MANY + n]));
                } else
                    world_step(&p.w);
            }
            world_finish(&p.w, sizeof q / sizeof *q, q);
            for (int i = 0; i < 2 * MANY; i++) {
                int number, who = info[i].source / 2;
                memcpy(&number, out[i], sizeof number);
                assert_int_equal(number, last[who] + 1);
                assert_int_equal(info[i].tag, number % 3);
                last[who] = number;
            }
            party_close(&p);
        }
}

static void a_probe_describes_what_waits(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        static unsigned char in[9000], out[9000];
        nbcoll_message_info info = {-7, -7, 0};
        nbcoll_request q[2];
        party p;
        party_open(&p, 2, variant, NULL, NULL);
        EXPECT(PENDING, nbcoll_iprobe(NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, p.m[1], &info));
        EXPECT(OK, nbcoll_isend(in, sizeof in, NBCOLL_BYTE, 1, 8, p.m[0], &q[0]));
        steps(&p, 20);
        EXPECT(PENDING, nbcoll_iprobe(0, 7, p.m[1], &info));
        for (int i = 0; i < 2; i++) {
            EXPECT(OK, nbcoll_iprobe(i ? 0 : NBCOLL_ANY_SOURCE, i ? NBCOLL_ANY_TAG : 8, p.m[1], &info));
            assert_int_equal(info.source, 0);
            assert_int_equal(info.tag, 8);
            assert_int_equal(info.bytes, sizeof in);
        }
        EXPECT(OK, nbcoll_irecv(out, sizeof out, NBCOLL_BYTE, 0, 8, p.m[1], NULL, &q[1]));
        world_finish(&p.w, 2, q);
        EXPECT(PENDING, nbcoll_iprobe(NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, p.m[1], &info));
        party_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_receive_that_was_posted_first_gets_the_first_message),
        cmocka_unit_test(a_receive_gets_the_first_message_that_fits),
        cmocka_unit_test(messages_of_a_sender_are_never_overtaken),
        cmocka_unit_test(a_probe_describes_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
