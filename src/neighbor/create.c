/* SPDX-License-Identifier: BSD-3-Clause
 * Making neighbours on a communicator: all ranks see whether what they have said fits together. */
#include "neighbors.h"

#include "../host/host.h"

static nbcoll_status nbcolli_neighbors_close(nbcoll_neighbors *n)
{
    nbcoll_status s = nbcolli_cached_free(n);

    if (s == NBCOLL_OK)
        s = nbcoll_comm_free(n->own);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_host host = n->host;
    nbcolli_around_close(&host, n->around);
    nbcolli_free(&host, n, sizeof *n);
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_neighbors_open(nbcoll_comm *comm, const nbcoll_host *given, nbcoll_neighbors **out)
{
    nbcoll_host host = {.size = sizeof host};
    nbcoll_status s = given ? nbcolli_host_read(&host, given) : NBCOLL_OK;
    nbcoll_neighbors *n = s == NBCOLL_OK ? nbcolli_alloc(&host, sizeof *n, 64) : NULL;

    if (!n)
        return s == NBCOLL_OK ? NBCOLL_ERR_MEMORY : s;
    *n = (nbcoll_neighbors){.host = host, .comm = comm, .terms.size = sizeof n->terms};
    *out = n;
    return NBCOLL_OK;
}

/* How many ranks say that something is wrong, and a number for what all have said together. */
static nbcoll_status nbcolli_neighbors_agree(nbcoll_comm *comm, int is_wrong, uint64_t *hash, uint64_t timeout)
{
    uint64_t mine[2] = {(uint64_t)is_wrong, *hash}, all[2];
    nbcoll_status s = nbcoll_allreduce(mine, all, 2, NBCOLL_UINT64, NBCOLL_SUM, comm, timeout);

    *hash = all[1];
    return s == NBCOLL_OK && all[0] ? NBCOLL_ERR_MISMATCH : s;
}

/* Tells each rank how often it is a destination of this one. Is each source one as often as it is named? */
static nbcoll_status nbcolli_graph_agree(nbcoll_neighbors *n, nbcoll_comm *comm, uint64_t timeout)
{
    nbcolli_around *a = n->around;
    size_t ranks = (size_t)a->ranks, bytes = 3 * ranks * sizeof(uint32_t);
    uint32_t *out = nbcolli_alloc(&n->host, bytes, 64), *in = out + ranks, *named = in + ranks;
    uint64_t hash = nbcolli_splitmix((uint64_t)a->rank + 1);

    if (!out)
        return NBCOLL_ERR_MEMORY;
    memset(out, 0, bytes);
    for (int i = 0; i < a->out.count; i++) {
        out[a->out.peer[i]]++;
        hash = nbcolli_splitmix(hash + (uint64_t)a->out.peer[i]);
    }
    for (int i = 0; i < a->in.count; i++)
        named[a->in.peer[i]]++;
    nbcoll_status s = nbcoll_alltoall(out, in, 1, NBCOLL_UINT32, comm, timeout);
    int is_wrong = memcmp(in, named, ranks * sizeof *in) != 0;
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_agree(comm, is_wrong, &hash, timeout);
    a->fingerprint = (uint32_t)hash;
    nbcolli_free(&n->host, out, bytes);
    return s;
}

static nbcoll_status nbcolli_grid_agree(nbcoll_neighbors *n, nbcoll_comm *comm, int is_reordered, uint64_t timeout)
{
    uint64_t mine = nbcolli_splitmix(nbcolli_grid_hash(n->around) + (uint64_t)is_reordered), all = mine;
    nbcoll_status s = nbcolli_neighbors_agree(comm, 0, &all, timeout);

    return s == NBCOLL_OK && all != mine * (uint64_t)n->around->ranks ? NBCOLL_ERR_MISMATCH : s;
}

/* The end of both: a failure leaves nothing. */
static nbcoll_status nbcolli_neighbors_made(nbcoll_neighbors *n, nbcoll_status s, nbcoll_neighbors **out)
{
    nbcoll_cells cells = {.size = sizeof cells};

    if (s == NBCOLL_OK)
        s = nbcoll_comm_terms(n->comm, &n->terms);
    if (s == NBCOLL_OK)
        s = nbcoll_comm_cells(n->comm, &cells);
    n->exposures = cells.exposures;
    if (s == NBCOLL_OK)
        *out = n;
    else
        nbcolli_neighbors_close(n);
    return s;
}

nbcoll_status nbcoll_neighbors_of_graph(nbcoll_comm *comm, const nbcoll_neighbor_graph *graph, nbcoll_neighbors **out,
                                        uint64_t timeout)
{
    nbcoll_neighbor_graph given = {.size = sizeof given};
    nbcoll_neighbors *n;

    if (!comm || !graph || !out)
        return NBCOLL_ERR_NULL;
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_status s = nbcolli_copy_tagged(&given, graph, sizeof given);
    if (s == NBCOLL_OK)
        s = nbcolli_graph_check(&given, ranks);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_open(comm, given.host, &n);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_graph_open(&given, &n->host, rank, ranks, &n->around);
    if (s == NBCOLL_OK)
        s = nbcolli_graph_agree(n, comm, timeout);
    return nbcolli_neighbors_made(n, s, out);
}

nbcoll_status nbcoll_neighbors_of_grid(nbcoll_comm *comm, const nbcoll_neighbor_grid *grid, nbcoll_neighbors **out,
                                       uint64_t timeout)
{
    nbcoll_neighbor_grid given = {.size = sizeof given};
    nbcoll_neighbors *n;

    if (!comm || !grid || !out)
        return NBCOLL_ERR_NULL;
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm);
    nbcoll_status s = nbcolli_copy_tagged(&given, grid, sizeof given);
    if (s == NBCOLL_OK)
        s = nbcolli_grid_check(&given, ranks);
    if (s == NBCOLL_OK)
        s = nbcolli_neighbors_open(comm, given.host, &n);
    if (s != NBCOLL_OK)
        return s;
    if (given.reorder)
        rank = nbcolli_grid_place(&given, nbcoll_comm_nodes(comm), rank);
    s = nbcolli_grid_open(&given, &n->host, rank, ranks, &n->around);
    if (s == NBCOLL_OK)
        s = nbcolli_grid_agree(n, comm, given.reorder != 0, timeout);
    if (s == NBCOLL_OK && given.reorder && (s = nbcoll_comm_split(comm, 0, rank, &n->own, timeout)) == NBCOLL_OK)
        n->comm = n->own;
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
