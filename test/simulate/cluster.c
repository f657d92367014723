/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated clusters: see cluster.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

cluster cluster_of(const char *preset, int room, int ranks)
{
    const nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0, 0};
    cluster c = {.model.size = sizeof c.model, .ranks = ranks};
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &c.nodes), NBCOLL_OK);
    assert_int_equal(nbcoll_sim_model_find(preset, &c.model), NBCOLL_OK);
    c.terms = (nbcoll_terms){.size = sizeof c.terms, .ranks = ranks, .large = NBCOLL_BY_COST};
    assert_int_equal(nbcoll_sim_prices(&c.model, c.nodes, &c.terms), NBCOLL_OK);
    return c;
}

int cluster_is_known(nbcoll_operation operation)
{
    return operation != NBCOLL_OPERATION_ALLTOALLV && operation != NBCOLL_OPERATION_ALLTOALLW;
}

static int has_vector(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_REDUCE ||
           operation == NBCOLL_OPERATION_ALLREDUCE || operation == NBCOLL_OPERATION_SCAN ||
           operation == NBCOLL_OPERATION_EXSCAN;
}

nbcoll_args cluster_args(const cluster *on, nbcoll_operation operation, size_t bytes, size_t counts[])
{
    size_t count = bytes / (has_vector(operation) ? 1 : (size_t)on->ranks);
    nbcoll_args a = {.size = sizeof a,
                     .operation = operation,
                     .count = operation == NBCOLL_OPERATION_BARRIER ? 0 : count ? count : 1,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR},
                     .counts = counts};
    for (int i = 0; i < on->ranks; i++)
        counts[i] = a.count;
    assert_int_equal(nbcoll_args_complete(&a, 0, on->ranks), NBCOLL_OK);
    return a;
}

nbcoll_choice cluster_choose(const nbcoll_terms *terms, const nbcoll_args *a)
{
    nbcoll_choice chosen = {.size = sizeof chosen};
    assert_int_equal(nbcoll_select(terms, a, &chosen), NBCOLL_OK);
    assert_int_equal(chosen.reason, NBCOLL_REASON_COST);
    return chosen;
}

uint64_t cluster_time(const cluster *on, const nbcoll_choice *c, size_t count)
{
    scene s = scene_of(c->algorithm->operation, c->algorithm->name, on->ranks, count);
    s.model = on->model;
    s.c.nodes = s.config.nodes = on->nodes;
    s.c.node = NBCOLL_CASE_BY_NODE;
    s.c.arity = c->arity;
    s.c.ports = c->ports;
    s.c.segment = c->segment;
    s.c.leaders = c->leaders;
    return scene_play(&s);
}

/* The least time of an algorithm: alone, or with some values of the parameters that it reads. */
static uint64_t least_of(const cluster *on, const nbcoll_algorithm *algorithm, size_t count)
{
    static const unsigned few[] = {0, 1, 3}, leaders[] = {0, 2, 4};
    static const size_t segments[] = {0, 16384, 262144};
    int is_wide = (algorithm->flags & (NBCOLL_ALGORITHM_ARITY | NBCOLL_ALGORITHM_PORTS)) != 0;
    int is_cut = (algorithm->flags & NBCOLL_ALGORITHM_SEGMENT) != 0,
        is_led = (algorithm->flags & NBCOLL_ALGORITHM_LEADERS) != 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < (is_wide ? LENGTH(few) : 1); i++)
        for (size_t k = 0; k < (is_cut ? LENGTH(segments) : 1); k++)
            for (size_t l = 0; l < (is_led ? LENGTH(leaders) : 1); l++) {
                nbcoll_choice c = {.algorithm = algorithm,
                                   .arity = few[i],
                                   .ports = few[i],
                                   .segment = segments[k],
                                   .leaders = leaders[l]};
                uint64_t time = cluster_time(on, &c, count);
                least = time < least ? time : least;
            }
    return least;
}

uint64_t cluster_least(const cluster *on, nbcoll_operation operation, size_t count)
{
    const nbcoll_algorithm *algorithm;
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++) {
        uint32_t is_by_nodes = algorithm->flags & NBCOLL_ALGORITHM_NODES;
        uint32_t is_by_domains = algorithm->flags & NBCOLL_ALGORITHM_DOMAINS;
        int is_meant = on->nodes->count > 1 && (!is_by_domains || nbcoll_nodes_domains(on->nodes));
        int is_candidate = is_by_nodes ? is_meant : !(algorithm->flags >> 16);
        uint64_t other = is_candidate ? least_of(on, algorithm, count) : UINT64_MAX;
        best = other < best ? other : best;
    }
    return best;
}
