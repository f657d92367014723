/* SPDX-License-Identifier: BSD-3-Clause
 * Cells within nodes: exposures between ranks that share the memory of their node's endpoint are run in place, those to
 * other nodes are messages, pair by pair; where a rank has no memory for its part, its node works by messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "joined.h"
#include "nbcoll/select.h"
#include "operation.h"

enum { RANKS = 9 };

static const nbcoll_loopback_config sharing = {.size = sizeof sharing, .flags = NBCOLL_LOOPBACK_SHARED};

static void ranks_of_a_node_share_and_others_do_not(void **state)
{
    (void)state;
    for (int i = 0; i < JOINED_PLACEMENTS; i++) {
        nbcoll_nodes *nodes = joined_placement(i, RANKS, 2);
        joined j;
        joined_open(&j, nodes, &sharing, NULL, NULL, NULL);
        for (int r = 0; r < RANKS; r++) {
            nbcoll_terms terms = {.size = sizeof terms};
            nbcoll_cells cells = {.size = sizeof cells};
            EXPECT(OK, nbcoll_comm_terms(j.w.comm[r], &terms));
            EXPECT(OK, nbcoll_comm_cells(j.w.comm[r], &cells));
            assert_int_equal(terms.shared, nodes->count == 1);
            assert_int_equal(terms.nodes->count, nodes->count); /* which rules go by */
            assert_true(terms.nodes_share);
            assert_true(cells.present);
            assert_int_equal(cells.lacking, -1);
            for (int peer = 0; peer < RANKS; peer++)
                assert_int_equal(nbcoll_comm_shares(j.w.comm[r], peer),
                                 nbcoll_node_of(nodes, r) == nbcoll_node_of(nodes, peer));
        }
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- by pair ----------------------------------------------------------------------------------------------------- */

typedef struct steps {
    int fetches, receives;
} steps;

static void count(void *user, const nbcoll_event *e)
{
    steps *s = user;
    nbcoll_kind kind = nbcoll_schedule_step(e->schedule, e->step)->kind;

    if (e->moment != NBCOLL_STEP_ENDED)
        return;
    s->fetches += kind == NBCOLL_FETCH;
    s->receives += kind == NBCOLL_RECV;
}

static void run(joined *j, nbcoll_comm *const comm[], size_t count_of)
{
    operation o = {.what = NBCOLL_OPERATION_ALLTOALL, .count = count_of, .how = {NBCOLL_INT32, NBCOLL_SUM}, .seed = 5};
    nbcoll_request request[RANKS];
    share mine[RANKS];

    for (int r = 0; r < RANKS; r++) {
        mine[r] = share_make(&o, r, RANKS);
        EXPECT(OK, operation_start(&o, &mine[r], comm[r], &request[r]));
    }
    world_finish(&j->w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        operation_check(&o, &mine[r], r, RANKS);
        share_free(&mine[r]);
    }
}

/* More often than there are slots, so that cells are used again; with small blocks and large ones. */
static void exposures_are_lowered_pair_by_pair(void **state)
{
    (void)state;
    for (int i = 0; i < JOINED_PLACEMENTS; i++) {
        steps s = {0, 0};
        const nbcoll_observer observer = {.size = sizeof observer, .user = &s, .event = count};
        const nbcoll_context_config contexts = {.size = sizeof contexts, .observer = &observer};
        const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLTOALL, "slots")};
        nbcoll_comm_config config = {.size = sizeof config,
                                     .slots = 2,
                                     .cells = 4,
                                     .schedules = 16,
                                     .eager = 256,
                                     .rules = &rule,
                                     .rule_count = 1};
        nbcoll_nodes *nodes = joined_placement(i, RANKS, 2);
        int near = 0, rounds = 7;
        joined j;
        joined_open(&j, nodes, &sharing, NULL, &contexts, &config);
        for (int r = 0; r < RANKS; r++)
            near += nbcoll_node_size(nodes, nbcoll_node_of(nodes, r)) - 1;
        s = (steps){0, 0};
        for (int k = 0; k < rounds; k++)
            run(&j, j.w.comm, k % 2 ? 3 : 500);
        assert_int_equal(s.fetches, rounds * near);
        assert_int_equal(s.receives, rounds * (RANKS * (RANKS - 1) - near));
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

static void parts_of_the_communicator_have_their_own_cells(void **state)
{
    nbcoll_nodes *nodes = joined_placement(4, RANKS, 2);
    nbcoll_comm *dup[RANKS], *near[RANKS];
    nbcoll_request request[RANKS];
    joined j;

    (void)state;
    joined_open(&j, nodes, &sharing, NULL, NULL, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_idup(j.w.comm[r], &dup[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_comm_isplit_shared(dup[r], 0, &near[r], &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_terms terms = {.size = sizeof terms};
        EXPECT(OK, nbcoll_comm_terms(near[r], &terms));
        assert_true(terms.shared);
        for (int peer = 0; peer < RANKS; peer++)
            assert_int_equal(nbcoll_comm_shares(dup[r], peer), nbcoll_node_of(nodes, r) == nbcoll_node_of(nodes, peer));
    }
    for (int k = 0; k < 50; k++) {
        run(&j, dup, 20);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibarrier(near[r], &request[r]));
        world_finish(&j.w, RANKS, request);
    }
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_comm_free(dup[r]));
        EXPECT(OK, nbcoll_comm_free(near[r]));
    }
    run(&j, j.w.comm, 20);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

/* ---- without memory ---------------------------------------------------------------------------------------------- */

static nbcoll_status no_memory(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    (void)ep;
    (void)bytes;
    (void)at;
    return NBCOLL_ERR_MEMORY;
}

static void a_rank_without_memory_leaves_its_node_without_cells(void **state)
{
    nbcoll_nodes *nodes = joined_placement(3, RANKS, 2); /* ranks 0 and 1, 2, 3 to 5, ... */
    nbcoll_transport table;
    nbcoll_shared poor;
    nbcoll_request request[RANKS];
    joined j;

    (void)state;
    joined_open_contexts(&j, nodes, &sharing, NULL, NULL);
    table = *j.near[4]->transport;
    poor = *table.shared;
    poor.reserve = no_memory;
    table.shared = &poor;
    j.near[4]->transport = &table;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, joined_icreate(&j, r, NULL, &request[r]));
    world_finish(&j.w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_cells cells = {.size = sizeof cells};
        nbcoll_terms terms = {.size = sizeof terms};
        int is_poor = nbcoll_node_of(nodes, r) == nbcoll_node_of(nodes, 4);
        EXPECT(OK, nbcoll_comm_cells(j.w.comm[r], &cells));
        assert_int_equal(cells.present, !is_poor);
        assert_int_equal(cells.lacking, is_poor ? 4 : -1);
        EXPECT(OK, nbcoll_comm_terms(j.w.comm[r], &terms));
        assert_false(terms.nodes_share);
    }
    run(&j, j.w.comm, 20);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_node_share_and_others_do_not),
        cmocka_unit_test(exposures_are_lowered_pair_by_pair),
        cmocka_unit_test(parts_of_the_communicator_have_their_own_cells),
        cmocka_unit_test(a_rank_without_memory_leaves_its_node_without_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
