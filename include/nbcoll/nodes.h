/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes: which ranks are near each other. The ranks of a node share memory, or the host says what a node is. Algorithms
 * ask a table of nodes, which is equal on all ranks and never changes; each answer takes constant time.
 *
 * Builders find the table at `b->nodes`. It is never null: by default one node has all ranks. The table does not say
 * whether ranks of a node share memory: an exposure to a rank that shares none becomes messages, whatever the table
 * says (schedule.h).
 *
 * Domains are a further level: ranks of one node that share a cache or near memory. They are a table of the same kind,
 * of all ranks, whose "nodes" are parts of nodes. An algorithm by domains goes by that table, and builds a hierarchical
 * algorithm between the leaders of domains (nbcoll_within).
 */
#include "nbcoll.h"

#ifndef NBCOLL_NODES_H
#define NBCOLL_NODES_H

NBCOLLI_BEGIN

/* ---- asking ---------------------------------------------------------------------------------------------------- */

/* Nodes are numbered from 0 in the order of their first ranks, so that rank 0 is on node 0; each has at least one rank.
 * The arrays are read through the functions below. */
typedef struct nbcoll_nodes {
    size_t size;
    int ranks, count;  /* of all nodes; nodes */
    int are_blocks;    /* every rank of a node is below all ranks of the next: blocks of a node's ranks, in rank order,
                          lie together */
    const int *node;   /* [ranks]: the node of each; null, like the others, where there is one node */
    const int *place;  /* [ranks]: how many ranks of its node are below it */
    const int *begins; /* [count + 1]: where in `member` those of each node begin */
    const int *member; /* [ranks]: the ranks, node by node, rising in each */
    const struct nbcoll_nodes *domains; /* null: none are known. Of the same ranks; has none itself */
} nbcoll_nodes;

/* The node of a rank. */
static inline int nbcoll_node_of(const nbcoll_nodes *t, int rank)
{
    return t->node ? t->node[rank] : 0;
}

/* How many ranks of its node are below this one: its number within the node. */
static inline int nbcoll_node_place(const nbcoll_nodes *t, int rank)
{
    return t->place ? t->place[rank] : rank;
}

/* The number of ranks of a node. */
static inline int nbcoll_node_size(const nbcoll_nodes *t, int node)
{
    return t->begins ? t->begins[node + 1] - t->begins[node] : t->ranks;
}

/* The rank of a node that has the place `place`: the inverse of nbcoll_node_place. */
static inline int nbcoll_node_rank(const nbcoll_nodes *t, int node, int place)
{
    return t->member ? t->member[t->begins[node] + place] : place;
}

/* All ranks of a node, rising: nbcoll_node_size of them. Null: those from 0 on. As nbcoll_within takes a group. */
static inline const int *nbcoll_node_ranks(const nbcoll_nodes *t, int node)
{
    return t->member ? t->member + t->begins[node] : NULL;
}

/* The rank that leads a node in an operation: its first one, but that `root` leads its own. No root: -1. */
static inline int nbcoll_node_leader(const nbcoll_nodes *t, int node, int root)
{
    return root >= 0 && nbcoll_node_of(t, root) == node ? root : nbcoll_node_rank(t, node, 0);
}

/* The domains in the nodes; null: none are known, each node is one. */
static inline const nbcoll_nodes *nbcoll_nodes_domains(const nbcoll_nodes *t)
{
    return t->size >= sizeof *t ? t->domains : NULL;
}

/* The nodes of a communicator's ranks, for those who build schedules for it themselves: its own, as long as it exists.
 * Never null, never fails; any thread. */
NBCOLL_API const nbcoll_nodes *nbcoll_comm_nodes(const nbcoll_comm *comm);

/* ---- making a table -------------------------------------------------------------------------------------------- */

/* Makes a table of which node[r], any number of 0..ranks-1, is the node of rank r: ranks with the same number share it.
 * `node` is copied. `host`: for memory; may be null; copied. The table is immutable, any thread may read it, and
 * nbcoll_nodes_free frees it. Errors: ERR_NULL, ERR_CONFIG (the host's size), ERR_RANK (ranks < 1), ERR_ARGUMENT (no
 * such number), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_nodes_make(const int node[], int ranks, const nbcoll_host *host, nbcoll_nodes **out);

/* The same with domains: those ranks of a node share one that have the same number in domain[], any of 0..ranks-1, as
 * nbcoll_affinity_domains gives them for each machine by itself. Null: none are known. Errors: those of
 * nbcoll_nodes_make. */
NBCOLL_API nbcoll_status nbcoll_nodes_make_with_domains(const int node[], const int domain[], int ranks,
                                                        const nbcoll_host *host, nbcoll_nodes **out);

/* Null is accepted. */
NBCOLL_API void nbcoll_nodes_free(nbcoll_nodes *nodes);

NBCOLLI_END
#endif
