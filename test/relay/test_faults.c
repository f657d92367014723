/* SPDX-License-Identifier: BSD-3-Clause
 * Faults in topologies are found, wherever they are: an end that is missing, a connection that is missing or doubled,
 * one that leads to another relay, a credit too many, a circle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wired.h"

static nbcoll_relay_flaw flaw_of(wired *p)
{
    nbcoll_status status = nbcoll_verify_topologies(p->topology, p->ranks, NULL, &p->why);
    assert_int_equal(status, p->why.flaw == NBCOLL_RELAY_FLAW_NONE ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
    return p->why.flaw;
}

static void take(nbcoll_relay_end *end, uint32_t *count, uint32_t i)
{
    memmove(end + i, end + i + 1, (--*count - i) * sizeof *end);
}

/* Where, at the other end of it, that end is named. */
static nbcoll_relay_end *other_end(wired *p, int rank, uint32_t relay, const nbcoll_relay_end *e, uint32_t **count,
                                   uint32_t *i)
{
    nbcoll_relay_end *there = wired_ends(p, e->rank, e->relay, 1, count);
    for (*i = 0; there[*i].rank != rank || there[*i].relay != relay;)
        ++*i;
    return there;
}

typedef void spoil(wired *p, int rank, uint32_t relay, uint32_t i);

/* Spoils each connection of these topologies, one after the other. */
static void each_connection_of(nbcoll_topology_kind kind, int ranks, const nbcoll_nodes *nodes, spoil *spoils,
                               nbcoll_relay_flaw flaw)
{
    uint32_t *count, relays = 1, ends = 1;
    wired p;
    for (int rank = 0; rank < ranks; rank++)
        for (uint32_t relay = 0; relay < relays; relay++)
            for (uint32_t i = 0; i < ends; i++) {
                if (nodes)
                    wired_open_nodes(&p, kind, 2, nodes);
                else
                    wired_open(&p, kind, 2, ranks);
                relays = p.topology[rank]->relays;
                wired_ends(&p, rank, relay < relays ? relay : 0, 0, &count);
                ends = relay < relays ? *count : 0;
                if (i < ends) {
                    spoils(&p, rank, relay, i);
                    assert_int_equal(flaw_of(&p), flaw);
                }
                wired_close(&p);
                ends = ends ? ends : 1; /* for the next one */
            }
}

static void each_connection(spoil *spoils, nbcoll_relay_flaw flaw)
{
    static const int sizes[] = {2, 3, 5, 8, 9}, rooms[] = {3, 1, 2};
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
            for (int hierarchical = 0; hierarchical < 2; hierarchical++) {
                nbcoll_nodes *nodes = wired_nodes(sizes[size], rooms, 3, NBCOLL_NUMBERING_RANDOM, sizes[size]);
                each_connection_of((nbcoll_topology_kind)kind, sizes[size], hierarchical ? nodes : NULL, spoils, flaw);
                nbcoll_nodes_free(nodes);
            }
}

static void lose_source(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count, *there, at;
    nbcoll_relay_end *end = wired_ends(p, rank, relay, 0, &count);
    nbcoll_relay_end *back = other_end(p, rank, relay, &end[i], &there, &at);
    take(back, there, at);
}

static void a_connection_with_one_end_is_found(void **state)
{
    (void)state;
    each_connection(lose_source, NBCOLL_RELAY_FLAW_ONE_END);
}

static void lose_both(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count;
    nbcoll_relay_end *end = wired_ends(p, rank, relay, 0, &count);
    lose_source(p, rank, relay, i);
    take(end, count, i);
}

static void a_connection_that_is_missing_is_found(void **state)
{
    (void)state;
    each_connection(lose_both, NBCOLL_RELAY_FLAW_MISSED);
}

static void too_many_credits(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count;
    wired_ends(p, rank, relay, 0, &count)[i].origins++;
}

static void a_credit_too_many_is_found(void **state)
{
    (void)state;
    each_connection(too_many_credits, NBCOLL_RELAY_FLAW_CREDITS);
}

/* Also where both ends have it, so that the store would be larger than promised. */
static void too_many_on_both_sides(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count, *there, at;
    nbcoll_relay_end *end = wired_ends(p, rank, relay, 0, &count);
    nbcoll_relay_end *back = other_end(p, rank, relay, &end[i], &there, &at);
    end[i].origins++;
    back[at].origins++;
}

static void a_credit_too_many_at_both_ends_is_found(void **state)
{
    (void)state;
    each_connection(too_many_on_both_sides, NBCOLL_RELAY_FLAW_CREDITS);
}

static void to_own_source(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count;
    wired_ends(p, rank, relay, 0, &count)[i].relay = 0;
}

static void a_connection_to_the_relay_of_what_a_rank_contributes_is_found(void **state)
{
    (void)state;
    each_connection(to_own_source, NBCOLL_RELAY_FLAW_END);
}

static void doubled(wired *p, int rank, uint32_t relay, uint32_t i)
{
    uint32_t *count;
    static nbcoll_relay_end more[WIRED_MOST];
    nbcoll_relay *at = (nbcoll_relay *)(uintptr_t)&p->made[rank]->relay[relay];
    nbcoll_relay_end *end = wired_ends(p, rank, relay, 0, &count);
    memcpy(more, end, *count * sizeof *end);
    more[(*count)++] = end[i];
    at->destination = more;
}

static void a_connection_that_is_doubled_is_found(void **state)
{
    (void)state;
    each_connection(doubled, NBCOLL_RELAY_FLAW_DOUBLED);
}

/* Relay 0 of rank 0 sends to relay 2 of rank 1, which it joins properly, instead of relay 1. */
static void a_connection_to_the_wrong_relay_is_found(void **state)
{
    static nbcoll_relay_end more[WIRED_MOST];
    uint32_t *count, *there, at;
    wired p;
    (void)state;
    wired_open(&p, NBCOLL_TOPOLOGY_BRUCK, 2, 9);
    nbcoll_relay_end *end = wired_ends(&p, 0, 0, 0, &count);
    assert_int_equal(end[0].rank, 1);
    assert_int_equal(end[0].relay, 1);
    nbcoll_relay_end *back = other_end(&p, 0, 0, &end[0], &there, &at), moved = back[at];
    take(back, there, at);
    end[0].relay = 2;
    nbcoll_relay *to = (nbcoll_relay *)(uintptr_t)&p.made[1]->relay[2];
    memcpy(more, to->source, to->sources * sizeof *more);
    more[to->sources++] = moved;
    to->source = more;
    assert_int_equal(flaw_of(&p), NBCOLL_RELAY_FLAW_MISSED); /* relay 2 sends to nobody */
    assert_int_equal(p.why.origin, 0);
    wired_close(&p);
}

/* What comes to rank 1 goes back to rank 0. */
static void a_way_back_is_found(void **state)
{
    static const nbcoll_relay_end at_0[] = {{0, 1, 1}}, at_1[] = {{1, 1, 1}}, from_0[] = {{0, 0, 1}, {0, 1, 1}},
                                  from_1[] = {{1, 0, 1}, {1, 1, 1}};
    static const nbcoll_relay zero[] = {{0, 1, NULL, at_1}, {2, 1, from_1, at_1}};
    static const nbcoll_relay one[] = {{0, 1, NULL, at_0}, {2, 1, from_0, at_0}};
    const nbcoll_topology w[] = {{sizeof w[0], "back", 0, 2, 2, 4, zero}, {sizeof w[0], "back", 1, 2, 2, 4, one}};
    const nbcoll_topology *const all[] = {&w[0], &w[1]};
    nbcoll_relay_refutation why = {.size = sizeof why};
    (void)state;
    assert_int_equal(nbcoll_verify_topologies(all, 2, NULL, &why), NBCOLL_ERR_VERIFY);
    assert_int_equal(why.flaw, NBCOLL_RELAY_FLAW_TWICE);
    assert_string_equal(why.text,
                        "back: rank 0, relay 1, a block of rank 0: a block comes to a rank more than once, or "
                        "back to its own");
}

/* Two ranks, direct, and relays 2 that send to each other what never comes. */
static void relays_in_a_circle_are_found(void **state)
{
    static const nbcoll_relay_end to_0[] = {{0, 1, 1}}, to_1[] = {{1, 1, 1}}, from_0[] = {{0, 0, 1}},
                                  from_1[] = {{1, 0, 1}}, with_0[] = {{0, 2, 0}}, with_1[] = {{1, 2, 0}};
    static const nbcoll_relay zero[] = {{0, 1, NULL, to_1}, {1, 0, from_1, NULL}, {1, 1, with_1, with_1}};
    static const nbcoll_relay one[] = {{0, 1, NULL, to_0}, {1, 0, from_0, NULL}, {1, 1, with_0, with_0}};
    const nbcoll_topology w[] = {{sizeof w[0], "circle", 0, 2, 3, 4, zero}, {sizeof w[0], "circle", 1, 2, 3, 4, one}};
    const nbcoll_topology *const all[] = {&w[0], &w[1]};
    nbcoll_relay_refutation why = {.size = sizeof why};
    (void)state;
    assert_int_equal(nbcoll_verify_topologies(all, 2, NULL, &why), NBCOLL_ERR_VERIFY);
    assert_int_equal(why.flaw, NBCOLL_RELAY_FLAW_CIRCLE);
}

/* The store of a late rank is full to the last place, so that one credit too many shows. */
static void a_credit_too_many_overflows_the_store_of_a_late_rank(void **state)
{
    const uint32_t started[] = {3, 3, 3, 3, 3, 3, 3, 3, 0};
    nbcoll_relay_play play = {
        .size = sizeof play, .at_once = 2, .fragments = 2, .operations = 3, .started = started, .seed = 1};
    wired p;
    (void)state;
    wired_open(&p, NBCOLL_TOPOLOGY_BRUCK, 2, 9);
    assert_int_equal(nbcoll_play_topologies(p.topology, 9, &play, &p.why), NBCOLL_OK);
    for (uint32_t relay = 1; relay < 3; relay++) { /* of the late rank: a place too few is a credit too many */
        uint32_t *count;
        nbcoll_relay_end *end = wired_ends(&p, 8, relay, 1, &count);
        for (uint32_t i = 0; i < *count; i++) {
            end[i].origins--;
            assert_int_equal(nbcoll_play_topologies(p.topology, 9, &play, &p.why), NBCOLL_ERR_VERIFY);
            assert_int_equal(p.why.flaw, NBCOLL_RELAY_FLAW_STORE);
            assert_int_equal(p.why.rank, 8);
            end[i].origins++;
        }
    }
    wired_close(&p);
}

/* One credit too few, and a started rank does not get what it was promised. */
static void a_credit_too_few_breaks_the_promise(void **state)
{
    const uint32_t started[] = {2, 0, 2, 2};
    nbcoll_relay_play play = {
        .size = sizeof play, .at_once = 2, .fragments = 1, .operations = 2, .started = started, .seed = 1};
    uint32_t *count;
    wired p;
    (void)state;
    wired_open(&p, NBCOLL_TOPOLOGY_CAYLEY, 1, 4);
    assert_int_equal(nbcoll_play_topologies(p.topology, 4, &play, &p.why), NBCOLL_OK);
    nbcoll_relay_end *end = wired_ends(&p, 0, 0, 0, &count);
    assert_int_equal(end[0].rank, 1);
    end[0].origins = 0;
    assert_int_equal(nbcoll_play_topologies(p.topology, 4, &play, &p.why), NBCOLL_ERR_VERIFY);
    assert_int_equal(p.why.flaw, NBCOLL_RELAY_FLAW_PROMISE);
    wired_close(&p);
}

static void what_cannot_be_proved_is_refused(void **state)
{
    const uint32_t started[] = {1, 2};
    nbcoll_relay_play play = {.size = sizeof play, .at_once = 1, .fragments = 1, .operations = 1, .started = started};
    nbcoll_topology *w;
    wired p;
    (void)state;
    assert_int_equal(nbcoll_topology_make(NBCOLL_TOPOLOGY_COUNT, 0, 2, 0, NULL, &w), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_topology_make(NBCOLL_TOPOLOGY_RING, 0, 2, 2, NULL, &w), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_topology_make(NBCOLL_TOPOLOGY_RING, 0, 2, 1, NULL, NULL), NBCOLL_ERR_NULL);
    wired_open(&p, NBCOLL_TOPOLOGY_RING, 1, 2);
    assert_int_equal(nbcoll_play_topologies(p.topology, 2, &play, &p.why), NBCOLL_ERR_CONFIG); /* more than there are */
    play.operations = 2;
    play.fragments = 0;
    assert_int_equal(nbcoll_play_topologies(p.topology, 2, &play, &p.why), NBCOLL_ERR_CONFIG);
    play.fragments = 1u << 31;
    assert_int_equal(nbcoll_play_topologies(p.topology, 2, &play, &p.why), NBCOLL_ERR_LIMIT);
    p.topology[0] = p.made[1];
    assert_int_equal(nbcoll_verify_topologies(p.topology, 2, NULL, &p.why), NBCOLL_ERR_RANK);
    p.topology[0] = NULL;
    assert_int_equal(nbcoll_verify_topologies(p.topology, 2, NULL, &p.why), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify_topologies(p.topology, 0, NULL, &p.why), NBCOLL_ERR_RANK);
    wired_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_with_one_end_is_found),
        cmocka_unit_test(a_connection_that_is_missing_is_found),
        cmocka_unit_test(a_connection_that_is_doubled_is_found),
        cmocka_unit_test(a_connection_to_the_wrong_relay_is_found),
        cmocka_unit_test(a_connection_to_the_relay_of_what_a_rank_contributes_is_found),
        cmocka_unit_test(a_credit_too_many_is_found),
        cmocka_unit_test(a_credit_too_many_at_both_ends_is_found),
        cmocka_unit_test(a_way_back_is_found),
        cmocka_unit_test(relays_in_a_circle_are_found),
        cmocka_unit_test(a_credit_too_many_overflows_the_store_of_a_late_rank),
        cmocka_unit_test(a_credit_too_few_breaks_the_promise),
        cmocka_unit_test(what_cannot_be_proved_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
