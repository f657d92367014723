/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction by nodes: each leader combines the vectors of its node where they lie, the leaders reduce theirs to the
 * root, which leads its own node; and allreduce, where every leader gets the result and shows it to its node. Source:
 * the phases of Inozemtsev's thesis (2014), section 4.4. Leaders of a node: `leaders`, or one.
 *
 * The ordered form keeps rank order, whatever the numbering: where ranks of other nodes lie between those of one, each
 * run of neighbours has a leader of its own. The other one combines the operands of a node first, and so reorders. By
 * domains each leader combines the vectors of its domain, and the leaders do the rest by nodes. */
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_reduce_hierarchical, nbcolli_reduce_hierarchical_ordered, nbcolli_reduce_hierarchical_domains,
    nbcolli_allreduce_hierarchical, nbcolli_allreduce_hierarchical_ordered, nbcolli_allreduce_hierarchical_domains,
    nbcolli_reduce_slots, nbcolli_reduce_binomial, nbcolli_bcast_slots, nbcolli_reduce_scatter_owners,
    nbcolli_allreduce_recursive_doubling, nbcolli_allreduce_halving;

#define NBCOLLI_REDUCE_NODES_LONG 65536 /* bytes from which on leaders share the work of combining */

/* Reduces a node's vectors at its leader, to `where`, if it has more than one: the step that ends it. */
static nbcoll_step nbcolli_reduce_node(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, int root,
                                       nbcoll_addr where)
{
    int node = nbcoll_node_of(t, b->rank), leader = nbcoll_node_leader(t, node, root);
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, nbcoll_node_place(t, leader), a->count);

    inside.in_place = a->in_place;
    inside.send = a->send;
    inside.recv = where;
    if (nbcoll_node_size(t, node) == 1)
        return NBCOLL_START;
    return nbcoll_within_node(b, t, &inside, nbcolli_reduce_slots, NBCOLL_START);
}

static nbcoll_build *nbcolli_reduce_leaders(const nbcoll_args *a)
{
    return a->bytes > NBCOLLI_REDUCE_NODES_LONG ? nbcolli_reduce_scatter_owners : nbcolli_reduce_binomial;
}

static nbcoll_build *nbcolli_allreduce_leaders(const nbcoll_args *a)
{
    return a->bytes > NBCOLLI_REDUCE_NODES_LONG ? nbcolli_allreduce_halving : nbcolli_allreduce_recursive_doubling;
}

static void nbcolli_reduce_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, nbcoll_build *build)
{
    int node = nbcoll_node_of(t, b->rank), is_root = b->rank == a->root, is_single = nbcoll_node_size(t, node) == 1;
    int is_inner = !is_single && !is_root && b->rank == nbcoll_node_leader(t, node, a->root);
    nbcoll_args between = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, nbcoll_node_of(t, a->root), a->count);
    nbcoll_addr where = is_root ? a->recv : nbcoll_add_scratch(b, is_inner ? a->bytes : 0);
    nbcoll_step sum = nbcolli_reduce_node(b, a, t, a->root, where);

    between.send = is_single ? a->send : where;
    between.recv = a->recv;
    between.in_place = is_single ? a->in_place : is_root;
    nbcoll_between_nodes(b, t, a->root, &between, build, sum);
}

static void nbcolli_allreduce_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, nbcoll_build *build)
{
    int is_single = nbcoll_node_size(t, nbcoll_node_of(t, b->rank)) == 1;
    nbcoll_args between = *a, inside = nbcoll_args_part(a, NBCOLL_OPERATION_BCAST, 0, a->count);
    nbcoll_step sum = nbcolli_reduce_node(b, a, t, -1, a->recv);

    between.send = is_single ? a->send : a->recv;
    between.in_place = is_single ? a->in_place : 1;
    inside.recv = a->recv;
    nbcoll_step all = nbcoll_between_nodes(b, t, -1, &between, build, sum);
    nbcoll_within_node(b, t, &inside, nbcolli_bcast_slots, all);
}

void nbcolli_reduce_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_reduce_leaders(a));
}

void nbcolli_reduce_hierarchical_ordered(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 1), nbcolli_reduce_leaders(a));
}

void nbcolli_allreduce_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_allreduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_allreduce_leaders(a));
}

void nbcolli_allreduce_hierarchical_ordered(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_allreduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 1), nbcolli_allreduce_leaders(a));
}

void nbcolli_reduce_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    if (domains)
        nbcolli_reduce_nodes(b, a, domains, nbcolli_reduce_hierarchical);
    else
        nbcolli_reduce_hierarchical(b, a);
}

void nbcolli_allreduce_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    if (domains)
        nbcolli_allreduce_nodes(b, a, domains, nbcolli_allreduce_hierarchical);
    else
        nbcolli_allreduce_hierarchical(b, a);
}
