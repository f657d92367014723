/* SPDX-License-Identifier: BSD-3-Clause
 * All algorithms of the library, and a few over shared memory, are proved for 1 to 33 ranks, all roots, counts from
 * none to large, plain and in place, where no ranks share memory and where all do; up to 17 ranks also in nodes of
 * four. With --full, or NBCOLL_FULL=1 in the environment, also for 34 to 130 ranks, with the first, second, middle and
 * last root and two counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

#include "native.h"

#define MOST 33
#define NODES_MOST 17
#define FULL_MOST 130

static const size_t counts[] = {0, 1, 2, 7, 31, 64, 1000, 65536, 1000003};
static const size_t full_counts[] = {1, 1000003};
static const nbcoll_reduction reductions[] = {{NBCOLL_FLOAT, NBCOLL_SUM}, {NBCOLL_BYTE, NBCOLL_BXOR}};
static const int nodes[] = {0, FULL_MOST, 4}; /* ranks that share memory */

static int is_full;

static void count_visits(void *user, const nbcoll_args *a, int ranks)
{
    (void)a;
    (void)ranks;
    ++*(unsigned long *)user;
}

/* Verifies the cases of a grid, and says which failed. */
static void prove(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, nbcoll_reduction reduction, int in_place)
{
    nbcoll_args a = {.size = sizeof a, .operation = algorithm->operation, .reduction = reduction, .in_place = in_place};
    nbcoll_refutation why = {.size = sizeof why};
    int ranks = 0;
    nbcoll_status status = nbcoll_verify_grid(algorithm, grid, &a, &ranks, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, %s, node %d: %s: %s", nbcoll_operation_name(a.operation),
                 algorithm->name, ranks, a.root, a.count, in_place ? "in place" : "plain", grid->node,
                 nbcoll_status_name(status), why.text);
}

static int has_in_place(nbcoll_operation operation)
{
    return operation != NBCOLL_OPERATION_BARRIER && operation != NBCOLL_OPERATION_BCAST;
}

static int reduces(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_REDUCE || operation == NBCOLL_OPERATION_ALLREDUCE;
}

/* Bytes make the most uneven blocks; that is reason enough for one round of them. */
static void prove_forms(const nbcoll_algorithm *algorithm, nbcoll_grid *grid)
{
    for (int in_place = 0; in_place <= has_in_place(algorithm->operation); in_place++) {
        prove(algorithm, grid, reductions[0], in_place);
        if (reduces(algorithm->operation) && !grid->node)
            prove(algorithm, grid, reductions[1], in_place);
    }
}

static void prove_more_ranks(const nbcoll_algorithm *algorithm, nbcoll_grid grid)
{
    grid.counts = sizeof full_counts / sizeof *full_counts;
    grid.count = full_counts;
    for (int ranks = MOST + 1; ranks <= FULL_MOST; ranks++) {
        const int roots[] = {0, 1, ranks / 2, ranks - 1};
        grid.fewest = grid.most = ranks;
        for (unsigned i = 0; i < 4; i++) {
            grid.root = roots[i];
            prove_forms(algorithm, &grid);
        }
    }
}

static void test_the_algorithm_is_proved(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    unsigned long cases = 0;
    nbcoll_grid grid = {.size = sizeof grid,
                        .fewest = 1,
                        .most = MOST,
                        .root = -1,
                        .visit = count_visits,
                        .user = &cases,
                        .counts = sizeof counts / sizeof *counts,
                        .count = counts};
    for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        grid.node = nodes[i];
        grid.most = grid.node == 4 ? NODES_MOST : MOST;
        prove_forms(algorithm, &grid);
        if (is_full && grid.most == MOST)
            prove_more_ranks(algorithm, grid);
    }
    print_message("%lu cases\n", cases);
    assert_true(cases >= sizeof counts / sizeof *counts * (2 * MOST + NODES_MOST));
}

int main(int argc, char **argv)
{
    static char names[64][64];
    struct CMUnitTest tests[64] = {{0}};
    const char *full = getenv("NBCOLL_FULL");
    size_t n = 0;
    is_full = (argc > 1 && !strcmp(argv[1], "--full")) || (full && !strcmp(full, "1"));
    for (const nbcoll_algorithm *algorithm; n < 64 && (algorithm = any_algorithm((unsigned)n)); n++) {
        snprintf(names[n], sizeof names[n], "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
        tests[n] = (struct CMUnitTest){names[n], test_the_algorithm_is_proved, NULL, NULL, (void *)algorithm};
    }
    return _cmocka_run_group_tests("grid", tests, n, NULL, NULL);
}
