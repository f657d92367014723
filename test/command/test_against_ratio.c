/* SPDX-License-Identifier: BSD-3-Clause
 * The statistics of `nbcoll bench --against`: ratios of rounds, and their intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/command/bench_spread.c"

static int is_near(double a, double b)
{
    return a > b - 1e-9 && a < b + 1e-9;
}

/* Rounds in which both took ten times as long, as in another latency class of the machine, change nothing. */
static void the_ratio_is_of_what_took_turns(void **state)
{
    (void)state;
    double ours[30], theirs[30];
    for (int i = 0; i < 30; i++) {
        theirs[i] = i % 3 ? 2 : 20;
        ours[i] = theirs[i] * 0.7;
    }
    against_interval r = against_ratio(ours, theirs, 30);
    assert_true(is_near(r.median, 0.7) && is_near(r.low, 0.7) && is_near(r.high, 0.7));
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Over many sets of rounds from one distribution, whose median is 1, nearly all intervals have it inside, and some have
 * not: they are neither too narrow nor of no use. */
static void the_interval_has_the_median_inside_as_often_as_it_says(void **state)
{
    (void)state;
    uint64_t random = 12345;
    int inside = 0, sets = 40;
    for (int s = 0; s < sets; s++) {
        double ours[30], theirs[30];
        for (int i = 0; i < 30; i++) {
            theirs[i] = 1;
            ours[i] = 0.5 + (double)(next_random(&random) % 10000) / 10000;
        }
        against_interval r = against_ratio(ours, theirs, 30);
        assert_true(r.low <= r.median && r.median <= r.high);
        inside += r.low <= 1 && 1 <= r.high;
    }
    assert_in_range(inside, sets * 85 / 100, sets - 1);
}

/* Of 30 rounds nine lie on each side of it. */
static void the_interval_is_between_two_rounds(void **state)
{
    (void)state;
    double ours[30], theirs[30];
    for (int i = 0; i < 30; i++) {
        ours[i] = 1 + i * 7 % 30;
        theirs[i] = 1;
    }
    against_interval r = against_ratio(ours, theirs, 30);
    assert_true(is_near(r.low, 10) && is_near(r.median, 15.5) && is_near(r.high, 21));
}

/* With one round there is no other. */
static void a_single_round_is_its_interval(void **state)
{
    (void)state;
    against_interval r = against_ratio((double[]){3}, (double[]){2}, 1);
    assert_true(is_near(r.low, 1.5) && is_near(r.median, 1.5) && is_near(r.high, 1.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ratio_is_of_what_took_turns),
        cmocka_unit_test(the_interval_has_the_median_inside_as_often_as_it_says),
        cmocka_unit_test(the_interval_is_between_two_rounds),
        cmocka_unit_test(a_single_round_is_its_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
