/* SPDX-License-Identifier: BSD-3-Clause
 * While a communicator over two endpoints is being made: ranks that have it send by the endpoint of their node, which
 * others do not know yet; some cancel, die, have no memory, or come late. What is made works, what is not ends for all,
 * and contexts can be freed. The ranks are stepped in a seeded order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nbcoll/fault.h"

#include "heap.h"
#include "joined.h"
#include "operation.h"

enum { RANKS = 6, OPERATIONS = 3 };

static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 2, .cells = 8, .schedules = 16,
                                          .eager = 256, .large = 2048};

typedef struct play {
    joined j;
    uint64_t random;
    nbcoll_nodes *nodes;
    heap_block *heap;
    operation o[OPERATIONS];
    nbcoll_request creation[RANKS], request[RANKS][OPERATIONS];
    share share[RANKS][OPERATIONS];
    nbcoll_status made[RANKS];
    int has_come[RANKS], started[RANKS];
} play;

static uint64_t below(play *p, uint64_t n)
{
    return world_random(&p->random) % n;
}

static void play_open(play *p, uint64_t seed)
{
    nbcoll_loopback_config inside = world_variant((int)(seed % WORLD_VARIANTS), seed);
    nbcoll_loopback_config between = world_variant((int)(seed / 5 % WORLD_VARIANTS), seed);
    nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 2};

    *p = (play){.random = seed};
    contexts.host = heap_host(&p->heap);
    p->nodes = joined_placement(1 + (int)(seed % (JOINED_PLACEMENTS - 1)), RANKS, seed);
    joined_open_contexts(&p->j, p->nodes, &inside, &between, &contexts);
    p->j.w.random = seed;
    for (int k = 0; k < OPERATIONS; k++)
        p->o[k] = operation_random(&p->random, RANKS, 300);
    for (int r = 0; r < RANKS; r++)
        p->made[r] = NBCOLL_PENDING;
}

/* Something that a rank does: it comes, looks, or goes on. */
static void act(play *p, int r)
{
    world *w = &p->j.w;
    int k = p->started[r];

    if (!w->context[r])
        return;
    if (!p->has_come[r]) {
        if (below(p, 20) == 0) {
            EXPECT(OK, joined_icreate(&p->j, r, &limits, &p->creation[r]));
            p->has_come[r] = 1;
        }
    } else if (p->made[r] == NBCOLL_PENDING)
        p->made[r] = nbcoll_test(&p->creation[r]);
    else if (p->made[r] == NBCOLL_OK && k < OPERATIONS && below(p, 3) == 0) {
        p->share[r][k] = share_make(&p->o[k], r, RANKS);
        if (operation_start(&p->o[k], &p->share[r][k], w->comm[r], &p->request[r][k]) != NBCOLL_OK)
            p->request[r][k] = NBCOLL_REQUEST_NULL;
        p->started[r]++;
    } else
        nbcoll_progress(w->context[r]);
}

static int is_over(const play *p)
{
    for (int r = 0; r < RANKS; r++)
        if (p->j.w.context[r] && (!p->has_come[r] || p->made[r] == NBCOLL_PENDING ||
                                  (p->made[r] == NBCOLL_OK && p->started[r] < OPERATIONS)))
            return 0;
    return 1;
}

static void play_on(play *p, int acts)
{
    for (int i = 0; i < acts && !is_over(p); i++)
        act(p, (int)below(p, RANKS));
}

static void play_to_the_end(play *p)
{
    for (int rounds = 0; !is_over(p); rounds++) {
        world_watchdog(&p->j.w, rounds < 1000);
        play_on(p, 1000);
    }
}

/* Ends all operations. Returns how many did not end well. */
static int play_end(play *p)
{
    int failed = 0;

    for (int k = 0; k < OPERATIONS; k++)
        for (int r = 0; r < RANKS; r++) {
            nbcoll_status s = k < p->started[r] && !p->request[r][k].at ? NBCOLL_ERR_CANCELLED : NBCOLL_OK;
            for (int rounds = 0; p->j.w.context[r] && p->request[r][k].at; rounds++) {
                world_watchdog(&p->j.w, rounds < 20000);
                s = nbcoll_test(&p->request[r][k]);
                world_step(&p->j.w);
            }
            failed += s != NBCOLL_OK;
            if (s == NBCOLL_OK && k < p->started[r] && p->j.w.context[r])
                operation_check(&p->o[k], &p->share[r][k], r, RANKS);
        }
    joined_close(&p->j);
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < p->started[r]; k++)
            share_free(&p->share[r][k]);
    heap_clear(&p->heap);
    nbcoll_nodes_free(p->nodes);
    return failed;
}

static void who_has_it_may_use_it_before_others_have(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        play p;
        play_open(&p, seed);
        play_to_the_end(&p);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, p.made[r]);
        assert_int_equal(play_end(&p), 0);
    }
}

static void a_vote_that_is_cancelled_on_one_rank_hangs_nobody(void **state)
{
    int unmade = 0, halves = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        int made = 0, failed;
        play p;
        play_open(&p, seed);
        int who = (int)below(&p, RANKS);
        for (int tries = 0; !p.has_come[who]; tries++)
            play_on(&p, 10);
        play_on(&p, (int)below(&p, 300));
        if (p.creation[who].at)
            EXPECT(OK, nbcoll_cancel(p.creation[who]));
        play_to_the_end(&p);
        for (int r = 0; r < RANKS; r++) {
            assert_true(p.made[r] == NBCOLL_OK || p.made[r] == NBCOLL_ERR_CANCELLED);
            made += p.made[r] == NBCOLL_OK;
        }
        failed = play_end(&p);
        if (made == RANKS)
            assert_int_equal(failed, 0);
        else if (made)
            assert_true(failed > 0);
        unmade += made == 0;
        halves += made > 0 && made < RANKS;
    }
    printf("%d not made, %d halves\n", unmade, halves);
    assert_true(unmade > 5 && halves > 5);
}

static void a_rank_that_dies_meanwhile_hangs_nobody(void **state)
{
    int unmade = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        play p;
        play_open(&p, seed);
        int who = (int)below(&p, RANKS);
        for (int tries = 0; !p.has_come[who]; tries++)
            play_on(&p, 10);
        play_on(&p, (int)below(&p, 300));
        EXPECT(OK, nbcoll_context_abandon(p.j.w.context[who], NULL, NULL));
        p.j.w.context[who] = NULL;
        play_to_the_end(&p);
        for (int r = 0; r < RANKS; r++)
            if (r != who) {
                assert_true(p.made[r] == NBCOLL_OK || p.made[r] == NBCOLL_ERR_PEER_LOST);
                unmade += p.made[r] != NBCOLL_OK;
            }
        play_end(&p);
    }
    printf("%d not made\n", unmade);
    assert_true(unmade > 50);
}

/* Rank 0 has it, and nothing to do there; rank 1, of its node, cancels, and has never known their endpoint. */
static void who_has_it_is_told_that_another_rank_has_not(void **state)
{
    nbcoll_nodes *nodes = joined_placement(0, 2, 1);
    nbcoll_request request[2];
    nbcoll_status s = NBCOLL_PENDING;
    joined j;

    (void)state;
    joined_open_contexts(&j, nodes, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, joined_icreate(&j, r, NULL, &request[r]));
    for (int i = 0; i < 10 && s == NBCOLL_PENDING; i++)
        s = nbcoll_test(&request[0]);
    EXPECT(OK, s);
    EXPECT(OK, nbcoll_cancel(request[1]));
    for (int i = 0; i < 10; i++)
        world_step(&j.w);
    EXPECT(ERR_CANCELLED, nbcoll_ibarrier(j.w.comm[0], &request[0]));
    EXPECT(ERR_CANCELLED, nbcoll_wait(&request[1], 0));
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct purse {
    heap_block *heap;
    size_t calls, refused; /* the number of the call that is refused; 0: none */
} purse;

static void *purse_alloc(void *user, size_t bytes, size_t align)
{
    purse *p = user;
    return ++p->calls == p->refused ? NULL : heap_host(&p->heap).alloc(&p->heap, bytes, align);
}

/* Rank 0 has it, and starts two operations; rank 1, of its node, has memory to keep one of their two messages, and does
 * not make it. What it says of those comes before its REVOKE, by the endpoint of the node. */
static void two_operations_beside_a_lack_of_memory(size_t refused)
{
    purse own = {.heap = NULL};
    nbcoll_context_config contexts = {.size = sizeof contexts, .host = heap_host(NULL)};
    nbcoll_fault_config slow = {.size = sizeof slow, .seed = 1, .hold = 1000, .longest = 8};
    nbcoll_nodes *nodes = joined_placement(0, 2, 1);
    nbcoll_request request[2], work[2];
    nbcoll_status s = NBCOLL_PENDING;
    joined j;

    contexts.host.user = &own;
    contexts.host.alloc = purse_alloc;
    joined_open_contexts(&j, nodes, NULL, NULL, &contexts);
    EXPECT(OK, nbcoll_fault_open(NULL, j.w.endpoint[1], &j.w.endpoint[1]));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, joined_icreate(&j, r, &limits, &request[r]));
    for (int i = 0; i < 10 && s == NBCOLL_PENDING; i++)
        s = nbcoll_test(&request[0]);
    EXPECT(OK, s);
    EXPECT(OK, nbcoll_fault_set(j.w.endpoint[1], &slow));
    for (int k = 0; k < 2; k++)
        EXPECT(OK, nbcoll_ibarrier(j.w.comm[0], &work[k]));
    own.calls = 0;
    own.refused = refused;
    EXPECT(ERR_MEMORY, nbcoll_test(&request[1]));
    for (int k = 0; k < 2; k++) {
        s = NBCOLL_PENDING;
        for (int i = 0; i < 20 && s == NBCOLL_PENDING; i++) {
            s = nbcoll_test(&work[k]);
            nbcoll_progress(j.w.context[1]);
        }
        EXPECT(ERR_CANCELLED, s);
    }
    joined_close(&j);
    assert_int_equal(heap_clear(&own.heap), 0);
    nbcoll_nodes_free(nodes);
}

static void who_has_no_memory_to_make_it_is_out_of_step_with_nobody(void **state)
{
    (void)state;
    two_operations_beside_a_lack_of_memory(1);
    two_operations_beside_a_lack_of_memory(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_it_may_use_it_before_others_have),
        cmocka_unit_test(a_vote_that_is_cancelled_on_one_rank_hangs_nobody),
        cmocka_unit_test(a_rank_that_dies_meanwhile_hangs_nobody),
        cmocka_unit_test(who_has_it_is_told_that_another_rank_has_not),
        cmocka_unit_test(who_has_no_memory_to_make_it_is_out_of_step_with_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
