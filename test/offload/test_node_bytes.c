/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node as bytes, for an agent in another process: what is read back is what was written; numbers that its
 * relays cannot have are refused, each of them, and read without touching what is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/commands.h"
#include "world.h" /* EXPECT */

enum { RANKS = 9, RANK = 2, READERS = 2, OWN = 6, BYTES = 56 };

/* A node that two come to, by relays 1 and 2, and that sends on what comes. */
static const nbcolli_node_relays_end first[] = {{4, 1, 6}, {7, 3, 18}}, second[] = {{7, 5, 12}};
static const nbcolli_node_relays_end own[] = {{4, 0, 12}, {8, 2, 12}}, on[] = {{8, 4, 24}}, last[] = {{3, 0, 12}};
static const nbcolli_node_relays_relay relays[] = {{0, 2, NULL, own}, {2, 1, first, on}, {1, 1, second, last}};
static const nbcolli_node_relays_config whole = {
    .relays = 3, .relay = relays, .store.shape = {READERS, OWN, 6 + 18 + 12, BYTES}};

static nbcoll_status read_back(const char *packed, size_t bytes, nbcolli_arena *arena, nbcolli_node_relays_config *out)
{
    const nbcoll_agent agent = {.rank = RANK, .ranks = RANKS};
    char *exact = malloc(bytes ? bytes : 1); /* a byte further on is nobody's */
    memcpy(exact, packed, bytes);
    nbcoll_status status = nbcolli_node_bytes_read(&agent, arena, exact, bytes, out);
    free(exact);
    return status;
}

/* Above those of programs. */
static uint32_t first_number(int peer)
{
    return (NBCOLLI_NODE_RELAYS_SETS + (uint32_t)peer) * NBCOLLI_NODE_RELAYS_NUMBERS;
}

static size_t write_packed(const nbcolli_node_relays_config *c, char packed[512])
{
    size_t bytes = nbcolli_node_bytes_bytes(c);
    assert_true(bytes <= 512);
    nbcolli_node_bytes_write(c, packed);
    for (int peer = 0; peer < RANKS; peer++)
        nbcolli_node_bytes_meet(packed, peer, first_number(peer));
    return bytes;
}

static size_t written(char packed[512])
{
    return write_packed(&whole, packed);
}

static void has_met(const nbcolli_node_relays_end *read, const nbcolli_node_relays_end *end)
{
    assert_int_equal(read->peer, end->peer);
    assert_int_equal(read->number, first_number(end->peer) + end->number);
    assert_int_equal(read->credits, end->credits);
}

static nbcoll_status outcome(const char *packed, size_t bytes)
{
    nbcolli_arena arena = {.chunks = NULL};
    nbcolli_node_relays_config read;
    nbcoll_status status = read_back(packed, bytes, &arena, &read);
    nbcolli_arena_close(&arena);
    return status;
}

static void what_is_read_is_what_was_written_with_numbers_for_each_peer(void **state)
{
    nbcolli_arena arena = {.chunks = NULL};
    nbcolli_node_relays_config read;
    char packed[512];
    (void)state;
    EXPECT(OK, read_back(packed, written(packed), &arena, &read));
    assert_memory_equal(&read.store.shape, &whole.store.shape, sizeof whole.store.shape);
    assert_int_equal(read.relays, whole.relays);
    for (uint32_t i = 0; i < whole.relays; i++) {
        const nbcolli_node_relays_relay *r = &read.relay[i], *w = &relays[i];
        assert_int_equal(r->sources, w->sources);
        assert_int_equal(r->destinations, w->destinations);
        for (uint32_t k = 0; k < w->sources; k++)
            has_met(&r->source[k], &w->source[k]);
        for (uint32_t k = 0; k < w->destinations; k++)
            has_met(&r->destination[k], &w->destination[k]);
    }
    nbcolli_arena_close(&arena);
}

static void bytes_that_are_too_few_or_too_many_are_refused(void **state)
{
    char packed[512] = {0};
    size_t bytes = written(packed);
    (void)state;
    for (size_t n = 0; n < 512; n++)
        if (n != bytes)
            EXPECT(ERR_ARGUMENT, outcome(packed, n));
}

/* Words: the store's shape 0 to 3, relays, ends; sources and destinations of three relays from 6 on; from 12 on peer,
 * number and credits of own[0..1], first[0..1], on[0], second[0], last[0]. */
static void each_number_that_cannot_be_is_refused(void **state)
{
    static const struct {
        uint32_t at, is;
    } nonsense[] = {
        {0, 0}, {0, 1u << 30}, {1, 0}, {1, UINT32_MAX}, /* readers; own */
        {2, 35}, {2, 37}, {2, UINT32_MAX},              /* received: not what comes */
        {3, 0}, {3, UINT32_MAX},                        /* bytes of a message */
        {4, 0}, {4, 4}, {5, 6}, {5, UINT32_MAX},        /* relays; ends */
        {6, 1}, {6, UINT32_MAX}, {7, 1}, {8, 3}, {9, 7}, {11, 0}, {11, UINT32_MAX}, /* how many ends a relay has */
        {12, RANK}, {12, RANKS}, {12, UINT32_MAX}, {18, RANK}, {24, RANKS},         /* peers */
        {13, 0}, {28, INT32_MAX},                                                   /* numbers: those of programs */
        {14, 0}, {14, 13}, {20, 0}, {20, 7}, {23, UINT32_MAX}, {26, 25}, {29, 11},  /* credits */
    };
    char packed[512];
    size_t bytes = written(packed);
    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        written(packed);
        memcpy(packed + 4 * nonsense[i].at, &nonsense[i].is, 4);
        EXPECT(ERR_ARGUMENT, outcome(packed, bytes));
    }
    written(packed);
    EXPECT(OK, outcome(packed, bytes));
}

/* 2^31 destinations more of two relays each are none more in 32 bits. */
static void ends_that_are_too_many_by_two_to_the_32_are_refused(void **state)
{
    char packed[512];
    size_t bytes = written(packed);
    uint32_t many = (UINT32_C(1) << 31) + 1;
    (void)state;
    memcpy(packed + 4 * 9, &many, 4);
    memcpy(packed + 4 * 11, &many, 4);
    EXPECT(ERR_ARGUMENT, outcome(packed, bytes));
}

/* What the node's ranks contribute comes from nobody else. */
static void sources_of_relay_0_are_refused(void **state)
{
    static const nbcolli_node_relays_relay has_source[] = {{1, 1, second, last}};
    static const nbcolli_node_relays_config config = {
        .relays = 1, .relay = has_source, .store.shape = {READERS, OWN, 12, BYTES}};
    char packed[512];
    (void)state;
    size_t bytes = write_packed(&config, packed);
    EXPECT(ERR_ARGUMENT, outcome(packed, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_was_written_with_numbers_for_each_peer),
        cmocka_unit_test(bytes_that_are_too_few_or_too_many_are_refused),
        cmocka_unit_test(each_number_that_cannot_be_is_refused),
        cmocka_unit_test(ends_that_are_too_many_by_two_to_the_32_are_refused),
        cmocka_unit_test(sources_of_relay_0_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
