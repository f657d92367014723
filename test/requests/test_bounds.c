/* SPDX-License-Identifier: BSD-3-Clause
 * What is bounded: the schedules that a communicator caches, what a peer may leave here unexpected, and what many
 * operations one after the other take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tally.h"
#include "world.h"

enum { MANY = 200, BYTES = 4096, CREDITS = 4 };

/* Two stepped ranks, whose memory is counted apart. */
typedef struct pair {
    tally memory[2];
    nbcoll_loopback *loopback;
    nbcoll_context *context[2];
    nbcoll_comm *comm[2];
} pair;

static void pair_open(pair *p, uint32_t credits, const nbcoll_comm_config *config)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 2, .depth = 256, .payload = BYTES};
    nbcoll_request request[2];

    memset(p, 0, sizeof *p);
    EXPECT(OK, nbcoll_loopback_create(&loopback, &p->loopback));
    for (int r = 0; r < 2; r++) {
        nbcoll_context_config context = {.size = sizeof context, .host = tally_host(&p->memory[r]), .credits = credits};
        nbcoll_endpoint *ep;
        EXPECT(OK, nbcoll_loopback_open(p->loopback, r, &ep));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &context, &p->context[r]));
        EXPECT(OK, nbcoll_comm_icreate(p->context[r], ep, config, &p->comm[r], &request[r]));
    }
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
}

static void pair_close(pair *p)
{
    for (int r = 0; r < 2; r++) {
        while (nbcoll_context_free(p->context[r]) == NBCOLL_ERR_BUSY)
            nbcoll_progress(p->context[1 - r]);
        assert_int_equal(p->memory[r].used, 0);
    }
    EXPECT(OK, nbcoll_loopback_free(p->loopback));
}

/* A broadcast of `count` bytes from rank 0, on both. */
static void bcast(pair *p, unsigned char *from, unsigned char *to, size_t count)
{
    nbcoll_request request[2];
    EXPECT(OK, nbcoll_ibcast(from, count, NBCOLL_BYTE, 0, p->comm[0], &request[0]));
    EXPECT(OK, nbcoll_ibcast(to, count, NBCOLL_BYTE, 0, p->comm[1], &request[1]));
    nbcoll_status s;
    while ((s = nbcoll_test_all(2, request, NULL)) == NBCOLL_PENDING)
        ;
    EXPECT(OK, s);
}

static void a_communicator_caches_no_more_schedules_than_asked_for(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    unsigned char from[3 * MANY] = {1}, to[3 * MANY];
    pair p;

    (void)state;
    config.schedules = 4;
    pair_open(&p, 0, &config);
    for (size_t count = MANY; count <= MANY + 8; count++) /* too long for lines, whose channels are kept */
        bcast(&p, from, to, count);
    size_t before = p.memory[1].used;
    for (size_t count = MANY + 9; count <= 3 * MANY; count++)
        bcast(&p, from, to, count);
    assert_true(p.memory[1].used <= before);
    pair_close(&p);
}

static void a_schedule_in_use_outlives_its_place_in_the_cache(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    unsigned char from[MANY] = {0}, to[MANY] = {0}, kept[2][3] = {"ab", ""};
    nbcoll_request request[2];
    pair p;

    (void)state;
    config.schedules = 2;
    pair_open(&p, 0, &config);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_bcast_init(kept[r], 3, NBCOLL_BYTE, 0, p.comm[r], &request[r]));
    for (size_t count = 10; count < 20; count++)
        bcast(&p, from, to, count);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_start(&request[r]));
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    assert_memory_equal(kept[1], "ab", 3);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_request_free(&request[r]));
    pair_close(&p);
}

static void a_peer_leaves_no_more_payload_unexpected_than_it_has_credits(void **state)
{
    static unsigned char data[2][MANY][BYTES];
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request request[2][MANY];
    pair p;

    (void)state;
    config.eager = BYTES;
    config.slots = MANY;
    pair_open(&p, CREDITS, &config);
    for (int i = 0; i < MANY; i++) {
        memset(data[0][i], i + 1, BYTES);
        EXPECT(OK, nbcoll_ibcast(data[0][i], BYTES, NBCOLL_BYTE, 0, p.comm[0], &request[0][i]));
    }
    size_t before = p.memory[1].used;
    for (int i = 0; i < 2 * MANY; i++) {
        nbcoll_progress(p.context[0]);
        nbcoll_progress(p.context[1]);
    }
    assert_true(p.memory[1].used - before >= (CREDITS - 1) * BYTES);  /* it did take some */
    assert_true(p.memory[1].used - before < CREDITS * (BYTES + 256)); /* and nothing of the rest */
    for (int i = 0; i < MANY; i++)
        EXPECT(OK, nbcoll_ibcast(data[1][i], BYTES, NBCOLL_BYTE, 0, p.comm[1], &request[1][i]));
    while (nbcoll_test_all(2 * MANY, request[0], NULL) == NBCOLL_PENDING)
        ;
    assert_memory_equal(data[1], data[0], sizeof data[0]);
    pair_close(&p);
}

static nbcoll_comm *dup_of(pair *p, nbcoll_comm *comm[2])
{
    nbcoll_request request[2];
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_idup(p->comm[r], &comm[r], &request[r]));
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    return comm[1];
}

/* One message in each of many is as good as many in one. */
static void communicators_do_not_multiply_what_a_peer_leaves_unexpected(void **state)
{
    enum { COMMS = 1000 };
    static unsigned char data[2][COMMS][BYTES];
    static nbcoll_comm *comm[COMMS][2];
    static nbcoll_request request[2][COMMS];
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    pair p;

    (void)state;
    config.eager = BYTES;
    config.slots = config.schedules = 1;
    pair_open(&p, CREDITS, &config);
    for (int i = 0; i < COMMS; i++)
        assert_non_null(dup_of(&p, comm[i]));
    size_t before = p.memory[1].used;
    for (int i = 0; i < COMMS; i++) {
        memset(data[0][i], i % 255 + 1, BYTES);
        EXPECT(OK, nbcoll_ibcast(data[0][i], BYTES, NBCOLL_BYTE, 0, comm[i][0], &request[0][i]));
        EXPECT(OK, nbcoll_progress(p.context[1]));
    }
    for (int i = 0; i < 2 * COMMS; i++)
        EXPECT(OK, nbcoll_progress(p.context[i % 2]));
    assert_true(p.memory[1].used - before >= (CREDITS - 1) * BYTES);
    assert_true(p.memory[1].used - before < CREDITS * (BYTES + 256));
    for (int i = COMMS - 1; i >= 0; i--) /* against their order */
        EXPECT(OK, nbcoll_ibcast(data[1][i], BYTES, NBCOLL_BYTE, 0, comm[i][1], &request[1][i]));
    while (nbcoll_test_all(2 * COMMS, request[0], NULL) == NBCOLL_PENDING)
        ;
    assert_memory_equal(data[1], data[0], sizeof data[0]);
    pair_close(&p);
}

static void a_communicator_takes_the_same_memory_whatever_the_credits(void **state)
{
    size_t takes[2];

    (void)state;
    for (int many = 0; many < 2; many++) {
        nbcoll_comm *comm[2];
        pair p;
        pair_open(&p, many ? 65535 : 1, NULL);
        size_t before = p.memory[1].used;
        dup_of(&p, comm);
        takes[many] = p.memory[1].used - before;
        pair_close(&p);
    }
    assert_int_equal(takes[0], takes[1]);
}

/* Barriers and broadcasts of nothing, say. */
static void empty_messages_take_credits_too(void **state)
{
    enum { AHEAD = 100000 };
    nbcoll_request *request[2] = {calloc(AHEAD, sizeof *request[0]), calloc(AHEAD, sizeof *request[1])};
    size_t ended = 0;
    pair p;

    (void)state;
    pair_open(&p, 0, NULL);
    size_t before = p.memory[1].used;
    for (int i = 0; i < AHEAD; i++) {
        EXPECT(OK, nbcoll_ibcast(NULL, 0, NBCOLL_BYTE, 0, p.comm[0], &request[0][i]));
        if (i % 16 == 0)
            nbcoll_progress(p.context[1]);
    }
    for (int i = 0; i < 100; i++)
        for (int r = 0; r < 2; r++)
            nbcoll_progress(p.context[r]);
    assert_true(p.memory[1].used - before < NBCOLL_CREDITS * 512);
    for (int i = 0; i < AHEAD; i++)
        ended += nbcoll_test(&request[0][i]) == NBCOLL_OK;
    assert_int_equal(ended, NBCOLL_CREDITS);
    for (int i = 0; i < AHEAD; i++)
        EXPECT(OK, nbcoll_ibcast(NULL, 0, NBCOLL_BYTE, 0, p.comm[1], &request[1][i]));
    for (int i = 0; i < AHEAD; i++)
        for (int r = 0; r < 2; r++)
            while (nbcoll_test(&request[r][i]) == NBCOLL_PENDING)
                nbcoll_progress(p.context[1 - r]);
    pair_close(&p);
    free(request[0]);
    free(request[1]);
}

/* Some are cancelled, in turn by both, some are queued, each rank is late now and then. */
static void memory_stays_what_it_was_after_the_first_operations(void **state)
{
    const char *full = getenv("NBCOLL_FULL");
    const size_t rounds = full && !strcmp(full, "1") ? 100000 : 1500, first = rounds / 10;
    enum { AT_ONCE = 100 };
    size_t after[2] = {0};
    uint64_t random = 4;
    pair p;

    (void)state;
    pair_open(&p, 0, NULL);
    for (size_t round = 0; round < rounds; round++) {
        static double data[2][AT_ONCE];
        nbcoll_request request[2][AT_ONCE];
        int late = (int)(world_random(&random) % 2);
        for (int k = 0; k < 2; k++) {
            int r = late ^ k ^ 1;
            for (int i = 0; i < AT_ONCE; i++)
                EXPECT(OK, i % 3 == 0   ? nbcoll_ibarrier(p.comm[r], &request[r][i])
                           : i % 3 == 1 ? nbcoll_ibcast(&data[r][i], 1, NBCOLL_DOUBLE, i % 2, p.comm[r], &request[r][i])
                                        : nbcoll_iallreduce(NBCOLL_IN_PLACE, &data[r][i], 1, NBCOLL_DOUBLE, NBCOLL_SUM,
                                                            p.comm[r], &request[r][i]));
            for (int i = (int)(round % 7); i < AT_ONCE; i += 17)
                EXPECT(OK, nbcoll_cancel(request[r][i]));
            nbcoll_progress(p.context[late]);
        }
        for (int i = 0; i < AT_ONCE; i++)
            for (int r = 0; r < 2; r++)
                while (nbcoll_test(&request[r][i]) == NBCOLL_PENDING)
                    nbcoll_progress(p.context[1 - r]);
        for (int r = 0; r < 2 && round == first; r++)
            after[r] = p.memory[r].used;
    }
    for (int r = 0; r < 2; r++)
        assert_true(p.memory[r].used <= after[r] + after[r] / 20);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_caches_no_more_schedules_than_asked_for),
        cmocka_unit_test(a_schedule_in_use_outlives_its_place_in_the_cache),
        cmocka_unit_test(a_peer_leaves_no_more_payload_unexpected_than_it_has_credits),
        cmocka_unit_test(communicators_do_not_multiply_what_a_peer_leaves_unexpected),
        cmocka_unit_test(a_communicator_takes_the_same_memory_whatever_the_credits),
        cmocka_unit_test(empty_messages_take_credits_too),
        cmocka_unit_test(memory_stays_what_it_was_after_the_first_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
