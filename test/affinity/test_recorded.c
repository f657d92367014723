/* SPDX-License-Identifier: BSD-3-Clause
 * Places on a machine as it was recorded: two EPYC 7451 of 24 cores, in each four NUMA nodes of two L3 caches of three
 * cores; the second processors of the cores are numbered after all first ones. epyc_7451.xml is of the test data of
 * hwloc 2.9.0 (tests/hwloc/x86/AMD-17h-Zen-2xEpyc-7451, BSD-3-Clause, https://www.open-mpi.org/projects/hwloc), written
 * again by lstopo without L1 caches and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <hwloc.h>

#include "nbcoll/affinity.h"

enum { CORES = 48, DOMAIN_CORES = 6, PROCESSORS = 96 };

static nbcoll_affinity *found(nbcoll_affinity_config config)
{
    nbcoll_affinity *affinity = NULL;
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_xml(topology, NBCOLL_TEST_DIR "/affinity/epyc_7451.xml"), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    assert_int_equal(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), PROCESSORS);
    config.size = sizeof config;
    config.topology = topology;
    assert_int_equal(nbcoll_affinity_find(NULL, &config, &affinity), NBCOLL_OK);
    hwloc_topology_destroy(topology);
    return affinity;
}

/* Also those whose numbers are far apart. */
static void two_processors_of_a_core_are_one_place(void **state)
{
    (void)state;
    nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = 24});
    assert_int_equal(a->cores, CORES);
    for (int rank = 0; rank < 24; rank++)
        assert_int_equal(a->place[rank].rank, 2 * rank);
    nbcoll_affinity_free(a);
}

/* Every second core has a rank, and a cache has three: of each two caches one has a driver too few. */
static void drivers_are_in_the_ranks_cache_or_memory(void **state)
{
    int in_cache = 0;
    (void)state;
    nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = 24});
    for (int rank = 0; rank < 24; rank++) {
        assert_true(a->place[rank].near == NBCOLL_NEAR_L3 || a->place[rank].near == NBCOLL_NEAR_NUMA);
        in_cache += a->place[rank].near == NBCOLL_NEAR_L3;
    }
    assert_int_equal(in_cache, 16);
    nbcoll_affinity_free(a);
}

/* 38 ranks, of 48 cores the best number in Denis et al.: drivers are dealt evenly, and none leaves its package. */
static void ten_cores_serve_38_ranks_evenly_within_their_packages(void **state)
{
    int drivers[CORES] = {0}, ranks[CORES] = {0};
    (void)state;
    nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = 38});
    for (int rank = 0; rank < 38; rank++) {
        assert_in_range(a->place[rank].near, NBCOLL_NEAR_L3, NBCOLL_NEAR_PACKAGE);
        ranks[a->place[rank].rank]++;
        drivers[a->place[rank].driver]++;
    }
    for (int core = 0; core < CORES; core++) {
        assert_int_equal(ranks[core], drivers[core] == 0);
        if (drivers[core])
            assert_in_range(drivers[core], 3, 4);
    }
    assert_string_equal(a->why, "38 ranks on 48 cores: 10 idle for drivers, 3 or 4 on each");
    nbcoll_affinity_free(a);
}

/* As a batch system gives it: one NUMA node, second processors only. */
static void a_part_of_it_is_a_machine_of_its_own(void **state)
{
    int within[DOMAIN_CORES];
    (void)state;
    for (int i = 0; i < DOMAIN_CORES; i++)
        within[i] = CORES + 4 * DOMAIN_CORES + i;
    nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = 4, .within = within, .within_count = DOMAIN_CORES});
    assert_int_equal(a->cores, DOMAIN_CORES);
    assert_int_equal(a->idle, 2);
    for (int rank = 0; rank < 4; rank++) {
        assert_in_range(a->place[rank].rank, within[0], within[DOMAIN_CORES - 1]);
        assert_in_range(a->place[rank].driver, within[0], within[DOMAIN_CORES - 1]);
        assert_int_equal(a->place[rank].near, NBCOLL_NEAR_L3);
    }
    nbcoll_affinity_free(a);
}

static void with_a_rank_on_each_core_none_is_left(void **state)
{
    (void)state;
    for (int ranks = CORES; ranks <= PROCESSORS; ranks += CORES) {
        nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = ranks});
        assert_int_equal(a->idle, 0);
        assert_int_equal(a->place[ranks - 1].driver, -1);
        assert_non_null(strstr(a->why, "on 48 cores: no core to spare, drivers run where their ranks do"));
        nbcoll_affinity_free(a);
    }
}

static void its_domains_are_caches_memories_and_packages(void **state)
{
    static const struct {
        nbcoll_near level;
        int cores;
    } levels[] = {{NBCOLL_NEAR_L2, 1}, {NBCOLL_NEAR_L3, 3}, {NBCOLL_NEAR_NUMA, 6}, {NBCOLL_NEAR_PACKAGE, 24}};
    int domain[CORES];
    (void)state;
    nbcoll_affinity *a = found((nbcoll_affinity_config){.ranks = CORES});
    for (int i = 0; i < 4; i++) {
        assert_int_equal(nbcoll_affinity_domains(a, levels[i].level, domain), NBCOLL_OK);
        for (int rank = 0; rank < CORES; rank++)
            assert_int_equal(domain[rank], rank / levels[i].cores);
    }
    nbcoll_affinity_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processors_of_a_core_are_one_place),
        cmocka_unit_test(drivers_are_in_the_ranks_cache_or_memory),
        cmocka_unit_test(ten_cores_serve_38_ranks_evenly_within_their_packages),
        cmocka_unit_test(a_part_of_it_is_a_machine_of_its_own),
        cmocka_unit_test(with_a_rank_on_each_core_none_is_left),
        cmocka_unit_test(its_domains_are_caches_memories_and_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
