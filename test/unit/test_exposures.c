/* SPDX-License-Identifier: BSD-3-Clause
 * EXPOSE and FETCH: one step where memory is shared, sends and receives where it is not; and growing exposures. */
#include "schedules.h"

/* ---- shared memory --------------------------------------------------------------------------------------------- */

static void expose_to_sharing_readers_is_one_step(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step first = expose_to(b, 3), second = expose_to(b, 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 4);
    assert_int_equal(view(s, first)->kind, NBCOLL_EXPOSE);
    assert_int_equal(view(s, first)->part_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(view(s, first)->parts[i].peer, 2 + i);
        assert_int_equal(view(s, first)->parts[i].number, 0);
        assert_region(view(s, first)->parts[i].region, in_send(8 * (size_t)i), 8);
    }
    assert_int_equal(view(s, second)->parts[0].number, 1);
    nbcoll_schedule_free(s);
}

static void expose_to_one_other_reader_is_a_send(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step step = expose_to(b, 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 3);
    assert_int_equal(view(s, step)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, step)->peer, 2);
    assert_region(view(s, step)->read[0], in_send(0), 8);
    nbcoll_schedule_free(s);
}

static void expose_to_mixed_readers_is_expose_and_sends_and_a_join(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step join = expose_to(b, 4); /* 2 and 4 share, 3 and 5 do not */
    nbcoll_schedule *s = finished(b);
    assert_int_equal(info_of(s).steps, 6);
    assert_int_equal(view(s, 2)->kind, NBCOLL_EXPOSE);
    assert_int_equal(view(s, 2)->part_count, 2);
    assert_int_equal(view(s, 2)->parts[0].peer, 2);
    assert_int_equal(view(s, 2)->parts[1].peer, 4);
    assert_int_equal(view(s, 3)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, 3)->peer, 3);
    assert_int_equal(view(s, 4)->peer, 5);
    assert_int_equal(view(s, join)->kind, NBCOLL_JOIN);
    for (nbcoll_step piece = 2; piece < join; piece++)
        assert_true(waits_for(s, join, piece));
    nbcoll_schedule_free(s);
}

static void expose_of_nothing_is_a_join(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step step = nbcoll_add_expose(b, 0, NULL);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->kind, NBCOLL_JOIN);
    nbcoll_schedule_free(s);
}

static void after_and_lane_cover_all_pieces_of_a_lowered_expose(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step data = nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_step exposed = expose_to(b, 3);
    nbcoll_step later = nbcoll_add_join(b);
    nbcoll_after(b, exposed, data);
    nbcoll_after(b, later, exposed);
    nbcoll_set_lane(b, exposed, NBCOLL_LANE_PROGRESS);
    nbcoll_schedule *s = finished(b);
    for (nbcoll_step piece = data + 1; piece < exposed; piece++) {
        assert_true(waits_for(s, piece, data));
        assert_int_equal(view(s, piece)->lane, NBCOLL_LANE_PROGRESS);
    }
    assert_int_equal(view(s, exposed)->lane, NBCOLL_LANE_PROGRESS);
    assert_true(waits_for(s, later, exposed));
    assert_int_equal(view(s, data)->lane, NBCOLL_LANE_ANY);
    nbcoll_schedule_free(s);
}

static void fetch_is_native_where_memory_is_shared(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even);
    nbcoll_step native = nbcoll_add_fetch(b, 4, in_recv(8), 16), lowered = nbcoll_add_fetch(b, 3, in_recv(24), 16);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, native)->kind, NBCOLL_FETCH);
    assert_int_equal(view(s, native)->peer, 4);
    assert_int_equal(view(s, native)->number, 0);
    assert_region(view(s, native)->write, in_recv(8), 16);
    assert_int_equal(view(s, lowered)->kind, NBCOLL_RECV);
    assert_int_equal(view(s, lowered)->peer, 3);
    assert_region(view(s, lowered)->write, in_recv(24), 16);
    nbcoll_schedule_free(s);
}

static void fetch_reduce_is_native_where_memory_is_shared(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step left = nbcoll_add_fetch_reduce(b, 2, in_recv(0), NBCOLL_LEFT, 4, sum_i32);
    nbcoll_step right = nbcoll_add_fetch_reduce(b, 2, in_recv(0), NBCOLL_RIGHT, 4, sum_i32);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, left)->kind, NBCOLL_FETCH_REDUCE);
    assert_int_equal(view(s, left)->side, NBCOLL_LEFT);
    assert_region(view(s, left)->write, in_recv(0), 16);
    assert_region(view(s, left)->read[NBCOLL_LEFT], in_recv(0), 0);
    assert_region(view(s, left)->read[NBCOLL_RIGHT], in_recv(0), 16);
    assert_int_equal(view(s, right)->side, NBCOLL_RIGHT);
    assert_region(view(s, right)->read[NBCOLL_LEFT], in_recv(0), 16);
    assert_int_equal(view(s, left)->number, 0);
    assert_int_equal(view(s, right)->number, 1);
    nbcoll_schedule_free(s);
}

static void fetch_reduce_is_lowered_to_an_early_receive_and_a_reduce(void **state)
{
    (void)state;
    static const nbcoll_side sides[] = {NBCOLL_LEFT, NBCOLL_RIGHT};
    for (int i = 0; i < 2; i++) {
        nbcoll_builder *b = opened(NULL);
        nbcoll_addr taken = nbcoll_add_scratch(b, 64);
        nbcoll_step ready = nbcoll_add_join(b);
        nbcoll_step reduce = nbcoll_add_fetch_reduce(b, 2, in_recv(0), sides[i], 4, sum_i32);
        nbcoll_after(b, reduce, ready);
        nbcoll_schedule *s = finished(b);
        nbcoll_step receive = reduce - 1;
        assert_int_equal(view(s, receive)->kind, NBCOLL_RECV);
        assert_int_equal(view(s, receive)->before, 0);
        assert_region(view(s, receive)->write, nbcoll_at(taken, 64), 16);
        assert_int_equal(view(s, reduce)->kind, NBCOLL_REDUCE);
        assert_int_equal(view(s, reduce)->peer, -1);
        assert_true(waits_for(s, reduce, receive));
        assert_true(waits_for(s, reduce, ready));
        assert_region(view(s, reduce)->write, in_recv(0), 16);
        assert_region(view(s, reduce)->read[sides[i]], nbcoll_at(taken, 64), 16);
        assert_region(view(s, reduce)->read[sides[i] ^ 1], in_recv(0), 16);
        nbcoll_schedule_free(s);
    }
}

/* The owner sends, then exposes; the reader fetches, then receives. Lowered or not, like must meet like. */
static void parts_and_plain_messages_match_apart_also_when_lowered(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(NULL);
    nbcoll_step sent = nbcoll_add_send(b, 2, in_send(0), 8);
    nbcoll_step exposed = expose_to(b, 1);
    nbcoll_schedule *owner = finished(b);
    b = opened(NULL);
    nbcoll_step fetched = nbcoll_add_fetch(b, 2, in_recv(0), 8);
    nbcoll_step received = nbcoll_add_recv(b, 2, in_recv(8), 8);
    nbcoll_schedule *reader = finished(b);
    assert_int_equal(view(owner, sent)->number, 0);
    assert_int_equal(view(owner, sent)->number, view(reader, received)->number);
    assert_int_equal(view(owner, exposed)->number, UINT32_C(1) << 31);
    assert_int_equal(view(owner, exposed)->number, view(reader, fetched)->number);
    nbcoll_schedule_free(owner);
    nbcoll_schedule_free(reader);
}

/* ---- growing exposures ----------------------------------------------------------------------------------------- */

/* Bytes [0, bytes) of the receive buffer, piece after piece, for readers 2, 3, ... */
static nbcoll_step grow_to(nbcoll_builder *b, int n, size_t bytes, size_t piece)
{
    nbcoll_part parts[6] = {0};
    for (int i = 0; i < n; i++)
        parts[i] = (nbcoll_part){.peer = 2 + i, .region = nbcoll_span(in_recv(0), bytes)};
    return nbcoll_add_expose_growing(b, (size_t)n, parts, piece);
}

static void pieces_of_a_growing_exposure_are_exposures_of_one_cell(void **state)
{
    (void)state;
    static const size_t lengths[] = {16, 16, 8};
    nbcoll_builder *b = opened(with_all);
    nbcoll_step end = grow_to(b, 2, 40, 16), first = nbcoll_add_grow(b, end, 0) + 1;
    nbcoll_step gates[3];
    for (size_t i = 0; i < 3; i++)
        gates[i] = nbcoll_add_grow(b, end, i);
    nbcoll_schedule *s = finished(b);
    for (uint32_t i = 0; i < 3; i++) {
        const nbcoll_step_view *v = view(s, gates[i] + 1);
        assert_int_equal(v->kind, NBCOLL_EXPOSE);
        assert_int_equal(v->part_count, 2);
        assert_int_equal(v->grows, first);
        assert_int_equal(v->piece, 16);
        assert_int_equal(v->whole, 40);
        for (uint32_t p = 0; p < 2; p++) {
            assert_int_equal(v->parts[p].peer, 2 + (int)p);
            assert_int_equal(v->parts[p].number, i);
            assert_region(v->parts[p].region, in_recv(16 * (size_t)i), lengths[i]);
        }
    }
    assert_int_equal(s->cells, 1);
    nbcoll_schedule_free(s);
}

static void pieces_are_made_readable_in_order(void **state)
{
    (void)state;
    nbcoll_shares *shares[] = {NULL, with_even, with_all};
    for (size_t k = 0; k < LENGTH(shares); k++) {
        nbcoll_builder *b = opened(shares[k]);
        nbcoll_step end = grow_to(b, 3, 40, 16), gates[3];
        for (size_t i = 0; i < 3; i++)
            gates[i] = nbcoll_add_grow(b, end, i);
        nbcoll_schedule *s = finished(b);
        for (size_t i = 0; i < 3; i++) {
            nbcoll_step next = i < 2 ? gates[i + 1] : end;
            assert_int_equal(view(s, gates[i])->kind, NBCOLL_JOIN);
            assert_int_equal(waits_for(s, next, gates[i]), i < 2);
            assert_true(waits_for(s, gates[i] + 1, gates[i]));
            assert_true(waits_for(s, end, next - 1));
        }
        nbcoll_schedule_free(s);
    }
}

static void pieces_are_lowered_for_those_readers_who_share_no_memory(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_even); /* 2 shares, 3 does not */
    nbcoll_step end = grow_to(b, 2, 24, 16), gate = nbcoll_add_grow(b, end, 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, gate + 1)->kind, NBCOLL_EXPOSE);
    assert_int_equal(view(s, gate + 1)->part_count, 1);
    assert_int_equal(view(s, gate + 2)->kind, NBCOLL_SEND);
    assert_int_equal(view(s, gate + 2)->peer, 3);
    assert_int_equal(view(s, gate + 2)->number, (UINT32_C(1) << 31) + 1);
    assert_region(view(s, gate + 2)->read[0], in_recv(16), 8);
    assert_true(waits_for(s, gate + 2, gate));
    nbcoll_schedule_free(s);
}

static void after_and_lane_cover_all_pieces(void **state)
{
    (void)state;
    nbcoll_shares *shares[] = {NULL, with_even, with_all};
    for (size_t k = 0; k < LENGTH(shares); k++) {
        nbcoll_builder *b = opened(shares[k]);
        nbcoll_step data = nbcoll_add_recv(b, 0, in_recv(0), 40);
        nbcoll_step end = grow_to(b, 2, 40, 16), later = nbcoll_add_join(b);
        nbcoll_after(b, end, data);
        nbcoll_after(b, later, end);
        nbcoll_set_lane(b, end, NBCOLL_LANE_PROGRESS);
        nbcoll_schedule *s = finished(b);
        for (nbcoll_step member = data + 1; member < end; member++) {
            assert_true(waits_for(s, member, data));
            assert_int_equal(view(s, member)->lane, NBCOLL_LANE_PROGRESS);
        }
        assert_true(waits_for(s, later, end));
        nbcoll_schedule_free(s);
    }
}

static void a_piece_is_held_back_alone(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step end = grow_to(b, 1, 24, 8), have = nbcoll_add_fetch(b, 0, in_recv(8), 8);
    nbcoll_step held = nbcoll_add_grow(b, end, 1);
    nbcoll_after(b, held, have);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, have)->after_count, 1);
    assert_true(waits_for(s, held, have));
    nbcoll_schedule_free(s);
}

static void no_bytes_and_no_readers_are_one_piece(void **state)
{
    (void)state;
    for (int readers = 0; readers < 2; readers++) {
        nbcoll_builder *b = opened(with_all);
        nbcoll_step end = grow_to(b, readers, readers ? 0 : 8, 4), gate = nbcoll_add_grow(b, end, 0);
        nbcoll_schedule *s = finished(b);
        assert_int_equal(view(s, gate + 1)->kind, readers ? NBCOLL_EXPOSE : NBCOLL_JOIN);
        assert_int_equal(end, gate + 2);
        nbcoll_schedule_free(s);
    }
}

static void two_growing_exposures_are_numbered_one_after_the_other(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step one = nbcoll_add_grow(b, grow_to(b, 1, 24, 8), 0) + 1;
    nbcoll_step other = nbcoll_add_grow(b, grow_to(b, 1, 16, 8), 0) + 1;
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, one)->grows, one);
    assert_int_equal(view(s, other)->grows, other);
    assert_int_equal(view(s, one)->parts[0].number, 0);
    assert_int_equal(view(s, other)->parts[0].number, 3);
    assert_int_equal(s->cells, 2);
    nbcoll_schedule_free(s);
}

static void parts_that_cannot_grow_together_are_refused(void **state)
{
    (void)state;
    const nbcoll_part lengths[] = {{2, 0, nbcoll_span(in_recv(0), 8)}, {3, 0, nbcoll_span(in_recv(0), 9)}};
    const nbcoll_part readers[] = {{2, 0, nbcoll_span(in_recv(0), 8)}, {2, 0, nbcoll_span(in_recv(8), 8)}};
    const nbcoll_part self[] = {{1, 0, nbcoll_span(in_recv(0), 8)}};
    nbcoll_builder *b = opened(with_all);
    assert_int_equal(nbcoll_add_expose_growing(b, 2, lengths, 8), NBCOLL_START);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(with_all);
    nbcoll_add_expose_growing(b, 2, readers, 8);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(NULL);
    nbcoll_add_expose_growing(b, 1, self, 8);
    assert_refused(b, NBCOLL_ERR_RANK);
    b = opened(with_all);
    nbcoll_add_expose_growing(b, 1, NULL, 8);
    assert_refused(b, NBCOLL_ERR_NULL);
}

static void pieces_of_nothing_are_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    grow_to(b, 1, 8, 0);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void a_piece_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    assert_int_equal(nbcoll_add_grow(b, grow_to(b, 1, 24, 8), 3), NBCOLL_START);
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(with_all);
    nbcoll_add_grow(b, expose_to(b, 2), 0); /* an exposure that does not grow */
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
    b = opened(with_all);
    nbcoll_add_grow(b, 1000, 0); /* no step */
    assert_refused(b, NBCOLL_ERR_ARGUMENT);
}

static void parts_from_the_builder_are_zeroed_and_last_until_it_is_finished(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_part *parts = nbcoll_builder_parts(b, 100), *others = nbcoll_builder_parts(b, 1), zero = {0};
    assert_non_null(others);
    for (int i = 0; i < 100; i++)
        assert_memory_equal(&parts[i], &zero, sizeof zero);
    assert_non_null(nbcoll_builder_parts(b, 0));
    assert_null(nbcoll_builder_parts(b, SIZE_MAX));
    assert_null(nbcoll_builder_parts(b, 1));
    assert_refused(b, NBCOLL_ERR_LIMIT);
}

/* What a rank fetches others wait for, and for its own block nobody. */
static void own_blocks_are_copied_after_what_is_fetched(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_ALLGATHER,
                                                  NBCOLL_OPERATION_ALLTOALL};
    (void)state;
    for (int i = 0; i < 3; i++) {
        nbcoll_args a = {.size = sizeof a, .operation = operations[i], .root = i == 0, .count = 8, .element = 8};
        nbcoll_builder *b = opened(with_all);
        nbcoll_step fetch = NBCOLL_START, copy = NBCOLL_START;
        assert_int_equal(nbcoll_args_complete(&a, b->rank, b->ranks), NBCOLL_OK);
        nbcoll_algorithm_find(a.operation, "slots")->build(b, &a);
        nbcoll_schedule *s = finished(b);
        for (nbcoll_step step = NBCOLL_END + 1; step < s->steps; step++) {
            fetch = view(s, step)->kind == NBCOLL_FETCH ? step : fetch;
            copy = view(s, step)->kind == NBCOLL_COPY ? step : copy;
        }
        assert_true(fetch != NBCOLL_START && copy > fetch);
        nbcoll_schedule_free(s);
    }
}

static void an_exposure_to_all_is_to_all_others(void **state)
{
    (void)state;
    nbcoll_builder *b = opened(with_all);
    nbcoll_step step = nbcoll_add_expose_to_all(b, in_send(8), 16);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(view(s, step)->part_count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(view(s, step)->parts[i].peer, (i + 2) % 8); /* this is rank 1 */
        assert_region(view(s, step)->parts[i].region, in_send(8), 16);
    }
    nbcoll_schedule_free(s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(expose_to_sharing_readers_is_one_step),
    cmocka_unit_test(expose_to_one_other_reader_is_a_send),
    cmocka_unit_test(expose_to_mixed_readers_is_expose_and_sends_and_a_join),
    cmocka_unit_test(expose_of_nothing_is_a_join),
    cmocka_unit_test(after_and_lane_cover_all_pieces_of_a_lowered_expose),
    cmocka_unit_test(fetch_is_native_where_memory_is_shared),
    cmocka_unit_test(fetch_reduce_is_native_where_memory_is_shared),
    cmocka_unit_test(fetch_reduce_is_lowered_to_an_early_receive_and_a_reduce),
    cmocka_unit_test(parts_and_plain_messages_match_apart_also_when_lowered),
    cmocka_unit_test(pieces_of_a_growing_exposure_are_exposures_of_one_cell),
    cmocka_unit_test(pieces_are_made_readable_in_order),
    cmocka_unit_test(pieces_are_lowered_for_those_readers_who_share_no_memory),
    cmocka_unit_test(after_and_lane_cover_all_pieces),
    cmocka_unit_test(a_piece_is_held_back_alone),
    cmocka_unit_test(no_bytes_and_no_readers_are_one_piece),
    cmocka_unit_test(two_growing_exposures_are_numbered_one_after_the_other),
    cmocka_unit_test(parts_that_cannot_grow_together_are_refused),
    cmocka_unit_test(pieces_of_nothing_are_refused),
    cmocka_unit_test(a_piece_that_does_not_exist_is_refused),
    cmocka_unit_test(parts_from_the_builder_are_zeroed_and_last_until_it_is_finished),
    cmocka_unit_test(own_blocks_are_copied_after_what_is_fetched),
    cmocka_unit_test(an_exposure_to_all_is_to_all_others),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
