/* SPDX-License-Identifier: BSD-3-Clause
 * The algorithm author: writes a builder, has it proved for many ranks, looks at it, and runs it unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"
#include "nbcoll/show.h"
#include "nbcoll/verify.h"
#include "world.h"

enum { PIECES = 4 };

/* A broadcast down a chain, in pieces; all receives posted at once (uKACC, figure 3). */
static void chain(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int i = 0; i < PIECES; i++) {
        size_t from = a->bytes * (size_t)i / PIECES, to = a->bytes * (size_t)(i + 1) / PIECES;
        nbcoll_step piece = NBCOLL_START;
        if (b->rank > 0)
            piece = nbcoll_add_recv(b, b->rank - 1, nbcoll_at(a->recv, from), to - from);
        if (b->rank + 1 < b->ranks)
            nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, nbcoll_at(a->recv, from), to - from), piece);
    }
}

static const nbcoll_algorithm mine = {sizeof mine, "chain", NBCOLL_OPERATION_BCAST, chain, 0, NULL};
static const nbcoll_args args = {.size = sizeof args, .operation = NBCOLL_OPERATION_BCAST, .count = 10,
                                 .reduction = {NBCOLL_INT32, NBCOLL_SUM}};

static nbcoll_schedule *build(int rank, int ranks)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_schedule *s;
    assert_int_equal(nbcoll_build_schedule(&mine, &args, &config, &s), NBCOLL_OK);
    return s;
}

static void the_author_proves_the_builder(void **state)
{
    nbcoll_refutation why = {.size = sizeof why};
    (void)state;
    nbcoll_case c = {.size = sizeof c, .operation = args.operation, .count = args.count, .reduction = args.reduction};
    for (c.ranks = 1; c.ranks <= 9; c.ranks++)
        assert_int_equal(nbcoll_verify_algorithm(&mine, &c, NULL, &why), NBCOLL_OK);
}

static int append(void *user, const char *text, size_t bytes)
{
    strncat(user, text, bytes);
    return 0;
}

static void the_author_looks_at_a_schedule(void **state)
{
    char text[4096] = "";
    nbcoll_schedule *s = build(1, 3);
    (void)state;
    assert_int_equal(nbcoll_show_text(s, append, text), NBCOLL_OK);
    assert_non_null(strstr(text, "bcast/chain"));
    assert_non_null(strstr(text, "RECV"));
    nbcoll_schedule_free(s);
}

static void the_author_runs_it_unchanged(void **state)
{
    world w;
    int32_t data[3][10] = {{0}};
    nbcoll_schedule *s[3];
    nbcoll_request request[3];

    (void)state;
    world_open(&w, 3, NULL, NULL, NULL);
    for (int i = 0; i < 10; i++)
        data[0][i] = i * i;
    for (int r = 0; r < 3; r++) {
        s[r] = build(r, 3);
        assert_int_equal(nbcoll_schedule_start(s[r], NULL, data[r], w.comm[r], &request[r]), NBCOLL_OK);
    }
    world_finish(&w, 3, request);
    for (int r = 0; r < 3; r++) {
        assert_memory_equal(data[r], data[0], sizeof data[0]);
        assert_int_equal(nbcoll_schedule_free(s[r]), NBCOLL_OK);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_author_proves_the_builder),
        cmocka_unit_test(the_author_looks_at_a_schedule),
        cmocka_unit_test(the_author_runs_it_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
