/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fault does to an endpoint: nothing, until told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/fault.h"

#include "ends.h"

#define FAULT(...) (&(const nbcoll_fault_config){.size = sizeof(nbcoll_fault_config), __VA_ARGS__})

/* Rank 0 behind fault, two plain ones. */
struct three {
    nbcoll_loopback *world;
    nbcoll_endpoint *end[3];
    nbcoll_work work[64];
};

static struct three three_open(const nbcoll_fault_config *config)
{
    struct three t = {0};
    t.world = loopback_ends(LOOPBACK(.depth = 1024), 3, 0, t.end);
    assert_int_equal(nbcoll_fault_open(config, t.end[0], &t.end[0]), NBCOLL_OK);
    return t;
}

static void three_close(struct three *t)
{
    for (int i = 0; i < 3; i++)
        nbcoll_endpoint_close(t->end[i]);
    assert_int_equal(nbcoll_loopback_free(t->world), NBCOLL_OK);
}

static void it_looks_like_the_endpoint_inside(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags <= NBCOLL_LOOPBACK_NO_BULK; flags++) {
        nbcoll_endpoint *inner, *ep;
        nbcoll_loopback *world = loopback_ends(LOOPBACK(.payload = 777, .flags = flags), 1, 0, &inner);
        assert_int_equal(nbcoll_fault_open(NULL, inner, &ep), NBCOLL_OK);
        assert_memory_equal(&ep->limits, &inner->limits, sizeof ep->limits);
        assert_int_equal(ep->transport->bulk != NULL, flags == 0);
        assert_non_null(ep->transport->wakeup);
        assert_string_equal(ep->transport->name, "fault");
        nbcoll_endpoint_close(ep);
        assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
    }
}

/* Which of 1000 posts are refused. */
static size_t refusals(uint64_t seed, char refused[1000])
{
    size_t sum = 0;
    struct three t = three_open(FAULT(.seed = seed, .not_now = 250));
    for (int i = 0; i < 1000; i++) {
        nbcoll_posted said = post_word(t.end[0], 1, 0, &t.work[0]);
        assert_true(said == NBCOLL_POST_DONE || said == NBCOLL_POST_NOT_NOW);
        refused[i] = said == NBCOLL_POST_NOT_NOW;
        sum += said == NBCOLL_POST_NOT_NOW;
    }
    assert_int_equal(receive_words(t.end[1], 0, NULL), 1000 - sum);
    three_close(&t);
    return sum;
}

static void it_refuses_the_share_named_as_the_seed_says(void **state)
{
    char one[1000], again[1000], other[1000];
    (void)state;
    assert_in_range(refusals(1, one), 200, 300);
    refusals(1, again);
    refusals(2, other);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
}

static void a_held_message_leaves_within_the_progresses_named(void **state)
{
    unsigned seen = 0;
    struct three t = three_open(FAULT(.seed = 3, .hold = 1000, .longest = 4));
    (void)state;
    for (int round = 0; round < 100; round++) {
        nbcoll_work *work = &t.work[0];
        unsigned passed = 0;
        assert_int_equal(post_word(t.end[0], 1, 5, work), NBCOLL_POST_IN_FLIGHT);
        assert_null(progress(t.end[1]).arrived);
        for (nbcoll_work *back = NULL; !back; passed++)
            back = progress(t.end[0]).completed;
        assert_int_equal(work->status, NBCOLL_OK);
        assert_int_equal(receive_words(t.end[1], 0, NULL), 1);
        assert_in_range(passed, 1, 4);
        seen |= 1u << passed;
    }
    assert_int_equal(seen, 2 | 4 | 8 | 16);
    three_close(&t);
}

/* Posts 40 messages, half of them held, and counts how many were overtaken. */
static int overtaken(uint32_t flags)
{
    uint64_t words[40];
    int sum = 0;
    struct three t = three_open(FAULT(.seed = 4, .hold = 500, .longest = 6, .flags = flags));
    for (uint64_t k = 0; k < 40; k++)
        assert_int_not_equal(post_word(t.end[0], 1, k, &t.work[k]), NBCOLL_POST_NOT_NOW);
    for (int i = 0; i < 40; i++)
        progress(t.end[0]);
    assert_int_equal(receive_words(t.end[1], 40, words), 40);
    for (int i = 0; i < 40; i++)
        for (int k = i + 1; k < 40; k++)
            sum += words[i] > words[k];
    three_close(&t);
    return sum;
}

static void held_messages_keep_their_order(void **state)
{
    (void)state;
    assert_int_equal(overtaken(0), 0);
}

static void held_messages_are_reordered_when_told(void **state)
{
    (void)state;
    assert_true(overtaken(NBCOLL_FAULT_REORDER) > 0);
}

static void a_held_message_can_be_cancelled(void **state)
{
    uint64_t words[3] = {0};
    struct three t = three_open(FAULT(.hold = 1000, .longest = 1000000));
    (void)state;
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(post_word(t.end[0], 1, k, &t.work[k]), NBCOLL_POST_IN_FLIGHT);
    t.end[0]->transport->cancel(t.end[0], &t.work[1]);
    t.end[0]->transport->cancel(t.end[0], &t.work[1]);
    assert_ptr_equal(progress(t.end[0]).completed, &t.work[1]);
    assert_int_equal(t.work[1].status, NBCOLL_ERR_CANCELLED);
    assert_null(progress(t.end[0]).completed);
    t.end[0]->transport->cancel(t.end[0], &t.work[2]);
    t.end[0]->transport->cancel(t.end[0], &t.work[0]);
    progress(t.end[0]);
    assert_int_equal(t.work[0].status, NBCOLL_ERR_CANCELLED);
    assert_int_equal(t.work[2].status, NBCOLL_ERR_CANCELLED);
    assert_int_equal(receive_words(t.end[1], 3, words), 0);
    three_close(&t);
}

static void the_nth_post_fails_and_no_other(void **state)
{
    uint64_t n = 0;
    struct three t = three_open(NULL);
    (void)state;
    do { /* the loop of fault.h: until nothing fails */
        int failed = 0;
        n++;
        nbcoll_fault_set(t.end[0], FAULT(.fail = NBCOLL_FAULT_POST, .fail_at = n, .fail_with = NBCOLL_POST_FAILED));
        for (uint64_t k = 1; k <= 6; k++) {
            nbcoll_posted said = post_word(t.end[0], 1, k, &t.work[k]);
            assert_int_equal(said, k == n ? NBCOLL_POST_FAILED : NBCOLL_POST_DONE);
            failed += said != NBCOLL_POST_DONE;
        }
        assert_int_equal(failed, n <= 6);
        assert_int_equal(receive_words(t.end[1], 0, NULL), 6 - failed);
    } while (nbcoll_fault_calls(t.end[0]) >= n);
    assert_int_equal(n, 7);
    three_close(&t);
}

static void a_post_that_loses_its_peer_loses_it_for_good(void **state)
{
    struct three t = three_open(FAULT(.fail = NBCOLL_FAULT_POST, .fail_at = 2, .fail_with = NBCOLL_POST_LOST));
    (void)state;
    assert_int_equal(post_word(t.end[0], 1, 1, &t.work[0]), NBCOLL_POST_DONE);
    assert_int_equal(post_word(t.end[0], 1, 2, &t.work[0]), NBCOLL_POST_LOST);
    assert_int_equal(post_word(t.end[0], 1, 3, &t.work[0]), NBCOLL_POST_LOST);
    assert_int_equal(post_word(t.end[0], 2, 4, &t.work[0]), NBCOLL_POST_DONE);
    assert_int_equal(nbcoll_fault_set(t.end[0], FAULT(.seed = 0)), NBCOLL_OK);
    assert_int_equal(post_word(t.end[0], 1, 5, &t.work[0]), NBCOLL_POST_LOST);
    assert_int_equal(receive_words(t.end[1], 0, NULL), 1);
    assert_int_equal(receive_words(t.end[2], 0, NULL), 1);
    three_close(&t);
}

static void the_nth_registration_or_get_fails(void **state)
{
    struct three t = three_open(FAULT(.fail = NBCOLL_FAULT_REGISTER, .fail_at = 2, .fail_with = NBCOLL_POST_FAILED));
    nbcoll_endpoint *ep = t.end[0];
    const nbcoll_bulk *bulk = ep->transport->bulk;
    char memory[8] = "message", to[8];
    nbcoll_registration r = {{{0}}, {0}};
    (void)state;
    assert_int_equal(post_word(ep, 1, 1, &t.work[0]), NBCOLL_POST_DONE); /* does not count */
    assert_int_equal(bulk->register_memory(ep, 0, memory, 8, NBCOLL_PEER_READS, &r), NBCOLL_OK);
    assert_int_equal(bulk->register_memory(ep, 0, memory, 8, NBCOLL_PEER_READS, &r), NBCOLL_ERR_TRANSPORT);
    assert_int_equal(bulk->register_memory(ep, 0, memory, 8, NBCOLL_PEER_READS, &r), NBCOLL_OK);
    assert_int_equal(nbcoll_fault_calls(ep), 3);
    nbcoll_fault_set(
        ep, FAULT(.fail = NBCOLL_FAULT_GET | NBCOLL_FAULT_POST, .fail_at = 2, .fail_with = NBCOLL_POST_FAILED));
    assert_int_equal(post_word(ep, 1, 1, &t.work[0]), NBCOLL_POST_DONE);
    assert_int_equal(bulk->get(ep, 0, &r.key, 0, NULL, to, 8, &t.work[0]), NBCOLL_POST_FAILED);
    assert_int_equal(bulk->get(ep, 0, &r.key, 0, NULL, to, 8, &t.work[0]), NBCOLL_POST_DONE);
    assert_string_equal(to, memory);
    three_close(&t);
}

static void a_rank_is_reported_lost_once_at_the_progress_named(void **state)
{
    struct three t = three_open(FAULT(.lost_at = 3, .lost = 2, .hold = 1000, .longest = 1));
    (void)state;
    assert_int_equal(t.end[0]->transport->wakeup->arm(t.end[0]), NBCOLL_AGAIN); /* a loss is not slept through */
    for (int i = 1; i <= 6; i++) {
        if (i < 3)
            assert_int_equal(post_word(t.end[0], 2, 1, &t.work[0]), NBCOLL_POST_IN_FLIGHT);
        assert_int_equal(progress(t.end[0]).lost, i == 3 ? 2 : -1);
    }
    assert_int_equal(t.end[0]->transport->wakeup->arm(t.end[0]), NBCOLL_OK);
    assert_int_equal(post_word(t.end[0], 2, 1, &t.work[0]), NBCOLL_POST_LOST);
    assert_int_equal(post_word(t.end[0], 1, 1, &t.work[0]), NBCOLL_POST_IN_FLIGHT);
    progress(t.end[0]);
    assert_int_equal(receive_words(t.end[1], 0, NULL), 1);
    three_close(&t);
}

static void a_message_held_for_a_lost_rank_comes_back_as_lost(void **state)
{
    struct three t = three_open(FAULT(.hold = 1000, .longest = 1));
    (void)state;
    assert_int_equal(post_word(t.end[0], 2, 1, &t.work[0]), NBCOLL_POST_IN_FLIGHT);
    nbcoll_fault_set(t.end[0], FAULT(.fail = NBCOLL_FAULT_POST, .fail_at = 1, .fail_with = NBCOLL_POST_LOST));
    assert_int_equal(post_word(t.end[0], 2, 2, &t.work[1]), NBCOLL_POST_LOST);
    assert_ptr_equal(progress(t.end[0]).completed, &t.work[0]);
    assert_int_equal(t.work[0].status, NBCOLL_ERR_PEER_LOST);
    assert_int_equal(receive_words(t.end[2], 0, NULL), 0);
    three_close(&t);
}

static void a_bad_configuration_is_refused_and_changes_nothing(void **state)
{
    const nbcoll_fault_config *bad[] = {
        &(const nbcoll_fault_config){.size = 1},
        FAULT(.flags = 2),
        FAULT(.not_now = 1000),
        FAULT(.hold = 1001),
        FAULT(.fail = 32),
        FAULT(.fail_at = 1, .fail_with = NBCOLL_POST_FAILED),
        FAULT(.fail_at = 1, .fail = NBCOLL_FAULT_POST),
        FAULT(.fail_at = 1, .fail = NBCOLL_FAULT_POST, .fail_with = NBCOLL_POST_IN_FLIGHT),
    };
    struct three t = three_open(FAULT(.fail = NBCOLL_FAULT_POST, .fail_at = 2, .fail_with = NBCOLL_POST_FAILED));
    nbcoll_endpoint *out = NULL;
    (void)state;
    assert_int_equal(post_word(t.end[0], 1, 1, &t.work[0]), NBCOLL_POST_DONE);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(nbcoll_fault_open(bad[i], t.end[1], &out), NBCOLL_ERR_CONFIG);
        assert_int_equal(nbcoll_fault_set(t.end[0], bad[i]), NBCOLL_ERR_CONFIG);
    }
    assert_int_equal(nbcoll_fault_set(t.end[0], FAULT(.lost_at = 1, .lost = 3)), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_fault_set(t.end[0], FAULT(.lost_at = 1, .lost = -1)), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_fault_set(t.end[0], NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_fault_set(NULL, bad[0]), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_fault_set(t.end[1], FAULT(.seed = 1)), NBCOLL_ERR_FOREIGN);
    assert_int_equal(nbcoll_fault_calls(t.end[1]), 0);
    assert_null(out);
    assert_int_equal(nbcoll_fault_calls(t.end[0]), 1);
    assert_int_equal(post_word(t.end[0], 1, 1, &t.work[0]), NBCOLL_POST_FAILED);
    three_close(&t);
}

static void what_cannot_be_wrapped_stays_the_callers(void **state)
{
    struct counted counted;
    nbcoll_endpoint *end[1], *out = NULL;
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.seed = 0), 1, 0, end);
    nbcoll_transport table = *end[0]->transport;
    nbcoll_endpoint other = *end[0];
    (void)state;
    counted_host(&counted);
    counted.fail_at = 1;
    assert_int_equal(nbcoll_fault_open(FAULT(.host = &counted.host), end[0], &out), NBCOLL_ERR_MEMORY);
    assert_int_equal(nbcoll_fault_open(NULL, NULL, &out), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_fault_open(NULL, end[0], NULL), NBCOLL_ERR_NULL);
    other.transport = &table;
    other.owner = (nbcoll_context *)(void *)&other; /* some context's */
    assert_int_equal(nbcoll_fault_open(NULL, &other, &out), NBCOLL_ERR_BUSY);
    table.progress = NULL;
    assert_int_equal(nbcoll_fault_open(NULL, &other, &out), NBCOLL_ERR_ABI);
    table = *end[0]->transport;
    table.abi++;
    assert_int_equal(nbcoll_fault_open(NULL, &other, &out), NBCOLL_ERR_ABI);
    assert_null(out);
    assert_int_equal(nbcoll_fault_open(FAULT(.host = &counted.host), end[0], &out), NBCOLL_OK);
    assert_true(counted.bytes > 0);
    nbcoll_endpoint_close(out);
    assert_int_equal(counted.bytes, 0);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_looks_like_the_endpoint_inside),
        cmocka_unit_test(it_refuses_the_share_named_as_the_seed_says),
        cmocka_unit_test(a_held_message_leaves_within_the_progresses_named),
        cmocka_unit_test(held_messages_keep_their_order),
        cmocka_unit_test(held_messages_are_reordered_when_told),
        cmocka_unit_test(a_held_message_can_be_cancelled),
        cmocka_unit_test(the_nth_post_fails_and_no_other),
        cmocka_unit_test(a_post_that_loses_its_peer_loses_it_for_good),
        cmocka_unit_test(the_nth_registration_or_get_fails),
        cmocka_unit_test(a_rank_is_reported_lost_once_at_the_progress_named),
        cmocka_unit_test(a_message_held_for_a_lost_rank_comes_back_as_lost),
        cmocka_unit_test(a_bad_configuration_is_refused_and_changes_nothing),
        cmocka_unit_test(what_cannot_be_wrapped_stays_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
