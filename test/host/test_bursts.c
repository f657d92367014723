/* SPDX-License-Identifier: BSD-3-Clause
 * One rank has no memory for a while: from its k-th allocation on, for some allocations, until the call ends in which
 * that was, or for many calls. A call that is refused with ERR_MEMORY has changed nothing, and is called again. What
 * fails inside ends there, or breaks a communicator, on all ranks. Nobody waits for ever, what is cancelled ends,
 * contexts can be freed, nothing leaks. NBCOLL_TEST_SEED sets another sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "operation.h"
#include "tally.h"
#include "world.h"

enum { RANKS = 3, SAMPLE = 40, MANY = 200, IN_TIME = 3000, TRIES = 400 };

/* ---- a host that runs out of memory ---------------------------------------------------------------------------- */

static struct memory {
    int caller, victim;  /* ranks: who is inside a call; who has none */
    int calls;           /* of the victim's, since that began */
    size_t taken, first; /* allocations of the victim's; the first that fails, from 1 */
    size_t failed, most; /* how many did; how many do */
    int most_calls;      /* after which there is memory again */
} memory;

static tally counted;

static int lacks(void)
{
    struct memory *m = &memory;
    if (m->caller != m->victim || ++m->taken < m->first || m->failed >= m->most || m->calls >= m->most_calls)
        return 0;
    m->failed++;
    return 1;
}

static nbcoll_host scarce_host(void)
{
    counted = (tally){0, lacks};
    return tally_host(&counted);
}

/* A call of rank r. */
#define BY(r, call) (memory.caller = (r), memory_after(call))
static nbcoll_status memory_after(nbcoll_status s)
{
    if (memory.caller == memory.victim && memory.failed)
        memory.calls++;
    memory.caller = -1;
    return s;
}

/* ---- a life ---------------------------------------------------------------------------------------------------- */

typedef struct life {
    world w;
    nbcoll_comm *dup[RANKS], *split[RANKS], *shrunk[RANKS];
    int broken;
} life;

static void step(life *l)
{
    for (int i = 0, first = (int)(world_random(&l->w.random) % RANKS); i < RANKS; i++) {
        int r = (first + i) % RANKS;
        if (l->w.context[r])
            EXPECT(OK, BY(r, nbcoll_progress(l->w.context[r])));
    }
}

/* Calls again what was refused for lack of memory, until there is some. */
#define AGAIN(l, r, status, call)                                                                                      \
    do {                                                                                                               \
        int tries = 0;                                                                                                 \
        while ((status = BY(r, call)) == NBCOLL_ERR_MEMORY && tries++ < TRIES)                                         \
            step(l);                                                                                                   \
    } while (0)

static int is_documented(nbcoll_status s)
{
    return s == NBCOLL_OK || s == NBCOLL_ERR_MEMORY || s == NBCOLL_ERR_PEER_LOST || s == NBCOLL_ERR_CANCELLED;
}

/* Until all have ended. */
static void finish(life *l, nbcoll_request q[RANKS], const nbcoll_status start[RANKS])
{
    for (int rounds = 0, left = 1; left; rounds++) {
        world_watchdog(&l->w, rounds < IN_TIME);
        left = 0;
        step(l);
        for (int r = 0; r < RANKS; r++) {
            nbcoll_status s = start[r] == NBCOLL_OK ? BY(r, nbcoll_test(&q[r])) : start[r];
            left |= s == NBCOLL_PENDING;
            l->broken |= s != NBCOLL_OK && s != NBCOLL_PENDING;
            if (s != NBCOLL_PENDING && !is_documented(s))
                EXPECT(OK, s);
        }
    }
}

static void open_life(life *l, int variant, uint64_t seed)
{
    nbcoll_host host = scarce_host();
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_context_config context = {.size = sizeof context, .host = host, .credits = 2};
    nbcoll_status s;

    loopback.host = &host;
    loopback.ranks = RANKS;
    *l = (life){.w = {.ranks = RANKS, .random = seed}};
    EXPECT(OK, BY(-1, nbcoll_loopback_create(&loopback, &l->w.loopback)));
    for (int r = 0; r < RANKS; r++) {
        watch_init(&l->w.watch[r], r);
        context.observer = &l->w.watch[r].observer;
        AGAIN(l, r, s, nbcoll_loopback_open(l->w.loopback, r, &l->w.endpoint[r]));
        EXPECT(OK, s);
        AGAIN(l, r, s, nbcoll_context_create(NBCOLL_ABI, &context, &l->w.context[r]));
        EXPECT(OK, s);
    }
}

/* Rank r's call of the life's number `what`. */
static nbcoll_status start(life *l, int what, int r, const operation *o, const share *s, nbcoll_request *q)
{
    const nbcoll_comm_config config = {.size = sizeof config, .slots = 2, .cells = 1, .schedules = 2,
                                       .eager = 256, .large = 2048};
    switch (what) {
    case 0: return nbcoll_comm_icreate(l->w.context[r], l->w.endpoint[r], &config, &l->w.comm[r], q);
    case 5: return nbcoll_comm_idup(l->w.comm[r], &l->dup[r], q);
    case 8: return nbcoll_comm_isplit(l->w.comm[r], 0, -r, &l->split[r], q);
    case 11: return nbcoll_comm_ishrink(l->w.comm[r], &l->shrunk[r], q);
    default: return operation_start(o, s, what > 5 && l->dup[r] ? l->dup[r] : l->w.comm[r], q);
    }
}

/* One call of all ranks, of which one comes late; in some lives one cancels. */
static void call(life *l, int what, int canceller)
{
    static const nbcoll_operation kinds[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_ALLREDUCE,
                                             NBCOLL_OPERATION_GATHER, NBCOLL_OPERATION_ALLTOALLV};
    static const size_t counts[] = {1, 100, 500};
    const operation o = {.what = kinds[what % 4], .count = counts[what % 3], .how = {NBCOLL_INT64, NBCOLL_SUM},
                         .seed = 1};
    nbcoll_request q[RANKS] = {NBCOLL_REQUEST_NULL};
    nbcoll_status s[RANKS];
    share shares[RANKS];

    for (int k = 0; k < RANKS; k++) {
        int r = (what + k) % RANKS;
        shares[r] = share_make(&o, r, RANKS);
        for (int i = 0; k == RANKS - 1 && i < 4; i++)
            step(l);
        AGAIN(l, r, s[r], start(l, what, r, &o, &shares[r], &q[r]));
        if (!is_documented(s[r]) || s[r] == NBCOLL_ERR_MEMORY)
            EXPECT(OK, s[r]);
    }
    if (canceller >= 0 && s[canceller] == NBCOLL_OK)
        EXPECT(OK, BY(canceller, nbcoll_cancel(q[canceller])));
    finish(l, q, s);
    for (int r = 0; r < RANKS; r++) {
        if (!l->broken && what != 0 && what != 5 && what != 8 && what != 11)
            operation_check(&o, &shares[r], r, RANKS);
        share_free(&shares[r]);
    }
}

static void close_life(life *l)
{
    memory.caller = -1;
    world_close(&l->w);
    assert_int_equal(counted.used, 0);
}

/* A persistent operation of all ranks, started twice; and memory that they share, where there is some. */
static void keep(life *l)
{
    static int32_t data[RANKS];
    nbcoll_request q[RANKS];
    nbcoll_status s[RANKS];

    for (int r = 0; r < RANKS; r++) {
        void *shared = NULL;
        AGAIN(l, r, s[r], nbcoll_mem_alloc(l->w.comm[r], 4096, &shared));
        if (s[r] != NBCOLL_ERR_UNSUPPORTED)
            EXPECT(OK, s[r]);
        EXPECT(OK, BY(r, nbcoll_mem_free(l->w.comm[r], shared)));
        AGAIN(l, r, s[r], nbcoll_bcast_init(&data[r], 1, NBCOLL_INT32, 0, l->w.comm[r], &q[r]));
        EXPECT(OK, s[r]);
    }
    for (int i = 0; i < 2 && !l->broken; i++) {
        for (int r = 0; r < RANKS; r++) {
            data[r] = r ? 0 : 7 + i;
            AGAIN(l, r, s[r], nbcoll_start(&q[r]));
            if (!is_documented(s[r]) || s[r] == NBCOLL_ERR_MEMORY)
                EXPECT(OK, s[r]);
        }
        finish(l, q, s);
        for (int r = 0; r < RANKS && !l->broken; r++)
            assert_int_equal(data[r], 7 + i);
    }
}

/* `cancels`: the call that is cancelled, or -1. */
static void live(int variant, uint64_t seed, int cancels)
{
    static life l;

    open_life(&l, variant, seed);
    for (int what = 0; what < 12 && !l.broken; what++)
        call(&l, what, what == cancels ? (int)(seed % RANKS) : -1);
    if (!l.broken)
        keep(&l);
    close_life(&l);
}

/* ---- bursts ---------------------------------------------------------------------------------------------------- */

static uint64_t seed_given(void)
{
    const char *text = getenv("NBCOLL_TEST_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 10) : 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static void whenever_memory_is_short_for_a_while_all_ranks_end(void **state)
{
    uint64_t random = seed_given();
    size_t failed = 0;
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int victim = 0; victim < RANKS; victim++) {
            memory = (struct memory){.victim = victim};
            live(variant, 3, -1);
            size_t all = memory.taken;
            for (int i = 0; i < SAMPLE; i++) {
                uint64_t x = world_random(&random);
                int how = (int)(x % 4), cancels = x / 4 % 3 ? -1 : (int)(x / 16 % 12);
                memory = (struct memory){.victim = victim, .first = 1 + (x >> 32) % all,
                                         .most = how < 2 ? 1 + (x >> 16) % 20 : SIZE_MAX,
                                         .most_calls = how < 2 ? 1000000 : how == 2 ? 1 : 1 + (int)(x >> 16) % 60};
                live(variant, 3 + (uint64_t)i, cancels);
                failed += memory.failed;
            }
        }
    print_message("%zu allocations failed\n", failed);
    assert_true(failed > 1000);
}

/* ---- giving oneself up ----------------------------------------------------------------------------------------- */

/* Barriers of all ranks, which so have runs for as many. */
static void warm_up(world *w, size_t n)
{
    nbcoll_request q[RANKS * MANY];
    for (size_t i = 0; i < n * RANKS; i++)
        EXPECT(OK, nbcoll_ibarrier(w->comm[i % RANKS], &q[i]));
    world_finish(w, n * RANKS, q);
}

/* Rank 0 has to say more than there are posts for, to ranks that do not listen, and has no memory for more. */
static void rank_0_gives_itself_up(int variant)
{
    nbcoll_loopback_config loopback = world_variant(variant, 3);
    nbcoll_host host = scarce_host();
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_request q[MANY + 1], other[RANKS];
    nbcoll_status ended[MANY];
    nbcoll_failure failure;
    size_t n = 0;
    world w;

    memory = (struct memory){.victim = 0, .caller = -1};
    loopback.depth = 1;
    world_open(&w, RANKS, &loopback, &context, NULL);
    warm_up(&w, MANY);
    for (int r = 1; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &other[r]));
    memory = (struct memory){.most = SIZE_MAX, .most_calls = 1};
    for (; n < MANY && nbcoll_ibarrier(w.comm[0], &q[n]) == NBCOLL_OK; n++)
        if (n % 2) /* of a row of tags the others would be told at once */
            EXPECT(OK, nbcoll_cancel(q[n]));
    memory.caller = -1;
    assert_in_range(n, 1, MANY - 1);
    EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[0], &q[n]));
    EXPECT(OK, nbcoll_last_failure(w.context[0], &failure));
    assert_int_equal(failure.rank, 0); /* itself */
    world_settle(&w, n, q, ended);
    world_settle(&w, RANKS - 1, &other[1], ended);
    for (int r = 1; r < RANKS; r++)
        assert_true(is_documented(ended[r - 1])); /* the first barrier may have ended well on one of them */
    for (int i = 0; i < 20 * MANY; i++) /* one message at a time has room */
        world_step(&w);
    for (int r = 1; r < RANKS; r++) {
        EXPECT(ERR_PEER_LOST, nbcoll_ibarrier(w.comm[r], &other[r]));
        EXPECT(OK, nbcoll_last_failure(w.context[r], &failure));
        assert_int_equal(failure.rank, 0);
    }
    world_close(&w);
    assert_int_equal(counted.used, 0);
}

static void a_rank_without_memory_for_what_it_must_say_is_lost_to_all(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        rank_0_gives_itself_up(variant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whenever_memory_is_short_for_a_while_all_ranks_end),
        cmocka_unit_test(a_rank_without_memory_for_what_it_must_say_is_lost_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
