/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll info --json` and `nbcoll verify --json` print is one JSON object, with these members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "output.h"

static void info_lists_what_the_library_has(void **state)
{
    (void)state;
    json_t *root = output_of("info --json");
    assert_int_equal(json_integer_value(json_object_get(root, "abi")), NBCOLL_ABI);
    assert_true(json_is_string(json_object_get(root, "version")));
    assert_true(json_is_array(json_object_get(root, "transports")));
    assert_true(json_array_size(json_object_get(root, "vectors")) > 0);
    assert_int_equal(json_array_size(json_object_get(root, "reductions")), NBCOLL_OP_COUNT);
    json_t *types = json_object_get(root, "types");
    assert_int_equal(json_object_size(types), NBCOLL_TYPE_COUNT);
    assert_int_equal(json_integer_value(json_object_get(types, "DOUBLE")), 8);
    json_t *operations = json_object_get(root, "operations");
    assert_int_equal(json_object_size(operations), NBCOLL_OPERATION_COUNT);
    assert_string_equal(json_string_value(json_array_get(json_object_get(operations, "bcast"), 0)),
                        nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, 0)->name);
    json_decref(root);
}

static void verify_lists_a_result_for_each_algorithm(void **state)
{
    (void)state;
    json_t *root = output_of("verify --json --ranks 2..3 --count 4");
    json_t *results = json_object_get(root, "results"), *row;
    size_t expected = 0, i;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned k = 0; nbcoll_algorithm_at((nbcoll_operation)operation, k); k++)
            expected++;
    assert_int_equal(json_array_size(results), expected);
    json_array_foreach(results, i, row)
    {
        int rooted = strcmp(json_string_value(json_object_get(row, "operation")), "bcast") == 0;
        assert_true(json_is_string(json_object_get(row, "algorithm")));
        assert_true(json_is_true(json_object_get(row, "proved")));
        assert_null(json_object_get(row, "refutation"));
        if (rooted) /* in each form: 2 roots of 2 ranks, 3 roots of 3 ranks */
            assert_int_equal(json_integer_value(json_object_get(row, "cases")) % 5, 0);
    }
    assert_non_null(strstr(json_string_value(json_object_get(root, "covered")), "2..3 ranks; any root; counts 4; "));
    assert_non_null(strstr(json_string_value(json_object_get(root, "not_covered")), "more than 3 ranks; "));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_lists_what_the_library_has),
        cmocka_unit_test(verify_lists_a_result_for_each_algorithm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
