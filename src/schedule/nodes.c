/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of nodes: from the node of each rank, or from how ranks are placed. */
#include "nodes.h"

/* A table that was allocated: what frees it. */
typedef struct nbcolli_nodes_owned {
    nbcoll_nodes table; /* first */
    nbcoll_nodes domains;
    nbcoll_host host;
    size_t memory;
} nbcolli_nodes_owned;

size_t nbcolli_nodes_ints(int ranks)
{
    return 4 * (size_t)ranks + 1;
}

void nbcolli_nodes_fill(nbcoll_nodes *t, int ranks, int *room)
{
    int *node = room, *place = node + ranks, *member = place + ranks, *begins = member + ranks;

    *t = (nbcoll_nodes){sizeof *t, ranks, 0, 1, node, place, begins, member, NULL};
    for (int i = 0; i < ranks; i++)
        member[i] = -1; /* for now: the new number of what was node i */
    for (int rank = 0; rank < ranks; rank++) {
        int *number = &member[node[rank]];
        if (*number < 0) {
            *number = t->count++;
            begins[*number] = 0; /* for now: how many ranks it has */
        }
        node[rank] = *number;
        place[rank] = begins[*number]++;
        t->are_blocks &= node[rank] == t->count - 1;
    }
    for (int i = 0, first = 0; i < t->count; i++) {
        int size = begins[i];
        begins[i] = first;
        first += size;
    }
    begins[t->count] = ranks;
    for (int rank = 0; rank < ranks; rank++)
        member[begins[node[rank]] + place[rank]] = rank;
}

void nbcolli_nodes_number(int ranks, uint64_t (*number)(const void *user, int rank), const void *user, int *node,
                          int *table)
{
    size_t room = 2 * (size_t)ranks;

    for (size_t i = 0; i < room; i++)
        table[i] = -1;
    for (int rank = 0; rank < ranks; rank++) {
        uint64_t own = number(user, rank);
        size_t at = (size_t)(own * UINT64_C(0x9e3779b97f4a7c15) >> 32) % room; /* hashed; numbers may be anything */
        while (table[at] >= 0 && number(user, table[at]) != own)
            at = at + 1 < room ? at + 1 : 0;
        if (table[at] < 0)
            table[at] = rank;
        node[rank] = table[at];
    }
}

void nbcolli_domains_fill(nbcoll_nodes *t, nbcoll_nodes *domains, int *room)
{
    int *first = room + t->ranks; /* for now: of the last node with a domain of this number its first rank there */

    for (int i = 0; i < t->ranks; i++)
        first[i] = -1;
    for (int node = 0; node < t->count; node++)
        for (int place = 0; place < nbcoll_node_size(t, node); place++) {
            int rank = nbcoll_node_rank(t, node, place), *known = &first[room[rank]];
            if (*known < 0 || nbcoll_node_of(t, *known) != node)
                *known = rank;
            room[rank] = *known;
        }
    nbcolli_nodes_fill(domains, t->ranks, room);
    t->domains = domains;
}

/* A table without contents, and room for its numbers behind it: the first are the nodes of the ranks; and for those of
 * its domains, if it is to have any. */
static nbcoll_status nbcolli_nodes_open(int ranks, int has_domains, const nbcoll_host *theirs,
                                        nbcolli_nodes_owned **out, int **room)
{
    nbcoll_host host = {0};
    size_t bytes = sizeof(nbcolli_nodes_owned);

    if (ranks < 1)
        return NBCOLL_ERR_RANK;
    /* A host of size 0 is one that sets nothing. */
    if (theirs && theirs->size && nbcolli_copy_tagged(&host, theirs, sizeof host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    bytes += (has_domains ? 2 : 1) * nbcolli_nodes_ints(ranks) * sizeof(int);
    *out = nbcolli_alloc(&host, bytes, 64);
    if (!*out)
        return NBCOLL_ERR_MEMORY;
    **out = (nbcolli_nodes_owned){.host = host, .memory = bytes};
    *room = (int *)(void *)(*out + 1);
    return NBCOLL_OK;
}

void nbcoll_nodes_free(nbcoll_nodes *nodes)
{
    nbcolli_nodes_owned *owned = (nbcolli_nodes_owned *)(void *)nodes;
    if (!owned)
        return;
    nbcoll_host host = owned->host;
    nbcolli_free(&host, owned, owned->memory);
}

nbcoll_status nbcoll_nodes_make_with_domains(const int node[], const int domain[], int ranks, const nbcoll_host *host,
                                             nbcoll_nodes **out)
{
    nbcolli_nodes_owned *made;
    int *room;

    if (!node || !out)
        return NBCOLL_ERR_NULL;
    for (int rank = 0; rank < ranks; rank++)
        if (node[rank] < 0 || node[rank] >= ranks || (domain && (domain[rank] < 0 || domain[rank] >= ranks)))
            return NBCOLL_ERR_ARGUMENT;
    nbcoll_status status = nbcolli_nodes_open(ranks, domain != NULL, host, &made, &room);
    if (status != NBCOLL_OK)
        return status;
    memcpy(room, node, (size_t)ranks * sizeof *node);
    nbcolli_nodes_fill(&made->table, ranks, room);
    if (domain) {
        room += nbcolli_nodes_ints(ranks);
        memcpy(room, domain, (size_t)ranks * sizeof *domain);
        nbcolli_domains_fill(&made->table, &made->domains, room);
    }
    *out = &made->table;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_nodes_make(const int node[], int ranks, const nbcoll_host *host, nbcoll_nodes **out)
{
    return nbcoll_nodes_make_with_domains(node, NULL, ranks, host, out);
}

/* ---- placing --------------------------------------------------------------------------------------------------- */

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

nbcoll_status nbcoll_nodes_place(const nbcoll_placement *placement, int ranks, const nbcoll_host *host,
                                 nbcoll_nodes **out)
{
    nbcoll_placement p = {0};
    nbcolli_nodes_owned *made;
    int *room;

    if (!placement || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&p, placement, sizeof p) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!p.room || !p.rooms || (unsigned)p.numbering > NBCOLL_NUMBERING_RANDOM || p.domain < 0)
        return p.room || !p.rooms ? NBCOLL_ERR_ARGUMENT : NBCOLL_ERR_NULL;
    for (size_t i = 0; i < p.rooms; i++)
        if (p.room[i] < 1)
            return NBCOLL_ERR_ARGUMENT;
    nbcoll_status status = nbcolli_nodes_open(ranks, p.domain != 0, host, &made, &room);
    if (status != NBCOLL_OK)
        return status;
    int nodes = nbcolli_nodes_place_blocks(&p, ranks, room);
    if (p.numbering == NBCOLL_NUMBERING_ROUND_ROBIN)
        nbcolli_nodes_deal(ranks, nodes, room, room + ranks);
    if (p.numbering == NBCOLL_NUMBERING_RANDOM)
        nbcolli_nodes_shuffle(ranks, &p.seed, room);
    nbcolli_nodes_fill(&made->table, ranks, room);
    room += nbcolli_nodes_ints(ranks);
    if (p.domain) {
        nbcolli_nodes_place_domains(&made->table, &p, room);
        nbcolli_domains_fill(&made->table, &made->domains, room);
    }
    *out = &made->table;
    return NBCOLL_OK;
}
