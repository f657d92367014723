/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are gone, seen by members of their own and of other nodes: dead, by what one of its endpoints or both say;
 * declared lost; or left. Operations end, with its name where they needed it; the survivors go on. The ranks are
 * stepped in a seeded order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "heap.h"
#include "joined.h"
#include "nbcoll/fault.h"
#include "operation.h"

enum { RANKS = 7 };

static const nbcoll_comm_config limits = {
    .size = sizeof limits, .slots = 2, .cells = 8, .schedules = 16, .eager = 256, .large = 2048};

static nbcoll_endpoint *faulty(nbcoll_endpoint *inner)
{
    nbcoll_endpoint *out;
    EXPECT(OK, nbcoll_fault_open(NULL, inner, &out));
    return out;
}

static nbcoll_nodes *open_joined(joined *j, uint64_t seed, heap_block **heap)
{
    nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 2, .host = heap_host(heap)};
    nbcoll_loopback_config inside = world_variant((int)(seed % WORLD_VARIANTS), seed);
    nbcoll_loopback_config between = world_variant((int)(seed / 3 % WORLD_VARIANTS), seed);
    nbcoll_nodes *nodes = joined_placement(1 + (int)(seed % (JOINED_PLACEMENTS - 1)), RANKS, seed);
    nbcoll_request q[RANKS];

    joined_open_contexts(j, nodes, &inside, &between, &contexts);
    j->w.random = seed;
    for (int r = 0; r < RANKS; r++) {
        j->near[r] = faulty(j->near[r]);
        j->w.endpoint[r] = faulty(j->w.endpoint[r]);
        EXPECT(OK, joined_icreate(j, r, &limits, &q[r]));
    }
    world_finish(&j->w, RANKS, q);
    return nodes;
}

/* How the request of a rank ends. */
static nbcoll_status end_of(world *w, int rank, nbcoll_request *q, int gone)
{
    nbcoll_status s;
    for (int rounds = 0; (s = nbcoll_test(q)) == NBCOLL_PENDING; rounds++) {
        world_watchdog(w, rounds < 20000);
        world_step(w);
    }
    if (s == NBCOLL_ERR_PEER_LOST) {
        nbcoll_failure failure;
        EXPECT(OK, nbcoll_last_failure(w->context[rank], &failure));
        EXPECT(ERR_PEER_LOST, failure.status);
        assert_int_equal(failure.rank, gone);
    }
    return s;
}

static void leave(world *w, int rank)
{
    for (int tries = 0; nbcoll_context_free(w->context[rank]) == NBCOLL_ERR_BUSY; tries++) {
        world_watchdog(w, tries < 1000);
        if (tries > 100)
            world_step(w);
    }
    w->context[rank] = NULL;
}

/* ---- dead -------------------------------------------------------------------------------------------------------- */

typedef enum way { ABANDONS, DECLARED, SAID_WITHIN, SAID_BETWEEN, HOWS } way;

/* One endpoint of the rank says that the victim is dead: the one within their node if they share it, and that is
 * meant; else the one that joins all. */
static void hear_of_death(joined *j, int rank, int victim, int within)
{
    nbcoll_fault_config lost = {.size = sizeof lost, .lost_at = 1, .lost = victim};

    if (within && nbcoll_node_of(j->nodes, victim) == nbcoll_node_of(j->nodes, rank)) {
        lost.lost = nbcoll_node_place(j->nodes, victim);
        EXPECT(OK, nbcoll_fault_set(j->near[rank], &lost));
    } else
        EXPECT(OK, nbcoll_fault_set(j->w.endpoint[rank], &lost));
}

/* The victim goes: it is abandoned; or the witness declares it lost, and it lives on; or it does nothing any more, and
 * each survivor hears by one of its endpoints that it is dead. */
static void go(joined *j, way how, int victim, int witness)
{
    switch (how) {
    case ABANDONS:
        EXPECT(OK, nbcoll_context_abandon(j->w.context[victim], NULL, NULL));
        j->w.context[victim] = NULL;
        break;
    case DECLARED:
        EXPECT(OK, nbcoll_comm_declare_lost(j->w.comm[witness], victim));
        break;
    default:
        for (int r = 0; r < RANKS; r++)
            if (r != victim)
                hear_of_death(j, r, victim, how == SAID_WITHIN);
        j->w.context[victim] = NULL;
    }
}

static void survivors_go_on(joined *j, int victim)
{
    nbcoll_comm *comm[RANKS];
    nbcoll_request q[RANKS];
    int32_t sum[RANKS], mine[RANKS];

    for (int r = 0; r < RANKS; r++)
        if (r != victim)
            EXPECT(OK, nbcoll_comm_ishrink(j->w.comm[r], &comm[r], &q[r]));
    for (int r = 0; r < RANKS; r++)
        if (r != victim)
            EXPECT(OK, end_of(&j->w, r, &q[r], victim));
    for (int r = 0; r < RANKS; r++) {
        mine[r] = 1 << r;
        if (r != victim)
            EXPECT(OK, nbcoll_iallreduce(&mine[r], &sum[r], 1, NBCOLL_INT32, NBCOLL_SUM, comm[r], &q[r]));
    }
    for (int r = 0; r < RANKS; r++) {
        if (r == victim)
            continue;
        EXPECT(OK, end_of(&j->w, r, &q[r], victim));
        assert_int_equal(sum[r], (1 << RANKS) - 1 - (1 << victim));
        for (int peer = 0; peer < RANKS; peer++)
            if (peer != victim)
                assert_int_equal(nbcoll_node_of(nbcoll_comm_nodes(comm[r]), r - (r > victim)) ==
                                     nbcoll_node_of(nbcoll_comm_nodes(comm[r]), peer - (peer > victim)),
                                 nbcoll_node_of(j->nodes, r) == nbcoll_node_of(j->nodes, peer));
    }
}

/* Returns whether the operation was lost to somebody. */
static int one_goes(way how, uint64_t seed)
{
    uint64_t random = seed;
    int victim = (int)(world_random(&random) % RANKS), witness = (int)(world_random(&random) % (RANKS - 1)), lost = 0;
    operation o = operation_random(&random, RANKS, 500);
    nbcoll_request q[RANKS];
    share s[RANKS];
    heap_block *heap = NULL;
    joined j;
    nbcoll_nodes *nodes = open_joined(&j, seed, &heap);
    nbcoll_context *context = j.w.context[victim];

    witness += witness >= victim;
    for (int r = 0; r < RANKS; r++) {
        s[r] = share_make(&o, r, RANKS);
        EXPECT(OK, operation_start(&o, &s[r], j.w.comm[r], &q[r]));
    }
    for (uint64_t steps = world_random(&random) % 6; steps; steps--)
        world_step(&j.w);
    go(&j, how, victim, witness);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_status status = r == victim ? NBCOLL_OK : end_of(&j.w, r, &q[r], victim);
        lost += status == NBCOLL_ERR_PEER_LOST;
        assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_PEER_LOST);
    }
    survivors_go_on(&j, victim);
    if (how >= SAID_WITHIN)
        EXPECT(OK, nbcoll_context_abandon(context, NULL, NULL));
    for (int tries = 0; j.w.context[victim] && nbcoll_test(&q[victim]) == NBCOLL_PENDING; tries++) {
        world_watchdog(&j.w, tries < 20000);
        world_step(&j.w);
    }
    joined_close(&j);
    for (int r = 0; r < RANKS; r++)
        share_free(&s[r]);
    heap_clear(&heap);
    nbcoll_nodes_free(nodes);
    return lost > 0;
}

static void a_rank_that_is_lost_is_lost_to_members_of_all_nodes_who_go_on(void **state)
{
    (void)state;
    for (int how = 0; how < HOWS; how++) {
        int lost = 0;
        for (uint64_t seed = 1; seed <= 60; seed++)
            lost += one_goes((way)how, seed);
        printf("%d: %d\n", how, lost);
        assert_true(lost > 5);
    }
}

/* ---- left -------------------------------------------------------------------------------------------------------- */

enum { OPERATIONS = 5 };

/* It takes part in the first `last` operations, and leaves when they have ended. */
static int one_leaves(int last, uint64_t seed)
{
    uint64_t random = seed;
    int leaver = (int)(world_random(&random) % RANKS), lost = 0;
    operation o[OPERATIONS];
    nbcoll_request q[RANKS][OPERATIONS];
    share s[RANKS][OPERATIONS];
    heap_block *heap = NULL;
    joined j;
    nbcoll_nodes *nodes = open_joined(&j, seed, &heap);

    for (int k = 0; k < OPERATIONS; k++)
        o[k] = operation_random(&random, RANKS, 400);
    for (int k = 0; k < OPERATIONS; k++)
        for (int r = 0; r < RANKS; r++) {
            s[r][k] = share_make(&o[k], r, RANKS);
            if (r != leaver || k < last)
                EXPECT(OK, operation_start(&o[k], &s[r][k], j.w.comm[r], &q[r][k]));
            if (world_random(&random) % 4 == 0)
                world_step(&j.w);
        }
    for (int k = 0; k < last; k++) {
        EXPECT(OK, end_of(&j.w, leaver, &q[leaver][k], leaver));
        operation_check(&o[k], &s[leaver][k], leaver, RANKS);
    }
    leave(&j.w, leaver);
    for (int k = 0; k < OPERATIONS; k++)
        for (int r = 0; r < RANKS; r++) {
            nbcoll_status status = r == leaver ? NBCOLL_ERR_PEER_LOST : end_of(&j.w, r, &q[r][k], leaver);
            if (k < last && r != leaver)
                EXPECT(OK, status);
            if (status == NBCOLL_OK && k < last)
                operation_check(&o[k], &s[r][k], r, RANKS);
            lost += r != leaver && status != NBCOLL_OK;
            share_free(&s[r][k]);
        }
    joined_close(&j);
    assert_int_equal(heap_clear(&heap), 0);
    nbcoll_nodes_free(nodes);
    return lost;
}

static void what_a_rank_took_part_in_ends_well_and_all_else_ends(void **state)
{
    int lost = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        lost += one_leaves((int)(seed % (OPERATIONS + 1)), seed);
    printf("%d\n", lost);
    assert_true(lost > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_is_lost_is_lost_to_members_of_all_nodes_who_go_on),
        cmocka_unit_test(what_a_rank_took_part_in_ends_well_and_all_else_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
