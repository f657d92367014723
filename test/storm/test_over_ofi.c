/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs of ranks in virtual time whose ranks are joined by ofi's own code, over a provider and connections of the
 * storm's (over_ofi/ofi.c). Without arguments: some that must end well, and the same one twice. With arguments it is
 * the command (command.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "storm.h"

static storm world;
static const char *program;

static void run(uint64_t seed, const cut *c)
{
    storm_run(&world, seed, c, false);
    if (!world.finding[0])
        return;
    printf("again: ");
    storm_print_command(program, seed, c);
    fail_msg("seed %llu: %s", (unsigned long long)seed, world.finding);
}

static void jobs_over_ofi_without_faults_end_well(void **state)
{
    const cut calm = {.items = -1, .is_calm = true, .is_over_ofi = true};
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++)
        run(seed, &calm);
}

static void jobs_over_ofi_end_as_they_may(void **state)
{
    const cut whole = {.items = -1, .is_over_ofi = true};
    (void)state;
    for (uint64_t seed = 21; seed < 40; seed++)
        run(seed, &whole);
}

static void what_once_failed_does_not_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < storm_kept_count; i++)
        if (storm_kept[i].cut.is_over_ofi)
            run(storm_kept[i].seed, &storm_kept[i].cut);
}

static void the_same_seed_is_the_same_job(void **state)
{
    const cut whole = {.items = -1, .is_over_ofi = true};
    (void)state;
    for (uint64_t seed = 41; seed < 44; seed++) {
        run(seed, &whole);
        uint64_t hash = world.hash, steps = world.steps;
        run(seed, &whole);
        assert_true(world.hash == hash);
        assert_int_equal(world.steps, steps);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_is_the_same_job),
        cmocka_unit_test(jobs_over_ofi_without_faults_end_well),
        cmocka_unit_test(jobs_over_ofi_end_as_they_may),
        cmocka_unit_test(what_once_failed_does_not_fail),
    };
    program = argv[0];
    storm_over_ofi = &ofi_medium;
    return argc > 1 ? storm_command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
