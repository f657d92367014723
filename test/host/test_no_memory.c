/* SPDX-License-Identifier: BSD-3-Clause
 * The N-th allocation fails, for N = 1, 2, ... until nothing fails: at the creation of contexts and communicators, at
 * starts, and inside progress. A call that is refused with ERR_MEMORY has changed nothing: called again, it works. What
 * fails inside an operation ends it, or breaks the communicator, on all ranks. Nobody hangs, nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "operation.h"
#include "world.h"

enum { MOST = 3 }; /* ranks */

/* ---- a host that runs out of memory ---------------------------------------------------------------------------- */

typedef struct memory {
    size_t used, calls;
    size_t fails; /* which call does; 0: none */
} memory;

static void *scarce_alloc(void *user, size_t bytes, size_t align)
{
    memory *m = user;
    if (++m->calls == m->fails)
        return NULL;
    m->used += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void scarce_free(void *user, void *p, size_t bytes)
{
    ((memory *)user)->used -= bytes;
    free(p);
}

/* ---- a life with one failure ----------------------------------------------------------------------------------- */

typedef struct life {
    world w; /* members are null where nothing was made */
    int broken;
} life;

/* Calls again what was refused for lack of memory. */
#define AGAIN_WITHOUT_MEMORY(status, call)                                                                             \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status == NBCOLL_ERR_MEMORY)                                                                               \
            status = (call);                                                                                           \
    } while (0)

static void open_life(life *l, memory *m, int ranks, int variant)
{
    nbcoll_host host = {.size = sizeof host, .user = m, .alloc = scarce_alloc, .free = scarce_free};
    nbcoll_loopback_config loopback = world_variant(variant, 3);
    nbcoll_context_config context = {.size = sizeof context, .host = host, .credits = 2};
    nbcoll_status s;

    loopback.host = &host;
    loopback.ranks = ranks;
    *l = (life){.w = {.ranks = ranks, .random = 1}};
    AGAIN_WITHOUT_MEMORY(s, nbcoll_loopback_create(&loopback, &l->w.loopback));
    EXPECT(OK, s);
    for (int r = 0; r < l->w.ranks; r++) {
        AGAIN_WITHOUT_MEMORY(s, nbcoll_loopback_open(l->w.loopback, r, &l->w.endpoint[r]));
        EXPECT(OK, s);
        watch_init(&l->w.watch[r], r);
        context.observer = &l->w.watch[r].observer;
        AGAIN_WITHOUT_MEMORY(s, nbcoll_context_create(NBCOLL_ABI, &context, &l->w.context[r]));
        EXPECT(OK, s);
    }
}

/* Looks until all requests have ended; some of them may be null. */
static void finish(life *l, nbcoll_request q[MOST])
{
    int left = 1;
    for (int rounds = 0; left; rounds++) {
        world_watchdog(&l->w, rounds < 5000);
        left = 0;
        world_step(&l->w);
        for (int r = 0; r < l->w.ranks; r++) {
            nbcoll_status s = nbcoll_test(&q[r]);
            left += s == NBCOLL_PENDING;
            l->broken |= s != NBCOLL_PENDING && s != NBCOLL_OK;
            if (s != NBCOLL_PENDING && s != NBCOLL_OK && s != NBCOLL_ERR_MEMORY)
                EXPECT(ERR_PEER_LOST, s);
        }
    }
}

/* What a start said. A broken communicator refuses; others accept what they accept a second time. */
static void started(life *l, nbcoll_status s)
{
    l->broken |= s != NBCOLL_OK;
    if (s != NBCOLL_OK)
        EXPECT(ERR_PEER_LOST, s);
}

static void create(life *l)
{
    const nbcoll_comm_config config = {.size = sizeof config, .slots = 2, .cells = 1, .schedules = 2,
                                       .eager = 256, .large = 2048};
    nbcoll_request q[MOST] = {NBCOLL_REQUEST_NULL};
    nbcoll_status s;

    for (int r = 0; r < l->w.ranks; r++) {
        AGAIN_WITHOUT_MEMORY(s, nbcoll_comm_icreate(l->w.context[r], l->w.endpoint[r], &config, &l->w.comm[r], &q[r]));
        EXPECT(OK, s);
    }
    finish(l, q);
}

/* Operations of which rank `late` comes when the others have already sent: some messages are stored. */
static void run(life *l, const operation *o, int late)
{
    nbcoll_request q[MOST] = {NBCOLL_REQUEST_NULL};
    share shares[MOST];
    nbcoll_status s;
    int was_broken = l->broken;

    for (int k = 1; k <= l->w.ranks; k++) {
        int r = (late + k) % l->w.ranks;
        shares[r] = share_make(o, r, l->w.ranks);
        for (int i = 0; k == l->w.ranks && i < 5; i++)
            world_step(&l->w);
        AGAIN_WITHOUT_MEMORY(s, operation_start(o, &shares[r], l->w.comm[r], &q[r]));
        started(l, s);
    }
    finish(l, q);
    for (int r = 0; r < l->w.ranks; r++) {
        if (!l->broken && !was_broken)
            operation_check(o, &shares[r], r, l->w.ranks);
        share_free(&shares[r]);
    }
}

static void cancel_and_dup(life *l)
{
    nbcoll_request q[MOST] = {NBCOLL_REQUEST_NULL};
    nbcoll_comm *dup[MOST] = {NULL};
    nbcoll_status s;

    AGAIN_WITHOUT_MEMORY(s, nbcoll_ibarrier(l->w.comm[0], &q[0]));
    started(l, s);
    if (s == NBCOLL_OK)
        EXPECT(OK, nbcoll_cancel(q[0]));
    for (int i = 0; i < 5; i++)
        world_step(&l->w);
    for (int r = 1; r < l->w.ranks; r++) {
        AGAIN_WITHOUT_MEMORY(s, nbcoll_ibarrier(l->w.comm[r], &q[r]));
        started(l, s);
    }
    for (int r = 0; r < l->w.ranks; r++) /* these end cancelled, or lost */
        for (int rounds = 0; nbcoll_test(&q[r]) == NBCOLL_PENDING; rounds++) {
            world_watchdog(&l->w, rounds < 5000);
            world_step(&l->w);
        }
    for (int r = 0; r < l->w.ranks; r++) {
        AGAIN_WITHOUT_MEMORY(s, nbcoll_comm_idup(l->w.comm[r], &dup[r], &q[r]));
        started(l, s);
    }
    finish(l, q);
}

static void live(memory *m, int ranks, int variant)
{
    static const nbcoll_operation what[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_ALLREDUCE,
                                            NBCOLL_OPERATION_GATHER};
    static const size_t counts[] = {1, 100, 500};
    life l;

    open_life(&l, m, ranks, variant);
    create(&l);
    for (int k = 0; k < 9 && !l.broken; k++) {
        operation o = {.what = what[k % 3], .count = counts[k / 3], .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 1};
        run(&l, &o, k % ranks);
    }
    if (!l.broken)
        cancel_and_dup(&l);
    world_close(&l.w);
    assert_int_equal(m->used, 0);
}

static void whichever_allocation_fails_nobody_hangs_and_nothing_leaks(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            size_t n = 0;
            memory m;
            do {
                m = (memory){.fails = ++n};
                live(&m, ranks, variant);
            } while (m.calls >= n);
            printf("%d ranks, variant %d: %zu allocations\n", ranks, variant, n - 1);
            assert_true(n > 20);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_allocation_fails_nobody_hangs_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
