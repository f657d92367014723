/* SPDX-License-Identifier: BSD-3-Clause
 * The order that builders give to messages and steps: numbers, edges, and how stages and limits become edges. */
#include "schedules.h"

#define SEED UINT64_C(20240611)

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- message numbers ------------------------------------------------------------------------------------------- */

static void messages_are_numbered_by_peer_and_direction(void **state)
{
    (void)state;
    static const struct {
        int is_send, peer;
        uint32_t number;
    } cases[] = {{1, 0, 0}, {1, 2, 0}, {1, 0, 1}, {0, 0, 0}, {0, 2, 0}, {1, 2, 1}, {0, 0, 1}, {1, 0, 2}};
    nbcoll_builder *b = opened(NULL);
    for (size_t i = 0; i < LENGTH(cases); i++)
        if (cases[i].is_send)
            nbcoll_add_send(b, cases[i].peer, in_send(0), 1);
        else
            nbcoll_add_recv(b, cases[i].peer, in_recv(i), 1);
    nbcoll_schedule *s = finished(b);
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_int_equal(view(s, (nbcoll_step)(2 + i))->number, cases[i].number);
    nbcoll_schedule_free(s);
}

static void given_numbers_are_passed_over(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step[5];
    for (int i = 0; i < 5; i++)
        step[i] = nbcoll_add_recv(b, 0, in_recv((size_t)i), 1);
    nbcoll_set_number(b, step[4], 0);
    nbcoll_set_number(b, step[1], 77);
    nbcoll_set_number(b, step[1], 2); /* the last word counts */
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step[0])->number, 1);
    assert_int_equal(view(s, step[1])->number, 2);
    assert_int_equal(view(s, step[2])->number, 3);
    assert_int_equal(view(s, step[3])->number, 4);
    assert_int_equal(view(s, step[4])->number, 0);
    nbcoll_schedule_free(s);
}

static void a_number_given_twice_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_set_number(b, nbcoll_add_send(b, 0, in_send(0), 1), 5);
    nbcoll_set_number(b, nbcoll_add_send(b, 0, in_send(0), 1), 5);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void the_same_number_for_two_peers_or_directions_is_accepted(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_set_number(b, nbcoll_add_send(b, 0, in_send(0), 1), UINT32_MAX);
    nbcoll_set_number(b, nbcoll_add_send(b, 2, in_send(0), 1), UINT32_MAX);
    nbcoll_set_number(b, nbcoll_add_recv(b, 0, in_recv(0), 1), UINT32_MAX);
    nbcoll_schedule_free(finished(b));
}

static void only_sends_and_receives_take_a_number(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_set_number(b, nbcoll_add_join(b), 0);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    /* Refused alike, whether memory is shared or not. */
    nbcoll_shares *const shares[] = {NULL, with_all};
    for (int i = 0; i < 2; i++) {
        b = opened(shares[i]);
        nbcoll_set_number(b, nbcoll_add_fetch(b, 0, in_recv(0), 1), 0);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
        b = opened(shares[i]);
        nbcoll_set_number(b, expose_to(b, 1), 0);
        assert_refused(b, NBCOLL_ERR_ARGUMENT);
    }
}

#define MANY 300

/* Random messages, some with numbers of their own, against the definition. */
static void numbers_are_those_of_the_definition(void **state)
{
    (void)state;
    uint64_t random = SEED;
    print_message("seed %llu\n", (unsigned long long)random);
    int peer[MANY], is_given[MANY];
    uint32_t expected[MANY];
    nbcoll_builder *b = opened(NULL);
    for (int i = 0; i < MANY; i++) {
        peer[i] = 2 + (int)(next_random(&random) % 3);
        is_given[i] = next_random(&random) % 3 == 0;
        nbcoll_step step = nbcoll_add_send(b, peer[i], in_send(0), 1);
        expected[i] = (uint32_t)((i * 7) % MANY); /* 7 and MANY have no common factor: all differ */
        if (is_given[i])
            nbcoll_set_number(b, step, expected[i]);
    }
    for (int i = 0; i < MANY; i++) {
        for (uint32_t number = 0; !is_given[i]; number++) {
            int is_free = 1;
            for (int j = 0; j < MANY; j++)
                if (peer[j] == peer[i] && expected[j] == number && (j < i || is_given[j]))
                    is_free = 0;
            if (is_free) {
                expected[i] = number;
                break;
            }
        }
    }
    nbcoll_schedule *s = finished(b);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(view(s, (nbcoll_step)(2 + i))->number, expected[i]);
        assert_int_equal(nbcolli_find_message(s->send, s->sends, peer[i], expected[i]), 2 + i);
    }
    nbcoll_schedule_free(s);
}

static void messages_are_found_by_peer_and_number(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step send = nbcoll_add_send(b, 5, in_send(0), 8);
    nbcoll_step recv = nbcoll_add_recv(b, 5, in_recv(0), 8);
    nbcoll_step join = nbcoll_add_join(b);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(s->sends, 1);
    assert_int_equal(s->recvs, 1);
    assert_int_equal(nbcolli_find_message(s->send, s->sends, 5, 0), send);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 5, 0), recv);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 5, 1), NBCOLL_START);
    assert_int_equal(nbcolli_find_message(s->recv, s->recvs, 4, 0), NBCOLL_START);
    assert_int_equal(s->ops, 2);
    assert_int_equal(s->op[send], 0);
    assert_int_equal(s->op[recv], 1);
    assert_int_equal(s->op[join], UINT32_MAX);
    nbcoll_schedule_free(s);
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

static void edges_are_sorted_and_counted_once(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step data = nbcoll_add_recv(b, 0, in_recv(0), 8), later[3];
    for (int i = 0; i < 3; i++)
        later[i] = nbcoll_add_send(b, 2 + i, in_recv(0), 8);
    for (int i = 2; i >= 0; i--) {
        nbcoll_after(b, later[i], data);
        nbcoll_after(b, later[i], data);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 3);
    assert_int_equal(view(s, data)->after_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(view(s, data)->after[i], later[i]);
        assert_int_equal(view(s, later[i])->before, 1);
    }
    nbcoll_schedule_free(s);
}

static void edges_from_start_and_to_end_say_nothing(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = nbcoll_add_join(b);
    nbcoll_after(b, step, NBCOLL_START);
    nbcoll_after(b, NBCOLL_END, step);
    nbcoll_after(b, NBCOLL_END, NBCOLL_START);
    nbcoll_after(b, NBCOLL_START, NBCOLL_START);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 0);
    nbcoll_schedule_free(s);
}

static void random_edges_are_kept(void **state)
{
    (void)state;
    static unsigned char is_edge[MANY][MANY];
    uint64_t random = SEED;
    print_message("seed %llu\n", (unsigned long long)random);
    nbcoll_builder *b = opened(NULL);
    uint32_t edges = 0;
    for (int i = 0; i < MANY; i++)
        nbcoll_add_join(b);
    for (int i = 0; i < 10 * MANY; i++) {
        /* Edges go from the higher step to the lower, so that creation order does not help. */
        unsigned earlier = 1 + (unsigned)(next_random(&random) % (MANY - 1));
        unsigned later = (unsigned)(next_random(&random) % earlier);
        edges += !is_edge[earlier][later];
        is_edge[earlier][later] = 1;
        nbcoll_after(b, 2 + later, 2 + earlier);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, edges);
    for (unsigned earlier = 0; earlier < MANY; earlier++) {
        const nbcoll_step_view *v = view(s, 2 + earlier);
        for (uint32_t i = 0; i < v->after_count; i++) {
            assert_true(is_edge[earlier][v->after[i] - 2]);
            assert_true(i == 0 || v->after[i - 1] < v->after[i]);
        }
        uint32_t before = 0;
        for (unsigned other = 0; other < MANY; other++)
            before += is_edge[other][earlier];
        assert_int_equal(v->before, before);
    }
    nbcoll_schedule_free(s);
}

static void a_cycle_is_refused(void **state)
{
    (void)state;
    for (int length = 1; length <= 5; length++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_step first = nbcoll_add_join(b), last = first;
        for (int i = 1; i < length; i++) {
            nbcoll_step next = nbcoll_add_join(b);
            nbcoll_after(b, next, last);
            last = next;
        }
        nbcoll_after(b, first, last);
        assert_refused(b, NBCOLL_ERR_CYCLE);
    }
}

static void waiting_for_end_or_holding_back_start_is_a_cycle(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_after(b, nbcoll_add_join(b), NBCOLL_END);
    assert_refused(b, NBCOLL_ERR_CYCLE);
    b = opened(NULL);
    nbcoll_after(b, NBCOLL_START, nbcoll_add_join(b));
    assert_refused(b, NBCOLL_ERR_CYCLE);
    b = opened(NULL);
    nbcoll_after(b, NBCOLL_END, NBCOLL_END);
    assert_refused(b, NBCOLL_ERR_CYCLE);
}

static void waiting_for_a_later_stage_is_a_cycle(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step first = nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_step second = nbcoll_add_recv(b, 0, in_recv(8), 8);
    nbcoll_after(b, first, second);
    assert_refused(b, NBCOLL_ERR_CYCLE);
}

static void a_hundred_thousand_steps_are_finished(void **state)
{
    (void)state;
    const uint32_t n = 100000;
    nbcoll_builder *b = opened(NULL);
    for (uint32_t i = 0; i < n; i++) {
        nbcoll_step step = i % 2 ? nbcoll_add_send(b, 0, in_recv(0), 8) : nbcoll_add_recv(b, 2, in_recv(i), 8);
        for (uint32_t back = 1; back <= 3 && back <= i; back++)
            nbcoll_after(b, step, step - back);
    }
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, n + 2);
    assert_int_equal(info_of(s).edges, 3 * n - 6);
    assert_int_equal(view(s, n + 1)->number, n / 2 - 1);
    nbcoll_schedule_free(s);
}

/* ---- stages and limits ----------------------------------------------------------------------------------------- */

static void a_stage_queue_is_the_equivalent_graph(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_add_recv(b, 2, in_recv(8), 8);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_add_send(b, 3, in_recv(0), 8);
    nbcoll_end_stage(b, NBCOLL_NON_DEPENDENT);
    nbcoll_add_recv(b, 0, in_recv(16), 8);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_end_stage(b, NBCOLL_DEPENDENT); /* empty: nothing more to wait for */
    nbcoll_add_send(b, 3, in_recv(16), 8);
    nbcoll_schedule *staged = finished(b);

    b = opened(NULL);
    nbcoll_step first = nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_step second = nbcoll_add_recv(b, 2, in_recv(8), 8);
    nbcoll_step gate = nbcoll_add_join(b);
    nbcoll_after(b, gate, first);
    nbcoll_after(b, gate, second);
    nbcoll_after(b, nbcoll_add_send(b, 3, in_recv(0), 8), gate);
    nbcoll_step third = nbcoll_add_recv(b, 0, in_recv(16), 8);
    nbcoll_after(b, third, gate);
    nbcoll_step last_gate = nbcoll_add_join(b);
    nbcoll_after(b, last_gate, third);
    nbcoll_after(b, nbcoll_add_send(b, 3, in_recv(16), 8), last_gate);
    nbcoll_schedule *graph = finished(b);

    assert_same(staged, graph);
    nbcoll_schedule_free(staged);
    nbcoll_schedule_free(graph);
}

static void stages_and_edges_may_be_mixed(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step data = nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_end_stage(b, NBCOLL_NON_DEPENDENT);
    nbcoll_step unrelated = nbcoll_add_recv(b, 2, in_recv(8), 8);
    nbcoll_step related = nbcoll_add_send(b, 3, in_recv(0), 8);
    nbcoll_after(b, related, data);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).edges, 1);
    assert_int_equal(view(s, unrelated)->before, 0);
    assert_true(waits_for(s, related, data));
    nbcoll_schedule_free(s);
}

/* A chain broadcast in segments, as a graph: every receive is posted at once, and each send waits for its own segment
 * only. Rounds would make the k-th receive wait for the (k-1)-th send. */
static void a_pipelined_chain_posts_all_receives_at_once(void **state)
{
    (void)state;
    enum { SEGMENTS = 8 };
    nbcoll_step recv[SEGMENTS], send[SEGMENTS];
    nbcoll_builder *b = opened(NULL);
    for (size_t k = 0; k < SEGMENTS; k++)
        recv[k] = nbcoll_add_recv(b, b->rank - 1, in_recv(64 * k), 64);
    for (size_t k = 0; k < SEGMENTS; k++) {
        send[k] = nbcoll_add_send(b, b->rank + 1, in_recv(64 * k), 64);
        nbcoll_after(b, send[k], recv[k]);
    }
    nbcoll_schedule *graph = finished(b);
    b = opened(NULL);
    for (size_t k = 0; k < SEGMENTS; k++) {
        nbcoll_add_recv(b, b->rank - 1, in_recv(64 * k), 64);
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
        nbcoll_add_send(b, b->rank + 1, in_recv(64 * k), 64);
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    }
    nbcoll_schedule *rounds = finished(b);
    uint32_t at_once[2] = {0, 0};
    for (nbcoll_step i = 2; i < info_of(graph).steps; i++)
        at_once[0] += view(graph, i)->before == 0;
    for (nbcoll_step i = 2; i < info_of(rounds).steps; i++)
        at_once[1] += view(rounds, i)->before == 0;
    assert_int_equal(at_once[0], SEGMENTS);
    assert_int_equal(at_once[1], 1);
    for (uint32_t k = 0; k < SEGMENTS; k++) {
        assert_int_equal(view(graph, send[k])->before, 1);
        assert_true(waits_for(graph, send[k], recv[k]));
        assert_int_equal(view(graph, recv[k])->number, k);
        assert_int_equal(view(graph, send[k])->number, k);
    }
    nbcoll_schedule_free(graph);
    nbcoll_schedule_free(rounds);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(messages_are_numbered_by_peer_and_direction),
    cmocka_unit_test(given_numbers_are_passed_over),
    cmocka_unit_test(a_number_given_twice_is_refused),
    cmocka_unit_test(the_same_number_for_two_peers_or_directions_is_accepted),
    cmocka_unit_test(only_sends_and_receives_take_a_number),
    cmocka_unit_test(numbers_are_those_of_the_definition),
    cmocka_unit_test(messages_are_found_by_peer_and_number),
    cmocka_unit_test(edges_are_sorted_and_counted_once),
    cmocka_unit_test(edges_from_start_and_to_end_say_nothing),
    cmocka_unit_test(random_edges_are_kept),
    cmocka_unit_test(a_cycle_is_refused),
    cmocka_unit_test(waiting_for_end_or_holding_back_start_is_a_cycle),
    cmocka_unit_test(waiting_for_a_later_stage_is_a_cycle),
    cmocka_unit_test(a_hundred_thousand_steps_are_finished),
    cmocka_unit_test(a_stage_queue_is_the_equivalent_graph),
    cmocka_unit_test(stages_and_edges_may_be_mixed),
    cmocka_unit_test(a_pipelined_chain_posts_all_receives_at_once),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
