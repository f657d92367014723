/* SPDX-License-Identifier: BSD-3-Clause
 * Groups beside each other are proved: for every set of up to 6 ranks, in several orders, an allgather in the group
 * and, behind it, another one in the same ranks the other way round; around them messages in a ring of all ranks, which
 * every second rank adds before the groups and the others behind them. Also with memory that some of them share. And an
 * author's broadcast by nodes, which is two broadcasts, for all roots, 1 to 33 ranks and nodes numbered anyhow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

enum { MOST = 6, BLOCK = 8, ROOM = MOST * BLOCK };

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* One rank's part in the scene: the group, and who builds in it. */
typedef struct scene {
    int ranks, n, group[MOST];
    int shared; /* ranks below share memory */
    const char *first, *second;
} scene;

static int member(const scene *s, int rank)
{
    for (int i = 0; i < s->n; i++)
        if (s->group[i] == rank)
            return 1;
    return 0;
}

static nbcoll_addr recv_at(size_t offset)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, offset};
}

/* ---- what it means --------------------------------------------------------------------------------------------- */

static nbcoll_region input(const nbcoll_meaning *m, int rank)
{
    (void)m, (void)rank;
    return nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BLOCK);
}

/* Claim 0 is about the ring; then come the blocks of the one group, and of the other. */
static int claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *c)
{
    const scene *s = m->user;
    size_t n = (size_t)s->n, k = i - 1;
    if (i > 2 * n || (i && !member(s, rank)))
        return 0;
    c->bytes = BLOCK;
    c->first = c->last = (rank + s->ranks - 1) % s->ranks;
    if (!i && s->ranks == 1)
        c->bytes = 0;
    if (i) {
        c->offset = (k < n ? 1 : 2) * ROOM + k % n * BLOCK;
        c->first = c->last = s->group[k < n ? k : 2 * n - 1 - k];
    }
    return 1;
}

/* ---- building -------------------------------------------------------------------------------------------------- */

typedef struct view {
    const scene *s;
    int rank;
} view;

static int shares(void *user, int peer)
{
    const view *v = user;
    return v->rank < v->s->shared && peer < v->s->shared;
}

static void add_ring(nbcoll_builder *b)
{
    if (b->ranks == 1)
        return;
    nbcoll_add_send(b, (b->rank + 1) % b->ranks, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, BLOCK);
    nbcoll_add_recv(b, (b->rank + b->ranks - 1) % b->ranks, recv_at(0), BLOCK);
}

static nbcoll_step add_group(nbcoll_builder *b, const scene *s, const char *name, int is_backwards, nbcoll_step after)
{
    int group[MOST] = {0};
    nbcoll_args a = {.size = sizeof a,
                     .operation = NBCOLL_OPERATION_ALLGATHER,
                     .count = BLOCK,
                     .ports = 2,
                     .reduction = {NBCOLL_BYTE, NBCOLL_BXOR}};
    assert_int_equal(nbcoll_args_complete(&a, 0, s->n), NBCOLL_OK);
    a.recv = recv_at(is_backwards ? 2 * ROOM : ROOM);
    for (int i = 0; i < s->n; i++)
        group[i] = s->group[is_backwards ? s->n - 1 - i : i];
    return nbcoll_within(b, group, s->n, &a, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, name)->build, after);
}

static nbcoll_schedule *built(const scene *s, int rank)
{
    view v = {s, rank};
    nbcoll_builder_config c = {.size = sizeof c, .rank = rank, .ranks = s->ranks, .shares = shares, .shares_user = &v};
    nbcoll_builder *b;
    nbcoll_schedule *schedule;
    assert_int_equal(nbcoll_builder_open(&c, &b), NBCOLL_OK);
    if (rank % 2)
        add_ring(b);
    if (rank % 3 || member(s, rank)) /* those that are in no group may leave it out */
        add_group(b, s, s->second, 1, add_group(b, s, s->first, 0, NBCOLL_START));
    if (rank % 2 == 0)
        add_ring(b);
    assert_int_equal(nbcoll_builder_finish(b, &schedule), NBCOLL_OK);
    return schedule;
}

static void prove(const scene *s)
{
    nbcoll_schedule *schedules[MOST];
    nbcoll_meaning m = {.size = sizeof m, .user = s, .ranks = s->ranks, .input = input, .claim = claim};
    nbcoll_refutation why = {.size = sizeof why};
    for (int rank = 0; rank < s->ranks; rank++)
        schedules[rank] = built(s, rank);
    if (nbcoll_verify((const nbcoll_schedule *const *)schedules, &m, NULL, &why) != NBCOLL_OK)
        fail_msg("%d ranks, %d in the group, from %d on, %s and %s: %s", s->ranks, s->n, s->group[0], s->first,
                 s->second, why.text);
    for (int rank = 0; rank < s->ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
}

static void groups_keep_apart_from_each_other_and_from_what_is_around(void **state)
{
    (void)state;
    static const char *const names[] = {"bruck", "exchange_pipelined", "slots", "ring", "bruck_pipelined", "two_roots"};
    unsigned cases = 0;
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (unsigned set = 1; set < 1u << ranks; set++)
            for (unsigned form = 0; form < LENGTH(names); form++, cases++) {
                scene s = {.ranks = ranks,
                           .shared = form % 2 ? 0 : ranks - (int)form / 3,
                           .first = names[form],
                           .second = names[(form + 1 + set) % LENGTH(names)]};
                for (int i = 0; i < ranks; i++) {
                    int rank = (i + (int)form) % ranks;
                    if (set >> rank & 1)
                        s.group[s.n++] = rank;
                }
                prove(&s);
            }
    print_message("%u cases\n", cases);
}

/* ---- an author's algorithm ------------------------------------------------------------------------------------- */

/* What goes between the leaders. */
static const nbcoll_algorithm *tree;

/* As schedule.h has it. */
static void bcast_by_nodes(nbcoll_builder *b, const nbcoll_args *a)
{
    int mine = nbcoll_node_of(b->nodes, b->rank), leader = nbcoll_node_leader(b->nodes, mine, a->root);
    nbcoll_build *slots = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots")->build;
    nbcoll_args between = *a, inside = *a;
    between.root = nbcoll_node_of(b->nodes, a->root);
    inside.root = nbcoll_node_place(b->nodes, leader);
    nbcoll_step have = nbcoll_between_nodes(b, b->nodes, a->root, &between, tree->build, NBCOLL_START);
    nbcoll_within_node(b, b->nodes, &inside, slots, have);
}

/* All roots, nodes numbered anyhow, memory shared in them or not. */
static void prove_by_nodes(int most)
{
    static const int room[] = {3, 1, 4};
    static const size_t count[] = {0, 7};
    const nbcoll_algorithm mine = {sizeof mine, "mine", NBCOLL_OPERATION_BCAST, bcast_by_nodes, 0, NULL};
    for (int form = 0; form < 6; form++) {
        nbcoll_placement placement = {sizeof placement, room, LENGTH(room), (nbcoll_numbering)(form % 3), 42, 0};
        nbcoll_grid grid = {sizeof grid,
                            .fewest = 1,
                            .most = most,
                            .root = -1,
                            .counts = LENGTH(count),
                            .count = count,
                            .placement = &placement};
        nbcoll_case c = {.size = sizeof c,
                         .operation = NBCOLL_OPERATION_BCAST,
                         .node = form < 3 ? NBCOLL_CASE_BY_NODE : 0,
                         .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}};
        nbcoll_refutation why = {.size = sizeof why};
        if (nbcoll_verify_grid(&mine, &grid, &c, &why) != NBCOLL_OK)
            fail_msg("%s: %d ranks, root %d, numbering %d: %s", tree->name, c.ranks, c.root, form % 3, why.text);
    }
}

static void a_broadcast_by_nodes_is_two_broadcasts(void **state)
{
    (void)state;
    tree = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial");
    prove_by_nodes(33);
}

static void between_leaders_any_broadcast_of_the_catalogue_will_do(void **state)
{
    unsigned n = 0;
    (void)state;
    while ((tree = nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, n))) {
        prove_by_nodes(12);
        n++;
    }
    assert_true(n >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_keep_apart_from_each_other_and_from_what_is_around),
        cmocka_unit_test(a_broadcast_by_nodes_is_two_broadcasts),
        cmocka_unit_test(between_leaders_any_broadcast_of_the_catalogue_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
