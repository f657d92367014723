/* SPDX-License-Identifier: BSD-3-Clause
 * Broken reductions: an input that is missing, or there twice, or out of order, or another reduction than asked for;
 * the verifier names the bytes and their makers. Steps are numbered from 2 in the order of creation. Inputs are
 * send[0, 16). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crew.h"

static const nbcoll_reduction sum = {NBCOLL_INT32, NBCOLL_SUM}, max = {NBCOLL_INT32, NBCOLL_MAX},
                              shorts = {NBCOLL_INT16, NBCOLL_SUM};

/* ---- wrong reductions ------------------------------------------------------------------------------------------ */

/* Rank 0's recv[0, 16) must be the sum of all inputs of three ranks. */
static const crew_claim summed[] = {{0, {.bytes = 16, .first = 0, .last = 2, .how = {NBCOLL_INT32, NBCOLL_SUM}}}};

/* Rank 0 receives the inputs of the others into scratch[0, 16), scratch[16, 32), ... Returns when it has them all. */
static nbcoll_step gather_operands(nbcoll_builder *b)
{
    nbcoll_addr operands = nbcoll_add_scratch(b, 48);
    nbcoll_step all = NBCOLL_START;
    if (b->rank > 0)
        nbcoll_add_send(b, 0, crew_send(0), 16);
    for (int peer = 1; b->rank == 0 && peer < b->ranks; peer++) {
        nbcoll_step received = nbcoll_add_recv(b, peer, nbcoll_at(operands, 16 * (size_t)(peer - 1)), 16);
        nbcoll_after(b, received, all);
        all = received;
    }
    return all;
}

/* recv = left op right, after `earlier`. */
static nbcoll_step combine(nbcoll_builder *b, nbcoll_addr left, nbcoll_addr right, nbcoll_reduction how,
                           nbcoll_step earlier)
{
    nbcoll_step step = nbcoll_add_combine(b, crew_recv(0), left, right, 16 / nbcoll_type_size(how.type), how);
    nbcoll_after(b, step, earlier);
    return step;
}

static void sum_in_order(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), sum, ready);
    combine(b, crew_recv(0), crew_scratch(16), sum, first);
}

static void sum_from_the_right(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_scratch(0), crew_scratch(16), sum, ready);
    combine(b, crew_send(0), crew_recv(0), sum, first);
}

static void test_any_bracketing_in_rank_order_is_right(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    crew_proved(&c, sum_in_order);
    crew_proved(&c, sum_from_the_right);
}

static void sum_without_the_second(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank == 0)
        combine(b, crew_send(0), crew_scratch(16), sum, ready);
}

static void test_an_input_that_is_missing_in_a_reduction(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_without_the_second, NBCOLL_FLAW_MISSING);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 1, 1, NBCOLL_START, nbcoll_span(crew_send(0), 16));
}

static void only_a_copy(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_copy(b, crew_recv(0), crew_send(0), 16);
}

static void test_a_copy_in_place_of_a_reduction(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, only_a_copy, NBCOLL_FLAW_MISSING);
    crew_at(&why, 1, 1, NBCOLL_START, nbcoll_span(crew_send(0), 16));
}

static void sum_the_second_twice(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), sum, ready);
    nbcoll_step again = combine(b, crew_recv(0), crew_scratch(0), sum, first);
    combine(b, crew_recv(0), crew_scratch(16), sum, again);
}

static void test_an_input_that_is_reduced_twice(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_the_second_twice, NBCOLL_FLAW_TWICE);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 1, 1, NBCOLL_START, nbcoll_span(crew_send(0), 16));
    c.meaning.any_order = 1;
    crew_refuted(&c, sum_the_second_twice, NBCOLL_FLAW_TWICE);
}

static void sum_out_of_order(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(16), sum, ready);
    combine(b, crew_recv(0), crew_scratch(0), sum, first);
}

static void test_a_reduction_out_of_rank_order(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_out_of_order, NBCOLL_FLAW_ORDER);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    c.meaning.any_order = 1;
    crew_proved(&c, sum_out_of_order);
}

static void sum_an_outsider(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), sum, ready);
    nbcoll_step second = combine(b, crew_recv(0), crew_scratch(16), sum, first);
    combine(b, crew_recv(0), crew_scratch(32), sum, second);
}

static void test_a_reduction_of_an_input_that_does_not_belong_to_it(void **state)
{
    (void)state;
    crew c = CREW_OF(4, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_an_outsider, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 1, 0, 7, nbcoll_span(crew_recv(0), 16));
}

static void sum_with_a_maximum(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), max, ready);
    combine(b, crew_recv(0), crew_scratch(16), sum, first);
}

static void maximum(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), max, ready);
    combine(b, crew_recv(0), crew_scratch(16), max, first);
}

static void sum_of_shorts(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), shorts, ready);
    combine(b, crew_recv(0), crew_scratch(16), shorts, first);
}

static void test_another_reduction_than_the_one_asked_for(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_with_a_maximum, NBCOLL_FLAW_WRONG);
    crew_at(&why, 1, 0, 5, nbcoll_span(crew_recv(0), 16));
    why = crew_refuted(&c, maximum, NBCOLL_FLAW_WRONG);
    crew_at(&why, 1, 0, 5, nbcoll_span(crew_recv(0), 16));
    crew_refuted(&c, sum_of_shorts, NBCOLL_FLAW_WRONG);
}

/* The second operand is one element off. */
static void sum_of_other_elements(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step first = combine(b, crew_send(0), crew_scratch(0), sum, ready);
    nbcoll_after(b, nbcoll_add_combine(b, crew_recv(0), crew_recv(0), crew_scratch(20), 3, sum), first);
    nbcoll_after(b, nbcoll_add_combine(b, crew_recv(12), crew_recv(12), crew_scratch(28), 1, sum), first);
}

static void test_a_reduction_of_different_elements(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed);
    nbcoll_refutation why = crew_refuted(&c, sum_of_other_elements, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(0), 12));
    crew_at(&why, 1, 0, 5, nbcoll_span(crew_recv(0), 12));
}

/* The same bytes, but the elements begin at offset 2. */
static void sum_of_misaligned_elements(nbcoll_builder *b)
{
    nbcoll_step ready = gather_operands(b);
    if (b->rank > 0)
        return;
    nbcoll_step last = nbcoll_add_copy(b, crew_recv(0), crew_send(0), 16);
    for (size_t operand = 0; operand < 32; operand += 16) {
        nbcoll_step step = nbcoll_add_combine(b, crew_recv(2), crew_recv(2), crew_scratch(operand + 2), 3, sum);
        nbcoll_after(b, step, last);
        nbcoll_after(b, step, ready);
        last = step;
    }
}

static const crew_claim summed_from_byte_two[] = {
    {0, {.bytes = 2, .first = 0, .last = 0}},
    {0, {.offset = 2, .bytes = 12, .first = 0, .last = 2, .from = 2, .how = {NBCOLL_INT32, NBCOLL_SUM}}},
    {0, {.offset = 14, .bytes = 2, .first = 0, .last = 0, .from = 14}},
};

static const crew_claim summed_in_the_middle[] = {
    {0, {.bytes = 4, .first = 1, .last = 0}},
    {0, {.offset = 4, .bytes = 8, .first = 0, .last = 2, .from = 4, .how = {NBCOLL_INT32, NBCOLL_SUM}}},
    {0, {.offset = 12, .bytes = 4, .first = 1, .last = 0}},
};

static void test_elements_begin_where_the_claim_says(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed_in_the_middle);
    nbcoll_refutation why = crew_refuted(&c, sum_of_misaligned_elements, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 0, NBCOLL_END, nbcoll_span(crew_recv(4), 8));
    c = CREW_OF(3, summed_from_byte_two);
    crew_proved(&c, sum_of_misaligned_elements);
}

/* ---- all ranks together ---------------------------------------------------------------------------------------- */

static const crew_claim summed_everywhere[] = {
    {0, {.bytes = 16, .first = 0, .last = 2, .how = {NBCOLL_INT32, NBCOLL_SUM}}},
    {1, {.bytes = 16, .first = 0, .last = 2, .how = {NBCOLL_INT32, NBCOLL_SUM}}},
    {2, {.bytes = 16, .first = 0, .last = 2, .how = {NBCOLL_INT32, NBCOLL_SUM}}},
};

/* Everyone gets all inputs; rank 2 begins at the other end. */
static void sum_everywhere(nbcoll_builder *b)
{
    nbcoll_addr all = nbcoll_add_scratch(b, 48);
    nbcoll_step here = nbcoll_add_copy(b, nbcoll_at(all, 16 * (size_t)b->rank), crew_send(0), 16),
                ready = nbcoll_add_join(b);
    nbcoll_after(b, ready, here);
    for (int peer = 0; peer < b->ranks; peer++)
        if (peer != b->rank) {
            nbcoll_add_send(b, peer, crew_send(0), 16);
            nbcoll_after(b, ready, nbcoll_add_recv(b, peer, nbcoll_at(all, 16 * (size_t)peer), 16));
        }
    size_t first = b->rank == 2 ? 16 : 0;
    nbcoll_step step = combine(b, crew_scratch(first), crew_scratch(first + 16), sum, ready);
    if (first)
        combine(b, crew_scratch(0), crew_recv(0), sum, step);
    else
        combine(b, crew_recv(0), crew_scratch(32), sum, step);
}

static void test_ranks_that_reduce_in_different_bracketings(void **state)
{
    (void)state;
    crew c = CREW_OF(3, summed_everywhere);
    crew_proved(&c, sum_everywhere);
    c.meaning.same_bits = 1;
    nbcoll_refutation why = crew_refuted(&c, sum_everywhere, NBCOLL_FLAW_BITS);
    assert_int_equal(why.places, 3);
    crew_at(&why, 0, 2, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 1, 2, 9, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 2, 0, 9, nbcoll_span(crew_recv(0), 16));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_any_bracketing_in_rank_order_is_right),
    cmocka_unit_test(test_an_input_that_is_missing_in_a_reduction),
    cmocka_unit_test(test_a_copy_in_place_of_a_reduction),
    cmocka_unit_test(test_an_input_that_is_reduced_twice),
    cmocka_unit_test(test_a_reduction_out_of_rank_order),
    cmocka_unit_test(test_a_reduction_of_an_input_that_does_not_belong_to_it),
    cmocka_unit_test(test_another_reduction_than_the_one_asked_for),
    cmocka_unit_test(test_a_reduction_of_different_elements),
    cmocka_unit_test(test_elements_begin_where_the_claim_says),
    cmocka_unit_test(test_ranks_that_reduce_in_different_bracketings),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
