/* SPDX-License-Identifier: BSD-3-Clause
 * What cannot be a program is refused when it is compiled, on all ranks, with the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiled.h"

static const nbcoll_algorithm *tree;

static int find_tree(void **state)
{
    (void)state;
    tree = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial");
    return 0;
}

static void assert_refused(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_program_config *config,
                           nbcoll_refusal_reason reason)
{
    compiled p;
    assert_string_equal(nbcoll_status_name(compiled_open(&p, algorithm, c, config)), "NBCOLL_ERR_UNSUPPORTED");
    assert_string_equal(nbcoll_refusal_name(p.why.reason), nbcoll_refusal_name(reason));
    assert_non_null(strstr(p.why.text, nbcoll_refusal_text(reason)));
    for (int rank = 0; rank < c->ranks; rank++)
        assert_null(p.program[rank]);
    compiled_close(&p);
}

static nbcoll_status nothing(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

static void calls(nbcoll_builder *b, const nbcoll_args *a)
{
    tree->build(b, a);
    if (b->rank == 2)
        nbcoll_add_call(b, nothing, NULL, 0, NULL, 0, NULL);
}

static void a_call_of_one_rank_refuses_all(void **state)
{
    static const nbcoll_algorithm mine = {sizeof mine, "calls", NBCOLL_OPERATION_BCAST, calls, 0, NULL};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 4, 1);
    compiled p;
    (void)state;
    assert_refused(&mine, &c, NULL, NBCOLL_REFUSAL_CALL);
    compiled_open(&p, &mine, &c, NULL);
    assert_string_equal(p.why.text, "bcast/calls: rank 2, step 4: a step calls a function of the host's");
    assert_int_equal(p.why.rank, 2);
    assert_int_equal(p.why.step, 4);
    compiled_close(&p);
}

static nbcoll_status add(void *user, void *result, const void *left, const void *right, size_t count, nbcoll_type type)
{
    (void)user;
    (void)result;
    (void)left;
    (void)right;
    (void)count;
    (void)type;
    return NBCOLL_OK; /* never called */
}

static void an_operation_of_the_hosts_is_refused(void **state)
{
    static const nbcoll_host_op own = {.size = sizeof own, .combine = add, .commutative = 1};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLREDUCE, 4, 1);
    (void)state;
    c.reduction.op = nbcoll_op_of(&own);
    assert_refused(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling"), &c, NULL,
                   NBCOLL_REFUSAL_COMBINES);
}

static void exposures_are_refused(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 4, 1);
    (void)state;
    c.node = 4;
    assert_refused(nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots"), &c, NULL, NBCOLL_REFUSAL_EXPOSES);
}

/* A block as it travels, which nobody has packed. */
static void sends_packed(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)a;
    if (b->rank == 0)
        nbcoll_add_send(b, 1, (nbcoll_addr){NBCOLL_BUFFER_SEND_PACKED, 1}, 0);
    if (b->rank == 1)
        nbcoll_add_recv(b, 0, (nbcoll_addr){NBCOLL_BUFFER_RECV_BLOCK, 0}, 0);
}

static void blocks_that_are_put_aside_packed_are_refused(void **state)
{
    static const nbcoll_algorithm mine = {sizeof mine, "packed", NBCOLL_OPERATION_ALLTOALLV, sends_packed, 0, NULL};
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_ALLTOALLV, 4, 1);
    (void)state;
    assert_refused(&mine, &c, NULL, NBCOLL_REFUSAL_BLOCKS);
}

/* Rank 0 sends two messages, its tasks: two sends, two enables. The others have less. */
static void too_many_tasks_are_refused(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 4, 1);
    nbcoll_program_config config = {.size = sizeof config, .tasks = 3};
    compiled p;
    (void)state;
    assert_refused(tree, &c, &config, NBCOLL_REFUSAL_TASKS);
    config.tasks = 4;
    assert_int_equal(compiled_open(&p, tree, &c, &config), NBCOLL_OK);
    compiled_close(&p);
}

static void too_many_queue_pairs_are_refused(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 4, 1);
    nbcoll_program_config config = {.size = sizeof config, .queue_pairs = 11, .in_flight = 2};
    compiled p;
    (void)state;
    assert_refused(tree, &c, &config, NBCOLL_REFUSAL_QUEUE_PAIRS);
    compiled_open(&p, tree, &c, &config);
    assert_int_equal(p.why.needed, 12);
    assert_int_equal(p.why.allowed, 11);
    compiled_close(&p);
    config.queue_pairs = 12;
    assert_int_equal(compiled_open(&p, tree, &c, &config), NBCOLL_OK);
    compiled_close(&p);
}

static void too_many_buffers_are_refused(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 4, 1025);
    nbcoll_program_config config = {.size = sizeof config, .buffers = 1};
    compiled p;
    (void)state;
    assert_refused(tree, &c, &config, NBCOLL_REFUSAL_BUFFERS);
    config.buffers = 2;
    assert_int_equal(compiled_open(&p, tree, &c, &config), NBCOLL_OK);
    compiled_close(&p);
}

static void schedules_that_do_not_belong_together_are_an_error(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BCAST, 2, 1), other = c;
    nbcoll_program_config config = {.size = sizeof config};
    nbcoll_schedule *s[2];
    nbcoll_program *program;
    (void)state;
    other.root = 1;
    assert_int_equal(nbcoll_build_case(tree, &c, 0, NULL, &s[0]), NBCOLL_OK);
    assert_int_equal(nbcoll_build_case(tree, &other, 1, NULL, &s[1]), NBCOLL_OK);
    const nbcoll_schedule *both[] = {s[0], s[1]}, *swapped[] = {s[1], s[0]};
    assert_int_equal(nbcoll_compile(both, 2, &config, 0, 1, &program, NULL), NBCOLL_ERR_ARGUMENT);
    assert_null(program);
    assert_int_equal(nbcoll_compile(swapped, 2, &config, 0, 1, &program, NULL), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_compile(both, 2, &config, 1, 2, &program, NULL), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_compile(NULL, 2, &config, 0, 1, &program, NULL), NBCOLL_ERR_NULL);
    config.size = 0;
    assert_int_equal(nbcoll_compile(both, 2, &config, 0, 1, &program, NULL), NBCOLL_ERR_CONFIG);
    nbcoll_schedule_free(s[0]);
    nbcoll_schedule_free(s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_one_rank_refuses_all),
        cmocka_unit_test(an_operation_of_the_hosts_is_refused),
        cmocka_unit_test(exposures_are_refused),
        cmocka_unit_test(blocks_that_are_put_aside_packed_are_refused),
        cmocka_unit_test(too_many_tasks_are_refused),
        cmocka_unit_test(too_many_queue_pairs_are_refused),
        cmocka_unit_test(too_many_buffers_are_refused),
        cmocka_unit_test(schedules_that_do_not_belong_together_are_an_error),
    };
    return cmocka_run_group_tests(tests, find_tree, NULL);
}
