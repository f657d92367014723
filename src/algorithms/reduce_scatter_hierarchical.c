/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical reduce-scatter: each leader combines the vectors of its node where they lie, the leaders reduce and
 * scatter theirs, and each rank fetches its block from its leader. Source: the phases of Inozemtsev's thesis (2014),
 * section 4.4. The ordered form keeps rank order, whatever the numbering, as that of reduce_hierarchical does; where
 * ranks are not numbered node by node, the leaders of the other one first bring their sums into the order of nodes.
 * Leaders of a node: `leaders`, or one. */
#include "algorithms.h"

/* The elements of all ranks of a node. */
static size_t nbcolli_reduce_scatter_nodes_count(const nbcoll_args *a, const nbcoll_nodes *t, int node)
{
    size_t count = 0;
    for (int i = 0; i < nbcoll_node_size(t, node); i++)
        count += a->counts ? a->counts[nbcoll_node_rank(t, node, i)] : a->count;
    return count;
}

/* Copies a vector of blocks in rank order into the order of nodes. */
static nbcoll_step nbcolli_reduce_scatter_nodes_sort(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                                     nbcoll_addr to, nbcoll_addr from, nbcoll_step since)
{
    nbcoll_step sorted = nbcoll_add_join(b);
    size_t *at = nbcoll_builder_memory(b, (size_t)t->count + 1, sizeof *at); /* where the next of each node goes */

    for (int node = 0; at && node < t->count; node++)
        at[node + 1] = at[node] + nbcolli_reduce_scatter_nodes_count(a, t, node) * a->element;
    for (int rank = 0; at && rank < b->ranks; rank++) {
        size_t bytes = nbcolli_blocks_bytes(b, a, rank, 1), *place = &at[nbcoll_node_of(t, rank)];
        nbcoll_step step = nbcoll_add_copy(b, nbcoll_at(to, *place), from, bytes);
        nbcoll_after(b, step, since);
        nbcoll_after(b, sorted, step);
        *place += bytes;
        from = nbcoll_at(from, bytes);
    }
    return sorted;
}

/* Each rank of the node gets its block of those at `from`, at the leader. */
static void nbcolli_reduce_scatter_nodes_deal(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                              nbcoll_addr from, nbcoll_step since)
{
    int node = nbcoll_node_of(t, b->rank), size = nbcoll_node_size(t, node), leader = nbcoll_node_rank(t, node, 0),
        n = 0;
    nbcoll_part *parts = nbcoll_builder_parts(b, (size_t)size);

    if (b->rank != leader) {
        nbcoll_after(b, nbcoll_add_fetch(b, leader, a->recv, nbcolli_blocks_bytes(b, a, b->rank, 1)), since);
        return;
    }
    for (int i = 0; parts && i < size; i++) {
        int rank = nbcoll_node_rank(t, node, i);
        size_t bytes = nbcolli_blocks_bytes(b, a, rank, 1);
        if (i)
            parts[n++] = (nbcoll_part){rank, 0, nbcoll_span(from, bytes)};
        else
            nbcoll_after(b, nbcoll_add_copy(b, a->recv, from, bytes), since);
        from = nbcoll_at(from, bytes);
    }
    if (n)
        nbcoll_after(b, nbcoll_add_expose(b, (size_t)n, parts), since);
}

static void nbcolli_reduce_scatter_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                         nbcoll_build *build)
{
    int node = nbcoll_node_of(t, b->rank), is_leader = b->rank == nbcoll_node_rank(t, node, 0);
    size_t all = a->counts ? a->count : a->count * (size_t)b->ranks;
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, 0, all);
    nbcoll_args between = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE_SCATTER, 0, all);
    size_t *counts = nbcoll_builder_memory(b, (size_t)t->count, sizeof *counts);

    for (int i = 0; counts && i < t->count; i++)
        counts[i] = nbcolli_reduce_scatter_nodes_count(a, t, i);
    inside.send = a->send;
    inside.recv = between.send = nbcoll_add_scratch(b, is_leader ? inside.bytes : 0);
    between.counts = counts;
    between.recv = nbcoll_add_scratch(b, is_leader && counts ? counts[node] * a->element : 0);
    nbcoll_step sum = nbcoll_within_node(b, t, &inside, nbcolli_reduce_slots, NBCOLL_START);
    if (is_leader && !t->are_blocks) {
        between.send = nbcoll_add_scratch(b, inside.bytes);
        sum = nbcolli_reduce_scatter_nodes_sort(b, a, t, between.send, inside.recv, sum);
    }
    sum = nbcoll_between_nodes(b, t, -1, &between, build, sum);
    nbcolli_reduce_scatter_nodes_deal(b, a, t, between.recv, sum);
}

void nbcolli_reduce_scatter_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_scatter_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_reduce_scatter_halving);
}

void nbcolli_reduce_scatter_hierarchical_ordered(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_scatter_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 1), nbcolli_reduce_scatter_binomial);
}
