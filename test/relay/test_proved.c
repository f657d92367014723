/* SPDX-License-Identifier: BSD-3-Clause
 * All topologies are proved: each block comes to each rank once. Whoever is late, what others contribute to promised
 * operations comes to all, stores hold no more than their credits, and nothing is stuck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wired.h"

static void all_topologies_are_proved(void **state)
{
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (unsigned ports = 1; ports <= 4; ports++)
            for (int ranks = 1; ranks <= 33; ranks++) {
                wired_open(&p, (nbcoll_topology_kind)kind, ports, ranks);
                wired_must(&p, nbcoll_verify_topologies(p.topology, ranks, NULL, &p.why));
                assert_int_equal(p.why.flaw, NBCOLL_RELAY_FLAW_NONE);
                wired_close(&p);
            }
}

static void topologies_of_128_ranks_are_proved(void **state)
{
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (unsigned ports = 1; ports <= 3; ports++) {
            wired_open(&p, (nbcoll_topology_kind)kind, ports, WIRED_MOST);
            wired_must(&p, nbcoll_verify_topologies(p.topology, WIRED_MOST, NULL, &p.why));
            wired_close(&p);
        }
}

static void any_ranks_may_be_late(void **state)
{
    uint32_t started[6];
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (unsigned ports = 1; ports <= 2; ports++)
            for (int ranks = 1; ranks <= 6; ranks++) {
                wired_open(&p, (nbcoll_topology_kind)kind, ports, ranks);
                for (unsigned late = 0; late < 1u << ranks; late++) {
                    for (int rank = 0; rank < ranks; rank++)
                        started[rank] = late >> rank & 1 ? 0 : 5;
                    wired_play(&p, started, 2, 5, late); /* three operations more than are promised */
                }
                wired_close(&p);
            }
}

/* Each rank by another number of operations, in many orders. */
static void ranks_may_be_late_by_any_number_of_operations(void **state)
{
    uint64_t random = 1;
    uint32_t started[9];
    wired p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        wired_open(&p, (nbcoll_topology_kind)kind, 2, 9);
        for (uint32_t turn = 0; turn < 100; turn++) {
            for (int rank = 0; rank < p.ranks; rank++) {
                random = random * UINT64_C(6364136223846793005) + 1;
                started[rank] = (uint32_t)(random >> 40) % 7;
            }
            wired_play(&p, started, 1 + turn % 3, 6, turn);
        }
        wired_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_topologies_are_proved),
        cmocka_unit_test(topologies_of_128_ranks_are_proved),
        cmocka_unit_test(any_ranks_may_be_late),
        cmocka_unit_test(ranks_may_be_late_by_any_number_of_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
