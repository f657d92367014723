/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks of a node expose to each other, and blocks that are bound: to the nanosecond what the header says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

#define L 1000
#define O 100
#define G 3
#define COPY 2
#define REDUCE 5
#define CELL 80

static void set_machine(scene *s, int node)
{
    scene_loggp(s, L, O, 0, G);
    s->model.node = (uint32_t)node;
    s->model.copy = 1000 * COPY;
    s->model.reduce = 1000 * REDUCE;
    s->model.cell = CELL;
}

/* Fetching n bytes that are not in the cell. */
static uint64_t fetching(uint64_t n)
{
    return O + L + (n ? (n - 1) * G : 0);
}

static scene slots(int ranks, size_t count, nbcoll_sim_rank *rank)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "slots", ranks, count);
    set_machine(&s, ranks);
    s.c.node = ranks;
    s.result.rank = rank;
    return s;
}

/* All readers at once: however many. */
static void a_broadcast_through_cells(void **state)
{
    (void)state;
    for (int P = 2; P <= 64; P *= 2) {
        nbcoll_sim_rank rank[64];
        scene s = slots(P, CELL, rank);
        scene_play(&s);
        assert_int_equal(rank[0].ended, O + COPY * CELL);
        for (int r = 1; r < P; r++)
            assert_int_equal(rank[r].ended, O + COPY * CELL + L + O + COPY * CELL);
        assert_int_equal(s.result.messages, 0);
        assert_int_equal(s.result.fetches, P - 1);
        assert_int_equal(s.result.fetched, CELL * (P - 1));
        assert_int_equal(s.result.peers, 0);
        assert_int_equal(s.result.rounds, 1);
    }
}

/* Where each reader has another part of the cell, it looks it up; the only reader of a cell does not. */
static void parts_of_a_cell_are_looked_up(void **state)
{
    (void)state;
    for (int P = 2; P <= 3; P++) {
        nbcoll_sim_rank rank[3];
        scene s = scene_of(NBCOLL_OPERATION_SCATTER, "slots", P, CELL / 4);
        set_machine(&s, P);
        s.c.node = P;
        s.result.rank = rank;
        s.model.table = 1000;
        scene_play(&s);
        uint64_t shown = O + COPY * (CELL / 4) * (unsigned)(P - 1);
        assert_int_equal(rank[P - 1].ended, shown + L + (P > 2 ? 1000 : 0) + O + COPY * (CELL / 4));
    }
}

/* One byte too many for the cell: readers copy from the owner, who has to wait for them. */
static void a_broadcast_by_reference(void **state)
{
    (void)state;
    for (int P = 2; P <= 64; P *= 2) {
        nbcoll_sim_rank rank[64];
        scene s = slots(P, CELL + 1, rank);
        scene_play(&s);
        for (int r = 1; r < P; r++)
            assert_int_equal(rank[r].ended, O + L + fetching(CELL + 1));
        assert_int_equal(rank[0].ended, rank[1].ended + L);
    }
}

/* The owner's wait returns when the last reader, who was late, has its part. */
static void an_owner_waits_for_a_late_reader(void **state)
{
    (void)state;
    nbcoll_sim_rank rank[4];
    scene s = slots(4, 1000, rank);
    s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, 2, 50000};
    assert_int_equal(scene_play(&s), 50000 + fetching(1000) + L);
    assert_int_equal(rank[1].ended, O + L + fetching(1000));
}

/* ---- schedules by hand ----------------------------------------------------------------------------------------- */

/* Rank 0 exposes `exposed` bytes, in pieces if `piece`, and rank 1 fetches, or combines, `fetched` of them. */
typedef struct hand {
    scene s;
    size_t exposed, fetched, piece;
    int has_fetch, has_expose, is_reduction;
} hand;

static int with_all(void *user, int peer)
{
    (void)user, (void)peer;
    return 1;
}

static void give(nbcoll_builder *b, const hand *h, nbcoll_addr at)
{
    nbcoll_part part = {.peer = 1, .region = nbcoll_span(at, h->exposed)};
    if (h->piece)
        nbcoll_add_expose_growing(b, 1, &part, h->piece);
    else
        nbcoll_add_expose(b, 1, &part);
}

static nbcoll_status build_hand(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    const hand *h = user;
    nbcoll_builder *b;
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2, .shares = with_all};
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, 0};
    nbcoll_reduction how = {NBCOLL_BYTE, NBCOLL_BXOR};
    (void)operation;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    if (rank == 0 && h->has_expose)
        give(b, h, at);
    for (size_t i = 0; rank == 1 && h->has_fetch && i < (h->piece ? h->exposed / h->piece : 1); i++)
        if (h->is_reduction)
            nbcoll_add_fetch_reduce(b, 0, at, NBCOLL_LEFT, h->fetched, how);
        else
            nbcoll_add_fetch(b, 0, nbcoll_at(at, i * h->fetched), h->fetched);
    return nbcoll_builder_finish(b, out);
}

static nbcoll_status play_hand(hand *h, int node)
{
    h->s = slots(2, 0, NULL);
    h->s.model.node = (uint32_t)node;
    return scene_simulate(&h->s, build_hand, h);
}

static void a_fetch_that_combines(void **state)
{
    (void)state;
    hand h = {.exposed = 10, .fetched = 10, .has_fetch = 1, .has_expose = 1, .is_reduction = 1};
    assert_int_equal(play_hand(&h, 2), NBCOLL_OK);
    assert_int_equal(h.s.result.last, O + 10 * COPY + L + O + 10 * COPY + 10 * REDUCE);
    h.exposed = h.fetched = 100;
    assert_int_equal(play_hand(&h, 2), NBCOLL_OK);
    assert_int_equal(h.s.result.last, O + L + fetching(100) + 100 * REDUCE + L);
}

/* Two pieces of ten bytes, which would fit into the cell, and do not get into it. The second is fetched when the first
 * has been. */
static void an_exposure_that_grows(void **state)
{
    (void)state;
    hand h = {.exposed = 20, .fetched = 10, .piece = 10, .has_fetch = 1, .has_expose = 1};
    assert_int_equal(play_hand(&h, 2), NBCOLL_OK);
    assert_int_equal(h.s.result.last, O + L + 2 * fetching(10) + L);
    assert_int_equal(h.s.result.fetches, 2);
}

static void what_does_not_match_is_refused(void **state)
{
    (void)state;
    hand h = {.exposed = 10, .fetched = 10, .has_fetch = 1, .has_expose = 1};
    assert_int_equal(play_hand(&h, 1), NBCOLL_ERR_UNSUPPORTED); /* ranks of two nodes */
    h.fetched = 9;
    assert_int_equal(play_hand(&h, 2), NBCOLL_ERR_VERIFY);
    h = (hand){.exposed = 10, .has_expose = 1};
    assert_int_equal(play_hand(&h, 2), NBCOLL_ERR_VERIFY);
    h = (hand){.fetched = 10, .has_fetch = 1};
    assert_int_equal(play_hand(&h, 2), NBCOLL_ERR_VERIFY);
}

/* Nodes of four: what crosses them is sent, the rest is fetched. */
static void nodes_share_and_the_rest_is_sent(void **state)
{
    (void)state;
    for (unsigned i = 0; nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i); i++) {
        const char *name = nbcoll_algorithm_at(NBCOLL_OPERATION_ALLREDUCE, i)->name;
        scene s = scene_of(NBCOLL_OPERATION_ALLREDUCE, name, 16, 100), lowered = s;
        set_machine(&s, 4);
        s.c.node = 4;
        scene_play(&s);
        set_machine(&lowered, 4);
        scene_play(&lowered);
        assert_int_equal(s.result.messages + s.result.fetches, lowered.result.messages);
        assert_int_equal(s.result.bytes + s.result.fetched, lowered.result.bytes);
    }
}

/* ---- bound blocks ---------------------------------------------------------------------------------------------- */

static uint64_t block(void *user, uint32_t operation, int rank, int is_recv, int index)
{
    const scene *s = user;
    nbcoll_meaning m = {.size = sizeof m};
    (void)operation;
    assert_int_equal(nbcoll_meaning_of(&s->c, 0, &m), NBCOLL_OK);
    return m.block(&m, rank, is_recv, index).bytes;
}

/* Two ranks; the block from 0 to 1 has one byte more. */
static void bound_blocks_have_their_lengths(void **state)
{
    (void)state;
    scene s = scene_of(NBCOLL_OPERATION_ALLTOALLV, "flat", 2, 1000);
    set_machine(&s, 1);
    s.model.copy = 0;
    s.c.spread = NBCOLL_SPREAD_RISING;
    assert_int_equal(scene_simulate(&s, scene_build, &s), NBCOLL_ERR_UNSUPPORTED);
    s.config.block = block;
    assert_int_equal(scene_play(&s), O + L + 1000 * G + O);
    assert_int_equal(s.result.first, O + L + 999 * G + O);
    assert_int_equal(s.result.bytes, 2001);
    nbcoll_sim_result same = {.size = sizeof same};
    s.config.block = NULL;
    assert_int_equal(nbcoll_simulate_cases(&s.config, &(nbcoll_sim_case){s.algorithm, &s.c}, &same), NBCOLL_OK);
    assert_memory_equal(&same, &s.result, sizeof same);
}

static nbcoll_status copy(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_OK; /* never called */
}

/* The same, of a type whose elements are packed before they travel, and unpacked behind that. */
static void bound_blocks_that_pack_travel_packed(void **state)
{
    (void)state;
    static const nbcoll_host_type type = {.size = sizeof type, .extent = 1, .packed = 1, .pack = copy, .unpack = copy};
    scene s = scene_of(NBCOLL_OPERATION_ALLTOALLV, "flat", 2, 1000);
    set_machine(&s, 1);
    s.c.reduction.type = nbcoll_type_of(&type);
    s.c.spread = NBCOLL_SPREAD_RISING; /* 0 to 0: 1000 bytes, 0 to 1: 1001, 1 to 0: 1000, 1 to 1: 1001 */
    assert_int_equal(scene_simulate(&s, scene_build, &s), NBCOLL_ERR_UNSUPPORTED);
    s.config.block = block;
    scene_play(&s);
    assert_int_equal(s.result.bytes, 2001);
    assert_int_equal(s.result.cpu, COPY * (4002 + 2001 + 4002) + 4 * O); /* all are packed, some kept, all unpacked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broadcast_through_cells),
        cmocka_unit_test(parts_of_a_cell_are_looked_up),
        cmocka_unit_test(a_broadcast_by_reference),
        cmocka_unit_test(an_owner_waits_for_a_late_reader),
        cmocka_unit_test(a_fetch_that_combines),
        cmocka_unit_test(an_exposure_that_grows),
        cmocka_unit_test(what_does_not_match_is_refused),
        cmocka_unit_test(nodes_share_and_the_rest_is_sent),
        cmocka_unit_test(bound_blocks_have_their_lengths),
        cmocka_unit_test(bound_blocks_that_pack_travel_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
