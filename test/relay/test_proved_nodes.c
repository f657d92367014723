/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical topologies are proved like others, whatever the nodes' sizes and numberings; whoever is late, what
 * others contribute to promised operations comes to all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "purse.h"
#include "wired.h"

enum { NUMBERINGS = 3 };

static const struct {
    int room[4];
    size_t rooms;
} shapes[] = {{{1}, 1}, {{2}, 1}, {{3, 1, 2}, 3}, {{4, 1}, 2}, {{40}, 1}};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static nbcoll_nodes *nodes_of(int shape, int ranks, int numbering)
{
    return wired_nodes(ranks, shapes[shape].room, shapes[shape].rooms, (nbcoll_numbering)numbering, (uint64_t)ranks);
}

static void prove(int kind, unsigned ports, const nbcoll_nodes *nodes)
{
    wired p;
    wired_open_nodes(&p, (nbcoll_topology_kind)kind, ports, nodes);
    wired_must(&p, nbcoll_verify_topologies(p.topology, p.ranks, NULL, &p.why));
    wired_close(&p);
}

static void all_topologies_by_nodes_are_proved(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int numbering = 0; numbering < NUMBERINGS; numbering++)
            for (int ranks = 1; ranks <= 33; ranks++) {
                nbcoll_nodes *nodes = nodes_of(shape, ranks, numbering);
                for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
                    for (unsigned ports = 1; ports <= 5; ports++)
                        prove(kind, ports, nodes);
                nbcoll_nodes_free(nodes);
            }
}

/* Where each node is one rank, the topology is that without nodes, but for its name. */
static void nodes_of_one_rank_are_wired_as_ranks(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        nbcoll_nodes *nodes = nodes_of(0, 13, NBCOLL_NUMBERING_BLOCK);
        wired hierarchical, flat;
        wired_open_nodes(&hierarchical, (nbcoll_topology_kind)kind, 2, nodes);
        wired_open(&flat, (nbcoll_topology_kind)kind, 2, 13);
        for (int rank = 0; rank < 13; rank++) {
            const nbcoll_topology *a = hierarchical.topology[rank], *b = flat.topology[rank];
            assert_int_equal(a->relays, b->relays);
            assert_int_equal(a->connections, b->connections);
            for (uint32_t i = 0; i < a->relays; i++)
                if (b->relay[i].sources + b->relay[i].destinations)
                    assert_memory_equal(a->relay[i].source, b->relay[i].source,
                                        (b->relay[i].sources + b->relay[i].destinations) * sizeof *b->relay[i].source);
        }
        wired_close(&hierarchical);
        wired_close(&flat);
        nbcoll_nodes_free(nodes);
    }
}

/* What leaves a node goes to leaders, over as many pairs of them as nodes have neighbours. */
static void only_leaders_are_joined_to_other_nodes(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        nbcoll_nodes *nodes = nodes_of(2, 20, NBCOLL_NUMBERING_RANDOM);
        wired p;
        wired_open_nodes(&p, (nbcoll_topology_kind)kind, 2, nodes);
        for (int rank = 0; rank < p.ranks; rank++)
            for (uint32_t relay = 0; relay < p.topology[rank]->relays; relay++)
                for (uint32_t i = 0; i < p.topology[rank]->relay[relay].destinations; i++) {
                    int to = p.topology[rank]->relay[relay].destination[i].rank;
                    int is_near = nbcoll_node_of(nodes, to) == nbcoll_node_of(nodes, rank);
                    assert_true(nbcoll_node_place(nodes, rank) == 0 || is_near);
                    assert_true(nbcoll_node_place(nodes, to) == 0 || nbcoll_node_place(nodes, rank) == 0);
                }
        wired_close(&p);
        nbcoll_nodes_free(nodes);
    }
}

static void any_ranks_may_be_late(void **state)
{
    uint32_t started[6];
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int shape = 1; shape < SHAPES; shape++)
            for (int ranks = 2; ranks <= 6; ranks++) {
                nbcoll_nodes *nodes = nodes_of(shape, ranks, ranks % NUMBERINGS);
                wired_open_nodes(&p, (nbcoll_topology_kind)kind, 1, nodes);
                for (unsigned late = 0; late < 1u << ranks; late++) {
                    for (int rank = 0; rank < ranks; rank++)
                        started[rank] = late >> rank & 1 ? 0 : 5;
                    wired_play(&p, started, 2, 5, late); /* three operations more than are promised */
                }
                wired_close(&p);
                nbcoll_nodes_free(nodes);
            }
}

/* Each rank by another number of operations, in many orders. */
static void ranks_may_be_late_by_any_number_of_operations(void **state)
{
    uint64_t random = 1;
    uint32_t started[12];
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        nbcoll_nodes *nodes = nodes_of(2, 12, NBCOLL_NUMBERING_RANDOM);
        wired_open_nodes(&p, (nbcoll_topology_kind)kind, 2, nodes);
        for (uint32_t turn = 0; turn < 50; turn++) {
            for (int rank = 0; rank < p.ranks; rank++) {
                random = random * UINT64_C(6364136223846793005) + 1;
                started[rank] = (uint32_t)(random >> 40) % 7;
            }
            wired_play(&p, started, 1 + turn % 3, 6, turn);
        }
        wired_close(&p);
        nbcoll_nodes_free(nodes);
    }
}

static void what_cannot_be_wired_is_refused(void **state)
{
    nbcoll_nodes *nodes = nodes_of(2, 6, NBCOLL_NUMBERING_BLOCK);
    nbcoll_host host = {.size = 1};
    nbcoll_topology *w = NULL;
    (void)state;
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_COUNT, 0, nodes, 0, NULL, &w), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_RING, 0, nodes, 6, NULL, &w), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_RING, 0, nodes, -1, NULL, &w), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_RING, 0, nodes, 0, &host, &w), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_RING, 0, NULL, 0, NULL, &w), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_RING, 0, nodes, 0, NULL, NULL), NBCOLL_ERR_NULL);
    assert_null(w);
    nbcoll_nodes_free(nodes);
}

static void without_memory_nothing_is_made_and_nothing_kept(void **state)
{
    nbcoll_nodes *nodes = nodes_of(2, 12, NBCOLL_NUMBERING_BLOCK);
    purse mine = {0};
    nbcoll_host host = purse_host(&mine);
    nbcoll_status s = NBCOLL_ERR_MEMORY;
    nbcoll_topology *w;
    int failed = 0;
    (void)state;
    for (; s == NBCOLL_ERR_MEMORY; failed++) {
        mine.left = failed;
        s = nbcoll_topology_make_nodes(NBCOLL_TOPOLOGY_BRUCK, 2, nodes, 0, &host, &w);
        if (s != NBCOLL_OK)
            assert_int_equal(mine.out, 0);
    }
    assert_int_equal(s, NBCOLL_OK);
    assert_in_range(failed, nodes->count, 1000);
    nbcoll_topology_free(w);
    assert_int_equal(mine.out, 0);
    nbcoll_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_topologies_by_nodes_are_proved),
        cmocka_unit_test(nodes_of_one_rank_are_wired_as_ranks),
        cmocka_unit_test(only_leaders_are_joined_to_other_nodes),
        cmocka_unit_test(any_ranks_may_be_late),
        cmocka_unit_test(ranks_may_be_late_by_any_number_of_operations),
        cmocka_unit_test(what_cannot_be_wired_is_refused),
        cmocka_unit_test(without_memory_nothing_is_made_and_nothing_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
