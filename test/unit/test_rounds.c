/* SPDX-License-Identifier: BSD-3-Clause
 * What schedules cost, counted in their graphs: messages after each other, bytes sent, sends at once, receives posted
 * early. And a barrier's one promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crowd.h"
#include "nbcoll/pattern.h"

/* What is carried along local edges and messages: messages on the longest way here, and the ranks (below 64) whose
 * start is before the step's. */
typedef struct carried {
    int messages;
    uint64_t started;
} carried;

static void carry(carried *to, carried from, int is_message)
{
    int messages = from.messages + is_message;
    to->messages = to->messages > messages ? to->messages : messages;
    to->started |= from.started;
}

/* Follows the graph of all ranks; one entry for each rank: what reaches its end. */
static carried *follow(const crowd *all)
{
    uint32_t steps = all->base[all->ranks], first = 0, last = 0;
    carried *at = filled(steps, sizeof *at, 0), *end = filled((size_t)all->ranks, sizeof *end, 0);
    uint32_t *before = filled(steps, sizeof *before, 0), *queue = filled(steps, sizeof *queue, 0);
    for (uint32_t i = 0; i < steps; i++) {
        before[i] = crowd_step(all, i)->before + (crowd_step(all, i)->kind == NBCOLL_RECV);
        at[i].started = UINT64_C(1) << all->rank[i] % 64;
        if (!before[i])
            queue[last++] = i;
    }
    while (first < last) {
        uint32_t i = queue[first++];
        const nbcoll_step_view *v = crowd_step(all, i);
        carry(&end[all->rank[i]], at[i], 0);
        for (uint32_t k = 0; k < v->after_count; k++) {
            uint32_t next = all->base[all->rank[i]] + v->after[k];
            carry(&at[next], at[i], 0);
            if (!--before[next])
                queue[last++] = next;
        }
        if (v->kind == NBCOLL_SEND) {
            carry(&at[all->other[i]], at[i], 1);
            if (!--before[all->other[i]])
                queue[last++] = all->other[i];
        }
    }
    assert_int_equal(last, steps);
    free(at);
    free(before);
    free(queue);
    return end;
}

static void has_few_messages_after_each_other(const crowd *all)
{
    carried *end = follow(all);
    for (int r = 0; r < all->ranks; r++)
        assert_true(end[r].messages <= nbcoll_rounds(all->ranks) + 1);
    free(end);
}

static void has_messages_after_each_other_twice(const crowd *all)
{
    carried *end = follow(all);
    for (int r = 0; r < all->ranks; r++)
        assert_true(end[r].messages <= 2 * nbcoll_rounds(all->ranks));
    free(end);
}

static void has_no_more_messages_after_each_other_than_rounds(const crowd *all)
{
    carried *end = follow(all);
    for (int r = 0; r < all->ranks; r++)
        assert_true(end[r].messages <= nbcoll_rounds(all->ranks));
    free(end);
}

static void small_algorithms_have_at_most_rounds_plus_one_messages_after_each_other(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 130; ranks += ranks < 66 ? 1 : 16)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (int in_place = 0; in_place < 2; in_place++)
                crowd_for_each_root(small_one(operation), 5, in_place, ranks,
                                    is_one_of((nbcoll_operation)operation, reduce_scatters)
                                        ? has_messages_after_each_other_twice
                                        : has_few_messages_after_each_other);
}

static void logarithmic_algorithms_need_no_round_more_for_any_number_of_ranks(void **state)
{
    static const struct {
        nbcoll_operation operation;
        const char *name;
    } algorithms[] = {{NBCOLL_OPERATION_ALLREDUCE, "groups"},         {NBCOLL_OPERATION_SCAN, "recursive_doubling"},
                      {NBCOLL_OPERATION_EXSCAN, "recursive_doubling"}, {NBCOLL_OPERATION_ALLTOALL, "bruck"},
                      {NBCOLL_OPERATION_ALLGATHERV, "bruck"},          {NBCOLL_OPERATION_GATHERV, "binomial"},
                      {NBCOLL_OPERATION_SCATTERV, "binomial"}};
    (void)state;
    for (int ranks = 1; ranks <= 130; ranks += ranks < 66 ? 1 : 16)
        for (size_t i = 0; i < LENGTH(algorithms); i++)
            crowd_for_each_root(nbcoll_algorithm_find(algorithms[i].operation, algorithms[i].name), 5, 0, ranks,
                                has_no_more_messages_after_each_other_than_rounds);
}

static size_t most_bytes_sent(const crowd *all)
{
    size_t most = 0;
    for (int r = 0; r < all->ranks; r++) {
        size_t sent = 0;
        for (uint32_t i = all->base[r]; i < all->base[r + 1]; i++)
            if (crowd_step(all, i)->kind == NBCOLL_SEND)
                sent += crowd_region(all, r, crowd_step(all, i)->read[0]).bytes;
        most = most > sent ? most : sent;
    }
    return most;
}

static void sends_at_most_the_vector_twice(const crowd *all)
{
    assert_true(most_bytes_sent(all) <= 2 * all->args.count * sizeof(int64_t));
}

static void sends_at_most_the_vector_once(const crowd *all)
{
    assert_true(most_bytes_sent(all) <= all->args.count * sizeof(int64_t));
}

static void for_large_data(nbcoll_operation operation, void (*body)(const crowd *all))
{
    static const size_t counts[] = {0, 1, 33, 1001};
    for (int ranks = 1; ranks <= 130; ranks += ranks < 33 ? 1 : 97)
        for (size_t i = 0; i < LENGTH(counts); i++)
            crowd_for_each_root(large_one((int)operation), counts[i], (int)i % 2, ranks, body);
}

static void large_bcast_sends_at_most_the_vector_twice(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_BCAST, sends_at_most_the_vector_twice);
}

static void large_allreduce_sends_at_most_the_vector_twice(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_ALLREDUCE, sends_at_most_the_vector_twice);
}

static void large_reduce_sends_at_most_the_vector_once(void **state)
{
    (void)state;
    for_large_data(NBCOLL_OPERATION_REDUCE, sends_at_most_the_vector_once);
}

static void direct_reductions_send_no_more_than_other_large_ones(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 33; ranks++) {
        crowd_for_each_root(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "owners"), 1001, 0, ranks,
                            sends_at_most_the_vector_twice);
        crowd_for_each_root(nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "owners"), 1001, 0, ranks,
                            sends_at_most_the_vector_once);
    }
}

/* All sends of a rank but its first wait. */
static void sends_one_block_at_a_time(const crowd *all)
{
    for (int r = 0; r < all->ranks; r++) {
        int at_once = 0;
        for (uint32_t i = all->base[r]; i < all->base[r + 1]; i++)
            at_once += crowd_step(all, i)->kind == NBCOLL_SEND && !crowd_step(all, i)->before;
        assert_true(at_once <= 1);
    }
}

static void pairwise_exchanges_send_one_block_at_a_time(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_ALLTOALL, NBCOLL_OPERATION_ALLTOALLV,
                                                  NBCOLL_OPERATION_ALLTOALLW};
    (void)state;
    for (int ranks = 1; ranks <= 17; ranks++)
        for (size_t i = 0; i < LENGTH(operations); i++)
            crowd_for_each_root(nbcoll_algorithm_find(operations[i], "pairwise"), 5, 0, ranks,
                                sends_one_block_at_a_time);
}

/* The ring's second round arrives over what the first still sends; sequential algorithms wait by their nature, and
 * those that go by nodes have a phase behind the other. */
static void posts_receives_at_the_start(const crowd *all)
{
    if (strstr(all->algorithm->name, "sequential") || (all->algorithm->flags & NBCOLL_ALGORITHM_NODES))
        return;
    for (uint32_t i = 0; i < all->base[all->ranks]; i++) {
        const nbcoll_step_view *v = crowd_step(all, i);
        int is_second_round =
            all->algorithm == large_one(NBCOLL_OPERATION_ALLREDUCE) && v->number >= (uint32_t)all->ranks - 1;
        if (v->kind == NBCOLL_RECV && !is_second_round)
            assert_int_equal(v->before, 0);
    }
}

static void receives_are_posted_at_the_start_unless_in_place(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 17; ranks++)
        for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
            for (unsigned i = 0; nbcoll_algorithm_at((nbcoll_operation)operation, i); i++)
                crowd_for_each_root(nbcoll_algorithm_at((nbcoll_operation)operation, i), 40, 0, ranks,
                                    posts_receives_at_the_start);
}

static void ends_after_all_have_started(const crowd *all)
{
    carried *end = follow(all);
    for (int r = 0; r < all->ranks; r++)
        assert_true(end[r].started == UINT64_MAX >> (64 - all->ranks));
    free(end);
}

static void a_barrier_ends_nowhere_before_all_have_started(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 64; ranks++)
        crowd_for_each_root(small_one(NBCOLL_OPERATION_BARRIER), 0, 0, ranks, ends_after_all_have_started);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_algorithms_have_at_most_rounds_plus_one_messages_after_each_other),
        cmocka_unit_test(logarithmic_algorithms_need_no_round_more_for_any_number_of_ranks),
        cmocka_unit_test(large_bcast_sends_at_most_the_vector_twice),
        cmocka_unit_test(large_allreduce_sends_at_most_the_vector_twice),
        cmocka_unit_test(large_reduce_sends_at_most_the_vector_once),
        cmocka_unit_test(direct_reductions_send_no_more_than_other_large_ones),
        cmocka_unit_test(pairwise_exchanges_send_one_block_at_a_time),
        cmocka_unit_test(receives_are_posted_at_the_start_unless_in_place),
        cmocka_unit_test(a_barrier_ends_nowhere_before_all_have_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
