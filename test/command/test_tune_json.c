/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll tune --json` prints agrees with itself: penalties are those of the points, the rules made are within
 * their tolerance of the best, and a file of them, read back, chooses the same. How long anything took is not looked
 * at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "output.h"

#define GRID "tune --simulate --ranks 2,3,7,24 --bytes 0,64,6000,300000 --json"

static json_int_t whole(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The microseconds of the candidate whose index is that member of the point. */
static double us_of(const json_t *point, const char *chooser)
{
    const json_t *time = json_array_get(json_object_get(point, "times"), (size_t)whole(point, chooser));
    assert_true(json_is_real(json_object_get(time, "us")));
    return json_real_value(json_object_get(time, "us"));
}

static double ratio(const json_t *point, const char *chooser)
{
    double best = us_of(point, "best");
    return best > 0 ? us_of(point, chooser) / best : 1;
}

/* Does the row (null stands for all) speak of the point? */
static int speaks_of(const json_t *row, const json_t *point)
{
    const json_t *operation = json_object_get(row, "operation"), *ranks = json_object_get(row, "ranks");
    return (json_is_null(operation) || json_equal(operation, json_object_get(point, "operation"))) &&
           (json_is_null(ranks) || json_equal(ranks, json_object_get(point, "ranks")));
}

static void check_penalties(const json_t *root, const char *chooser)
{
    json_t *rows = json_object_get(json_object_get(root, "penalties"), chooser), *row, *point;
    size_t i, k;
    assert_true(json_array_size(rows) > 0);
    json_array_foreach(rows, i, row)
    {
        double sum = 0, worst = 0;
        int points = 0;
        json_array_foreach(json_object_get(root, "points"), k, point)
        {
            if (!speaks_of(row, point))
                continue;
            sum += ratio(point, chooser);
            worst = fmax(worst, ratio(point, chooser));
            points++;
        }
        assert_int_equal(points, whole(row, "points"));
        /* figures are printed with six digits */
        assert_true(fabs(json_real_value(json_object_get(row, "mean")) - sum / points) < 2e-5 * sum / points);
        assert_true(fabs(json_real_value(json_object_get(row, "worst")) - worst) < 2e-5 * worst);
    }
}

static void check_points(const json_t *root, size_t points)
{
    json_t *point, *time;
    size_t i, k;
    assert_int_equal(json_array_size(json_object_get(root, "points")), points);
    json_array_foreach(json_object_get(root, "points"), i, point)
    {
        json_array_foreach(json_object_get(point, "times"), k, time)
        {
            assert_true(json_real_value(json_object_get(time, "us")) >= us_of(point, "best"));
        }
        assert_true(json_array_size(json_object_get(point, "times")) >= 2);
    }
}

/* What is said of a candidate beside its time. */
static json_t *parameters_of(const json_t *time)
{
    json_t *all = json_copy((json_t *)(uintptr_t)time);
    json_object_del(all, "us");
    json_object_del(all, "noise");
    return all;
}

static void candidates_differ_in_what_is_said_of_them(void **state)
{
    json_t *root = output_of("tune --simulate --ranks 32 --bytes 6000 allgather bcast --json"), *point;
    size_t i;
    (void)state;
    json_array_foreach(json_object_get(root, "points"), i, point)
    {
        json_t *times = json_object_get(point, "times");
        for (size_t k = 0; k < json_array_size(times); k++)
            for (size_t l = 0; l < k; l++) {
                json_t *one = parameters_of(json_array_get(times, k)), *other = parameters_of(json_array_get(times, l));
                assert_false(json_equal(one, other));
                json_decref(one);
                json_decref(other);
            }
    }
    json_decref(root);
}

static void simulated_rules_make_up_for_the_penalty_and_are_read_back(void **state)
{
    char file[] = "/tmp/nbcoll_tune_XXXXXX", arguments[256];
    json_t *made, *given, *point;
    size_t i;
    int fd = mkstemp(file);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(arguments, sizeof arguments, GRID " --output %s", file);
    made = output_of(arguments);
    check_points(made, 4 + 12 * 4 * 4 - 7); /* 24 floats do not fit into 64 bytes in seven operations */
    check_penalties(made, "compiled");
    check_penalties(made, "made");
    assert_true(whole(made, "rules") > 0);
    json_array_foreach(json_object_get(made, "points"), i, point)
    {
        assert_true(ratio(point, "made") <= 1.03 + 1e-9);
        assert_true(us_of(point, "made") <= us_of(point, "compiled"));
    }

    snprintf(arguments, sizeof arguments, GRID " --tuning %s", file);
    given = output_of(arguments);
    unlink(file);
    check_penalties(given, "given");
    json_array_foreach(json_object_get(given, "points"), i, point)
    {
        json_t *before = json_array_get(json_object_get(made, "points"), i);
        assert_true(us_of(point, "given") == us_of(before, "made"));
    }
    json_decref(made);
    json_decref(given);
}

static void all_operations_are_measured(void **state)
{
    json_t *root, *point;
    size_t i;
    (void)state;
    root = output_of("tune --ranks 2 --bytes 5000 --rounds 2 --iterations 2 --json --threads");
    check_points(root, 13);
    check_penalties(root, "compiled");
    json_array_foreach(json_object_get(root, "points"), i, point)
    {
        assert_true(us_of(point, "best") > 0);
        assert_non_null(strchr("SCX-", json_string_value(json_object_get(point, "latency"))[0]));
    }
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_differ_in_what_is_said_of_them),
        cmocka_unit_test(simulated_rules_make_up_for_the_penalty_and_are_read_back),
        cmocka_unit_test(all_operations_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
