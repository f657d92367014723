/* SPDX-License-Identifier: BSD-3-Clause
 * Long messages: the queues of figure 3.5 of Inozemtsev's thesis (2014), and what is held where a receive must wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/show.h"
#include "compiled.h"

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

static void one_message(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, a->recv, a->bytes);
    else
        nbcoll_add_recv(b, 0, a->recv, a->bytes);
}

static void assert_text(const nbcoll_program *program, const char *wanted)
{
    char text[4096] = "";
    assert_int_equal(nbcoll_show_program(program, append, text), NBCOLL_OK);
    assert_string_equal(text, wanted);
}

/* The sender's queue holds nothing, and contains the wait for the clear-to-send. */
static void the_sender_waits_in_its_bulk_queue(void **state)
{
    static const nbcoll_algorithm mine = {sizeof mine, "mine", NBCOLL_OPERATION_BCAST, one_message, 0, NULL};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 2, 5000);
    compiled p;
    (void)state;
    assert_int_equal(compiled_open(&p, &mine, &c, NULL), NBCOLL_OK);
    assert_text(p.program[0],
                "program bcast/mine: rank 0 of 2, 3 tasks, 1 connections, 3 queue pairs, 0 eager buffers, 0 copies\n"
                "queue 0: clear, rank 1 outward, receives to cq 0\n"
                "  recv\n"
                "queue 1: bulk, rank 1 outward\n"
                "  wait (1) cq 0\n"
                "  send recv[0,20000)\n");
    assert_text(p.program[1],
                "program bcast/mine: rank 1 of 2, 3 tasks, 1 connections, 3 queue pairs, 0 eager buffers, 0 copies\n"
                "queue 0: clear, rank 0 inward\n"
                "  send\n"
                "queue 1: bulk, rank 0 inward, receives to cq 0\n"
                "  recv recv[0,20000)\n"
                "queue 2: management\n"
                "  wait (1) cq 0, signal\n");
    compiled_close(&p);
}

/* Rank 1 has to pass on what it has before it takes more into the same place. */
static void refill(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, a->recv, a->bytes);
    if (b->rank != 1)
        return;
    nbcoll_addr place = nbcoll_add_scratch(b, a->bytes);
    nbcoll_step copy = nbcoll_add_copy(b, a->recv, place, a->bytes);
    nbcoll_after(b, nbcoll_add_recv(b, 0, place, a->bytes), copy);
}

static void a_receive_that_must_wait_is_held_and_so_is_its_clearing(void **state)
{
    static const nbcoll_algorithm mine = {sizeof mine, "refill", NBCOLL_OPERATION_BCAST, refill, 0, NULL};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 2, 5000);
    compiled p;
    (void)state;
    assert_int_equal(compiled_open(&p, &mine, &c, NULL), NBCOLL_OK);
    assert_text(p.program[1],
                "program bcast/refill: rank 1 of 2, 6 tasks, 1 connections, 3 queue pairs, 0 eager buffers, 0 copies\n"
                "queue 0: clear, rank 0 inward, holds sends\n"
                "  send\n"
                "queue 1: bulk, rank 0 inward, holds receives, receives to cq 0\n"
                "  recv scratch[0,20000)\n"
                "queue 2: management\n"
                "  calc recv[0,20000) <- scratch[0,20000)\n"
                "  receive_enable (1) queue 1\n"
                "  send_enable (1) queue 0\n"
                "  wait (1) cq 0, signal\n");
    compiled_close(&p);
}

static uint32_t managements(nbcoll_operation operation, const char *algorithm, uint32_t most)
{
    nbcoll_case c = compiled_case(operation, 5, 3);
    nbcoll_program_config config = {.size = sizeof config, .management = most};
    compiled p;
    assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(operation, algorithm), &c, &config), NBCOLL_OK);
    uint32_t n = compiled_info(&p, 2).management;
    compiled_close(&p);
    return n;
}

static void independent_branches_have_management_queues_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(managements(NBCOLL_OPERATION_ALLTOALL, "flat", 0), 5); /* four peers, and its own block */
    assert_int_equal(managements(NBCOLL_OPERATION_ALLTOALL, "flat", 2), 2);
    assert_int_equal(managements(NBCOLL_OPERATION_ALLGATHER, "bruck", 0), 1);
}

static void the_threshold_is_the_last_length_that_is_eager(void **state)
{
    static const nbcoll_algorithm mine = {sizeof mine, "mine", NBCOLL_OPERATION_BCAST, one_message, 0, NULL};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 2, 4096);
    compiled p;
    (void)state;
    assert_int_equal(compiled_open(&p, &mine, &c, NULL), NBCOLL_OK);
    assert_int_equal(compiled_info(&p, 1).buffers, 4);
    compiled_close(&p);
    c.count++;
    assert_int_equal(compiled_open(&p, &mine, &c, NULL), NBCOLL_OK);
    assert_int_equal(compiled_info(&p, 1).buffers, 0);
    compiled_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sender_waits_in_its_bulk_queue),
        cmocka_unit_test(a_receive_that_must_wait_is_held_and_so_is_its_clearing),
        cmocka_unit_test(independent_branches_have_management_queues_of_their_own),
        cmocka_unit_test(the_threshold_is_the_last_length_that_is_eager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
