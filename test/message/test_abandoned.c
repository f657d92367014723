/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts that are freed, or abandoned, with messages open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "nbcoll/strided.h"
#include "party.h"

enum { LONG = 600000 };
static unsigned char long_in[LONG], long_out[LONG];

typedef struct named {
    int in, out, other; /* calls */
} named;

static void note(void *user, void *buffer, size_t bytes)
{
    named *n = user;
    const unsigned char *at = buffer;
    int is_in = at >= long_in && at + bytes <= long_in + LONG, is_out = at >= long_out && at + bytes <= long_out + LONG;
    n->in += is_in;
    n->out += is_out;
    n->other += !is_in && !is_out;
}

static heap_block *heap;

static void begin(party *p, int variant)
{
    const nbcoll_context_config config = {.size = sizeof config, .host = heap_host(&heap)};
    party_open(p, 2, variant, &config, NULL);
}

/* Returns whether memory was kept. */
static int finish(party *p)
{
    for (int i = 0; i < 1000; i++)
        nbcoll_progress(p->w.context[0]);
    EXPECT(OK, nbcoll_messages_close(p->m[0]));
    p->w.context[1] = NULL;
    world_close(&p->w);
    return heap_clear(&heap) > 0;
}

/* With kept messages, a probed one, and none under way. */
static void a_context_is_freed_with_its_messages(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_message message;
        nbcoll_message_info info;
        nbcoll_request q;
        party p;
        begin(&p, variant);
        for (int i = 0; i < 3; i++) {
            EXPECT(OK, nbcoll_isend(long_in, 8, NBCOLL_BYTE, 1, 0, p.m[0], &q));
            assert_int_equal(party_end(&p, &q), NBCOLL_OK);
        }
        for (int i = 0; i < 30; i++)
            world_step(&p.w);
        EXPECT(OK, nbcoll_improbe(0, 0, p.m[1], &info, &message));
        EXPECT(OK, nbcoll_irecv(long_out, 8, NBCOLL_BYTE, 0, 1, p.m[1], NULL, &q));
        EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[1]));
        EXPECT(OK, nbcoll_cancel(q));
        EXPECT(ERR_CANCELLED, nbcoll_test(&q));
        nbcoll_status s = NBCOLL_ERR_BUSY;
        for (int i = 0; i < 1000 && s == NBCOLL_ERR_BUSY; i++) {
            nbcoll_progress(p.w.context[0]);
            s = nbcoll_context_free(p.w.context[1]);
        }
        assert_int_equal(s, NBCOLL_OK);
        assert_false(finish(&p));
    }
}

/* Rank 1 abandons what is under way after so many steps; rank 0 loses it. */
static void abandon_after(int variant, int steps, int sends, int packs)
{
    nbcoll_status ended = NBCOLL_PENDING;
    nbcoll_strided column;
    nbcoll_request q[4];
    named n = {0};
    party p;

    begin(&p, variant);
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_BYTE, 1, (nbcoll_steps){LONG / 2, 2}, NBCOLL_ONCE, 1));
    nbcoll_type type = packs ? nbcoll_type_of(&column.type) : NBCOLL_BYTE;
    size_t count = packs ? 1 : LONG;
    EXPECT(OK, nbcoll_isend(long_in, count, type, sends ? 0 : 1, 0, p.m[sends], &q[0]));
    EXPECT(OK, nbcoll_irecv(long_out, count, type, sends, 0, p.m[!sends], NULL, &q[1]));
    EXPECT(OK, nbcoll_irecv(long_out, 1, NBCOLL_BYTE, NBCOLL_ANY_SOURCE, 1, p.m[1], NULL, &q[2]));
    EXPECT(OK, nbcoll_issend(long_in, 100, NBCOLL_BYTE, 1, 1, p.m[1], &q[3]));
    for (int i = 0; i < steps; i++)
        world_step(&p.w);
    EXPECT(OK, nbcoll_context_abandon(p.w.context[1], note, &n));
    assert_int_equal(n.other, 0);
    assert_true(!packs || (!n.in && !n.out));
    assert_int_equal(sends ? n.out : n.in, 0);
    p.w.context[1] = NULL;
    for (int i = 0; i < 10000 && ended == NBCOLL_PENDING; i++)
        ended = nbcoll_test(&q[sends]);
    assert_true(ended == NBCOLL_OK || ended == NBCOLL_ERR_PEER_LOST);
    finish(&p);
}

static void what_is_under_way_is_abandoned(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int steps = 0; steps < 6; steps++)
            for (int how = 0; how < 4; how++)
                abandon_after(variant, steps, how % 2, how / 2);
}

/* A receiver that has not matched it may still get it: it is lent. */
static void an_announced_buffer_is_lent(void **state)
{
    int lent = 0;
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_request q;
        named n = {0};
        party p;
        begin(&p, variant);
        EXPECT(OK, nbcoll_isend(long_in, LONG, NBCOLL_BYTE, 0, 0, p.m[1], &q));
        for (int i = 0; i < 30; i++)
            world_step(&p.w);
        EXPECT(OK, nbcoll_context_abandon(p.w.context[1], note, &n));
        assert_true(!n.out && !n.other && n.in <= 1);
        lent += n.in;
        finish(&p);
    }
    assert_true(lent > 0 && lent < WORLD_VARIANTS); /* those that get */
}

static void an_opening_is_abandoned(void **state)
{
    const nbcoll_context_config config = {.size = sizeof config, .host = heap_host(&heap)};
    nbcoll_messages *m[2];
    nbcoll_request q[2];
    world w;
    (void)state;
    world_open(&w, 2, NULL, &config, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_iopen(w.comm[r], NULL, &m[r], &q[r]));
    EXPECT(OK, nbcoll_context_abandon(w.context[1], NULL, NULL));
    w.context[1] = NULL;
    nbcoll_status s = NBCOLL_PENDING;
    for (int i = 0; i < 10000 && s == NBCOLL_PENDING; i++)
        s = nbcoll_test(&q[0]);
    assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_PEER_LOST);
    EXPECT(OK, nbcoll_messages_close(m[0]));
    world_close(&w);
    heap_clear(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_is_freed_with_its_messages),
        cmocka_unit_test(what_is_under_way_is_abandoned),
        cmocka_unit_test(an_announced_buffer_is_lent),
        cmocka_unit_test(an_opening_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
