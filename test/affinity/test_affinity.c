/* SPDX-License-Identifier: BSD-3-Clause
 * Places for ranks and drivers on machines that hwloc makes up. In their descriptions objects are nested from the
 * machine inwards; processors are numbered in that order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <hwloc.h>

#include "nbcoll/affinity.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Two packages of two NUMA nodes, each of two L3 caches with eight cores: 64 cores, like a large server's. */
#define SERVER "package:2 numa:2 l3:2 l2:8 core:1 pu:1"
/* The same with two processors a core, which are numbered next to each other. */
#define TWO_THREADS "package:1 l3:1 l2:4 core:1 pu:2"

static char said[192];

static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)user;
    (void)why;
    snprintf(said, sizeof said, "%s", text);
}

static hwloc_topology_t machine(const char *description)
{
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, description), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    return topology;
}

static nbcoll_status find(const char *description, nbcoll_affinity_config config, nbcoll_affinity **out)
{
    const nbcoll_host host = {.size = sizeof host, .log = keep};
    config.size = sizeof config;
    config.topology = machine(description);
    said[0] = '\0';
    nbcoll_status status = nbcoll_affinity_find(&host, &config, out);
    hwloc_topology_destroy(config.topology);
    return status;
}

static nbcoll_affinity *found(const char *description, nbcoll_affinity_config config)
{
    nbcoll_affinity *affinity = NULL;
    assert_int_equal(find(description, config, &affinity), NBCOLL_OK);
    return affinity;
}

static void ranks_are_scattered_over_the_cores(void **state)
{
    (void)state;
    nbcoll_affinity *p = found(SERVER, (nbcoll_affinity_config){.ranks = 16});
    for (int rank = 0; rank < 16; rank++)
        assert_int_equal(p->place[rank].rank, 4 * rank);
    assert_int_equal(p->cores, 64);
    assert_int_equal(p->idle, 48);
    nbcoll_affinity_free(p);
}

static void a_driver_gets_the_nearest_idle_core(void **state)
{
    (void)state;
    nbcoll_affinity *p = found(SERVER, (nbcoll_affinity_config){.ranks = 32});
    for (int rank = 0; rank < 32; rank++) {
        assert_int_equal(p->place[rank].driver % 2, 1);
        assert_int_equal(p->place[rank].driver / 8, p->place[rank].rank / 8);
        assert_int_equal(p->place[rank].near, NBCOLL_NEAR_L3);
    }
    assert_string_equal(p->why, "32 ranks on 64 cores: 32 idle for drivers, 1 on each");
    nbcoll_affinity_free(p);
}

/* For every number of ranks: no rank's core has a driver, no idle core two drivers more than another, each rank has
 * one, and nobody is farther away than need be: there is no nearer core with room. */
static void drivers_are_dealt_evenly_over_the_idle_cores(void **state)
{
    (void)state;
    for (int ranks = 1; ranks < 64; ranks++) {
        nbcoll_affinity *p = found(SERVER, (nbcoll_affinity_config){.ranks = ranks});
        int at[64] = {0}, has_rank[64] = {0}, most = 0, least = ranks;
        for (int rank = 0; rank < ranks; rank++) {
            assert_in_range(p->place[rank].driver, 0, 63);
            has_rank[p->place[rank].rank]++;
            at[p->place[rank].driver]++;
        }
        for (int core = 0; core < 64; core++) {
            assert_in_range(has_rank[core], 0, 1);
            assert_true(!has_rank[core] || !at[core]);
            if (!has_rank[core]) {
                most = at[core] > most ? at[core] : most;
                least = at[core] < least ? at[core] : least;
            }
        }
        assert_in_range(most - least, 0, 1);
        assert_int_equal(p->idle, 64 - ranks);
        nbcoll_affinity_free(p);
    }
}

static void what_rank_and_driver_share_is_told(void **state)
{
    (void)state;
    const struct {
        int rank, driver;
        nbcoll_near near;
    } pairs[] = {{0, 0, NBCOLL_NEAR_CORE}, {0, 7, NBCOLL_NEAR_L3},      {0, 8, NBCOLL_NEAR_NUMA},
                 {0, 16, NBCOLL_NEAR_PACKAGE}, {0, 63, NBCOLL_NEAR_MACHINE}};
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        nbcoll_affinity *p = found(SERVER, (nbcoll_affinity_config){.ranks = 1, .ranks_on = &pairs[i].rank,
                                                                     .drivers_on = &pairs[i].driver,
                                                                     .drivers_count = 1});
        assert_int_equal(p->place[0].rank, pairs[i].rank);
        assert_int_equal(p->place[0].driver, pairs[i].driver);
        assert_int_equal(p->place[0].near, pairs[i].near);
        nbcoll_affinity_free(p);
    }
    assert_string_equal(nbcoll_affinity_near_name(NBCOLL_NEAR_NUMA), "the NUMA node");
    assert_string_equal(nbcoll_affinity_near_name((nbcoll_near)77), "?");
}

static void where_ranks_are_already_the_other_cores_are_idle(void **state)
{
    (void)state;
    const int on[] = {0, 1, 2};
    nbcoll_affinity *p = found("l3:2 l2:2 core:1 pu:1", (nbcoll_affinity_config){.ranks = 3, .ranks_on = on});
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(p->place[rank].rank, rank);
        assert_int_equal(p->place[rank].driver, 3);
    }
    assert_int_equal(p->place[0].near, NBCOLL_NEAR_NUMA);
    assert_int_equal(p->place[2].near, NBCOLL_NEAR_L3);
    assert_string_equal(p->why, "3 ranks on 4 cores: 1 idle for drivers, 3 on each");
    nbcoll_affinity_free(p);
}

static void a_core_with_several_processors_is_one_core(void **state)
{
    (void)state;
    nbcoll_affinity *p = found(TWO_THREADS, (nbcoll_affinity_config){.ranks = 2});
    assert_int_equal(p->cores, 4);
    assert_int_equal(p->place[0].rank, 0);
    assert_int_equal(p->place[1].rank, 4);
    assert_int_equal(p->place[0].driver, 2);
    assert_int_equal(p->place[1].driver, 6);
    nbcoll_affinity_free(p);
}

static void no_core_to_spare_is_said(void **state)
{
    (void)state;
    nbcoll_affinity *p = found(TWO_THREADS, (nbcoll_affinity_config){.ranks = 6});
    for (int rank = 0; rank < 6; rank++) {
        assert_int_equal(p->place[rank].rank, 2 * (rank % 4));
        assert_int_equal(p->place[rank].driver, -1);
        assert_int_equal(p->place[rank].near, NBCOLL_NEAR_CORE);
    }
    assert_int_equal(p->idle, 0);
    assert_string_equal(p->why, "6 ranks on 4 cores: no core to spare, drivers run where their ranks do");
    nbcoll_affinity_free(p);
}

static void only_what_may_be_used_is_used(void **state)
{
    (void)state;
    const int within[] = {40, 41, 42, 48};
    nbcoll_affinity *p = found(SERVER, (nbcoll_affinity_config){.ranks = 2, .within = within,
                                                                 .within_count = LENGTH(within)});
    assert_int_equal(p->place[0].rank, 40);
    assert_int_equal(p->place[1].rank, 42);
    assert_int_equal(p->place[0].driver, 41);
    assert_int_equal(p->place[1].driver, 48);
    assert_int_equal(p->place[1].near, NBCOLL_NEAR_PACKAGE);
    nbcoll_affinity_free(p);
}

static void a_processor_that_may_not_be_used_is_refused_by_its_number(void **state)
{
    (void)state;
    const int within[] = {0, 1}, none[] = {99}, two[] = {2};
    nbcoll_affinity *p = NULL;
    nbcoll_affinity_config all = {.ranks = 1, .within = none, .within_count = 1};
    assert_int_equal(find(SERVER, all, &p), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(said, "within: there is no processor 99, or it may not be used");
    nbcoll_affinity_config rank = {.ranks = 1, .within = within, .within_count = 2, .ranks_on = two};
    assert_int_equal(find(SERVER, rank, &p), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(said, "rank 0: there is no processor 2, or it may not be used");
    nbcoll_affinity_config driver = {.ranks = 1, .within = within, .within_count = 2, .drivers_on = two,
                                      .drivers_count = 1};
    assert_int_equal(find(SERVER, driver, &p), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(said, "drivers: there is no processor 2, or it may not be used");
    nbcoll_affinity_config empty = {.ranks = 1, .within = within, .within_count = 0};
    assert_int_equal(find(SERVER, empty, &p), NBCOLL_ERR_ARGUMENT);
    assert_null(p);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    nbcoll_affinity *p = NULL;
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = 0};
    assert_int_equal(nbcoll_affinity_find(NULL, NULL, &p), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_affinity_find(NULL, &config, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_affinity_find(NULL, &config, &p), NBCOLL_ERR_RANK);
    config.size = 1;
    assert_int_equal(nbcoll_affinity_find(NULL, &config, &p), NBCOLL_ERR_CONFIG);
    nbcoll_affinity_free(NULL);
}

static void the_machine_that_it_runs_on_has_a_place(void **state)
{
    (void)state;
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_affinity *p;
    assert_int_equal(nbcoll_affinity_find(NULL, &config, &p), NBCOLL_OK);
    assert_in_range(p->cores, 1, 1 << 20);
    assert_true(p->place[0].rank >= 0);
    nbcoll_affinity_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_scattered_over_the_cores),
        cmocka_unit_test(a_driver_gets_the_nearest_idle_core),
        cmocka_unit_test(drivers_are_dealt_evenly_over_the_idle_cores),
        cmocka_unit_test(what_rank_and_driver_share_is_told),
        cmocka_unit_test(where_ranks_are_already_the_other_cores_are_idle),
        cmocka_unit_test(a_core_with_several_processors_is_one_core),
        cmocka_unit_test(no_core_to_spare_is_said),
        cmocka_unit_test(only_what_may_be_used_is_used),
        cmocka_unit_test(a_processor_that_may_not_be_used_is_refused_by_its_number),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(the_machine_that_it_runs_on_has_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
