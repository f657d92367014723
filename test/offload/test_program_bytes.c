/* SPDX-License-Identifier: BSD-3-Clause
 * Programs as bytes, for an agent in another process: what is read back is what was written; bytes in which a program
 * names what is not there are refused, and read without touching it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/commands.h"
#include "nbcoll/show.h"
#include "compiled.h"

enum { RANKS = 5 };

static const nbcoll_host plain;
static const nbcolli_binding unbound = {0};

static nbcoll_status read_back(const nbcoll_program *p, size_t bytes, nbcoll_program **out)
{
    char *packed = malloc(nbcolli_packed_program_bytes(p) + bytes);
    nbcolli_packed_program_write(p, &unbound, p->info.extent, packed);
    char *exact = malloc(bytes); /* a byte further on is nobody's */
    memcpy(exact, packed, bytes);
    nbcoll_status status = nbcolli_packed_program_read(&plain, exact, bytes, out);
    free(exact);
    free(packed);
    return status;
}

static int grow(void *user, const char *text, size_t length)
{
    char *shown = user;
    strncat(shown, text, length);
    return 0;
}

static void open_case(compiled *c, nbcoll_operation operation, size_t count)
{
    const nbcoll_algorithm *algorithm;
    nbcoll_case how = compiled_case(operation, RANKS, count);
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++) {
        if (compiled_open(c, algorithm, &how, NULL) == NBCOLL_OK)
            return;
        compiled_close(c);
    }
    fail_msg("no algorithm becomes a program");
}

static void what_is_read_is_what_was_written(void **state)
{
    static const size_t counts[] = {0, 3, 20000}; /* the last one is a rendezvous */
    static char shown[2][1 << 16];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        compiled c;
        open_case(&c, NBCOLL_OPERATION_ALLREDUCE, counts[i]);
        for (int rank = 0; rank < RANKS; rank++) {
            nbcoll_program *read;
            assert_int_equal(read_back(c.program[rank], nbcolli_packed_program_bytes(c.program[rank]), &read),
                             NBCOLL_OK);
            shown[0][0] = shown[1][0] = 0;
            assert_int_equal(nbcoll_show_program(c.program[rank], grow, shown[0]), NBCOLL_OK);
            assert_int_equal(nbcoll_show_program(read, grow, shown[1]), NBCOLL_OK);
            assert_string_equal(shown[0], shown[1]);
            assert_memory_equal(read->info.extent, c.program[rank]->info.extent, sizeof read->info.extent);
            nbcoll_program_free(read);
        }
        compiled_close(&c);
    }
}

static void bytes_that_are_too_few_or_too_many_are_refused(void **state)
{
    compiled c;
    nbcoll_program *read;
    (void)state;
    open_case(&c, NBCOLL_OPERATION_ALLREDUCE, 3);
    size_t bytes = nbcolli_packed_program_bytes(c.program[0]);
    for (size_t n = 0; n < bytes; n++)
        assert_int_equal(read_back(c.program[0], n, &read), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(read_back(c.program[0], bytes + 1, &read), NBCOLL_ERR_ARGUMENT);
    compiled_close(&c);
}

/* ---- programs that name what is not there ------------------------------------------------------------------------ */

static nbcoll_queue_view *queue_of(nbcoll_program *p, nbcoll_queue_kind kind)
{
    for (uint32_t i = 0; i < p->info.queues; i++)
        if (p->queue[i].kind == kind && p->queue[i].send_count)
            return &p->queue[i];
    fail_msg("no such queue");
    return NULL;
}

static nbcoll_task *task_of(nbcoll_program *p, nbcoll_queue_kind queue, nbcoll_task_kind kind)
{
    const nbcoll_queue_view *q = queue_of(p, queue);
    for (uint32_t i = 0; i < q->send_count; i++)
        if (q->sends[i].kind == kind)
            return (nbcoll_task *)(uintptr_t)&q->sends[i]; /* the test's own */
    fail_msg("no such task");
    return NULL;
}

static void peer_that_is_not_there(nbcoll_program *p) { queue_of(p, NBCOLL_QUEUE_BULK)->peer = RANKS; }
static void peer_that_is_itself(nbcoll_program *p) { queue_of(p, NBCOLL_QUEUE_BULK)->peer = p->info.rank; }
static void kind_of_queue(nbcoll_program *p) { queue_of(p, NBCOLL_QUEUE_BULK)->kind = NBCOLL_QUEUE_MANAGEMENT; }
static void more_queues_of_management(nbcoll_program *p) { p->info.management = p->info.queues + 1; }
static void more_buffers_than_tasks(nbcoll_program *p) { p->info.buffers = UINT32_MAX; }
static void size_of_the_buffer(nbcoll_program *p) { p->info.extent[NBCOLL_BUFFER_RECV] = 4; }

static void queue_that_is_enabled(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_SEND_ENABLE)->queue = p->info.queues - p->info.management;
}

static void completion_queue(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_WAIT)->cq = p->info.cqs;
}

static void completion_queue_in_a_send_queue(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_BULK, NBCOLL_TASK_WAIT)->cq = queue_of(p, NBCOLL_QUEUE_BULK)->send_cq;
}

static void end_of_what_is_sent(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_BULK, NBCOLL_TASK_SEND)->read[0].region.bytes = SIZE_MAX;
}

static void beginning_of_what_is_sent(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_BULK, NBCOLL_TASK_SEND)->read[0].region.at.offset = SIZE_MAX;
}

static void buffer_that_is_sent(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_BULK, NBCOLL_TASK_SEND)->read[0].region.at.buffer = NBCOLL_BUFFER_SCRATCH + 1;
}

static void eager_buffer(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_BULK, NBCOLL_TASK_SEND)->read[0].eager = p->info.buffers;
}

static void type_that_is_combined(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_CALC)->reduction.type = NBCOLL_TYPE_COUNT;
}

static void operation_that_combines(nbcoll_program *p)
{
    nbcoll_task *t = task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_CALC);
    t->reduction = (nbcoll_reduction){NBCOLL_DOUBLE, NBCOLL_BXOR};
}

static void operand_that_is_shorter(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_CALC)->read[0].region.bytes -= 4;
}

static void kind_of_task(nbcoll_program *p)
{
    task_of(p, NBCOLL_QUEUE_MANAGEMENT, NBCOLL_TASK_WAIT)->kind = NBCOLL_TASK_SEND;
}

static void program_that_names_what_is_not_there_is_refused(void **state)
{
    static void (*const spoil[])(nbcoll_program *) = {
        peer_that_is_not_there, peer_that_is_itself,   kind_of_queue,         more_queues_of_management,
        more_buffers_than_tasks,           size_of_the_buffer,    queue_that_is_enabled, completion_queue,
        end_of_what_is_sent,    completion_queue_in_a_send_queue,             beginning_of_what_is_sent,
        buffer_that_is_sent,    eager_buffer,          type_that_is_combined, operation_that_combines,
        operand_that_is_shorter, kind_of_task};
    (void)state;
    for (size_t i = 0; i < sizeof spoil / sizeof spoil[0]; i++) {
        compiled c;
        nbcoll_program *read = NULL;
        open_case(&c, NBCOLL_OPERATION_ALLREDUCE, 20000);
        spoil[i](c.program[0]);
        nbcoll_status status = read_back(c.program[0], nbcolli_packed_program_bytes(c.program[0]), &read);
        if (status != NBCOLL_ERR_ARGUMENT)
            fail_msg("fault %zu is answered by %s", i, nbcoll_status_name(status));
        compiled_close(&c);
    }
}

/* Block i of the one buffer: i + 1 bytes at 10 i. */
static nbcoll_region block_of(void *user, int is_recv, int index)
{
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 10 * (size_t)index};
    (void)user;
    return nbcoll_span(at, (size_t)index + 1);
}

static void blocks_are_written_where_they_are_bound_to(void **state)
{
    const nbcolli_binding binding = {block_of, NULL};
    nbcoll_program *read;
    size_t extent[3];
    compiled c;
    char *shown = calloc(1, 1 << 16), *packed;
    (void)state;
    open_case(&c, NBCOLL_OPERATION_ALLTOALLV, 3);
    nbcoll_program *p = c.program[1];
    assert_int_equal(nbcolli_bound_extent(p, &unbound, extent), NBCOLL_ERR_NULL);
    assert_int_equal(nbcolli_bound_extent(p, &binding, extent), NBCOLL_OK);
    assert_int_equal(extent[NBCOLL_BUFFER_RECV], 10 * (RANKS - 1) + RANKS);
    packed = malloc(nbcolli_packed_program_bytes(p));
    nbcolli_packed_program_write(p, &binding, extent, packed);
    assert_int_equal(nbcolli_packed_program_read(&plain, packed, nbcolli_packed_program_bytes(p), &read), NBCOLL_OK);
    assert_int_equal(read->info.blocks[0] + read->info.blocks[1], 0);
    assert_int_equal(nbcoll_show_program(read, grow, shown), NBCOLL_OK);
    assert_non_null(strstr(shown, "send send[40,45)"));
    assert_non_null(strstr(shown, "calc recv[10,12) <- send[10,12)"));
    assert_null(strstr(shown, "block"));
    nbcoll_program_free(read);
    compiled_close(&c);
    free(packed);
    free(shown);
}

/* What of the receive buffer, of 80 bytes, is brought back. */
static void bring(const nbcoll_program *p, const nbcolli_binding *b, size_t extent, char to[80])
{
    char *packed = malloc(nbcolli_packed_program_bytes(p)), from[80];
    size_t extents[3];
    memset(from, 'x', sizeof from);
    memset(to, '-', 79);
    to[79] = 0;
    assert_int_equal(nbcolli_bound_extent(p, b, extents), NBCOLL_OK);
    nbcolli_packed_program_write(p, b, extents, packed);
    nbcolli_packed_program_bring(p, packed, extent, to, from);
    free(packed);
}

static void only_what_the_program_writes_is_brought_back(void **state)
{
    const nbcolli_binding binding = {block_of, NULL};
    nbcoll_case how = compiled_case(NBCOLL_OPERATION_ALLGATHER, RANKS, 3);
    compiled c;
    char got[80];
    (void)state;
    how.in_place = 1;
    assert_int_equal(compiled_open(&c, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring"), &how, NULL),
                     NBCOLL_OK);
    bring(c.program[1], &unbound, 60, got); /* its own block lies there */
    assert_string_equal(got, "xxxxxxxxxxxx------------xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-------------------");
    bring(c.program[1], &unbound, 50, got); /* what reaches further is none */
    assert_int_equal(got[50], '-');
    compiled_close(&c);
    open_case(&c, NBCOLL_OPERATION_ALLTOALLV, 3);
    bring(c.program[1], &binding, 45, got);
    assert_string_equal(got, "x---------xx--------xxx-------xxxx------xxxxx----------------------------------");
    compiled_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_written_where_they_are_bound_to),
        cmocka_unit_test(only_what_the_program_writes_is_brought_back),
        cmocka_unit_test(what_is_read_is_what_was_written),
        cmocka_unit_test(bytes_that_are_too_few_or_too_many_are_refused),
        cmocka_unit_test(program_that_names_what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
