/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model chooses well: on simulated machines whose costs it is told, the algorithm that it chooses is on
 * average at most 5% slower than the fastest one of the table, with whatever parameters. The grid ends at 32 ranks;
 * where NBCOLL_FULL=1 stands in the environment, at 128. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/select.h>

#include "scene.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* In thousandths of the best time. */
#define MEAN 1050
#define MEAN_OF_ONE 1050 /* operation, on one machine */
#define WORST 1500

static const int ranks[] = {2, 3, 4, 5, 8, 13, 16, 32, 64, 128};
static const size_t lengths[] = {8, 64, 1024, 16384, 131072, 1048576}; /* of the vector, or of each block */

static const struct machine {
    const char *name;
    uint32_t alpha_ns, overhead_ns, beta_ps, gamma_ps;
} machines[] = {{"network", 1500, 300, 100, 100}, {"memory", 150, 60, 150, 150}, {"ethernet", 15000, 2500, 800, 100}};

static const size_t eager = 4096;

/* ---- one point of the grid ------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct machine *m, const nbcoll_choice *c, int P, size_t count)
{
    scene s = scene_of(c->algorithm->operation, c->algorithm->name, P, count);
    scene_loggp(&s, m->alpha_ns, m->overhead_ns, 0, 0);
    s.model.inside.byte = s.model.between.byte = m->beta_ps;
    s.model.copy = s.model.reduce = m->gamma_ps;
    s.model.eager = eager;
    s.c.arity = c->arity;
    s.c.ports = c->ports;
    s.c.segment = c->segment;
    return scene_play(&s);
}

static nbcoll_choice choice_of(const struct machine *m, nbcoll_operation operation, int P, size_t count)
{
    size_t counts[128];
    nbcoll_terms terms = {.size = sizeof terms, .ranks = P, .large = NBCOLL_BY_COST,
                          .between = {.alpha_ns = m->alpha_ns, .beta_ps = m->beta_ps, .overhead_ns = m->overhead_ns,
                                      .gamma_ps = m->gamma_ps, .eager = eager}};
    nbcoll_args a = {.size = sizeof a, .operation = operation, .count = count, .reduction = {NBCOLL_BYTE, NBCOLL_BXOR},
                     .counts = counts};
    nbcoll_choice c = {.size = sizeof c};

    for (int i = 0; i < P; i++)
        counts[i] = count;
    assert_int_equal(nbcoll_args_complete(&a, 0, P), NBCOLL_OK);
    assert_int_equal(nbcoll_select(&terms, &a, &c), NBCOLL_OK);
    assert_int_equal(c.reason, NBCOLL_REASON_COST);
    return c;
}

/* The least time of an algorithm: alone, or with each of some values of the parameters that it reads. None reads both
 * an arity and ports. */
static uint64_t least_of(const struct machine *m, const nbcoll_algorithm *algorithm, int P, size_t count)
{
    static const unsigned few[] = {0, 1, 2, 3, 4, 6, 8};
    static const size_t segments[] = {0, 4096, 16384, 65536};
    int is_wide = (algorithm->flags & (NBCOLL_ALGORITHM_ARITY | NBCOLL_ALGORITHM_PORTS)) != 0;
    int is_cut = (algorithm->flags & NBCOLL_ALGORITHM_SEGMENT) != 0;
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < (is_wide ? LENGTH(few) : 1); i++)
        for (size_t k = 0; k < (is_cut ? LENGTH(segments) : 1); k++) {
            nbcoll_choice c = {.algorithm = algorithm, .arity = few[i], .ports = few[i], .segment = segments[k]};
            uint64_t time = time_of(m, &c, P, count);
            least = time < least ? time : least;
        }
    return least;
}

static uint64_t penalty(const struct machine *m, nbcoll_operation operation, int P, size_t count)
{
    nbcoll_choice chosen = choice_of(m, operation, P, count);
    const nbcoll_algorithm *algorithm;
    uint64_t time = time_of(m, &chosen, P, count), best = time;

    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++) {
        uint64_t other = algorithm->flags >> 16 ? UINT64_MAX : least_of(m, algorithm, P, count);
        best = other < best ? other : best;
    }
    return time * 1000 / best;
}

/* ---- the grid -------------------------------------------------------------------------------------------------- */

typedef struct sum {
    uint64_t points, of_all, worst;
} sum;

static void add(sum *s, const sum *more)
{
    s->points += more->points;
    s->of_all += more->of_all;
    s->worst = s->worst > more->worst ? s->worst : more->worst;
}

static sum sum_of(const struct machine *m, nbcoll_operation operation, int most)
{
    sum s = {0, 0, 0};

    for (size_t i = 0; i < LENGTH(ranks) && ranks[i] <= most; i++)
        for (size_t k = 0; k < (operation == NBCOLL_OPERATION_BARRIER ? 1 : LENGTH(lengths)); k++) {
            uint64_t one = penalty(m, operation, ranks[i], operation == NBCOLL_OPERATION_BARRIER ? 0 : lengths[k]);
            add(&s, &(sum){1, one, one});
        }
    return s;
}

static void the_chosen_algorithm_is_nearly_the_fastest(void **state)
{
    const char *full = getenv("NBCOLL_FULL");
    int most = full && !strcmp(full, "1") ? 128 : 32;
    sum all = {0, 0, 0};

    (void)state;
    print_message("penalty up to %d ranks, in thousandths of the best time: mean, worst\n", most);
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        if (operation == NBCOLL_OPERATION_ALLTOALLV || operation == NBCOLL_OPERATION_ALLTOALLW) /* nothing is known */
            continue;
        print_message("  %-22s", nbcoll_operation_name((nbcoll_operation)operation));
        for (size_t i = 0; i < LENGTH(machines); i++) {
            sum one = sum_of(&machines[i], (nbcoll_operation)operation, most);
            print_message("  %s %llu %llu", machines[i].name, (unsigned long long)(one.of_all / one.points),
                          (unsigned long long)one.worst);
            assert_in_range(one.of_all / one.points, 1000, MEAN_OF_ONE);
            assert_in_range(one.worst, 1000, WORST);
            add(&all, &one);
        }
        print_message("\n");
    }
    print_message("  all %llu %llu\n", (unsigned long long)(all.of_all / all.points), (unsigned long long)all.worst);
    assert_in_range(all.of_all / all.points, 1000, MEAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_chosen_algorithm_is_nearly_the_fastest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
