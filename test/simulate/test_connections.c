/* SPDX-License-Identifier: BSD-3-Clause
 * Connections of a rank, as Inozemtsev's thesis (2014) counts them (sections 4.2.3, 4.4, table 5.1): 7, 14 and 2 with
 * 128 ranks and 4, 8 and 2 with 16 for standard exchange, Bruck and ring. Bruck's are each round's destination and
 * source, so `links`; in its last round these are one rank, so that the peers are one fewer. Standard exchange talks
 * with one rank in each round, so `peers`. All through one port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

static nbcoll_sim_result played(nbcoll_operation operation, const char *algorithm, int ranks)
{
    scene s = scene_of(operation, algorithm, ranks, 1);
    s.c.ports = 1;
    scene_play(&s);
    return s.result;
}

static void of_bruck(void **state)
{
    (void)state;
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "bruck", 128).links, 14);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "bruck", 128).peers, 13);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "bruck", 16).links, 8);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "bruck", 128).rounds, 7);
}

static void of_a_ring(void **state)
{
    (void)state;
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "ring", 128).links, 2);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "ring", 16).links, 2);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "ring", 128).rounds, 127);
}

static void of_an_exchange(void **state)
{
    (void)state;
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "exchange", 128).peers, 7);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "exchange", 16).peers, 4);
    assert_int_equal(played(NBCOLL_OPERATION_ALLGATHER, "exchange", 128).rounds, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_bruck),
        cmocka_unit_test(of_a_ring),
        cmocka_unit_test(of_an_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
