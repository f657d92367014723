/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical allreduction: each leader combines the vectors of its node where they lie, the leaders reduce theirs so
 * that all of them have the result, and show it to their nodes. Leaders of a node: `leaders`, or one. Vectors of more
 * than `segment` bytes, if it is given, go in pieces: the leaders reduce one while they combine the next one of their
 * nodes, and while those take the one before. Source: the phases of Inozemtsev's thesis (2014), section 4.4.
 *
 * The three forms are those of reduce_hierarchical.c: the ordered one keeps rank order, the others reorder. */
#include "algorithms.h"

#define NBCOLLI_ALLREDUCE_NODES_LONG 65536 /* bytes from which on leaders share the work of combining */

static nbcoll_build *nbcolli_allreduce_leaders(const nbcoll_args *a)
{
    return a->bytes > NBCOLLI_ALLREDUCE_NODES_LONG ? nbcolli_allreduce_halving : nbcolli_allreduce_recursive_doubling;
}

/* `between`: as the leaders reduce the whole. */
static void nbcolli_allreduce_nodes_pieces(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                           nbcoll_args between, nbcoll_build *build, size_t most)
{
    const int *leaders = nbcoll_node_leaders(b, t, -1);
    int node = nbcoll_node_of(t, b->rank), leader = nbcoll_node_leader(t, node, -1);
    nbcoll_addr send = between.send;
    nbcoll_step sum = NBCOLL_START, shown = NBCOLL_START, given = NBCOLL_START;

    if (leader == b->rank)
        shown = nbcolli_pieces_show(b, a, t, node, most * a->element);
    else
        given = nbcolli_pieces_give(b, a, leader, most * a->element);
    for (size_t i = 0, at = 0; at < a->count; i++, at += most) {
        between.count = a->count - at < most ? a->count - at : most;
        between.bytes = between.count * a->element;
        between.send = nbcoll_at(send, at * a->element);
        between.recv = nbcoll_at(a->recv, at * a->element);
        if (shown != NBCOLL_START)
            sum = nbcolli_pieces_combine(b, a, t, at * a->element, &between, sum);
        nbcoll_step all = nbcoll_within(b, leaders, t->count, &between, build, sum);
        if (leader != b->rank) {
            nbcoll_step have = nbcoll_add_fetch(b, leader, between.recv, between.bytes);
            if (a->in_place) /* the leader reads the operand there */
                nbcoll_after(b, have, given);
        } else if (shown != NBCOLL_START)
            nbcoll_after(b, nbcoll_add_grow(b, shown, i), all);
    }
}

/* In pieces of so many elements. */
static void nbcolli_allreduce_nodes(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, nbcoll_build *build,
                                    size_t most)
{
    int is_single = nbcoll_node_size(t, nbcoll_node_of(t, b->rank)) == 1;
    nbcoll_args here = nbcoll_args_part(a, NBCOLL_OPERATION_REDUCE, 0, a->count), between = *a;
    nbcoll_args inside = nbcoll_args_part(a, NBCOLL_OPERATION_BCAST, 0, a->count);
    nbcoll_step sum = NBCOLL_START;

    here.in_place = a->in_place;
    here.send = a->send;
    here.recv = inside.recv = a->recv;
    between.send = is_single ? a->send : a->recv;
    between.in_place = is_single ? a->in_place : 1;
    if (a->count > most) {
        nbcolli_allreduce_nodes_pieces(b, a, t, between, build, most);
        return;
    }
    if (!is_single)
        sum = nbcoll_within_node(b, t, &here, nbcolli_reduce_slots, NBCOLL_START);
    nbcoll_step all = nbcoll_between_nodes(b, t, -1, &between, build, sum);
    nbcoll_within_node(b, t, &inside, nbcolli_bcast_slots, all);
}

void nbcolli_allreduce_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_allreduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 0), nbcolli_allreduce_leaders(a),
                            nbcoll_piece(a->count, a->element, a->segment));
}

void nbcolli_allreduce_hierarchical_ordered(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_allreduce_nodes(b, a, nbcoll_nodes_parts(b, a->leaders, 1), nbcolli_allreduce_leaders(a),
                            nbcoll_piece(a->count, a->element, a->segment));
}

void nbcolli_allreduce_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    if (domains)
        nbcolli_allreduce_nodes(b, a, domains, nbcolli_allreduce_hierarchical, a->count);
    else
        nbcolli_allreduce_hierarchical(b, a);
}
