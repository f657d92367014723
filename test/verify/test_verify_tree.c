/* SPDX-License-Identifier: BSD-3-Clause
 * The bracketing of reproducible reductions: n operands are split behind the largest power of two below n, the parts in
 * the same way. An algorithm that claims it, and brackets otherwise, is refuted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#define BYTES ((size_t)64) /* room for one operand */

/* Combines the operands first..first + n - 1, which lie in scratch memory in rank order, split behind `low`(n). */
typedef struct sum {
    nbcoll_addr at;
    nbcoll_step since;
} sum;

typedef struct plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    int (*low)(int n);
    sum operand[64];
} plan;

static sum combine(plan *p, int first, int n)
{
    if (n == 1)
        return p->operand[first];
    int low = p->low(n);
    sum left = combine(p, first, low), right = combine(p, first + low, n - low);
    sum both = {nbcoll_add_scratch(p->b, BYTES), NBCOLL_START};
    both.since = nbcoll_add_combine(p->b, both.at, left.at, right.at, p->a->count, p->a->reduction);
    nbcoll_after(p->b, both.since, left.since);
    nbcoll_after(p->b, both.since, right.since);
    return both;
}

/* Each rank sends its operand to all those that need it; who has a result combines what it needs. */
static void combine_all(nbcoll_builder *b, const nbcoll_args *a, int (*low)(int n))
{
    int is_scan = a->operation == NBCOLL_OPERATION_SCAN, needs = is_scan ? b->rank + 1 : b->ranks;
    plan p = {.b = b, .a = a, .low = low};
    for (int to = is_scan ? b->rank + 1 : 0; to < (is_scan ? b->ranks : 1); to++)
        if (to != b->rank)
            nbcoll_add_send(b, to, a->send, a->bytes);
    if (!is_scan && b->rank != a->root)
        return;
    for (int from = 0; from < needs; from++) {
        p.operand[from] = (sum){a->send, NBCOLL_START};
        if (from == b->rank)
            continue;
        p.operand[from].at = nbcoll_add_scratch(b, BYTES);
        p.operand[from].since = nbcoll_add_recv(b, from, p.operand[from].at, a->bytes);
    }
    sum result = combine(&p, 0, needs);
    nbcoll_after(b, nbcoll_add_copy(b, a->recv, result.at, a->bytes), result.since);
}

static int power_low(int n)
{
    int low = 1;
    while (2 * low < n)
        low *= 2;
    return low;
}

static int first_low(int n)
{
    (void)n;
    return 1;
}

static int last_low(int n)
{
    return n - 1;
}

static int half_low(int n)
{
    return n / 2;
}

static int upper_half_low(int n)
{
    return n - n / 2;
}

#define BUILD(low)                                                                                                     \
    static void low##_build(nbcoll_builder *b, const nbcoll_args *a)                                                   \
    {                                                                                                                  \
        combine_all(b, a, low);                                                                                        \
    }
BUILD(power_low)
BUILD(first_low)
BUILD(last_low)
BUILD(half_low)
BUILD(upper_half_low)

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static nbcoll_flaw flaw_of(const nbcoll_algorithm *algorithm, int ranks, nbcoll_refutation *why)
{
    nbcoll_case c = {.size = sizeof c,
                     .operation = algorithm->operation,
                     .ranks = ranks,
                     .count = 3,
                     .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}};
    *why = (nbcoll_refutation){.size = sizeof *why};
    nbcoll_status status = nbcoll_verify_algorithm(algorithm, &c, NULL, why);
    assert_int_equal(status, why->flaw == NBCOLL_FLAW_NONE ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
    return why->flaw;
}

static void check(nbcoll_build *build, nbcoll_operation operation, int right_up_to)
{
    nbcoll_algorithm free = {sizeof free, "free", operation, build, 0, NULL}, bound = free;
    bound.flags = NBCOLL_ALGORITHM_REPRODUCIBLE;
    nbcoll_refutation why;
    for (int ranks = 1; ranks <= 17; ranks++) {
        assert_int_equal(flaw_of(&free, ranks, &why), NBCOLL_FLAW_NONE); /* any bracketing will do */
        nbcoll_flaw flaw = flaw_of(&bound, ranks, &why);
        if (ranks <= right_up_to)
            assert_int_equal(flaw, NBCOLL_FLAW_NONE);
        if (ranks == right_up_to + 1)
            assert_int_equal(flaw, NBCOLL_FLAW_TREE);
    }
}

static void test_the_tree_is_proved_and_no_other(void **state)
{
    (void)state;
    const nbcoll_operation operations[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_SCAN};
    for (int i = 0; i < 2; i++) {
        check(power_low_build, operations[i], 17);
        check(first_low_build, operations[i], 2);      /* 0 (1 2) */
        check(last_low_build, operations[i], 3);       /* ((0 1) 2) 3 */
        check(half_low_build, operations[i], 2);       /* 0 (1 2) */
        check(upper_half_low_build, operations[i], 4); /* (0 1 2) (3 4) */
    }
}

static void test_the_refutation_names_the_bytes_and_the_last_reduction(void **state)
{
    (void)state;
    nbcoll_algorithm chain = {sizeof chain, "chain", NBCOLL_OPERATION_REDUCE, last_low_build,
                              NBCOLL_ALGORITHM_REPRODUCIBLE, NULL};
    nbcoll_refutation why;
    assert_int_equal(flaw_of(&chain, 4, &why), NBCOLL_FLAW_TREE);
    assert_string_equal(why.text, "a reduction is bracketed otherwise than reproducible ones are: "
                                  "rank 0 end recv[0,12); rank 0 step 7 REDUCE scratch[320,332)");
}

/* Of those that the library's table does not declare reproducible, many are not: so the declarations say something. */
static void test_declarations_of_the_table_are_not_empty(void **state)
{
    (void)state;
    unsigned refuted = 0;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *known;
        for (unsigned k = 0; (known = nbcoll_algorithm_at((nbcoll_operation)operation, k)); k++) {
            nbcoll_algorithm boaster = *known;
            nbcoll_refutation why;
            if (!nbcolli_kind_of(known->operation)->reduces || (known->flags & NBCOLL_ALGORITHM_REPRODUCIBLE))
                continue;
            boaster.flags |= NBCOLL_ALGORITHM_REPRODUCIBLE;
            for (int ranks = 2; ranks <= 13; ranks++)
                if (flaw_of(&boaster, ranks, &why) == NBCOLL_FLAW_TREE) {
                    print_message("%s/%s, %d ranks: %s\n", nbcoll_operation_name(known->operation), known->name, ranks,
                                  why.text);
                    refuted++;
                    break;
                }
        }
    }
    assert_true(refuted >= 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_tree_is_proved_and_no_other),
    cmocka_unit_test(test_the_refutation_names_the_bytes_and_the_last_reduction),
    cmocka_unit_test(test_declarations_of_the_table_are_not_empty),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
