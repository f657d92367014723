/* SPDX-License-Identifier: BSD-3-Clause
 * The author of a transport that has queue pairs: asks the suite whether they keep the contract, and is told what does
 * not. The queue pairs here are loopback's, with what an author may forget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/conformance.h"

#include "ends.h"

static const nbcoll_offload *loopbacks;
static nbcoll_offload own;
static nbcoll_transport table;
static char failed[80], why[400];
static int skipped;

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.seed = 0), ranks, 0, end);
    const nbcoll_offload *wrong = c->user;
    memcpy(&table, end[0]->transport, sizeof table);
    loopbacks = table.offload;
    memcpy(&own, loopbacks, sizeof own);
    if (wrong && wrong->open_queue)
        own.open_queue = wrong->open_queue;
    if (wrong && wrong->wait)
        own.wait = wrong->wait;
    if (wrong && wrong->close)
        own.close = wrong->close;
    table.offload = wrong && !wrong->size ? NULL : &own;
    for (int i = 0; i < ranks; i++)
        end[i]->transport = &table;
    return world;
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

static int tell(const nbcoll_conformance *c, const nbcoll_conformance_result *r)
{
    (void)c;
    skipped += r->verdict == NBCOLL_CONFORMANCE_SKIPPED;
    if (r->verdict == NBCOLL_CONFORMANCE_FAILED) {
        strncpy(failed, r->name, sizeof failed - 1);
        strncpy(why, r->why, sizeof why - 1);
    }
    return 0;
}

static int run(const char *only, const nbcoll_offload *wrong, uint32_t promises)
{
    const nbcoll_conformance mine = {.size = sizeof mine,
                                     .name = "mine",
                                     .user = wrong,
                                     .promises = promises,
                                     .deadline_ms = 2000,
                                     .only = only,
                                     .make = make,
                                     .destroy = destroy,
                                     .result = tell};
    failed[0] = why[0] = '\0';
    skipped = 0;
    return nbcoll_conformance_run(&mine);
}

static nbcoll_status holds_nothing(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out)
{
    nbcoll_queue_config c = *config;
    c.held = 0;
    return loopbacks->open_queue(ep, &c, out);
}

static nbcoll_status consumes_one(nbcoll_endpoint *ep, nbcoll_completion_queue *completions, uint32_t count)
{
    return count == 2 ? loopbacks->wait(ep, completions, 1) : loopbacks->wait(ep, completions, count);
}

static void closes_later(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions)
{
    if (completions)
        loopbacks->close(ep, pair, completions);
}

static void the_author_is_told_that_the_queue_pairs_keep_the_contract(void **state)
{
    static const char *const cases[] = {
        "a_send_on_a_queue_pair_waits_for_its_receive",    "held_sends_go_as_many_as_are_enabled",
        "a_wait_in_a_queue_holds_back_what_stands_behind_it", "a_full_queue_and_a_second_pair_are_refused",
        "a_message_that_does_not_fit_its_receive_is_an_error", "a_closed_queue_pair_is_news_to_its_peer"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(run(cases[i], NULL, NBCOLL_CONFORMANCE_QUEUES), 0);
        assert_int_equal(skipped, 0);
    }
}

static void the_author_is_told_of_sends_that_are_not_held(void **state)
{
    const nbcoll_offload wrong = {.size = sizeof wrong, .open_queue = holds_nothing};
    (void)state;
    assert_int_equal(run("held_sends_go_as_many_as_are_enabled", &wrong, 0), 1);
    assert_non_null(strstr(why, "NBCOLL_PENDING"));
}

static void the_author_is_told_of_a_wait_that_consumes_too_few(void **state)
{
    const nbcoll_offload wrong = {.size = sizeof wrong, .wait = consumes_one};
    (void)state;
    assert_int_equal(run("a_send_on_a_queue_pair_waits_for_its_receive", &wrong, 0), 1);
    assert_string_equal(failed, "a_send_on_a_queue_pair_waits_for_its_receive");
}

static void the_author_is_told_of_a_close_that_is_no_news(void **state)
{
    const nbcoll_offload wrong = {.size = sizeof wrong, .close = closes_later};
    (void)state;
    assert_int_equal(run("a_closed_queue_pair_is_news_to_its_peer", &wrong, 0), 1);
    assert_string_equal(failed, "a_closed_queue_pair_is_news_to_its_peer");
}

static void a_transport_without_queue_pairs_is_asked_nothing_unless_it_promised_them(void **state)
{
    const nbcoll_offload none = {.size = 0};
    (void)state;
    assert_int_equal(run("held_sends_go_as_many_as_are_enabled", &none, 0), 0);
    assert_int_equal(skipped, 1);
    assert_int_equal(run("held_sends_go_as_many_as_are_enabled", &none, NBCOLL_CONFORMANCE_QUEUES), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_author_is_told_that_the_queue_pairs_keep_the_contract),
        cmocka_unit_test(the_author_is_told_of_sends_that_are_not_held),
        cmocka_unit_test(the_author_is_told_of_a_wait_that_consumes_too_few),
        cmocka_unit_test(the_author_is_told_of_a_close_that_is_no_news),
        cmocka_unit_test(a_transport_without_queue_pairs_is_asked_nothing_unless_it_promised_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
