/* SPDX-License-Identifier: BSD-3-Clause
 * A CTS that lends memory for a put is answered exactly once, also when what it belongs to is gone: a rank that has
 * lent its memory waits for the answer. Such a CTS is written here by hand, on behalf of rank 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/communicator.h"
#include "nbcoll/trace.h"
#include "works.h"
#include "world.h"

enum { RANKS = 2 };

/* What rank 0 has answered. */
typedef struct answers {
    int n;
    nbcolli_header last;
} answers;

static void see(void *user, const nbcoll_trace_event *e)
{
    answers *a = user;
    if (e->call != NBCOLL_TRACE_POST || e->posted != NBCOLL_POST_DONE)
        return;
    nbcolli_header h = nbcolli_unpack(e->header);
    if (h.type != NBCOLLI_PUT)
        return;
    a->n++;
    a->last = h;
}

static void open_seen(world *w, answers *a)
{
    nbcoll_loopback_config loopback = world_variant(WORLD_PUTS, 1);
    nbcoll_trace_config trace = {.size = sizeof trace, .user = a, .event = see};
    nbcoll_request q[RANKS];

    *a = (answers){0};
    world_open_contexts(w, RANKS, &loopback, NULL);
    EXPECT(OK, nbcoll_trace_open(&trace, w->endpoint[0], &w->endpoint[0]));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], NULL, &w->comm[r], &q[r]));
    world_finish(w, RANKS, q);
}

/* Rank 1 sends it to rank 0, for message `number` of operation `tag`. */
static void lend(world *w, uint64_t comm, uint64_t tag, uint32_t number, int with_key)
{
    const nbcolli_header h = {
        .comm = comm, .tag = tag, .source = 1, .to = 0, .number = number, .type = NBCOLLI_CTS, .bytes = 0};
    const nbcolli_remote remote = {0, {{1, 2, 3}}};
    const size_t bytes = offsetof(nbcolli_remote, key) + w->endpoint[1]->limits.key_bytes;
    const nbcoll_header wire = nbcolli_pack(&h);
    nbcoll_work work = {0};

    assert_int_equal(
        w->endpoint[1]->transport->post(w->endpoint[1], 0, &wire, &remote, with_key ? bytes : 0, &work),
        NBCOLL_POST_DONE);
    for (int i = 0; i < 3; i++)
        nbcoll_progress(w->context[0]);
}

static void is_refused(const answers *a, int n, uint64_t comm, uint64_t tag, uint32_t number)
{
    assert_int_equal(a->n, n);
    assert_int_equal(a->last.status, NBCOLL_ERR_CANCELLED);
    assert_int_equal(a->last.comm, comm);
    assert_int_equal(a->last.tag, tag);
    assert_int_equal(a->last.number, number);
    assert_int_equal(a->last.to, 1);
}

static void for_a_send_that_is_gone(void **state)
{
    (void)state;
    answers a;
    world w;
    nbcoll_request q[RANKS];

    open_seen(&w, &a);
    works(&w);
    uint64_t comm = w.comm[0]->id, tag = w.comm[0]->taken - 1;
    lend(&w, comm, tag, 3, 1); /* an operation that is over */
    is_refused(&a, 1, comm, tag, 3);
    lend(&w, comm, tag, 3, 0); /* nothing is lent: nobody waits */
    assert_int_equal(a.n, 1);
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    lend(&w, comm, tag + 1, 77, 1); /* one that runs, and has no such send */
    is_refused(&a, 2, comm, tag + 1, 77);
    EXPECT(OK, nbcoll_ibarrier(w.comm[1], &q[1]));
    world_finish(&w, RANKS, q);
    works(&w);
    world_close(&w);
}

static void for_a_communicator_that_is_gone(void **state)
{
    (void)state;
    answers a;
    world w;
    nbcoll_comm *dup[RANKS];
    nbcoll_request q[RANKS];

    open_seen(&w, &a);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(w.comm[r], &dup[r], &q[r]));
    world_finish(&w, RANKS, q);
    uint64_t comm = dup[0]->id;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_free(dup[r]));
    lend(&w, comm, 5, 6, 1);
    is_refused(&a, 1, comm, 5, 6);
    works(&w);
    world_close(&w);
}

/* It may be of the one that is being made; when that is made, it is not. */
static void for_an_unknown_communicator_once_none_is_being_made(void **state)
{
    (void)state;
    answers a;
    world w;
    nbcoll_comm *dup[RANKS];
    nbcoll_request q[RANKS];
    const uint64_t unknown = 0x123456789;

    open_seen(&w, &a);
    EXPECT(OK, nbcoll_comm_idup(w.comm[0], &dup[0], &q[0]));
    lend(&w, unknown, 5, 6, 1);
    assert_int_equal(a.n, 0);
    EXPECT(OK, nbcoll_comm_idup(w.comm[1], &dup[1], &q[1]));
    world_finish(&w, RANKS, q);
    world_step(&w);
    is_refused(&a, 1, unknown, 5, 6);
    works(&w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_a_send_that_is_gone),
        cmocka_unit_test(for_a_communicator_that_is_gone),
        cmocka_unit_test(for_an_unknown_communicator_once_none_is_being_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
