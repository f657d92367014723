/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A C++ program that uses nbcoll from outside, inline where it is built so: a persistent sum of one rank, twice.
 */
#include <nbcoll/loopback.h>
#include <nbcoll/nbcoll.h>

int main()
{
    nbcoll_loopback_config config = {};
    nbcoll_loopback *world;
    nbcoll_endpoint *end;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_request request = NBCOLL_REQUEST_NULL;
    int32_t mine = 7, sum = 0;

    config.size = sizeof config;
    config.ranks = 1;
    if (nbcoll_test(&request) || nbcoll_loopback_create(&config, &world) || nbcoll_loopback_open(world, 0, &end) ||
        nbcoll_context_create(NBCOLL_ABI, nullptr, &context) ||
        nbcoll_comm_create(context, end, nullptr, &comm, NBCOLL_FOREVER) ||
        nbcoll_allreduce_init(&mine, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, &request))
        return 1;
    for (; mine < 9; mine++) {
        if (nbcoll_start(&request) || nbcoll_wait(&request, NBCOLL_FOREVER) || nbcoll_test(&request) || sum != mine)
            return 1;
    }
    return nbcoll_request_free(&request) || nbcoll_context_free(context) || nbcoll_loopback_free(world);
}
