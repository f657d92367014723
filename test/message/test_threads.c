/* SPDX-License-Identifier: BSD-3-Clause
 * Messages in contexts that any thread may use: several threads of each rank send and receive at a time, alone and
 * beside a driver. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "nbcoll/driver.h"
#include "party.h"

enum { RANKS = 2, THREADS = 3, MESSAGES = 60, MOST = 6000 };

typedef struct worker {
    pthread_t thread;
    nbcoll_messages *m;
    int rank, number;
} worker;

/* Each thread has a tag of its own, and talks with its like on the other rank. */
static void *talk(void *argument)
{
    const worker *me = argument;
    static const size_t lengths[] = {8, 200, MOST};
    unsigned char in[MOST], out[MOST];

    for (int i = 0; i < MESSAGES; i++) {
        size_t bytes = lengths[i % 3];
        nbcoll_request q[2];
        party_fill(in, bytes, 10 * i + me->number);
        EXPECT(OK, nbcoll_irecv(out, bytes, NBCOLL_BYTE, !me->rank, me->number, me->m, NULL, &q[0]));
        EXPECT(OK, nbcoll_isend(in, bytes, NBCOLL_BYTE, !me->rank, me->number, me->m, &q[1]));
        if (i % 2)
            EXPECT(OK, nbcoll_wait_all(2, q, NULL, 60 * SECOND));
        else
            for (int k = 0; k < 2; k++)
                EXPECT(OK, nbcoll_wait(&q[k], 60 * SECOND));
        assert_true(party_is(out, bytes, 10 * i + me->number));
        EXPECT(OK, nbcoll_sendrecv(in, 8, NBCOLL_BYTE, !me->rank, me->number, out, 8, NBCOLL_BYTE, !me->rank,
                                   me->number, me->m, NULL, 60 * SECOND));
    }
    return NULL;
}

static void talk_in_threads(int drives)
{
    const nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    for (int variant = 0; variant < WORLD_VARIANTS; variant += sampled(4)) {
        worker workers[RANKS][THREADS];
        nbcoll_driver *driver = NULL;
        party p;
        party_open(&p, RANKS, variant, &config, NULL);
        if (drives) {
            EXPECT(OK, nbcoll_driver_create(NULL, &driver));
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, nbcoll_driver_add(driver, p.w.context[r]));
            EXPECT(OK, nbcoll_driver_start(driver));
        }
        for (int r = 0; r < RANKS; r++)
            for (int t = 0; t < THREADS; t++) {
                workers[r][t] = (worker){.m = p.m[r], .rank = r, .number = t};
                assert_int_equal(pthread_create(&workers[r][t].thread, NULL, talk, &workers[r][t]), 0);
            }
        for (int r = 0; r < RANKS; r++)
            for (int t = 0; t < THREADS; t++)
                pthread_join(workers[r][t].thread, NULL);
        EXPECT(OK, nbcoll_driver_free(driver));
        party_close(&p);
    }
}

static void threads_of_a_rank_send_at_a_time(void **state)
{
    (void)state;
    talk_in_threads(0);
}

static void a_driver_moves_their_messages(void **state)
{
    (void)state;
    talk_in_threads(1);
}

/* What has been started ends without another call. */
static void a_driver_ends_what_is_started(void **state)
{
    const nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    static unsigned char in[100000], out[100000];
    nbcoll_driver *driver;
    nbcoll_request q[2];
    party p;
    (void)state;
    party_open(&p, RANKS, 0, &config, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_driver_add(driver, p.w.context[r]));
    EXPECT(OK, nbcoll_driver_start(driver));
    party_fill(in, sizeof in, 1);
    EXPECT(OK, nbcoll_irecv(out, sizeof out, NBCOLL_BYTE, 0, 0, p.m[1], NULL, &q[1]));
    EXPECT(OK, nbcoll_isend(in, sizeof in, NBCOLL_BYTE, 1, 0, p.m[0], &q[0]));
    for (int i = 0; i < 2; i++) {
        nbcoll_status s;
        for (uint64_t begin = clock_ns(); (s = nbcoll_test(&q[i])) == NBCOLL_PENDING;)
            assert_true(clock_ns() - begin < 20 * SECOND);
        EXPECT(OK, s);
    }
    assert_true(party_is(out, sizeof out, 1));
    EXPECT(OK, nbcoll_driver_free(driver));
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_rank_send_at_a_time),
        cmocka_unit_test(a_driver_moves_their_messages),
        cmocka_unit_test(a_driver_ends_what_is_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
