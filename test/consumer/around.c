/* SPDX-License-Identifier: BSD-3-Clause
 * A host of the component neighbor: a ring of one rank, whose neighbours to both sides are itself. */
#include <nbcoll/loopback.h>
#include <nbcoll/neighbor.h>

int main(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_neighbor_grid ring = {.size = sizeof ring, .dims = 1, .extent = (int[]){1}, .periodic = (int[]){1}};
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_neighbors *around;
    int out[2] = {1, 2}, in[2] = {0};

    if (nbcoll_loopback_create(&config, &world) != NBCOLL_OK ||
        nbcoll_loopback_open(world, 0, &endpoint) != NBCOLL_OK ||
        nbcoll_context_create(NBCOLL_ABI, NULL, &context) != NBCOLL_OK ||
        nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_neighbors_of_grid(comm, &ring, &around, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_neighbor_alltoall(out, in, 1, NBCOLL_INT32, around, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_neighbors_free(around) != NBCOLL_OK || nbcoll_context_free(context) != NBCOLL_OK ||
        nbcoll_loopback_free(world) != NBCOLL_OK)
        return 1;
    return !(in[0] == 2 && in[1] == 1); /* what went left comes from the right */
}
