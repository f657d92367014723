/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical reduction: each leader combines the vectors of its node where they lie, the leaders reduce theirs to the
 * root, which leads its own node. Leaders of a node: `leaders`, or one. Vectors of more than `segment` bytes, if it is
 * given, go in pieces: the leaders reduce one while they combine the next one of their nodes, whose ranks show their
 * vectors in an exposure that grows. Source: the phases of Inozemtsev's thesis (2014), section 4.4.
 *
 * The ordered form keeps rank order, whatever the numbering: where ranks of other nodes lie between those of one, each
 * run of neighbours has a leader of its own. The other one combines the operands of a node first, and so reorders. By
 * domains each leader combines the vectors of its domain, and the leaders do the rest by nodes, in pieces. */
#include "algorithms.h"

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

static void nbcolli_reduce_nodes_pieces(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                        nbcoll_args between, nbcoll_build *build, size_t most)
{
    const int *leaders = nbcoll_node_leaders(b, t, a->root);
    int node = nbcoll_node_of(t, b->rank), leader = nbcoll_node_leader(t, node, a->root);
    nbcoll_addr send = between.send, recv = between.recv;
    nbcoll_step sum = NBCOLL_START;

    if (leader != b->rank)
        nbcolli_pieces_give(b, a, leader, most * a->element);
    for (size_t at = 0; at < a->count; at += most) {
        between.count = a->count - at < most ? a->count - at : most;
        between.bytes = between.count * a->element;
        between.send = nbcoll_at(send, at * a->element);
        between.recv = nbcoll_at(recv, at * a->element);
        if (leader == b->rank && nbcoll_node_size(t, node) > 1)
            sum = nbcolli_pieces_combine(b, a, t, at * a->element, &between, sum);
        nbcoll_within(b, leaders, t->count, &between, build, sum);
    }
}

/* In pieces of so many elements. A leader's sum of its node lies where it is to send it from. */
static void nbcolli_reduce_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, nbcoll_build *build,
                                 size_t most)
{
    int node = nbcoll_node_of(t, b->rank), is_root = b->rank == a->root, is_single = nbcoll_node_size(t, node) == 1;
    int is_inner = !is_single && !is_root && b->rank == nbcoll_node_leader(t, node, a->root);
    nbcoll_args between = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, nbcoll_node_of(t, a->root), a->count);
    nbcoll_addr where = is_root ? a->recv : nbcoll_add_scratch(b, is_inner ? a->bytes : 0);

    between.send = is_single ? a->send : where;
    between.recv = a->recv;
    between.in_place = is_single ? a->in_place : is_root;
    if (a->count > most) {
        nbcolli_reduce_nodes_pieces(b, a, t, between, build, most);
    } else {
        nbcoll_step sum = nbcolli_reduce_node(b, a, t, a->root, where);
        nbcoll_between_nodes(b, t, a->root, &between, build, sum);
    }
}

void nbcolli_reduce_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_reduce_leaders(a),
                         nbcoll_piece(a->count, a->element, a->segment));
}

void nbcolli_reduce_hierarchical_ordered(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_reduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 1), nbcolli_reduce_leaders(a),
                         nbcoll_piece(a->count, a->element, a->segment));
}

void nbcolli_reduce_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    if (domains)
        nbcolli_reduce_nodes(b, a, domains, nbcolli_reduce_hierarchical, a->count);
    else
        nbcolli_reduce_hierarchical(b, a);
}
