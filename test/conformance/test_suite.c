/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runner of the conformance suite: whatever a transport does, each case ends, and with a result that names it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/conformance.h"

#include "crew.h"
#include "ends.h"

#define ONE_CASE "an_idle_progress_reports_nothing"

/* A loopback whose progress does this instead. */
typedef void misdeed(nbcoll_endpoint *ep, nbcoll_completions *found);

static nbcoll_transport table;
static misdeed *own_progress; /* the loopback's */

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    misdeed *const *does = c->user;
    nbcoll_loopback *world = loopback_ends(LOOPBACK(.seed = 0), ranks, 0, end);
    for (int i = 0; does && i < ranks; i++) {
        memcpy(&table, end[i]->transport, sizeof table);
        own_progress = table.progress;
        table.progress = *does;
        end[i]->transport = &table;
    }
    return world;
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

/* What was told last. */
static struct {
    int results;
    char name[80], why[400];
    nbcoll_conformance_verdict verdict;
    uint64_t ns;
} told;

static int tell(const nbcoll_conformance *c, const nbcoll_conformance_result *r)
{
    (void)c;
    told.results++;
    told.verdict = r->verdict;
    told.ns = r->ns;
    strncpy(told.name, r->name, sizeof told.name - 1);
    strncpy(told.why, r->why, sizeof told.why - 1);
    return 0;
}

static nbcoll_conformance loopback(misdeed *const *does)
{
    memset(&told, 0, sizeof told);
    return (nbcoll_conformance){.size = sizeof(nbcoll_conformance), .name = "loopback", .make = make,
                                .destroy = destroy, .user = does, .only = ONE_CASE, .result = tell};
}

/* The one case fails, names itself and says `why`. */
static void fails(misdeed *does, uint32_t deadline_ms, const char *why)
{
    nbcoll_conformance c = loopback(&does);
    c.deadline_ms = deadline_ms;
    assert_int_equal(nbcoll_conformance_run(&c), 1);
    assert_int_equal(told.results, 1);
    assert_int_equal(told.verdict, NBCOLL_CONFORMANCE_FAILED);
    assert_string_equal(told.name, ONE_CASE);
    if (!strstr(told.why, why))
        fail_msg("it says: %s", told.why);
}

static void block(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    (void)found;
    for (;;)
        pause();
}

static void spin(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    (void)found;
    for (volatile unsigned i = 0;; i++)
        ;
}

static void end_process(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    (void)found;
    _exit(5);
}

static void crash(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    (void)found;
    raise(SIGKILL);
}

static void report_a_loss(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    found->lost = 0;
}

static void a_call_that_blocks_fails_its_case_at_the_deadline(void **state)
{
    (void)state;
    fails(block, 10, "a call of the transport had not returned");
    fails(spin, 10, "a call of the transport had not returned");
    assert_true(told.ns < 30 * SECOND);
}

static void a_process_that_ends_fails_its_case(void **state)
{
    (void)state;
    fails(crash, 0, "signal 9");
    fails(end_process, 0, "status 5");
}

static void a_breach_is_said_in_words(void **state)
{
    (void)state;
    fails(report_a_loss, 0, "rank 0 of 2: rank 0 was reported as lost");
}

/* The deadline of a waiting loop is that of its case, and the text says what it waited for. */
static void forget(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    (void)ep;
    (void)found;
}

static void a_loop_that_waits_ends_at_the_deadline_and_says_for_what(void **state)
{
    misdeed *does = forget;
    nbcoll_conformance c = loopback(&does);
    (void)state;
    c.only = "every_length_arrives_whole";
    c.deadline_ms = 100;
    assert_int_equal(nbcoll_conformance_run(&c), 1);
    if (!strstr(told.why, "messages do not arrive"))
        fail_msg("it says: %s", told.why);
}

/* Works, and takes memory for that. */
static void allocate(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    void *volatile block = malloc(200);
    own_progress(ep, found);
    free(block);
}

static void a_call_that_takes_memory_is_not_safe_in_a_signal_handler(void **state)
{
    misdeed *does = allocate;
    nbcoll_conformance c = loopback(&does);
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their allocators hardly ever hold a lock when the signal comes */
#endif
    c.only = "every_length_arrives_whole";
    assert_int_equal(nbcoll_conformance_run(&c), 0);
    c.only = "what_is_promised_so_works_in_a_signal_handler"; /* loopback promises progress */
    c.deadline_ms = 2000;
    assert_int_equal(nbcoll_conformance_run(&c), 1);
}

static int stop_at_third(const nbcoll_conformance *c, const nbcoll_conformance_result *r)
{
    tell(c, r);
    return told.results == 3;
}

static void a_run_ends_where_the_caller_says(void **state)
{
    nbcoll_conformance c = loopback(NULL);
    (void)state;
    c.only = NULL;
    c.result = stop_at_third;
    assert_int_equal(nbcoll_conformance_run(&c), 0);
    assert_int_equal(told.results, 3);
    assert_int_equal(told.verdict, NBCOLL_CONFORMANCE_PASSED);
    assert_string_equal(told.why, "");
}

static void what_a_transport_lacks_is_skipped_unless_promised(void **state)
{
    nbcoll_conformance c = loopback(NULL);
    (void)state;
    c.only = "all_ranks_find_what_one_has_reserved";
    assert_int_equal(nbcoll_conformance_run(&c), 0);
    assert_int_equal(told.verdict, NBCOLL_CONFORMANCE_SKIPPED);
    assert_string_equal(told.why, "it has no shared group");
    c.promises = NBCOLL_CONFORMANCE_SHARED;
    assert_int_equal(nbcoll_conformance_run(&c), 1);
}

static void a_table_that_is_not_valid_runs_nothing(void **state)
{
    nbcoll_conformance bad[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        bad[i] = loopback(NULL);
    bad[0].size = 8;
    bad[1].name = NULL;
    bad[2].make = NULL;
    bad[3].destroy = NULL;
    bad[4].promises = 1u << 31;
    bad[5].only = "no_such_case";
    for (int i = 0; i < 6; i++)
        assert_int_equal(nbcoll_conformance_run(&bad[i]), -1);
    assert_int_equal(nbcoll_conformance_run(NULL), -1);
    assert_int_equal(told.results, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_blocks_fails_its_case_at_the_deadline),
        cmocka_unit_test(a_process_that_ends_fails_its_case),
        cmocka_unit_test(a_breach_is_said_in_words),
        cmocka_unit_test(a_loop_that_waits_ends_at_the_deadline_and_says_for_what),
        cmocka_unit_test(a_call_that_takes_memory_is_not_safe_in_a_signal_handler),
        cmocka_unit_test(a_run_ends_where_the_caller_says),
        cmocka_unit_test(what_a_transport_lacks_is_skipped_unless_promised),
        cmocka_unit_test(a_table_that_is_not_valid_runs_nothing),
    };
    return cmocka_run_group_tests_name("suite", tests, NULL, NULL);
}
