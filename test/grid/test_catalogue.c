/* SPDX-License-Identifier: BSD-3-Clause
 * Every algorithm of the table has the values of serial C: algorithm x segment x arity x ports x all dimensions of the
 * grid of calls, with any split and leaders. A rule of the communicator names the algorithm, and it is the one that
 * runs.
 *
 * Normally samples are run in each of which every pair of values of two dimensions occurs, and so every algorithm over
 * every transport; NBCOLL_GRID_SEED takes others. Sanitizers run a twelfth of one, and of each pair of algorithm and
 * transport at least one point. NBCOLL_FULL=1 runs MORE samples, for all of the grid is too much; with
 * NBCOLL_GRID_SHARD=3/64 the fourth of 64 parts of them. Failures print what test_grid <point> runs alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elements.h"
#include "point.h"
#include "run.h"
#include "world.h"

/* The dimensions of the grid of calls, the first of which also says which algorithm of the operation; then these. */
enum { ALGORITHM = OPERATION, SEGMENT = DIMENSIONS, ARITY, PORTS, ALL_DIMENSIONS };

enum { MOST = 12000, ALGORITHMS = 256, SAMPLES = 1, MORE = 640 };

static const size_t segments[] = {0, 1, 48, 1000}; /* bytes */
static const unsigned arities[] = {0, 1, 2, 5}, ports[] = {0, 1, 2, 3}, splits[] = {0, 1, 2}, leaders[] = {0, 2};

static const nbcoll_algorithm *table[ALGORITHMS];
static int sizes[ALL_DIMENSIONS], has_run[ALGORITHMS][TRANSPORTS];

/* May a rule name the algorithm for this point? */
static int may_serve(const nbcoll_algorithm *algorithm, const point *p)
{
    int is_promised = algorithm->operation == NBCOLL_OPERATION_GATHERV ||
                      algorithm->operation == NBCOLL_OPERATION_SCATTERV;
    uint32_t flags = p->v[FLAGS] < 0 ? 0 : point_flags(p);

    if (p->v[OP] == ELEMENT_ORDERED && algorithm->flags & NBCOLL_ALGORITHM_REORDERS)
        return 0;
    if (p->v[FLAGS] < 0)
        return 1;
    if (flags & NBCOLL_REPRODUCIBLE && operation_reduces(algorithm->operation) &&
        !(algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE))
        return 0;
    return !is_promised || !(algorithm->flags & NBCOLL_ALGORITHM_COUNTS) || flags & NBCOLL_COUNTS_KNOWN;
}

/* The values of the point, which may be incomplete. */
static point point_of(const int v[])
{
    point p = {.seed = 0};

    memcpy(p.v, v, sizeof p.v);
    if (v[ALGORITHM] >= 0) {
        p.rule.algorithm = table[v[ALGORITHM]];
        p.v[OPERATION] = (int)p.rule.algorithm->operation;
    }
    return p;
}

static int is_legal(const int v[])
{
    point p = point_of(v);
    return point_grid.is_legal(p.v) && (!p.rule.algorithm || may_serve(p.rule.algorithm, &p));
}

static int in_order_of_worlds(const void *left, const void *right)
{
    const point *a = left, *b = right;
    for (int d = RANKS; d <= FLAGS; d++)
        if (a->v[d] != b->v[d])
            return a->v[d] < b->v[d] ? -1 : 1;
    return (a->seed > b->seed) - (a->seed < b->seed);
}

static int index_of(const nbcoll_algorithm *algorithm)
{
    int i = 0;
    while (table[i] != algorithm)
        i++;
    return i;
}

/* Parameters that the algorithm does not read would be refused. */
static void keep_what_is_read(nbcoll_rule *rule)
{
    uint32_t flags = rule->algorithm->flags;

    rule->segment = flags & NBCOLL_ALGORITHM_SEGMENT ? rule->segment : 0;
    rule->arity = flags & NBCOLL_ALGORITHM_ARITY ? rule->arity : 0;
    rule->ports = flags & NBCOLL_ALGORITHM_PORTS ? rule->ports : 0;
    rule->split = flags & NBCOLL_ALGORITHM_SPLIT ? rule->split : 0;
    rule->leaders = flags & NBCOLL_ALGORITHM_LEADERS ? rule->leaders : 0;
}

static void run_sample(runner *r, uint64_t seed)
{
    static int rows[MOST * ALL_DIMENSIONS];
    static point points[MOST];
    const grid all = {ALL_DIMENSIONS, sizes, is_legal, point_grid.is_dear, .free = ALL_DIMENSIONS - DIMENSIONS};
    size_t n = pairs_cover(&all, seed, rows, MOST);
    uint64_t random = seed;

    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        const int *v = rows + i * ALL_DIMENSIONS;
        points[i] = point_of(v);
        points[i].seed = world_random(&random) >> 24;
        points[i].rule.segment = segments[v[SEGMENT]];
        points[i].rule.arity = arities[v[ARITY]];
        points[i].rule.ports = ports[v[PORTS]];
        points[i].rule.split = splits[world_random(&random) % (sizeof splits / sizeof *splits)];
        points[i].rule.leaders = leaders[world_random(&random) % (sizeof leaders / sizeof *leaders)];
        keep_what_is_read(&points[i].rule);
    }
    qsort(points, n, sizeof *points, in_order_of_worlds);
    for (size_t i = 0; i < n; i++) {
        int *seen = &has_run[index_of(points[i].rule.algorithm)][points[i].v[TRANSPORT]];
        if (*seen && (points[i].seed + seed) % RUN_EVERY != 0)
            continue;
        *seen = 1;
        runner_add(r, &points[i]);
    }
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* The text's part of so many samples: "3/64" takes the fourth, and every 64th from there on. */
static void run_samples(runner *r, uint64_t seed, uint64_t samples, const char *text)
{
    uint64_t part = 0, parts = 1;
    char *end = NULL;

    if (text) {
        part = strtoull(text, &end, 10);
        parts = *end == '/' ? strtoull(end + 1, NULL, 10) : 0;
        assert_true(part < parts);
    }
    for (; part < samples; part += parts)
        run_sample(r, seed + part);
}

static void every_algorithm_has_the_values_of_serial_c_over_every_transport(void **state)
{
    uint64_t seed = number_of("NBCOLL_GRID_SEED", 20261121);
    runner *r = runner_open();

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    if (RUN_EVERY == 1 && number_of("NBCOLL_FULL", 0))
        run_samples(r, seed, MORE, getenv("NBCOLL_GRID_SHARD"));
    else
        run_samples(r, seed, SAMPLES, NULL);
    tally t = runner_close(r);
    print_message("%zu calls of %d algorithms\n", t.runs, sizes[ALGORITHM]);
    assert_int_equal(t.wrong, 0);
    for (int i = 0; i < sizes[ALGORITHM]; i++)
        for (int over = 0; over < TRANSPORTS; over++)
            if (!has_run[i][over])
                fail_msg("%s/%s has not run over transport %d", nbcoll_operation_name(table[i]->operation),
                         table[i]->name, over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_the_values_of_serial_c_over_every_transport),
    };

    memcpy(sizes, point_grid.sizes, DIMENSIONS * sizeof *sizes);
    sizes[ALGORITHM] = 0;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned i = 0; nbcoll_algorithm_at((nbcoll_operation)operation, i) && sizes[ALGORITHM] < ALGORITHMS; i++)
            table[sizes[ALGORITHM]++] = nbcoll_algorithm_at((nbcoll_operation)operation, i);
    sizes[SEGMENT] = sizeof segments / sizeof *segments;
    sizes[ARITY] = sizeof arities / sizeof *arities;
    sizes[PORTS] = sizeof ports / sizeof *ports;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "the last point: test_grid %s\n", runner_point());
    return failed;
}
