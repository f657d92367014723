/* SPDX-License-Identifier: BSD-3-Clause
 * Programs are those of Inozemtsev's thesis (2014): its tables 2.2 and 4.1, and its counts of queue pairs; and what
 * memory making them takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiled.h"

static void say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + strlen(text), 4096 - strlen(text), format, arguments);
    va_end(arguments);
}

static int peer_of_cq(const nbcoll_program *program, uint32_t cq)
{
    const nbcoll_queue_view *q;
    for (uint32_t i = 0; (q = nbcoll_program_queue(program, i)); i++)
        if (q->receive_cq == cq)
            return q->peer;
    return -1;
}

/* The management queue as table 2.2 writes it: by peers. */
static void write_management(const nbcoll_program *program, const nbcoll_queue_view *q, char *text)
{
    for (uint32_t i = 0; i < q->send_count; i++) {
        const nbcoll_task *t = &q->sends[i];
        int is_wait = t->kind == NBCOLL_TASK_WAIT;
        int peer = is_wait ? peer_of_cq(program, t->cq) : nbcoll_program_queue(program, t->queue)->peer;
        assert_int_equal(t->count, 1);
        say(text, "%s (%d%s)\n", nbcoll_task_name(t->kind), peer, t->signal ? ", signal" : "");
    }
}

static void a_barrier_by_recursive_doubling_of_8_is_table_2_2(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BARRIER, 8, 0);
    char text[4096] = "";
    compiled p;
    (void)state;
    assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "recursive_doubling"), &c, NULL),
                     NBCOLL_OK);
    assert_int_equal(compiled_info(&p, 0).queues, 4);
    for (uint32_t i = 0; i < 3; i++) { /* RQ and SQ of ranks 1, 2, 4: recv, and send that is held */
        const nbcoll_queue_view *q = nbcoll_program_queue(p.program[0], i);
        assert_int_equal(q->peer, 1 << i);
        assert_int_equal(q->held, NBCOLL_HOLDS_SENDS);
        assert_int_equal(q->send_count, 1);
        assert_int_equal(q->sends[0].kind, NBCOLL_TASK_SEND);
        assert_int_equal(q->receive_count, 1);
        assert_int_equal(q->receives[0].kind, NBCOLL_TASK_RECV);
    }
    write_management(p.program[0], nbcoll_program_queue(p.program[0], 3), text);
    assert_string_equal(text, "send_enable (1)\n"
                              "wait (1)\n"
                              "send_enable (2)\n"
                              "wait (2)\n"
                              "send_enable (4)\n"
                              "wait (4, signal)\n");
    compiled_close(&p);
}

/* Table 4.1 leaves out what enables: each of its steps is what is enabled, and received from the same rank, and the
 * wait. */
static void write_steps(const nbcoll_program *program, const nbcoll_queue_view *q, char *text)
{
    for (uint32_t i = 0; i + 1 < q->send_count; i += 2) {
        const nbcoll_task *enable = &q->sends[i], *wait = &q->sends[i + 1];
        assert_int_equal(enable->kind, NBCOLL_TASK_SEND_ENABLE);
        assert_int_equal(wait->kind, NBCOLL_TASK_WAIT);
        const nbcoll_queue_view *pair = nbcoll_program_queue(program, enable->queue);
        assert_int_equal(enable->count, pair->send_count);
        for (uint32_t k = 0; k < pair->receive_count; k++)
            say(text, "%s from %d\n", nbcoll_task_name(pair->receives[k].kind), pair->peer);
        for (uint32_t k = 0; k < pair->send_count; k++)
            say(text, "%s to %d\n", nbcoll_task_name(pair->sends[k].kind), pair->peer);
        say(text, "wait (%u recv CQ) from %d\n", (unsigned)wait->count, peer_of_cq(program, wait->cq));
    }
}

static void an_eager_standard_exchange_of_8_is_table_4_1(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLGATHER, 8, 1024);
    char text[4096] = "";
    compiled p;
    (void)state;
    c.in_place = 1; /* the table has no copy */
    assert_int_equal(
        compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "recursive_doubling"), &c, NULL),
        NBCOLL_OK);
    write_steps(p.program[0], nbcoll_program_queue(p.program[0], compiled_info(&p, 0).queues - 1), text);
    assert_string_equal(text, "recv from 1\nsend to 1\nwait (1 recv CQ) from 1\n"
                              "recv from 2\nrecv from 2\nsend to 2\nsend to 2\nwait (2 recv CQ) from 2\n"
                              "recv from 4\nrecv from 4\nrecv from 4\nrecv from 4\n"
                              "send to 4\nsend to 4\nsend to 4\nsend to 4\nwait (4 recv CQ) from 4\n");
    assert_int_equal(compiled_info(&p, 0).copies, 7); /* "the result is copied out from the eager buffers" */
    compiled_close(&p);
}

/* What has come is sent on from where it lies. */
static void what_came_is_sent_on_from_its_eager_buffer(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLGATHER, 8, 1024);
    compiled p;
    (void)state;
    c.in_place = 1;
    compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "recursive_doubling"), &c, NULL);
    const nbcoll_queue_view *q = nbcoll_program_queue(p.program[0], 1);
    assert_int_equal(q->peer, 2);
    assert_int_equal(q->sends[0].read[0].eager, NBCOLL_NO_QUEUE); /* its own block */
    assert_int_equal(q->sends[1].read[0].eager, nbcoll_program_queue(p.program[0], 0)->receives[0].write.eager);
    compiled_close(&p);
}

static uint64_t pairs(const char *algorithm, int ranks, uint32_t in_flight)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLGATHER, ranks, 16);
    nbcoll_program_config config = {.size = sizeof config, .in_flight = in_flight};
    uint64_t most = 0;
    compiled p;
    assert_int_equal(compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, algorithm), &c, &config),
                     NBCOLL_OK);
    for (int rank = 0; rank < ranks; rank++)
        most = compiled_info(&p, rank).queue_pairs > most ? compiled_info(&p, rank).queue_pairs : most;
    compiled_close(&p);
    return most;
}

/* Section 4.5.2: of 128 ranks, and of 16. */
static void queue_pairs_are_as_many_as_the_thesis_counts(void **state)
{
    (void)state;
    assert_int_equal(pairs("recursive_doubling", 128, 1), 21);
    assert_int_equal(pairs("bruck", 128, 1), 42);
    assert_int_equal(pairs("ring", 128, 1), 6);
    assert_int_equal(pairs("recursive_doubling", 16, 1), 12);
    assert_int_equal(pairs("bruck", 16, 1), 24);
    assert_int_equal(pairs("ring", 16, 1), 6);
}

static void each_operation_in_flight_has_queue_pairs_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(pairs("recursive_doubling", 128, 8), 8 * 21);
    assert_int_equal(pairs("bruck", 128, 8), 8 * 42);
    assert_int_equal(pairs("ring", 128, 8), 8 * 6);
    assert_int_equal(pairs("recursive_doubling", 16, 8), 8 * 12);
    assert_int_equal(pairs("bruck", 16, 8), 8 * 24);
    assert_int_equal(pairs("ring", 16, 8), 8 * 6);
}

static size_t asked;

static void *ask(void *user, size_t bytes, size_t align)
{
    (void)user;
    asked += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static size_t asked_for(int ranks)
{
    const nbcoll_host host = {.size = sizeof host, .alloc = ask, .free = give_back};
    const nbcoll_program_config config = {.size = sizeof config, .host = &host};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, ranks, 1);
    nbcoll_program *program;
    asked = 0;
    assert_int_equal(nbcoll_compile_case(nbcoll_algorithm_find(c.operation, "binomial"), &c, NULL, &config, 0, 1,
                                         &program, NULL), NBCOLL_OK);
    nbcoll_program_free(program);
    return asked;
}

/* Four times the ranks have four times the messages of a broadcast; a rank's memory goes by its own messages. */
static void memory_goes_by_messages_and_not_by_pairs_of_ranks(void **state)
{
    (void)state;
    assert_in_range(asked_for(4096), 1, 5 * asked_for(1024));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_by_recursive_doubling_of_8_is_table_2_2),
        cmocka_unit_test(an_eager_standard_exchange_of_8_is_table_4_1),
        cmocka_unit_test(what_came_is_sent_on_from_its_eager_buffer),
        cmocka_unit_test(queue_pairs_are_as_many_as_the_thesis_counts),
        cmocka_unit_test(each_operation_in_flight_has_queue_pairs_of_its_own),
        cmocka_unit_test(memory_goes_by_messages_and_not_by_pairs_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
