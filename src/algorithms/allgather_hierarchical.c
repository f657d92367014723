/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical allgather, also of blocks of different known lengths: each leader fetches the blocks of its node, the
 * leaders exchange theirs, and show all to their nodes: by Bruck's algorithm, along a ring where all have more than
 * 65536 bytes, or, with `ports`, by standard exchange over so many. Source: Inozemtsev's thesis (2014), section 4.4;
 * several leaders of a node (`leaders`): section 4.4.1, and there also the groups (two): each has a leader on every
 * node, the leaders of a group exchange what its ranks have, and each rank collects that from those on its node. */
#include "algorithms.h"

#define NBCOLLI_ALLGATHER_NODES_LONG 65536
typedef struct nbcolli_allgather_nodes {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const nbcoll_nodes *t; /* parts of nodes, each with a leader */
    int groups, is_direct; /* direct: blocks travel in rank order */
    nbcoll_step given;     /* this rank's block has been fetched */
} nbcolli_allgather_nodes;

/* What the ranks of one group have. */
typedef struct nbcolli_allgather_group {
    nbcoll_addr room; /* for their blocks, in the order of parts */
    size_t *bytes;    /* [n]: of each part */
    int *leaders, n, are_equal;
    size_t begin, all; /* bytes before those of this rank's part, and of all */
} nbcolli_allgather_group;

/* 0, where all leaders are in one group. */
static int nbcolli_allgather_nodes_group(const nbcolli_allgather_nodes *p, int rank)
{
    const nbcoll_nodes *t = p->b->nodes;
    size_t size = (size_t)nbcoll_node_size(t, nbcoll_node_of(t, rank));
    return p->groups == 1 ? 0 : nbcoll_block_holding(size, p->groups, (size_t)nbcoll_node_place(t, rank));
}

static nbcolli_allgather_group nbcolli_allgather_nodes_of(const nbcolli_allgather_nodes *p, int group)
{
    const nbcoll_nodes *t = p->t;
    nbcolli_allgather_group g = {.are_equal = 1, .room = p->a->recv};
    g.bytes = nbcoll_builder_memory(p->b, (size_t)t->count, sizeof *g.bytes);
    g.leaders = nbcoll_builder_memory(p->b, (size_t)t->count, sizeof *g.leaders);

    for (int part = 0; g.bytes && g.leaders && part < t->count; part++) {
        int leader = nbcoll_node_rank(t, part, 0);
        if (nbcolli_allgather_nodes_group(p, leader) != group)
            continue;
        for (int i = 0; i < nbcoll_node_size(t, part); i++)
            g.bytes[g.n] += nbcolli_blocks_bytes(p->b, p->a, nbcoll_node_rank(t, part, i), 1);
        g.begin = part == nbcoll_node_of(t, p->b->rank) ? g.all : g.begin;
        g.all += g.bytes[g.n];
        g.are_equal &= g.bytes[g.n] == g.bytes[0];
        g.leaders[g.n++] = leader;
    }
    if (!p->is_direct)
        g.room = nbcoll_add_scratch(p->b, g.all);
    return g;
}

/* Of the leader of a part: fetches its blocks, and exchanges them with the other leaders. The step that ends it. */
static nbcoll_step nbcolli_allgather_nodes_lead(const nbcolli_allgather_nodes *p, const nbcolli_allgather_group *g)
{
    int part = nbcoll_node_of(p->t, p->b->rank);
    nbcoll_operation operation = g->are_equal ? NBCOLL_OPERATION_ALLGATHER : NBCOLL_OPERATION_ALLGATHERV;
    nbcoll_build *exchange = p->a->ports                             ? nbcolli_allgather_exchange
                             : g->all > NBCOLLI_ALLGATHER_NODES_LONG ? nbcolli_allgather_ring
                                                                     : nbcolli_allgather_bruck;
    nbcoll_args between = nbcoll_args_part(p->a, operation, 0, 0);
    nbcoll_step have = nbcoll_add_join(p->b);
    between.element = 1; /* blocks are bytes to the leaders */
    between.count = between.bytes = g->are_equal && g->bytes ? g->bytes[0] : g->all;
    between.counts = g->are_equal ? NULL : g->bytes;
    between.recv = g->room;
    between.send = nbcoll_at(g->room, g->begin);
    between.in_place = 1;
    nbcoll_addr at = between.send;
    if (!p->a->in_place || !p->is_direct)
        nbcoll_after(p->b, have,
                     nbcoll_add_copy(p->b, at, p->a->send, nbcolli_blocks_bytes(p->b, p->a, p->b->rank, 1)));
    for (int i = 1; i < nbcoll_node_size(p->t, part); i++) {
        at = nbcoll_at(at, nbcolli_blocks_bytes(p->b, p->a, nbcoll_node_rank(p->t, part, i - 1), 1));
        int rank = nbcoll_node_rank(p->t, part, i);
        nbcoll_after(p->b, have, nbcoll_add_fetch(p->b, rank, at, nbcolli_blocks_bytes(p->b, p->a, rank, 1)));
    }
    return nbcoll_within(p->b, g->leaders, g->n, &between, exchange, have);
}

/* What a group has, to this rank: from its leader on this node, or as that leader. */
static nbcoll_step nbcolli_allgather_get(const nbcolli_allgather_nodes *p, const nbcolli_allgather_group *g, int leader)
{
    const nbcoll_nodes *t = p->groups > 1 ? p->b->nodes : p->t;
    nbcoll_args show = nbcoll_args_part(p->a, NBCOLL_OPERATION_BCAST, nbcoll_node_place(t, leader), 0);
    nbcoll_step have = p->b->rank == leader ? nbcolli_allgather_nodes_lead(p, g) : p->given;

    show.bytes = g->all;
    show.recv = g->room;
    nbcoll_step got = nbcoll_within_node(p->b, t, &show, nbcolli_bcast_slots, have);
    return p->b->rank == leader ? have : got;
}

/* Brings the blocks of a group into their places. */
static void nbcolli_allgather_sort(const nbcolli_allgather_nodes *p, nbcoll_addr from, int group, nbcoll_step have)
{
    for (int part = 0; part < p->t->count; part++)
        for (int i = 0; i < nbcoll_node_size(p->t, part); i++) {
            int rank = nbcoll_node_rank(p->t, part, i);
            nbcoll_region to = nbcoll_recv_block(p->b, p->a, rank);
            if (nbcolli_allgather_nodes_group(p, rank) != group)
                continue;
            if (rank != p->b->rank || !p->a->in_place)
                nbcoll_after(p->b, nbcoll_add_copy(p->b, to.at, from, to.bytes), have);
            from = nbcoll_at(from, to.bytes);
        }
}

static void nbcolli_allgather_by_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, int groups)
{
    nbcolli_allgather_nodes p = {b, a, t, groups, groups == 1 && !a->counts && t->are_blocks, NBCOLL_START};
    int node = nbcoll_node_of(b->nodes, b->rank), own = nbcoll_node_rank(t, nbcoll_node_of(t, b->rank), 0);
    nbcoll_part mine = {own, 0, nbcoll_span(a->send, nbcolli_blocks_bytes(b, a, b->rank, 1))};
    p.given = b->rank == own ? NBCOLL_START : nbcoll_add_expose(b, 1, &mine);

    for (int group = 0; group < groups; group++) {
        nbcolli_allgather_group g = nbcolli_allgather_nodes_of(&p, group);
        int first = (int)nbcoll_block_offset((size_t)nbcoll_node_size(b->nodes, node), groups, group);
        int leader = groups == 1 ? own : nbcoll_node_rank(b->nodes, node, first);
        nbcoll_step have = nbcolli_allgather_get(&p, &g, leader);
        if (!p.is_direct)
            nbcolli_allgather_sort(&p, g.room, group, have);
    }
}

void nbcolli_allgather_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_allgather_by_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), 1);
}

void nbcolli_allgather_hierarchical_groups(nbcoll_builder *b, const nbcoll_args *a)
{
    unsigned groups = a->leaders ? a->leaders : 2;
    for (int node = 0; node < b->nodes->count; node++)
        if ((unsigned)nbcoll_node_size(b->nodes, node) < groups)
            groups = (unsigned)nbcoll_node_size(b->nodes, node);
    nbcolli_allgather_by_nodes(b, a, nbcoll_nodes_parts(b, groups, 0), (int)groups);
}
