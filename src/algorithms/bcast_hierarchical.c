/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical broadcast: between the leaders down a binomial tree, or one with `arity` children a leader, and in each
 * node from its leader through shared memory; the root leads its node. Vectors of more than `segment` bytes (65536) go
 * in pieces, of which the leaders pass one on while the next is on its way, and show them in one exposure that grows.
 * N - 1 messages between N leaders for each piece, ceil(log2 N) after each other. Source: the phases of Inozemtsev's
 * thesis (2014), section 4.4; that a broadcast should enter each node once: Ramos' thesis (2013), section 4.1.3.
 * Leaders of a node: `leaders`, or one. By domains, their leaders get the vector by nodes, and show it then. */
#include "algorithms.h"

#define NBCOLLI_BCAST_NODES_PIECE 65536

static size_t nbcolli_bcast_nodes_piece(const nbcoll_args *a)
{
    size_t piece = a->segment ? a->segment : NBCOLLI_BCAST_NODES_PIECE, least = a->bytes / NBCOLL_SEGMENTS_MAX + 1;
    return piece < least ? least : piece;
}

static void nbcolli_bcast_nodes_pieces(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                       nbcoll_args between, nbcoll_build *build)
{
    const int *leaders = nbcoll_node_leaders(b, t, a->root);
    int node = nbcoll_node_of(t, b->rank), leader = nbcoll_node_leader(t, node, a->root);
    size_t piece = nbcolli_bcast_nodes_piece(a), at = 0;
    nbcoll_step shown = leader == b->rank ? nbcolli_pieces_show(b, a, t, node, piece) : NBCOLL_START;

    for (size_t i = 0; at < a->bytes; i++, at += piece) {
        between.recv = nbcoll_at(a->recv, at);
        between.bytes = a->bytes - at < piece ? a->bytes - at : piece;
        nbcoll_step have = nbcoll_within(b, leaders, t->count, &between, build, NBCOLL_START);
        if (leader != b->rank)
            nbcoll_add_fetch(b, leader, between.recv, between.bytes);
        else if (shown != NBCOLL_START)
            nbcoll_after(b, nbcoll_add_grow(b, shown, i), have);
    }
}

static void nbcolli_bcast_nodes_whole(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t,
                                      nbcoll_args between, nbcoll_build *build)
{
    nbcoll_args inside = *a;
    inside.root = nbcoll_node_place(t, nbcoll_node_leader(t, nbcoll_node_of(t, b->rank), a->root));
    nbcoll_step have = nbcoll_between_nodes(b, t, a->root, &between, build, NBCOLL_START);
    nbcoll_within_node(b, t, &inside, nbcolli_bcast_slots, have);
}

void nbcolli_bcast_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *t = nbcoll_nodes_parts(b, a->leaders, 0);
    nbcoll_build *build = a->arity ? nbcolli_bcast_tree : nbcolli_bcast_binomial;
    nbcoll_args between = *a;

    between.root = nbcoll_node_of(t, a->root);
    if (a->bytes > nbcolli_bcast_nodes_piece(a))
        nbcolli_bcast_nodes_pieces(b, a, t, between, build);
    else
        nbcolli_bcast_nodes_whole(b, a, t, between, build);
}

void nbcolli_bcast_hierarchical_domains(nbcoll_builder *b, const nbcoll_args *a)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->nodes);
    nbcoll_args between = *a;

    if (domains) {
        between.root = nbcoll_node_of(domains, a->root);
        nbcolli_bcast_nodes_whole(b, a, domains, between, nbcolli_bcast_hierarchical);
    } else {
        nbcolli_bcast_hierarchical(b, a);
    }
}
