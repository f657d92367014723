/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that fails is reported, gives `nbcoll run` its exit status, and takes the other ranks with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "started.h"

static started s;

/* The others sleep in a child of their own, which must end too. */
#define SLEEP "echo ready; sleep 1000; exit 7"
#define RANK_1 "[ $NBCOLL_RANK != 1 ] || "

static void exit_status_is_the_failing_ranks(void **state)
{
    (void)state;
    start(&s, "-n 3", RANK_1 "exit 3; " SLEEP, 0);
    assert_int_equal(finish(&s), 3);
    assert_true(has(&s, "nbcoll run: rank 1 (process "));
    assert_true(has(&s, ") failed: exit status 3\n"));
    assert_int_equal(times(&s, "nbcoll run:"), 1);
}

static void segmentation_fault_is_named(void **state)
{
    (void)state;
    start(&s, "-n 3", RANK_1 "kill -SEGV $$; " SLEEP, 0);
    assert_int_equal(finish(&s), 128 + SIGSEGV);
    assert_true(has(&s, "nbcoll run: rank 1 (process "));
    assert_true(has(&s, ") was killed by signal 11 (SIGSEGV: Segmentation fault)"));
    assert_int_equal(times(&s, "nbcoll run:"), 1);
}

static void rank_killed_from_outside_is_named(void **state)
{
    (void)state;
    start(&s, "-n 3", "[ $NBCOLL_RANK != 2 ] || echo process=$$; " SLEEP, 0);
    await(&s, "ready\n", 3);
    int pid = number_after(&s, "process=");
    kill(pid, SIGKILL);
    assert_int_equal(finish(&s), 128 + SIGKILL);
    assert_int_equal(number_after(&s, "nbcoll run: rank 2 (process "), pid);
    assert_true(has(&s, ") was killed by signal 9 (SIGKILL: Killed)\n"));
}

static void output_before_the_failure_comes(void **state)
{
    (void)state;
    start(&s, "-n 2", RANK_1 "{ echo last words; exit 3; }; " SLEEP, 0);
    assert_int_equal(finish(&s), 3);
    assert_true(has(&s, "last words\n"));
}

static void unknown_program_is_named(void **state)
{
    (void)state;
    start(&s, "-n 2 ./no-such-program", "", 0);
    assert_int_equal(finish(&s), 127);
    assert_string_equal(s.text, "nbcoll run: ./no-such-program: No such file or directory\n");
}

static void program_that_cannot_be_run_is_named(void **state)
{
    (void)state;
    start(&s, "-n 2 /dev/null", "", 0);
    assert_int_equal(finish(&s), 126);
    assert_string_equal(s.text, "nbcoll run: /dev/null: Permission denied\n");
}

static void success_is_silent(void **state)
{
    (void)state;
    start(&s, "-n 4", "exit 0", 0);
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "");
}

static void what_ranks_leave_behind_is_ended(void **state)
{
    (void)state;
    start(&s, "-n 2", "sleep 1000 & setsid sleep 1000 & exit 0", 0);
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_status_is_the_failing_ranks),
        cmocka_unit_test(segmentation_fault_is_named),
        cmocka_unit_test(rank_killed_from_outside_is_named),
        cmocka_unit_test(output_before_the_failure_comes),
        cmocka_unit_test(unknown_program_is_named),
        cmocka_unit_test(program_that_cannot_be_run_is_named),
        cmocka_unit_test(success_is_silent),
        cmocka_unit_test(what_ranks_leave_behind_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
