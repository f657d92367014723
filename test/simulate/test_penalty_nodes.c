/* SPDX-License-Identifier: BSD-3-Clause
 * The choice knows nodes: on a simulated cluster, whose nodes of 16 ranks share memory and one interface, the algorithm
 * that the cost model chooses is on average at most 5% slower than the fastest one, at points on which no rule was
 * made. Allgatherv of 64 ranks is one point where it is slower than the bar for the worst, 1.3. With 32 ranks; where
 * NBCOLL_FULL=1 stands in the environment, 64 and 128, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/select.h>

#include "scene.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* In thousandths of the best time. */
#define MEAN 1050
#define WORST 1300
#define WORST_KNOWN 1350

static const size_t lengths[] = {24, 1500, 100000,
                                 800000}; /* of the vector, or of all blocks, as far as they are whole */

typedef struct cluster {
    nbcoll_sim_model model;
    nbcoll_nodes *nodes;
    nbcoll_terms terms;
    int ranks;
} cluster;

static cluster cluster_of(int ranks)
{
    static const int room = 16;
    const nbcoll_placement placement = {sizeof placement, &room, 1, NBCOLL_NUMBERING_BLOCK, 0};
    cluster c = {.model.size = sizeof c.model, .ranks = ranks};
    const nbcoll_sim_model *m = &c.model;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &c.nodes), NBCOLL_OK);
    assert_int_equal(nbcoll_sim_model_find("cluster", &c.model), NBCOLL_OK);
    assert_int_equal(m->interfaces, 1);
    c.terms = (nbcoll_terms){.size = sizeof c.terms,
                             .ranks = ranks,
                             .large = NBCOLL_BY_COST,
                             .alpha_ns = (uint32_t)m->between.latency,
                             .beta_ps = (uint32_t)m->between.byte,
                             .overhead_ns = (uint32_t)(m->between.o_send + m->step),
                             .gamma_ps = (uint32_t)(m->copy + m->reduce) / 2,
                             .eager = m->eager,
                             .fetch_ns = (uint32_t)m->inside.latency,
                             .nodes = c.nodes,
                             .nodes_share = 1,
                             .interfaces = 1,
                             .gap_ns = (uint32_t)m->between.gap};
    c.terms.inside = (nbcoll_level){.alpha_ns = (uint32_t)m->inside.latency,
                                    .beta_ps = (uint32_t)m->inside.byte,
                                    .overhead_ns = (uint32_t)(m->inside.o_send + m->step),
                                    .fetch_ns = (uint32_t)m->inside.latency,
                                    .eager = m->eager};
    return c;
}

static uint64_t time_of(const cluster *on, const nbcoll_choice *c, size_t count)
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
    static const size_t segments[] = {0, 16384};
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
                uint64_t time = time_of(on, &c, count);
                least = time < least ? time : least;
            }
    return least;
}

static uint64_t penalty(const cluster *on, nbcoll_operation operation, size_t count)
{
    size_t counts[128];
    const nbcoll_algorithm *algorithm;
    nbcoll_choice chosen = {.size = sizeof chosen};
    nbcoll_args a = {.size = sizeof a,
                     .operation = operation,
                     .count = count,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR},
                     .counts = counts};
    for (int i = 0; i < on->ranks; i++)
        counts[i] = count;
    assert_int_equal(nbcoll_args_complete(&a, 0, on->ranks), NBCOLL_OK);
    assert_int_equal(nbcoll_select(&on->terms, &a, &chosen), NBCOLL_OK);
    assert_int_equal(chosen.reason, NBCOLL_REASON_COST);
    uint64_t time = time_of(on, &chosen, count), best = time;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++) {
        int is_candidate = !(algorithm->flags >> 16) || algorithm->flags & NBCOLL_ALGORITHM_NODES;
        uint64_t other = is_candidate ? least_of(on, algorithm, count) : UINT64_MAX;
        best = other < best ? other : best;
    }
    return time * 1000 / best;
}

static int has_vector(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_REDUCE ||
           operation == NBCOLL_OPERATION_ALLREDUCE || operation == NBCOLL_OPERATION_SCAN ||
           operation == NBCOLL_OPERATION_EXSCAN;
}

static void judge(int ranks)
{
    cluster on = cluster_of(ranks);
    uint64_t sum = 0, worst = 0, points = 0;
    for (int o = 0; o < NBCOLL_OPERATION_COUNT; o++) {
        nbcoll_operation operation = (nbcoll_operation)o;
        if (operation == NBCOLL_OPERATION_ALLTOALLV || operation == NBCOLL_OPERATION_ALLTOALLW) /* nothing is known */
            continue;
        for (size_t k = 0; k < (operation == NBCOLL_OPERATION_BARRIER ? 1 : LENGTH(lengths)); k++) {
            size_t count =
                operation == NBCOLL_OPERATION_BARRIER ? 0 : lengths[k] / (has_vector(operation) ? 1 : (size_t)ranks);
            uint64_t one = penalty(&on, operation, count ? count : operation != NBCOLL_OPERATION_BARRIER);
            sum += one;
            points++;
            if (one > WORST)
                print_message("  %d ranks, %s, %zu elements: %u\n", ranks, nbcoll_operation_name(operation), count,
                              (unsigned)one);
            worst = one > worst ? one : worst;
        }
    }
    nbcoll_nodes_free(on.nodes);
    print_message("%d ranks: mean %u, worst %u thousandths of the best time\n", ranks, (unsigned)(sum / points),
                  (unsigned)worst);
    assert_in_range(sum / points, 1000, MEAN);
    assert_in_range(worst, 1000, ranks == 32 ? WORST : WORST_KNOWN);
}

static void the_chosen_algorithm_is_nearly_the_fastest_on_nodes(void **state)
{
    const char *full = getenv("NBCOLL_FULL");
    (void)state;
    judge(32);
    for (int ranks = 64; full && !strcmp(full, "1") && ranks <= 128; ranks *= 2)
        judge(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_chosen_algorithm_is_nearly_the_fastest_on_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
