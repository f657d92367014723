/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench --json` prints is one JSON object with a result for each algorithm, kind of buffers and size,
 * whose numbers agree with each other. How long anything took is not looked at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "output.h"

/* A member that is a real number. */
static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    assert_true(json_is_real(value));
    return json_real_value(value);
}

/* The median of a form, between its least and its most. */
static double median(const json_t *row, const char *form)
{
    const json_t *spread = json_object_get(row, form);
    assert_true(number(spread, "min") >= 0);
    assert_true(number(spread, "min") <= number(spread, "median"));
    assert_true(number(spread, "median") <= number(spread, "max"));
    return number(spread, "median");
}

/* A letter and the time it stands for, or null where there is one core. */
static void check_latency(const json_t *latency)
{
    if (json_is_null(latency))
        return;
    assert_true(number(latency, "us") > 0);
    assert_non_null(strchr("SCX", json_string_value(json_object_get(latency, "letter"))[0]));
}

/* Figures have six digits: each may be wrong by 5 millionths of itself. */
static void check_row(const json_t *row)
{
    double overlapped = median(row, "overlapped"), computing = median(row, "computing");
    double nonblocking = median(row, "nonblocking"), blocking = median(row, "blocking");
    double left = overlapped > computing ? overlapped - computing : 0, rounded = 5e-6 * (overlapped + computing + left);
    assert_true(json_is_string(json_object_get(row, "algorithm")));
    assert_true(fabs(number(row, "left") - left) <= rounded);
    assert_true(fabs(number(row, "overlap") - 1 + left / nonblocking) <= 2 * rounded / nonblocking + 5e-6);
    assert_true(number(row, "overlap") <= 1);
    assert_true(fabs(number(row, "saved") - 1 + left / blocking) <= 2 * rounded / blocking + 5e-6);
    check_latency(json_object_get(row, "latency_before"));
    check_latency(json_object_get(row, "latency_after"));
}

static void each_entry_has_a_result_in_each_size(void **state)
{
    (void)state;
    json_t *root = output_of("bench bcast --algorithm slots,binomial --buffers both --count 2,700 --tests 3 "
                             "--rounds 2 --iterations 5 --json");
    json_t *results = json_object_get(root, "results"), *row;
    size_t i;
    assert_int_equal(json_integer_value(json_object_get(root, "tests")), 3);
    assert_int_equal(json_array_size(results), 2 * 2 * 2);
    json_array_foreach(results, i, row)
    {
        static const char *const algorithms[] = {"slots", "binomial"}, *const buffers[] = {"reused", "changing"};
        assert_string_equal(json_string_value(json_object_get(row, "algorithm")), algorithms[i / 2 % 2]);
        assert_string_equal(json_string_value(json_object_get(row, "buffers")), buffers[i % 2]);
        assert_int_equal(json_integer_value(json_object_get(row, "bytes")), i / 4 ? 2800 : 8);
        check_row(row);
    }
    json_decref(root);
}

/* Each form of the call is served by the algorithm of the entry; blocks may be bound. */
static void an_algorithm_is_forced_by_a_rule(void **state)
{
    (void)state;
    json_t *root = output_of("bench alltoallw --algorithm pairwise --count 4 --rounds 2 --iterations 5 --json");
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "served_by")), "pairwise");
    assert_string_equal(json_string_value(json_object_get(row, "reason")), "RULE");
    assert_string_equal(json_string_value(json_object_get(row, "why")), "--algorithm");
    check_row(row);
    json_decref(root);
}

static void without_computation_there_is_an_overlap_too(void **state)
{
    (void)state;
    json_t *root = output_of("bench allreduce --count 64 --compute 0 --tests 0 --rounds 2 --iterations 5 --json");
    check_row(json_array_get(json_object_get(root, "results"), 0));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entry_has_a_result_in_each_size),
        cmocka_unit_test(an_algorithm_is_forced_by_a_rule),
        cmocka_unit_test(without_computation_there_is_an_overlap_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
