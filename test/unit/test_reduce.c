/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types, reductions and their kernels. The kernels of every level that this processor can run are compared with a plain
 * evaluation, element by element, on edge values mixed with random ones. The source of the kernels is included, because
 * the entry would only ever choose the widest of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/reduce/reduce.c"

/* ---- the levels ------------------------------------------------------------------------------------------------ */

typedef reduce_kernel *kernel_table[NBCOLL_TYPE_COUNT][NBCOLL_OP_COUNT];

typedef struct level {
    const char *name;
    const kernel_table *kernels;
    int runs; /* can this processor run it */
} level;

static unsigned levels(level list[3])
{
    unsigned n = 0;
    list[n++] = (level){"baseline", &reduce_kernels_baseline, 1};
#if defined(__x86_64__)
    list[n++] = (level){"avx2", &reduce_kernels_avx2, __builtin_cpu_supports("avx2")};
    list[n++] = (level){"avx512", &reduce_kernels_avx512,
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl")};
#endif
    return n;
}

/* ---- the plain evaluation -------------------------------------------------------------------------------------- */

typedef union element {
    unsigned char bytes[8];
    int8_t INT8;
    int16_t INT16;
    int32_t INT32;
    int64_t INT64;
    uint8_t BYTE, UINT8;
    uint16_t UINT16;
    uint32_t UINT32;
    uint64_t UINT64;
    float FLOAT;
    double DOUBLE;
} element;

/* A type's own arithmetic is done in 64 bits, where nothing overflows but the unsigned ones, and cut. */
#define INTEGER(name, wide)                                                                                            \
    case NBCOLL_##name:                                                                                                \
        switch (how.op) {                                                                                              \
        case NBCOLL_SUM:                                                                                               \
            z.UINT64 = (uint64_t)x.name + (uint64_t)y.name;                                                            \
            break;                                                                                                     \
        case NBCOLL_PROD:                                                                                              \
            z.UINT64 = (uint64_t)x.name * (uint64_t)y.name;                                                            \
            break;                                                                                                     \
        case NBCOLL_MIN:                                                                                               \
            z = (wide)y.name < (wide)x.name ? y : x;                                                                   \
            break;                                                                                                     \
        case NBCOLL_MAX:                                                                                               \
            z = (wide)y.name > (wide)x.name ? y : x;                                                                   \
            break;                                                                                                     \
        case NBCOLL_BAND:                                                                                              \
            z.UINT64 = x.UINT64 & y.UINT64;                                                                            \
            break;                                                                                                     \
        case NBCOLL_BOR:                                                                                               \
            z.UINT64 = x.UINT64 | y.UINT64;                                                                            \
            break;                                                                                                     \
        default:                                                                                                       \
            z.UINT64 = x.UINT64 ^ y.UINT64;                                                                            \
        }                                                                                                              \
        break;

/* The smaller one, first by NaN, then by value, then by sign. */
#define FLOATING(name)                                                                                                 \
    case NBCOLL_##name:                                                                                                \
        if (how.op == NBCOLL_SUM)                                                                                      \
            z.name = x.name + y.name;                                                                                  \
        else if (how.op == NBCOLL_PROD)                                                                                \
            z.name = x.name * y.name;                                                                                  \
        else if (y.name != y.name)                                                                                     \
            z = x;                                                                                                     \
        else if (x.name != x.name)                                                                                     \
            z = y;                                                                                                     \
        else {                                                                                                         \
            int x_below = x.name < y.name || (x.name == y.name && __builtin_signbit(x.name));                          \
            z = x_below == (how.op == NBCOLL_MIN) ? x : y;                                                             \
        }                                                                                                              \
        break;

static element plain(nbcoll_reduction how, element x, element y)
{
    element z = {{0}};
    switch (how.type) {
        INTEGER(BYTE, uint64_t)
        INTEGER(INT8, int64_t)
        INTEGER(INT16, int64_t)
        INTEGER(INT32, int64_t)
        INTEGER(INT64, int64_t)
        INTEGER(UINT8, uint64_t)
        INTEGER(UINT16, uint64_t)
        INTEGER(UINT32, uint64_t)
        INTEGER(UINT64, uint64_t)
        FLOATING(FLOAT)
        FLOATING(DOUBLE)
    default:
        fail();
    }
    return z;
}

static int is_nan(nbcoll_type type, element x)
{
    return (type == NBCOLL_FLOAT && x.FLOAT != x.FLOAT) || (type == NBCOLL_DOUBLE && x.DOUBLE != x.DOUBLE);
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

#define SEED 20240229u

static uint64_t random_bits(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One time in two a value at an edge of the type, else any bits, or (floating) a number near one. */
static element operand(nbcoll_type type, uint64_t *state)
{
    static const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("1"),
                                   __builtin_nanf("2"), 3.402823466e38f, 1.175494351e-38f, 1e-45f, -1e-45f};
    static const double doubles[] = {0.0, -0.0, 1.0, -1.0, __builtin_inf(), -__builtin_inf(), __builtin_nan("1"),
                                     __builtin_nan("2"), 1.7976931348623157e308, 2.2250738585072014e-308, 5e-324,
                                     -5e-324};
    size_t bits = 8 * nbcoll_type_size(type);
    uint64_t r = random_bits(state), pick = r >> 8;
    element x = {.UINT64 = random_bits(state)};

    if (type == NBCOLL_FLOAT && r % 2)
        x.FLOAT = floats[pick % 12];
    else if (type == NBCOLL_DOUBLE && r % 2)
        x.DOUBLE = doubles[pick % 12];
    else if (type == NBCOLL_FLOAT && r % 4)
        x.FLOAT = (float)(int32_t)x.INT32 / 1e9f;
    else if (type == NBCOLL_DOUBLE && r % 4)
        x.DOUBLE = (double)x.INT64 / 4e18;
    else if (r % 2) /* 0, 1, 2, -1, -2, and the ends of the signed range with their neighbours */
        x.UINT64 = ((pick & 8) ? (uint64_t)1 << (bits - 1) : 0) + (pick % 5) - 2;
    return x;
}

static element load(nbcoll_type type, const char *at)
{
    element x = {{0}};
    memcpy(x.bytes, at, nbcoll_type_size(type));
    return x;
}

/* ---- the comparison -------------------------------------------------------------------------------------------- */

typedef enum alias { APART, RESULT_IS_LEFT, RESULT_IS_RIGHT, LEFT_IS_RIGHT, ALL_ONE, ALIASES } alias;

typedef struct work {
    nbcoll_reduction how;
    size_t count;
    size_t skew; /* the operands lie so many bytes off an aligned address */
    alias alias;
    uint64_t seed;
} work;

static void check_element(const work *w, const char *level_name, size_t i, element x, element y, element got)
{
    nbcoll_type type = w->how.type;
    element want = plain(w->how, x, y);
    int sums = w->how.op == NBCOLL_SUM || w->how.op == NBCOLL_PROD;
    if (sums && is_nan(type, want) && is_nan(type, got))
        return; /* which NaN is the processor's choice */
    if (memcmp(want.bytes, got.bytes, nbcoll_type_size(type)) == 0)
        return;
    fail_msg("%s %s %s: element %zu of %zu, skew %zu, alias %d, seed %llu: %llx and %llx gave %llx, not %llx",
             level_name, nbcoll_type_name(type), nbcoll_op_name(w->how.op), i, w->count, w->skew, (int)w->alias,
             (unsigned long long)w->seed, (unsigned long long)x.UINT64, (unsigned long long)y.UINT64,
             (unsigned long long)got.UINT64, (unsigned long long)want.UINT64);
}

/* Each operand ends where its block ends, so that a sanitizer sees an access beyond it. */
static void run(const work *w, const level *lv)
{
    size_t size = nbcoll_type_size(w->how.type), bytes = w->count * size, skew = w->skew;
    char *block[3], *at[3], *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    uint64_t state = w->seed;

    for (int k = 0; k < 3; k++) {
        block[k] = malloc(bytes + skew + !(bytes + skew));
        at[k] = block[k] + skew;
        memset(block[k], 0x5a, bytes + skew);
        for (size_t i = 0; i < w->count; i++)
            memcpy(at[k] + i * size, operand(w->how.type, &state).bytes, size);
    }
    char *right = w->alias == LEFT_IS_RIGHT || w->alias == ALL_ONE ? at[0] : at[1];
    char *result = w->alias == RESULT_IS_LEFT || w->alias == ALL_ONE ? at[0] : at[2];
    if (w->alias == RESULT_IS_RIGHT)
        result = right;
    memcpy(x, at[0], bytes);
    memcpy(y, right, bytes);

    if (lv)
        (*lv->kernels)[w->how.type][w->how.op](result, at[0], right, bytes);
    else
        nbcolli_reduce(w->how, result, at[0], right, w->count);

    nbcoll_type t = w->how.type;
    for (size_t i = 0; i < bytes; i += size)
        check_element(w, lv ? lv->name : "entry", i / size, load(t, x + i), load(t, y + i), load(t, result + i));
    for (size_t i = 0; i < skew; i++)
        assert_int_equal((result - skew)[i], 0x5a);
    if (result != at[0])
        assert_memory_equal(at[0], x, bytes);
    if (result != right)
        assert_memory_equal(right, y, bytes);
    for (int k = 0; k < 3; k++)
        free(block[k]);
    free(x);
    free(y);
}

/* Runs the work for every reduction, on every level that runs here. */
static void run_all(work w)
{
    level list[3];
    unsigned n = levels(list);
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (int op = 0; op < NBCOLL_OP_COUNT; op++)
            for (unsigned k = 0; k < n; k++) {
                if (!list[k].runs || !nbcolli_op_valid((nbcoll_type)type, (nbcoll_op)op))
                    continue;
                w.how = (nbcoll_reduction){(nbcoll_type)type, (nbcoll_op)op};
                w.seed++;
                run(&w, &list[k]);
            }
}

/* ---- tests of names -------------------------------------------------------------------------------------------- */

static void types_have_sizes_and_names(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_type_size(NBCOLL_BYTE), 1);
    assert_int_equal(nbcoll_type_size(NBCOLL_INT16), 2);
    assert_int_equal(nbcoll_type_size(NBCOLL_UINT64), 8);
    assert_int_equal(nbcoll_type_size(NBCOLL_FLOAT), 4);
    assert_int_equal(nbcoll_type_size(NBCOLL_DOUBLE), 8);
    assert_string_equal(nbcoll_type_name(NBCOLL_FLOAT), "FLOAT");
    assert_string_equal(nbcoll_type_name(NBCOLL_BYTE), "BYTE");
    assert_string_equal(nbcoll_op_name(NBCOLL_SUM), "SUM");
    assert_string_equal(nbcoll_op_name(NBCOLL_BXOR), "BXOR");
}

static void unknown_types_and_ops_have_no_size_and_no_name(void **state)
{
    (void)state;
    assert_int_equal(nbcoll_type_size(NBCOLL_TYPE_COUNT), 0);
    assert_int_equal(nbcoll_type_size((nbcoll_type)-1), 0);
    assert_string_equal(nbcoll_type_name(NBCOLL_TYPE_COUNT), "?");
    assert_string_equal(nbcoll_type_name((nbcoll_type)-1), "?");
    assert_string_equal(nbcoll_op_name(NBCOLL_OP_COUNT), "?");
    assert_string_equal(nbcoll_op_name((nbcoll_op)-1), "?");
}

static void bytes_have_bitwise_ops_reals_have_arithmetic_ones_integers_have_all(void **state)
{
    (void)state;
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (int op = 0; op < NBCOLL_OP_COUNT; op++) {
            int bitwise = op == NBCOLL_BAND || op == NBCOLL_BOR || op == NBCOLL_BXOR;
            int real = type == NBCOLL_FLOAT || type == NBCOLL_DOUBLE;
            int expected = type == NBCOLL_BYTE ? bitwise : real ? !bitwise : 1;
            assert_int_equal(nbcolli_op_valid((nbcoll_type)type, (nbcoll_op)op), expected);
        }
    assert_false(nbcolli_op_valid(NBCOLL_TYPE_COUNT, NBCOLL_SUM));
    assert_false(nbcolli_op_valid(NBCOLL_INT32, NBCOLL_OP_COUNT));
    assert_false(nbcolli_op_valid((nbcoll_type)-1, NBCOLL_SUM));
    assert_false(nbcolli_op_valid(NBCOLL_INT32, (nbcoll_op)-1));
}

/* The levels have the same kernels; only the entry's choice of level then depends on the processor. */
static void every_level_has_the_same_reductions(void **state)
{
    (void)state;
    level list[3];
    unsigned n = levels(list);
    for (unsigned k = 0; k < n; k++)
        for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
            for (int op = 0; op < NBCOLL_OP_COUNT; op++)
                assert_int_equal((*list[k].kernels)[type][op] != NULL,
                                 nbcolli_op_valid((nbcoll_type)type, (nbcoll_op)op));
}

/* ---- tests of kernels ------------------------------------------------------------------------------------------ */

static void every_kernel_computes_what_a_plain_loop_does(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 67; count++)
        run_all((work){.count = count, .seed = SEED + 1000 * count});
    run_all((work){.count = 1000, .seed = SEED});
    run_all((work){.count = 20011, .seed = SEED});
}

static void result_and_operands_may_be_the_same(void **state)
{
    (void)state;
    for (int a = RESULT_IS_LEFT; a < ALIASES; a++)
        for (size_t count = 0; count <= 67; count++)
            run_all((work){.count = count, .alias = (alias)a, .seed = SEED + 1000 * count});
}

static void operands_may_have_any_alignment(void **state)
{
    (void)state;
    for (size_t skew = 1; skew <= 8; skew *= 2)
        for (size_t count = 1; count <= 67; count += 6)
            for (int a = APART; a <= RESULT_IS_RIGHT; a++)
                run_all((work){.count = count, .skew = skew, .alias = (alias)a, .seed = SEED + 1000 * count});
}

static void the_entry_runs_the_kernel_of_its_reduction(void **state)
{
    (void)state;
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (int op = 0; op < NBCOLL_OP_COUNT; op++) {
            work w = {{(nbcoll_type)type, (nbcoll_op)op}, 301, 0, APART, SEED};
            if (nbcolli_op_valid(w.how.type, w.how.op))
                run(&w, NULL);
        }
}

/* ---- the rules, by example ------------------------------------------------------------------------------------- */

/* 19 elements, so that wide and narrow vectors and single elements all take part. */
#define EXAMPLE(type, ctype, op, a, b, expected)                                                                       \
    do {                                                                                                               \
        ctype x[19], y[19], z[19], e = (expected);                                                                     \
        for (int i = 0; i < 19; i++)                                                                                   \
            x[i] = (a), y[i] = (b);                                                                                    \
        nbcolli_reduce((nbcoll_reduction){NBCOLL_##type, NBCOLL_##op}, z, x, y, 19);                                   \
        for (int i = 0; i < 19; i++)                                                                                   \
            assert_memory_equal(&z[i], &e, sizeof e);                                                                  \
    } while (0)

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

static void minima_and_maxima_pass_over_nan(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, MIN, __builtin_nanf(""), 3.0f, 3.0f);
    EXAMPLE(FLOAT, float, MIN, 3.0f, __builtin_nanf(""), 3.0f);
    EXAMPLE(FLOAT, float, MAX, __builtin_nanf(""), -__builtin_inff(), -__builtin_inff());
    EXAMPLE(DOUBLE, double, MAX, __builtin_inf(), __builtin_nan(""), __builtin_inf());
    EXAMPLE(DOUBLE, double, MIN, __builtin_nan("7"), __builtin_nan("8"), __builtin_nan("7"));
}

static void minus_zero_is_less_than_zero(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, MIN, 0.0f, -0.0f, -0.0f);
    EXAMPLE(FLOAT, float, MIN, -0.0f, 0.0f, -0.0f);
    EXAMPLE(DOUBLE, double, MAX, 0.0, -0.0, 0.0);
    EXAMPLE(DOUBLE, double, MAX, -0.0, 0.0, 0.0);
    EXAMPLE(DOUBLE, double, MAX, -0.0, -0.0, -0.0);
}

static void infinities_add_as_ieee_says(void **state)
{
    (void)state;
    EXAMPLE(FLOAT, float, SUM, __builtin_inff(), -3e38f, __builtin_inff());
    EXAMPLE(FLOAT, float, SUM, 3e38f, 3e38f, __builtin_inff());
    EXAMPLE(DOUBLE, double, PROD, -__builtin_inf(), 2.0, -__builtin_inf());
    EXAMPLE(DOUBLE, double, SUM, -0.0, -0.0, -0.0);
}

int main(void)
{
    level list[3];
    unsigned n = levels(list);
    printf("seed %u; levels:", SEED);
    for (unsigned k = 0; k < n; k++)
        printf(" %s%s", list[k].name, list[k].runs ? "" : " (not this processor)");
    printf("\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_sizes_and_names),
        cmocka_unit_test(unknown_types_and_ops_have_no_size_and_no_name),
        cmocka_unit_test(bytes_have_bitwise_ops_reals_have_arithmetic_ones_integers_have_all),
        cmocka_unit_test(every_level_has_the_same_reductions),
        cmocka_unit_test(every_kernel_computes_what_a_plain_loop_does),
        cmocka_unit_test(result_and_operands_may_be_the_same),
        cmocka_unit_test(operands_may_have_any_alignment),
        cmocka_unit_test(the_entry_runs_the_kernel_of_its_reduction),
        cmocka_unit_test(integer_sums_and_products_wrap),
        cmocka_unit_test(minima_know_signed_from_unsigned),
        cmocka_unit_test(minima_and_maxima_pass_over_nan),
        cmocka_unit_test(minus_zero_is_less_than_zero),
        cmocka_unit_test(infinities_add_as_ieee_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
