/* SPDX-License-Identifier: BSD-3-Clause
 * Topologies are those of Inozemtsev's thesis (2014): its table 5.2, its Cayley tree of figure 5.4, and its counts of
 * connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/show.h"
#include "wired.h"

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

static void is_shown(nbcoll_topology_kind kind, unsigned ports, int ranks, int rank, const char *text)
{
    char shown[4096] = "";
    nbcoll_topology *w;
    assert_int_equal(nbcoll_topology_make(kind, ports, ranks, rank, NULL, &w), NBCOLL_OK);
    assert_int_equal(nbcoll_show_topology(w, append, shown), NBCOLL_OK);
    assert_string_equal(shown, text);
    nbcoll_topology_free(w);
}

/* But that the thesis lacks 3_0 and 6_0 among the sources of its last row, to which its first one sends. */
static void pipelined_bruck_of_9_ranks_and_2_ports_is_table_5_2(void **state)
{
    (void)state;
    is_shown(NBCOLL_TOPOLOGY_BRUCK, 2, 9, 0,
             "topology bruck: rank 0 of 9, 3 relays, 12 connections\n"
             "relay 0: from nobody to 1_1 2_1 3_2 6_2\n"
             "relay 1: from 7_0 8_0 to 3_2 6_2\n"
             "relay 2: from 3_0 3_1 6_0 6_1 to nobody\n");
}

/* The data items of the table: blocks of one rank, of two, of six. */
static void the_connections_of_table_5_2_carry_its_data_items(void **state)
{
    nbcoll_topology *w;
    uint32_t items[3] = {1, 0, 0};
    (void)state;
    assert_int_equal(nbcoll_topology_make(NBCOLL_TOPOLOGY_BRUCK, 2, 9, 0, NULL, &w), NBCOLL_OK);
    for (uint32_t i = 1; i < 3; i++)
        for (uint32_t j = 0; j < w->relay[i].sources; j++)
            items[i] += w->relay[i].source[j].origins;
    assert_int_equal(items[1], 2);
    assert_int_equal(items[2], 6);
    nbcoll_topology_free(w);
}

static void pipelined_exchange_differs_in_its_partners(void **state)
{
    (void)state;
    is_shown(NBCOLL_TOPOLOGY_EXCHANGE, 2, 9, 4,
             "topology exchange: rank 4 of 9, 3 relays, 12 connections\n"
             "relay 0: from nobody to 1_2 3_1 5_1 7_2\n"
             "relay 1: from 3_0 5_0 to 1_2 7_2\n"
             "relay 2: from 1_0 1_1 7_0 7_1 to nobody\n");
}

/* Where P is no power of k + 1: 2 is a rank of its own, 0 stands for 0 and 1. */
static void a_rank_that_stands_for_another_one_has_a_relay_for_it(void **state)
{
    (void)state;
    is_shown(NBCOLL_TOPOLOGY_BRUCK, 1, 3, 0,
             "topology bruck: rank 0 of 3, 3 relays, 6 connections\n"
             "relay 0: from nobody to 1_1 2_1\n"
             "relay 1: from 2_0 to 1_1\n"
             "relay 2: from 1_0 to 2_1\n");
    is_shown(NBCOLL_TOPOLOGY_BRUCK, 1, 3, 1,
             "topology bruck: rank 1 of 3, 2 relays, 3 connections\n"
             "relay 0: from nobody to 0_2\n"
             "relay 1: from 0_0 0_1 to nobody\n");
}

/* Figure 5.4: coordination number 4, which is 3 ports; rank 1 has the neighbours 0, 5, 6 and 7. */
static void the_cayley_tree_of_9_ranks_is_figure_5_4(void **state)
{
    (void)state;
    is_shown(NBCOLL_TOPOLOGY_CAYLEY, 3, 9, 1,
             "topology cayley: rank 1 of 9, 5 relays, 23 connections\n"
             "relay 0: from nobody to 0_1 5_1 6_1 7_1\n"
             "relay 1: from 0_0 0_2 0_3 0_4 to 5_1 6_1 7_1\n"
             "relay 2: from 5_0 to 0_1 6_1 7_1\n"
             "relay 3: from 6_0 to 0_1 5_1 7_1\n"
             "relay 4: from 7_0 to 0_1 5_1 6_1\n");
}

static uint32_t outgoing(const nbcoll_topology *w)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->relays; i++)
        sum += w->relay[i].destinations;
    return sum;
}

static uint32_t connections(nbcoll_topology_kind kind, unsigned ports, int ranks)
{
    uint32_t most = 0;
    for (int rank = 0; rank < ranks; rank++) {
        nbcoll_topology *w;
        assert_int_equal(nbcoll_topology_make(kind, ports, ranks, rank, NULL, &w), NBCOLL_OK);
        most = w->connections > most ? w->connections : most;
        nbcoll_topology_free(w);
    }
    return most;
}

static void rounds_take_k_R_R_plus_1_connections(void **state)
{
    (void)state;
    for (unsigned ports = 1; ports <= 4; ports++) {
        uint32_t rounds = 1;
        for (unsigned ranks = ports + 1; ranks <= WIRED_MOST; ranks *= ports + 1, rounds++) {
            assert_int_equal(connections(NBCOLL_TOPOLOGY_BRUCK, ports, (int)ranks), ports * rounds * (rounds + 1));
            assert_int_equal(connections(NBCOLL_TOPOLOGY_EXCHANGE, ports, (int)ranks), ports * rounds * (rounds + 1));
        }
    }
    assert_int_equal(connections(NBCOLL_TOPOLOGY_BRUCK, 2, 9), 12);
    assert_int_equal(connections(NBCOLL_TOPOLOGY_BRUCK, 1, 128), 56);
}

/* Other numbers of ranks take no more than the next power, but that a port has an end for a second rank. */
static void other_numbers_of_ranks_take_few_more(void **state)
{
    (void)state;
    for (unsigned ports = 1; ports <= 4; ports++)
        for (int ranks = 2; ranks <= 40; ranks++) {
            uint32_t rounds = 0;
            for (int64_t power = 1; power < ranks; power *= ports + 1)
                rounds++;
            uint32_t bound = ports * rounds * (rounds + 1) + 2 * ports * rounds + 2;
            assert_true(connections(NBCOLL_TOPOLOGY_BRUCK, ports, ranks) <= bound);
            assert_true(connections(NBCOLL_TOPOLOGY_EXCHANGE, ports, ranks) <= bound);
        }
}

static void direct_and_ring_take_2_connections_for_each_other_rank(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 20; ranks++) {
        assert_int_equal(connections(NBCOLL_TOPOLOGY_DIRECT, 0, ranks), 2 * (ranks - 1));
        assert_int_equal(connections(NBCOLL_TOPOLOGY_RING, 0, ranks), 2 * (ranks - 1));
    }
}

static void a_rank_with_c_neighbours_in_a_cayley_tree_has_c_relays_and_c_times_c_outgoing_connections(void **state)
{
    wired p;
    (void)state;
    for (unsigned ports = 1; ports <= 4; ports++) {
        wired_open(&p, NBCOLL_TOPOLOGY_CAYLEY, ports, 60);
        for (int rank = 0; rank < p.ranks; rank++) {
            uint32_t c = p.topology[rank]->relays - 1; /* and the source */
            assert_true(c <= ports + 1);
            assert_int_equal(outgoing(p.topology[rank]), c * c);
        }
        wired_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelined_bruck_of_9_ranks_and_2_ports_is_table_5_2),
        cmocka_unit_test(the_connections_of_table_5_2_carry_its_data_items),
        cmocka_unit_test(pipelined_exchange_differs_in_its_partners),
        cmocka_unit_test(a_rank_that_stands_for_another_one_has_a_relay_for_it),
        cmocka_unit_test(the_cayley_tree_of_9_ranks_is_figure_5_4),
        cmocka_unit_test(rounds_take_k_R_R_plus_1_connections),
        cmocka_unit_test(other_numbers_of_ranks_take_few_more),
        cmocka_unit_test(direct_and_ring_take_2_connections_for_each_other_rank),
        cmocka_unit_test(a_rank_with_c_neighbours_in_a_cayley_tree_has_c_relays_and_c_times_c_outgoing_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
