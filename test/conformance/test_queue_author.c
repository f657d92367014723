/* SPDX-License-Identifier: BSD-3-Clause
 * The author of a transport that has queue pairs: asks the suite whether they keep the contract, and is told what does
 * not. The queue pairs here are loopback's, with what an author may forget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "nbcoll/conformance.h"

#include "ends.h"

static const nbcoll_offload *loopbacks;
static nbcoll_offload own;
static nbcoll_transport table;
static char failed[80], why[400];
static int skipped;

/* An older table: without what came last. */
enum { SHARES_NOTHING = offsetof(nbcoll_offload, open_shared) };

static nbcoll_status takes_nothing(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out)
{
    (void)ep, (void)received, (void)out;
    return NBCOLL_ERR_UNSUPPORTED;
}

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
    if (wrong && wrong->admits)
        own.admits = wrong->admits;
    if (wrong && wrong->post_shared)
        own.post_shared = wrong->post_shared;
    if (wrong && wrong->take)
        own.take = wrong->take == takes_nothing ? NULL : wrong->take;
    if (wrong && wrong->watch_shared)
        own.watch_shared = wrong->watch_shared;
    if (wrong && wrong->size == SHARES_NOTHING)
        own.size = SHARES_NOTHING;
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

static nbcoll_status admits_all(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand)
{
    (void)ep;
    return demand->size == sizeof *demand ? NBCOLL_OK : NBCOLL_ERR_CONFIG;
}

static nbcoll_status admits_nothing(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand)
{
    (void)ep, (void)demand;
    return NBCOLL_ERR_LIMIT;
}

/* ---- shared receives --------------------------------------------------------------------------------------------- */

static nbcoll_status names_the_first_pair(nbcoll_endpoint *ep, nbcoll_completion_queue *received,
                                          nbcoll_shared_arrival *out)
{
    static nbcoll_queue_pair *first;
    nbcoll_status status = loopbacks->take(ep, received, out);
    if (status == NBCOLL_OK)
        out->pair = first = first ? first : out->pair;
    return status;
}

static nbcoll_status stays_lost(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out)
{
    static int is_lost;
    nbcoll_status status = is_lost ? NBCOLL_ERR_PEER_LOST : loopbacks->take(ep, received, out);
    is_lost = status == NBCOLL_ERR_PEER_LOST;
    return status;
}

static nbcoll_status takes_the_others_first(nbcoll_endpoint *ep, nbcoll_completion_queue *received,
                                            nbcoll_shared_arrival *out)
{
    static nbcoll_shared_arrival held;
    static int has_held;
    nbcoll_status status = loopbacks->take(ep, received, out);
    nbcoll_shared_arrival now = has_held ? held : *out;
    if (status != NBCOLL_OK)
        return status;
    held = *out;
    has_held = !has_held;
    *out = now;
    return has_held ? NBCOLL_PENDING : NBCOLL_OK;
}

static nbcoll_status has_no_limit(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, const nbcoll_posting *posting)
{
    nbcoll_status status = loopbacks->post_shared(ep, shared, posting);
    return status == NBCOLL_ERR_LIMIT ? NBCOLL_OK : status;
}

static nbcoll_status never_wakes(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, uint32_t least, int *fd)
{
    (void)least;
    return loopbacks->watch_shared(ep, shared, 0, fd);
}

static nbcoll_status always_wakes(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, uint32_t least, int *fd)
{
    static int bell = -1;
    nbcoll_status status = loopbacks->watch_shared(ep, shared, least, fd);
    bell = bell < 0 ? eventfd(1, EFD_CLOEXEC) : bell;
    *fd = bell;
    return status;
}

static void the_author_is_told_that_the_shared_receives_keep_the_contract(void **state)
{
    static const char *const cases[] = {
        "a_message_takes_the_shared_receive_that_was_posted_first",
        "a_send_waits_for_a_shared_receive",
        "messages_of_pairs_that_share_receives_come_once_and_in_order",
        "a_pair_with_shared_receives_sends_to_one_without",
        "no_more_shared_receives_are_posted_than_there_is_room_for",
        "a_message_too_long_for_a_shared_receive_ends_its_pair_alone",
        "a_lost_pair_leaves_shared_receives_to_the_others",
        "who_watches_shared_receives_is_woken_when_few_are_left"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(run(cases[i], NULL, NBCOLL_CONFORMANCE_RECEIVES), 0);
        assert_int_equal(skipped, 0);
    }
}

static void the_author_is_told_what_is_wrong_with_shared_receives(void **state)
{
    static const struct {
        const char *in;
        nbcoll_offload wrong;
    } faults[] = {
        {"a_message_takes_the_shared_receive_that_was_posted_first", {.size = 1, .take = names_the_first_pair}},
        {"messages_of_pairs_that_share_receives_come_once_and_in_order", {.size = 1, .take = takes_the_others_first}},
        {"a_lost_pair_leaves_shared_receives_to_the_others", {.size = 1, .take = stays_lost}},
        {"no_more_shared_receives_are_posted_than_there_is_room_for", {.size = 1, .post_shared = has_no_limit}},
        {"who_watches_shared_receives_is_woken_when_few_are_left", {.size = 1, .watch_shared = never_wakes}},
        {"who_watches_shared_receives_is_woken_when_few_are_left", {.size = 1, .watch_shared = always_wakes}},
        {"a_send_waits_for_a_shared_receive", {.size = 1, .take = takes_nothing}}, /* four of five */
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_equal(run(faults[i].in, &faults[i].wrong, 0), 1);
        assert_string_equal(failed, faults[i].in);
    }
}

static void a_transport_without_shared_receives_is_asked_nothing_unless_it_promised_them(void **state)
{
    const nbcoll_offload older = {.size = SHARES_NOTHING};
    (void)state;
    assert_int_equal(run("a_send_waits_for_a_shared_receive", &older, NBCOLL_CONFORMANCE_QUEUES), 0);
    assert_int_equal(skipped, 1);
    assert_int_equal(run("a_send_waits_for_a_shared_receive", &older, NBCOLL_CONFORMANCE_RECEIVES), 1);
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

static void the_author_is_told_that_what_is_open_is_not_admitted(void **state)
{
    const nbcoll_offload well = {.size = sizeof well, .admits = admits_all},
                         wrong = {.size = sizeof wrong, .admits = admits_nothing};
    (void)state;
    assert_int_equal(run("queue_pairs_that_are_open_are_admitted", &well, 0), 0);
    assert_int_equal(skipped, 0);
    assert_int_equal(run("queue_pairs_that_are_open_are_admitted", &wrong, 0), 1);
    assert_int_equal(run("queue_pairs_that_are_open_are_admitted", NULL, NBCOLL_CONFORMANCE_QUEUES), 0);
    assert_int_equal(skipped, 1);
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
        cmocka_unit_test(the_author_is_told_that_the_shared_receives_keep_the_contract),
        cmocka_unit_test(the_author_is_told_what_is_wrong_with_shared_receives),
        cmocka_unit_test(a_transport_without_shared_receives_is_asked_nothing_unless_it_promised_them),
        cmocka_unit_test(the_author_is_told_that_what_is_open_is_not_admitted),
        cmocka_unit_test(a_transport_without_queue_pairs_is_asked_nothing_unless_it_promised_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
