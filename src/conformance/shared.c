/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the shared group: what a rank reserves is its own, fresh, and where all others find it; and a change
 * that its writer wakes for ends a sleep.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "player.h"

#define LINE 128

/* Ends the test when the transport has no shared group and need not have one. */
static struct world *shared_world(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);
    world_needs(w, w->player[0].ep->transport->shared, "it has no shared group", NBCOLL_CONFORMANCE_SHARED);
    return w;
}

static nbcoll_status reserve(struct player *p, size_t bytes, uint64_t *at)
{
    return p->ep->transport->shared->reserve(p->ep, bytes, at);
}

static void release(struct player *p, uint64_t at)
{
    p->ep->transport->shared->release(p->ep, at);
}

static unsigned char *map(struct player *p, uint64_t at, size_t bytes)
{
    return p->ep->transport->shared->map(p->ep, at, bytes);
}

/* Any bytes that nobody else has. */
static void mark(unsigned char *memory, size_t bytes, int with)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((size_t)with * 37 + i);
}

static void check_mark(const unsigned char *memory, size_t bytes, int with)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQUAL(memory[i], (unsigned char)((size_t)with * 37 + i));
}

static void reserved_memory_is_zeroed_aligned_and_nobody_elses(const nbcoll_conformance *c)
{
    enum { RANKS = 3, EACH = 20 };
    struct world *w = shared_world(c, RANKS);
    uint64_t at[RANKS * EACH];
    size_t bytes[RANKS * EACH];
    for (int round = 0; round < 3; round++) { /* also what was used before */
        for (int i = 0; i < RANKS * EACH; i++) {
            struct player *p = &w->player[i % RANKS];
            bytes[i] = 1 + random_next(&w->random) % 5000;
            CHECK_EQUAL(reserve(p, bytes[i], &at[i]), NBCOLL_OK);
            CHECK(at[i] != 0);
            unsigned char *memory = map(p, at[i], bytes[i]);
            CHECK_EQUAL((uintptr_t)memory % LINE, 0);
            for (size_t k = 0; k < bytes[i]; k++)
                CHECK_EQUAL(memory[k], 0);
            for (int k = 0; k < i; k++)
                CHECK(at[k] != at[i]);
            mark(memory, bytes[i], i);
        }
        for (int i = 0; i < RANKS * EACH; i++)
            check_mark(map(&w->player[i % RANKS], at[i], bytes[i]), bytes[i], i);
        for (int i = 0, k = round; i < RANKS * EACH; i++, k = (k + 7) % (RANKS * EACH))
            release(&w->player[k % RANKS], at[k]);
    }
    world_close(w);
}

/* All see it in place: the core does not get it, since its owner may have left. */
static void check_viewed(struct world *w, int owner, uint64_t at, size_t bytes, int with)
{
    const nbcoll_bulk *bulk = w->player[owner].ep->transport->bulk;
    nbcoll_registration r;
    if (!bulk || !bulk->view || bulk->deregister_memory)
        return;
    player_register(&w->player[owner], -1, map(&w->player[owner], at, bytes), bytes, NBCOLL_PEER_READS, &r);
    for (int reader = 0; reader < w->ranks; reader++) {
        const unsigned char *there = bulk->view(w->player[reader].ep, owner, &r.key, 0, bytes);
        CHECK(there != NULL);
        check_mark(there, bytes, with);
    }
}

static void all_ranks_find_what_one_has_reserved(const nbcoll_conformance *c)
{
    enum { RANKS = 3, BYTES = 3000 };
    struct world *w = shared_world(c, RANKS);
    for (int owner = 0; owner < RANKS; owner++) {
        uint64_t at;
        CHECK_EQUAL(reserve(&w->player[owner], BYTES, &at), NBCOLL_OK);
        for (int writer = 0; writer < RANKS; writer++) {
            mark(map(&w->player[writer], at, BYTES), BYTES, writer);
            for (int reader = 0; reader < RANKS; reader++)
                check_mark(map(&w->player[reader], at, BYTES), BYTES, writer);
        }
        check_viewed(w, owner, at, BYTES, RANKS - 1);
        release(&w->player[owner], at);
        CHECK(!map(&w->player[owner], 0, 1)); /* names nothing */
    }
    world_close(w);
}

/* One rank's memory comes to an end, if there is one; the others' does not. What is given back is there again. */
static void memory_that_is_used_up_comes_back(const nbcoll_conformance *c)
{
    enum { CHUNK = 1 << 16, MOST = 256 };
    struct world *w = shared_world(c, 2);
    uint64_t at[MOST], again, other;
    size_t n = 0;
    CHECK_EQUAL(reserve(&w->player[0], SIZE_MAX, &again), NBCOLL_ERR_MEMORY);
    while (n < MOST && reserve(&w->player[0], CHUNK, &at[n]) == NBCOLL_OK)
        n++;
    CHECK(n > 2);
    for (size_t i = n == MOST ? n : 0; i > 0;)
        release(&w->player[0], at[--i]);
    world_needs(w, n < MOST, "its shared memory has no end", 0);
    CHECK_EQUAL(reserve(&w->player[0], CHUNK, &again), NBCOLL_ERR_MEMORY);
    CHECK_EQUAL(reserve(&w->player[1], CHUNK, &other), NBCOLL_OK);
    for (size_t i = 0; i < n; i++) {
        release(&w->player[0], at[i]);
        CHECK_EQUAL(reserve(&w->player[0], CHUNK + LINE, &again), NBCOLL_ERR_MEMORY);
        CHECK_EQUAL(reserve(&w->player[0], CHUNK, &again), NBCOLL_OK);
        CHECK(again == at[i]);
    }
    release(&w->player[0], at[0]);
    release(&w->player[0], at[1]); /* the two are one gap, which is as good for other sizes */
    CHECK_EQUAL(reserve(&w->player[0], CHUNK + LINE, &at[0]), NBCOLL_OK);
    CHECK_EQUAL(reserve(&w->player[0], CHUNK - LINE, &at[1]), NBCOLL_OK);
    for (size_t i = 0; i < n; i++)
        release(&w->player[0], at[i]);
    release(&w->player[1], other);
    world_close(w);
}

static void a_change_of_shared_memory_ends_a_sleep(const nbcoll_conformance *c)
{
    struct world *w = shared_world(c, 2);
    const nbcoll_shared *shared = w->player[0].ep->transport->shared;
    struct player *sleeper = &w->player[1];
    for (int round = 0; round < 10; round++) {
        struct player *ringer = &w->player[round % 2]; /* or the sleeper itself */
        shared->wake(ringer->ep, 1);
        CHECK(!player_is_rung(sleeper, 0)); /* it was awake */
        CHECK_EQUAL(sleeper->ep->transport->wakeup->arm(sleeper->ep), NBCOLL_OK);
        CHECK(!player_is_rung(sleeper, 0));
        shared->wake(ringer->ep, ringer == sleeper || round < 5 ? 1 : -1);
        CHECK(player_is_rung(sleeper, case_left_ms()));
        CHECK(!player_progress(sleeper)); /* nothing has come, and the sleep is over */
        CHECK(!player_is_rung(sleeper, 0));
    }
    world_close(w);
}
