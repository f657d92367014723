/* SPDX-License-Identifier: BSD-3-Clause
 * All algorithms of the library, and a few over shared memory, are proved in a sample of cases of 34 to 130 ranks: for
 * each a few, of which the seed chooses ranks, root, count, blocks, who is in place and who shares memory, and the
 * algorithm's parameters. NBCOLL_VERIFY_SEED takes another one, NBCOLL_FULL=1 MORE cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#include "native.h"
#include "world.h"

#ifdef __SANITIZE_ADDRESS__
enum { CASES = 1 };
#else
enum { CASES = 8 };
#endif
enum { FEWEST = 34, MOST = 130, MORE = 100 };

#define ONE_OF(random, a) ((a)[world_random(random) % (sizeof(a) / sizeof *(a))])

static nbcoll_case some_case(const nbcoll_algorithm *algorithm, uint64_t *random)
{
    static const size_t counts[] = {0, 1, 7, 1000003}, segments[] = {0, 1, 12, 1000};
    static const int nodes[] = {0, 4, MOST};
    static const int forms[] = {[NBCOLLI_NOWHERE] = 1, [NBCOLLI_AT_ROOT] = 2, [NBCOLLI_EVERYWHERE] = 3};
    const nbcolli_kind *kind = nbcolli_kind_of(algorithm->operation);
    nbcoll_case c = {.size = sizeof c,
                     .operation = algorithm->operation,
                     .ranks = FEWEST + (int)(world_random(random) % (MOST - FEWEST + 1)),
                     .node = ONE_OF(random, nodes),
                     .count = ONE_OF(random, counts),
                     .reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
                     .in_place = (int)(world_random(random) % (uint64_t)forms[kind->in_place]),
                     .segment = ONE_OF(random, segments),
                     .arity = (unsigned)(world_random(random) % 6),
                     .ports = (unsigned)(world_random(random) % 4)};

    if (kind->has_root)
        c.root = (int)(world_random(random) % (uint64_t)c.ranks);
    if (kind->blocks != NBCOLLI_EQUAL) {
        c.spread = (nbcoll_spread)(world_random(random) % NBCOLL_SPREAD_COUNT);
        c.apart = (int)(world_random(random) % 2) && algorithm->operation != NBCOLL_OPERATION_REDUCE_SCATTER;
        c.known = (int)(world_random(random) % 2) || algorithm->flags & NBCOLL_ALGORITHM_COUNTS;
    }
    if (c.count > 1000 && c.segment) /* so many pieces are another test's business */
        c.segment = 1000000;
    return c;
}

static void prove(const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status = nbcoll_verify_algorithm(algorithm, c, NULL, &why);

    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, count %zu, in place %d, node %d, spread %d%s%s, segment %zu, arity %u, "
                 "ports %u: %s: %s", nbcoll_operation_name(c->operation), algorithm->name, c->ranks, c->root, c->count,
                 c->in_place, c->node, c->spread, c->apart ? ", apart" : "", c->known ? ", known" : "", c->segment,
                 c->arity, c->ports, nbcoll_status_name(status), why.text);
}

static void every_algorithm_is_proved_for_many_ranks(void **state)
{
    const char *text = getenv("NBCOLL_VERIFY_SEED"), *full = getenv("NBCOLL_FULL");
    uint64_t seed = text && *text ? strtoull(text, NULL, 10) : 20261121, random = seed;
    int cases = full && atoi(full) ? MORE : CASES;
    unsigned n = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (const nbcoll_algorithm *algorithm; (algorithm = any_algorithm(n)); n++)
        for (int i = 0; i < cases; i++) {
            nbcoll_case c = some_case(algorithm, &random);
            prove(algorithm, &c);
        }
    print_message("%d cases of each of %u algorithms\n", cases, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_is_proved_for_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
