/* SPDX-License-Identifier: BSD-3-Clause
 * The rules that nbcoll.h states for predefined operations, by example and as laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/reduce/reduce.h"

#include "plain.h"

#define SEED 20240301u

/* 19 elements, so that wide and narrow vectors and what is left of them all take part. */
#define EXAMPLE(type, ctype, op, a, b, expected)                                                                       \
    do {                                                                                                               \
        ctype x[19], y[19], z[19], e = (expected);                                                                     \
        const nbcoll_reduction how = {NBCOLL_##type, NBCOLL_##op};                                                     \
        for (int i = 0; i < 19; i++)                                                                                   \
            x[i] = (a), y[i] = (b);                                                                                    \
        assert_int_equal(nbcolli_reduce(nbcolli_reducers, how, z, x, y, 19), NBCOLL_OK);                               \
        for (int i = 0; i < 19; i++)                                                                                   \
            if (!plain_same(how, &e, &z[i]))                                                                           \
                fail_msg("%s %s: element %d", #type, #op, i);                                                          \
    } while (0)

/* ---- integers -------------------------------------------------------------------------------------------------- */

static void integer_sums_and_products_wrap(void **state)
{
    (void)state;
    EXAMPLE(INT32, int32_t, SUM, INT32_MAX, 1, INT32_MIN);
    EXAMPLE(INT64, int64_t, SUM, INT64_MIN, -1, INT64_MAX);
    EXAMPLE(INT8, int8_t, SUM, -128, -128, 0);
    EXAMPLE(UINT16, uint16_t, PROD, 65535, 65535, 1);
    EXAMPLE(INT16, int16_t, PROD, INT16_MIN, -1, INT16_MIN);
    EXAMPLE(INT64, int64_t, PROD, INT64_MIN, -1, INT64_MIN);
}

static void minima_know_signed_from_unsigned(void **state)
{
    (void)state;
    EXAMPLE(INT8, int8_t, MIN, -1, 1, -1);
    EXAMPLE(UINT8, uint8_t, MIN, 255, 1, 1);
    EXAMPLE(INT64, int64_t, MAX, INT64_MIN, 0, 0);
    EXAMPLE(UINT64, uint64_t, MAX, UINT64_MAX, 0, UINT64_MAX);
}

static void logical_results_are_0_or_1(void **state)
{
    (void)state;
    EXAMPLE(INT32, int32_t, LAND, 6, -1, 1);
    EXAMPLE(UINT64, uint64_t, LAND, UINT64_MAX, 0, 0);
    EXAMPLE(INT16, int16_t, LOR, 0, 256, 1);
    EXAMPLE(UINT8, uint8_t, LXOR, 2, 4, 0);
    EXAMPLE(INT64, int64_t, LXOR, INT64_MIN, 0, 1);
    EXAMPLE(BOOL, nbcoll_bool, LXOR, 1, 1, 0);
    EXAMPLE(BOOL, nbcoll_bool, LOR, 0, 1, 1);
    EXAMPLE(BYTE, unsigned char, BXOR, 0xf0, 0xff, 0x0f);
}

/* ---- floating -------------------------------------------------------------------------------------------------- */

static void minima_and_maxima_pass_over_nan(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, MIN, NAN, 3.0f, 3.0f);
    EXAMPLE(FLOAT, float, MIN, 3.0f, NAN, 3.0f);
    EXAMPLE(FLOAT, float, MAX, NAN, -INFINITY, -INFINITY);
    EXAMPLE(DOUBLE, double, MAX, INFINITY, NAN, INFINITY);
    EXAMPLE(DOUBLE, double, MIN, __builtin_nan("7"), __builtin_nan("8"), __builtin_nan("7"));
    EXAMPLE(LONG_DOUBLE, long double, MAX, NAN, 1, 1);
    EXAMPLE(HALF, uint16_t, MIN, 0x7e00, 0x7c00, 0x7c00);     /* infinity is a number */
    EXAMPLE(HALF, uint16_t, MAX, 0xbc00, 0xfe01, 0xbc00);     /* -1 */
    EXAMPLE(BFLOAT16, uint16_t, MIN, 0x7fc1, 0x7fc2, 0x7fc1); /* the left NaN */
}

static void minus_zero_is_less_than_zero(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, MIN, 0.0f, -0.0f, -0.0f);
    EXAMPLE(FLOAT, float, MIN, -0.0f, 0.0f, -0.0f);
    EXAMPLE(DOUBLE, double, MAX, 0.0, -0.0, 0.0);
    EXAMPLE(DOUBLE, double, MAX, -0.0, 0.0, 0.0);
    EXAMPLE(DOUBLE, double, MAX, -0.0, -0.0, -0.0);
    EXAMPLE(LONG_DOUBLE, long double, MIN, 0.0L, -0.0L, -0.0L);
    EXAMPLE(HALF, uint16_t, MIN, 0, 0x8000, 0x8000);
    EXAMPLE(BFLOAT16, uint16_t, MAX, 0x8000, 0, 0);
}

static void infinities_add_as_ieee_says(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, SUM, INFINITY, -3e38f, INFINITY);
    EXAMPLE(FLOAT, float, SUM, 3e38f, 3e38f, INFINITY);
    EXAMPLE(DOUBLE, double, PROD, -INFINITY, 2.0, -INFINITY);
    EXAMPLE(DOUBLE, double, SUM, -0.0, -0.0, -0.0);
}

/* In units of a half: 0x6800 is 2048, where the units are twos; 0x7bff is 65504, the largest. */
static void halves_round_to_the_nearest_ties_to_even(void **state)
{
    (void)state;
    EXAMPLE(HALF, uint16_t, SUM, 0x6800, 0x3c00, 0x6800);  /* 2048 + 1: a tie, down */
    EXAMPLE(HALF, uint16_t, SUM, 0x6801, 0x3c00, 0x6802);  /* 2050 + 1: a tie, up */
    EXAMPLE(HALF, uint16_t, SUM, 0x6800, 0x3e00, 0x6801);  /* 2048 + 1.5 */
    EXAMPLE(HALF, uint16_t, SUM, 0x7bff, 0x4b80, 0x7bff);  /* 65504 + 15 */
    EXAMPLE(HALF, uint16_t, SUM, 0x7bff, 0x4c00, 0x7c00);  /* 65504 + 16: infinity */
    EXAMPLE(HALF, uint16_t, PROD, 0x0001, 0x3800, 0x0000); /* half the smallest: a tie */
    EXAMPLE(HALF, uint16_t, PROD, 0x0003, 0xb800, 0x8002); /* three halves of it, negative */
    EXAMPLE(HALF, uint16_t, PROD, 0x03ff, 0x3c01, 0x0400); /* up to the smallest normal number */
}

static void bfloats_round_to_the_nearest_ties_to_even(void **state)
{
    (void)state;
    EXAMPLE(BFLOAT16, uint16_t, SUM, 0x4380, 0x3f80, 0x4380);  /* 256 + 1: a tie, down */
    EXAMPLE(BFLOAT16, uint16_t, SUM, 0x4381, 0x3f80, 0x4382);  /* 258 + 1: a tie, up */
    EXAMPLE(BFLOAT16, uint16_t, PROD, 0x7f7f, 0x4000, 0x7f80); /* twice the largest */
}

/* ---- complex --------------------------------------------------------------------------------------------------- */

#define COMPLEX_EXAMPLE(type, ctype, op, a, b, c, d, e, f)                                                             \
    EXAMPLE(type, ctype, op, ((ctype){a, b}), ((ctype){c, d}), ((ctype){e, f}))

static void complex_products_go_by_the_formula(void **state)
{
    (void)state;
    COMPLEX_EXAMPLE(FLOAT_COMPLEX, nbcoll_float_complex, PROD, 1, 2, 3, 4, -5, 10);
    COMPLEX_EXAMPLE(DOUBLE_COMPLEX, nbcoll_double_complex, PROD, 0, 1, 0, 1, -1, 0);
    COMPLEX_EXAMPLE(LONG_DOUBLE_COMPLEX, nbcoll_long_double_complex, PROD, 1, -2, -3, 4, 5, 10);
    COMPLEX_EXAMPLE(FLOAT_COMPLEX, nbcoll_float_complex, SUM, 1, 2, 3, 4, 4, 6);
    /* Annex G of C would make infinities of it. */
    COMPLEX_EXAMPLE(DOUBLE_COMPLEX, nbcoll_double_complex, PROD, INFINITY, INFINITY, 1, 0, NAN, NAN);
    /* With a product fused into the difference, the real part would be -2^-60. */
    COMPLEX_EXAMPLE(DOUBLE_COMPLEX, nbcoll_double_complex, PROD, 1 + 0x1p-30, 1, 1 - 0x1p-30, 1, 0, 2);
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

#define PAIR_EXAMPLE(type, ctype, op, a, i, b, k, e, m)                                                                \
    EXAMPLE(type, ctype, op, ((ctype){a, i}), ((ctype){b, k}), ((ctype){e, m}))

static void pairs_go_by_value_then_by_the_lower_index(void **state)
{
    (void)state;
    PAIR_EXAMPLE(FLOAT_INT, nbcoll_float_int, MINLOC, 2, 1, 1, 7, 1, 7);
    PAIR_EXAMPLE(FLOAT_INT, nbcoll_float_int, MAXLOC, 2, 9, 2, 7, 2, 7);
    PAIR_EXAMPLE(DOUBLE_INT, nbcoll_double_int, MINLOC, -1, -5, -1, 4, -1, -5);
    PAIR_EXAMPLE(LONG_INT, nbcoll_long_int, MAXLOC, INT64_MIN, 0, INT64_MAX, INT32_MAX, INT64_MAX, INT32_MAX);
    PAIR_EXAMPLE(INT_INT, nbcoll_int_int, MINLOC, 3, INT32_MAX, 3, INT32_MIN, 3, INT32_MIN);
    PAIR_EXAMPLE(SHORT_INT, nbcoll_short_int, MINLOC, -1, 2, 1, 1, -1, 2);
    PAIR_EXAMPLE(LONG_DOUBLE_INT, nbcoll_long_double_int, MAXLOC, 0.5L, 2, 0.25L, 1, 0.5L, 2);
    PAIR_EXAMPLE(DOUBLE_INT64, nbcoll_double_int64, MINLOC, -1, INT64_MAX, -1, INT64_MAX - 1, -1, INT64_MAX - 1);
    PAIR_EXAMPLE(INT64_INT64, nbcoll_int64_int64, MAXLOC, INT64_MAX, 1, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN);
    PAIR_EXAMPLE(INT64_INT64, nbcoll_int64_int64, MINLOC, INT64_MIN, 7, INT64_MAX, 0, INT64_MIN, 7);
}

static void pairs_pass_over_nan_and_take_zeros_for_equal(void **state)
{
    (void)state;
    PAIR_EXAMPLE(FLOAT_INT, nbcoll_float_int, MINLOC, NAN, 1, 5, 7, 5, 7);
    PAIR_EXAMPLE(DOUBLE_INT, nbcoll_double_int, MAXLOC, -INFINITY, 7, NAN, 1, -INFINITY, 7);
    PAIR_EXAMPLE(DOUBLE_INT, nbcoll_double_int, MAXLOC, NAN, 7, NAN, 1, NAN, 1);
    PAIR_EXAMPLE(FLOAT_INT, nbcoll_float_int, MINLOC, -0.0f, 2, 0.0f, 1, 0.0f, 1);
    PAIR_EXAMPLE(LONG_DOUBLE_INT, nbcoll_long_double_int, MINLOC, 0.0L, 1, -0.0L, 1, 0.0L, 1);
}

/* ---- laws ------------------------------------------------------------------------------------------------------ */

typedef struct element {
    unsigned char bytes[PLAIN_LARGEST];
} element;

static element combined(nbcoll_reduction how, element x, element y)
{
    element z = {{0}};
    assert_int_equal(nbcolli_reduce(nbcolli_reducers, how, z.bytes, x.bytes, y.bytes, 1), NBCOLL_OK);
    return z;
}

/* Are two results the same to the bit, but for what the header excepts? */
static int is_same(nbcoll_reduction how, element x, element y)
{
#define LOAD(T, to, from)                                                                                              \
    T to;                                                                                                              \
    memcpy(&to, (from).bytes, sizeof to)
#define ALIKE(a, b) ((a) == (b) || ((a) != (a) && (b) != (b)))
#define ALIKE_FLOATING(T) LOAD(T, a, x); LOAD(T, b, y); if (a != a && b != b) return 1
#define ALIKE_PAIR(T) LOAD(T, a, x); LOAD(T, b, y); return ALIKE(a.value, b.value) && a.index == b.index
#define ALIKE_NARROW(T)                                                                                                \
    LOAD(T, a, x);                                                                                                     \
    LOAD(T, b, y);                                                                                                     \
    if (isnan(plain_wide(how.type, a)) && isnan(plain_wide(how.type, b)))                                              \
        return 1
#define ALIKE_BYTES(T)
#define ALIKE_SIGNED(T)
#define ALIKE_UNSIGNED(T)
#define ALIKE_LOGICAL(T)
#define ALIKE_COMPLEX(T)
    switch (how.type) {
#define CASE(name, ctype, kind) case NBCOLL_##name: { ALIKE_##kind(ctype); break; }
        NBCOLL_TYPE_LIST(CASE)
    }
    return plain_same(how, x.bytes, y.bytes);
}

static int rounds(nbcoll_reduction how)
{
    return (how.op == NBCOLL_SUM || how.op == NBCOLL_PROD) && how.type >= NBCOLL_FLOAT;
}

static void operations_commute_and_those_that_do_not_round_associate(void **state)
{
    (void)state;
    uint64_t random = SEED;
    for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++)
            for (int i = 0; i < 2000 && nbcoll_op_applies(op, type); i++) {
                const nbcoll_reduction how = {type, op};
                element x = {{0}}, y = {{0}}, z = {{0}};
                plain_operand(type, &random, x.bytes);
                plain_operand(type, &random, y.bytes);
                plain_operand(type, &random, z.bytes);
                if (!is_same(how, combined(how, x, y), combined(how, y, x)))
                    fail_msg("%s %s does not commute: trial %d", nbcoll_type_name(type), nbcoll_op_name(op), i);
                if (!rounds(how) && !is_same(how, combined(how, combined(how, x, y), z),
                                             combined(how, x, combined(how, y, z))))
                    fail_msg("%s %s does not associate: trial %d", nbcoll_type_name(type), nbcoll_op_name(op), i);
            }
}

int main(void)
{
    printf("seed %u\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_sums_and_products_wrap),
        cmocka_unit_test(minima_know_signed_from_unsigned),
        cmocka_unit_test(logical_results_are_0_or_1),
        cmocka_unit_test(minima_and_maxima_pass_over_nan),
        cmocka_unit_test(minus_zero_is_less_than_zero),
        cmocka_unit_test(infinities_add_as_ieee_says),
        cmocka_unit_test(halves_round_to_the_nearest_ties_to_even),
        cmocka_unit_test(bfloats_round_to_the_nearest_ties_to_even),
        cmocka_unit_test(complex_products_go_by_the_formula),
        cmocka_unit_test(pairs_go_by_value_then_by_the_lower_index),
        cmocka_unit_test(pairs_pass_over_nan_and_take_zeros_for_equal),
        cmocka_unit_test(operations_commute_and_those_that_do_not_round_associate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
