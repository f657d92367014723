/* SPDX-License-Identifier: BSD-3-Clause
 * Domains of machines that hwloc makes up: which ranks share caches or memory; and what algorithms by nodes gain from
 * them, on a simulated machine whose domains are its nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hwloc.h>

#include "nbcoll/affinity.h"
#include "nbcoll/select.h"
#include "nbcoll/simulate.h"
#include "nbcoll/verify.h"

/* Two packages of two NUMA nodes, each of two L3 caches with eight cores: 64 cores, like a large server's. */
#define SERVER "package:2 numa:2 l3:2 l2:8 core:1 pu:1"

static nbcoll_affinity *found(const char *description, int ranks, const int *on)
{
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks, .ranks_on = on};
    nbcoll_affinity *affinity;
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, description), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    config.topology = topology;
    assert_int_equal(nbcoll_affinity_find(NULL, &config, &affinity), NBCOLL_OK);
    hwloc_topology_destroy(topology);
    return affinity;
}

static void ranks_are_in_the_domains_of_their_cores(void **state)
{
    static const int cores[] = {NBCOLL_NEAR_L2, 1, NBCOLL_NEAR_L3, 8, NBCOLL_NEAR_NUMA, 16, NBCOLL_NEAR_PACKAGE, 32};
    nbcoll_affinity *a = found(SERVER, 32, NULL); /* every second core */
    int domain[32];
    (void)state;
    for (int i = 0; i < 8; i += 2) {
        assert_int_equal(nbcoll_affinity_domains(a, (nbcoll_near)cores[i], domain), NBCOLL_OK);
        for (int rank = 0; rank < 32; rank++)
            assert_int_equal(domain[rank], 2 * rank / (cores[i + 1] > 1 ? cores[i + 1] : 2));
    }
    nbcoll_affinity_free(a);
}

static void domains_are_numbered_by_their_first_ranks(void **state)
{
    static const int on[] = {63, 0, 62, 9, 1}, l3[] = {0, 1, 0, 2, 1}, package[] = {0, 1, 0, 1, 1};
    nbcoll_affinity *a = found(SERVER, 5, on);
    int domain[5];
    (void)state;
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_L3, domain), NBCOLL_OK);
    assert_memory_equal(domain, l3, sizeof l3);
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_PACKAGE, domain), NBCOLL_OK);
    assert_memory_equal(domain, package, sizeof package);
    nbcoll_affinity_free(a);
}

static void a_level_that_no_core_has_is_one_domain(void **state)
{
    nbcoll_affinity *a = found("package:2 core:2 pu:1", 4, NULL);
    int domain[4] = {9, 9, 9, 9};
    (void)state;
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_L3, domain), NBCOLL_OK);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(domain[rank], 0);
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_CORE, domain), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_MACHINE, domain), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_affinity_domains(NULL, NBCOLL_NEAR_L3, domain), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_L3, NULL), NBCOLL_ERR_NULL);
    nbcoll_affinity_free(a);
}

/* ---- in the simulator -------------------------------------------------------------------------------------------- */

typedef struct play {
    const nbcoll_algorithm *algorithm;
    nbcoll_case at;
} play;

static nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const play *p = user;
    (void)operation;
    return nbcoll_build_case(p->algorithm, &p->at, rank, NULL, out);
}

static uint64_t time_of(const char *algorithm, nbcoll_nodes *nodes, const nbcoll_sim_model *model)
{
    play p = {nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, algorithm),
              {.size = sizeof p.at, .operation = NBCOLL_OPERATION_ALLGATHER, .ranks = nodes->ranks, .count = 128,
               .reduction = {NBCOLL_DOUBLE, NBCOLL_SUM}, .known = 1, .node = NBCOLL_CASE_BY_NODE, .nodes = nodes}};
    nbcoll_sim_config config = {
        .size = sizeof config, .ranks = nodes->ranks, .seed = 1, .model = model, .nodes = nodes};
    nbcoll_sim_result result = {.size = sizeof result};
    assert_int_equal(nbcoll_simulate(&config, build, &p, &result), NBCOLL_OK);
    return result.last;
}

/* What lies in another package takes four times as long, and packages are joined by one link. */
static void algorithms_by_domains_gain_where_domains_are_far_from_each_other(void **state)
{
    const nbcoll_sim_model model = {.size = sizeof model,
                                    .inside = {100, 40, 40, 10, 50},
                                    .between = {400, 40, 40, 40, 100},
                                    .step = 20,
                                    .copy = 50,
                                    .reduce = 100,
                                    .eager = 4096,
                                    .cell = 80,
                                    .interfaces = 1};
    nbcoll_affinity *a = found(SERVER, 16, NULL);
    nbcoll_nodes *nodes;
    int domain[16];
    (void)state;
    assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_PACKAGE, domain), NBCOLL_OK);
    assert_int_equal(nbcoll_nodes_make(domain, 16, NULL, &nodes), NBCOLL_OK);
    assert_int_equal(nodes->count, 2);
    assert_true(time_of("hierarchical", nodes, &model) < time_of("recursive_doubling", nodes, &model));
    nbcoll_nodes_free(nodes);
    nbcoll_affinity_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_in_the_domains_of_their_cores),
        cmocka_unit_test(domains_are_numbered_by_their_first_ranks),
        cmocka_unit_test(a_level_that_no_core_has_is_one_domain),
        cmocka_unit_test(algorithms_by_domains_gain_where_domains_are_far_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
