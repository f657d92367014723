/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures as the engine runs them: when they end, what a barrier may conclude from them, and growing ones, right and
 * broken. Steps are numbered from 2 in the order of creation; a growing exposure of n pieces for one reader is n times
 * a join and an EXPOSE (lowered: a SEND), and a join at the end. Inputs are send[0, 16). */
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

static const crew_claim whatever[] = {WHATEVER(0), WHATEVER(1), WHATEVER(2)};

static nbcoll_step expose_to(nbcoll_builder *b, int reader, nbcoll_addr at, size_t bytes)
{
    const nbcoll_part part = {reader, 0, nbcoll_span(at, bytes)};
    return nbcoll_add_expose(b, 1, &part);
}

/* ---- the end of an exposure ------------------------------------------------------------------------------------ */

/* A message follows the exposure of part `gone`, and the fetch of the other part follows the message. */
static void answer_between_parts(nbcoll_builder *b, int gone)
{
    nbcoll_step part[2];
    for (size_t i = 0; i < 2; i++)
        part[i] = b->rank == 0 ? expose_to(b, 1, crew_send(8 * i), 8) : nbcoll_add_fetch(b, 0, crew_recv(8 * i), 8);
    if (b->rank == 0)
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_send(0), 8), part[gone]);
    else
        nbcoll_after(b, part[!gone], nbcoll_add_recv(b, 0, crew_recv(16), 8));
}

static void answer_after_the_first_part(nbcoll_builder *b)
{
    answer_between_parts(b, 0);
}

static void answer_after_the_second_part(nbcoll_builder *b)
{
    answer_between_parts(b, 1);
}

static void test_a_part_that_is_fetched_before_one_with_a_lower_number_holds_its_exposure(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    nbcoll_refutation why = crew_refuted(&c, answer_after_the_second_part, NBCOLL_FLAW_DEADLOCK);
    assert_int_equal(why.places, 4);
    crew_at(&why, 0, 0, 3, CREW_NOTHING);
    crew_at(&why, 1, 1, 2, nbcoll_span(crew_recv(0), 8));
    crew_at(&why, 2, 1, 4, nbcoll_span(crew_recv(16), 8));
    crew_at(&why, 3, 0, 4, nbcoll_span(crew_send(0), 8));
}

static void test_a_part_that_is_fetched_in_order_does_not(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    c.is_native = 1;
    crew_proved(&c, answer_after_the_first_part);
}

static void test_messages_that_stand_for_parts_end_in_any_order(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    crew_proved(&c, answer_after_the_first_part);
    crew_proved(&c, answer_after_the_second_part);
}

/* As before, but each part has a reader of its own. Rank 2's message lets rank 1 fetch. */
static void answer_between_readers(nbcoll_builder *b)
{
    if (b->rank == 0) {
        expose_to(b, 1, crew_send(0), 8);
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_send(0), 8), expose_to(b, 2, crew_send(8), 8));
    }
    if (b->rank == 1)
        nbcoll_after(b, nbcoll_add_fetch(b, 0, crew_recv(0), 8), nbcoll_add_recv(b, 0, crew_recv(16), 8));
    if (b->rank == 2)
        nbcoll_add_fetch(b, 0, crew_recv(0), 8);
}

static void test_parts_of_other_readers_do_not_hold_an_exposure(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    c.is_native = 1;
    crew_proved(&c, answer_between_readers);
}

/* Rank 1 fetches three parts, the last one first; when all have ended, so has everything. */
static void fetch_backwards(nbcoll_builder *b)
{
    nbcoll_step fetch[3], all = nbcoll_add_join(b);
    for (size_t i = 0; i < 3; i++) {
        if (b->rank == 0)
            nbcoll_after(b, all, expose_to(b, 1, crew_send(4 * i), 4));
        else
            fetch[i] = nbcoll_add_fetch(b, 0, crew_recv(4 * i), 4);
    }
    if (b->rank == 0) {
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_send(12), 4), all);
        return;
    }
    nbcoll_after(b, fetch[0], fetch[1]);
    nbcoll_after(b, fetch[1], fetch[2]);
    nbcoll_add_recv(b, 0, crew_recv(12), 4);
}

static void test_exposures_end_though_their_parts_are_fetched_backwards(void **state)
{
    (void)state;
    static const crew_claim all_of_0[] = {{1, {.bytes = 16}}};
    crew c = CREW_OF(2, all_of_0);
    c.is_native = 1;
    crew_proved(&c, fetch_backwards);
}

/* ---- barriers -------------------------------------------------------------------------------------------------- */

static void hear_from_all(nbcoll_builder *b)
{
    nbcoll_add_expose_to_all(b, crew_send(0), 0);
    for (int peer = 0; peer < b->ranks; peer++)
        if (peer != b->rank)
            nbcoll_add_fetch(b, peer, crew_recv(0), 0);
}

/* The same, but rank 2 does not look at rank 0's exposure. */
static void hear_from_all_but_one(nbcoll_builder *b)
{
    for (int peer = 0; peer < b->ranks; peer++) {
        if (peer != b->rank && !(b->rank == 0 && peer == 2))
            expose_to(b, peer, crew_send(0), 0);
        if (peer != b->rank && !(b->rank == 2 && peer == 0))
            nbcoll_add_fetch(b, peer, crew_recv(0), 0);
    }
}

static void test_a_fetch_hears_that_the_owner_has_started(void **state)
{
    (void)state;
    crew c = CREW_OF(3, whatever);
    c.meaning.is_barrier = 1;
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        crew_proved(&c, hear_from_all);
        nbcoll_refutation why = crew_refuted(&c, hear_from_all_but_one, NBCOLL_FLAW_EARLY);
        crew_at(&why, 0, 2, NBCOLL_END, CREW_NOTHING);
        crew_at(&why, 1, 0, NBCOLL_START, CREW_NOTHING);
    }
}

/* ---- growing exposures ----------------------------------------------------------------------------------------- */

enum { PIECES = 4, PIECE = 4 };

/* Ranks 1 and 2 get the input of rank 0. */
static const crew_claim chained[] = {{1, {.bytes = 16}}, {2, {.bytes = 16}}};

typedef struct chain_flaw {
    int is_not_held;  /* rank 1 shows piece 2 at once */
    size_t too_few;   /* rank 2 does not fetch the last so many pieces */
    size_t too_many;  /* or more than there are */
    int joins;        /* rank 2 fetches two pieces as one */
} chain_flaw;

/* Rank 0 shows its input to rank 1 in pieces, which shows what it has to rank 2. */
static void chain(nbcoll_builder *b, chain_flaw flaw)
{
    const nbcoll_part next = {b->rank + 1, 0, nbcoll_span(b->rank ? crew_recv(0) : crew_send(0), 16)};
    nbcoll_step shown = b->rank < 2 ? nbcoll_add_expose_growing(b, 1, &next, PIECE) : NBCOLL_START;
    size_t pieces = PIECES + (b->rank == 2 ? flaw.too_many - flaw.too_few : 0);
    size_t bytes = b->rank == 2 && flaw.joins ? 2 * PIECE : PIECE;

    for (size_t i = 0; b->rank > 0 && i < pieces && i * bytes < 64; i++) {
        nbcoll_step have = nbcoll_add_fetch(b, b->rank - 1, crew_recv(i * bytes % 16), bytes);
        if (b->rank == 1 && !(flaw.is_not_held && i == 2))
            nbcoll_after(b, nbcoll_add_grow(b, shown, i), have);
    }
}

static void chain_right(nbcoll_builder *b)
{
    chain(b, (chain_flaw){0});
}

static void test_a_chain_of_pieces_is_right(void **state)
{
    (void)state;
    crew c = CREW_OF(3, chained);
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_proved(&c, chain_right);
}

static void chain_not_held(nbcoll_builder *b)
{
    chain(b, (chain_flaw){.is_not_held = 1});
}

static void test_a_piece_that_is_shown_before_it_is_fetched(void **state)
{
    (void)state;
    crew c = CREW_OF(3, chained);
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        nbcoll_refutation why = crew_refuted(&c, chain_not_held, NBCOLL_FLAW_RACE);
        crew_at(&why, 0, 1, 7, nbcoll_span(crew_recv(8), PIECE));
        crew_at(&why, 1, 1, 13, nbcoll_span(crew_recv(8), PIECE));
    }
}

static void chain_too_few(nbcoll_builder *b)
{
    chain(b, (chain_flaw){.too_few = 1});
}

static void test_a_piece_that_is_never_fetched(void **state)
{
    (void)state;
    crew c = CREW_OF(3, chained);
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        nbcoll_refutation why =
            crew_refuted(&c, chain_too_few, c.is_native ? NBCOLL_FLAW_NO_FETCH : NBCOLL_FLAW_NO_RECV);
        crew_at(&why, 0, 1, 9, nbcoll_span(crew_recv(12), PIECE));
        crew_at(&why, 1, 2, NBCOLL_START, CREW_NOTHING);
    }
}

static void chain_too_many(nbcoll_builder *b)
{
    chain(b, (chain_flaw){.too_many = 1});
}

static void test_a_fetch_of_one_piece_too_many(void **state)
{
    (void)state;
    crew c = CREW_OF(3, chained);
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        nbcoll_refutation why =
            crew_refuted(&c, chain_too_many, c.is_native ? NBCOLL_FLAW_NO_EXPOSE : NBCOLL_FLAW_NO_SEND);
        crew_at(&why, 0, 2, 6, nbcoll_span(crew_recv(0), PIECE));
        crew_at(&why, 1, 1, NBCOLL_START, CREW_NOTHING);
    }
}

static void chain_joined(nbcoll_builder *b)
{
    chain(b, (chain_flaw){.joins = 1, .too_few = 2});
}

static void test_pieces_of_another_length_than_their_fetches(void **state)
{
    (void)state;
    crew c = CREW_OF(3, chained);
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        nbcoll_refutation why = crew_refuted(&c, chain_joined, NBCOLL_FLAW_LENGTH);
        crew_at(&why, 0, 1, 3, nbcoll_span(crew_recv(0), PIECE));
        crew_at(&why, 1, 2, 2, nbcoll_span(crew_recv(0), 2 * PIECE));
    }
}

/* Rank 0 grows what it holds in scratch memory; held: only after it has been copied there. */
static void grow_scratch(nbcoll_builder *b, int is_held)
{
    nbcoll_addr copy = nbcoll_add_scratch(b, 16);
    const nbcoll_part next = {1, 0, nbcoll_span(copy, 16)};
    if (b->rank == 0) {
        nbcoll_step whole = nbcoll_add_expose_growing(b, 1, &next, PIECE);
        if (is_held)
            nbcoll_after(b, whole, nbcoll_add_copy(b, copy, crew_send(0), 16));
    }
    for (size_t i = 0; b->rank == 1 && i < PIECES; i++)
        nbcoll_add_fetch(b, 0, crew_recv(i * PIECE), PIECE);
}

static void grow_what_is_there(nbcoll_builder *b)
{
    grow_scratch(b, 1);
}

static void grow_nothing(nbcoll_builder *b)
{
    grow_scratch(b, 0);
}

static void test_what_holds_back_a_growing_exposure_holds_back_all_pieces(void **state)
{
    (void)state;
    crew c = CREW_OF(2, chained);
    c.claim_count = 1;
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_proved(&c, grow_what_is_there);
}

static void test_pieces_that_hold_nothing_yet(void **state)
{
    (void)state;
    crew c = CREW_OF(2, chained);
    c.claim_count = 1;
    for (c.is_native = 0; c.is_native < 2; c.is_native++) {
        nbcoll_refutation why = crew_refuted(&c, grow_nothing, NBCOLL_FLAW_UNDEFINED);
        crew_at(&why, 0, 0, 3, nbcoll_span(crew_scratch(0), PIECE));
    }
}

/* The first piece waits for an answer to the second. */
static void second_piece_first(nbcoll_builder *b)
{
    const nbcoll_part next = {1, 0, nbcoll_span(crew_send(0), 2 * PIECE)};
    if (b->rank == 0) {
        nbcoll_step shown = nbcoll_add_expose_growing(b, 1, &next, PIECE);
        nbcoll_after(b, nbcoll_add_grow(b, shown, 0), nbcoll_add_recv(b, 1, crew_recv(0), 0));
        return;
    }
    nbcoll_add_fetch(b, 0, crew_recv(0), PIECE);
    nbcoll_after(b, nbcoll_add_send(b, 0, crew_send(0), 0), nbcoll_add_fetch(b, 0, crew_recv(PIECE), PIECE));
}

static void test_no_piece_is_shown_before_those_in_front_of_it(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_refuted(&c, second_piece_first, NBCOLL_FLAW_DEADLOCK);
}

/* Rank 0 tells rank 1 that its readers have all; rank 1 fetches the last piece after that. */
static void last_piece_after_the_end(nbcoll_builder *b)
{
    const nbcoll_part next = {1, 0, nbcoll_span(crew_send(0), 2 * PIECE)};
    if (b->rank == 0) {
        nbcoll_after(b, nbcoll_add_send(b, 1, crew_send(0), 0), nbcoll_add_expose_growing(b, 1, &next, PIECE));
        return;
    }
    nbcoll_add_fetch(b, 0, crew_recv(0), PIECE);
    nbcoll_after(b, nbcoll_add_fetch(b, 0, crew_recv(PIECE), PIECE), nbcoll_add_recv(b, 0, crew_recv(0), 0));
}

static void test_a_growing_exposure_ends_with_its_last_piece(void **state)
{
    (void)state;
    crew c = CREW_OF(2, whatever);
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_refuted(&c, last_piece_after_the_end, NBCOLL_FLAW_DEADLOCK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_part_that_is_fetched_before_one_with_a_lower_number_holds_its_exposure),
    cmocka_unit_test(test_a_part_that_is_fetched_in_order_does_not),
    cmocka_unit_test(test_messages_that_stand_for_parts_end_in_any_order),
    cmocka_unit_test(test_parts_of_other_readers_do_not_hold_an_exposure),
    cmocka_unit_test(test_exposures_end_though_their_parts_are_fetched_backwards),
    cmocka_unit_test(test_a_fetch_hears_that_the_owner_has_started),
    cmocka_unit_test(test_a_chain_of_pieces_is_right),
    cmocka_unit_test(test_a_piece_that_is_shown_before_it_is_fetched),
    cmocka_unit_test(test_a_piece_that_is_never_fetched),
    cmocka_unit_test(test_a_fetch_of_one_piece_too_many),
    cmocka_unit_test(test_pieces_of_another_length_than_their_fetches),
    cmocka_unit_test(test_what_holds_back_a_growing_exposure_holds_back_all_pieces),
    cmocka_unit_test(test_pieces_that_hold_nothing_yet),
    cmocka_unit_test(test_no_piece_is_shown_before_those_in_front_of_it),
    cmocka_unit_test(test_a_growing_exposure_ends_with_its_last_piece),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
