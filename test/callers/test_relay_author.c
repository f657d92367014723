/* SPDX-License-Identifier: BSD-3-Clause
 * Who wants to know what relays would do: looks at a topology, counts its connections, has topologies proved, also one
 * of his own, and plays operations while a rank is late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "nbcoll/show.h"
#include "nbcoll/verify.h"

enum { RANKS = 9, LATE = 4 };

static nbcoll_topology *topology[RANKS];

static int make_all(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        if (nbcoll_topology_make(NBCOLL_TOPOLOGY_CAYLEY, 3, RANKS, rank, NULL, &topology[rank]))
            return -1;
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_topology_free(topology[rank]);
    return 0;
}

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

static void the_author_looks_at_a_topology(void **state)
{
    char text[1024] = "";
    (void)state;
    assert_int_equal(nbcoll_show_topology(topology[8], append, text), NBCOLL_OK);
    assert_string_equal(text, "topology cayley: rank 8 of 9, 2 relays, 3 connections\n"
                              "relay 0: from nobody to 2_2\n"
                              "relay 1: from 2_0 2_1 to nobody\n");
}

static void the_author_has_topologies_proved(void **state)
{
    nbcoll_relay_refutation why = {.size = sizeof why};
    (void)state;
    assert_int_equal(nbcoll_verify_topologies((const nbcoll_topology *const *)topology, RANKS, NULL, &why), NBCOLL_OK);
    assert_int_equal(why.flaw, NBCOLL_RELAY_FLAW_NONE);
}

static void the_author_is_told_what_is_wrong_with_his_own_topology(void **state)
{
    static const nbcoll_relay_end to_1[] = {{.rank = 1, .relay = 1, .origins = 1}};
    static const nbcoll_relay_end from_0[] = {{.rank = 0, .relay = 0, .origins = 1}};
    static const nbcoll_relay zero[] = {{.destinations = 1, .destination = to_1}};
    static const nbcoll_relay one[] = {{0}, {.sources = 1, .source = from_0}};
    const nbcoll_topology a = {sizeof a, "one way", 0, 2, 1, 1, zero}, b = {sizeof b, "one way", 1, 2, 2, 1, one};
    const nbcoll_topology *const both[] = {&a, &b};
    nbcoll_relay_refutation why = {.size = sizeof why};
    (void)state;
    assert_int_equal(nbcoll_verify_topologies(both, 2, NULL, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(why.text, "one way: rank 0, relay 0, a block of rank 1: a block does not come to a rank");
}

static void the_author_plays_operations_while_a_rank_is_late(void **state)
{
    uint32_t started[RANKS];
    nbcoll_relay_play play = {
        .size = sizeof play, .at_once = 2, .fragments = 4, .operations = 3, .started = started, .seed = 1};
    nbcoll_relay_refutation why = {.size = sizeof why};
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        started[rank] = rank == LATE ? 0 : 3;
    assert_int_equal(nbcoll_play_topologies((const nbcoll_topology *const *)topology, RANKS, &play, &why), NBCOLL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_author_looks_at_a_topology),
        cmocka_unit_test(the_author_has_topologies_proved),
        cmocka_unit_test(the_author_is_told_what_is_wrong_with_his_own_topology),
        cmocka_unit_test(the_author_plays_operations_while_a_rank_is_late),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
