/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours in a grid, by their offsets. */
#include "../host/host.h"
#include "neighbor.h"

int nbcolli_grid_rank(const nbcolli_around *a, const int coordinate[])
{
    int rank = 0;
    for (int k = 0; k < a->dims; k++) {
        int n = a->extent[k], at = coordinate[k];
        if (!a->periodic[k] && (at < 0 || at >= n))
            return -1;
        rank = rank * n + (at % n + n) % n;
    }
    return rank;
}

int nbcolli_grid_way(const nbcolli_around *a, int i, int k)
{
    int way = a->offset[i * a->dims + k], n = a->extent[k];
    return a->periodic[k] ? (way % n + n) % n : way;
}

static int nbcolli_grid_neighbors(const nbcoll_neighbor_grid *grid)
{
    return grid->offset ? grid->neighbors : 2 * grid->dims;
}

/* Component k of offset i. */
static int nbcolli_grid_offset(const nbcoll_neighbor_grid *grid, int i, int k)
{
    return grid->offset ? grid->offset[i * grid->dims + k] : i / 2 == k ? (i % 2 ? 1 : -1) : 0;
}

/* Are two offsets the same, or, with `sign` -1, each other's opposite? */
static int nbcolli_grid_alike(const nbcoll_neighbor_grid *grid, int i, int j, int sign)
{
    for (int k = 0; k < grid->dims; k++)
        if (nbcolli_grid_offset(grid, i, k) != sign * nbcolli_grid_offset(grid, j, k))
            return 0;
    return 1;
}

/* The n-th offset that is the opposite of i, which is the n-th of its kind; -1: there is none. */
static int nbcolli_grid_opposite(const nbcoll_neighbor_grid *grid, int i)
{
    int before = 0;
    for (int j = 0; j < i; j++)
        before += nbcolli_grid_alike(grid, i, j, 1);
    for (int j = 0; j < nbcolli_grid_neighbors(grid); j++)
        if (nbcolli_grid_alike(grid, i, j, -1) && !before--)
            return j;
    return -1;
}

nbcoll_status nbcolli_grid_check(const nbcoll_neighbor_grid *grid, int ranks)
{
    long long places = 1;

    if (grid->dims < 0 || grid->dims > NBCOLL_NEIGHBOR_DIMS || (grid->offset && grid->neighbors < 0))
        return NBCOLL_ERR_ARGUMENT;
    if (grid->dims && !grid->extent)
        return NBCOLL_ERR_NULL;
    if (nbcolli_grid_neighbors(grid) > NBCOLL_NEIGHBOR_OFFSETS_MOST)
        return NBCOLL_ERR_LIMIT;
    for (int k = 0; k < grid->dims; k++) {
        if (grid->extent[k] < 1 || places > ranks)
            return grid->extent[k] < 0 ? NBCOLL_ERR_ARGUMENT : NBCOLL_ERR_RANK;
        places *= grid->extent[k];
    }
    if (places != ranks)
        return NBCOLL_ERR_RANK;
    for (int i = 0; grid->offset && i < grid->neighbors * grid->dims; i++)
        if (grid->offset[i] < -NBCOLL_NEIGHBORS_MOST || grid->offset[i] > NBCOLL_NEIGHBORS_MOST)
            return NBCOLL_ERR_ARGUMENT;
    for (int i = 0; i < nbcolli_grid_neighbors(grid); i++)
        if (nbcolli_grid_opposite(grid, i) < 0)
            return NBCOLL_ERR_ARGUMENT;
    return NBCOLL_OK;
}

uint64_t nbcolli_grid_hash(const nbcolli_around *a)
{
    uint64_t hash = nbcolli_splitmix((uint64_t)a->dims + 1);
    for (int k = 0; k < a->dims; k++)
        hash = nbcolli_splitmix(hash + ((uint64_t)a->extent[k] << 1) + (a->periodic[k] != 0));
    for (int i = 0; i < a->out.count * a->dims; i++)
        hash = nbcolli_splitmix(hash + (uint32_t)a->offset[i]);
    return hash;
}

nbcoll_status nbcolli_grid_open(const nbcoll_neighbor_grid *grid, const nbcoll_host *host, int rank, int ranks,
                                nbcolli_around **out)
{
    int n = nbcolli_grid_neighbors(grid), dims = grid->dims, at[NBCOLL_NEIGHBOR_DIMS];
    nbcolli_around *a = nbcolli_around_open(host, rank, ranks, n, n, dims);

    if (!a)
        return NBCOLL_ERR_MEMORY;
    for (int k = dims - 1, left = rank; k >= 0; left /= grid->extent[k--]) {
        a->extent[k] = grid->extent[k];
        a->periodic[k] = grid->periodic && grid->periodic[k];
        a->coordinate[k] = left % grid->extent[k];
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < dims; k++) {
            a->offset[i * dims + k] = nbcolli_grid_offset(grid, i, k);
            at[k] = a->coordinate[k] + a->offset[i * dims + k];
        }
        if (dims)
            a->opposite[i] = nbcolli_grid_opposite(grid, i);
        a->out.peer[i] = a->in.peer[i] = nbcolli_grid_rank(a, at);
    }
    a->fingerprint = (uint32_t)nbcolli_grid_hash(a);
    return nbcolli_around_sort(host, a, out);
}
