/* SPDX-License-Identifier: BSD-3-Clause
 * A host of the component offload: a program that an agent of its own executes over loopback's queue pairs, which a
 * world has where it is asked for them; and a topology. */
#include <nbcoll/loopback.h>
#include <nbcoll/offload.h>
#include <nbcoll/relay.h>

enum { RANKS = 2 };

static nbcoll_status open_agents(const struct nbcoll_loopback_queues *pairs)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS, .pairs = pairs};
    nbcoll_agent_config agents = {.size = sizeof agents};
    nbcoll_loopback *world;
    nbcoll_status status = nbcoll_loopback_create(&config, &world);
    for (int rank = 0; rank < RANKS && status == NBCOLL_OK; rank++) {
        nbcoll_endpoint *endpoint;
        nbcoll_agent *agent;
        if ((status = nbcoll_loopback_open(world, rank, &endpoint)) != NBCOLL_OK)
            break;
        status = nbcoll_agent_open(endpoint, &agents, &agent);
        if (status == NBCOLL_OK)
            status = nbcoll_agent_close(agent);
        nbcoll_endpoint_close(endpoint);
    }
    return nbcoll_loopback_free(world) == NBCOLL_OK ? status : NBCOLL_ERR_BUSY;
}

int main(void)
{
    nbcoll_topology *topology;
    if (open_agents(nbcoll_loopback_pairs()) != NBCOLL_OK || open_agents(NULL) != NBCOLL_ERR_UNSUPPORTED)
        return 1;
    if (nbcoll_topology_make(NBCOLL_TOPOLOGY_BRUCK, 2, 9, 0, NULL, &topology) != NBCOLL_OK)
        return 1;
    nbcoll_topology_free(topology);
    return 0;
}
