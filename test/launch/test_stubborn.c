/* SPDX-License-Identifier: BSD-3-Clause
 * What does not end when it is asked to is killed, 2 seconds later; and who does not read our output holds up nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <unistd.h>

#include "started.h"

static started s;

static void rank_that_does_not_end_is_killed_and_named(void **state)
{
    (void)state;
    start(&s, "-n 3", "if [ $NBCOLL_RANK = 1 ]; then trap '' TERM; echo ready; sleep 1000; fi;"
                      "echo ready; sleep 1000; exit 7", 0);
    await(&s, "ready\n", 3);
    kill(s.pid, SIGTERM);
    assert_int_equal(finish(&s), 128 + SIGTERM);
    assert_true(has(&s, "nbcoll run: killed, since it did not end within 2 s: rank 1\n"));
    assert_int_equal(times(&s, "nbcoll run:"), 1);
}

static void interrupt_from_the_terminal_reaches_each_rank_once(void **state)
{
    (void)state;
    start(&s, "-n 2", "trap 'echo asked' INT; sleep 1000 & echo ready; while :; do wait; done", 1);
    await(&s, "ready\n", 2);
    assert_int_equal(write(s.terminal, "\003", 1), 1);
    assert_int_equal(finish(&s), 128 + SIGINT);
    assert_int_equal(times(&s, "asked\n"), 2);
    assert_true(has(&s, "nbcoll run: killed, since it did not end within 2 s: ranks 0, 1\n"));
}

static void unread_output_does_not_delay_the_end(void **state)
{
    (void)state;
    start(&s, "-n 2", "exec yes", 0);
    await(&s, "y\n", 20000);
    kill(s.pid, SIGTERM);
    assert_int_equal(finish_unread(&s), 128 + SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_does_not_end_is_killed_and_named),
        cmocka_unit_test(interrupt_from_the_terminal_reaches_each_rank_once),
        cmocka_unit_test(unread_output_does_not_delay_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
