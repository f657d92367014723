/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that sends more than its credits allow, or announces more than any may: its receiver gives it up by name, and
 * has stored no more than the bound. What is withdrawn before its turn takes few messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/message/message.h"
#include "party.h"

enum { CREDITS = 4 };

static size_t kept_of(const party *p)
{
    return p->m[1]->at[0].in_turn.count + p->m[1]->at[0].early.count;
}

static void is_given_up(party *p)
{
    nbcoll_status s = NBCOLL_PENDING;
    nbcoll_failure failure;
    nbcoll_request q;
    int value;

    EXPECT(OK, nbcoll_irecv(&value, 1, NBCOLL_INT, 0, 99, p->m[1], NULL, &q));
    for (int i = 0; i < 10000 && s == NBCOLL_PENDING; i++)
        s = nbcoll_test(&q);
    assert_int_equal(s, NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_last_failure(p->w.context[1], &failure));
    assert_int_equal(failure.rank, 0);
}

static void who_sends_beyond_its_credits_is_lost(void **state)
{
    const nbcoll_messages_config config = {.size = sizeof config, .credits = CREDITS};
    static const size_t lengths[] = {8, 200};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int k = 0; k < 2; k++) {
            static unsigned char sent[200];
            nbcoll_request q;
            party p;
            party_open(&p, 2, variant, NULL, &config);
            EXPECT(PENDING, nbcoll_iprobe(1, 0, p.m[0], &(nbcoll_message_info){0})); /* it is ready */
            p.m[0]->at[1].credits = p.m[0]->at[1].most = 1000;
            for (int i = 0; i < 3 * CREDITS; i++) {
                if (nbcoll_isend(sent, lengths[k], NBCOLL_BYTE, 1, 0, p.m[0], &q) == NBCOLL_OK)
                    for (int n = 0; n < 20 && nbcoll_test(&q) == NBCOLL_PENDING; n++)
                        nbcoll_progress(p.w.context[0]);
                nbcoll_progress(p.w.context[1]);
                assert_true(kept_of(&p) <= CREDITS);
            }
            is_given_up(&p);
            for (int i = 0; i < 100; i++)
                world_step(&p.w);
            party_close(&p);
        }
}

/* As many as a configuration may say, which no rank has kept by then, are counted from here. */
static void who_announces_beyond_the_bound_is_lost(void **state)
{
    static unsigned char sent[20000];
    nbcoll_request q[2];
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    p.m[1]->at[0].kept[0] = NBCOLLI_ANNOUNCED_MOST - 1;
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_isend(sent, sizeof sent, NBCOLL_BYTE, 1, 0, p.m[0], &q[i]));
    for (int i = 0; i < 100; i++)
        world_step(&p.w);
    assert_int_equal(kept_of(&p), 1);
    is_given_up(&p);
    for (int i = 0; i < 2; i++)
        assert_int_equal(party_end(&p, &q[i]), NBCOLL_ERR_PEER_LOST);
    party_close(&p);
}

/* The first message is late, and 50 behind it are withdrawn meanwhile: all wait for its turn, and are asked about once
 * more then. */
static void what_is_withdrawn_before_its_turn_is_said_once_and_once_more(void **state)
{
    enum { EACH = 50 };
    static unsigned char sent[20000];
    nbcoll_request q[EACH + 1], last;
    int value;
    party p;
    (void)state;
    party_open(&p, 2, 0, NULL, NULL);
    EXPECT(PENDING, nbcoll_iprobe(1, 0, p.m[0], &(nbcoll_message_info){0})); /* it is ready */
    party_count(&p);
    p.m[0]->at[1].next = 1;
    for (int i = 1; i <= EACH; i++) {
        EXPECT(OK, nbcoll_isend(sent, sizeof sent, NBCOLL_BYTE, 1, 0, p.m[0], &q[i]));
        EXPECT(OK, nbcoll_cancel(q[i]));
    }
    for (int i = 0; i < 5000; i++)
        world_step(&p.w);
    assert_int_equal(party_counted(1), 2 * EACH);
    assert_int_equal(party_counted(0), 0);
    for (int i = 1; i <= EACH; i++)
        EXPECT(PENDING, nbcoll_test(&q[i]));
    p.m[0]->at[1].next = 0;
    EXPECT(OK, nbcoll_isend(sent, sizeof sent, NBCOLL_BYTE, 1, 1, p.m[0], &q[0]));
    for (int i = 1; i <= EACH; i++)
        assert_int_equal(party_end(&p, &q[i]), NBCOLL_ERR_CANCELLED);
    assert_int_equal(party_counted(1), 3 * EACH + 1);
    assert_int_equal(party_counted(0), EACH + 1);
    EXPECT(OK, nbcoll_cancel(q[0]));
    assert_int_equal(party_end(&p, &q[0]), NBCOLL_ERR_CANCELLED);
    p.m[0]->at[1].next = EACH + 1;
    EXPECT(OK, nbcoll_isend(&value, 1, NBCOLL_INT, 1, 2, p.m[0], &q[0]));
    EXPECT(OK, nbcoll_irecv(&value, 1, NBCOLL_INT, 0, 2, p.m[1], NULL, &last));
    assert_int_equal(party_end(&p, &last), NBCOLL_OK);
    assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_withdrawn_before_its_turn_is_said_once_and_once_more),
        cmocka_unit_test(who_sends_beyond_its_credits_is_lost),
        cmocka_unit_test(who_announces_beyond_the_bound_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
