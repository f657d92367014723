/* SPDX-License-Identifier: BSD-3-Clause
 * A context that is abandoned in the middle of operations, since a peer has stopped and answers nothing: the host keeps
 * the buffers that it is told of, everything else it overwrites at once. Whatever the others get then is right. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "layout.h"
#include "operation.h"
#include "world.h"

enum { RANKS = 4, ABANDONS = 0, STOPPED = 2, LOANS = 1000 };

/* Small limits, so that small data crosses them. */
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 2, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};

/* ---- loans ------------------------------------------------------------------------------------------------------- */

typedef struct loans {
    size_t n;
    unsigned char *at[LOANS];
    size_t bytes[LOANS];
} loans;

static void note_loan(void *user, void *buffer, size_t bytes)
{
    loans *l = user;
    assert_true(l->n < LOANS && buffer && bytes);
    l->at[l->n] = buffer;
    l->bytes[l->n++] = bytes;
}

static int is_lent(const loans *l, const unsigned char *byte)
{
    for (size_t i = 0; i < l->n; i++)
        if (byte >= l->at[i] && byte < l->at[i] + l->bytes[i])
            return 1;
    return 0;
}

static void overwrite(const loans *l, void *buffer)
{
    unsigned char *byte = buffer;
    for (size_t i = 0; buffer && i < malloc_usable_size(buffer); i++)
        if (!is_lent(l, byte + i))
            byte[i] = 0xdb;
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

static void step(world *w, int stopped)
{
    for (int r = 0; r < RANKS; r++)
        if (r != stopped && w->context[r])
            nbcoll_progress(w->context[r]);
}

static void open_world(world *w, int variant, heap_block **heap)
{
    nbcoll_loopback_config loopback = world_variant(variant, 3);
    nbcoll_context_config context = {.size = sizeof context, .credits = 2};

    context.host = heap_host(heap);
    world_open(w, RANKS, &loopback, &context, &limits);
}

static size_t abandon_in_the_middle(int variant, const operation *o, int steps, int cancels)
{
    heap_block *heap = NULL;
    nbcoll_request q[RANKS];
    share s[RANKS];
    loans lent = {0};
    world w;

    open_world(&w, variant, &heap);
    for (int r = RANKS - 1; r >= 0; r--) {
        s[r] = share_make(o, r, RANKS);
        EXPECT(OK, operation_start(o, &s[r], w.comm[r], &q[r]));
    }
    for (int i = 0; i < steps; i++)
        step(&w, STOPPED);
    if (cancels)
        EXPECT(OK, nbcoll_cancel(q[ABANDONS]));
    EXPECT(OK, nbcoll_context_abandon(w.context[ABANDONS], note_loan, &lent));
    w.context[ABANDONS] = NULL;
    overwrite(&lent, s[ABANDONS].send);
    overwrite(&lent, s[ABANDONS].recv);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_status end = NBCOLL_PENDING;
        for (int rounds = 0; r != ABANDONS && (end = nbcoll_test(&q[r])) == NBCOLL_PENDING; rounds++) {
            world_watchdog(&w, rounds < 5000);
            step(&w, -1);
        }
        assert_true(r == ABANDONS || end == NBCOLL_OK || end == NBCOLL_ERR_PEER_LOST || end == NBCOLL_ERR_CANCELLED);
        if (end == NBCOLL_OK)
            operation_check(o, &s[r], r, RANKS);
    }
    world_close(&w);
    heap_clear(&heap);
    for (int r = 0; r < RANKS; r++)
        share_free(&s[r]);
    return lent.n;
}

static void what_the_others_get_is_right(void **state)
{
    size_t named = 0;
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
            for (int steps = 0; steps < 6; steps++)
                for (int cancels = 0; cancels < 2; cancels++) {
                    operation o = {.what = (nbcoll_operation)what, .count = 400, .how = {NBCOLL_INT64, NBCOLL_SUM},
                                   .seed = (uint64_t)steps};
                    o.root = has_root(o.what) ? (what + steps) % RANKS : 0;
                    named += abandon_in_the_middle(variant, &o, steps, cancels);
                }
    assert_true(named > 0);
}

static void what_cannot_be_freed_can_be_abandoned(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        heap_block *heap = NULL;
        static unsigned char
            data[RANKS * (WORLD_STAGING + 1)]; /* lent: it is longer than the staging buffer, and of a scatter */
        unsigned char mine[WORLD_STAGING + 1];
        loans lent = {0};
        nbcoll_request q;
        world w;

        open_world(&w, variant, &heap);
        EXPECT(OK, nbcoll_iscatter(data, mine, sizeof mine, NBCOLL_BYTE, ABANDONS, w.comm[ABANDONS], &q));
        EXPECT(OK, nbcoll_cancel(q));
        for (int i = 0; i < 10; i++)
            EXPECT(ERR_BUSY, nbcoll_context_free(w.context[ABANDONS]));
        EXPECT(OK, nbcoll_context_abandon(w.context[ABANDONS], note_loan, &lent));
        w.context[ABANDONS] = NULL;
        for (size_t i = 0; i < lent.n; i++)
            assert_true(lent.at[i] >= data && lent.at[i] + lent.bytes[i] <= data + sizeof data);
        world_close(&w);
        heap_clear(&heap);
    }
}

static void an_idle_context_lends_and_leaks_nothing(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        heap_block *heap = NULL;
        nbcoll_request q[RANKS];
        loans lent = {0};
        world w;

        open_world(&w, variant, &heap);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
        world_finish(&w, RANKS, q);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < 10; i++)
                step(&w, -1);
        EXPECT(OK, nbcoll_context_abandon(w.context[ABANDONS], note_loan, &lent));
        w.context[ABANDONS] = NULL;
        world_close(&w);
        assert_int_equal(lent.n, 0);
        assert_int_equal(heap_clear(&heap), 0);
    }
    EXPECT(OK, nbcoll_context_abandon(NULL, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_others_get_is_right),
        cmocka_unit_test(what_cannot_be_freed_can_be_abandoned),
        cmocka_unit_test(an_idle_context_lends_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
