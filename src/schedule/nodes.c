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
