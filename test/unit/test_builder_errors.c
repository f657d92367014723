/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A builder's first error is told to its host in words: which rank, which step, which call, and why. The builders here
 * are rank 1 of 8; after three good steps each makes one mistake, or more of which the first counts.
 */
#include "schedules.h"

#include <stdio.h>

typedef struct heard {
    int times;
    nbcoll_status why;
    char text[300];
} heard;

static void hear(void *user, nbcoll_status why, const char *text)
{
    heard *h = user;
    h->times++;
    h->why = why;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static nbcoll_builder *listened_to(heard *h, nbcoll_shares *shares)
{
    nbcoll_host host = {.size = sizeof host, .user = h, .log = hear};
    nbcoll_builder_config config = {.size = sizeof config, .host = &host, .rank = 1, .ranks = 8, .shares = shares};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    nbcoll_set_name(b, "bcast/mine");
    nbcoll_add_send(b, 0, in_send(0), 8);
    nbcoll_add_recv(b, 0, in_recv(0), 8);
    nbcoll_add_join(b);
    return b;
}

/* ---- mistakes -------------------------------------------------------------------------------------------------- */

static nbcoll_status nothing(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

static const nbcoll_part two_for_one[] = {{.peer = 3, .region = {{NBCOLL_BUFFER_SEND, 0}, 8}},
                                          {.peer = 3, .region = {{NBCOLL_BUFFER_SEND, 8}, 8}}};
static const nbcoll_part for_nobody[] = {{.peer = 2, .region = {{NBCOLL_BUFFER_SEND, 0}, 8}},
                                         {.peer = 9, .region = {{NBCOLL_BUFFER_SEND, 8}, 8}}};
static const nbcoll_region beyond = {{NBCOLL_BUFFER_RECV, SIZE_MAX}, 8};

static void peer_too_high(nbcoll_builder *b)
{
    nbcoll_add_send(b, 8, in_send(0), 8);
}

static void peer_too_low(nbcoll_builder *b)
{
    nbcoll_add_recv(b, -1, in_recv(0), 8);
}

static void itself(nbcoll_builder *b)
{
    nbcoll_add_fetch(b, 1, in_recv(0), 8);
}

static void write_to_send(nbcoll_builder *b)
{
    nbcoll_add_copy(b, in_send(8), in_recv(0), 4);
}

static void overlap(nbcoll_builder *b)
{
    nbcoll_add_copy(b, in_recv(3), in_recv(0), 4);
}

static void no_step(nbcoll_builder *b)
{
    nbcoll_after(b, 5, 3);
}

static void no_earlier(nbcoll_builder *b)
{
    nbcoll_after(b, 3, 77);
}

static void no_type(nbcoll_builder *b)
{
    nbcoll_add_combine(b, in_recv(0), in_recv(0), in_send(0), 1, (nbcoll_reduction){NBCOLL_TYPE_COUNT, NBCOLL_SUM});
}

static void no_op(nbcoll_builder *b)
{
    nbcoll_add_fetch_reduce(b, 2, in_recv(0), NBCOLL_LEFT, 1, (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_BAND});
}

static void same_number(nbcoll_builder *b)
{
    nbcoll_set_number(b, nbcoll_add_send(b, 4, in_send(0), 8), 6);
    nbcoll_set_number(b, nbcoll_add_send(b, 4, in_send(0), 8), 6);
}

static void number_of_a_join(nbcoll_builder *b)
{
    nbcoll_set_number(b, 4, 6);
}

static void circle(nbcoll_builder *b)
{
    nbcoll_after(b, 2, 3);
    nbcoll_after(b, 3, 4);
    nbcoll_after(b, 4, 2);
}

static void itself_later(nbcoll_builder *b)
{
    nbcoll_after(b, 3, 3);
}

static void exposes_to_nobody(nbcoll_builder *b)
{
    nbcoll_add_expose(b, 2, for_nobody);
}

static void exposes_beyond(nbcoll_builder *b)
{
    nbcoll_add_expose_to_all(b, in_send(SIZE_MAX), 8);
}

static void grows_twice_for_one(nbcoll_builder *b)
{
    nbcoll_add_expose_growing(b, 2, two_for_one, 4);
}

static void grows_for_nobody(nbcoll_builder *b)
{
    nbcoll_add_expose_growing(b, 2, for_nobody, 4);
}

static void grows_what_does_not(nbcoll_builder *b)
{
    nbcoll_add_grow(b, 3, 1);
}

static void calls_beyond(nbcoll_builder *b)
{
    nbcoll_add_call(b, nothing, NULL, 0, NULL, 1, &beyond);
}

static void bound_where_none_may(nbcoll_builder *b)
{
    nbcoll_add_fetch(b, 2, (nbcoll_addr){NBCOLL_BUFFER_RECV_BLOCK, 0}, 0);
}

static void too_much_scratch(nbcoll_builder *b)
{
    nbcoll_add_scratch(b, SIZE_MAX);
}

static void no_lane(nbcoll_builder *b)
{
    nbcoll_set_lane(b, 3, (nbcoll_lane)9);
}

static void its_own(nbcoll_builder *b)
{
    nbcoll_builder_fail(b, NBCOLL_ERR_UNSUPPORTED);
    nbcoll_add_send(b, 99, in_send(0), 8);
}

typedef struct mistake {
    void (*make)(nbcoll_builder *b);
    nbcoll_status why;
    const char *text; /* behind "bcast/mine: rank 1 of 8, " */
} mistake;

static const mistake mistakes[] = {
    {peer_too_high, NBCOLL_ERR_RANK, "step 5, nbcoll_add_send: peer 8 is outside 0..7"},
    {peer_too_low, NBCOLL_ERR_RANK, "step 5, nbcoll_add_recv: peer -1 is outside 0..7"},
    {itself, NBCOLL_ERR_RANK, "step 5, nbcoll_add_fetch: peer 1 is the rank itself"},
    {write_to_send, NBCOLL_ERR_ARGUMENT,
     "step 5, nbcoll_add_copy: it writes send[8,12), and the send buffer is never written"},
    {overlap, NBCOLL_ERR_ARGUMENT, "step 5, nbcoll_add_copy: what is read and what is written overlap"},
    {no_step, NBCOLL_ERR_ARGUMENT, "step 5, nbcoll_after: there are only 5 steps"},
    {no_earlier, NBCOLL_ERR_ARGUMENT, "step 3, nbcoll_after: it waits for step 77, and there are only 5"},
    {no_op, NBCOLL_ERR_OP, "step 5, nbcoll_add_fetch_reduce: BAND (4) is no reduction of FLOAT"},
    {same_number, NBCOLL_ERR_ARGUMENT, "step 6, nbcoll_set_number: step 5 has the number 6 for rank 4, too"},
    {number_of_a_join, NBCOLL_ERR_ARGUMENT, "step 4, nbcoll_set_number: it is no SEND or RECV"},
    {circle, NBCOLL_ERR_CYCLE, NULL},
    {itself_later, NBCOLL_ERR_CYCLE, "step 3, nbcoll_after: it waits for step 3"},
    {exposes_to_nobody, NBCOLL_ERR_RANK, "step 5, nbcoll_add_expose: peer 9 is outside 0..7"},
    {exposes_beyond, NBCOLL_ERR_COUNT,
     "step 5, nbcoll_add_expose_to_all: 8 bytes from 18446744073709551615 on overflow"},
    {grows_twice_for_one, NBCOLL_ERR_ARGUMENT, "step 5, nbcoll_add_expose_growing: parts 0 and 1 are both for rank 3"},
    {grows_for_nobody, NBCOLL_ERR_RANK, NULL},
    {grows_what_does_not, NBCOLL_ERR_ARGUMENT, "step 3, nbcoll_add_grow: it is no exposure that grows by a piece 1"},
    {calls_beyond, NBCOLL_ERR_COUNT, "step 5, nbcoll_add_call: 8 bytes from 18446744073709551615 on overflow"},
    {bound_where_none_may, NBCOLL_ERR_ARGUMENT, "step 5, nbcoll_add_fetch: a bound block may not stand here"},
    {too_much_scratch, NBCOLL_ERR_COUNT,
     "step 5, nbcoll_add_scratch: 18446744073709551615 bytes more than the 0 before overflow"},
    {no_lane, NBCOLL_ERR_ARGUMENT, "step 3, nbcoll_set_lane: there is no lane 9"},
    {its_own, NBCOLL_ERR_UNSUPPORTED, "step 5, nbcoll_builder_fail: not supported by this transport or build"},
};

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void rank_step_and_call_are_named_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        heard h = {0};
        char expected[300];
        nbcoll_builder *b = listened_to(&h, NULL);
        mistakes[i].make(b);
        assert_int_equal(h.times, 0); /* told at finish */
        assert_refused(b, mistakes[i].why);
        assert_int_equal(h.times, 1);
        assert_int_equal(h.why, mistakes[i].why);
        snprintf(expected, sizeof expected, "bcast/mine: rank 1 of 8, %s", mistakes[i].text ? mistakes[i].text : "");
        if (mistakes[i].text)
            assert_string_equal(h.text, expected);
    }
}

static void words_are_the_same_where_memory_is_shared(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        heard native = {0}, lowered = {0};
        nbcoll_builder *b = listened_to(&lowered, NULL), *c = listened_to(&native, with_all);
        mistakes[i].make(b);
        mistakes[i].make(c);
        assert_refused(b, mistakes[i].why);
        assert_refused(c, mistakes[i].why);
        if (mistakes[i].text)
            assert_string_equal(native.text, lowered.text);
    }
}

static void an_unknown_type_is_named_by_its_number(void **state)
{
    (void)state;
    heard h = {0};
    char number[40];
    nbcoll_builder *b = listened_to(&h, NULL);
    no_type(b);
    assert_refused(b, NBCOLL_ERR_TYPE);
    snprintf(number, sizeof number, "unknown data type %d", (int)NBCOLL_TYPE_COUNT);
    assert_non_null(strstr(h.text, number));
}

static void the_steps_of_a_circle_are_named(void **state)
{
    (void)state;
    heard h = {0};
    nbcoll_builder *b = listened_to(&h, NULL);
    circle(b);
    nbcoll_after(b, nbcoll_add_join(b), 4); /* one behind the circle is not on it */
    assert_refused(b, NBCOLL_ERR_CYCLE);
    int is_known = strstr(h.text, "step 2, nbcoll_after: it waits for step 3, which waits for step 4, which waits for "
                                  "step 2") ||
                   strstr(h.text, "step 3, nbcoll_after: it waits for step 4, which waits for step 2, which waits for "
                                  "step 3") ||
                   strstr(h.text, "step 4, nbcoll_after: it waits for step 2, which waits for step 3, which waits for "
                                  "step 4");
    if (!is_known)
        fail_msg("%s", h.text);
}

static void a_long_circle_is_named_by_its_beginning(void **state)
{
    (void)state;
    enum { LONG = 1000 };
    heard h = {0};
    nbcoll_builder *b = listened_to(&h, NULL);
    nbcoll_step first = nbcoll_add_join(b), last = first;
    for (int i = 1; i < LONG; i++) {
        nbcoll_step next = nbcoll_add_join(b);
        nbcoll_after(b, next, last);
        last = next;
    }
    nbcoll_after(b, first, last);
    assert_refused(b, NBCOLL_ERR_CYCLE);
    assert_non_null(strstr(h.text, "which waits for others, which wait for step "));
}

static void a_growing_exposure_is_named_by_the_call_that_was_made(void **state)
{
    (void)state;
    heard h = {0};
    nbcoll_builder *b = listened_to(&h, NULL);
    grows_for_nobody(b);
    assert_refused(b, NBCOLL_ERR_RANK);
    assert_non_null(strstr(h.text, "nbcoll_add_expose_growing: peer 9 is outside 0..7"));
}

static void a_builder_that_is_only_closed_tells_its_error_too(void **state)
{
    (void)state;
    heard h = {0};
    nbcoll_builder *b = listened_to(&h, NULL);
    itself(b);
    assert_int_equal(nbcoll_builder_finish(b, NULL), NBCOLL_ERR_RANK);
    assert_int_equal(h.times, 1);
}

static void a_builder_without_error_says_nothing(void **state)
{
    (void)state;
    heard h = {0};
    nbcoll_schedule_free(finished(listened_to(&h, NULL)));
    assert_int_equal(h.times, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_step_and_call_are_named_and_why),
        cmocka_unit_test(words_are_the_same_where_memory_is_shared),
        cmocka_unit_test(an_unknown_type_is_named_by_its_number),
        cmocka_unit_test(the_steps_of_a_circle_are_named),
        cmocka_unit_test(a_long_circle_is_named_by_its_beginning),
        cmocka_unit_test(a_growing_exposure_is_named_by_the_call_that_was_made),
        cmocka_unit_test(a_builder_that_is_only_closed_tells_its_error_too),
        cmocka_unit_test(a_builder_without_error_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
