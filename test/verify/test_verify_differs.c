/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An allreduce in which each rank combines all vectors itself, its own one first: ranks have results of different
 * roundings. It must say so, but for integers, which are not rounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

static void own_first(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step before = a->in_place ? NBCOLL_START : nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    nbcoll_addr mine = nbcoll_add_scratch(b, a->bytes);
    nbcoll_step kept = nbcoll_add_copy(b, mine, a->send, a->bytes);

    if (a->in_place)
        before = kept;
    for (int i = 1; i < b->ranks; i++) {
        int to = (b->rank + i) % b->ranks, from = (b->rank + b->ranks - i) % b->ranks;
        nbcoll_addr theirs = nbcoll_add_scratch(b, a->bytes);
        nbcoll_after(b, nbcoll_add_send(b, to, mine, a->bytes), kept);
        nbcoll_step step = nbcoll_add_combine(b, a->recv, a->recv, theirs, a->count, a->reduction);
        nbcoll_after(b, step, nbcoll_add_recv(b, from, theirs, a->bytes));
        nbcoll_after(b, step, before);
        before = step;
    }
}

static nbcoll_status proved(nbcoll_type type, nbcoll_op op, uint32_t flags, nbcoll_flaw *flaw)
{
    nbcoll_algorithm algorithm = {.size = sizeof algorithm, .name = "own_first", .build = own_first,
                                  .operation = NBCOLL_OPERATION_ALLREDUCE, .flags = NBCOLL_ALGORITHM_REORDERS | flags};
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_ALLREDUCE, .ranks = 4, .count = 3,
                     .reduction = {type, op}};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status = nbcoll_verify_algorithm(&algorithm, &c, NULL, &why);
    *flaw = why.flaw;
    return status;
}

static void what_is_rounded_differently_is_refuted(void **state)
{
    nbcoll_flaw flaw;
    (void)state;
    assert_int_equal(proved(NBCOLL_DOUBLE, NBCOLL_SUM, 0, &flaw), NBCOLL_ERR_VERIFY);
    assert_int_equal(flaw, NBCOLL_FLAW_BITS);
}

static void an_algorithm_may_say_that_its_ranks_bits_differ(void **state)
{
    nbcoll_flaw flaw;
    (void)state;
    assert_int_equal(proved(NBCOLL_DOUBLE, NBCOLL_SUM, NBCOLL_ALGORITHM_DIFFERS, &flaw), NBCOLL_OK);
}

static void integers_are_the_same_in_any_order(void **state)
{
    nbcoll_flaw flaw;
    (void)state;
    assert_int_equal(proved(NBCOLL_INT32, NBCOLL_SUM, 0, &flaw), NBCOLL_OK);
    assert_int_equal(proved(NBCOLL_BOOL, NBCOLL_LXOR, 0, &flaw), NBCOLL_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_rounded_differently_is_refuted),
    cmocka_unit_test(an_algorithm_may_say_that_its_ranks_bits_differ),
    cmocka_unit_test(integers_are_the_same_in_any_order),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
