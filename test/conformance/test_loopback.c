/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What loopback promises beyond the transport contract: its calls' errors, its seeds, its memory, closed peers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

static void a_bad_configuration_is_refused(void **state)
{
    const nbcoll_loopback_config bad[] = {
        {.size = 1, .ranks = 2},
        {.size = sizeof bad[0], .ranks = 0},
        {.size = sizeof bad[0], .ranks = -1},
        {.size = sizeof bad[0], .ranks = 1025},
        {.size = sizeof bad[0], .ranks = 2, .payload = 255},
        {.size = sizeof bad[0], .ranks = 2, .payload = 65537},
        {.size = sizeof bad[0], .ranks = 2, .depth = 65537},
        {.size = sizeof bad[0], .ranks = 2, .flags = 16},
        {.size = sizeof bad[0], .ranks = 2, .host = &(const nbcoll_host){.size = 0}},
    };
    nbcoll_loopback *world = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(nbcoll_loopback_create(&bad[i], &world), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_loopback_create(NULL, &world), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_loopback_create(LOOPBACK(.ranks = 2), NULL), NBCOLL_ERR_NULL);
    assert_null(world);
}

static void the_ends_of_the_range_are_accepted(void **state)
{
    const nbcoll_loopback_config *good[] = {
        LOOPBACK(.ranks = 1),
        LOOPBACK(.ranks = 1024),
        LOOPBACK(.ranks = 2, .payload = 256, .depth = 1),
        LOOPBACK(.ranks = 2, .payload = 65536, .depth = 65536),
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        nbcoll_loopback *world = NULL;
        assert_int_equal(nbcoll_loopback_create(good[i], &world), NBCOLL_OK);
        assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
    }
    assert_int_equal(nbcoll_loopback_free(NULL), NBCOLL_OK);
}

static void a_rank_opens_once(void **state)
{
    nbcoll_loopback *world;
    nbcoll_endpoint *ep, *other = NULL;
    (void)state;
    assert_int_equal(nbcoll_loopback_create(LOOPBACK(.ranks = 2), &world), NBCOLL_OK);
    assert_int_equal(nbcoll_loopback_open(NULL, 0, &ep), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_loopback_open(world, 0, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_loopback_open(world, -1, &ep), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_loopback_open(world, 2, &ep), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_loopback_open(world, 1, &ep), NBCOLL_OK);
    assert_int_equal(nbcoll_loopback_open(world, 1, &other), NBCOLL_ERR_BUSY);
    assert_null(other);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_ERR_BUSY);
    nbcoll_endpoint_close(ep);
    assert_int_equal(nbcoll_loopback_open(world, 1, &other), NBCOLL_ERR_BUSY);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
}

static void every_allocation_may_fail_and_all_memory_goes_back(void **state)
{
    struct counted counted;
    size_t fail_at = 0;
    (void)state;
    do { /* fails the first allocation, then the second, until there are fewer */
        nbcoll_loopback *world = NULL;
        nbcoll_endpoint *end[2] = {NULL};
        counted_host(&counted);
        counted.fail_at = ++fail_at;
        nbcoll_status status = nbcoll_loopback_create(LOOPBACK(.host = &counted.host, .ranks = 2), &world);
        assert_int_equal(status, fail_at == 1 ? NBCOLL_ERR_MEMORY : NBCOLL_OK);
        for (int i = 0; world && i < 2; i++) {
            status = nbcoll_loopback_open(world, i, &end[i]);
            assert_int_equal(status, counted.allocations == fail_at ? NBCOLL_ERR_MEMORY : NBCOLL_OK);
            if (status != NBCOLL_OK)
                assert_int_equal(nbcoll_loopback_open(world, i, &end[i]), NBCOLL_OK);
        }
        if (world) {
            nbcoll_work work = {0};
            assert_int_equal(post_word(end[0], 1, 7, &work), NBCOLL_POST_DONE);
        }
        nbcoll_endpoint_close(end[0]);
        nbcoll_endpoint_close(end[1]);
        assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
        assert_int_equal(counted.bytes, 0);
    } while (counted.allocations >= fail_at);
    assert_int_equal(fail_at, 5); /* the world, two ends, a ring */
}

/* Two senders without memory for rings of their own: what they post arrives, one message after the other. */
static void senders_without_memory_share_a_place(void **state)
{
    struct counted counted;
    nbcoll_endpoint *end[3];
    nbcoll_work work = {0};
    uint64_t word;
    (void)state;
    counted_host(&counted);
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.host = &counted.host), 3, 0, end);
    for (uint64_t i = 0; i < 10; i++) {
        counted.fail_at = counted.allocations + 1;
        assert_int_equal(post_word(end[1], 0, 2 * i, &work), NBCOLL_POST_DONE);
        counted.fail_at = counted.allocations + 1;
        assert_int_equal(post_word(end[2], 0, 2 * i + 1, &work), NBCOLL_POST_NOT_NOW);
        assert_int_equal(end[2]->transport->wakeup->arm(end[2]), NBCOLL_AGAIN); /* nobody would wake it */
        assert_int_equal(receive_words(end[0], 1, &word), 1);
        assert_int_equal(word, 2 * i);
        assert_int_equal(receive_words(end[0], 0, NULL), 0);
        counted.fail_at = counted.allocations + 1;
        assert_int_equal(post_word(end[2], 0, 2 * i + 1, &work), NBCOLL_POST_DONE);
        assert_int_equal(receive_words(end[0], 1, &word), 1);
        assert_int_equal(word, 2 * i + 1);
        assert_int_equal(receive_words(end[0], 0, NULL), 0);
    }
    for (uint64_t i = 0; i < 16; i++) /* with memory again: a ring of its own */
        assert_int_equal(post_word(end[1], 0, i, &work), NBCOLL_POST_DONE);
    for (int r = 0; r < 3; r++)
        nbcoll_endpoint_close(end[r]);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
    assert_int_equal(counted.bytes, 0);
}

static void only_pairs_that_talk_take_memory(void **state)
{
    struct counted counted;
    nbcoll_loopback *world;
    nbcoll_endpoint *end[1024];
    nbcoll_work work = {0};
    uint64_t word;
    (void)state;
    counted_host(&counted);
    world = loopback_ends(LOOPBACK(.host = &counted.host), 300, 0, end);
    size_t before = counted.allocations;
    for (int i = 0; i < 300; i++)
        for (int k = 0; k < 40; k++) {
            assert_int_equal(post_word(end[i], (i + 1) % 300, 5, &work), NBCOLL_POST_DONE);
            assert_int_equal(receive_words(end[(i + 1) % 300], 1, &word), 1);
        }
    assert_int_equal(counted.allocations, before + 300);
    for (int i = 0; i < 300; i++)
        nbcoll_endpoint_close(end[i]);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
    assert_int_equal(counted.bytes, 0);
}

/* The order in which 2 x 8 messages of two senders arrive, after three rounds of the same. */
static void order_of(uint64_t seed, uint64_t words[16])
{
    nbcoll_endpoint *end[3];
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.depth = 8), 3, seed, end);
    nbcoll_work work = {0};
    for (int round = 0; round < 3; round++) {
        for (uint64_t k = 0; k < 16; k++)
            assert_int_equal(post_word(end[k / 8], 2, k, &work), NBCOLL_POST_DONE);
        assert_int_equal(receive_words(end[2], 16, words), 16);
    }
    for (int i = 0; i < 3; i++)
        nbcoll_endpoint_close(end[i]);
    nbcoll_loopback_free(world);
}

static void a_seed_orders_delivery_and_always_the_same_way(void **state)
{
    uint64_t one[16], again[16], other[16];
    int overtaken = 0;
    (void)state;
    order_of(1, one);
    order_of(1, again);
    order_of(2, other);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    for (size_t i = 0; i < 16; i++) /* also within a sender */
        for (size_t k = i + 1; k < 16; k++)
            overtaken += one[i] > one[k] && one[i] / 8 == one[k] / 8;
    assert_true(overtaken > 0);
}

static void seeds_bring_about_every_order_of_three(void **state)
{
    unsigned seen = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        nbcoll_endpoint *end[2];
        nbcoll_loopback *world = loopback_ends(LOOPBACK(.depth = 3), 2, seed, end);
        nbcoll_work work = {0};
        uint64_t words[3];
        for (uint64_t k = 0; k < 3; k++)
            assert_int_equal(post_word(end[0], 1, k, &work), NBCOLL_POST_DONE);
        assert_int_equal(receive_words(end[1], 3, words), 3);
        seen |= 1u << (words[0] * 3 + words[1]);
        nbcoll_endpoint_close(end[0]);
        nbcoll_endpoint_close(end[1]);
        nbcoll_loopback_free(world);
    }
    assert_int_equal(seen, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7);
}

static void a_message_waits_for_its_receiver_to_open(void **state)
{
    nbcoll_loopback *world;
    nbcoll_endpoint *end[2];
    nbcoll_work work = {0};
    uint64_t word = 0;
    (void)state;
    assert_int_equal(nbcoll_loopback_create(LOOPBACK(.ranks = 2), &world), NBCOLL_OK);
    assert_int_equal(nbcoll_loopback_open(world, 0, &end[0]), NBCOLL_OK);
    assert_int_equal(post_word(end[0], 1, 42, &work), NBCOLL_POST_DONE);
    nbcoll_endpoint_close(end[0]);
    assert_int_equal(nbcoll_loopback_open(world, 1, &end[1]), NBCOLL_OK);
    assert_int_equal(receive_words(end[1], 1, &word), 1);
    assert_int_equal(word, 42);
    nbcoll_endpoint_close(end[1]);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
}

static void what_does_not_fit_in_the_ring_of_a_closed_rank_goes_nowhere(void **state)
{
    nbcoll_endpoint *end[2];
    nbcoll_work work = {0};
    (void)state;
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.depth = 1), 2, 0, end);
    assert_int_equal(post_word(end[0], 1, 1, &work), NBCOLL_POST_DONE);
    assert_int_equal(post_word(end[0], 1, 2, &work), NBCOLL_POST_NOT_NOW);
    nbcoll_endpoint_close(end[1]);
    assert_int_equal(post_word(end[0], 1, 2, &work), NBCOLL_POST_DONE);
    nbcoll_endpoint_close(end[0]);
    nbcoll_loopback_free(world);
}

static void a_record_lent_for_a_closed_rank_comes_back(void **state)
{
    nbcoll_endpoint *end[2];
    nbcoll_work work = {0}, second = {0};
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.depth = 1, .flags = NBCOLL_LOOPBACK_LEND), 2, 0, end);
    (void)state;
    assert_int_equal(post_word(end[0], 1, 1, &work), NBCOLL_POST_IN_FLIGHT);
    assert_int_equal(post_word(end[0], 1, 2, &second), NBCOLL_POST_IN_FLIGHT);
    assert_ptr_equal(progress(end[0]).completed, &work);
    nbcoll_endpoint_close(end[1]);
    assert_ptr_equal(progress(end[0]).completed, &second);
    assert_int_equal(second.status, NBCOLL_OK);
    nbcoll_endpoint_close(end[0]);
    nbcoll_loopback_free(world);
}

static void what_no_peer_or_key_can_take_fails(void **state)
{
    nbcoll_endpoint *end[2];
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.payload = 256), 2, 0, end);
    const nbcoll_transport *t = end[0]->transport;
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    nbcoll_registration r = {{{0}}, {0}};
    char memory[300] = {0}, to[300];
    (void)state;
    assert_int_equal(post_word(end[0], 2, 1, &work), NBCOLL_POST_FAILED);
    assert_int_equal(post_word(end[0], -1, 1, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->post(end[0], 1, &header, memory, 257, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->bulk->get(end[0], 1, &r.key, 0, NULL, to, 0, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->bulk->register_memory(end[1], 0, NULL, 1, NBCOLL_PEER_READS, &r), NBCOLL_ERR_BUFFER);
    assert_int_equal(t->bulk->register_memory(end[1], 0, memory, 300, NBCOLL_PEER_READS, &r), NBCOLL_OK);
    assert_int_equal(t->bulk->get(end[0], 1, &r.key, 1, NULL, to, 300, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->bulk->get(end[0], 1, &r.key, 301, NULL, to, 0, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->bulk->get(end[0], 1, &r.key, SIZE_MAX, NULL, to, 2, &work), NBCOLL_POST_FAILED);
    assert_int_equal(t->bulk->get(end[0], 1, &r.key, 1, NULL, to, 299, &work), NBCOLL_POST_DONE);
    assert_int_equal(receive_words(end[1], 0, NULL), 0);
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
    nbcoll_loopback_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_configuration_is_refused),
        cmocka_unit_test(the_ends_of_the_range_are_accepted),
        cmocka_unit_test(a_rank_opens_once),
        cmocka_unit_test(every_allocation_may_fail_and_all_memory_goes_back),
        cmocka_unit_test(senders_without_memory_share_a_place),
        cmocka_unit_test(only_pairs_that_talk_take_memory),
        cmocka_unit_test(a_seed_orders_delivery_and_always_the_same_way),
        cmocka_unit_test(seeds_bring_about_every_order_of_three),
        cmocka_unit_test(a_message_waits_for_its_receiver_to_open),
        cmocka_unit_test(what_does_not_fit_in_the_ring_of_a_closed_rank_goes_nowhere),
        cmocka_unit_test(a_record_lent_for_a_closed_rank_comes_back),
        cmocka_unit_test(what_no_peer_or_key_can_take_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
