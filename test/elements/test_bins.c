/* SPDX-License-Identifier: BSD-3-Clause
 * Reproducible sums of numbers that ranks add up first: the same bits however many ranks there are, whoever has which
 * numbers, in any order; near the exact sum, or it; infinities, NaN, zeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "nbcoll/sums.h"
#include "world.h"

__extension__ typedef __int128 wide;

enum { RANKS = 9, NUMBERS = 3000 };

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void shuffle(double *x, size_t n, uint64_t *random)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = world_random(random) % i;
        double swap = x[i - 1];
        x[i - 1] = x[k];
        x[k] = swap;
    }
}

/* Over so many ranks, of which each has a part of random length. */
static double sum_over(int ranks, const double *x, size_t n, uint64_t *random)
{
    nbcoll_bins bins[RANKS] = {{{0}, 0, 0}};
    nbcoll_request request[RANKS];
    world w;

    for (int r = 0; r < ranks; r++) {
        size_t mine = r == ranks - 1 ? n : world_random(random) % (n + 1);
        nbcoll_bins_add(&bins[r], x, mine);
        x += mine;
        n -= mine;
    }
    world_open(&w, ranks, NULL, NULL, NULL);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, &bins[r], 1, nbcoll_bins_type(), nbcoll_sum_reproducible(),
                                     w.comm[r], &request[r]));
    world_finish(&w, (size_t)ranks, request);
    world_close(&w);
    for (int r = 1; r < ranks; r++)
        assert_int_equal(bits_of(nbcoll_bins_value(&bins[r])), bits_of(nbcoll_bins_value(&bins[0])));
    return nbcoll_bins_value(&bins[0]);
}

/* Numbers whose exponents are random within `range` of 2^middle. */
static void fill(double *x, size_t n, int middle, unsigned range, uint64_t *random)
{
    for (size_t i = 0; i < n; i++) {
        double fraction = (double)(int64_t)world_random(random) * 0x1p-63;
        x[i] = ldexp(fraction, middle + (int)(world_random(random) % range) - (int)range / 2);
    }
}

static void bits_depend_on_numbers_only(void **state)
{
    static const struct {
        int middle;
        unsigned range;
    } kinds[] = {{0, 1}, {0, 40}, {-1060, 30}, {990, 60}, {0, 2000}, {-1000, 150}};
    static double x[NUMBERS];
    uint64_t random = seed_of_test();

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        fill(x, NUMBERS, kinds[k].middle, kinds[k].range, &random);
        double first = sum_over(1, x, NUMBERS, &random);
        assert_true(isfinite(first) && first != 0);
        for (int ranks = 1; ranks <= RANKS; ranks++) {
            shuffle(x, NUMBERS, &random);
            assert_int_equal(bits_of(sum_over(ranks, x, NUMBERS, &random)), bits_of(first));
        }
    }
}

/* Multiples of 2^-20 below 2^40: integers add them up exactly; C rounds the result once. */
static void sums_that_fit_are_rounded_once(void **state)
{
    uint64_t random = seed_of_test();

    (void)state;
    for (int round = 0; round < 300; round++) {
        nbcoll_bins bins = {{0}, 0, 0};
        wide exact = 0;
        size_t n = 1 + world_random(&random) % 200;
        for (size_t i = 0; i < n; i++) {
            unsigned up = (unsigned)(world_random(&random) % 8);
            int64_t whole = (int64_t)world_random(&random) >> 11; /* 53 bits */
            double number = ldexp((double)whole, (int)up - 20);
            exact += (wide)whole * (1 << up);
            nbcoll_bins_add(&bins, &number, 1);
        }
        assert_int_equal(bits_of(nbcoll_bins_value(&bins)), bits_of(ldexp((double)exact, -20)));
    }
}

/* Numbers of any size: the long double sum in order of size is much closer than the bound. */
static void sums_are_as_near_as_promised(void **state)
{
    static double x[NUMBERS];
    uint64_t random = seed_of_test();

    (void)state;
    for (unsigned range = 1; range < 200; range += 13) {
        nbcoll_bins bins = {{0}, 0, 0};
        long double sum = 0;
        double most = 0;
        fill(x, NUMBERS, 0, range, &random);
        nbcoll_bins_add(&bins, x, NUMBERS);
        for (size_t i = 0; i < NUMBERS; i++) {
            sum += (long double)x[i];
            most = fmax(most, fabs(x[i]));
        }
        long double off = fabsl(sum - (long double)nbcoll_bins_value(&bins));
        assert_true(off <= NUMBERS * (long double)most * 0x1p-56L + 0x1p-52L * fabsl(sum));
    }
}

static double sum_of(size_t n, const double x[])
{
    nbcoll_bins bins = {{0}, 0, 0};
    nbcoll_bins_add(&bins, x, n);
    return nbcoll_bins_value(&bins);
}
#define SUM(...) sum_of(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})

static void special_numbers_are_summed(void **state)
{
    static const double edges[] = {1, 0x1.fffffffffffffp1023, 0x1p-1074, 0x1p-1022, 0x0.fffffffffffffp-1022,
                                   0x1.8p-1060, 0x1p27, 0x1p28, 0x1.fffffffffffffp28};
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        assert_int_equal(bits_of(SUM(edges[i])), bits_of(edges[i]));
        assert_int_equal(bits_of(SUM(-edges[i])), bits_of(-edges[i]));
        assert_int_equal(bits_of(SUM(edges[i], -edges[i])), bits_of(0.0));
    }
    assert_int_equal(bits_of(SUM(-0.0)), bits_of(-0.0));
    assert_int_equal(bits_of(SUM(-0.0, 0.0)), bits_of(0.0));
    assert_int_equal(bits_of(sum_of(0, edges)), bits_of(0.0));
    assert_true(SUM(1e308, 1e308) == INFINITY && SUM(-1e308, -1e308) == -INFINITY);
    assert_true(SUM(INFINITY, -1e308) == INFINITY && SUM(1, -INFINITY) == -INFINITY);
    assert_true(isnan(SUM(INFINITY, -INFINITY)) && isnan(SUM(1, NAN)));
    assert_true(SUM(1e308, 1e308, -1e308) == 1e308); /* no sum on the way overflows */
    assert_true(SUM(1, 0x1p-53) == 1 && SUM(1, 0x1p-53, 0x1p-60) == 1 + 0x1p-52); /* a tie, and none */
    assert_true(SUM(1 + 0x1p-52, 0x1p-53) == 1 + 0x1p-51 && SUM(-1, -0x1p-53, -0x1p-60) == -1 - 0x1p-52);
    assert_true(SUM(0x1p-1074, 0x1p-1074) == 0x1p-1073 && SUM(0x1p-1022, -0x1p-1074) == 0x0.fffffffffffffp-1022);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_depend_on_numbers_only),
        cmocka_unit_test(sums_that_fit_are_rounded_once),
        cmocka_unit_test(sums_are_as_near_as_promised),
        cmocka_unit_test(special_numbers_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
