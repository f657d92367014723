/* SPDX-License-Identifier: BSD-3-Clause
 * A context has room for so many requests: with all of them taken every call that needs one is refused with ERR_LIMIT,
 * and changes nothing. The table has chunks, of which the test lets the context have the first one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "nbcoll/schedule.h"
#include "works.h"
#include "world.h"

enum { RANKS = 2 };

/* Rank 0 takes all requests of its first chunk by barriers; returns how many. */
static int fill(world *w, nbcoll_request q[])
{
    nbcoll_context *c = w->context[0];
    int n = 0;

    assert_int_equal(c->chunks, 1);
    c->chunks = NBCOLLI_REQUEST_CHUNKS;
    while (c->free_requests)
        EXPECT(OK, nbcoll_ibarrier(w->comm[0], &q[n++]));
    return n;
}

static nbcoll_schedule *nothing(void)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = RANKS};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void calls_that_need_a_request_are_refused(void **state)
{
    nbcoll_request q[2 * NBCOLLI_REQUEST_CHUNK], more, persistent;
    nbcoll_schedule *s = nothing();
    nbcoll_comm *made = NULL;
    char byte = 0;
    world w;

    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_barrier_init(w.comm[0], &persistent));
    int n = fill(&w, q);
    assert_int_equal(n, NBCOLLI_REQUEST_CHUNK - 1);
    for (int again = 0; again < 2; again++) {
        EXPECT(ERR_LIMIT, nbcoll_ibarrier(w.comm[0], &more));
        EXPECT(ERR_LIMIT, nbcoll_ibcast(&byte, 1, NBCOLL_BYTE, 0, w.comm[0], &more));
        EXPECT(ERR_LIMIT, nbcoll_barrier(w.comm[0], 0));
        EXPECT(ERR_LIMIT, nbcoll_bcast_init(&byte, 1, NBCOLL_BYTE, 0, w.comm[0], &more));
        EXPECT(ERR_LIMIT, nbcoll_schedule_start(s, NULL, NULL, w.comm[0], &more));
        EXPECT(ERR_LIMIT, nbcoll_schedule_init(s, NULL, NULL, w.comm[0], &more));
        EXPECT(ERR_LIMIT, nbcoll_comm_idup(w.comm[0], &made, &more));
        EXPECT(ERR_LIMIT, nbcoll_comm_isplit(w.comm[0], 0, 0, &made, &more));
        EXPECT(ERR_LIMIT, nbcoll_comm_ishrink(w.comm[0], &made, &more));
    }
    EXPECT(OK, nbcoll_start(&persistent)); /* it has one */
    for (int i = 0; i <= n; i++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[n + i]));
    world_finish(&w, (size_t)(2 * n + 1), q);
    world_finish(&w, 1, &persistent);
    EXPECT(OK, nbcoll_request_free(&persistent));
    w.context[0]->chunks = 1;
    works(&w);
    EXPECT(OK, nbcoll_schedule_free(s));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_that_need_a_request_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
