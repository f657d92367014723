/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical topologies. The first rank of each node leads it; leaders are joined as the nodes would be, if each were
 * one rank. What comes to a relay of a leader's goes to the other ranks of its node, too. For what such a rank
 * contributes its leader has a relay more, which sends it where the leader's own block goes, and to the others of the
 * node. */
#include "topology.h"

static int nbcolli_leader_of(const nbcolli_between *p, int node)
{
    return nbcoll_node_rank(p->nodes, node, 0);
}

/* The leader's relay for what the rank at that place of the node contributes. */
static uint32_t nbcolli_between_relay(const nbcolli_between *p, int node, int place)
{
    return place ? p->topology[node]->relays - 1 + (uint32_t)place : 0;
}

/* ---- the nodes' own ---------------------------------------------------------------------------------------------- */

/* Counts the ranks of a node wherever its blocks come; `queue` has room for all nodes. */
static void nbcolli_between_follow(nbcolli_between *p, int node, nbcoll_relay_end *queue)
{
    uint32_t size = (uint32_t)nbcoll_node_size(p->nodes, node);
    int count = 0;
    queue[count++] = (nbcoll_relay_end){node, 0, 0};
    for (int i = 0; i < count; i++) {
        const nbcoll_relay *relay = &p->topology[queue[i].rank]->relay[queue[i].relay];
        p->passed[queue[i].rank][queue[i].relay] += size;
        for (uint32_t k = 0; k < relay->destinations; k++)
            queue[count++] = relay->destination[k];
    }
}

nbcoll_status nbcolli_between_open(nbcolli_between *p, nbcoll_topology_kind kind, unsigned ports,
                                   const nbcoll_nodes *nodes, const nbcoll_host *host)
{
    static const char *const names[] = {
#define NBCOLLI_BETWEEN_NAME(name, text) "hierarchical " text,
        NBCOLL_TOPOLOGY_LIST(NBCOLLI_BETWEEN_NAME)
#undef NBCOLLI_BETWEEN_NAME
    };
    size_t count = (size_t)nodes->count;
    *p = (nbcolli_between){.arena.host = *host, .nodes = nodes};
    if ((unsigned)kind >= NBCOLL_TOPOLOGY_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    p->name = names[kind];
    p->topology = nbcolli_arena_take(&p->arena, count, sizeof *p->topology);
    p->passed = nbcolli_arena_take(&p->arena, count, sizeof *p->passed);
    nbcoll_relay_end *queue = nbcolli_arena_take(&p->arena, count, sizeof *queue);
    if (!p->topology || !p->passed || !queue)
        return NBCOLL_ERR_MEMORY;
    for (int node = 0; node < nodes->count; node++) {
        nbcoll_status s = nbcoll_topology_make(kind, ports, nodes->count, node, host, &p->topology[node]);
        if (s == NBCOLL_OK &&
            !(p->passed[node] = nbcolli_arena_take(&p->arena, p->topology[node]->relays, sizeof **p->passed)))
            s = NBCOLL_ERR_MEMORY;
        if (s != NBCOLL_OK)
            return s;
    }
    for (int node = 0; node < nodes->count; node++)
        nbcolli_between_follow(p, node, queue);
    return NBCOLL_OK;
}

void nbcolli_between_close(nbcolli_between *p)
{
    for (int node = 0; p->topology && node < p->nodes->count; node++)
        nbcoll_topology_free(p->topology[node]);
    nbcolli_arena_close(&p->arena);
}

/* ---- of a rank --------------------------------------------------------------------------------------------------- */

/* To the other leaders, as that relay of the node's does, and to the other ranks of the node but one. */
static void nbcolli_between_to(nbcolli_topology_builder *w, int node, uint32_t relay, int but, uint32_t origins)
{
    const nbcolli_between *p = w->between;
    const nbcoll_relay *at = &p->topology[node]->relay[relay];
    for (uint32_t i = 0; i < at->destinations; i++)
        nbcolli_relay_to(w, nbcolli_leader_of(p, at->destination[i].rank), at->destination[i].relay, origins);
    for (int place = 1; place < nbcoll_node_size(p->nodes, node); place++)
        if (place != but)
            nbcolli_relay_to(w, nbcoll_node_rank(p->nodes, node, place), 1, origins);
}

/* From a relay of that node's leader; relay 0 stands for all that its ranks contribute, but for one of them. */
static void nbcolli_between_from(nbcolli_topology_builder *w, int node, uint32_t relay, int but)
{
    const nbcolli_between *p = w->between;
    int leader = nbcolli_leader_of(p, node);
    if (relay)
        nbcolli_relay_from(w, leader, relay, p->passed[node][relay]);
    for (int place = 0; !relay && place < nbcoll_node_size(p->nodes, node); place++)
        if (place != but)
            nbcolli_relay_from(w, leader, nbcolli_between_relay(p, node, place), 1);
}

static void nbcolli_wire_leader(nbcolli_topology_builder *w, int node)
{
    const nbcolli_between *p = w->between;
    const nbcoll_topology *mine = p->topology[node];
    for (uint32_t relay = 0; relay < mine->relays; relay++) {
        nbcolli_relay_next(w);
        for (uint32_t i = 0; i < mine->relay[relay].sources; i++)
            nbcolli_between_from(w, mine->relay[relay].source[i].rank, mine->relay[relay].source[i].relay, -1);
        nbcolli_between_to(w, node, relay, 0, relay ? p->passed[node][relay] : 1);
    }
    for (int place = 1; place < nbcoll_node_size(p->nodes, node); place++) {
        nbcolli_relay_next(w);
        nbcolli_relay_from(w, nbcoll_node_rank(p->nodes, node, place), 0, 1);
        nbcolli_between_to(w, node, 0, place, 1);
    }
}

static void nbcolli_wire_nodes(nbcolli_topology_builder *w)
{
    const nbcolli_between *p = w->between;
    int node = nbcoll_node_of(p->nodes, w->rank), place = nbcoll_node_place(p->nodes, w->rank);
    if (place == 0) {
        nbcolli_wire_leader(w, node);
        return;
    }
    nbcolli_relay_next(w);
    nbcolli_relay_to(w, nbcolli_leader_of(p, node), nbcolli_between_relay(p, node, place), 1);
    nbcolli_relay_next(w);
    for (uint32_t relay = 0; relay < p->topology[node]->relays; relay++)
        nbcolli_between_from(w, node, relay, place);
}

nbcoll_status nbcolli_between_wire(const nbcolli_between *p, int rank, nbcoll_topology **out)
{
    nbcolli_topology_builder w = {.rank = rank, .ranks = p->nodes->ranks, .between = p};
    return nbcolli_topology_write(nbcolli_wire_nodes, w, p->name, &p->arena.host, out);
}

nbcoll_status nbcoll_topology_make_nodes(nbcoll_topology_kind kind, unsigned ports, const nbcoll_nodes *nodes, int rank,
                                       const nbcoll_host *host, nbcoll_topology **out)
{
    nbcoll_host own = {.size = sizeof own};
    nbcolli_between between;
    if (!nodes || !out)
        return NBCOLL_ERR_NULL;
    if (host && nbcolli_copy_tagged(&own, host, sizeof own) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (rank < 0 || rank >= nodes->ranks)
        return NBCOLL_ERR_RANK;
    nbcoll_status s = nbcolli_between_open(&between, kind, ports, nodes, &own);
    if (s == NBCOLL_OK)
        s = nbcolli_between_wire(&between, rank, out);
    nbcolli_between_close(&between);
    return s;
}
