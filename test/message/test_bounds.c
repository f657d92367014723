/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that sends more than its credits allow, or announces more than any may: its receiver gives it up by name, and
 * has stored no more than the bound. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sends_beyond_its_credits_is_lost),
        cmocka_unit_test(who_announces_beyond_the_bound_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
