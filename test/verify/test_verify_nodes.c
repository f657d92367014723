/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms that go by nodes are proved on uneven nodes, of 3, 1 and 4 ranks in turn, for 1 to 33 ranks and all roots;
 * for 1 to 10 ranks, numbered by node, round robin and at random, also plain, in place, and in place at every second
 * rank, blocks of equal and of different lengths, with memory shared in each node and with none, one to three leaders
 * of a node; those by domains with domains of at most two ranks, at random of any sizes, and, with parameters, none
 * known. Those that take ports are also given some, those that take pieces such of several lengths. All but those that
 * say that they reorder keep rank order in all of this. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#ifdef __SANITIZE_ADDRESS__
enum { MOST = 13 };
#else
enum { MOST = 33 };
#endif
enum { FEW = 10, ALGORITHMS = 64 };

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const int room[] = {3, 1, 4};
static const size_t counts[] = {0, 7};

static int by_domains(const nbcoll_algorithm *algorithm)
{
    return (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS) != 0;
}

static void prove(const nbcoll_algorithm *algorithm, nbcoll_numbering numbering, int domain, int most, nbcoll_case c)
{
    nbcoll_placement placement = {sizeof placement, room, LENGTH(room), numbering, 20261122, domain};
    nbcoll_grid grid = {sizeof grid,
                        .fewest = 1,
                        .most = most,
                        .root = -1,
                        .all_blocks = most < MOST,
                        .counts = algorithm->operation == NBCOLL_OPERATION_BARRIER ? 1 : LENGTH(counts),
                        .count = counts,
                        .placement = &placement};
    nbcoll_refutation why = {.size = sizeof why};
    c.size = sizeof c;
    c.operation = algorithm->operation;
    c.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_SUM};
    c.known = 1;
    c.spread = NBCOLL_SPREAD_RISING;
    nbcoll_status status = nbcoll_verify_grid(algorithm, &grid, &c, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, numbering %d, domain %d, node %d, leaders %u, in place %d, "
                 "spread %d%s%s, segment %zu, ports %u: %s: %s",
                 nbcoll_operation_name(c.operation), algorithm->name, c.ranks, c.root, c.count, (int)numbering, domain,
                 c.node, c.leaders, c.in_place, c.spread, c.apart ? ", apart" : "", c.known ? ", known" : "", c.segment,
                 c.ports, nbcoll_status_name(status), why.text);
}

/* How far in place means something. */
static int last_form(const nbcoll_algorithm *algorithm)
{
    static const int forms[] = {[NBCOLLI_NOWHERE] = 0, [NBCOLLI_AT_ROOT] = 1, [NBCOLLI_EVERYWHERE] = 2};
    return forms[nbcolli_kind_of(algorithm->operation)->in_place];
}

static void it_is_proved_on_many_ranks(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    nbcoll_case c = {.node = NBCOLL_CASE_BY_NODE};
    prove(algorithm, NBCOLL_NUMBERING_BLOCK, 2 * by_domains(algorithm), MOST, c);
    c.in_place = last_form(algorithm);
    prove(algorithm, NBCOLL_NUMBERING_RANDOM, 2 * by_domains(algorithm), MOST, c);
}

static void it_is_proved_in_all_forms(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    for (int numbering = 0; numbering <= NBCOLL_NUMBERING_RANDOM; numbering++)
        for (int in_place = 0; in_place <= last_form(algorithm); in_place++)
            for (unsigned leaders = 0; leaders <= 3; leaders++) {
                nbcoll_case c = {.in_place = in_place,
                                 .leaders = leaders,
                                 .node = (leaders + (unsigned)in_place) % 2 ? NBCOLL_CASE_BY_NODE : 0};
                prove(algorithm, (nbcoll_numbering)numbering, 2 * by_domains(algorithm), FEW, c);
            }
}

/* Pieces of one element, of less than whole ones, and more than the vector has: alone, and with leaders. */
static void prove_in_pieces(const nbcoll_algorithm *algorithm)
{
    static const size_t segments[] = {1, 4, 10, 12, 24, 1000};
    for (size_t i = 0; i < LENGTH(segments) && algorithm->flags & NBCOLL_ALGORITHM_SEGMENT; i++)
        for (unsigned leaders = 0; leaders <= 2; leaders += 2) {
            nbcoll_case c = {.node = (i + leaders / 2) % 2 ? 0 : NBCOLL_CASE_BY_NODE, .segment = segments[i],
                             .leaders = leaders, .in_place = i % 2 ? last_form(algorithm) : 0};
            prove(algorithm, (nbcoll_numbering)(i % 3), 2 * by_domains(algorithm), FEW, c);
        }
}

static void it_is_proved_with_parameters(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    nbcoll_case c = {.node = NBCOLL_CASE_BY_NODE, .ports = 2, .segment = 12, .arity = 3, .leaders = UINT32_MAX};
    prove(algorithm, NBCOLL_NUMBERING_RANDOM, 2 * by_domains(algorithm), FEW, c);
    c.node = 0;
    c.leaders = 0;
    prove(algorithm, NBCOLL_NUMBERING_ROUND_ROBIN, 0, FEW, c);
    prove_in_pieces(algorithm);
}

/* Without leave to reorder, on nodes that are dealt the ranks, by nodes and by domains: refuted, but for the ordered
 * forms. */
static void only_the_ordered_forms_keep_rank_order(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE,
                                                  NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK};
    static const char *const names[] = {"hierarchical", "hierarchical_ordered", "hierarchical_domains"};
    nbcoll_placement placement = {sizeof placement, room, LENGTH(room), NBCOLL_NUMBERING_ROUND_ROBIN, 0, 2};
    (void)state;
    for (size_t i = 0; i < LENGTH(names) * LENGTH(operations); i++) {
        nbcoll_operation operation = operations[i / LENGTH(names)];
        int is_ordered = i % LENGTH(names) == 1;
        const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(operation, names[i % LENGTH(names)]);
        if (!algorithm)
            continue; /* reduce_scatter has no form by domains */
        nbcoll_algorithm held = *algorithm;
        nbcoll_grid grid = {sizeof grid, .fewest = 8, .most = 8, .counts = 1, .count = &counts[1],
                            .placement = &placement};
        nbcoll_case c = {.size = sizeof c, .operation = operation, .node = NBCOLL_CASE_BY_NODE,
                         .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}};
        nbcoll_refutation why = {.size = sizeof why};
        held.flags &= ~NBCOLL_ALGORITHM_REORDERS;
        assert_int_equal(nbcoll_verify_grid(&held, &grid, &c, &why), is_ordered ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
        assert_int_equal(why.flaw, is_ordered ? NBCOLL_FLAW_NONE : NBCOLL_FLAW_ORDER);
    }
}

/* What an engine's cells have room for: as many exposures as the algorithm says, growing ones once, and in them no more
 * parts than there are ranks. */
static void exposures_fit_into_cells(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    nbcoll_placement placement = {sizeof placement, room, LENGTH(room), NBCOLL_NUMBERING_BLOCK, 0, 2};
    nbcoll_nodes *nodes;
    assert_int_equal(nbcoll_nodes_place(&placement, 16, NULL, &nodes), NBCOLL_OK);
    for (int rank = 0; rank < 16; rank++) {
        nbcoll_case c = {.size = sizeof c, .operation = algorithm->operation, .ranks = 16, .count = 9, .known = 1,
                         .segment = 8,
                         .node = NBCOLL_CASE_BY_NODE, .nodes = nodes, .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}};
        unsigned exposures = 0, parts = 0;
        nbcoll_schedule *s;
        const nbcoll_step_view *v;
        assert_int_equal(nbcoll_build_case(algorithm, &c, rank, NULL, &s), NBCOLL_OK);
        for (nbcoll_step step = 0; (v = nbcoll_schedule_step(s, step)); step++)
            if (v->kind == NBCOLL_EXPOSE && (v->grows == NBCOLL_START || v->grows == step)) {
                exposures++;
                parts += v->part_count;
            }
        assert_true(exposures <= algorithm->flags >> 16 && parts <= 16);
        nbcoll_schedule_free(s);
    }
    nbcoll_nodes_free(nodes);
}

typedef struct proof {
    const char *name;
    void (*run)(void **state);
} proof;

static const proof proofs[] = {{"many ranks", it_is_proved_on_many_ranks},
                               {"all forms", it_is_proved_in_all_forms},
                               {"parameters", it_is_proved_with_parameters},
                               {"cells", exposures_fit_into_cells}};

int main(void)
{
    static char names[LENGTH(proofs) * ALGORITHMS][64];
    static struct CMUnitTest tests[LENGTH(proofs) * ALGORITHMS + 1] = {
        cmocka_unit_test(only_the_ordered_forms_keep_rank_order)};
    const nbcoll_algorithm *algorithm;
    unsigned n = 1;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            for (size_t k = 0; k < LENGTH(proofs) && (algorithm->flags & NBCOLL_ALGORITHM_NODES); k++, n++) {
                if (n == LENGTH(proofs) * ALGORITHMS)
                    return 1; /* not one of them is left out */
                snprintf(names[n], sizeof names[n], "%s/%s, %s", nbcoll_operation_name(algorithm->operation),
                         algorithm->name, proofs[k].name);
                tests[n] = (struct CMUnitTest){names[n], proofs[k].run, NULL, NULL, (void *)algorithm};
            }
    return _cmocka_run_group_tests("nodes", tests, n, NULL, NULL);
}
