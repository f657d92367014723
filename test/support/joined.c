/* SPDX-License-Identifier: BSD-3-Clause
 * See joined.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "joined.h"

nbcoll_nodes *joined_placement(int i, int ranks, uint64_t seed)
{
    static const int one[] = {64}, two[] = {3, 1}, three[] = {2, 1, 3}, five[] = {1, 3, 2, 1, 4}, four[] = {1, 2, 1, 5};
    static const struct {
        const int *room;
        size_t rooms;
        nbcoll_numbering numbering;
    } placements[JOINED_PLACEMENTS] = {{one, 1, NBCOLL_NUMBERING_BLOCK},       {two, 2, NBCOLL_NUMBERING_BLOCK},
                                       {two, 2, NBCOLL_NUMBERING_ROUND_ROBIN}, {three, 3, NBCOLL_NUMBERING_BLOCK},
                                       {three, 3, NBCOLL_NUMBERING_RANDOM},    {five, 5, NBCOLL_NUMBERING_ROUND_ROBIN},
                                       {five, 5, NBCOLL_NUMBERING_RANDOM},     {four, 4, NBCOLL_NUMBERING_BLOCK},
                                       {four, 4, NBCOLL_NUMBERING_RANDOM}};
    nbcoll_placement p = {sizeof p, placements[i].room, placements[i].rooms, placements[i].numbering, seed, 0};
    nbcoll_nodes *nodes;

    EXPECT(OK, nbcoll_nodes_place(&p, ranks, NULL, &nodes));
    return nodes;
}

static int are_even(const int room[], int count)
{
    for (int i = 1; i < count; i++)
        if (room[i] != room[0])
            return 0;
    return 1;
}

nbcoll_nodes *joined_on(int ranks, int count, nbcoll_numbering numbering, uint64_t seed)
{
    int room[JOINED_COUNT] = {0}, rooms = count < ranks ? count : ranks;
    uint64_t random = seed;
    nbcoll_nodes *nodes;

    for (int rank = 0; rank < ranks; rank++)
        room[rank < rooms ? rank : (int)(world_random(&random) % (uint64_t)rooms)]++;
    if (rooms > 1 && ranks > rooms && are_even(room, rooms)) {
        room[0]++;
        room[rooms - 1]--;
    }
    nbcoll_placement p = {sizeof p, room, (size_t)rooms, numbering, seed, 0};
    EXPECT(OK, nbcoll_nodes_place(&p, ranks, NULL, &nodes));
    return nodes;
}

nbcoll_nodes *joined_sample(int i, int turn, uint64_t seed, nbcoll_numbering *numbering)
{
    int ranks = 2 + i / JOINED_COUNT, count = 1 + i % JOINED_COUNT;

    *numbering = (nbcoll_numbering)((ranks + count + turn) % JOINED_NUMBERINGS);
    return joined_on(ranks, count, *numbering, seed);
}

void joined_cover_add(joined_cover *c, const nbcoll_nodes *nodes, nbcoll_numbering numbering)
{
    int size[JOINED_COUNT];

    assert_true(nodes->ranks <= JOINED_RANKS && nodes->count <= JOINED_COUNT);
    for (int n = 0; n < nodes->count; n++)
        size[n] = nbcoll_node_size(nodes, n);
    if (nodes->count > 1 && nodes->ranks > nodes->count)
        assert_false(are_even(size, nodes->count));
    if (numbering == NBCOLL_NUMBERING_BLOCK)
        assert_true(nodes->are_blocks);
    for (int rank = 0; numbering == NBCOLL_NUMBERING_ROUND_ROBIN && rank < nodes->count; rank++)
        assert_int_equal(nbcoll_node_of(nodes, rank), rank);
    c->had[nodes->ranks][nodes->count][numbering] = 1;
}

/* How many worlds it has had of these; -1: of any. */
static int had(const joined_cover *c, int ranks, int count, int numbering)
{
    int n = 0;

    for (int r = 2; r <= JOINED_RANKS; r++)
        for (int k = 1; k <= JOINED_COUNT; k++)
            for (int by = 0; by < JOINED_NUMBERINGS; by++)
                n += c->had[r][k][by] && (ranks < 0 || ranks == r) && (count < 0 || count == k) &&
                     (numbering < 0 || numbering == by);
    return n;
}

void joined_cover_has_pairs(const joined_cover *c)
{
    for (int ranks = 2; ranks <= JOINED_RANKS; ranks++)
        for (int count = 1; count <= JOINED_COUNT; count++)
            for (int by = 0; by < JOINED_NUMBERINGS; by++) {
                if (count <= ranks && !had(c, ranks, count, -1))
                    fail_msg("no world of %d ranks on %d nodes", ranks, count);
                if (!had(c, ranks, -1, by))
                    fail_msg("no world of %d ranks in numbering %d", ranks, by);
                if (!had(c, -1, count, by))
                    fail_msg("no world of %d nodes in numbering %d", count, by);
            }
}

void joined_cover_has_all(const joined_cover *c)
{
    for (int ranks = 2; ranks <= JOINED_RANKS; ranks++)
        for (int count = 1; count <= JOINED_COUNT && count <= ranks; count++)
            for (int by = 0; by < JOINED_NUMBERINGS; by++)
                if (!had(c, ranks, count, by))
                    fail_msg("no world of %d ranks on %d nodes in numbering %d", ranks, count, by);
}

void joined_open_contexts(joined *j, const nbcoll_nodes *nodes, const nbcoll_loopback_config *inside,
                          const nbcoll_loopback_config *between, const nbcoll_context_config *context)
{
    int node[WORLD_MOST];

    *j = (joined){.nodes = NULL};
    world_open_contexts(&j->w, nodes->ranks, between, context);
    for (int rank = 0; rank < nodes->ranks; rank++)
        node[rank] = nbcoll_node_of(nodes, rank);
    EXPECT(OK, nbcoll_nodes_make(node, nodes->ranks, NULL, &j->nodes));
    assert_true(nodes->count <= JOINED_NODES);
    for (int n = 0; n < nodes->count; n++) {
        nbcoll_loopback_config config = {.size = sizeof config};
        if (inside)
            config = *inside;
        config.ranks = nbcoll_node_size(nodes, n);
        EXPECT(OK, nbcoll_loopback_create(&config, &j->inside[n]));
    }
    for (int rank = 0; rank < nodes->ranks; rank++)
        EXPECT(OK, nbcoll_loopback_open(j->inside[node[rank]], nbcoll_node_place(nodes, rank), &j->near[rank]));
}

nbcoll_status joined_icreate(joined *j, int rank, const nbcoll_comm_config *comm, nbcoll_request *request)
{
    nbcoll_endpoint *both[] = {j->near[rank], j->w.endpoint[rank]};
    return nbcoll_comm_icreate_over(j->w.context[rank], 2, both, comm, &j->w.comm[rank], request);
}

void joined_open(joined *j, const nbcoll_nodes *nodes, const nbcoll_loopback_config *inside,
                 const nbcoll_loopback_config *between, const nbcoll_context_config *context,
                 const nbcoll_comm_config *comm)
{
    nbcoll_request request[WORLD_MOST];

    joined_open_contexts(j, nodes, inside, between, context);
    for (int rank = 0; rank < nodes->ranks; rank++)
        EXPECT(OK, joined_icreate(j, rank, comm, &request[rank]));
    world_finish(&j->w, (size_t)nodes->ranks, request);
}

void joined_close(joined *j)
{
    world_close(&j->w);
    for (int n = 0; n < JOINED_NODES; n++)
        EXPECT(OK, nbcoll_loopback_free(j->inside[n]));
    nbcoll_nodes_free(j->nodes);
}
