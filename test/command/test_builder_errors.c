/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nbcoll show` says of an algorithm whose builder makes a mistake. The library has none, so the subcommand is
 * compiled here with a table of one broadcast, which sends to a rank that does not exist.
 */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/command/cases.c"
#include "../../src/command/json.c"
#include "../../src/command/options.c"
#include "../../src/command/show.c"
#include "../../src/command/timeline_svg.c"
#include "../../src/command/timeline.c"
#include "../../src/command/timeline_waits.c"

static void beyond(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_join(b);
    nbcoll_add_send(b, b->ranks, a->recv, a->bytes);
}

static const nbcoll_algorithm wrong = {sizeof wrong, "beyond", NBCOLL_OPERATION_BCAST, beyond, 0, NULL};

const nbcoll_algorithm *catalogue_at(nbcoll_operation operation, unsigned i)
{
    return operation == NBCOLL_OPERATION_BCAST && i == 0 ? &wrong : NULL;
}

const nbcoll_algorithm *catalogue_find(nbcoll_operation operation, const char *name)
{
    return operation == NBCOLL_OPERATION_BCAST && strcmp(name, wrong.name) == 0 ? &wrong : NULL;
}

static void rank_step_and_call_are_named_on_standard_error(void **state)
{
    (void)state;
    char text[4096], *argv[] = {"show", "bcast", "beyond", "--ranks", "4", "--rank", "2", NULL};
    int how;
    FILE *file = tmpfile();
    assert_non_null(file);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(file), STDERR_FILENO);
        command_show.run(&command_show, 7, argv);
        _exit(COMMAND_OK);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), COMMAND_FAILED);
    if (!strstr(text, "nbcoll show: bcast/beyond: rank 2 of 4, step 3, nbcoll_add_send: peer 4 is outside 0..3\n"))
        fail_msg("%s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rank_step_and_call_are_named_on_standard_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
