/* SPDX-License-Identifier: BSD-3-Clause
 * The program of every algorithm of the library without calls does what its schedule does: eager in one part and in
 * several, by rendezvous, and mixed; on one node and on several. All of 1 to 17 ranks, for one root and one count
 * each; with NBCOLL_FULL=1 for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiled.h"

enum { MOST = 17, CONFIGS = 4 };

static const nbcoll_program_config configs[CONFIGS] = {
    {.size = sizeof configs[0]},                                                     /* whole eager messages */
    {.size = sizeof configs[0], .eager = 10, .threshold = 4096, .keeps_scratch = 1}, /* elements cut in two */
    {.size = sizeof configs[0], .threshold = 1},                                     /* rendezvous */
    {.size = sizeof configs[0], .eager = 16, .threshold = 64, .management = 2},      /* both */
};

static int is_full;
static unsigned long proved;

static void prove(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int config)
{
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    compiled p;
    assert_int_equal(nbcoll_meaning_of(c, algorithm->flags, &meaning), NBCOLL_OK);
    assert_int_equal(compiled_open(&p, algorithm, c, &configs[config]), NBCOLL_OK);
    nbcoll_status status = nbcoll_verify_programs((const nbcoll_schedule *const *)p.schedule,
                                                  (const nbcoll_program *const *)p.program, &meaning, NULL, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s of %d, root %d, count %zu, configuration %d: %s: %s", nbcoll_operation_name(c->operation),
                 algorithm->name, c->ranks, c->root, c->count, config, nbcoll_status_name(status), why.text);
    proved++;
    compiled_close(&p);
}

static void prove_placed(const nbcoll_algorithm *algorithm, nbcoll_case c, int config)
{
    static const int room[] = {3, 1};
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = 2};
    nbcoll_nodes *nodes = NULL;
    if (algorithm->flags & NBCOLL_ALGORITHM_NODES)
        assert_int_equal(nbcoll_nodes_place(&placement, c.ranks, NULL, &nodes), NBCOLL_OK);
    c.nodes = nodes;
    prove(algorithm, &c, config);
    nbcoll_nodes_free(nodes);
}

static int has_root(nbcoll_operation operation)
{
    nbcoll_args a = {.size = sizeof a, .operation = operation, .root = 1, .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    size_t counts[2] = {0};
    a.counts = counts;
    return nbcoll_args_complete(&a, 0, 2) == NBCOLL_OK;
}

static void prove_ranks(const nbcoll_algorithm *algorithm, int ranks, unsigned long seed)
{
    static const size_t counts[] = {13, 0, 1, 40};
    nbcoll_case c = compiled_case(algorithm->operation, ranks, 0);
    for (int count = 0; count < (is_full ? 4 : 1); count++)
        for (int config = 0; config < CONFIGS; config++)
            for (int root = 0; root < (has_root(algorithm->operation) ? ranks : 1); root++) {
                c.root = root;
                c.known = (int)(seed + (unsigned)config) % 2 || algorithm->flags & NBCOLL_ALGORITHM_COUNTS;
                c.count = is_full ? counts[count] : counts[(seed + (unsigned)config) % 4];
                c.in_place = (int)(seed % 2);
                c.spread = (nbcoll_spread)((seed + (unsigned)config) % NBCOLL_SPREAD_COUNT);
                c.apart = (int)(seed / 2 % 2);
                if (is_full || (unsigned)root == seed % (unsigned)ranks || !has_root(algorithm->operation))
                    prove_placed(algorithm, c, config);
            }
}

static void programs_do_what_their_schedules_do(void **state)
{
    unsigned long seed = 1;
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            for (int ranks = 1; ranks <= MOST; ranks++)
                prove_ranks(algorithm, ranks, seed++);
    }
    assert_true(proved > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_do_what_their_schedules_do),
    };
    is_full = getenv("NBCOLL_FULL") != NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
