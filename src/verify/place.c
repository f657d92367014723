/* SPDX-License-Identifier: BSD-3-Clause
 * Placing ranks on nodes. */
#include "../host/host.h"
#include "nbcoll/verify.h"

/* Node after node. */
static int nbcolli_nodes_place_blocks(const nbcoll_placement *p, int ranks, int *node)
{
    int nodes = 0;
    for (int rank = 0; rank < ranks; nodes++)
        for (int left = p->room[(size_t)nodes % p->rooms]; left && rank < ranks; left--)
            node[rank++] = nodes;
    return nodes;
}

/* So many nodes are dealt the ranks. `size` has room for as many numbers as there are ranks, as `node` has. */
static void nbcolli_nodes_deal(int ranks, int nodes, int *node, int *size)
{
    memset(size, 0, (size_t)nodes * sizeof *size);
    for (int rank = 0; rank < ranks; rank++)
        size[node[rank]]++;
    for (int rank = 0; rank < ranks;)
        for (int i = 0; i < nodes; i++)
            if (size[i]) {
                size[i]--;
                node[rank++] = i;
            }
}

/* One of 0..n-1. */
static int nbcolli_nodes_random(uint64_t *seed, int n)
{
    uint64_t x = (*seed += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int)((x ^ x >> 31) % (uint64_t)n);
}

static void nbcolli_nodes_shuffle(int ranks, uint64_t *seed, int *node)
{
    for (int i = ranks - 1; i > 0; i--) {
        int other = nbcolli_nodes_random(seed, i + 1), kept = node[i];
        node[i] = node[other];
        node[other] = kept;
    }
}

/* The domain of each rank in its node. */
static void nbcolli_nodes_place_domains(const nbcoll_nodes *t, nbcoll_placement *p, int *domain)
{
    for (int rank = 0; rank < t->ranks; rank++) {
        int size = nbcoll_node_size(t, nbcoll_node_of(t, rank)), place = nbcoll_node_place(t, rank);
        int domains = size / p->domain + (size % p->domain != 0);
        domain[rank] = p->numbering == NBCOLL_NUMBERING_BLOCK         ? place / p->domain
                       : p->numbering == NBCOLL_NUMBERING_ROUND_ROBIN ? place % domains
                                                                      : nbcolli_nodes_random(&p->seed, domains);
    }
}

static nbcoll_status nbcolli_nodes_check(const nbcoll_placement *p)
{
    if (!p->room || !p->rooms || (unsigned)p->numbering > NBCOLL_NUMBERING_RANDOM || p->domain < 0)
        return p->room || !p->rooms ? NBCOLL_ERR_ARGUMENT : NBCOLL_ERR_NULL;
    for (size_t i = 0; i < p->rooms; i++)
        if (p->room[i] < 1)
            return NBCOLL_ERR_ARGUMENT;
    return NBCOLL_OK;
}

/* node[], domain[]: room for so many ranks each. */
static nbcoll_status nbcolli_nodes_placed(nbcoll_placement *p, int ranks, const nbcoll_host *host, int *node,
                                          int *domain, nbcoll_nodes **out)
{
    int nodes = nbcolli_nodes_place_blocks(p, ranks, node);
    nbcoll_nodes *flat;

    if (p->numbering == NBCOLL_NUMBERING_ROUND_ROBIN)
        nbcolli_nodes_deal(ranks, nodes, node, domain);
    if (p->numbering == NBCOLL_NUMBERING_RANDOM)
        nbcolli_nodes_shuffle(ranks, &p->seed, node);
    nbcoll_status status = nbcoll_nodes_make(node, ranks, host, p->domain ? &flat : out);
    if (status != NBCOLL_OK || !p->domain)
        return status;
    nbcolli_nodes_place_domains(flat, p, domain);
    nbcoll_nodes_free(flat);
    return nbcoll_nodes_make_with_domains(node, domain, ranks, host, out);
}

nbcoll_status nbcoll_nodes_place(const nbcoll_placement *placement, int ranks, const nbcoll_host *host,
                                 nbcoll_nodes **out)
{
    nbcoll_placement p = {0};
    nbcoll_host own = {0};

    if (!placement || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&p, placement, sizeof p) != NBCOLL_OK ||
        (host && host->size && nbcolli_copy_tagged(&own, host, sizeof own) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_nodes_check(&p);
    if (status != NBCOLL_OK || ranks < 1)
        return status != NBCOLL_OK ? status : NBCOLL_ERR_RANK;
    size_t bytes = 2 * (size_t)ranks * sizeof(int);
    int *room = nbcolli_alloc(&own, bytes, 64);
    if (!room)
        return NBCOLL_ERR_MEMORY;
    status = nbcolli_nodes_placed(&p, ranks, host, room, room + ranks, out);
    nbcolli_free(&own, room, bytes);
    return status;
}
