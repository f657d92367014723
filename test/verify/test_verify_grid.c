/* SPDX-License-Identifier: BSD-3-Clause
 * All algorithms of the library, and a few over shared memory, are proved for 1 to 33 ranks, all roots, counts from
 * none to large, blocks of equal and of different lengths in every form, plain, in place, and in place at every second
 * rank. Those that expose memory: where no ranks share it, where all do, and where nodes of four do; those whose
 * exposures grow also in pieces of several lengths, up to 12 ranks. From 18 ranks on the roots are the first, the
 * second, the middle and the last one. With --full, or NBCOLL_FULL=1 in the environment, those have all roots too,
 * blocks of different lengths get all of the counts, and there are cases of 34 to 130 ranks, with these four roots and
 * two counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#include "native.h"

#ifdef __SANITIZE_ADDRESS__
#define MOST 9 /* a sanitizer looks at the same code, and takes five times as long */
#else
#define MOST 33
#endif
#define ALL_ROOTS (is_full || MOST < 17 ? MOST : 17)
#define CUT_MOST (MOST < 12 ? MOST : 12)
#define FEW_MOST 9 /* by nodes: here on one node, and on others in test_verify_nodes.c */
#define FULL_MOST 130
#define ALGORITHMS 256
#define DEFAULT_SEGMENT 0

static int is_full;

static const size_t counts[] = {0, 1, 2, 7, 31, 64, 1000, 65536, 1000003};
static const size_t few_counts[] = {0, 1, 7};
static const size_t full_counts[] = {1, 1000003};
static const size_t cut_counts[] = {0, 1, 2, 7, 31}; /* of floats, in pieces of so many bytes: */
static const size_t segments[] = {1, 4, 12, 64};
static const nbcoll_reduction reductions[] = {{NBCOLL_FLOAT, NBCOLL_SUM}, {NBCOLL_BYTE, NBCOLL_BXOR}};
static const int nodes[] = {0, FULL_MOST, 4}; /* ranks that share memory */

/* What an algorithm makes where all ranks share memory. */
typedef struct habits {
    unsigned exposures; /* the most of one rank; one that grows counts once */
    int grows, sends;
} habits;


static void count_visits(void *user, const nbcoll_case *c)
{
    (void)c;
    ++*(unsigned long *)user;
}

/* Verifies the cases of a grid, and says which failed. */
static void prove(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, int node, nbcoll_reduction reduction,
                  int in_place, size_t segment)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = algorithm->operation,
                     .node = node,
                     .reduction = reduction,
                     .in_place = in_place,
                     .segment = segment};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status = nbcoll_verify_grid(algorithm, grid, &c, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, segment %zu, in place %d, node %d, spread %d%s%s: %s: %s",
                 nbcoll_operation_name(c.operation), algorithm->name, c.ranks, c.root, c.count, segment, in_place, node,
                 c.spread, c.apart ? ", apart" : "", c.known ? ", known" : "", nbcoll_status_name(status), why.text);
}

/* Bytes make the most uneven blocks; that is reason enough for one round of them. */
static void prove_forms(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, int node)
{
    static const int forms[] = {[NBCOLLI_NOWHERE] = 0, [NBCOLLI_AT_ROOT] = 1, [NBCOLLI_EVERYWHERE] = 2};
    const nbcolli_kind *kind = nbcolli_kind_of(algorithm->operation);
    for (int in_place = 0; in_place <= forms[kind->in_place]; in_place++) {
        prove(algorithm, grid, node, reductions[0], in_place, DEFAULT_SEGMENT);
        if (kind->reduces && !node)
            prove(algorithm, grid, node, reductions[1], in_place, DEFAULT_SEGMENT);
    }
}

static void prove_pieces(const nbcoll_algorithm *algorithm, nbcoll_grid grid, int node)
{
    grid.most = CUT_MOST;
    grid.counts = sizeof cut_counts / sizeof *cut_counts;
    grid.count = cut_counts;
    for (unsigned i = 0; i < sizeof segments / sizeof *segments; i++)
        prove(algorithm, &grid, node, reductions[0], 0, segments[i]);
}

/* With four roots: from more ranks than `above` to grid.most. */
static void prove_some_roots(const nbcoll_algorithm *algorithm, nbcoll_grid grid, int node, int above)
{
    int most = grid.most;
    for (int ranks = above + 1; ranks <= most; ranks++) {
        const int roots[] = {0, 1, ranks / 2, ranks - 1};
        grid.fewest = grid.most = ranks;
        for (unsigned i = 0; i < (nbcolli_kind_of(algorithm->operation)->has_root ? 4 : 1); i++) {
            grid.root = roots[i];
            prove_forms(algorithm, &grid, node);
        }
    }
}

static void prove_many_ranks(const nbcoll_algorithm *algorithm, nbcoll_grid grid, int node)
{
    grid.most = FULL_MOST;
    grid.counts = sizeof full_counts / sizeof *full_counts;
    grid.count = full_counts;
    prove_some_roots(algorithm, grid, node, MOST);
}

static void look_at(const nbcoll_schedule *s, habits *h)
{
    const nbcoll_step_view *v;
    unsigned exposures = 0;
    for (nbcoll_step step = 0; (v = nbcoll_schedule_step(s, step)); step++) {
        int is_later_piece = v->grows != NBCOLL_START && v->grows != step;
        exposures += v->kind == NBCOLL_EXPOSE && !is_later_piece;
        h->grows |= v->grows != NBCOLL_START;
        h->sends |= v->kind == NBCOLL_SEND;
    }
    h->exposures = exposures > h->exposures ? exposures : h->exposures;
}

/* Of three ranks that share memory, two of them a domain. */
static habits habits_of(const nbcoll_algorithm *algorithm)
{
    static const int node[] = {0, 0, 0}, domain[] = {0, 0, 1};
    habits h = {0};
    nbcoll_nodes *table;
    nbcoll_case c = {.size = sizeof c,
                     .operation = algorithm->operation,
                     .ranks = 3,
                     .node = 3,
                     .count = 3,
                     .reduction = reductions[0],
                     .known = 1};
    assert_int_equal(nbcoll_nodes_make_with_domains(node, domain, c.ranks, NULL, &table), NBCOLL_OK);
    c.nodes = table;
    for (int rank = 0; rank < c.ranks; rank++) {
        nbcoll_schedule *s;
        assert_int_equal(nbcoll_build_case(algorithm, &c, rank, NULL, &s), NBCOLL_OK);
        look_at(s, &h);
        nbcoll_schedule_free(s);
    }
    nbcoll_nodes_free(table);
    return h;
}

/* Whoever exposes memory sends nothing to ranks that share it, and exposes no more often than the table says. */
static void check_habits(const nbcoll_algorithm *algorithm, const habits *h)
{
    int is_native = !strncmp(algorithm->name, "native", 6); /* theirs are in no table */
    assert_int_equal(h->exposures > 0, is_native || algorithm->flags >> 16);
    assert_int_equal(h->sends, !h->exposures);
    if (!is_native)
        assert_int_equal(h->exposures, algorithm->flags >> 16);
}

static void test_the_algorithm_is_proved(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    habits h = habits_of(algorithm);
    unsigned long cases = 0;
    int has_few = !is_full && nbcolli_kind_of(algorithm->operation)->blocks != NBCOLLI_EQUAL;
    nbcoll_grid grid = {.size = sizeof grid,
                        .fewest = 1,
                        .most = algorithm->flags & NBCOLL_ALGORITHM_NODES ? FEW_MOST : MOST,
                        .root = -1,
                        .all_blocks = 1,
                        .visit = count_visits,
                        .user = &cases,
                        .counts = has_few ? sizeof few_counts / sizeof *few_counts : sizeof counts / sizeof *counts,
                        .count = has_few ? few_counts : counts};
    size_t placements = h.exposures ? sizeof nodes / sizeof *nodes : 1; /* without exposures they are all the same */
    check_habits(algorithm, &h);
    for (size_t i = 0; i < placements; i++) {
        nbcoll_grid all_roots = grid;
        all_roots.most = grid.most < ALL_ROOTS ? grid.most : ALL_ROOTS;
        prove_forms(algorithm, &all_roots, nodes[i]);
        prove_some_roots(algorithm, grid, nodes[i], all_roots.most);
        if (h.grows)
            prove_pieces(algorithm, grid, nodes[i]);
        if (is_full)
            prove_many_ranks(algorithm, grid, nodes[i]);
    }
    print_message("%lu cases%s%s\n", cases, h.exposures ? ", exposes" : "", h.grows ? ", grows" : "");
    assert_true(cases >= grid.counts * placements * (unsigned)grid.most);
}

/* An algorithm that does nothing is refuted, so that no operation is without a meaning. */
static void nothing(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)b;
    (void)a;
}

static void test_every_operation_has_an_algorithm_and_a_meaning(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        nbcoll_algorithm idle = {sizeof idle, "nothing", (nbcoll_operation)operation, nothing, 0, NULL};
        nbcoll_case c = {.size = sizeof c,
                         .operation = idle.operation,
                         .ranks = 3,
                         .count = 2,
                         .reduction = reductions[0]};
        nbcoll_refutation why = {.size = sizeof why};
        assert_non_null(nbcoll_algorithm_at(idle.operation, 0));
        assert_int_equal(nbcoll_verify_algorithm(&idle, &c, NULL, &why), NBCOLL_ERR_VERIFY);
        print_message("%s: %s\n", nbcoll_operation_name(idle.operation), why.text);
        assert_int_equal(why.flaw, operation == NBCOLL_OPERATION_BARRIER ? NBCOLL_FLAW_EARLY : NBCOLL_FLAW_UNWRITTEN);
    }
}

int main(int argc, char **argv)
{
    static char names[ALGORITHMS][64];
    static struct CMUnitTest tests[ALGORITHMS + 1] = {
        cmocka_unit_test(test_every_operation_has_an_algorithm_and_a_meaning)};
    const char *full = getenv("NBCOLL_FULL");
    unsigned n = 0;
    is_full = (argc > 1 && !strcmp(argv[1], "--full")) || (full && !strcmp(full, "1"));
    for (const nbcoll_algorithm *algorithm; (algorithm = any_algorithm(n)); n++) {
        if (n == ALGORITHMS)
            return 1; /* not one of them is left out */
        snprintf(names[n], sizeof names[n], "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
        tests[n + 1] = (struct CMUnitTest){names[n], test_the_algorithm_is_proved, NULL, NULL, (void *)algorithm};
    }
    return _cmocka_run_group_tests("grid", tests, n + 1, NULL, NULL);
}
