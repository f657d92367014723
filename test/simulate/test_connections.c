/* SPDX-License-Identifier: BSD-3-Clause
 * Connections of a rank, as Inozemtsev's thesis (2014) counts them (sections 4.2.3, 4.4, table 5.1): 7, 14 and 2 with
 * 128 ranks and 4, 8 and 2 with 16 for standard exchange, Bruck and ring. Bruck's are each round's destination and
 * source, so `links`; in its last round these are one rank, so that the peers are one fewer. Standard exchange talks
 * with one rank in each round, so `peers`. All through one port.
 *
 * And table 5.1 for one, two and three ports: rounds and connections grow with the logarithm of the ranks, in the
 * pipelined forms too, which send one message for each other rank instead; the ring's rounds grow with the ranks, and
 * its connections do not. The fourth column of the table, the Cayley tree, needs ranks that pass on what they have not
 * asked for yet, and is not built. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_bruck),
        cmocka_unit_test(of_a_ring),
        cmocka_unit_test(of_an_exchange),
        cmocka_unit_test(of_table_5_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
