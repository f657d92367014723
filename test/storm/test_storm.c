/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs of ranks in virtual time (storm.h). Without arguments: some that must end well, and the same one twice. With
 * arguments it is the command (command.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void whole_jobs_without_faults_end_well(void **state)
{
    const cut calm = {.items = -1, .is_calm = true};
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        run(seed, &calm);
}

static void whole_jobs_with_faults_end_as_they_may(void **state)
{
    const cut whole = {.items = -1};
    (void)state;
    for (uint64_t seed = 21; seed <= 40; seed++)
        run(seed, &whole);
}

static void whole_jobs_over_shm_end_as_they_may(void **state)
{
    const cut over_shm = {.items = -1, .is_over_shm = true};
    (void)state;
    for (uint64_t seed = 61; seed < 80; seed++)
        run(seed, &over_shm);
}

static void what_once_failed_does_not_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < storm_kept_count; i++)
        if (!storm_kept[i].cut.is_over_ofi) /* test_over_ofi has those */
            run(storm_kept[i].seed, &storm_kept[i].cut);
}

static void the_same_seed_is_the_same_job(void **state)
{
    (void)state;
    for (uint64_t seed = 41; seed < 45; seed++) {
        const cut whole = {.items = -1, .is_over_shm = seed % 2};
        run(seed, &whole);
        uint64_t hash = world.hash, steps = world.steps;
        run(seed, &whole);
        assert_true(world.hash == hash);
        assert_int_equal(world.steps, steps);
    }
}

static void a_fork_changes_nothing(void **state)
{
    const cut whole = {.items = -1}, without = {.items = -1, .has_no_forks = true};
    uint64_t forks = met.forks;
    (void)state;
    for (uint64_t seed = 81; met.forks < forks + 6; seed++) {
        run(seed, &whole);
        if (!world.plan.forks)
            continue;
        uint64_t hash = world.hash;
        run(seed, &without);
        assert_true(world.hash == hash);
    }
}

/* Of these, copies to the segment lie otherwise in their pages then (shm.c). */
static void a_seed_over_shm_is_the_same_job_after_others(void **state)
{
    static const uint64_t seeds[] = {905052, 905065, 905107, 905205, 905231};
    const cut over_shm = {.edition = 21, .items = -1, .is_over_shm = true};
    uint64_t hashes[sizeof seeds / sizeof *seeds];
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        run(seeds[i], &over_shm);
        hashes[i] = world.hash;
    }
    for (uint64_t other = 905001; other <= 905051; other++)
        run(other, &over_shm);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        run(seeds[i], &over_shm);
        assert_true(world.hash == hashes[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_seed_over_shm_is_the_same_job_after_others),
                                       cmocka_unit_test(the_same_seed_is_the_same_job),
                                       cmocka_unit_test(a_fork_changes_nothing),
                                       cmocka_unit_test(whole_jobs_without_faults_end_well),
                                       cmocka_unit_test(whole_jobs_with_faults_end_as_they_may),
                                       cmocka_unit_test(whole_jobs_over_shm_end_as_they_may),
                                       cmocka_unit_test(what_once_failed_does_not_fail)};
    program = argv[0];
    return argc > 1 ? storm_command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
