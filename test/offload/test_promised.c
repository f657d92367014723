/* SPDX-License-Identifier: BSD-3-Clause
 * Each thing that nbcoll_verify_programs promises of a program's tables is looked at by itself: a small program that
 * breaks it alone, or first, is refuted with its flaw. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/offload.h"
#include "compiled.h"

static nbcoll_task *task_of(const nbcoll_task *t)
{
    return (nbcoll_task *)(uintptr_t)t; /* a program that no test changes stays as it is */
}

static void swap(const nbcoll_task *tasks, uint32_t one, uint32_t other)
{
    nbcoll_task kept = tasks[one];
    *task_of(&tasks[one]) = tasks[other];
    *task_of(&tasks[other]) = kept;
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

static void message(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, a->recv, a->bytes);
    else
        nbcoll_add_recv(b, 0, a->recv, a->bytes);
}

/* Rank 1 takes the long message when a short one has come. */
static void in_order(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0) {
        nbcoll_add_send(b, 1, a->recv, 4);
        nbcoll_add_send(b, 1, a->recv, a->bytes);
        return;
    }
    nbcoll_step first = nbcoll_add_recv(b, 0, nbcoll_add_scratch(b, 4), 4);
    nbcoll_after(b, nbcoll_add_recv(b, 0, a->recv, a->bytes), first);
}

static const nbcoll_algorithm one = {sizeof one, "one", NBCOLL_OPERATION_BCAST, message, 0, NULL};
static const nbcoll_algorithm held = {sizeof held, "held", NBCOLL_OPERATION_BCAST, in_order, 0, NULL};

/* ---- what is done to a program --------------------------------------------------------------------------------- */

static nbcoll_queue_view *queue_of(nbcoll_program *p, nbcoll_queue_kind kind)
{
    for (uint32_t i = 0; i < p->info.queues; i++)
        if (p->queue[i].kind == kind)
            return &p->queue[i];
    fail();
    return NULL;
}

static void nothing(nbcoll_program *p)
{
    (void)p;
}

static void longer_than_its_buffer(nbcoll_program *p)
{
    p->info.eager = 8;
}

static void holds_eager_receives(nbcoll_program *p)
{
    queue_of(p, NBCOLL_QUEUE_EAGER)->held |= NBCOLL_HOLDS_RECEIVES;
}

static void enables_one_less(nbcoll_program *p)
{
    task_of(queue_of(p, NBCOLL_QUEUE_MANAGEMENT)->sends)->count = 0;
}

static void enables_what_is_not_held(nbcoll_program *p)
{
    queue_of(p, NBCOLL_QUEUE_EAGER)->held = 0;
}

static void ends_without_a_signal(nbcoll_program *p)
{
    nbcoll_queue_view *q = queue_of(p, NBCOLL_QUEUE_MANAGEMENT);
    task_of(&q->sends[q->send_count - 1])->signal = 0;
}

static void receives_what_nobody_counts(nbcoll_program *p)
{
    queue_of(p, NBCOLL_QUEUE_EAGER)->receive_cq = NBCOLL_NO_QUEUE;
    queue_of(p, NBCOLL_QUEUE_MANAGEMENT)->send_count = 0;
}

static void waits_for_one_less(nbcoll_program *p)
{
    task_of(queue_of(p, NBCOLL_QUEUE_MANAGEMENT)->sends)->count = 0;
}

static void clears_nobody(nbcoll_program *p)
{
    queue_of(p, NBCOLL_QUEUE_CLEAR)->send_count = 0;
}

static void sends_before_it_is_cleared(nbcoll_program *p)
{
    swap(queue_of(p, NBCOLL_QUEUE_BULK)->sends, 0, 1);
}

/* wait, receive_enable, send_enable, wait */
static void clears_before_it_receives(nbcoll_program *p)
{
    swap(queue_of(p, NBCOLL_QUEUE_MANAGEMENT)->sends, 1, 2);
}

/* ---- refutations ----------------------------------------------------------------------------------------------- */

static nbcoll_flaw flaw_of(const nbcoll_algorithm *algorithm, size_t count, int rank, void (*plant)(nbcoll_program *p))
{
    int ranks = algorithm->operation == NBCOLL_OPERATION_BCAST ? 2 : 3;
    nbcoll_case c = compiled_case(algorithm->operation, ranks, count);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_refutation why = {.size = sizeof why};
    compiled p;
    assert_int_equal(nbcoll_meaning_of(&c, 0, &meaning), NBCOLL_OK);
    assert_int_equal(compiled_open(&p, algorithm, &c, NULL), NBCOLL_OK);
    plant(p.program[rank]);
    nbcoll_status status = nbcoll_verify_programs((const nbcoll_schedule *const *)p.schedule,
                                                  (const nbcoll_program *const *)p.program, &meaning, NULL, &why);
    assert_int_equal(status, why.flaw == NBCOLL_FLAW_NONE ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
    compiled_close(&p);
    return why.flaw;
}

enum { SHORT = 4, LONG = 5000 }; /* INT32: eager, and by rendezvous */

static void what_is_changed_is_proved_before(void **state)
{
    (void)state;
    assert_int_equal(flaw_of(&one, SHORT, 0, nothing), NBCOLL_FLAW_NONE);
    assert_int_equal(flaw_of(&one, LONG, 0, nothing), NBCOLL_FLAW_NONE);
    assert_int_equal(flaw_of(&held, LONG, 1, nothing), NBCOLL_FLAW_NONE);
}

static void a_message_that_its_receive_has_no_room_for_is_not_ready(void **state)
{
    (void)state;
    assert_int_equal(flaw_of(&one, SHORT, 0, longer_than_its_buffer), NBCOLL_FLAW_NOT_READY);
    assert_int_equal(flaw_of(&one, SHORT, 1, holds_eager_receives), NBCOLL_FLAW_NOT_READY);
}

static void a_long_message_is_not_ready_without_its_clear_to_send(void **state)
{
    (void)state;
    assert_int_equal(flaw_of(&one, LONG, 0, sends_before_it_is_cleared), NBCOLL_FLAW_NOT_READY);
    assert_int_equal(flaw_of(&one, LONG, 1, clears_nobody), NBCOLL_FLAW_NOT_READY);
    assert_int_equal(flaw_of(&held, LONG, 1, clears_before_it_receives), NBCOLL_FLAW_NOT_READY);
}

static void what_is_held_is_enabled_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(flaw_of(&one, SHORT, 0, enables_one_less), NBCOLL_FLAW_ENABLED);
    assert_int_equal(flaw_of(&one, SHORT, 0, enables_what_is_not_held), NBCOLL_FLAW_ENABLED);
}

static void what_has_ended_is_counted_and_awaited(void **state)
{
    (void)state;
    assert_int_equal(flaw_of(&one, SHORT, 1, waits_for_one_less), NBCOLL_FLAW_CONSUMED);
    assert_int_equal(flaw_of(&one, SHORT, 1, receives_what_nobody_counts), NBCOLL_FLAW_CONSUMED);
    assert_int_equal(flaw_of(&one, SHORT, 1, ends_without_a_signal), NBCOLL_FLAW_CONSUMED);
}

/* The first tasks of a kind in two management queues. */
static void two_of(const nbcoll_program *p, nbcoll_task_kind kind, nbcoll_task *out[2])
{
    int found = 0;
    for (uint32_t i = p->info.queues - p->info.management; i < p->info.queues && found < 2; i++)
        for (uint32_t k = 0, before = (uint32_t)found; k < p->queue[i].send_count && (uint32_t)found == before; k++)
            if (p->queue[i].sends[k].kind == kind)
                out[found++] = task_of(&p->queue[i].sends[k]);
    assert_int_equal(found, 2);
}

static void enables_one_from_two(nbcoll_program *p)
{
    nbcoll_task *task[2];
    two_of(p, NBCOLL_TASK_SEND_ENABLE, task);
    task[1]->queue = task[0]->queue;
}

static void consumes_one_in_two(nbcoll_program *p)
{
    nbcoll_task *task[2];
    two_of(p, NBCOLL_TASK_WAIT, task);
    task[1]->cq = task[0]->cq;
    task[0]->count = 0; /* together as many as there are */
}

static void counts_two_in_one(nbcoll_program *p)
{
    assert_true(p->queue[1].receive_cq != p->queue[0].receive_cq);
    p->queue[1].receive_cq = p->queue[0].receive_cq;
}

/* An alltoall of three ranks has a management queue for each peer. */
static void a_queue_is_enabled_and_a_completion_queue_consumed_by_one(void **state)
{
    const nbcoll_algorithm *flat = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALL, "flat");
    (void)state;
    assert_int_equal(flaw_of(flat, SHORT, 0, nothing), NBCOLL_FLAW_NONE);
    assert_int_equal(flaw_of(flat, SHORT, 0, enables_one_from_two), NBCOLL_FLAW_QUEUE);
    assert_int_equal(flaw_of(flat, SHORT, 0, consumes_one_in_two), NBCOLL_FLAW_SHARED_CQ);
    assert_int_equal(flaw_of(flat, SHORT, 0, counts_two_in_one), NBCOLL_FLAW_SHARED_CQ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_changed_is_proved_before),
        cmocka_unit_test(a_message_that_its_receive_has_no_room_for_is_not_ready),
        cmocka_unit_test(a_long_message_is_not_ready_without_its_clear_to_send),
        cmocka_unit_test(what_is_held_is_enabled_and_nothing_else),
        cmocka_unit_test(what_has_ended_is_counted_and_awaited),
        cmocka_unit_test(a_queue_is_enabled_and_a_completion_queue_consumed_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
