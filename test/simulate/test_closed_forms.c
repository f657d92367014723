/* SPDX-License-Identifier: BSD-3-Clause
 * What the simulator says is what the models' formulas say, to the nanosecond: LogGP and Hockney, for a broadcast,
 * three allgathers, an allreduce, a barrier, and a message that is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nbcoll/pattern.h>

#include "scene.h"

#define L 1700
#define O 230
#define GAP 410
#define G 3

/* A message of n bytes, from the beginning of the SEND to the end of the RECV. */
static uint64_t loggp(uint64_t n)
{
    return 2 * O + L + (n ? (n - 1) * G : 0);
}

#define ALPHA 1500
#define BETA 2

static uint64_t hockney(uint64_t n)
{
    return ALPHA + BETA * n;
}

static void set_hockney(scene *s)
{
    scene_loggp(s, ALPHA + BETA, 0, ALPHA + BETA, BETA);
}

static const int ranks[] = {1, 2, 3, 4, 7, 8, 16, 33, 64, 128, 1000};
#define RANKS (sizeof ranks / sizeof *ranks)

/* When the last rank of the subtree below `me`, which can go on at `t`, has its data. A child's message begins when the
 * core has posted it and the interface has sent the one before. */
static uint64_t binomial(int me, int P, uint64_t n, uint64_t t)
{
    uint64_t last = t, core = t, interface = 0;
    for (int child = nbcoll_binomial_first(me, P); child > me; child = nbcoll_binomial_next(me, child)) {
        core += O;
        uint64_t begin = core > interface ? core : interface;
        interface = begin + (n - 1) * G + GAP;
        uint64_t end = binomial(child, P, n, begin + (n - 1) * G + L + O);
        last = end > last ? end : last;
    }
    return last;
}

static void broadcast_down_a_binomial_tree(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANKS; i++) {
        scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", ranks[i], 1000);
        scene_loggp(&s, L, O, GAP, G);
        assert_int_equal(scene_play(&s), binomial(0, ranks[i], 1000, 0));
        if (nbcoll_power(ranks[i]) == ranks[i])
            assert_int_equal(s.result.last, (uint64_t)nbcoll_rounds(ranks[i]) * loggp(1000));
        assert_int_equal(s.result.messages, ranks[i] - 1);
        assert_int_equal(s.result.bytes, 1000 * (ranks[i] - 1));
        set_hockney(&s);
        assert_int_equal(scene_play(&s), (uint64_t)nbcoll_rounds(ranks[i]) * hockney(1000));
    }
}

static void allgather_round_a_ring(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANKS; i++) {
        uint64_t rounds = (uint64_t)ranks[i] - 1;
        scene s = scene_of(NBCOLL_OPERATION_ALLGATHER, "ring", ranks[i], 100);
        scene_loggp(&s, L, O, GAP, G);
        assert_int_equal(scene_play(&s), rounds * loggp(100));
        assert_int_equal(s.result.first, s.result.last);
        assert_int_equal(s.result.rounds, rounds);
        assert_int_equal(s.result.cpu, (uint64_t)ranks[i] * rounds * 2 * O);
        set_hockney(&s);
        assert_int_equal(scene_play(&s), rounds * hockney(100));
    }
}

/* In each round twice the bytes of the one before. */
static void allgather_that_doubles(const char *algorithm)
{
    for (int P = 2; P <= 256; P *= 2) {
        scene s = scene_of(NBCOLL_OPERATION_ALLGATHER, algorithm, P, 10);
        uint64_t expected = 0, by_hockney = 0;
        for (uint64_t have = 1; have < (uint64_t)P; have *= 2) {
            expected += loggp(10 * have);
            by_hockney += hockney(10 * have);
        }
        scene_loggp(&s, L, O, GAP, G);
        assert_int_equal(scene_play(&s), expected);
        assert_int_equal(s.result.rounds, nbcoll_rounds(P));
        set_hockney(&s);
        assert_int_equal(scene_play(&s), by_hockney);
    }
}

static void allgather_by_bruck(void **state)
{
    (void)state;
    allgather_that_doubles("bruck");
}

static void allgather_by_recursive_doubling(void **state)
{
    (void)state;
    allgather_that_doubles("recursive_doubling");
}

static void allreduce_by_recursive_doubling(void **state)
{
    (void)state;
    for (int P = 2; P <= 256; P *= 2) {
        scene s = scene_of(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", P, 500);
        scene_loggp(&s, L, O, GAP, G);
        uint64_t plain = scene_play(&s);
        assert_int_equal(plain, (uint64_t)nbcoll_rounds(P) * loggp(500));
        s.model.reduce = 2000;
        assert_int_equal(scene_play(&s), plain + (uint64_t)nbcoll_rounds(P) * 2 * 500);
    }
}

static void barrier_by_dissemination(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANKS; i++) {
        uint64_t rounds = (uint64_t)nbcoll_rounds(ranks[i]);
        scene s = scene_of(NBCOLL_OPERATION_BARRIER, "dissemination", ranks[i], 0);
        scene_loggp(&s, L, O, GAP, G);
        assert_int_equal(scene_play(&s), rounds * loggp(0));
        assert_int_equal(s.result.first, s.result.last);
        assert_int_equal(s.result.messages, (uint64_t)ranks[i] * rounds);
        assert_int_equal(s.result.rounds, rounds);
        scene_loggp(&s, ALPHA, 0, ALPHA, BETA);
        assert_int_equal(scene_play(&s), rounds * ALPHA);
    }
}

/* Asked, answered, sent: three messages, of which the last has bytes. */
static void a_long_message_is_asked_for(void **state)
{
    (void)state;
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 2, 1000);
    scene_loggp(&s, L, O, GAP, G);
    s.model.eager = 1000;
    assert_int_equal(scene_play(&s), loggp(1000));
    assert_int_equal(s.result.arrivals, 1);
    s.model.eager = 999;
    assert_int_equal(scene_play(&s), 2 * loggp(0) + loggp(1000));
    assert_int_equal(s.result.arrivals, 3);
    assert_int_equal(s.result.messages, 1);
}

/* All messages are there at once; the root's interface takes one after the other. */
static void an_interface_receives_one_message_at_a_time(void **state)
{
    (void)state;
    for (int P = 2; P <= 64; P++) {
        scene s = scene_of(NBCOLL_OPERATION_GATHER, "flat", P, 1000);
        scene_loggp(&s, L, O, GAP, G);
        assert_int_equal(scene_play(&s), loggp(1000) + (uint64_t)(P - 2) * (GAP + 999 * G));
    }
}

/* Eight ranks in nodes of four, one after the other round a ring: the slower link is on everyone's way. */
static void messages_cost_more_between_nodes(void **state)
{
    (void)state;
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 8, 1);
    s.model.inside.latency = 10;
    s.model.between.latency = 1000;
    s.model.node = 4;
    assert_int_equal(scene_play(&s), 1000 + 10 + 10);
    s.model.node = 8;
    assert_int_equal(scene_play(&s), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_down_a_binomial_tree), cmocka_unit_test(allgather_round_a_ring),
        cmocka_unit_test(allgather_by_bruck),             cmocka_unit_test(allreduce_by_recursive_doubling),
        cmocka_unit_test(barrier_by_dissemination),       cmocka_unit_test(a_long_message_is_asked_for),
        cmocka_unit_test(allgather_by_recursive_doubling), cmocka_unit_test(messages_cost_more_between_nodes),
        cmocka_unit_test(an_interface_receives_one_message_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
