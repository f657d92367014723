/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical all-to-all of short blocks: each leader fetches all blocks of its node, sorted by the node they go to,
 * the leaders exchange them directly, and each rank fetches its own where its leader has them. N - 1 messages a leader
 * instead of P - 1 a rank. Source: the phases of Inozemtsev's thesis (2014), section 4.4. Leaders of a node: `leaders`,
 * or one. */
#include "algorithms.h"

typedef struct nbcolli_alltoall_nodes {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const nbcoll_nodes *t;
    int node, size, leader;
} nbcolli_alltoall_nodes;

/* The blocks between this node and the first `nodes` others. */
static size_t nbcolli_alltoall_nodes_before(const nbcolli_alltoall_nodes *p, int nodes)
{
    int ranks = nodes < p->t->count ? 0 : p->b->ranks;
    for (int i = 0; ranks < p->b->ranks && i < nodes; i++)
        ranks += nbcoll_node_size(p->t, i);
    return (size_t)ranks * (size_t)p->size;
}

/* This rank's blocks in the order of nodes. *since: the step since which they lie so. */
static nbcoll_addr nbcolli_alltoall_nodes_sort(const nbcolli_alltoall_nodes *p, nbcoll_step *since)
{
    const nbcoll_args *a = p->a;
    size_t at = 0;
    *since = NBCOLL_START;
    if (p->t->are_blocks && !a->in_place)
        return a->send;
    nbcoll_addr sorted = nbcoll_add_scratch(p->b, (size_t)p->b->ranks * a->bytes);
    *since = nbcoll_add_join(p->b);
    for (int node = 0; node < p->t->count; node++)
        for (int i = 0; i < nbcoll_node_size(p->t, node); i++, at += a->bytes) {
            nbcoll_addr from = nbcoll_at(a->send, (size_t)nbcoll_node_rank(p->t, node, i) * a->bytes);
            nbcoll_after(p->b, *since, nbcoll_add_copy(p->b, nbcoll_at(sorted, at), from, a->bytes));
        }
    return sorted;
}

/* To `out`, at the leader: what each rank of the node has for each node, in this order: node, then rank. */
static nbcoll_step nbcolli_alltoall_nodes_collect(const nbcolli_alltoall_nodes *p, nbcoll_addr sorted,
                                                  nbcoll_step since, nbcoll_addr out)
{
    nbcoll_part *parts = nbcoll_builder_parts(p->b, (size_t)p->t->count);
    nbcoll_step have = p->b->rank == p->leader ? nbcoll_add_join(p->b) : NBCOLL_START;
    size_t first = 0;

    for (int node = 0; parts && node < p->t->count; node++) {
        size_t bytes = (size_t)nbcoll_node_size(p->t, node) * p->a->bytes;
        parts[node] = (nbcoll_part){p->leader, 0, nbcoll_span(nbcoll_at(sorted, first), bytes)};
        for (int i = 0; p->b->rank == p->leader && i < p->size; i++) {
            int rank = nbcoll_node_rank(p->t, p->node, i);
            nbcoll_addr to = nbcoll_at(out, first * (size_t)p->size + (size_t)i * bytes);
            nbcoll_step step = rank != p->b->rank ? nbcoll_add_fetch(p->b, rank, to, bytes)
                                                  : nbcoll_add_copy(p->b, to, parts[node].region.at, bytes);
            if (rank == p->b->rank)
                nbcoll_after(p->b, step, since);
            nbcoll_after(p->b, have, step);
        }
        first += bytes;
    }
    if (p->b->rank == p->leader)
        return have;
    nbcoll_step shown = nbcoll_add_expose(p->b, (size_t)p->t->count, parts);
    nbcoll_after(p->b, shown, since);
    return shown;
}

/* From `in`, at the leader: what each rank of each node had for the ranks of this one, in this order. The leader sorts
 * it by who it is for, so that each rank has one part to fetch. */
static void nbcolli_alltoall_nodes_deal(const nbcolli_alltoall_nodes *p, nbcoll_addr in, nbcoll_step since)
{
    size_t bytes = p->a->bytes, all = (size_t)p->b->ranks * bytes;
    nbcoll_part *parts = nbcoll_builder_parts(p->b, (size_t)p->size);
    nbcoll_step sorted = NBCOLL_START;

    if (p->b->rank != p->leader) {
        nbcoll_after(p->b, nbcoll_add_fetch(p->b, p->leader, p->a->recv, all), since);
        return;
    }
    for (int k = 0; parts && k < p->size; k++) /* the leader is the first */
        parts[k] = (nbcoll_part){nbcoll_node_rank(p->t, p->node, k), 0,
                                 nbcoll_span(k ? nbcoll_add_scratch(p->b, all) : p->a->recv, all)};
    if (p->size > 1)
        sorted = nbcoll_add_join(p->b);
    for (int node = 0; parts && node < p->t->count; node++)
        for (int i = 0; i < nbcoll_node_size(p->t, node); i++)
            for (int k = 0; k < p->size; k++, in = nbcoll_at(in, bytes)) {
                size_t place = (size_t)nbcoll_node_rank(p->t, node, i) * bytes;
                nbcoll_step step = nbcoll_add_copy(p->b, nbcoll_at(parts[k].region.at, place), in, bytes);
                nbcoll_after(p->b, step, since);
                if (k)
                    nbcoll_after(p->b, sorted, step);
            }
    if (parts && p->size > 1)
        nbcoll_after(p->b, nbcoll_add_expose(p->b, (size_t)p->size - 1, parts + 1), sorted);
}

void nbcolli_alltoall_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *t = nbcoll_nodes_parts(b, a->leaders, 0);
    int node = nbcoll_node_of(t, b->rank);
    nbcolli_alltoall_nodes p = {b, a, t, node, nbcoll_node_size(t, node), nbcoll_node_rank(t, node, 0)};
    nbcoll_args between =
        nbcoll_args_part(a, NBCOLL_OPERATION_ALLTOALLV, 0, nbcolli_alltoall_nodes_before(&p, t->count));
    size_t *counts = nbcoll_builder_memory(b, (size_t)t->count, sizeof *counts);
    nbcoll_step sorted;

    for (int i = 0; counts && i < t->count; i++) /* as much goes to a node as comes from it */
        counts[i] = a->count * (size_t)nbcoll_node_size(t, i) * (size_t)p.size;
    between.count *= a->count;
    between.bytes = between.count * a->element;
    between.counts = counts;
    between.send = nbcoll_add_scratch(b, b->rank == p.leader ? between.bytes : 0);
    between.recv = nbcoll_add_scratch(b, b->rank == p.leader ? between.bytes : 0);
    nbcoll_addr mine = nbcolli_alltoall_nodes_sort(&p, &sorted);
    nbcoll_step have = nbcolli_alltoall_nodes_collect(&p, mine, sorted, between.send);
    have = nbcoll_between_nodes(b, t, -1, &between, nbcolli_alltoall_flat, have);
    nbcolli_alltoall_nodes_deal(&p, between.recv, have);
}
