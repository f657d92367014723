/* SPDX-License-Identifier: BSD-3-Clause
 * Whatever stops `nbcoll run`, no process is left: neither a rank nor what a rank has started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <unistd.h>

#include "started.h"

static started s;

/* The shell waits for a child, which must end too. */
#define SLEEP "echo ready; sleep 1000; exit 7"
/* The shells have children in the background, which a terminal does not interrupt. */
static void interrupt_from_the_terminal_leaves_no_process(void **state)
{
    (void)state;
    start(&s, "-n 3", "sleep 1000 & echo ready; wait", 1);
    await(&s, "ready\n", 3);
    assert_int_equal(write(s.terminal, "\003", 1), 1);
    assert_int_equal(finish(&s), 128 + SIGINT);
    assert_false(has(&s, "nbcoll run:"));
}

/* The child is there before the trap is, and can lose no signal to it. It may end before its parent is asked, which
 * stays for that. */
#define LISTEN(signal) "sleep 1000 & trap 'echo asked; kill $!; exit 7' " signal "; echo ready; while :; do wait; done"

static void signal_is_passed_on(int number, const char *script)
{
    start(&s, "-n 2", script, 0);
    await(&s, "ready\n", 2);
    kill(s.pid, number);
    assert_int_equal(finish(&s), 128 + number);
    assert_int_equal(times(&s, "asked\n"), 2);
    assert_false(has(&s, "nbcoll run:"));
}

static void signals_are_passed_on(void **state)
{
    (void)state;
    signal_is_passed_on(SIGTERM, LISTEN("TERM"));
    signal_is_passed_on(SIGINT, LISTEN("INT"));
    signal_is_passed_on(SIGHUP, LISTEN("HUP"));
}

static void killed_guard_leaves_no_process(void **state)
{
    (void)state;
    start(&s, "-n 3", SLEEP, 0);
    await(&s, "ready\n", 3);
    kill(s.pid, SIGKILL);
    assert_int_equal(finish(&s), -1 - SIGKILL);
}

static void killed_launcher_leaves_no_rank(void **state)
{
    (void)state;
    start(&s, "-n 3", "echo launcher=$PPID; echo ready; exec sleep 1000", 0);
    await(&s, "ready\n", 3);
    int launcher = number_after(&s, "launcher=");
    assert_int_not_equal(launcher, s.pid);
    kill(launcher, SIGKILL);
    assert_int_equal(finish(&s), 128 + SIGKILL);
    assert_true(has(&s, "nbcoll run: the launcher was killed by signal 9, and the ranks with it\n"));
}

static void guard_and_launcher_killed_leave_no_rank(void **state)
{
    (void)state;
    start(&s, "-n 3", "echo launcher=$PPID; echo ready; exec sleep 1000", 0);
    await(&s, "ready\n", 3);
    kill(number_after(&s, "launcher="), SIGSTOP);
    kill(s.pid, SIGKILL);
    kill(number_after(&s, "launcher="), SIGKILL);
    assert_int_equal(finish(&s), -1 - SIGKILL);
}

static void timeout_is_reported_and_leaves_no_process(void **state)
{
    (void)state;
    start(&s, "-n 3 --timeout 0.3", "[ $NBCOLL_RANK != 1 ] || exit 0; " SLEEP, 0);
    assert_int_equal(finish(&s), 124);
    assert_true(has(&s, "nbcoll run: the time of 0.3 s is over; still running: ranks 0 ("));
    assert_true(has(&s, "), 2 (")); /* and what each of them does */
    assert_int_equal(times(&s, "nbcoll run:"), 1);
}

static void time_that_suffices_is_not_reported(void **state)
{
    (void)state;
    start(&s, "-n 2 --timeout 1000", "exit 0", 0);
    assert_int_equal(finish(&s), 0);
    assert_string_equal(s.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupt_from_the_terminal_leaves_no_process),
        cmocka_unit_test(signals_are_passed_on),
        cmocka_unit_test(killed_guard_leaves_no_process),
        cmocka_unit_test(killed_launcher_leaves_no_rank),
        cmocka_unit_test(guard_and_launcher_killed_leave_no_rank),
        cmocka_unit_test(timeout_is_reported_and_leaves_no_process),
        cmocka_unit_test(time_that_suffices_is_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
