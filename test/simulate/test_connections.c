/* SPDX-License-Identifier: BSD-3-Clause
 * Connections of a rank, as Inozemtsev's thesis (2014) counts them (sections 4.2.3, 4.4, table 5.1): 7, 14 and 2 with
 * 128 ranks and 4, 8 and 2 with 16 for standard exchange, Bruck and ring. Bruck's are each round's destination and
 * source, so `links`; in its last round these are one rank, so that the peers are one fewer. Standard exchange talks
 * with one rank in each round, so `peers`. All through one port.
 *
 * And table 5.1 for one, two and three ports: rounds and connections grow with the logarithm of the ranks, in the
 * pipelined forms too, which send one message for each other rank instead; the ring's rounds grow with the ranks, and
 * its connections do not. In the Cayley tree, the fourth column, each rank has at most one neighbour more than ports,
 * and rounds are the tree's diameter: not at most 2 ceil(log_(k+1) n), as the thesis has it; of 128 ranks it is that
 * from three ports on only, of 64 with three it is not.
 *
 * By nodes (section 4.4): on 16 nodes of 8 ranks standard exchange takes 4 rounds between leaders where the flat one
 * takes 7 between ranks, and the queue pairs of a rank, or of a node's leader, three a connection, go down from 21, 42
 * and 6 to 12, 24 and 6 for standard exchange, Bruck and ring. A broadcast enters each node once: 15 messages between
 * nodes, where the flat tree sends 120 (Ramos' thesis, 2013, section 4.1.3); and so does its minimum spanning tree,
 * which splits ranks that are numbered node by node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

static nbcoll_sim_result played_through(unsigned ports, const char *algorithm, int ranks)
{
    scene s = scene_of(NBCOLL_OPERATION_ALLGATHER, algorithm, ranks, 1);
    s.c.ports = ports;
    scene_play(&s);
    return s.result;
}

static nbcoll_sim_result played(const char *algorithm, int ranks)
{
    return played_through(1, algorithm, ranks);
}

static void of_bruck(void **state)
{
    (void)state;
    assert_int_equal(played("bruck", 128).links, 14);
    assert_int_equal(played("bruck", 128).peers, 13);
    assert_int_equal(played("bruck", 16).links, 8);
    assert_int_equal(played("bruck", 128).rounds, 7);
}

static void of_a_ring(void **state)
{
    (void)state;
    assert_int_equal(played("ring", 128).links, 2);
    assert_int_equal(played("ring", 16).links, 2);
    assert_int_equal(played("ring", 128).rounds, 127);
}

static void of_an_exchange(void **state)
{
    (void)state;
    assert_int_equal(played("exchange", 128).peers, 7);
    assert_int_equal(played("exchange", 16).peers, 4);
    assert_int_equal(played("exchange", 128).rounds, 7);
}

/* So many ranks that all rounds are full: `power` = (ports + 1)^rounds. */
static void row(unsigned ports, unsigned rounds, int power)
{
    static const char *const whole[] = {"exchange", "bruck_ports"};
    static const char *const pipelined[] = {"exchange_pipelined", "bruck_pipelined"};
    for (int i = 0; i < 2; i++) {
        nbcoll_sim_result x = played_through(ports, whole[i], power), y = played_through(ports, pipelined[i], power);
        assert_int_equal(x.rounds, rounds);
        assert_int_equal(x.messages, (unsigned)power * rounds * ports);
        assert_int_equal(x.links, 2 * rounds * ports);
        assert_int_equal(y.rounds, rounds);
        assert_int_equal(y.messages, (unsigned)power * (unsigned)(power - 1));
        assert_int_equal(y.links, x.links);
        assert_int_equal(y.peers, x.peers);
    }
    nbcoll_sim_result ring = played("ring", power);
    assert_int_equal(ring.rounds, power - 1);
    assert_int_equal(ring.messages, (unsigned)power * (unsigned)(power - 1));
    assert_int_equal(ring.links, 2);
}

static void of_table_5_1(void **state)
{
    (void)state;
    row(1, 4, 16);
    row(1, 7, 128);
    row(2, 3, 27);
    row(2, 4, 81);
    row(3, 2, 16);
    row(3, 3, 64);
}

/* The longest way between two ranks of the tree of `n`, by its levels. */
static unsigned diameter(uint64_t n, uint64_t k)
{
    uint64_t above = 1, level = k + 1, h = 0, room = 1; /* ranks above level h + 1, on it, levels, k^h */
    while (above < n && above + level < n) {
        above += level;
        level *= k;
        room *= k;
        h++;
    }
    return n == 1 ? 0 : (unsigned)(2 * (h + 1) - (n - above <= room));
}

static unsigned thesis_bound(int n, int k)
{
    unsigned rounds = 0;
    for (int64_t power = 1; power < n; power *= k + 1)
        rounds += 2;
    return rounds;
}

static void of_a_cayley_tree(void **state)
{
    (void)state;
    for (int k = 1; k <= 4; k++)
        for (int n = 1; n <= 130; n += n < 66 ? 1 : 8) {
            nbcoll_sim_result r = played_through((unsigned)k, "cayley", n);
            assert_int_equal(r.rounds, diameter((uint64_t)n, (uint64_t)k));
            assert_true(r.peers <= (unsigned)k + 1);
            assert_int_equal(r.messages, n * (n - 1));
        }
    for (int k = 1; k <= 2; k++)
        assert_true(diameter(128, (uint64_t)k) > thesis_bound(128, k));
    assert_int_equal(diameter(128, 3), thesis_bound(128, 3));
    assert_true(diameter(64, 3) > thesis_bound(64, 3));
    assert_int_equal(played_through(2, "cayley", 128).rounds, 12);
    assert_int_equal(played_through(2, "cayley", 128).peers, 3);
    assert_int_equal(played_through(3, "cayley", 128).rounds, 8);
    assert_int_equal(played_through(3, "cayley", 128).peers, 4);
}

/* ---- by nodes -------------------------------------------------------------------------------------------------- */

enum { NODES = 16, RANKS = 128 };

/* What goes between nodes. */
typedef struct traffic {
    nbcoll_nodes *nodes;
    unsigned messages;
    uint8_t to[RANKS][RANKS];
} traffic;

static void see_between(void *user, const nbcoll_sim_event *e)
{
    traffic *t = user;
    if (e->what != NBCOLL_SIM_MESSAGE || nbcoll_node_of(t->nodes, e->rank) == nbcoll_node_of(t->nodes, e->peer))
        return;
    t->messages++;
    t->to[e->rank][e->peer] = 1;
}

/* An algorithm of the library between leaders, in place: the second phase of 4.4. */
static const char *between_leaders;

static void allgather_by_leaders(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *t = b->nodes;
    int node = nbcoll_node_of(t, b->rank), size = nbcoll_node_size(t, node);
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_GATHER, 0, a->count), show = inside;
    nbcoll_args between = nbcoll_args_part(a, NBCOLL_OPERATION_ALLGATHER, 0, a->count * (size_t)size);
    inside.recv = between.send = nbcoll_at(a->recv, (size_t)node * between.bytes);
    between.in_place = 1;
    show.bytes = a->bytes * (size_t)b->ranks;
    nbcoll_step here =
        nbcoll_within_node(b, t, &inside, nbcoll_algorithm_find(NBCOLL_OPERATION_GATHER, "slots")->build, NBCOLL_START);
    nbcoll_step all = nbcoll_between_nodes(
        b, t, -1, &between, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, between_leaders)->build, here);
    nbcoll_within_node(b, t, &show, nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots")->build, all);
}

/* Plays the scene, whose ranks share memory in nodes of 8. */
static traffic played_by_nodes(scene *s)
{
    static const int room[] = {RANKS / NODES};
    nbcoll_placement placement = {sizeof placement, room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    traffic t = {.messages = 0};
    assert_int_equal(nbcoll_nodes_place(&placement, RANKS, NULL, &t.nodes), NBCOLL_OK);
    s->c.nodes = t.nodes;
    s->c.node = NBCOLL_CASE_BY_NODE;
    s->c.ports = 1;
    s->model.node = RANKS / NODES;
    s->config.event = see_between;
    s->config.user = &t;
    nbcoll_refutation why = {.size = sizeof why};
    assert_int_equal(nbcoll_verify_algorithm(s->algorithm, &s->c, NULL, &why), NBCOLL_OK);
    scene_play(s);
    nbcoll_nodes_free(t.nodes);
    return t;
}

/* Connections of rank 0 to other nodes: those with which it exchanges are one, else each direction is. */
static unsigned connections(const traffic *t, int is_exchange)
{
    unsigned n = 0;
    for (int peer = 0; peer < RANKS; peer++)
        n += is_exchange ? t->to[0][peer] | t->to[peer][0] : (unsigned)t->to[0][peer] + t->to[peer][0];
    return n;
}

static void of_leaders_of_nodes(void **state)
{
    static const struct {
        const char *name;
        int is_exchange;
        unsigned rounds, flat, by_node; /* queue pairs: three a connection, of the ring two for both */
        unsigned each;
    } rows[] = {{"exchange", 1, 4, 21, 12, 3}, {"bruck", 0, 4, 42, 24, 3}, {"ring", 0, 15, 6, 6, 3}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const nbcoll_algorithm mine = {sizeof mine, "mine", NBCOLL_OPERATION_ALLGATHER, allgather_by_leaders, 0, NULL};
        scene s = scene_of(NBCOLL_OPERATION_ALLGATHER, rows[i].name, RANKS, 1);
        between_leaders = rows[i].name;
        nbcoll_sim_result flat = played(rows[i].name, RANKS);
        s.algorithm = &mine;
        traffic t = played_by_nodes(&s);
        assert_int_equal(s.result.rounds, rows[i].rounds + 2); /* the leader's fetches, and those of its node */
        assert_int_equal(rows[i].each * connections(&t, rows[i].is_exchange), rows[i].by_node);
        assert_int_equal(rows[i].each * (rows[i].is_exchange ? flat.peers : flat.links), rows[i].flat);
    }
}

static unsigned between_nodes(const char *bcast, size_t bytes)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, bcast, RANKS, bytes);
    return played_by_nodes(&s).messages;
}

static void of_broadcasts_into_nodes(void **state)
{
    (void)state;
    assert_int_equal(between_nodes("spanning_tree", 1), 15);
    assert_int_equal(between_nodes("hierarchical", 1), 15);
    assert_int_equal(between_nodes("flat", 1), 120);
}

/* A long vector enters each node in pieces of 64 KiB, which leaders pass on while the next is on its way:
 * that takes less time than the whole at once. */
static void of_broadcasts_in_pieces(void **state)
{
    (void)state;
    assert_int_equal(between_nodes("hierarchical", 65536), 15);
    assert_int_equal(between_nodes("hierarchical", 65537), 2 * 15);
    assert_int_equal(between_nodes("hierarchical", 4 * 65536), 4 * 15);
    scene whole = scene_of(NBCOLL_OPERATION_BCAST, "hierarchical", RANKS, 4 * 65536), pieces = whole;
    scene_loggp(&whole, 1000, 100, 100, 1);
    scene_loggp(&pieces, 1000, 100, 100, 1);
    whole.c.segment = 4 * 65536;
    assert_int_equal(played_by_nodes(&whole).messages, 15);
    assert_int_equal(played_by_nodes(&pieces).messages, 4 * 15);
    assert_true(pieces.result.last < whole.result.last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_bruck),
        cmocka_unit_test(of_a_ring),
        cmocka_unit_test(of_an_exchange),
        cmocka_unit_test(of_table_5_1),
        cmocka_unit_test(of_a_cayley_tree),
        cmocka_unit_test(of_leaders_of_nodes),
        cmocka_unit_test(of_broadcasts_into_nodes),
        cmocka_unit_test(of_broadcasts_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
