/* SPDX-License-Identifier: BSD-3-Clause
 * Broken schedules, one flaw each: the verifier names that flaw, the ranks, the steps and the bytes. Steps are numbered
 * from 2 in the order of creation (0 is START, 1 is END). Inputs are send[0, 16). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crew.h"

#define WHATEVER(r)                                                                                                    \
    {                                                                                                                  \
        r,                                                                                                             \
        {                                                                                                              \
            .offset = 0, .bytes = 64, .first = 1, .last = 0                                                            \
        }                                                                                                              \
    }

static const crew_claim whatever[] = {WHATEVER(0), WHATEVER(1), WHATEVER(2), WHATEVER(3)};

/* ---- matching -------------------------------------------------------------------------------------------------- */

static void send_alone(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(0), 8);
}

static void test_a_send_without_receive(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_alone, NBCOLL_FLAW_NO_RECV);
    assert_int_equal(why.places, 2);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(0), 8));
    crew_at(&why, 1, 1, NBCOLL_START, CREW_NOTHING);
}

static void recv_alone(nbcoll_builder *b)
{
    if (b->rank == 1)
        nbcoll_add_recv(b, 0, crew_recv(8), 8);
}

static void test_a_receive_without_send(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, recv_alone, NBCOLL_FLAW_NO_SEND);
    crew_at(&why, 0, 1, 2, nbcoll_span(crew_recv(8), 8));
    crew_at(&why, 1, 0, NBCOLL_START, CREW_NOTHING);
}

/* Rank 0 means rank 2, which expects nothing; rank 1 expects it from rank 2. */
static void wrong_peers(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 2, crew_send(0), 8);
    if (b->rank == 1)
        nbcoll_add_recv(b, 2, crew_recv(0), 8);
}

static void test_a_send_to_another_rank_than_the_receiver(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    nbcoll_refutation why = crew_refuted(&c, wrong_peers, NBCOLL_FLAW_NO_RECV);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(0), 8));
    crew_at(&why, 1, 2, NBCOLL_START, CREW_NOTHING);
}

static void one_send_too_many(nbcoll_builder *b)
{
    if (b->rank == 0) {
        nbcoll_add_send(b, 1, crew_send(0), 8);
        nbcoll_add_send(b, 1, crew_send(8), 0);
    } else
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
}

static void test_one_send_too_many_even_of_no_bytes(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, one_send_too_many, NBCOLL_FLAW_NO_RECV);
    crew_at(&why, 0, 0, 3, CREW_NOTHING);
}

static void other_numbers(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_set_number(b, nbcoll_add_send(b, 1, crew_send(0), 8), 5);
    else
        nbcoll_set_number(b, nbcoll_add_recv(b, 0, crew_recv(0), 8), 4);
}

static void test_a_send_and_a_receive_with_different_numbers(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, other_numbers, NBCOLL_FLAW_NO_SEND);
    crew_at(&why, 0, 1, 2, nbcoll_span(crew_recv(0), 8));
}

static void other_length(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(4), 12);
    else
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
}

static void test_a_send_of_another_length_than_its_receive(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, other_length, NBCOLL_FLAW_LENGTH);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(4), 12));
    crew_at(&why, 1, 1, 2, nbcoll_span(crew_recv(0), 8));
}

static void expose_to_both(nbcoll_builder *b)
{
    const nbcoll_part parts[] = {{1, 0, nbcoll_span(crew_send(0), 8)}, {2, 0, nbcoll_span(crew_send(8), 8)}};
    if (b->rank == 0)
        nbcoll_add_expose(b, 2, parts);
    if (b->rank == 1)
        nbcoll_add_fetch(b, 0, crew_recv(0), 8);
}

static void test_an_exposed_part_that_its_reader_never_fetches(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, expose_to_both, NBCOLL_FLAW_NO_FETCH);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(8), 8));
    crew_at(&why, 1, 2, NBCOLL_START, CREW_NOTHING);
    c.is_native = 0;
    crew_refuted(&c, expose_to_both, NBCOLL_FLAW_NO_RECV);
}

static void fetch_twice(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(crew_send(0), 8)};
    if (b->rank == 0)
        nbcoll_add_expose(b, 1, &part);
    if (b->rank == 1) {
        nbcoll_add_fetch(b, 0, crew_recv(0), 8);
        nbcoll_add_fetch(b, 0, crew_recv(8), 8);
    }
}

static void test_a_fetch_of_a_part_that_nobody_exposes(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, fetch_twice, NBCOLL_FLAW_NO_EXPOSE);
    crew_at(&why, 0, 1, 3, nbcoll_span(crew_recv(8), 8));
    crew_at(&why, 1, 0, NBCOLL_START, CREW_NOTHING);
}

static void fetch_less(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(crew_send(0), 8)};
    if (b->rank == 0)
        nbcoll_add_expose(b, 1, &part);
    if (b->rank == 1)
        nbcoll_add_fetch(b, 0, crew_recv(0), 7);
}

static void test_a_fetch_of_another_length_than_its_part(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, fetch_less, NBCOLL_FLAW_LENGTH);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(0), 8));
    crew_at(&why, 1, 1, 2, nbcoll_span(crew_recv(0), 7));
}

static void own_fingerprint(nbcoll_builder *b)
{
    nbcoll_set_fingerprint(b, b->rank == 2 ? 7 : 3);
}

static void test_different_fingerprints(void **state)
{
    (void)state;
    crew c = CREW_OF(4, whatever);
    nbcoll_refutation why = crew_refuted(&c, own_fingerprint, NBCOLL_FLAW_FINGERPRINT);
    crew_at(&why, 0, 0, NBCOLL_START, CREW_NOTHING);
    crew_at(&why, 1, 2, NBCOLL_START, CREW_NOTHING);
}

/* ---- deadlock -------------------------------------------------------------------------------------------------- */

static void send_then_receive(nbcoll_builder *b)
{
    nbcoll_step sent = nbcoll_add_send(b, b->rank ^ 1, crew_send(0), 8);
    nbcoll_after(b, nbcoll_add_recv(b, b->rank ^ 1, crew_recv(0), 8), sent);
}

/* The same, with the one step on the caller's lane and the other on the driver's, and the other way round. */
static void send_then_receive_on_lanes(nbcoll_builder *b)
{
    nbcoll_lane lanes[] = {NBCOLL_LANE_CALLER, NBCOLL_LANE_PROGRESS};
    nbcoll_step sent = nbcoll_add_send(b, b->rank ^ 1, crew_send(0), 8);
    nbcoll_step received = nbcoll_add_recv(b, b->rank ^ 1, crew_recv(0), 8);
    nbcoll_after(b, received, sent);
    nbcoll_set_lane(b, sent, lanes[b->rank]);
    nbcoll_set_lane(b, received, lanes[b->rank ^ 1]);
}

static void test_lanes_hide_no_deadlock(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_then_receive_on_lanes, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 4);
}

static void test_two_ranks_that_both_send_before_they_receive(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_then_receive, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 4); /* each waits for the next, the last for the first */
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(0), 8));
    crew_at(&why, 1, 1, 3, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 2, 1, 2, nbcoll_span(crew_send(0), 8));
    crew_at(&why, 3, 0, 3, nbcoll_span(crew_recv(0), 8));
}

static void receive_around_then_send(nbcoll_builder *b)
{
    nbcoll_step received = nbcoll_add_recv(b, (b->rank + 3) % 4, crew_recv(0), 8);
    nbcoll_after(b, nbcoll_add_send(b, (b->rank + 1) % 4, crew_recv(0), 8), received);
}

static void test_a_ring_in_which_all_receive_first(void **state)
{
    (void)state;
    crew c = CREW_OF(4, whatever);
    nbcoll_refutation why = crew_refuted(&c, receive_around_then_send, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 8);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 3, 3, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 2, 3, 2, nbcoll_span(crew_recv(0), 8));
}

static void fetch_then_expose(nbcoll_builder *b)
{
    const nbcoll_part part = {b->rank ^ 1, 0, nbcoll_span(crew_send(0), 8)};
    nbcoll_step fetched = nbcoll_add_fetch(b, b->rank ^ 1, crew_recv(0), 8);
    nbcoll_after(b, nbcoll_add_expose(b, 1, &part), fetched);
}

static void test_two_ranks_that_both_fetch_before_they_expose(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, fetch_then_expose, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 4);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 1, 3, CREW_NOTHING);
    crew_at(&why, 2, 1, 2, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 3, 0, 3, CREW_NOTHING);
    c.is_native = 0;
    crew_refuted(&c, fetch_then_expose, NBCOLL_FLAW_DEADLOCK);
}

/* An EXPOSE ends with its last reader, so what waits for it waits for all of them. */
static void expose_then_answer(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(crew_send(0), 8)};
    nbcoll_step first = b->rank == 0 ? nbcoll_add_expose(b, 1, &part) : nbcoll_add_recv(b, 0, crew_recv(8), 8);
    nbcoll_step second =
        b->rank == 0 ? nbcoll_add_send(b, 1, crew_send(8), 8) : nbcoll_add_fetch(b, 0, crew_recv(0), 8);
    nbcoll_after(b, second, first);
}

static void test_a_fetch_after_a_message_that_waits_for_the_expose(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, expose_then_answer, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 4);
    crew_at(&why, 0, 0, 2, CREW_NOTHING);
    crew_at(&why, 1, 1, 3, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 2, 1, 2, nbcoll_span(crew_recv(8), 8));
    crew_at(&why, 3, 0, 3, nbcoll_span(crew_send(8), 8));
}

/* ---- races ----------------------------------------------------------------------------------------------------- */

static void receive_twice_into_the_same(nbcoll_builder *b)
{
    if (b->rank > 0)
        nbcoll_add_send(b, 0, crew_send(0), 8);
    for (int peer = 1; b->rank == 0 && peer < b->ranks; peer++)
        nbcoll_add_recv(b, peer, crew_recv(4 * (size_t)peer), 8);
}

static void test_two_receives_into_the_same_bytes(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    nbcoll_refutation why = crew_refuted(&c, receive_twice_into_the_same, NBCOLL_FLAW_RACE);
    assert_int_equal(why.places, 2);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(8), 4));
    crew_at(&why, 1, 0, 3, nbcoll_span(crew_recv(8), 4));
}

/* Rank 1 overwrites what it forwards. */
static void send_what_is_overwritten(nbcoll_builder *b)
{
    if (b->rank == 0) {
        nbcoll_add_send(b, 1, crew_send(0), 8);
        nbcoll_add_send(b, 1, crew_send(8), 8);
    } else if (b->rank == 1) {
        nbcoll_step first = nbcoll_add_recv(b, 0, crew_recv(0), 8);
        nbcoll_step second = nbcoll_add_recv(b, 0, crew_recv(0), 8);
        nbcoll_after(b, nbcoll_add_send(b, 2, crew_recv(0), 8), first);
        nbcoll_after(b, second, first);
    } else
        nbcoll_add_recv(b, 1, crew_recv(0), 8);
}

static void test_a_receive_into_bytes_that_a_send_still_reads(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_what_is_overwritten, NBCOLL_FLAW_RACE);
    crew_at(&why, 0, 1, 3, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 1, 4, nbcoll_span(crew_recv(0), 8));
}

/* The answer shows that the first message has arrived; but what a peer does orders no two steps here. */
static void reuse_after_an_answer(nbcoll_builder *b)
{
    if (b->rank == 0) {
        nbcoll_step filled = nbcoll_add_copy(b, crew_recv(0), crew_send(0), 8);
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_recv(0), 8), filled);
        nbcoll_step answer = nbcoll_add_recv(b, 1, crew_recv(8), 8);
        nbcoll_step reuse = nbcoll_add_copy(b, crew_recv(0), crew_send(8), 8);
        nbcoll_after(b, reuse, answer);
        nbcoll_after(b, reuse, filled);
    } else {
        nbcoll_step asked = nbcoll_add_recv(b, 0, crew_recv(0), 8);
        nbcoll_after(b, nbcoll_add_send(b, 0, crew_recv(0), 8), asked);
    }
}

static void test_messages_order_no_local_steps(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, reuse_after_an_answer, NBCOLL_FLAW_RACE);
    crew_at(&why, 0, 0, 3, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 0, 5, nbcoll_span(crew_recv(0), 8));
}

static void write_what_is_exposed(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(crew_recv(0), 8)};
    if (b->rank == 0) {
        nbcoll_step filled = nbcoll_add_copy(b, crew_recv(0), crew_send(0), 16);
        nbcoll_after(b, nbcoll_add_expose(b, 1, &part), filled);
        nbcoll_after(b, nbcoll_add_copy(b, crew_recv(4), crew_send(0), 8), filled);
    } else
        nbcoll_add_fetch(b, 0, crew_recv(0), 8);
}

static void test_a_write_to_bytes_that_are_exposed(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, write_what_is_exposed, NBCOLL_FLAW_RACE);
    crew_at(&why, 0, 0, 3, nbcoll_span(crew_recv(4), 4));
    crew_at(&why, 1, 0, 4, nbcoll_span(crew_recv(4), 4));
}

static nbcoll_status call_nothing(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

static void call_while_receiving(nbcoll_builder *b)
{
    nbcoll_region read = nbcoll_span(crew_send(0), 8), written = nbcoll_span(crew_recv(0), 8);
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(0), 8);
    else {
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
        nbcoll_add_call(b, call_nothing, NULL, 1, &read, 1, &written);
    }
}

static void test_a_call_that_writes_where_a_message_arrives(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, call_while_receiving, NBCOLL_FLAW_RACE);
    crew_at(&why, 0, 1, 2, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 1, 3, nbcoll_span(crew_recv(0), 8));
}

/* Ordered through a join; the sends read together. */
static void read_together_then_write(nbcoll_builder *b)
{
    if (b->rank > 0) {
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
        return;
    }
    nbcoll_step filled = nbcoll_add_copy(b, crew_recv(0), crew_send(0), 8), joined = nbcoll_add_join(b);
    for (int peer = 1; peer < b->ranks; peer++) {
        nbcoll_step sent = nbcoll_add_send(b, peer, crew_recv(0), 8);
        nbcoll_after(b, sent, filled);
        nbcoll_after(b, joined, sent);
    }
    nbcoll_after(b, nbcoll_add_copy(b, crew_recv(0), crew_send(8), 8), joined);
}

static void test_readers_may_run_together_and_a_path_orders(void **state)
{
    (void)state;
    crew c = CREW_OF(4, whatever);
    crew_proved(&c, read_together_then_write);
}

/* ---- undefined and stray bytes --------------------------------------------------------------------------------- */

static void copy_scratch(nbcoll_builder *b)
{
    nbcoll_addr scratch = nbcoll_add_scratch(b, 64);
    nbcoll_step filled = nbcoll_add_copy(b, nbcoll_at(scratch, 8), crew_send(0), 8);
    nbcoll_after(b, nbcoll_add_copy(b, crew_recv(0), scratch, 24), filled);
}

static void test_scratch_that_is_read_before_it_is_written(void **state)
{
    (void)state;
    crew c = CREW_OF(1, whatever);
    nbcoll_refutation why = crew_refuted(&c, copy_scratch, NBCOLL_FLAW_UNDEFINED);
    assert_int_equal(why.places, 1);
    crew_at(&why, 0, 0, 3, nbcoll_span(crew_scratch(0), 8));
}

static void send_the_receive_buffer(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_recv(0), 8);
    else
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
}

static void test_a_receive_buffer_that_is_sent_before_it_is_written(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_the_receive_buffer, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(0), 8));
    c.input = NBCOLL_BUFFER_RECV; /* unless the input stands there */
    crew_proved(&c, send_the_receive_buffer);
}

static void send_beyond_the_input(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(8), 16);
    else
        nbcoll_add_recv(b, 0, crew_recv(0), 16);
}

static void test_reading_beyond_the_input(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    nbcoll_refutation why = crew_refuted(&c, send_beyond_the_input, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_send(16), 8));
}

static void expose_nothing_defined(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(nbcoll_add_scratch(b, 8), 8)};
    if (b->rank == 0)
        nbcoll_add_expose(b, 1, &part);
    else
        nbcoll_add_fetch(b, 0, crew_recv(0), 8);
}

static void test_exposing_undefined_bytes(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, expose_nothing_defined, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_scratch(0), 8));
}

static void accumulate_into_nothing(nbcoll_builder *b)
{
    const nbcoll_part part = {1, 0, nbcoll_span(crew_send(0), 8)};
    if (b->rank == 0)
        nbcoll_add_expose(b, 1, &part);
    else
        nbcoll_add_fetch_reduce(b, 0, crew_recv(0), NBCOLL_LEFT, 2, (nbcoll_reduction){NBCOLL_INT32, NBCOLL_SUM});
}

static void test_reducing_into_undefined_bytes(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, accumulate_into_nothing, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 1, 2, nbcoll_span(crew_recv(0), 8));
    c.is_native = 0;
    why = crew_refuted(&c, accumulate_into_nothing, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 1, 3, nbcoll_span(crew_recv(0), 8));
}

static void call_on_nothing(nbcoll_builder *b)
{
    nbcoll_region read = nbcoll_span(crew_recv(0), 8), written = nbcoll_span(crew_recv(8), 8);
    nbcoll_add_call(b, call_nothing, NULL, 1, &read, 1, &written);
}

static void test_a_call_that_reads_undefined_bytes(void **state)
{
    (void)state;
    crew c = CREW_OF(1, whatever);
    nbcoll_refutation why = crew_refuted(&c, call_on_nothing, NBCOLL_FLAW_UNDEFINED);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(0), 8));
}

static void write_beyond_the_claim(nbcoll_builder *b)
{
    nbcoll_add_copy(b, crew_recv(56), crew_send(0), 16);
}

static void test_writing_where_nothing_is_claimed(void **state)
{
    (void)state;
    crew c = CREW_OF(1, whatever);
    nbcoll_refutation why = crew_refuted(&c, write_beyond_the_claim, NBCOLL_FLAW_STRAY);
    assert_int_equal(why.places, 1);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(64), 8));
}

static void call_beyond_the_claim(nbcoll_builder *b)
{
    nbcoll_region written = nbcoll_span(crew_recv(60), 8);
    nbcoll_add_call(b, call_nothing, NULL, 0, NULL, 1, &written);
}

static void test_a_call_that_writes_where_nothing_is_claimed(void **state)
{
    (void)state;
    crew c = CREW_OF(1, whatever);
    nbcoll_refutation why = crew_refuted(&c, call_beyond_the_claim, NBCOLL_FLAW_STRAY);
    crew_at(&why, 0, 0, 2, nbcoll_span(crew_recv(64), 4));
}

/* ---- wrong results --------------------------------------------------------------------------------------------- */

/* Rank 1's recv[0, 16) must be the input of rank 0. */
static const crew_claim copied[] = {{1, {.bytes = 16, .first = 0, .last = 0}}};

static void copy_half(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(0), 8);
    else
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
}

static void test_a_result_that_is_not_written(void **state)
{
    (void)state;
    crew c = CREW_OF(2, copied);
    nbcoll_refutation why = crew_refuted(&c, copy_half, NBCOLL_FLAW_UNWRITTEN);
    crew_at(&why, 0, 1, NBCOLL_END, nbcoll_span(crew_recv(8), 8));
}

static void copy_halves_swapped(nbcoll_builder *b)
{
    if (b->rank == 0) {
        nbcoll_add_send(b, 1, crew_send(8), 8);
        nbcoll_add_send(b, 1, crew_send(0), 8);
    } else {
        nbcoll_add_recv(b, 0, crew_recv(0), 8);
        nbcoll_add_recv(b, 0, crew_recv(8), 8);
    }
}

static void test_a_result_from_another_offset(void **state)
{
    (void)state;
    crew c = CREW_OF(2, copied);
    nbcoll_refutation why = crew_refuted(&c, copy_halves_swapped, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 1, NBCOLL_END, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 1, 0, NBCOLL_START, nbcoll_span(crew_send(8), 8)); /* what stands there instead */
}

static void copy_own(nbcoll_builder *b)
{
    if (b->rank == 0)
        nbcoll_add_send(b, 1, crew_send(0), 15);
    else {
        nbcoll_add_recv(b, 0, crew_recv(0), 15);
        nbcoll_add_copy(b, crew_recv(15), crew_send(15), 1);
    }
}

static void test_one_byte_from_another_rank(void **state)
{
    (void)state;
    crew c = CREW_OF(2, copied);
    nbcoll_refutation why = crew_refuted(&c, copy_own, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 1, NBCOLL_END, nbcoll_span(crew_recv(15), 1));
    crew_at(&why, 1, 1, NBCOLL_START, nbcoll_span(crew_send(15), 1));
}

static void copy_by_call(nbcoll_builder *b)
{
    nbcoll_region read = nbcoll_span(crew_send(0), 16), written = nbcoll_span(crew_recv(0), 16);
    if (b->rank == 1)
        nbcoll_add_call(b, call_nothing, NULL, 1, &read, 1, &written);
}

static void test_what_a_call_writes_is_equal_to_nothing(void **state)
{
    (void)state;
    crew c = CREW_OF(2, copied);
    nbcoll_refutation why = crew_refuted(&c, copy_by_call, NBCOLL_FLAW_WRONG);
    crew_at(&why, 0, 1, NBCOLL_END, nbcoll_span(crew_recv(0), 16));
    crew_at(&why, 1, 1, 2, nbcoll_span(crew_recv(0), 16));
}

/* ---- barriers -------------------------------------------------------------------------------------------------- */

/* Rank 0 hears from all, but only rank 1 hears from it. */
static void half_a_barrier(nbcoll_builder *b)
{
    if (b->rank > 0)
        nbcoll_add_send(b, 0, crew_send(0), 0);
    if (b->rank == 1)
        nbcoll_add_recv(b, 0, crew_recv(0), 0);
    nbcoll_step heard = nbcoll_add_join(b);
    for (int peer = 1; b->rank == 0 && peer < b->ranks; peer++)
        nbcoll_after(b, heard, nbcoll_add_recv(b, peer, crew_recv(0), 0));
    if (b->rank == 0)
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_send(0), 0), heard);
}

static void test_a_rank_that_leaves_a_barrier_early(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    crew_proved(&c, half_a_barrier);
    c.meaning.is_barrier = 1;
    nbcoll_refutation why = crew_refuted(&c, half_a_barrier, NBCOLL_FLAW_EARLY);
    crew_at(&why, 0, 2, NBCOLL_END, CREW_NOTHING);
    crew_at(&why, 1, 0, NBCOLL_START, CREW_NOTHING);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_send_without_receive),
    cmocka_unit_test(test_a_receive_without_send),
    cmocka_unit_test(test_a_send_to_another_rank_than_the_receiver),
    cmocka_unit_test(test_one_send_too_many_even_of_no_bytes),
    cmocka_unit_test(test_a_send_and_a_receive_with_different_numbers),
    cmocka_unit_test(test_a_send_of_another_length_than_its_receive),
    cmocka_unit_test(test_an_exposed_part_that_its_reader_never_fetches),
    cmocka_unit_test(test_a_fetch_of_a_part_that_nobody_exposes),
    cmocka_unit_test(test_a_fetch_of_another_length_than_its_part),
    cmocka_unit_test(test_different_fingerprints),
    cmocka_unit_test(test_two_ranks_that_both_send_before_they_receive),
    cmocka_unit_test(test_lanes_hide_no_deadlock),
    cmocka_unit_test(test_a_ring_in_which_all_receive_first),
    cmocka_unit_test(test_two_ranks_that_both_fetch_before_they_expose),
    cmocka_unit_test(test_a_fetch_after_a_message_that_waits_for_the_expose),
    cmocka_unit_test(test_two_receives_into_the_same_bytes),
    cmocka_unit_test(test_a_receive_into_bytes_that_a_send_still_reads),
    cmocka_unit_test(test_messages_order_no_local_steps),
    cmocka_unit_test(test_a_write_to_bytes_that_are_exposed),
    cmocka_unit_test(test_a_call_that_writes_where_a_message_arrives),
    cmocka_unit_test(test_readers_may_run_together_and_a_path_orders),
    cmocka_unit_test(test_scratch_that_is_read_before_it_is_written),
    cmocka_unit_test(test_a_receive_buffer_that_is_sent_before_it_is_written),
    cmocka_unit_test(test_reading_beyond_the_input),
    cmocka_unit_test(test_exposing_undefined_bytes),
    cmocka_unit_test(test_reducing_into_undefined_bytes),
    cmocka_unit_test(test_a_call_that_reads_undefined_bytes),
    cmocka_unit_test(test_writing_where_nothing_is_claimed),
    cmocka_unit_test(test_a_call_that_writes_where_nothing_is_claimed),
    cmocka_unit_test(test_a_result_that_is_not_written),
    cmocka_unit_test(test_a_result_from_another_offset),
    cmocka_unit_test(test_one_byte_from_another_rank),
    cmocka_unit_test(test_what_a_call_writes_is_equal_to_nothing),
    cmocka_unit_test(test_a_rank_that_leaves_a_barrier_early),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
