/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of reductions. Those of every level that this processor can run are compared with plain serial C, element
 * by element, on edge values mixed with random ones. Their sources are included, because nbcoll_wide gives only the
 * widest of them.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/reduce/reduce.c"
#include "../../src/wide/wide.c"

#include "plain.h"

#define SEED 20240229u

/* ---- the levels ------------------------------------------------------------------------------------------------ */

typedef struct level {
    const char *name;
    const nbcoll_reducers *kernels;
    int runs; /* can this processor run it */
} level;

static unsigned levels(level list[3])
{
    unsigned n = 0;
    list[n++] = (level){"baseline", &nbcolli_reduce_kernels_baseline, 1};
#if defined(__x86_64__)
    list[n++] = (level){"avx2", &nbcolli_reduce_kernels_avx2, NBCOLLI_REDUCE_HAS_AVX2};
    list[n++] = (level){"avx512", &nbcolli_reduce_kernels_avx512, NBCOLLI_REDUCE_HAS_AVX512};
#endif
    return n;
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

static void print_bytes(const char *what, const unsigned char *at, size_t bytes)
{
    print_error("%s", what);
    for (size_t i = 0; i < bytes; i++)
        print_error(" %02x", at[i]);
    print_error("\n");
}

static void check_element(const work *w, const char *level_name, size_t i, const void *x, const void *y,
                          const void *got)
{
    size_t size = nbcoll_type_size(w->how.type);
    unsigned char want[PLAIN_LARGEST];
    plain_combine(w->how, want, x, y);
    if (plain_same(w->how, want, got))
        return;
    print_bytes("left  ", x, size);
    print_bytes("right ", y, size);
    print_bytes("got   ", got, size);
    print_bytes("wanted", want, size);
    fail_msg("%s %s %s: element %zu of %zu, skew %zu, alias %d, seed %llu", level_name, nbcoll_type_name(w->how.type),
             nbcoll_op_name(w->how.op), i, w->count, w->skew, (int)w->alias, (unsigned long long)w->seed);
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
            plain_operand(w->how.type, &state, at[k] + i * size);
    }
    char *right = w->alias == LEFT_IS_RIGHT || w->alias == ALL_ONE ? at[0] : at[1];
    char *result = w->alias == RESULT_IS_LEFT || w->alias == ALL_ONE ? at[0] : at[2];
    if (w->alias == RESULT_IS_RIGHT)
        result = right;
    memcpy(x, at[0], bytes);
    memcpy(y, right, bytes);

    if (lv)
        lv->kernels->kernel[w->how.type][w->how.op](result, at[0], right, bytes);
    else
        assert_int_equal(nbcolli_reduce(nbcolli_reducers, w->how, result, at[0], right, w->count), NBCOLL_OK);

    for (size_t i = 0; i < bytes; i += size)
        check_element(w, lv ? lv->name : "entry", i / size, x + i, y + i, result + i);
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
    for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++)
            for (unsigned k = 0; k < n; k++) {
                if (!list[k].runs || !plain_applies(op, type))
                    continue;
                w.how = (nbcoll_reduction){type, op};
                w.seed++;
                run(&w, &list[k]);
            }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

/* The levels have the same kernels, those that the table of the standard says; only the entry's choice of level then
 * depends on the processor. */
static void every_level_has_the_reductions_of_the_table(void **state)
{
    (void)state;
    level list[3];
    unsigned n = levels(list);
    for (unsigned k = 0; k < n; k++)
        for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
            for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++)
                assert_int_equal(list[k].kernels->kernel[type][op] != NULL, plain_applies(op, type));
}

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
    for (size_t skew = 1; skew <= 16; skew *= 2)
        for (size_t count = 1; count <= 67; count += 6)
            for (int a = APART; a <= RESULT_IS_RIGHT; a++)
                run_all((work){.count = count, .skew = skew, .alias = (alias)a, .seed = SEED + 1000 * count});
}

static void the_entry_runs_the_kernel_of_its_reduction(void **state)
{
    (void)state;
    for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++) {
            work w = {{type, op}, 301, 0, APART, SEED};
            if (plain_applies(op, type))
                run(&w, NULL);
        }
}

/* All 65536 of them: x * 1 and 1 * x are x, on every level; a NaN stays one. */
static void narrow_numbers_survive_the_way_to_float_and_back(void **state)
{
    (void)state;
    static uint16_t x[65536], one[65536], z[65536];
    level list[3];
    unsigned n = levels(list);
    for (nbcoll_type type = NBCOLL_HALF; type <= NBCOLL_BFLOAT16; type++)
        for (unsigned k = 0; k < n; k++) {
            for (unsigned i = 0; i < 65536; i++)
                x[i] = (uint16_t)i, one[i] = plain_narrow(type, 1);
            if (!list[k].runs)
                continue;
            list[k].kernels->kernel[type][NBCOLL_PROD]((char *)z, (char *)x, (char *)one, sizeof x);
            for (unsigned i = 0; i < 65536; i++)
                if (plain_wide(type, x[i]) == plain_wide(type, x[i]))
                    assert_int_equal(z[i], x[i]);
                else
                    assert_true(plain_wide(type, z[i]) != plain_wide(type, z[i]));
        }
}

/* All 65536 of them, plus numbers that make ties, carries and overflows. */
static void narrow_sums_round_as_plain_c_does(void **state)
{
    (void)state;
    static const uint16_t others[] = {0x0001, 0x8001, 0x3c00, 0x3f80, 0x1400, 0x7bff, 0x7f7f, 0x6400};
    static uint16_t x[65536], y[65536], z[65536];
    level list[3];
    unsigned n = levels(list);
    for (nbcoll_type type = NBCOLL_HALF; type <= NBCOLL_BFLOAT16; type++)
        for (unsigned k = 0; k < sizeof others / sizeof *others; k++) {
            const level *lv = &list[k % n];
            const nbcoll_reduction how = {type, NBCOLL_SUM};
            for (unsigned i = 0; i < 65536; i++)
                x[i] = (uint16_t)i, y[i] = others[k];
            if (!lv->runs)
                lv = &list[0];
            lv->kernels->kernel[type][NBCOLL_SUM]((char *)z, (char *)x, (char *)y, sizeof x);
            for (unsigned i = 0; i < 65536; i++)
                check_element(&(work){.how = how, .count = 65536}, lv->name, i, &x[i], &y[i], &z[i]);
        }
}

/* A product of halves is exact in float, so that only the second rounding, to the nearest, is left. Nor do the
 * conversions mind that the processor takes denormal floats for zeros. */
static void products_of_halves_do_not_follow_the_callers_modes(void **state)
{
    (void)state;
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST};
    enum { COUNT = 4099 };
    static uint16_t x[COUNT], y[COUNT], want[COUNT], z[COUNT];
    const nbcoll_reduction how = {NBCOLL_HALF, NBCOLL_PROD};
    uint64_t random = SEED;
    level list[3];
    unsigned n = levels(list);
    for (size_t i = 0; i < COUNT; i++) {
        plain_operand(NBCOLL_HALF, &random, &x[i]);
        plain_operand(NBCOLL_HALF, &random, &y[i]);
        plain_combine(how, &want[i], &x[i], &y[i]);
    }
    for (unsigned k = 0; k < n; k++)
        for (unsigned m = 0; list[k].runs && m < 5; m++) {
            fenv_t environment;
            assert_int_equal(fegetenv(&environment), 0);
            if (m < 4)
                assert_int_equal(fesetround(modes[m]), 0);
#if defined(__x86_64__)
            else
                _mm_setcsr(_mm_getcsr() | 0x8040); /* flush denormals, take them for zeros */
#endif
            list[k].kernels->kernel[how.type][how.op]((char *)z, (char *)x, (char *)y, sizeof x);
            assert_int_equal(fesetenv(&environment), 0);
            for (size_t i = 0; i < COUNT; i++)
                assert_true(plain_same(how, &want[i], &z[i]));
        }
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
        cmocka_unit_test(every_level_has_the_reductions_of_the_table),
        cmocka_unit_test(every_kernel_computes_what_a_plain_loop_does),
        cmocka_unit_test(result_and_operands_may_be_the_same),
        cmocka_unit_test(operands_may_have_any_alignment),
        cmocka_unit_test(the_entry_runs_the_kernel_of_its_reduction),
        cmocka_unit_test(narrow_numbers_survive_the_way_to_float_and_back),
        cmocka_unit_test(narrow_sums_round_as_plain_c_does),
        cmocka_unit_test(products_of_halves_do_not_follow_the_callers_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
