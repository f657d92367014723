/* SPDX-License-Identifier: BSD-3-Clause
 * NBCOLL_REPRODUCIBLE: the bits of the serial tree, from every algorithm that says it keeps it, and from the one that a
 * communicator with the flag takes; over loopback and shm, by threads and processes, whatever the order of delivery.
 * NBCOLL_GRID_SEED takes other operands, worlds and orders. Sanitizers run a twelfth of it, which the seed chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call.h"
#include "elements.h"
#include "run.h"
#include "world.h"

/* Reductions that round. */
static const int reductions[][2] = {
    {NBCOLL_FLOAT, NBCOLL_SUM},          {NBCOLL_DOUBLE, NBCOLL_PROD},        {NBCOLL_HALF, NBCOLL_SUM},
    {NBCOLL_BFLOAT16, NBCOLL_PROD},      {NBCOLL_LONG_DOUBLE, NBCOLL_SUM},    {NBCOLL_FLOAT_COMPLEX, NBCOLL_PROD},
    {NBCOLL_DOUBLE_COMPLEX, NBCOLL_SUM}, {NBCOLL_BFLOAT16, NBCOLL_SUM},       {NBCOLL_HALF, NBCOLL_PROD},
    {NBCOLL_DOUBLE, NBCOLL_SUM},         {NBCOLL_LONG_DOUBLE_COMPLEX, NBCOLL_PROD},
    {ELEMENT_PACKED, ELEMENT_ROUNDING},  {ELEMENT_CONTIGUOUS, ELEMENT_ROUNDING},
};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

enum { REPRODUCIBLE = 1 }; /* among the flags of the grid */

static const int operations[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_REDUCE_SCATTER,
                                 NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK, NBCOLL_OPERATION_SCAN, NBCOLL_OPERATION_EXSCAN};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static uint64_t seed_of_test(void)
{
    const char *text = getenv("NBCOLL_GRID_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 10) : 20261121;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* A value that the rest of the point allows. */
static void choose(point *p, int d, uint64_t random)
{
    do
        p->v[d] = (int)(random++ % (uint64_t)point_grid.sizes[d]);
    while (!point_grid.is_legal(p->v));
}

/* Every reduction through one algorithm in one world, or through the one that the communicator chooses: null. */
static void add_reductions(runner *r, point p, const nbcoll_algorithm *algorithm, uint64_t *random)
{
    p.rule = (nbcoll_rule){.algorithm = algorithm};
    for (int i = 0; i < REDUCTIONS; i++) {
        p.seed = world_random(random) >> 24;
        p.v[TYPE] = reductions[i][0];
        p.v[OP] = reductions[i][1];
        for (int d = FORM; d < DIMENSIONS; d++)
            if (d != TYPE && d != OP)
                p.v[d] = -1;
        for (int d = FORM; d < DIMENSIONS; d++)
            if (d != TYPE && d != OP)
                choose(&p, d, world_random(random));
        if (p.seed % RUN_EVERY == 0)
            runner_add(r, &p);
    }
}

/* The n-th algorithm of the operation that keeps the tree; null beyond the last. */
static const nbcoll_algorithm *algorithm_of(int operation, int n)
{
    const nbcoll_algorithm *algorithm;

    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
        if (algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE && !n--)
            return algorithm;
    return NULL;
}

/* The n-th algorithm of every operation, beside each other: they can share a world. How many there are. */
static int add_algorithms(runner *r, point p, int n, uint64_t *random)
{
    const nbcoll_algorithm *algorithm;
    int found = 0;

    for (int what = 0; what < OPERATIONS; what++) {
        p.v[OPERATION] = operations[what];
        if ((algorithm = algorithm_of(operations[what], n)))
            add_reductions(r, p, algorithm, random);
        found += algorithm != NULL;
    }
    return found;
}

static void every_algorithm_that_says_so_has_the_bits_of_the_tree(void **state)
{
    uint64_t random = seed_of_test();
    runner *r = runner_open();
    point p;

    (void)state;
    memset(p.v, -1, sizeof p.v);
    p.v[FLAGS] = REPRODUCIBLE;
    for (p.v[RANKS] = 0; p.v[RANKS] < point_grid.sizes[RANKS]; p.v[RANKS]++)
        for (p.v[TRANSPORT] = 0; p.v[TRANSPORT] < TRANSPORTS; p.v[TRANSPORT]++) {
            assert_int_equal(add_algorithms(r, p, 0, &random), OPERATIONS);
            for (int n = 1; add_algorithms(r, p, n, &random); n++)
                ;
            for (int what = 0; what < OPERATIONS; what++) {
                p.v[OPERATION] = operations[what];
                add_reductions(r, p, NULL, &random);
            }
        }
    tally t = runner_close(r);
    print_message("%zu calls\n", t.runs);
    assert_int_equal(t.wrong, 0);
}

/* Were the operands tame, the test above would say nothing. */
static void other_orders_have_other_bits(void **state)
{
    (void)state;
    elements_open();
    for (int i = 0; i < REDUCTIONS; i++) {
        point p = {.seed = 5};
        p.v[OPERATION] = NBCOLL_OPERATION_ALLREDUCE;
        p.v[RANKS] = 8; /* nine of them */
        p.v[FLAGS] = REPRODUCIBLE;
        p.v[TYPE] = reductions[i][0];
        p.v[OP] = reductions[i][1];
        p.v[COUNT] = PIECES;
        call *by_tree = call_make(&p);
        passed by[POINT_RANKS_MOST];
        void *results[POINT_RANKS_MOST];
        size_t bytes = by_tree->of[0].recv.bytes, differ = 0, size = element_size(p.v[TYPE]);
        char *in_order = malloc(bytes);
        memcpy(in_order, by_tree->of[0].recv.expected, bytes); /* what does not travel */
        for (int r = 0; r < 9; r++) {
            by[r] = by_tree->of[r].truly;
            results[r] = in_order;
        }
        by_tree->c.is_tree = 0;
        reference(&by_tree->c, by, results);
        for (size_t at = 0; at < bytes; at += size)
            differ += !element_is_same(p.v[TYPE], p.v[OP], 1, in_order + at, by_tree->of[0].recv.expected + at);
        assert_true(differ > bytes / size / 10);
        free(in_order);
        call_free(by_tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_orders_have_other_bits),
        cmocka_unit_test(every_algorithm_that_says_so_has_the_bits_of_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
