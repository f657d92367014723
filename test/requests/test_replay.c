/* SPDX-License-Identifier: BSD-3-Clause
 * Small operations that go well again and again are replayed: a start and a wait then do only what cannot be left out
 * (src/engine/progress/replay.h). Whatever else is called meanwhile finds the operation as it would be without. All
 * of it with operations that are messages, and again with those that are cells.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "nbcoll/loopback.h"
#include "nbcoll/select.h"
#include "world.h"

enum { RANKS = 4, WARM = 3, ROUNDS = 3000, RULES = 3 };

/* Null: operations are messages, or what the library chooses; else this algorithm's. */
static const char *by;

/* By that algorithm. */
static nbcoll_comm_config by_rules(nbcoll_rule rule[RULES])
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;

    static const nbcoll_operation of[RULES] = {NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_BCAST,
                                               NBCOLL_OPERATION_BARRIER};
    for (int i = 0; by && i < RULES; i++)
        rule[i] = (nbcoll_rule){.algorithm = nbcoll_algorithm_find(of[i], by)};
    comm.rules = rule;
    comm.rule_count = by ? RULES : 0;
    return comm;
}

/* Ranks over loopback, without observers, stepped by one thread. */
typedef struct scene {
    int ranks;
    nbcoll_loopback *loopback;
    nbcoll_context *context[RANKS];
    nbcoll_comm *comm[RANKS];
    nbcoll_request q[RANKS];
    int32_t mine[RANKS], sum[RANKS];
} scene;

static void finish(scene *s)
{
    for (int left = s->ranks, turns = 0; left > 0; turns++) {
        assert_true(turns < 1000000);
        left = 0;
        for (int r = 0; r < s->ranks; r++) {
            nbcoll_status status = nbcoll_test(&s->q[r]);
            assert_true(status == NBCOLL_OK || status == NBCOLL_PENDING);
            left += status == NBCOLL_PENDING;
        }
    }
}

static void start(scene *s, int rank)
{
    if (s->q[rank].at)
        EXPECT(OK, nbcoll_start(&s->q[rank]));
    else
        EXPECT(OK, nbcoll_iallreduce(&s->mine[rank], &s->sum[rank], 1, NBCOLL_INT32, NBCOLL_SUM, s->comm[rank],
                                     &s->q[rank]));
}

/* Each rank's number is another one in each round. */
static void set(scene *s, int round)
{
    for (int r = 0; r < s->ranks; r++)
        s->mine[r] = round * 10 + r;
}

static void check(const scene *s, int round)
{
    for (int r = 0; r < s->ranks; r++)
        assert_int_equal(s->sum[r], s->ranks * round * 10 + s->ranks * (s->ranks - 1) / 2);
}

static void all(scene *s, int round)
{
    set(s, round);
    for (int r = 0; r < s->ranks; r++)
        start(s, r);
    finish(s);
    check(s, round);
}

/* With an allreduce that has gone often enough, of persistent requests or of others. */
static void open_scene(scene *s, int ranks, int persistent, uint32_t slots)
{
    nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .ranks = ranks, .flags = by ? NBCOLL_LOOPBACK_SHARED : 0};
    nbcoll_context_config config = {.size = sizeof config};
    nbcoll_rule rule[RULES];
    nbcoll_comm_config comm = by_rules(rule);

    memset(s, 0, sizeof *s);
    s->ranks = ranks;
    comm.slots = slots;
    EXPECT(OK, nbcoll_loopback_create(&loopback, &s->loopback));
    for (int r = 0; r < ranks; r++) {
        nbcoll_endpoint *ep;
        EXPECT(OK, nbcoll_loopback_open(s->loopback, r, &ep));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &config, &s->context[r]));
        EXPECT(OK, nbcoll_comm_icreate(s->context[r], ep, &comm, &s->comm[r], &s->q[r]));
    }
    finish(s);
    for (int r = 0; persistent && r < ranks; r++)
        EXPECT(OK, nbcoll_allreduce_init(&s->mine[r], &s->sum[r], 1, NBCOLL_INT32, NBCOLL_SUM, s->comm[r], &s->q[r]));
    for (int round = 0; round < WARM; round++)
        all(s, round);
}

static void close_scene(scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        if (s->q[r].at)
            EXPECT(OK, nbcoll_request_free(&s->q[r]));
        EXPECT(OK, nbcoll_context_free(s->context[r]));
    }
    EXPECT(OK, nbcoll_loopback_free(s->loopback));
}

static int replays(const scene *s, int rank)
{
    return s->context[rank]->replaying != NULL;
}

static void an_operation_that_went_before_is_replayed(void **state)
{
    scene s;
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        open_scene(&s, 2, persistent, 32);
        set(&s, 9);
        for (int r = 0; r < 2; r++) {
            start(&s, r);
            assert_true(replays(&s, r)); /* it waits */
        }
        for (int r = 0; r < 2; r++) {
            EXPECT(OK, nbcoll_wait(&s.q[r], 0)); /* one look */
            assert_false(replays(&s, r));
        }
        check(&s, 9);
        close_scene(&s);
    }
}

/* What a program can do while its operation waits; each such call finds it active. */
typedef void meanwhile(scene *s, int rank);

static void progresses(scene *s, int rank)
{
    EXPECT(OK, nbcoll_progress(s->context[rank]));
}

static void tests(scene *s, int rank)
{
    nbcoll_status status = nbcoll_test(&s->q[rank]);
    assert_true(status == NBCOLL_PENDING || status == NBCOLL_OK);
}

static void counts(scene *s, int rank)
{
    assert_int_equal(nbcoll_comm_active(s->comm[rank]), 1);
}

static void asks_for_the_result(scene *s, int rank)
{
    EXPECT(PENDING, nbcoll_arrived(s->q[rank], 0, sizeof s->sum[rank]));
}

/* The others have not started theirs: what ends by itself may be freed. */
static void would_free(scene *s, int rank)
{
    if (rank)
        return;
    EXPECT(ERR_BUSY, nbcoll_context_free(s->context[rank]));
    EXPECT(ERR_BUSY, nbcoll_comm_free(s->comm[rank]));
}

static void starts_it_again(scene *s, int rank)
{
    if (s->q[rank].at && rank == 0) /* of others it makes another operation */
        EXPECT(ERR_REQUEST, nbcoll_start(&s->q[rank]));
}

static void arms(scene *s, int rank)
{
    nbcoll_status status = nbcoll_arm(s->context[rank]);
    assert_true(status == NBCOLL_OK || status == NBCOLL_AGAIN);
}

static void waits_till_a_deadline(scene *s, int rank)
{
    if (rank == 0)
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&s->q[rank], 0));
}

static void forks(scene *s, int rank)
{
    int status = 1;
    if (rank)
        return;
    pid_t child = fork();
    if (child == 0)
        _exit(nbcoll_test(&s->q[0]) != NBCOLL_ERR_FORKED || nbcoll_wait(&s->q[0], 0) != NBCOLL_ERR_FORKED);
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

static void whoever_comes_in_finds_it_active(void **state)
{
    static meanwhile *const all_of_them[] = {progresses, tests,           counts, asks_for_the_result,
                                             would_free, starts_it_again, arms,   waits_till_a_deadline,
                                             forks};
    scene s;
    (void)state;
    for (size_t i = 0; i < sizeof all_of_them / sizeof all_of_them[0]; i++)
        for (int persistent = 0; persistent < 2; persistent++)
            for (int ranks = 2; ranks <= RANKS; ranks++) {
                open_scene(&s, ranks, persistent, 32);
                set(&s, 100);
                for (int r = 0; r < ranks; r++) {
                    start(&s, r);
                    /* a test may end the last one's, of messages; of cells, whatever comes in */
                    if (by ? r + 1 < ranks : all_of_them[i] != tests || r == 0)
                        all_of_them[i](&s, r);
                }
                finish(&s);
                check(&s, 100);
                all(&s, 101);
                close_scene(&s);
            }
}

/* Two of one context: neither is replayed while the other one waits. */
static void two_at_a_time_go_as_without(void **state)
{
    scene s;
    nbcoll_request other[2] = {NBCOLL_REQUEST_NULL, NBCOLL_REQUEST_NULL};
    double data[2];
    (void)state;
    open_scene(&s, 2, 1, 32);
    for (int round = 0; round < 50; round++) {
        set(&s, round);
        data[0] = round;
        for (int r = 0; r < 2; r++) {
            int first = (round + r) % 2; /* the order of waits, not of starts, differs */
            start(&s, r);
            EXPECT(OK, nbcoll_ibcast(&data[r], 1, NBCOLL_DOUBLE, 0, s.comm[r], &other[r]));
            if (first)
                (void)nbcoll_test(&other[r]);
        }
        finish(&s);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_wait(&other[r], NBCOLL_FOREVER));
        check(&s, round);
        assert_true(data[1] == round);
    }
    close_scene(&s);
}

/* Rank 0 has sent its part: rank 1 needs nothing more of it. */
static void cancelled_it_ends_so(void **state)
{
    scene s;
    (void)state;
    open_scene(&s, 2, 1, 32);
    start(&s, 0);
    assert_true(replays(&s, 0));
    EXPECT(OK, nbcoll_cancel(s.q[0]));
    start(&s, 1);
    for (int r = 0; r < 2; r++) {
        nbcoll_status status;
        while ((status = nbcoll_test(&s.q[r])) == NBCOLL_PENDING)
            EXPECT(OK, nbcoll_progress(s.context[1 - r]));
        assert_true(status == NBCOLL_ERR_CANCELLED || (r == 1 && status == NBCOLL_OK));
    }
    for (int round = 0; round < 5; round++)
        all(&s, round); /* and goes on */
    close_scene(&s);
}

static void count(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    EXPECT(OK, status);
    ++*(int *)user;
}

static void a_request_with_a_callback_is_not_replayed(void **state)
{
    scene s;
    int times = 0;
    (void)state;
    open_scene(&s, 2, 1, 32);
    set(&s, 5);
    start(&s, 0);
    EXPECT(OK, nbcoll_on_done(s.q[0], count, &times)); /* it replays; later ones do not */
    start(&s, 1);
    finish(&s);
    assert_int_equal(times, 1);
    start(&s, 0);
    assert_false(replays(&s, 0));
    start(&s, 1);
    finish(&s);
    assert_int_equal(times, 2);
    close_scene(&s);
}

/* A peer that has gone away is noticed by an operation that needs it. */
static void a_peer_that_leaves_ends_it(void **state)
{
    scene s;
    nbcoll_status status;
    (void)state;
    open_scene(&s, 2, 0, 32);
    start(&s, 0);
    assert_true(replays(&s, 0));
    EXPECT(OK, nbcoll_context_free(s.context[1]));
    while ((status = nbcoll_test(&s.q[0])) == NBCOLL_PENDING)
        ;
    assert_int_equal(status, NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_context_free(s.context[0]));
    EXPECT(OK, nbcoll_loopback_free(s.loopback));
}

/* The root may be ahead by all of its credits, and by more; the others get each message in its turn. */
static void a_root_far_ahead_is_caught_up_with(void **state)
{
    enum { AHEAD = 300 };
    scene s;
    nbcoll_request q[AHEAD] = {NBCOLL_REQUEST_NULL};
    double from[AHEAD], to;
    (void)state;
    open_scene(&s, 2, 0, 512);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < AHEAD; i++) {
            from[i] = round * AHEAD + i;
            EXPECT(OK, nbcoll_ibcast(&from[i], 1, NBCOLL_DOUBLE, 0, s.comm[0], &q[i]));
        }
        for (int i = 0; i < AHEAD; i++) {
            nbcoll_request r;
            nbcoll_status status;
            EXPECT(OK, nbcoll_ibcast(&to, 1, NBCOLL_DOUBLE, 0, s.comm[1], &r));
            while ((status = nbcoll_test(&r)) == NBCOLL_PENDING)
                EXPECT(OK, nbcoll_progress(s.context[0]));
            assert_int_equal(status, NBCOLL_OK);
            assert_true(to == from[i]);
        }
        EXPECT(OK, nbcoll_wait_all(AHEAD, q, NULL, NBCOLL_FOREVER));
    }
    close_scene(&s);
}

/* Buffers that change from call to call, and schedules that a small cache throws out while their requests are used. */
static void other_buffers_and_evicted_schedules(void **state)
{
    nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .ranks = 2, .flags = by ? NBCOLL_LOOPBACK_SHARED : 0};
    nbcoll_rule rule[RULES];
    nbcoll_comm_config comm = by_rules(rule);
    scene s;
    int32_t in[2][8], out[2][8];
    (void)state;
    memset(&s, 0, sizeof s);
    s.ranks = 2;
    comm.schedules = 2;
    EXPECT(OK, nbcoll_loopback_create(&loopback, &s.loopback));
    for (int r = 0; r < 2; r++) {
        nbcoll_endpoint *ep;
        EXPECT(OK, nbcoll_loopback_open(s.loopback, r, &ep));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &s.context[r]));
        EXPECT(OK, nbcoll_comm_icreate(s.context[r], ep, &comm, &s.comm[r], &s.q[r]));
    }
    finish(&s);
    for (int round = 0; round < 400; round++) {
        size_t count = 1 + (size_t)(round / 10 % 4), at = (size_t)(round % 4);
        for (int r = 0; r < 2; r++) {
            for (int i = 0; i < 8; i++)
                in[r][i] = 100 * r + i + round;
            EXPECT(OK, nbcoll_iallreduce(&in[r][at], &out[r][at], count, NBCOLL_INT32, NBCOLL_SUM, s.comm[r], &s.q[r]));
        }
        finish(&s);
        for (size_t i = at; i < at + count; i++)
            assert_int_equal(out[round % 2][i], 100 + 2 * ((int32_t)i + round));
    }
    close_scene(&s);
}

static void more_persistent_requests_than_keep_runs(void **state)
{
    enum { MANY = 20 };
    scene s;
    nbcoll_request q[2][MANY];
    double data[2] = {0};
    (void)state;
    open_scene(&s, 2, 0, 32);
    for (int i = 0; i < MANY; i++)
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_bcast_init(&data[r], 1, NBCOLL_DOUBLE, 0, s.comm[r], &q[r][i]));
    for (int round = 0; round < 4 * MANY; round++) {
        data[0] = round;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_start(&q[r][round % MANY]));
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_wait(&q[r][round % MANY], NBCOLL_FOREVER));
        assert_true(data[1] == round);
    }
    for (int i = 0; i < MANY; i++)
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_request_free(&q[r][i]));
    close_scene(&s);
}

/* Any mixture: operations, persistent or not, other calls meanwhile, waits in any order. */
static void any_mixture(void **state)
{
    static meanwhile *const some[] = {progresses, arms};
    uint64_t seed = 20261122;
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int persistent = 0; persistent < 2; persistent++) {
            scene s;
            open_scene(&s, ranks, persistent, 1 + (uint32_t)(world_random(&seed) % 5));
            for (int round = 0; round < ROUNDS / ranks; round++) {
                set(&s, round);
                for (int i = 0, r = (int)(world_random(&seed) % (uint64_t)ranks); i < ranks; i++, r = (r + 1) % ranks) {
                    start(&s, r);
                    uint64_t what = world_random(&seed) % 16;
                    if (what < 2)
                        some[what](&s, r);
                    else if (what == 2 && i + 1 < ranks)
                        (void)nbcoll_test(&s.q[r]);
                }
                finish(&s);
                check(&s, round);
            }
            close_scene(&s);
        }
}

/* Each rank waits for all others, in turn: whoever comes in while some are there and some are not finds it so. */
static void a_barrier_waits_for_all(void **state)
{
    uint64_t seed = 20261123;
    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        scene s;
        open_scene(&s, ranks, 0, 3);
        for (int round = 0; round < ROUNDS / ranks; round++) {
            for (int i = 0, r = (int)(world_random(&seed) % (uint64_t)ranks); i < ranks; i++, r = (r + 1) % ranks) {
                EXPECT(OK, nbcoll_ibarrier(s.comm[r], &s.q[r]));
                for (int k = 0; i + 1 < ranks && k < ranks; k++) {
                    uint64_t what = world_random(&seed) % 8;
                    if (what == 0)
                        EXPECT(OK, nbcoll_progress(s.context[k]));
                    else if (what == 1 && s.q[k].at)
                        EXPECT(PENDING, nbcoll_test(&s.q[k]));
                    else if (what == 2 && s.q[k].at)
                        EXPECT(ERR_TIMEOUT, nbcoll_wait(&s.q[k], 0));
                }
            }
            finish(&s);
        }
        close_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_went_before_is_replayed),
        cmocka_unit_test(whoever_comes_in_finds_it_active),
        cmocka_unit_test(two_at_a_time_go_as_without),
        cmocka_unit_test(cancelled_it_ends_so),
        cmocka_unit_test(a_request_with_a_callback_is_not_replayed),
        cmocka_unit_test(a_peer_that_leaves_ends_it),
        cmocka_unit_test(a_root_far_ahead_is_caught_up_with),
        cmocka_unit_test(other_buffers_and_evicted_schedules),
        cmocka_unit_test(more_persistent_requests_than_keep_runs),
        cmocka_unit_test(any_mixture),
        cmocka_unit_test(a_barrier_waits_for_all),
    };
    int failed = cmocka_run_group_tests_name("messages", tests, NULL, NULL);
    by = "slots";
    return failed + cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
