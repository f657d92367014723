/* SPDX-License-Identifier: BSD-3-Clause
 * The printers: golden text and drawings in golden/, odd names, bad input, and writers that stop. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/show.h"

/* What a printer wrote. */
typedef struct page {
    char text[1 << 16];
    size_t used;
    size_t calls;
    size_t stops_at; /* the call that stops the printer, from 1; 0: none */
} page;

static int to_page(void *user, const char *text, size_t bytes)
{
    page *p = user;
    if (++p->calls == p->stops_at)
        return 1;
    assert_true(p->used + bytes < sizeof p->text);
    memcpy(p->text + p->used, text, bytes);
    p->used += bytes;
    return 0;
}

static void assert_golden(const page *p, const char *name)
{
    static char golden[sizeof p->text];
    char path[1024];
    snprintf(path, sizeof path, "%s/unit/golden/%s", NBCOLL_TEST_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(golden, 1, sizeof golden - 1, file);
    fclose(file);
    golden[bytes] = '\0';
    assert_string_equal(p->text, golden);
}

static nbcoll_addr in_recv(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

static nbcoll_addr in_send(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_SEND, offset};
}

static nbcoll_builder *opened(int rank, int ranks, nbcoll_shares *shares, void *shares_user)
{
    nbcoll_builder_config config = {
        .size = sizeof config, .rank = rank, .ranks = ranks, .shares = shares, .shares_user = shares_user};
    nbcoll_builder *b = NULL;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    return b;
}

static nbcoll_schedule *finished(nbcoll_builder *b)
{
    nbcoll_schedule *s = NULL;
    assert_int_equal(nbcoll_builder_finish(b, &s), NBCOLL_OK);
    return s;
}

/* ---- golden ---------------------------------------------------------------------------------------------------- */

enum { BCAST_RANKS = 6 };

/* Binomial tree from rank 0: a rank's parent is the rank without its lowest bit; its children differ by a lower bit. */
static nbcoll_schedule *binomial(int rank)
{
    nbcoll_builder *b = opened(rank, BCAST_RANKS, NULL, NULL);
    nbcoll_step data = NBCOLL_START;
    int low = rank ? rank & -rank : 8;
    nbcoll_set_name(b, "bcast/binomial");
    nbcoll_set_fingerprint(b, 0xbca57);
    if (rank)
        data = nbcoll_add_recv(b, rank - low, in_recv(0), 64);
    for (int bit = low / 2; bit; bit /= 2)
        if (rank + bit < BCAST_RANKS)
            nbcoll_after(b, nbcoll_add_send(b, rank + bit, in_recv(0), 64), data);
    return finished(b);
}

static int same_parity(void *user, int peer)
{
    return *(int *)user % 2 == peer % 2;
}

static nbcoll_status nothing(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

/* Every kind of step. Rank 0 shares memory with rank 2, not with rank 1; it packs a vector and exposes it to both; they
 * reduce it into theirs, and rank 1 sends its result back. */
static nbcoll_schedule *mixed(int rank)
{
    const nbcoll_reduction sum = {NBCOLL_INT32, NBCOLL_SUM};
    nbcoll_builder *b = opened(rank, 3, same_parity, &rank);
    nbcoll_set_name(b, "mixed");
    if (rank == 0) {
        nbcoll_region packed = nbcoll_span(nbcoll_add_scratch(b, 32), 32), unpacked = nbcoll_span(in_send(0), 64);
        nbcoll_part parts[] = {{.peer = 1, .region = packed},
                               {.peer = 2, .region = packed},
                               {.peer = 2, .region = nbcoll_span(in_send(64), 8)}};
        nbcoll_step pack = nbcoll_add_call(b, nothing, NULL, 1, &unpacked, 1, &packed);
        nbcoll_step exposed = nbcoll_add_expose(b, 3, parts);
        nbcoll_after(b, exposed, pack);
        nbcoll_set_lane(b, exposed, NBCOLL_LANE_PROGRESS);
        nbcoll_add_recv(b, 1, in_recv(0), 32);
    } else {
        nbcoll_step own = nbcoll_add_copy(b, in_recv(0), in_send(0), 32);
        nbcoll_step sum_up = nbcoll_add_fetch_reduce(b, 0, in_recv(0), NBCOLL_LEFT, 8, sum);
        nbcoll_after(b, sum_up, own);
        if (rank == 1)
            nbcoll_after(b, nbcoll_add_send(b, 0, in_recv(0), 32), sum_up);
        else
            nbcoll_add_fetch(b, 0, in_recv(32), 8);
    }
    return finished(b);
}

/* A broadcast of 40 bytes in pieces of 16 down a chain whose last rank shares no memory with the one before. */
static int not_the_last(void *user, int peer)
{
    return *(int *)user < 2 && peer < 2;
}

static nbcoll_schedule *growing(int rank)
{
    const nbcoll_part next = {.peer = rank + 1, .region = nbcoll_span(in_recv(0), 40)};
    nbcoll_builder *b = opened(rank, 3, not_the_last, &rank);
    nbcoll_set_name(b, "growing");
    nbcoll_step shown = rank < 2 ? nbcoll_add_expose_growing(b, 1, &next, 16) : NBCOLL_START;
    for (size_t i = 0; rank > 0 && i < 3; i++) {
        nbcoll_step have = nbcoll_add_fetch(b, rank - 1, in_recv(16 * i), i < 2 ? 16 : 8);
        if (rank < 2)
            nbcoll_after(b, nbcoll_add_grow(b, shown, i), have);
    }
    return finished(b);
}

/* Text of each rank, then the drawing of all, against golden/<name>.txt and .dot. */
static void assert_prints_as(nbcoll_schedule *build(int rank), int ranks, const char *name)
{
    page text = {.used = 0}, dot = {.used = 0};
    char file[64];
    nbcoll_schedule *s[8] = {NULL};
    for (int rank = 0; rank < ranks; rank++) {
        s[rank] = build(rank);
        assert_int_equal(nbcoll_show_text(s[rank], to_page, &text), NBCOLL_OK);
    }
    assert_int_equal(nbcoll_show_dot((const nbcoll_schedule *const *)s, (size_t)ranks, to_page, &dot), NBCOLL_OK);
    for (int rank = 0; rank < ranks; rank++)
        nbcoll_schedule_free(s[rank]);
    snprintf(file, sizeof file, "%s.txt", name);
    assert_golden(&text, file);
    snprintf(file, sizeof file, "%s.dot", name);
    assert_golden(&dot, file);
}

static void a_binomial_broadcast_prints_as_golden(void **state)
{
    (void)state;
    assert_prints_as(binomial, BCAST_RANKS, "bcast_binomial");
}

static void every_kind_of_step_prints_as_golden(void **state)
{
    (void)state;
    assert_prints_as(mixed, 3, "mixed");
}

static void pieces_of_a_growing_exposure_print_as_golden(void **state)
{
    (void)state;
    assert_prints_as(growing, 3, "growing");
}

static void the_example_in_the_header_is_true(void **state)
{
    (void)state;
    page p = {.used = 0};
    nbcoll_builder *b = opened(1, 3, NULL, NULL);
    nbcoll_set_name(b, "ring");
    nbcoll_set_fingerprint(b, 7);
    nbcoll_step data = nbcoll_add_recv(b, 0, in_recv(0), 64);
    nbcoll_add_recv(b, 0, in_recv(64), 32);
    nbcoll_step send = nbcoll_add_send(b, 2, in_recv(0), 64);
    nbcoll_after(b, send, data);
    nbcoll_set_lane(b, send, NBCOLL_LANE_CALLER);
    nbcoll_step copy = nbcoll_add_copy(b, in_recv(64), in_recv(0), 32);
    nbcoll_after(b, copy, data);
    nbcoll_set_lane(b, copy, NBCOLL_LANE_PROGRESS);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(nbcoll_show_text(s, to_page, &p), NBCOLL_OK);
    assert_string_equal(p.text, "schedule ring: rank 1 of 3, 6 steps, 2 edges, fingerprint 0x00000007, "
                                "send 0, recv 96, scratch 0\n"
                                "   0 JOIN start\n"
                                "   1 JOIN end\n"
                                "   2 RECV recv[0,64) <- rank 0 #0 then 4 5\n"
                                "   3 RECV recv[64,96) <- rank 0 #1\n"
                                "   4 SEND recv[0,64) -> rank 2 #0 on caller\n"
                                "   5 COPY recv[64,96) <- recv[0,32) on progress\n");
    nbcoll_schedule_free(s);
}

/* ---- drawings -------------------------------------------------------------------------------------------------- */

static void a_drawing_of_one_rank_has_no_messages(void **state)
{
    (void)state;
    page p = {.used = 0};
    const nbcoll_schedule *s = binomial(0);
    assert_int_equal(nbcoll_show_dot(&s, 1, to_page, &p), NBCOLL_OK);
    assert_non_null(strstr(p.text, "cluster_0"));
    assert_null(strstr(p.text, "dashed"));
    nbcoll_schedule_free((nbcoll_schedule *)s);
}

static void the_order_of_the_ranks_is_the_callers(void **state)
{
    (void)state;
    page p = {.used = 0};
    const nbcoll_schedule *s[] = {binomial(4), binomial(0)};
    assert_int_equal(nbcoll_show_dot(s, 2, to_page, &p), NBCOLL_OK);
    assert_true(strstr(p.text, "cluster_4") < strstr(p.text, "cluster_0"));
    assert_non_null(strstr(p.text, "r0_s2 -> r4_s2 [style=dashed]"));
    for (int i = 0; i < 2; i++)
        nbcoll_schedule_free((nbcoll_schedule *)s[i]);
}

static void messages_of_two_senders_are_told_apart(void **state)
{
    (void)state;
    page p = {.used = 0};
    nbcoll_schedule *s[3];
    for (int rank = 0; rank < 3; rank++) {
        nbcoll_builder *b = opened(rank, 3, NULL, NULL);
        for (int peer = 0; peer < 2; peer++)
            if (rank == 2)
                nbcoll_add_recv(b, peer, in_recv((size_t)peer), 1);
        if (rank < 2)
            nbcoll_add_send(b, 2, in_send(0), 1);
        s[rank] = finished(b);
    }
    assert_int_equal(nbcoll_show_dot((const nbcoll_schedule *const *)s, 3, to_page, &p), NBCOLL_OK);
    assert_non_null(strstr(p.text, "r0_s2 -> r2_s2 [style=dashed]"));
    assert_non_null(strstr(p.text, "r1_s2 -> r2_s3 [style=dashed]"));
    for (int rank = 0; rank < 3; rank++)
        nbcoll_schedule_free(s[rank]);
}

static void nothing_is_an_empty_drawing(void **state)
{
    (void)state;
    page p = {.used = 0};
    assert_int_equal(nbcoll_show_dot(NULL, 0, to_page, &p), NBCOLL_OK);
    assert_string_equal(p.text, "digraph nbcoll {\n    node [shape=box, fontname=\"monospace\"]\n}\n");
}

/* Graphviz reads what the golden files hold, and a name that tries to break out of its string. */
static void graphviz_accepts_the_drawings(void **state)
{
    (void)state;
    if (system("command -v dot >/dev/null") != 0)
        skip();
    nbcoll_builder *b = opened(0, 3, NULL, NULL);
    nbcoll_set_name(b, "a\"]\\");
    nbcoll_schedule *odd[] = {finished(b)}, *all[] = {mixed(0), mixed(1), mixed(2)};
    nbcoll_schedule **drawn[] = {odd, all};
    for (int i = 0; i < 2; i++) {
        page p = {.used = 0};
        size_t n = i ? 3 : 1;
        assert_int_equal(nbcoll_show_dot((const nbcoll_schedule *const *)drawn[i], n, to_page, &p), NBCOLL_OK);
        FILE *dot = popen("dot -Tsvg >/dev/null", "w");
        assert_non_null(dot);
        assert_int_equal(fwrite(p.text, 1, p.used, dot), p.used);
        assert_int_equal(pclose(dot), 0);
        while (n--)
            nbcoll_schedule_free(drawn[i][n]);
    }
}

/* ---- names, errors, writers ------------------------------------------------------------------------------------ */

static void control_characters_in_a_name_are_masked(void **state)
{
    (void)state;
    page text = {.used = 0}, dot = {.used = 0};
    nbcoll_builder *b = opened(0, 1, NULL, NULL);
    nbcoll_set_name(b, "a\nb\"c\\d");
    const nbcoll_schedule *s = finished(b);
    assert_int_equal(nbcoll_show_text(s, to_page, &text), NBCOLL_OK);
    assert_int_equal(nbcoll_show_dot(&s, 1, to_page, &dot), NBCOLL_OK);
    assert_non_null(strstr(text.text, "schedule a?b\"c\\d: rank 0 of 1"));
    assert_non_null(strstr(dot.text, "label=\"a?b\\\"c\\\\d: rank 0 of 1\""));
    nbcoll_schedule_free((nbcoll_schedule *)s);
}

static void a_long_output_is_whole(void **state)
{
    (void)state;
    enum { STEPS = 500 };
    page p = {.used = 0};
    nbcoll_builder *b = opened(0, 2, NULL, NULL);
    for (size_t i = 0; i < STEPS; i++)
        nbcoll_add_recv(b, 1, in_recv(i), 1);
    nbcoll_schedule *s = finished(b);
    assert_int_equal(nbcoll_show_text(s, to_page, &p), NBCOLL_OK);
    const char *line = p.text;
    for (size_t i = 0; i < 3; i++)
        line = strchr(line, '\n') + 1;
    for (size_t i = 0; i < STEPS; i++) {
        char expected[128];
        size_t bytes =
            (size_t)snprintf(expected, sizeof expected, "%4zu RECV recv[%zu,%zu) <- rank 1 #%zu\n", i + 2, i, i + 1, i);
        assert_memory_equal(line, expected, bytes);
        line += bytes;
    }
    assert_int_equal(*line, '\0');
    nbcoll_schedule_free(s);
}

static void a_writer_stops_the_printer(void **state)
{
    (void)state;
    const nbcoll_schedule *s[] = {mixed(0), mixed(1), mixed(2)};
    for (size_t call = 1; call <= 3; call++) {
        page text = {.stops_at = 1}, dot = {.stops_at = call};
        assert_int_equal(nbcoll_show_text(s[0], to_page, &text), NBCOLL_ERR_CALL);
        assert_int_equal(nbcoll_show_dot(s, 3, to_page, &dot), NBCOLL_ERR_CALL);
        assert_int_equal(text.calls, 1);
        assert_int_equal(dot.calls, call);
    }
    for (int i = 0; i < 3; i++)
        nbcoll_schedule_free((nbcoll_schedule *)s[i]);
}

static void null_is_refused(void **state)
{
    (void)state;
    page p = {.used = 0};
    const nbcoll_schedule *s[] = {mixed(0), NULL};
    assert_int_equal(nbcoll_show_text(NULL, to_page, &p), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_show_text(s[0], NULL, &p), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_show_dot(NULL, 1, to_page, &p), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_show_dot(s, 2, to_page, &p), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_show_dot(s, 1, NULL, &p), NBCOLL_ERR_NULL);
    assert_int_equal(p.calls, 0);
    nbcoll_schedule_free((nbcoll_schedule *)s[0]);
}

static void schedules_that_are_not_of_one_operation_are_refused(void **state)
{
    (void)state;
    page p = {.used = 0};
    const nbcoll_schedule *twice[] = {mixed(0), mixed(0)}, *sizes[] = {mixed(0), binomial(1)};
    assert_int_equal(nbcoll_show_dot(twice, 2, to_page, &p), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_show_dot(sizes, 2, to_page, &p), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(p.calls, 0);
    for (int i = 0; i < 2; i++) {
        nbcoll_schedule_free((nbcoll_schedule *)twice[i]);
        nbcoll_schedule_free((nbcoll_schedule *)sizes[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_binomial_broadcast_prints_as_golden),
    cmocka_unit_test(every_kind_of_step_prints_as_golden),
    cmocka_unit_test(pieces_of_a_growing_exposure_print_as_golden),
    cmocka_unit_test(the_example_in_the_header_is_true),
    cmocka_unit_test(a_drawing_of_one_rank_has_no_messages),
    cmocka_unit_test(the_order_of_the_ranks_is_the_callers),
    cmocka_unit_test(messages_of_two_senders_are_told_apart),
    cmocka_unit_test(nothing_is_an_empty_drawing),
    cmocka_unit_test(graphviz_accepts_the_drawings),
    cmocka_unit_test(control_characters_in_a_name_are_masked),
    cmocka_unit_test(a_long_output_is_whole),
    cmocka_unit_test(a_writer_stops_the_printer),
    cmocka_unit_test(null_is_refused),
    cmocka_unit_test(schedules_that_are_not_of_one_operation_are_refused),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
