/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the system refuses to say on which cores a process may run (a filter of system calls), `nbcoll info` says so
 * and `nbcoll run` starts ranks that are not bound. hwloc would ask for ever.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "output.h"

static const denial refusals[] = {
    {SYS_sched_getaffinity, EPERM}, {SYS_sched_getaffinity, ENOSYS}, {SYS_sched_getaffinity, EINVAL}};
#define REFUSALS (sizeof refusals / sizeof refusals[0])

static void info_says_that_it_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < REFUSALS; i++) {
        json_t *root = output_without(&refusals[i], "info --json --ranks 2"), *list;
        const char *way, *why = json_string_value(json_object_get(json_object_get(root, "machine"), "why"));
        const json_t *places = json_object_get(root, "places");
        assert_non_null(why);
        assert_non_null(strstr(why, "sched_getaffinity is refused"));
        assert_int_equal(json_object_size(places), 1);
        assert_non_null(json_string_value(json_object_get(places, "why")));
        json_object_foreach(json_object_get(root, "bind"), way, list)
            assert_int_equal(json_array_size(list), 0);
        json_decref(root);
    }
}

/* The address sanitizer itself asks for a new thread's stack by that call, and ends the process. */
static void ranks_start_and_are_not_bound(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__
    skip();
#endif
    for (size_t i = 0; i < REFUSALS; i++) {
        json_t *root = output_without(&refusals[i], "run -n 1 echo '[1]'");
        assert_int_equal(json_array_size(root), 1);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_says_that_it_is_refused),
        cmocka_unit_test(ranks_start_and_are_not_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
