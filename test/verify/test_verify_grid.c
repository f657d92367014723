/* SPDX-License-Identifier: BSD-3-Clause
 * All algorithms of the library, and a few over shared memory, are proved for 1 to 33 ranks, all roots, counts from
 * none to large, plain and in place; those that expose, where no ranks share memory, where all do, and where nodes of
 * four do; those whose exposures grow also in pieces of several lengths, up to 12 ranks. With --full, or NBCOLL_FULL=1
 * in the environment, also for 34 to 130 ranks, with the first, second, middle and last root and two counts. */
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
#define CUT_MOST 12
#define FULL_MOST 130
#define DEFAULT_SEGMENT 0

static const size_t counts[] = {0, 1, 2, 7, 31, 64, 1000, 65536, 1000003};
static const size_t full_counts[] = {1, 1000003};
static const size_t cut_counts[] = {0, 1, 2, 7, 31}; /* of floats, in pieces of so many bytes: */
static const size_t segments[] = {1, 4, 12, 64};
static const nbcoll_reduction reductions[] = {{NBCOLL_FLOAT, NBCOLL_SUM}, {NBCOLL_BYTE, NBCOLL_BXOR}};
static const int nodes[] = {0, FULL_MOST, 4}; /* ranks that share memory */

/* What an algorithm makes where all ranks share memory. */
typedef struct habits {
    int exposes, grows, sends;
} habits;

static int is_full;

static void count_visits(void *user, const nbcoll_args *a, int ranks)
{
    (void)a;
    (void)ranks;
    ++*(unsigned long *)user;
}

/* Verifies the cases of a grid, and says which failed. */
static void prove(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, nbcoll_reduction reduction, int in_place,
                  size_t segment)
{
    nbcoll_args a = {.size = sizeof a,
                     .operation = algorithm->operation,
                     .reduction = reduction,
                     .in_place = in_place,
                     .segment = segment};
    nbcoll_refutation why = {.size = sizeof why};
    int ranks = 0;
    nbcoll_status status = nbcoll_verify_grid(algorithm, grid, &a, &ranks, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, segment %zu, %s, node %d: %s: %s",
                 nbcoll_operation_name(a.operation), algorithm->name, ranks, a.root, a.count, segment,
                 in_place ? "in place" : "plain", grid->node, nbcoll_status_name(status), why.text);
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
        prove(algorithm, grid, reductions[0], in_place, DEFAULT_SEGMENT);
        if (reduces(algorithm->operation) && !grid->node)
            prove(algorithm, grid, reductions[1], in_place, DEFAULT_SEGMENT);
    }
}

static void prove_pieces(const nbcoll_algorithm *algorithm, nbcoll_grid grid)
{
    grid.most = CUT_MOST;
    grid.counts = sizeof cut_counts / sizeof *cut_counts;
    grid.count = cut_counts;
    for (unsigned i = 0; i < sizeof segments / sizeof *segments; i++)
        prove(algorithm, &grid, reductions[0], 0, segments[i]);
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

static int shares_with_all(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

static void look_at(const nbcoll_schedule *s, habits *h)
{
    const nbcoll_step_view *v;
    for (nbcoll_step step = 0; (v = nbcoll_schedule_step(s, step)); step++) {
        h->exposes |= v->kind == NBCOLL_EXPOSE;
        h->grows |= v->grows != NBCOLL_START;
        h->sends |= v->kind == NBCOLL_SEND;
    }
}

static habits habits_of(const nbcoll_algorithm *algorithm)
{
    habits h = {0};
    nbcoll_args a = {.size = sizeof a, .operation = algorithm->operation, .count = 3, .reduction = reductions[0]};
    for (int rank = 0; rank < 3; rank++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 3, .shares = shares_with_all};
        nbcoll_schedule *s;
        assert_int_equal(nbcoll_build_schedule(algorithm, &a, &config, &s), NBCOLL_OK);
        look_at(s, &h);
        nbcoll_schedule_free(s);
    }
    assert_true(h.exposes != h.sends);
    return h;
}

static void test_the_algorithm_is_proved(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    habits h = habits_of(algorithm);
    unsigned long cases = 0;
    nbcoll_grid grid = {.size = sizeof grid,
                        .fewest = 1,
                        .most = MOST,
                        .root = -1,
                        .visit = count_visits,
                        .user = &cases,
                        .counts = sizeof counts / sizeof *counts,
                        .count = counts};
    size_t forms = h.exposes ? sizeof nodes / sizeof *nodes : 1; /* without exposures they are all the same */
    for (size_t i = 0; i < forms; i++) {
        grid.node = nodes[i];
        prove_forms(algorithm, &grid);
        if (h.grows)
            prove_pieces(algorithm, grid);
        if (is_full)
            prove_more_ranks(algorithm, grid);
    }
    print_message("%lu cases%s%s\n", cases, h.exposes ? ", exposes" : "", h.grows ? ", grows" : "");
    assert_true(cases >= sizeof counts / sizeof *counts * forms * MOST);
    assert_int_equal(h.exposes, !strncmp(algorithm->name, "slots", 5) || !strncmp(algorithm->name, "native", 6));
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
