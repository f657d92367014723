/* SPDX-License-Identifier: BSD-3-Clause
 * The topology of a Cayley tree: for each neighbour a relay that passes on to all others what comes from it. The tree
 * is that of allgather_cayley.c: rank 0 has the ranks 1 .. k + 1 as neighbours, each other one k more, level by level.
 * In a tree nothing comes back, so nothing need be looked at to know where it ends. Source: Inozemtsev's thesis (2014),
 * sections 5.3.3 and 5.4.3, which counts k (k + 1) connections, where k + 1 neighbours have (k + 1)^2 outgoing ones. */
#include "topology.h"

/* The neighbour that is nearer to rank 0, of which there is one but for rank 0 itself. */
static int nbcolli_tree_parent(const nbcolli_topology_builder *w, int rank)
{
    return rank < 2 ? 0 : (int)((rank - 2) / w->ports);
}

static int64_t nbcolli_tree_first(const nbcolli_topology_builder *w, int64_t rank)
{
    return rank ? w->ports * rank + 2 : 1;
}

static int nbcolli_tree_neighbours(const nbcolli_topology_builder *w, int rank)
{
    int64_t children = w->ranks - nbcolli_tree_first(w, rank), most = rank ? w->ports : w->ports + 1;
    return (rank > 0) + (int)(children < 0 ? 0 : children < most ? children : most);
}

/* Neighbour i of a rank: its parent first. */
static int nbcolli_tree_neighbour(const nbcolli_topology_builder *w, int rank, int i)
{
    return rank && i == 0 ? nbcolli_tree_parent(w, rank) : (int)nbcolli_tree_first(w, rank) + i - (rank > 0);
}

/* The relay of `rank` for what comes from that neighbour. */
static uint32_t nbcolli_tree_relay(const nbcolli_topology_builder *w, int rank, int neighbour)
{
    return neighbour < rank ? 1 : (uint32_t)(neighbour - nbcolli_tree_first(w, rank) + (rank > 0)) + 1;
}

/* The ranks whose blocks go from one neighbour to another: those on the first one's side. */
static uint32_t nbcolli_tree_side(const nbcolli_topology_builder *w, int from, int to)
{
    int64_t first = from > to ? from : to, last = first, below = 0;
    while (first < w->ranks) {
        below += (last < w->ranks ? last : w->ranks - 1) - first + 1;
        first = nbcolli_tree_first(w, first);
        last = nbcolli_tree_first(w, last) + w->ports - 1; /* rank 0 is below nobody */
    }
    return (uint32_t)(from > to ? below : w->ranks - below);
}

void nbcolli_wire_cayley(nbcolli_topology_builder *w)
{
    int me = w->rank, neighbours = nbcolli_tree_neighbours(w, me);

    for (int i = -1; i < neighbours; i++) { /* what comes from here, then from each of them */
        int from = i < 0 ? -1 : nbcolli_tree_neighbour(w, me, i);
        nbcolli_relay_next(w);
        if (i >= 0)
            nbcolli_relay_from(w, from, 0, 1);
        for (int j = 0; i >= 0 && j < nbcolli_tree_neighbours(w, from); j++) {
            int beyond = nbcolli_tree_neighbour(w, from, j);
            if (beyond != me)
                nbcolli_relay_from(w, from, nbcolli_tree_relay(w, from, beyond), nbcolli_tree_side(w, beyond, from));
        }
        for (int j = 0; j < neighbours; j++) {
            int to = nbcolli_tree_neighbour(w, me, j);
            if (j != i)
                nbcolli_relay_to(w, to, nbcolli_tree_relay(w, to, me), i < 0 ? 1 : nbcolli_tree_side(w, from, me));
        }
    }
}
