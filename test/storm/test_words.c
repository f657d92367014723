/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The same jobs (test_storm.c) over an engine in which ranks meet at every word that they share (atomics.c): others
 * have a turn between two accesses of one call. With arguments it is the command, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "storm.h"

static storm world;
static const cut whole = {.items = -1};

static void run(uint64_t seed, const cut *c)
{
    storm_run(&world, seed, c, false);
    if (world.finding[0])
        fail_msg("test_words %llu: %s", (unsigned long long)seed, world.finding);
}

static void whole_jobs_end_as_they_may_whoever_comes_between_two_words(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 180; seed++)
        if (seed % 20)
            run(seed, &whole);
}

static void jobs_over_shm_end_as_they_may_whoever_comes_between_two_words(void **state)
{
    const cut over_shm = {.items = -1, .is_over_shm = true};
    (void)state;
    for (uint64_t seed = 301; seed <= 340; seed++)
        if (seed % 20)
            run(seed, &over_shm);
}

/* Else the engine does not call what it is compiled to call. */
static void others_come_between_two_words(void **state)
{
    (void)state;
    storm_run(&world, 101, &whole, false);
    assert_true(world.met_at_words > 0);
}

/* Seeds that did. */
static void what_once_failed_does_not_fail(void **state)
{
    /* An EAGER that went without a credit named a channel, and came when its number was another's. */
    const cut named = {.edition = 3, .items = 6, .faults = 3};
    (void)state;
    run(70001870, &named);
}

static void the_same_seed_is_the_same_job(void **state)
{
    (void)state;
    run(201, &whole);
    uint64_t hash = world.hash, steps = world.steps;
    run(201, &whole);
    assert_true(world.hash == hash);
    assert_int_equal(world.steps, steps);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_jobs_end_as_they_may_whoever_comes_between_two_words),
                                       cmocka_unit_test(jobs_over_shm_end_as_they_may_whoever_comes_between_two_words),
                                       cmocka_unit_test(others_come_between_two_words),
                                       cmocka_unit_test(what_once_failed_does_not_fail),
                                       cmocka_unit_test(the_same_seed_is_the_same_job)};
    return argc > 1 ? storm_command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
