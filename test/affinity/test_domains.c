/* SPDX-License-Identifier: BSD-3-Clause
 * Domains of machines that hwloc makes up: which ranks share caches or memory; communicators that know them; and what
 * algorithms that go by them in each node gain, on simulated machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hwloc.h>

#include "joined.h"
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

/* ---- in a communicator ------------------------------------------------------------------------------------------- */

/* What two machines have found, each by itself: of two ranks, a NUMA node; of four, a package. */
static const int found_domain[] = {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 0, 0, 1, 1, 1, 1};

static void expect_domains(const nbcoll_comm *comm, int is_turned)
{
    enum { EACH = 8, RANKS = 2 * EACH };
    const nbcoll_nodes *t = nbcoll_nodes_domains(nbcoll_comm_nodes(comm));
    assert_non_null(t);
    assert_int_equal(t->count, 4 + 2);
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < RANKS; b++)
            assert_int_equal(nbcoll_node_of(t, is_turned ? RANKS - 1 - a : a) ==
                                 nbcoll_node_of(t, is_turned ? RANKS - 1 - b : b),
                             a / EACH == b / EACH && found_domain[a] == found_domain[b]);
}

static void expect_sums(joined *j, nbcoll_comm *const comm[])
{
    nbcoll_request request[WORLD_MOST];
    int32_t mine[WORLD_MOST], sum[WORLD_MOST];
    for (int r = 0; r < j->w.ranks; r++) {
        mine[r] = 1 << r;
        EXPECT(OK, nbcoll_iallreduce(&mine[r], &sum[r], 1, NBCOLL_INT32, NBCOLL_SUM, comm[r], &request[r]));
    }
    world_finish(&j->w, (size_t)j->w.ranks, request);
    for (int r = 0; r < j->w.ranks; r++)
        assert_int_equal(sum[r], (1 << j->w.ranks) - 1);
}

static void a_communicator_has_the_domains_that_each_machine_finds_and_so_has_what_is_made_of_it(void **state)
{
    enum { EACH = 8, RANKS = 2 * EACH };
    const nbcoll_loopback_config sharing = {.size = sizeof sharing, .flags = NBCOLL_LOOPBACK_SHARED};
    const nbcoll_rule rule = {
        .algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "hierarchical_domains")};
    nbcoll_affinity *machine[] = {found(SERVER, EACH, NULL), found("package:2 core:4 pu:1", EACH, NULL)};
    nbcoll_comm *dup[RANKS], *part[RANKS];
    nbcoll_request request[RANKS];
    int node[RANKS], domain[RANKS];
    nbcoll_nodes *nodes;
    joined j;
    (void)state;
    EXPECT(OK, nbcoll_affinity_domains(machine[0], NBCOLL_NEAR_NUMA, domain));
    EXPECT(OK, nbcoll_affinity_domains(machine[1], NBCOLL_NEAR_PACKAGE, domain + EACH));
    assert_memory_equal(domain, found_domain, sizeof domain);
    for (int r = 0; r < RANKS; r++)
        node[r] = r / EACH;
    EXPECT(OK, nbcoll_nodes_make(node, RANKS, NULL, &nodes));
    joined_open_contexts(&j, nodes, &sharing, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.rules = &rule;
        config.rule_count = 1;
        config.domain = 1 + (uint64_t)domain[r];
        EXPECT(OK, joined_icreate(&j, r, &config, &request[r]));
    }
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) { /* configured anew, without a word of domains */
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.rules = &rule;
        config.rule_count = 1;
        EXPECT(OK, nbcoll_comm_idup_with(j.w.comm[r], &config, &dup[r], &request[r]));
    }
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_isplit(dup[r], 0, -r, &part[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        expect_domains(j.w.comm[r], 0);
        expect_domains(dup[r], 0);
        expect_domains(part[r], 1);
    }
    expect_sums(&j, j.w.comm);
    expect_sums(&j, dup);
    expect_sums(&j, part);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
    nbcoll_affinity_free(machine[0]);
    nbcoll_affinity_free(machine[1]);
}

/* ---- in the simulator -------------------------------------------------------------------------------------------- */

static uint64_t time_of(nbcoll_operation operation, const char *algorithm, nbcoll_nodes *nodes,
                        const nbcoll_sim_model *model)
{
    const nbcoll_case at = {.size = sizeof at, .operation = operation, .ranks = nodes->ranks, .count = 128,
                            .reduction = {NBCOLL_DOUBLE, NBCOLL_SUM}, .known = 1, .node = NBCOLL_CASE_BY_NODE,
                            .nodes = nodes};
    const nbcoll_sim_case one = {nbcoll_algorithm_find(operation, algorithm), &at};
    nbcoll_sim_config config = {
        .size = sizeof config, .ranks = nodes->ranks, .seed = 1, .model = model, .nodes = nodes};
    nbcoll_sim_result result = {.size = sizeof result};
    assert_int_equal(nbcoll_simulate_cases(&config, &one, &result), NBCOLL_OK);
    return result.last;
}

/* Three such servers: what lies in another package takes four times as long as in the own one, what lies on another
 * server ten times. */
static void algorithms_go_by_nodes_and_the_domains_in_them(void **state)
{
    enum { EACH = 16, RANKS = 3 * EACH };
    nbcoll_sim_model model = {.size = sizeof model,
                              .domain = {100, 40, 40, 10, 50},
                              .inside = {400, 40, 40, 10, 100},
                              .between = {1000, 200, 200, 150, 100},
                              .step = 20,
                              .copy = 50,
                              .reduce = 100,
                              .eager = 4096,
                              .cell = 80,
                              .interfaces = 1};
    nbcoll_affinity *a = found(SERVER, EACH, NULL);
    int node[RANKS], domain[RANKS];
    nbcoll_nodes *nodes;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(nbcoll_affinity_domains(a, NBCOLL_NEAR_NUMA, domain + EACH * i), NBCOLL_OK);
    for (int i = 0; i < RANKS; i++)
        node[i] = i / EACH;
    assert_int_equal(nbcoll_nodes_make_with_domains(node, domain, RANKS, NULL, &nodes), NBCOLL_OK);
    assert_int_equal(nodes->count, 3);
    assert_int_equal(nbcoll_nodes_domains(nodes)->count, 3 * 4);
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE};
    for (int i = 0; i < 2; i++) {
        uint64_t by_domains = time_of(operations[i], "hierarchical_domains", nodes, &model);
        assert_true(by_domains * 3 < time_of(operations[i], "hierarchical", nodes, &model) * 2);
    }
    uint64_t near = time_of(NBCOLL_OPERATION_REDUCE, "hierarchical_domains", nodes, &model);
    model.domain = model.inside; /* as far as in the node: 3 fetches of 4 ranks at least begin and end later */
    assert_true(time_of(NBCOLL_OPERATION_REDUCE, "hierarchical_domains", nodes, &model) >= near + 4 * (400 - 100));
    nbcoll_nodes_free(nodes);
    nbcoll_affinity_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_in_the_domains_of_their_cores),
        cmocka_unit_test(domains_are_numbered_by_their_first_ranks),
        cmocka_unit_test(a_level_that_no_core_has_is_one_domain),
        cmocka_unit_test(a_communicator_has_the_domains_that_each_machine_finds_and_so_has_what_is_made_of_it),
        cmocka_unit_test(algorithms_go_by_nodes_and_the_domains_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
