/* SPDX-License-Identifier: BSD-3-Clause
 * Few credits delay, and hold up nothing: a receive that is ready gets its message, whatever holds the credits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "crossing.h"
#include "world.h"

enum { OPERATIONS = 5 };

typedef struct crossing {
    world w;
    nbcoll_schedule *schedule[2][OPERATIONS];
    unsigned char *send[2], *recv[2][OPERATIONS];
    nbcoll_request request[2 * OPERATIONS];
} crossing;

static nbcoll_context_config with(uint32_t credits)
{
    return (nbcoll_context_config){.size = sizeof(nbcoll_context_config), .credits = credits};
}

static nbcoll_comm_config few(void)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = 3;
    config.eager = 256;
    return config;
}

/* All operations are started, rank 1's after a while. */
static void crossing_start(crossing *x, uint64_t seed)
{
    for (int r = 0; r < 2; r++) {
        x->send[r] = malloc(CROSSING_BYTES);
        crossing_fill(x->send[r], r);
        for (int i = 0; i < OPERATIONS; i++) {
            x->recv[r][i] = calloc(1, CROSSING_BYTES);
            x->schedule[r][i] = crossing_make(r, seed + (uint64_t)i);
            EXPECT(OK, nbcoll_schedule_start(x->schedule[r][i], x->send[r], x->recv[r][i], x->w.comm[r],
                                             &x->request[r * OPERATIONS + i]));
        }
        for (int i = 0; i < 20; i++)
            world_step(&x->w);
    }
}

static void crossing_free(crossing *x)
{
    for (int r = 0; r < 2; r++) {
        free(x->send[r]);
        for (int i = 0; i < OPERATIONS; i++) {
            EXPECT(OK, nbcoll_schedule_free(x->schedule[r][i]));
            free(x->recv[r][i]);
        }
    }
    world_close(&x->w);
}

static void receives_that_depend_on_later_sends_are_met(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (uint32_t credits = 1; credits <= 4; credits += 3)
            for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
                nbcoll_loopback_config loopback = world_variant(variant, seed);
                nbcoll_context_config context = with(credits);
                nbcoll_comm_config config = few();
                crossing x;
                world_open(&x.w, 2, &loopback, &context, &config);
                crossing_start(&x, seed * 100);
                world_finish(&x.w, 2 * OPERATIONS, x.request);
                for (int i = 0; i < 2 * OPERATIONS; i++)
                    assert_true(crossing_is_right(x.recv[i / OPERATIONS][i % OPERATIONS], i / OPERATIONS));
                crossing_free(&x);
            }
}

/* Wherever the messages are: what waits for credit is let go, and the communicator works on. */
static void operations_that_wait_for_credits_can_be_cancelled(void **state)
{
    (void)state;
    for (int steps = 0; steps < 60; steps += 3)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            nbcoll_loopback_config loopback = world_variant(variant, 9);
            nbcoll_context_config context = with(1);
            nbcoll_comm_config config = few();
            nbcoll_status ended[2 * OPERATIONS];
            nbcoll_request last[2];
            static double data[2];
            crossing x;
            world_open(&x.w, 2, &loopback, &context, &config);
            crossing_start(&x, 77);
            for (int i = 0; i < steps; i++)
                world_step(&x.w);
            for (int i = 0; i < OPERATIONS; i += 2)
                if (x.request[steps % 2 * OPERATIONS + i].at)
                    EXPECT(OK, nbcoll_cancel(x.request[steps % 2 * OPERATIONS + i]));
            world_settle(&x.w, 2 * OPERATIONS, x.request, ended);
            for (int i = 0; i < 2 * OPERATIONS; i++)
                if (ended[i] == NBCOLL_OK)
                    assert_true(crossing_is_right(x.recv[i / OPERATIONS][i % OPERATIONS], i / OPERATIONS));
                else
                    assert_int_equal(ended[i], NBCOLL_ERR_CANCELLED);
            for (int i = 0; i < 3; i++) {
                for (int r = 0; r < 2; r++)
                    EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, &data[r], 1, NBCOLL_DOUBLE, NBCOLL_SUM, x.w.comm[r],
                                                 &last[r]));
                world_finish(&x.w, 2, last);
            }
            crossing_free(&x);
        }
}

/* Rank 1 sends rank 0 many messages, all awaited at once; rank 2 waits for the last of them. */
static nbcoll_schedule *many_messages(int rank, int messages)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 3};
    nbcoll_schedule *s;
    nbcoll_builder *b;
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_step last = NBCOLL_START;
    for (int i = 0; i < messages && rank < 2; i++)
        if (rank == 1)
            nbcoll_add_send(b, 0, (nbcoll_addr){NBCOLL_BUFFER_SEND, (size_t)i}, 1);
        else
            last = nbcoll_add_recv(b, 1, (nbcoll_addr){NBCOLL_BUFFER_RECV, (size_t)i}, 1);
    if (rank == 2)
        nbcoll_add_recv(b, 0, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 1);
    else if (rank == 0)
        nbcoll_after(b, nbcoll_add_send(b, 2, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, 1), last);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

/* However slowly the transport takes them: rank 2 cancels, so that nothing else has to get past them. */
static void what_cancelled_operations_have_asked_for_does_not_pile_up(void **state)
{
    enum { MESSAGES = 100, ROUNDS = 200 };
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config loopback = world_variant(variant, 5);
        nbcoll_context_config context = with(1);
        nbcoll_schedule *schedule[3];
        static unsigned char send[MESSAGES], recv[MESSAGES];
        nbcoll_status ended[3];
        nbcoll_request q[3];
        world w;
        world_open(&w, 3, &loopback, &context, NULL);
        for (int r = 0; r < 3; r++)
            schedule[r] = many_messages(r, MESSAGES);
        for (int round = 0; round < ROUNDS; round++) {
            for (int r = 0; r < 3; r++)
                EXPECT(OK, nbcoll_schedule_start(schedule[r], send, recv, w.comm[r], &q[r]));
            if (q[2].at)
                EXPECT(OK, nbcoll_cancel(q[2]));
            world_settle(&w, 3, q, ended);
        }
        assert_true(w.context[0]->posts <= 2 * MESSAGES);
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_schedule_free(schedule[r]));
        world_close(&w);
    }
}

/* ---- looking before stalling ------------------------------------------------------------------------------------- */

/* What rank 0 posts is counted. */
static nbcoll_transport counting;
static nbcoll_posted (*post)(nbcoll_endpoint *, int, const nbcoll_header *, const void *, size_t, nbcoll_work *);
static int posts;

static nbcoll_posted count_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                size_t bytes, nbcoll_work *work)
{
    posts += ep->rank == 0;
    return post(ep, peer, header, payload, bytes, work);
}

/* Rank 0 has broadcast as often as it has credits, and has looked at nothing since. The other one has, or has not, sent
 * some back. Then rank 0 broadcasts again: what does it post in that call, and until all has ended? */
static void one_more(int comes_back, int in_the_start, int altogether)
{
    enum { CREDITS = 4, ALL = CREDITS + 1 };
    nbcoll_context_config context = with(CREDITS);
    nbcoll_request q[2 * ALL], made[2];
    static double data;
    world w;

    world_open_contexts(&w, 2, NULL, &context);
    counting = *w.endpoint[0]->transport;
    post = counting.post;
    counting.post = count_post;
    counting.lines = NULL;
    for (int r = 0; r < 2; r++)
        w.endpoint[r]->transport = &counting;
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &made[r]));
    world_finish(&w, 2, made);
    for (int r = 0; r < 2; r++) /* brings all credits back to rank 0 */
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 1, w.comm[r], &made[r]));
    world_finish(&w, 2, made);
    for (int i = 0; i < CREDITS; i++)
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, w.comm[0], &q[i]));
    for (int i = 0; comes_back && i < CREDITS; i++) {
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, w.comm[1], &q[ALL + i]));
        EXPECT(OK, nbcoll_wait(&q[ALL + i], 1000000000));
    }
    posts = 0;
    EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, w.comm[0], &q[CREDITS]));
    assert_int_equal(posts, in_the_start);
    for (int i = comes_back ? CREDITS : 0; i < ALL; i++)
        EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, w.comm[1], &q[ALL + i]));
    world_finish(&w, 2 * ALL, q);
    assert_int_equal(posts, altogether);
    world_close(&w);
}

static void a_credit_that_has_come_is_used_before_a_send_stalls(void **state)
{
    (void)state;
    one_more(1, 1, 1); /* the message */
}

static void without_one_a_send_stalls_in_the_call_that_starts_it(void **state)
{
    (void)state;
    one_more(0, 1, 2); /* STALLED; then the message */
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* The root stalls; then its peer frees the communicator, or leaves, without ever starting the operations. */
static void who_stalls_ends_when_its_peer_frees_the_communicator(void **state)
{
    enum { AHEAD = 8 };
    (void)state;
    for (int leaves = 0; leaves < 2; leaves++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            nbcoll_loopback_config loopback = world_variant(variant, 3);
            nbcoll_context_config context = with(2);
            nbcoll_comm_config config = few();
            nbcoll_comm *dup[2];
            nbcoll_request q[AHEAD], made[2];
            nbcoll_status ended[AHEAD];
            static double data;
            world w;
            config.slots = AHEAD;
            world_open(&w, 2, &loopback, &context, &config);
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &made[r]));
            world_finish(&w, 2, made);
            for (int i = 0; i < AHEAD; i++)
                EXPECT(OK, nbcoll_ibcast(&data, 1, NBCOLL_DOUBLE, 0, dup[0], &q[i]));
            for (int i = 0; i < 20; i++)
                world_step(&w);
            if (leaves) {
                EXPECT(OK, nbcoll_context_free(w.context[1]));
                w.context[1] = NULL;
                for (int i = 0; i < AHEAD; i++) {
                    nbcoll_status s;
                    while ((s = nbcoll_test(&q[i])) == NBCOLL_PENDING)
                        ;
                    assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_PEER_LOST);
                }
            } else {
                EXPECT(OK, nbcoll_comm_free(dup[1]));
                world_settle(&w, AHEAD, q, ended); /* in some way */
            }
            world_close(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receives_that_depend_on_later_sends_are_met),
        cmocka_unit_test(operations_that_wait_for_credits_can_be_cancelled),
        cmocka_unit_test(what_cancelled_operations_have_asked_for_does_not_pile_up),
        cmocka_unit_test(a_credit_that_has_come_is_used_before_a_send_stalls),
        cmocka_unit_test(without_one_a_send_stalls_in_the_call_that_starts_it),
        cmocka_unit_test(who_stalls_ends_when_its_peer_frees_the_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
