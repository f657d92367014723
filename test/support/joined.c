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
