/* SPDX-License-Identifier: BSD-3-Clause
 * The sample of the grid leaves no legal pair of values out, of any two dimensions, and has no illegal point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elements.h"
#include "point.h"
#include "world.h"

enum { MOST = 4000 };

static int rows[MOST][PAIRS_DIMENSIONS];

static size_t sample(const grid *g, uint64_t seed)
{
    static int packed_rows[MOST * PAIRS_DIMENSIONS];
    size_t n = pairs_cover(g, seed, packed_rows, MOST);

    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        memcpy(rows[i], packed_rows + i * (size_t)g->dimensions, sizeof(int) * (size_t)g->dimensions);
        assert_true(g->is_legal(rows[i]));
    }
    return n;
}

static int has_pair(size_t n, int a, int value_a, int b, int value_b)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i][a] == value_a && rows[i][b] == value_b)
            return 1;
    return 0;
}

static void has_all_pairs_of(const grid *g, size_t n, const int row[])
{
    for (int a = 0; a < g->dimensions; a++)
        for (int b = a + 1; b < g->dimensions; b++)
            if (!has_pair(n, a, row[a], b, row[b]))
                fail_msg("no point has value %d of dimension %d and %d of %d", row[a], a, row[b], b);
}

/* ---- small grids, all points of which can be looked at --------------------------------------------------------- */

static int everything(const int v[])
{
    (void)v;
    return 1;
}

/* Rules among two and three dimensions, known only when the last of them is chosen; some pairs are in no point. */
static int awkward(const int v[])
{
    if (v[1] == 2 && v[2] >= 0 && v[2] != 0)
        return 0;
    if (v[2] == 0 && v[3] > 0)
        return 0;
    return v[0] < 0 || v[1] < 0 || v[4] < 0 || (v[0] + v[1] + v[4]) % 3 != 0;
}

static size_t covers(const grid *g, uint64_t seed)
{
    int row[PAIRS_DIMENSIONS] = {0}, d = 0;
    size_t n = sample(g, seed), legal = 0;

    while (d < g->dimensions) {
        if (g->is_legal(row)) {
            has_all_pairs_of(g, n, row);
            legal++;
        }
        for (d = 0; d < g->dimensions && ++row[d] == g->sizes[d]; d++)
            row[d] = 0;
    }
    assert_true(legal > n);
    return n;
}

static void all_pairs_of_small_grids_are_there(void **state)
{
    static const int sizes[] = {4, 3, 5, 2, 3};
    const grid free_grid = {5, sizes, everything, NULL, 0}, rules = {5, sizes, awkward, NULL, 0};

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_in_range(covers(&free_grid, seed), 20, 30); /* 20 pairs of the two longest dimensions */
        covers(&rules, seed);
    }
}

/* ---- the grid of calls ----------------------------------------------------------------------------------------- */

/* Random legal points: what they pair must be in the sample. */
static void the_sample_has_the_pairs_of_random_calls(void **state)
{
    uint64_t random = 5;
    size_t n = sample(&point_grid, 1), legal = 0;

    (void)state;
    print_message("%zu points\n", n);
    for (int i = 0; i < 2000000 && legal < 20000; i++) {
        int row[PAIRS_DIMENSIONS];
        for (int d = 0; d < DIMENSIONS; d++)
            row[d] = (int)(world_random(&random) % (uint64_t)point_grid.sizes[d]);
        if (!point_grid.is_legal(row))
            continue;
        legal++;
        has_all_pairs_of(&point_grid, n, row);
    }
    assert_true(legal > 10000);
}

static void a_point_can_be_read_as_it_is_printed(void **state)
{
    char text[POINT_TEXT], again[POINT_TEXT];
    size_t n = sample(&point_grid, 2);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        point p = {.seed = i, .rule = {.segment = i % 7, .arity = 2, .ports = 3}}, q;
        memcpy(p.v, rows[i], sizeof p.v);
        if (i % 3)
            p.rule.algorithm = nbcoll_algorithm_at((nbcoll_operation)p.v[OPERATION], (unsigned)(i % 2));
        point_print(&p, text);
        assert_true(point_parse(&q, text));
        point_print(&q, again);
        assert_string_equal(text, again);
    }
    assert_false(point_parse(&(point){.seed = 0}, "reduce/5/stepped"));
}

/* The grid asks of the library neither less nor more than the manual says. */
static void the_reductions_of_the_grid_are_those_of_the_library(void **state)
{
    (void)state;
    for (int type = 0; type < ELEMENT_TYPES; type++)
        for (int op = 0; op < ELEMENT_NO_OP; op++)
            if (type < NBCOLL_TYPE_COUNT || op >= NBCOLL_OP_COUNT)
                assert_int_equal(nbcoll_op_applies(element_op(op), element_type(type)), element_has(op, type));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_of_small_grids_are_there),
        cmocka_unit_test(the_sample_has_the_pairs_of_random_calls),
        cmocka_unit_test(a_point_can_be_read_as_it_is_printed),
        cmocka_unit_test(the_reductions_of_the_grid_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
