/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical gather, of blocks of one or of different known lengths: each leader fetches the blocks of its node, and
 * sends them together up a binomial tree of the leaders to the root, which leads its own node. Scatter is the mirror
 * image. Blocks travel in the order of nodes, so that the root brings them into their places, or into that order, in
 * scratch memory; not where they lie like that. Source: the phases of Inozemtsev's thesis (2014), section 4.4. Leaders
 * of a node: `leaders`, or one. */
#include "algorithms.h"

typedef struct nbcolli_blocks_nodes {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const nbcoll_nodes *t;
    int node, size, leader;
    nbcoll_addr room;    /* of the root: for all blocks, in the order of nodes; of other leaders: for their nodes' */
    size_t begin;        /* bytes in it before those of this node */
    int is_direct;       /* the root's room is the caller's buffer */
    nbcoll_args between; /* among leaders: counts of nodes */
} nbcolli_blocks_nodes;

static size_t nbcolli_blocks_nodes_count(const nbcoll_args *a, int rank)
{
    return a->counts ? a->counts[rank] : a->count;
}

/* `all`: the caller's buffer with the blocks of all ranks, at the root. */
static nbcolli_blocks_nodes nbcolli_blocks_nodes_of(nbcoll_builder *b, const nbcoll_args *a, nbcoll_operation operation,
                                                    nbcoll_addr all)
{
    const nbcoll_nodes *t = nbcoll_nodes_parts(b, a->leaders, 0);
    nbcolli_blocks_nodes p = {
        b, a,   t, nbcoll_node_of(t, b->rank),  0,
        0, all, 0, t->are_blocks && !a->displs, nbcoll_args_part(a, operation, nbcoll_node_of(t, a->root), 0)};
    size_t *counts = nbcoll_builder_memory(b, (size_t)t->count, sizeof *counts);

    for (int rank = 0; counts && rank < b->ranks; rank++)
        counts[nbcoll_node_of(t, rank)] += nbcolli_blocks_nodes_count(a, rank);
    for (int node = 0; counts && node < t->count; node++) {
        p.between.count += counts[node];
        p.begin += node < p.node ? counts[node] * a->element : 0;
    }
    p.between.bytes = p.between.count * a->element;
    p.between.counts = counts;
    p.between.in_place = b->rank == a->root;
    p.size = nbcoll_node_size(t, p.node);
    p.leader = nbcoll_node_leader(t, p.node, a->root);
    if (b->rank != a->root)
        p.begin = 0;
    if (b->rank != a->root || !p.is_direct)
        p.room = nbcoll_add_scratch(b, b->rank == a->root              ? p.between.bytes
                                       : b->rank == p.leader && counts ? counts[p.node] * a->element
                                                                       : 0);
    return p;
}

/* The root's own blocks stay in place in its room: they need not move. */
static int nbcolli_blocks_nodes_stays(const nbcolli_blocks_nodes *p)
{
    return p->a->in_place && p->is_direct;
}

/* Between the root's buffer and its room, block by block; each step before or after `step`. */
static nbcoll_step nbcolli_blocks_nodes_sort(const nbcolli_blocks_nodes *p, nbcoll_step after, int is_gather)
{
    nbcoll_step sorted = nbcoll_add_join(p->b);
    size_t at = 0;

    for (int node = 0; node < p->t->count; node++)
        for (int i = 0; i < nbcoll_node_size(p->t, node); i++) {
            int rank = nbcoll_node_rank(p->t, node, i);
            nbcoll_region block = is_gather ? nbcoll_recv_block(p->b, p->a, rank) : nbcoll_send_block(p->b, p->a, rank);
            nbcoll_addr packed = nbcoll_at(p->room, at);
            at += block.bytes;
            if (is_gather && p->a->in_place && rank == p->b->rank)
                continue;
            nbcoll_step step = is_gather ? nbcoll_add_copy(p->b, block.at, packed, block.bytes)
                                         : nbcoll_add_copy(p->b, packed, block.at, block.bytes);
            nbcoll_after(p->b, step, after);
            nbcoll_after(p->b, sorted, step);
        }
    return sorted;
}

void nbcolli_gather_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_operation operation = NBCOLL_OPERATION_GATHERV;
    nbcolli_blocks_nodes p = nbcolli_blocks_nodes_of(b, a, operation, a->recv);
    size_t own = nbcolli_blocks_nodes_count(a, b->rank) * a->element, at = p.begin;
    nbcoll_part mine = {p.leader, 0, nbcoll_span(a->send, own)};

    if (b->rank != p.leader) {
        nbcoll_add_expose(b, 1, &mine);
        return;
    }
    nbcoll_step have = nbcoll_add_join(b);
    for (int i = 0; i < p.size; i++) {
        int rank = nbcoll_node_rank(p.t, p.node, i);
        size_t bytes = nbcolli_blocks_nodes_count(a, rank) * a->element;
        nbcoll_addr place = nbcoll_at(p.room, at);
        at += bytes;
        if (rank != b->rank)
            nbcoll_after(b, have, nbcoll_add_fetch(b, rank, place, bytes));
        else if (!nbcolli_blocks_nodes_stays(&p))
            nbcoll_after(b, have, nbcoll_add_copy(b, place, a->send, bytes));
    }
    p.between.send = nbcoll_at(p.room, p.begin);
    p.between.recv = p.room;
    have = nbcoll_between_nodes(b, p.t, a->root, &p.between, nbcolli_gather_binomial, have);
    if (b->rank == a->root && !p.is_direct)
        nbcolli_blocks_nodes_sort(&p, have, 1);
}

void nbcolli_scatter_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_blocks_nodes p = nbcolli_blocks_nodes_of(b, a, NBCOLL_OPERATION_SCATTERV, a->send);
    size_t own = nbcolli_blocks_nodes_count(a, b->rank) * a->element, at = p.begin;
    nbcoll_part *parts = nbcoll_builder_parts(b, (size_t)p.size);
    int n = 0;

    if (b->rank != p.leader) {
        nbcoll_add_fetch(b, p.leader, a->recv, own);
        return;
    }
    nbcoll_step have = NBCOLL_START;
    if (b->rank == a->root && !p.is_direct)
        have = nbcolli_blocks_nodes_sort(&p, have, 0);
    p.between.send = p.room;
    p.between.recv = nbcoll_at(p.room, p.begin);
    nbcoll_step got = nbcoll_between_nodes(b, p.t, a->root, &p.between, nbcolli_scatter_binomial, have);
    have = b->rank == a->root ? have : got; /* the root need not wait for what it sends */
    for (int i = 0; parts && i < p.size; i++) {
        int rank = nbcoll_node_rank(p.t, p.node, i);
        size_t bytes = nbcolli_blocks_nodes_count(a, rank) * a->element;
        nbcoll_addr place = nbcoll_at(p.room, at);
        at += bytes;
        if (rank != b->rank)
            parts[n++] = (nbcoll_part){rank, 0, nbcoll_span(place, bytes)};
        else if (!a->in_place)
            nbcoll_after(b, nbcoll_add_copy(b, a->recv, place, bytes), have);
    }
    if (n)
        nbcoll_after(b, nbcoll_add_expose(b, (size_t)n, parts), have);
}
