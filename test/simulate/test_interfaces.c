/* SPDX-License-Identifier: BSD-3-Clause
 * Nodes of the simulated machine: their ranks share interfaces to other nodes, over which their messages are dealt, and
 * lie on them as a table says; a message that comes before its receive costs more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nbcoll/pattern.h>

#include "scene.h"

enum { L = 1000, G = 2, GAP = 30, BYTES = 101, SPAN = (BYTES - 1) * G };

static nbcoll_algorithm algorithm_of(nbcoll_build *build)
{
    return (nbcoll_algorithm){sizeof(nbcoll_algorithm), "mine", NBCOLL_OPERATION_BCAST, build, 0, NULL};
}

/* A machine of nodes of `node` ranks, on which cores cost nothing, and messages inside a node L, too. */
static scene machine(const nbcoll_algorithm *algorithm, int ranks, int node, unsigned interfaces)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "flat", ranks, BYTES);
    s.algorithm = algorithm;
    scene_loggp(&s, L, 0, GAP, G);
    s.model.node = (uint32_t)node;
    s.model.interfaces = interfaces;
    return s;
}

/* ---- interfaces ------------------------------------------------------------------------------------------------ */

/* The ranks of the lower half each send to one of the upper half. */
static void build_halves(nbcoll_builder *b, const nbcoll_args *a)
{
    int half = b->ranks / 2;
    if (b->rank < half)
        nbcoll_add_send(b, b->rank + half, a->recv, a->bytes);
    else
        nbcoll_add_recv(b, b->rank - half, a->recv, a->bytes);
}

static void ranks_of_a_node_share_its_interfaces(void **state)
{
    static const struct {
        unsigned interfaces, turns; /* messages of an interface after its first one */
    } rows[] = {{0, 0}, {1, 3}, {2, 1}, {3, 1}, {4, 0}, {7, 0}};
    nbcoll_algorithm halves = algorithm_of(build_halves);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene s = machine(&halves, 8, 4, rows[i].interfaces);
        assert_int_equal(scene_play(&s), rows[i].turns * (SPAN + GAP) + SPAN + L);
    }
    scene inside = machine(&halves, 8, 8, 1); /* within a node each has its own */
    assert_int_equal(scene_play(&inside), SPAN + L);
}

/* Rank 0 sends to all others, of which each has a node. */
static void build_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank)
        nbcoll_add_recv(b, 0, a->recv, a->bytes);
    for (int to = 1; b->rank == 0 && to < b->ranks; to++)
        nbcoll_add_send(b, to, a->recv, a->bytes);
}

static void ports_are_dealt_over_interfaces_round_robin(void **state)
{
    nbcoll_algorithm flat = algorithm_of(build_flat);
    (void)state;
    for (unsigned interfaces = 1; interfaces <= 4; interfaces++) {
        scene s = machine(&flat, 4, 1, interfaces);
        unsigned turns = (3 - 1) / interfaces;
        assert_int_equal(scene_play(&s), turns * (SPAN + GAP) + SPAN + L);
    }
}

/* The questions before long messages are of no port: of two messages each has an interface. */
static void long_messages_are_dealt_over_interfaces_too(void **state)
{
    nbcoll_algorithm flat = algorithm_of(build_flat);
    (void)state;
    scene two = machine(&flat, 3, 1, 2), one = machine(&flat, 3, 1, 1);
    two.model.eager = one.model.eager = 1;
    assert_int_equal(scene_play(&two), GAP + 2 * L + SPAN + L);
    assert_int_equal(scene_play(&one), GAP + 2 * L + (SPAN + GAP) + SPAN + L - GAP);
}

/* Of node {0, 1}: rank 0 sends at 0 and, after work, at 5000; rank 1 at 500. Who comes first is served first. */
static void build_early_and_late(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr room = nbcoll_add_scratch(b, 5000);
    if (b->rank >= 2) {
        nbcoll_add_recv(b, b->rank == 3, a->recv, a->bytes);
        return;
    }
    if (b->rank == 0)
        nbcoll_add_send(b, 2, a->recv, a->bytes);
    nbcoll_step worked = nbcoll_add_copy(b, room, a->send, b->rank ? 500 : 5000);
    nbcoll_after(b, nbcoll_add_send(b, b->rank ? 3 : 4, a->recv, a->bytes), worked);
}

static void an_interface_serves_first_who_comes_first(void **state)
{
    nbcoll_sim_rank rank[5];
    nbcoll_algorithm mine = algorithm_of(build_early_and_late);
    (void)state;
    scene s = machine(&mine, 5, 2, 1);
    s.model.copy = 1000;
    s.result.rank = rank;
    scene_play(&s);
    assert_int_equal(rank[2].ended, SPAN + L);
    assert_int_equal(rank[3].ended, 500 + SPAN + L);
    assert_int_equal(rank[4].ended, 5000 + SPAN + L);
}

/* ---- placement ------------------------------------------------------------------------------------------------- */

static uint64_t halves_on(const int node[4])
{
    nbcoll_algorithm halves = algorithm_of(build_halves);
    nbcoll_nodes *nodes;
    scene s = machine(&halves, 4, 4, 1);
    s.model.inside.latency = 10;
    assert_int_equal(nbcoll_nodes_make(node, 4, NULL, &nodes), NBCOLL_OK);
    s.config.nodes = nodes;
    uint64_t time = scene_play(&s);
    nbcoll_nodes_free(nodes);
    return time;
}

static void ranks_lie_on_nodes_as_a_table_says(void **state)
{
    (void)state;
    assert_int_equal(halves_on((const int[]){0, 0, 1, 1}), (SPAN + GAP) + SPAN + L); /* both leave one node */
    assert_int_equal(halves_on((const int[]){0, 1, 0, 1}), SPAN + 10);
    assert_int_equal(halves_on((const int[]){0, 1, 0, 2}), SPAN + L); /* of 1 and 3 */
    assert_int_equal(halves_on((const int[]){0, 1, 2, 3}), SPAN + L);
}

/* ---- messages that come too early ------------------------------------------------------------------------------ */

enum { WORK = 5000, STORED = 70, STORED_BYTE = 3 };

/* Rank 1 receives at once, or when it has worked. */
static int is_receiving_at_once;
static void build_busy(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0) {
        nbcoll_add_send(b, 1, a->recv, a->bytes);
        return;
    }
    nbcoll_step worked = nbcoll_add_copy(b, nbcoll_add_scratch(b, WORK), a->send, WORK);
    nbcoll_step got = nbcoll_add_recv(b, 0, a->recv, a->bytes);
    if (!is_receiving_at_once)
        nbcoll_after(b, got, worked);
}

static uint64_t busy(int at_once, size_t eager, uint64_t late)
{
    nbcoll_algorithm mine = algorithm_of(build_busy);
    scene s = machine(&mine, 2, 1, 1);
    is_receiving_at_once = at_once;
    s.model.copy = 1000;
    s.model.unexpected = STORED;
    s.model.unexpected_byte = 1000 * STORED_BYTE;
    s.model.eager = eager;
    s.config.arrival = (nbcoll_sim_arrival){late ? NBCOLL_SIM_ONE_LATE : NBCOLL_SIM_PUNCTUAL, 1, late};
    return scene_play(&s);
}

static void a_message_before_its_receive_costs_more(void **state)
{
    (void)state;
    assert_int_equal(busy(1, 0, 0), WORK);
    assert_int_equal(busy(0, 0, 0), WORK + STORED + BYTES * STORED_BYTE);
    assert_int_equal(busy(1, 0, 2 * L), 2 * L + STORED + BYTES * STORED_BYTE + WORK); /* before the operation */
    assert_int_equal(busy(0, 1, 0), WORK + STORED + 2 * L + SPAN); /* of a long one its announcement */
}

/* uKACC's chain broadcast (Nomura, Ishikawa et al., III.B): as a graph all receives are open from the start, and a
 * piece is passed on when it is here; in rounds the receive of the next one is opened with the send of the last. */
enum { PIECES = 16 };
static int is_in_rounds;
static void build_chain(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step round = NBCOLL_START;
    for (int piece = 0; piece < PIECES; piece++) {
        nbcoll_addr at = nbcoll_at(a->recv, (size_t)piece * 8);
        nbcoll_step have = NBCOLL_START;
        if (b->rank) {
            have = nbcoll_add_recv(b, b->rank - 1, at, 8);
            if (is_in_rounds)
                nbcoll_after(b, have, round);
        }
        round = have;
        if (b->rank < b->ranks - 1) {
            round = nbcoll_add_send(b, b->rank + 1, at, 8);
            nbcoll_after(b, round, have);
        }
    }
}

static uint64_t chain(int rounds, uint64_t unexpected)
{
    nbcoll_algorithm mine = algorithm_of(build_chain);
    scene s = machine(&mine, 4, 1, 1);
    s.c.count = (size_t)PIECES * 8;
    s.model.between.o_send = 100;
    s.model.between.o_recv = 20; /* so that pieces come faster than they are passed on */
    s.model.unexpected = unexpected;
    is_in_rounds = rounds;
    return scene_play(&s);
}

static void a_graph_and_rounds_differ_by_what_comes_too_early(void **state)
{
    (void)state;
    assert_int_equal(chain(0, 0), chain(1, 0));
    assert_int_equal(chain(0, STORED), chain(0, 0));
    assert_true(chain(1, STORED) > chain(0, STORED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_node_share_its_interfaces),
        cmocka_unit_test(ports_are_dealt_over_interfaces_round_robin),
        cmocka_unit_test(long_messages_are_dealt_over_interfaces_too),
        cmocka_unit_test(an_interface_serves_first_who_comes_first),
        cmocka_unit_test(ranks_lie_on_nodes_as_a_table_says),
        cmocka_unit_test(a_message_before_its_receive_costs_more),
        cmocka_unit_test(a_graph_and_rounds_differ_by_what_comes_too_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
