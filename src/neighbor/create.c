/* SPDX-License-Identifier: BSD-3-Clause
 * Making neighbours on a communicator: all ranks see whether what they have said fits together. */
#include "neighbors.h"

#include "../host/host.h"

static nbcoll_status nbcolli_neighbors_close(nbcoll_neighbors *n)
{
    nbcoll_status s = nbcolli_cached_free(n);

    if (s == NBCOLL_OK)
        s = nbcoll_comm_free(n->comm);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_host host = n->host;
    nbcolli_around_close(&host, n->around);
    nbcolli_free(&host, n, sizeof *n);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_neighbors_open(const nbcoll_host *given, nbcoll_neighbors **out)
{
    nbcoll_host host = {.size = sizeof host};
    nbcoll_status s = given ? nbcolli_host_read(&host, given) : NBCOLL_OK;
    nbcoll_neighbors *n = s == NBCOLL_OK ? nbcolli_alloc(&host, sizeof *n, 64) : NULL;

    if (!n)
        return s == NBCOLL_OK ? NBCOLL_ERR_MEMORY : s;
    *n = (nbcoll_neighbors){.host = host, .terms.size = sizeof n->terms};
    *out = n;
    return NBCOLL_OK;
}

static uint64_t nbcolli_edge_number(int from, int to)
{
    return nbcolli_splitmix(nbcolli_splitmix((uint64_t)from + 1) + (uint64_t)to);
}

/* The end of an operation, whose buffers are here: it is over at the timeout, too. */
static nbcoll_status nbcolli_neighbors_wait(nbcoll_request *request, uint64_t timeout)
{
    nbcoll_status s = nbcoll_wait(request, timeout);

    if (request->at) {
        nbcoll_cancel(*request);
        nbcoll_wait(request, NBCOLL_FOREVER);
    }
    return s;
}

/* Neighbours have a communicator of their own. So a rank that fails while they are made, or behind that, can leave it:
 * the others' operations there end. Ranks of one colour split off together. `s`: whether this rank has got so far. */
static nbcoll_status nbcolli_neighbors_split(nbcoll_neighbors *n, nbcoll_status s, nbcoll_comm *comm, int colour,
                                             uint64_t timeout)
{
    nbcoll_request request;

    if (s == NBCOLL_OK)
        s = nbcoll_comm_isplit(comm, colour, n->around->rank, &n->comm, &request);
    if (s == NBCOLL_ERR_MEMORY)
        nbcolli_neighbors_forgo(comm);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_wait(&request, timeout);
    return s == NBCOLL_OK && nbcoll_comm_size(n->comm) != n->around->ranks ? NBCOLL_ERR_MISMATCH : s;
}

/* Edges are added where they leave, and taken away where they come: all ranks' sum is 0 if each is named as often at
 * one end as at the other, and else by a chance of 2^-64. */
static nbcoll_status nbcolli_graph_agree(nbcoll_neighbors *n, uint64_t timeout)
{
    nbcolli_around *a = n->around;
    uint64_t mine[2] = {0, nbcolli_splitmix((uint64_t)a->rank + 1)}, all[2] = {0};
    nbcoll_request request;

    for (int i = 0; i < a->out.count; i++) {
        mine[0] += nbcolli_edge_number(a->rank, a->out.peer[i]);
        mine[1] = nbcolli_splitmix(mine[1] + (uint64_t)a->out.peer[i]);
    }
    for (int i = 0; i < a->in.count; i++)
        mine[0] -= nbcolli_edge_number(a->in.peer[i], a->rank);
    nbcoll_status s = nbcoll_iallreduce(mine, all, 2, NBCOLL_UINT64, NBCOLL_SUM, n->comm, &request);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_wait(&request, timeout);
    a->fingerprint = (uint32_t)all[1];
    return s == NBCOLL_OK && all[0] ? NBCOLL_ERR_MISMATCH : s;
}

/* The end of both: a failure leaves nothing. */
static nbcoll_status nbcolli_neighbors_made(nbcoll_neighbors *n, nbcoll_status s, nbcoll_neighbors **out)
{
    nbcoll_cells cells = {.size = sizeof cells};

    if (s == NBCOLL_OK)
        s = nbcoll_comm_terms(n->comm, &n->terms);
    if (s == NBCOLL_OK)
        s = nbcoll_comm_cells(n->comm, &cells);
    if (s == NBCOLL_OK)
        n->exposures = cells.exposures;
    if (s == NBCOLL_OK)
        *out = n;
    else if (n)
        nbcolli_neighbors_close(n);
    return s;
}

nbcoll_status nbcoll_neighbors_of_graph(nbcoll_comm *comm, const nbcoll_neighbor_graph *graph, nbcoll_neighbors **out,
                                        uint64_t timeout)
{
    nbcoll_neighbor_graph given = {.size = sizeof given};
    nbcoll_neighbors *n = NULL;

    if (!comm || !graph || !out)
        return NBCOLL_ERR_NULL;
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_status s = nbcolli_copy_tagged(&given, graph, sizeof given);
    if (s == NBCOLL_OK)
        s = nbcolli_graph_check(&given, ranks);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_open(given.host, &n);
    if (s == NBCOLL_OK)
        s = nbcolli_graph_open(&given, &n->host, rank, ranks, &n->around);
    s = nbcolli_neighbors_split(n, s, comm, 0, timeout);
    if (s == NBCOLL_OK)
        s = nbcolli_graph_agree(n, timeout);
    return nbcolli_neighbors_made(n, s, out);
}

nbcoll_status nbcoll_neighbors_of_grid(nbcoll_comm *comm, const nbcoll_neighbor_grid *grid, nbcoll_neighbors **out,
                                       uint64_t timeout)
{
    nbcoll_neighbor_grid given = {.size = sizeof given};
    nbcoll_neighbors *n = NULL;

    if (!comm || !grid || !out)
        return NBCOLL_ERR_NULL;
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_status s = nbcolli_copy_tagged(&given, grid, sizeof given);
    if (s == NBCOLL_OK)
        s = nbcolli_grid_check(&given, ranks);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_open(given.host, &n);
    if (s == NBCOLL_OK && given.reorder)
        rank = nbcolli_grid_place(&given, nbcoll_comm_nodes(comm), rank);
    if (s == NBCOLL_OK)
        s = nbcolli_grid_open(&given, &n->host, rank, ranks, &n->around);
    int colour = s == NBCOLL_OK ? (int)(nbcolli_grid_hash(n->around) >> 33) : 0;
    s = nbcolli_neighbors_split(n, s, comm, colour, timeout);
    return nbcolli_neighbors_made(n, s, out);
}

nbcoll_status nbcoll_neighbors_query(const nbcoll_neighbors *n, nbcoll_neighborhood *out)
{
    if (!n || !out)
        return NBCOLL_ERR_NULL;
    const nbcolli_around *a = n->around;
    nbcoll_neighborhood found = {sizeof found, n->comm,     a->in.count, a->out.count,
                                 a->in.peer,   a->out.peer, a->dims,     a->coordinate};
    return nbcolli_give_tagged(out, &found, sizeof found);
}

nbcoll_status nbcoll_neighbors_free(nbcoll_neighbors *n)
{
    return n ? nbcolli_neighbors_close(n) : NBCOLL_OK;
}
