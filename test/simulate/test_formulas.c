/* SPDX-License-Identifier: BSD-3-Clause
 * Each formula of the cost model is held against the simulator: over a grid of ranks, nodes and lengths, what it says
 * is between so many hundredths of what the simulated machine takes (formulas.h). Where a formula, an algorithm or the
 * simulator was changed on purpose, the test prints the new line of the table; read what moved before keeping it: far
 * from 100 is a formula that is wrong there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/select.h>

#include "scene.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MOST_RANKS 128

static const struct formula {
    const char *machine, *operation, *algorithm;
    unsigned least, most; /* hundredths */
} formulas[] = {
#include "formulas.h"
};

static const size_t lengths[] = {8, 4096, 65536, 1048576}; /* of all bytes, as rules count them; a little more */

typedef struct machine {
    const char *name;
    nbcoll_sim_model model;
    int node, domain; /* ranks; 0: all; of a domain, and then algorithms by domains only; 0: none */
    int ranks[6];
} machine;

/* Copying costs as much as combining: the cost model knows one price for both. */
static const machine machines[] = {
    {"messages",
     {.between = {1500, 200, 200, 250, 100}, .step = 50, .copy = 100, .reduce = 100, .eager = 4096},
     1,
     0,
     {2, 3, 5, 8, 16, 32}},
    {"memory",
     {.inside = {300, 50, 50, 20, 100},
      .step = 20,
      .copy = 100,
      .reduce = 100,
      .eager = 4096,
      .cell = 80,
      .node = 65536},
     0,
     0,
     {2, 3, 5, 8, 16, 32}},
    {"cores", /* which ranks share; terms price them as if all were at work */
     {.inside = {300, 50, 50, 20, 100},
      .step = 20,
      .copy = 100,
      .reduce = 100,
      .eager = 4096,
      .cell = 80,
      .node = 65536,
      .cores = 2},
     0,
     0,
     {2, 4, 6, 8, 16}},
    {"cluster",
     {.inside = {300, 50, 50, 20, 100},
      .between = {1200, 200, 200, 150, 100},
      .step = 20,
      .copy = 100,
      .reduce = 100,
      .eager = 16384,
      .cell = 80,
      .interfaces = 1},
     16,
     0,
     {32, 48, 64, 128}},
    {"domains",
     {.domain = {100, 50, 50, 20, 50},
      .inside = {300, 50, 50, 20, 100},
      .between = {1200, 200, 200, 150, 100},
      .step = 20,
      .copy = 100,
      .reduce = 100,
      .eager = 16384,
      .cell = 80,
      .interfaces = 1},
     16,
     4,
     {16, 32, 48, 128}},
};

static uint32_t post_of(const machine *m, const nbcoll_sim_link *link)
{
    return (uint32_t)((link->o_send + link->o_recv) / 2 + m->model.step);
}

static nbcoll_level level_of(const machine *m, const nbcoll_sim_link *link)
{
    return (nbcoll_level){.alpha_ns = (uint32_t)link->latency,
                          .overhead_ns = post_of(m, link),
                          .beta_ps = (uint32_t)link->byte,
                          .fetch_ns = (uint32_t)link->latency,
                          .eager_ps = link == &m->model.between ? 0 : (uint32_t)m->model.copy,
                          .gap_ns = (uint32_t)link->gap,
                          .eager = m->model.eager};
}

static nbcoll_terms terms_of(const machine *m, int ranks, const nbcoll_nodes *nodes)
{
    int is_between = nodes->count > 1 || m->node == 1;
    const nbcoll_sim_link *inside = &m->model.inside, *link = is_between ? &m->model.between : inside;
    nbcoll_terms t = {.size = sizeof t,
                      .ranks = ranks,
                      .shared = !m->node,
                      .large = NBCOLL_BY_COST,
                      .between = level_of(m, link),
                      .nodes = nodes,
                      .nodes_share = 1,
                      .interfaces = m->model.interfaces};
    t.between.gamma_ps = (uint32_t)m->model.copy;
    t.between.fetch_ns = (uint32_t)inside->latency;
    t.between.gap_ns *= m->model.interfaces != 0;
    t.inside = level_of(m, inside);
    if (m->domain)
        t.domain = level_of(m, &m->model.domain);
    if (m->model.cores) {
        t.ranks_per_core = ((uint32_t)ranks + m->model.cores - 1) / m->model.cores;
        uint32_t *const work[] = {&t.between.overhead_ns, &t.between.beta_ps, &t.between.gamma_ps, &t.between.eager_ps};
        for (size_t i = 0; i < LENGTH(work); i++)
            *work[i] *= t.ranks_per_core;
    }
    return t;
}

/* Arguments with few values of the parameters; counts[]: the elements of each block, or of the vector. */
static nbcoll_args args_of(const nbcoll_algorithm *algorithm, int ranks, size_t bytes, size_t counts[])
{
    int hierarchical = (algorithm->flags & NBCOLL_ALGORITHM_NODES) != 0;
    nbcoll_args a = {.size = sizeof a, .operation = algorithm->operation, .reduction = {NBCOLL_BYTE, NBCOLL_BXOR},
                     .segment = 16384, .arity = hierarchical ? 2 : 3, .ports = hierarchical ? 1 : 2, .leaders = 2,
                     .counts = counts};
    int has_vector = a.operation == NBCOLL_OPERATION_BCAST || a.operation == NBCOLL_OPERATION_REDUCE ||
                     a.operation == NBCOLL_OPERATION_ALLREDUCE || a.operation == NBCOLL_OPERATION_SCAN ||
                     a.operation == NBCOLL_OPERATION_EXSCAN;
    a.count = a.operation == NBCOLL_OPERATION_BARRIER ? 0 : has_vector ? bytes : bytes / (size_t)ranks + 1;
    for (int i = 0; i < ranks; i++)
        counts[i] = a.count;
    assert_int_equal(nbcoll_args_complete(&a, 0, ranks), NBCOLL_OK);
    return a;
}

/* Hundredths; 0: there is no formula. */
static unsigned ratio(const machine *m, const nbcoll_algorithm *algorithm, int ranks, size_t bytes)
{
    size_t counts[MOST_RANKS];
    nbcoll_nodes *nodes;
    nbcoll_placement placement = {sizeof placement, m->node ? &m->node : &ranks, 1, NBCOLL_NUMBERING_BLOCK, 0,
                                  m->domain};
    nbcoll_args a = args_of(algorithm, ranks, bytes, counts);
    scene s = scene_of(algorithm->operation, algorithm->name, ranks, counts[0]);
    uint64_t says, takes = 1;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
    nbcoll_terms t = terms_of(m, ranks, nodes);
    int is_known = nbcoll_predict(&t, &a, algorithm, &says) == NBCOLL_OK;
    if (is_known) {
        s.model = m->model;
        s.model.size = sizeof s.model;
        s.c.segment = a.segment;
        s.c.arity = a.arity;
        s.c.ports = a.ports;
        s.c.leaders = a.leaders;
        s.c.node = NBCOLL_CASE_BY_NODE;
        s.c.nodes = s.config.nodes = nodes;
        takes = scene_play(&s);
    }
    nbcoll_nodes_free(nodes);
    return is_known ? (unsigned)((says * 100 + takes / 2) / takes) : 0;
}

/* Of an algorithm, whose formula has its line. */
static int is_as_written(const machine *m, const nbcoll_algorithm *algorithm)
{
    if (m->domain && !(algorithm->flags & NBCOLL_ALGORITHM_DOMAINS))
        return 1;
    const char *operation = nbcoll_operation_name(algorithm->operation);
    unsigned least = 0, most = 0;
    size_t columns = algorithm->operation == NBCOLL_OPERATION_BARRIER ? 1 : LENGTH(lengths);
    for (size_t i = 0; i < LENGTH(m->ranks) && m->ranks[i]; i++)
        for (size_t k = 0; k < columns; k++) {
            unsigned one = ratio(m, algorithm, m->ranks[i], lengths[k]);
            if (!one)
                return 1;
            least = one < least || !least ? one : least;
            most = one > most ? one : most;
        }
    for (size_t i = 0; i < LENGTH(formulas); i++)
        if (!strcmp(formulas[i].machine, m->name) && !strcmp(formulas[i].operation, operation) &&
            !strcmp(formulas[i].algorithm, algorithm->name) && formulas[i].least == least && formulas[i].most == most)
            return 1;
    print_message("{\"%s\", \"%s\", \"%s\", %u, %u},\n", m->name, operation, algorithm->name, least, most);
    return 0;
}

static void formulas_are_as_far_from_the_simulator_as_is_written(void **state)
{
    const nbcoll_algorithm *algorithm;
    int others = 0;
    (void)state;
    for (size_t k = 0; k < LENGTH(machines); k++)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
                others += operation != NBCOLL_OPERATION_ALLTOALLV && operation != NBCOLL_OPERATION_ALLTOALLW &&
                          !is_as_written(&machines[k], algorithm);
    assert_int_equal(others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formulas_are_as_far_from_the_simulator_as_is_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
