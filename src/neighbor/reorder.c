/* SPDX-License-Identifier: BSD-3-Clause
 * Places in a grid, dealt by nodes: each node has a brick of it, that with the smallest surface of those that tile the
 * grid. Where nodes have different sizes, or no brick tiles it, they follow each other along the grid's numbering. */
#include "../host/host.h"
#include "neighbor.h"

typedef struct nbcolli_bricks {
    int dims;
    const int *extent;
    int side[NBCOLL_NEIGHBOR_DIMS], best[NBCOLL_NEIGHBOR_DIMS];
    long long surface; /* the best one's; -1: there is none */
} nbcolli_bricks;

static void nbcolli_bricks_look(nbcolli_bricks *b)
{
    long long volume = 1, surface = 0;

    for (int k = 0; k < b->dims; k++)
        volume *= b->side[k];
    for (int k = 0; k < b->dims; k++)
        surface += b->side[k] < b->extent[k] ? volume / b->side[k] : 0;
    if (b->surface >= 0 && surface >= b->surface)
        return;
    b->surface = surface;
    memcpy(b->best, b->side, sizeof b->best);
}

/* All bricks of `left` places whose sides from dimension k on are still to be chosen. */
static void nbcolli_bricks_try(nbcolli_bricks *b, int k, int left)
{
    if (k == b->dims) {
        if (left == 1)
            nbcolli_bricks_look(b);
        return;
    }
    for (b->side[k] = 1; b->side[k] <= left && b->side[k] <= b->extent[k]; b->side[k]++)
        if (left % b->side[k] == 0 && b->extent[k] % b->side[k] == 0)
            nbcolli_bricks_try(b, k + 1, left / b->side[k]);
}

int nbcolli_grid_place(const nbcoll_neighbor_grid *grid, const nbcoll_nodes *nodes, int rank)
{
    int node = nbcoll_node_of(nodes, rank), place = nbcoll_node_place(nodes, rank), size = nbcoll_node_size(nodes, 0);
    nbcolli_bricks b = {.dims = grid->dims, .extent = grid->extent, .surface = -1};
    int before = 0, at = 0, coordinate[NBCOLL_NEIGHBOR_DIMS];

    for (int i = 0; i < nodes->count; i++) {
        before += i < node ? nbcoll_node_size(nodes, i) : 0;
        size = nbcoll_node_size(nodes, i) == size ? size : 0;
    }
    if (size)
        nbcolli_bricks_try(&b, 0, size);
    if (b.surface < 0)
        return before + place;
    for (int k = grid->dims - 1; k >= 0; k--) {
        int bricks = grid->extent[k] / b.best[k];
        coordinate[k] = node % bricks * b.best[k] + place % b.best[k];
        node /= bricks;
        place /= b.best[k];
    }
    for (int k = 0; k < grid->dims; k++)
        at = at * grid->extent[k] + coordinate[k];
    return at;
}
