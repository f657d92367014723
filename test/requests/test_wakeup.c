/* SPDX-License-Identifier: BSD-3-Clause
 * A context in an event loop: arming it, and the descriptor that polls readable when there is something to do. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "world.h"

static int readable(nbcoll_context *c)
{
    struct pollfd p = {.events = POLLIN};
    EXPECT(OK, nbcoll_fd(c, &p.fd));
    return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void an_armed_context_becomes_readable_when_a_peer_posts(void **state)
{
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    EXPECT(OK, world_arm(&w, 0));
    assert_false(readable(w.context[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    assert_true(readable(w.context[0]));
    EXPECT(OK, nbcoll_progress(w.context[0]));
    assert_false(readable(w.context[0]));
    EXPECT(OK, nbcoll_test(&q[0]));
    world_finish(&w, 1, &q[1]);
    world_close(&w);
}

static void arm_says_again_when_something_waits_already(void **state)
{
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    EXPECT(AGAIN, nbcoll_arm(w.context[0]));
    assert_false(readable(w.context[0])); /* it is not armed */
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(AGAIN, nbcoll_arm(w.context[0])); /* it has ended */
    EXPECT(OK, nbcoll_arm(w.context[0]));
    world_finish(&w, 2, q);
    world_close(&w);
}

static void arm_says_again_when_an_operation_has_ended_while_another_was_tested(void **state)
{
    nbcoll_request q[2], other;
    int data[2][2] = {{0}};
    world w;
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 29);
        world_open(&w, 2, &loopback, NULL, NULL);
        for (int i = 0; i < 2; i++)
            EXPECT(OK, nbcoll_ibcast(&data[0][i], 1, NBCOLL_INT32, 1, w.comm[0], &q[i]));
        EXPECT(PENDING, nbcoll_test(&q[0]));
        EXPECT(OK, world_arm(&w, 0));
        EXPECT(OK, nbcoll_ibcast(&data[1][0], 1, NBCOLL_INT32, 1, w.comm[1], &other));
        for (int look = 0; look < 100; look++) {
            EXPECT(PENDING, nbcoll_test(&q[1]));
            nbcoll_progress(w.context[1]);
        }
        EXPECT(AGAIN, nbcoll_arm(w.context[0]));
        EXPECT(OK, nbcoll_arm(w.context[0])); /* once */
        EXPECT(OK, nbcoll_test(&q[0]));
        world_finish(&w, 1, &other);
        EXPECT(OK, nbcoll_ibcast(&data[1][1], 1, NBCOLL_INT32, 1, w.comm[1], &other));
        q[0] = other;
        world_finish(&w, 2, q);
        world_close(&w);
    }
}

static void one_arming_serves_one_readiness(void **state)
{
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(OK, world_arm(&w, 0));
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    EXPECT(OK, nbcoll_progress(w.context[0]));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0])); /* not armed any more */
    assert_false(readable(w.context[0]));
    world_finish(&w, 2, q);
    world_close(&w);
}

/* Each rank sleeps until its descriptor says that there is something to do; poll fails the test when nothing comes. */
static void ranks_that_only_poll_finish_every_transfer(void **state)
{
    enum { BYTES = 100000 };
    static unsigned char data[3][BYTES];
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 23);
        nbcoll_request q[3];
        int left = 3;
        world w;
        world_open(&w, 3, &loopback, NULL, NULL);
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_ibcast(data[r], BYTES, NBCOLL_BYTE, 0, w.comm[r], &q[r]));
        while (left) {
            struct pollfd p[3];
            int sleepers = 0;
            for (int r = 0; r < 3; r++) {
                EXPECT(OK, nbcoll_fd(w.context[r], &p[r].fd));
                p[r].events = POLLIN;
                if (nbcoll_arm(w.context[r]) == NBCOLL_OK)
                    sleepers++;
            }
            if (sleepers == 3) /* then somebody must have been rung, or never will be */
                assert_true(poll(p, 3, 0) > 0);
            for (int r = 0; r < 3; r++)
                if (q[r].at)
                    left -= nbcoll_test(&q[r]) == NBCOLL_OK;
                else
                    nbcoll_progress(w.context[r]);
        }
        world_close(&w);
    }
}

/* Rank 1 comes late: what rank 0 has to say fills its queue, and the rest waits for room. */
static void a_rank_whose_messages_wait_for_room_sleeps(void **state)
{
    enum { AHEAD = 200 };
    static double in[2][AHEAD], out[2][AHEAD];
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 29);
        nbcoll_request q[2][AHEAD];
        int looks = 0, left = 2;
        world w;
        world_open(&w, 2, &loopback, NULL, NULL);
        for (int i = 0; i < AHEAD; i++)
            EXPECT(OK, nbcoll_iallreduce(&in[0][i], &out[0][i], 1, NBCOLL_DOUBLE, NBCOLL_SUM, w.comm[0], &q[0][i]));
        for (; nbcoll_arm(w.context[0]) != NBCOLL_OK; looks++) {
            assert_true(looks < 10);
            EXPECT(OK, nbcoll_progress(w.context[0]));
        }
        assert_false(readable(w.context[0]));
        for (int i = 0; i < AHEAD; i++)
            EXPECT(OK, nbcoll_iallreduce(&in[1][i], &out[1][i], 1, NBCOLL_DOUBLE, NBCOLL_SUM, w.comm[1], &q[1][i]));
        while (left) {
            int sleepers = 0, rung = 0;
            left = 0;
            for (int r = 0; r < 2; r++) {
                left += nbcoll_test_all(AHEAD, q[r], NULL) == NBCOLL_PENDING;
                sleepers += nbcoll_arm(w.context[r]) == NBCOLL_OK;
            }
            for (int r = 0; r < 2; r++)
                rung += readable(w.context[r]);
            assert_true(!left || sleepers < 2 || rung);
        }
        world_close(&w);
    }
}

static void a_context_without_endpoint_has_no_descriptor(void **state)
{
    nbcoll_context *c;
    int fd;
    (void)state;
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &c));
    EXPECT(ERR_UNSUPPORTED, nbcoll_fd(c, &fd));
    EXPECT(ERR_UNSUPPORTED, nbcoll_arm(c));
    EXPECT(ERR_NULL, nbcoll_fd(c, NULL));
    EXPECT(ERR_NULL, nbcoll_fd(NULL, &fd));
    EXPECT(ERR_NULL, nbcoll_arm(NULL));
    EXPECT(OK, nbcoll_context_free(c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_armed_context_becomes_readable_when_a_peer_posts),
        cmocka_unit_test(arm_says_again_when_something_waits_already),
        cmocka_unit_test(arm_says_again_when_an_operation_has_ended_while_another_was_tested),
        cmocka_unit_test(one_arming_serves_one_readiness),
        cmocka_unit_test(ranks_that_only_poll_finish_every_transfer),
        cmocka_unit_test(a_rank_whose_messages_wait_for_room_sleeps),
        cmocka_unit_test(a_context_without_endpoint_has_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
