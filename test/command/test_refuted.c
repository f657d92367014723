/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nbcoll verify` does with an algorithm that is wrong. The library has none, so the subcommand is compiled here
 * with a table of broadcasts: a right one, one that forgets the last rank, and one that forwards too early.
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
#include <jansson.h>

#include "../../src/command/cases.c"
#include "../../src/command/json.c"
#include "../../src/command/options.c"
#include "../../src/command/verify.c"

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void flat(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int rank = 0; b->rank == a->root && rank < b->ranks; rank++)
        if (rank != a->root)
            nbcoll_add_send(b, rank, a->recv, a->bytes);
    if (b->rank != a->root)
        nbcoll_add_recv(b, a->root, a->recv, a->bytes);
}

/* Right for two ranks. Of three the last one waits for ever. */
static void forgetful(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int rank = 0; b->rank == a->root && rank < b->ranks; rank++)
        if (rank != a->root && rank < 2)
            nbcoll_add_send(b, rank, a->recv, a->bytes);
    if (b->rank != a->root)
        nbcoll_add_recv(b, a->root, a->recv, a->bytes);
}

/* A chain whose middle ranks send what they may not have received yet. */
static void hasty(nbcoll_builder *b, const nbcoll_args *a)
{
    int place = (b->rank - a->root + b->ranks) % b->ranks;
    if (place > 0)
        nbcoll_add_recv(b, (b->rank + b->ranks - 1) % b->ranks, a->recv, a->bytes);
    if (place + 1 < b->ranks)
        nbcoll_add_send(b, (b->rank + 1) % b->ranks, a->recv, a->bytes);
}

static void beyond(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_recv(b, b->ranks, a->recv, a->bytes);
}

/* A gather of blocks that puts them behind each other even where displacements say otherwise. */
static void mislaid(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region from = nbcoll_send_block(b, a, a->root);
    size_t place = 0;
    if (b->rank != a->root)
        nbcoll_add_send(b, a->root, from.at, from.bytes);
    for (int rank = 0; b->rank == a->root && rank < b->ranks; rank++) {
        nbcoll_addr to = nbcoll_at(a->recv, place);
        size_t bytes = a->counts[rank] * a->element;
        place += bytes;
        if (rank != a->root)
            nbcoll_add_recv(b, rank, to, bytes);
        else if (!a->in_place)
            nbcoll_add_copy(b, to, from.at, bytes);
    }
}

static const nbcoll_algorithm table[] = {
    {sizeof(nbcoll_algorithm), "flat", NBCOLL_OPERATION_BCAST, flat, 0, NULL},
    {sizeof(nbcoll_algorithm), "forgetful", NBCOLL_OPERATION_BCAST, forgetful, 0, NULL},
    {sizeof(nbcoll_algorithm), "hasty", NBCOLL_OPERATION_BCAST, hasty,
     NBCOLL_ALGORITHM_SEGMENT | NBCOLL_ALGORITHM_ARITY | NBCOLL_ALGORITHM_PORTS, NULL},
};

static const nbcoll_algorithm gatherv = {sizeof gatherv, "mislaid", NBCOLL_OPERATION_GATHERV, mislaid,
                                         NBCOLL_ALGORITHM_COUNTS, NULL};

/* Only where a test asks for it; standard error then goes where standard output goes. */
static int has_mistake;
static const nbcoll_algorithm reduce = {sizeof reduce, "beyond", NBCOLL_OPERATION_REDUCE, beyond, 0, NULL};

const nbcoll_algorithm *catalogue_at(nbcoll_operation operation, unsigned i)
{
    if (operation == NBCOLL_OPERATION_GATHERV && i == 0)
        return &gatherv;
    if (operation == NBCOLL_OPERATION_REDUCE && has_mistake && i == 0)
        return &reduce;
    return operation == NBCOLL_OPERATION_BCAST && i < sizeof table / sizeof table[0] ? &table[i] : NULL;
}

const nbcoll_algorithm *catalogue_find(nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *a;
    for (unsigned i = 0; (a = catalogue_at(operation, i)); i++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

/* ---- running it ------------------------------------------------------------------------------------------------ */

/* Runs verify with these arguments, up to a null; its standard output goes to `text`. Returns the exit status. */
static int verify_with(char *text, size_t most, char *argv[])
{
    int argc = 0, how;
    while (argv[argc])
        argc++;
    fflush(stdout);
    FILE *file = tmpfile();
    assert_non_null(file);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(file), STDOUT_FILENO);
        if (has_mistake)
            dup2(fileno(file), STDERR_FILENO);
        command_verify.run(&command_verify, argc, argv);
        exit(COMMAND_OK);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    rewind(file);
    text[fread(text, 1, most - 1, file)] = '\0';
    fclose(file);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is missing in:\n%s", part, text);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void a_refuted_algorithm_makes_the_exit_status_1_and_the_others_are_still_proved(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "--ranks", "1..4", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    assert_says(text, "bcast                flat                     160  proved\n");
    assert_says(text, "\nbcast                forgetful ");
    assert_says(text, "\nbcast                hasty ");
}

static void a_builders_mistake_is_named_by_rank_step_and_call(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "reduce", "--ranks", "3", NULL};
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    has_mistake = 1;
    int status = verify_with(text, sizeof text, argv);
    has_mistake = 0;
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(status, COMMAND_FAILED);
    assert_says(text, "nbcoll verify: reduce beyond: a rank lies outside the communicator. reduce/beyond: rank 0 of 3, "
                      "step 2, nbcoll_add_recv: peer 3 is outside 0..2\n");
}

static void where_the_wrong_algorithm_is_right_it_is_proved(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "bcast", "forgetful", "--ranks", "1..2", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_OK);
}

static void the_smallest_case_is_named_and_the_ranks_concerned_are_drawn(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "bcast", "forgetful", "--count", "5", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    assert_says(text, "refuted: NO_SEND\n");
    assert_says(text, "The smallest case: --ranks 3 --root 0 --count 5.");
    assert_says(text, "schedule bcast/forgetful: rank 2 of 3");
    assert_says(text, "RECV recv[0,20) <- rank 0 #0\n");
    assert_says(text, "schedule bcast/forgetful: rank 0 of 3");
    assert_null(strstr(text, "rank 1 of 3"));
}

static void a_race_is_named_by_its_steps_and_bytes(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "bcast", "hasty", "--count", "0,6", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    assert_says(text, "refuted: RACE\n");
    assert_says(text, "The smallest case: --ranks 3 --root 0 --count 6.");
    assert_says(text, "rank 1");
    assert_says(text, "24");
    assert_says(text, "2 RECV recv[0,24) <- rank 0 #0\n");
    assert_says(text, "3 SEND recv[0,24) -> rank 2 #0\n");
}

static void the_form_of_the_blocks_is_named(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "gatherv", "--count", "4", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    assert_says(text, "refuted: STRAY\n");
    assert_says(text, "The smallest case: --ranks 2 --root 0 --count 4 --blocks equal --apart --known.");
    assert_says(text, "schedule gatherv/mislaid: rank 0 of 2");
    char *together[] = {"verify", "gatherv", "--blocks", "rising", NULL};
    assert_int_equal(verify_with(text, sizeof text, together), COMMAND_OK);
}

static void the_parameters_are_named(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "bcast", "hasty", "--count", "6", "--segment", "7", "--ports", "2", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    assert_says(text, "The smallest case: --ranks 3 --root 0 --count 6 --segment 7 --ports 2.");
}

static void the_refutation_is_there_as_json(void **state)
{
    (void)state;
    char text[16384], *argv[] = {"verify", "bcast", "hasty", "--count", "6", "--arity", "5", "--json", NULL};
    assert_int_equal(verify_with(text, sizeof text, argv), COMMAND_REFUTED);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    json_t *why = json_object_get(row, "refutation");
    assert_true(json_is_false(json_object_get(row, "proved")));
    assert_string_equal(json_string_value(json_object_get(why, "flaw")), "RACE");
    assert_int_equal(json_integer_value(json_object_get(why, "ranks")), 3);
    assert_int_equal(json_integer_value(json_object_get(why, "root")), 0);
    assert_int_equal(json_integer_value(json_object_get(why, "count")), 6);
    assert_string_equal(json_string_value(json_object_get(why, "blocks")), "equal");
    assert_true(json_is_false(json_object_get(why, "apart")));
    assert_true(json_is_false(json_object_get(why, "known")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(why, "parameters"), "arity")), 5);
    json_t *places = json_object_get(why, "places"), *first = json_array_get(places, 0);
    assert_int_equal(json_array_size(places), 2);
    assert_int_equal(json_integer_value(json_object_get(first, "rank")), 1);
    assert_string_equal(json_string_value(json_object_get(first, "buffer")), "recv");
    assert_int_equal(json_integer_value(json_object_get(first, "bytes")), 24);
    assert_int_equal(json_array_size(json_object_get(why, "schedules")), 1);
    assert_says(json_string_value(json_array_get(json_object_get(why, "schedules"), 0)), "rank 1 of 3");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refuted_algorithm_makes_the_exit_status_1_and_the_others_are_still_proved),
        cmocka_unit_test(a_builders_mistake_is_named_by_rank_step_and_call),
        cmocka_unit_test(where_the_wrong_algorithm_is_right_it_is_proved),
        cmocka_unit_test(the_smallest_case_is_named_and_the_ranks_concerned_are_drawn),
        cmocka_unit_test(a_race_is_named_by_its_steps_and_bytes),
        cmocka_unit_test(the_form_of_the_blocks_is_named),
        cmocka_unit_test(the_parameters_are_named),
        cmocka_unit_test(the_refutation_is_there_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
