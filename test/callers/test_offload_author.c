/* SPDX-License-Identifier: BSD-3-Clause
 * The algorithm author who wants a NIC to run a builder: compiles what it builds, looks at the program, has it proved
 * equal to the schedule, and is told why one cannot be offloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/offload.h"
#include "nbcoll/show.h"
#include "nbcoll/verify.h"

enum { RANKS = 5 };

static void chain(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step data = NBCOLL_START;
    if (b->rank > 0)
        data = nbcoll_add_recv(b, b->rank - 1, a->recv, a->bytes);
    if (b->rank + 1 < b->ranks)
        nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, a->recv, a->bytes), data);
}

static const nbcoll_algorithm mine = {
    .size = sizeof mine, .name = "chain", .operation = NBCOLL_OPERATION_BCAST, .build = chain};
static const nbcoll_case call = {.size = sizeof call,
                                 .operation = NBCOLL_OPERATION_BCAST,
                                 .ranks = RANKS,
                                 .count = 10,
                                 .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
static nbcoll_schedule *schedule[RANKS];
static nbcoll_program *program[RANKS];

static int compile_all(void **state)
{
    nbcoll_program_config config = {.size = sizeof config};
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        if (nbcoll_build_case(&mine, &call, rank, NULL, &schedule[rank]))
            return -1;
    return (int)nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &config, 0, RANKS, program, NULL);
}

static int free_all(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        nbcoll_program_free(program[rank]);
        nbcoll_schedule_free(schedule[rank]);
    }
    return 0;
}

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

static void the_author_looks_at_a_program(void **state)
{
    char text[4096] = "";
    (void)state;
    assert_int_equal(nbcoll_show_program(program[1], append, text), NBCOLL_OK);
    assert_string_equal(
        text, "program bcast/chain: rank 1 of 5, 4 tasks, 2 connections, 6 queue pairs, 1 eager buffers, 1 copies\n"
              "queue 0: eager, rank 0 inward, holds sends, receives to cq 0\n"
              "  recv eager 0[0,40)\n"
              "queue 1: eager, rank 2 outward, holds sends\n"
              "  send eager 0[0,40)\n"
              "queue 2: management\n"
              "  wait (1) cq 0\n"
              "  send_enable (1) queue 1, signal\n"
              "at the end\n"
              "  calc recv[0,40) <- eager 0[0,40)\n");
}

static void the_author_has_the_programs_proved(void **state)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_refutation why = {.size = sizeof why};
    (void)state;
    assert_int_equal(nbcoll_meaning_of(&call, 0, &meaning), NBCOLL_OK);
    assert_int_equal(nbcoll_verify_programs((const nbcoll_schedule *const *)schedule,
                                            (const nbcoll_program *const *)program, &meaning, NULL, &why),
                     NBCOLL_OK);
    assert_int_equal(why.flaw, NBCOLL_FLAW_NONE);
}

static void the_author_draws_what_a_program_does(void **state)
{
    char text[8192] = "";
    nbcoll_schedule *does;
    (void)state;
    assert_int_equal(nbcoll_program_schedule(program[1], NULL, &does), NBCOLL_OK);
    assert_int_equal(nbcoll_show_dot((const nbcoll_schedule *const *)&does, 1, append, text), NBCOLL_OK);
    assert_non_null(strstr(text, "RECV scratch[0,40)"));
    nbcoll_schedule_free(does);
}

static void the_author_draws_programs_queue_by_queue(void **state)
{
    const nbcoll_program *const twice[] = {program[1], program[1]};
    char text[16384] = "";
    (void)state;
    assert_int_equal(nbcoll_show_programs_dot(twice, 2, append, text), NBCOLL_ERR_ARGUMENT);
    assert_string_equal(text, "");
    assert_int_equal(nbcoll_show_programs_dot(twice, 1, append, text), NBCOLL_OK);
    assert_non_null(strstr(text, "r1_q2_s0 -> r1_cq0_0 [constraint=false, style=dashed]")); /* what its wait consumes */
    assert_non_null(strstr(text, "r1_q2_s1 -> r1_q1_s0 [constraint=false, color=blue]"));   /* what is enabled */
    assert_non_null(strstr(text, "[label=\"calc recv[0,40) <- eager 0[0,40)\"]"));
}

static void the_author_is_told_why_a_schedule_is_not_offloaded(void **state)
{
    nbcoll_program_config config = {.size = sizeof config, .queue_pairs = 5};
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_program *none;
    (void)state;
    assert_int_equal(nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &config, 0, 1, &none, &why),
                     NBCOLL_ERR_UNSUPPORTED);
    assert_string_equal(why.text, "bcast/chain: rank 1: it needs more queue pairs than there may be: 6, and 5 are "
                                  "allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_author_looks_at_a_program),
        cmocka_unit_test(the_author_has_the_programs_proved),
        cmocka_unit_test(the_author_draws_what_a_program_does),
        cmocka_unit_test(the_author_draws_programs_queue_by_queue),
        cmocka_unit_test(the_author_is_told_why_a_schedule_is_not_offloaded),
    };
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
