/* SPDX-License-Identifier: BSD-3-Clause
 * A host of the component elements: one rank averages, and sums so that the bits are the same, a column of a matrix. */
#include <nbcoll/loopback.h>
#include <nbcoll/strided.h>
#include <nbcoll/sums.h>

int main(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_strided column;
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}}, second[2] = {2, 5}, mean[2] = {0};

    if (nbcoll_loopback_create(&config, &world) != NBCOLL_OK ||
        nbcoll_loopback_open(world, 0, &endpoint) != NBCOLL_OK ||
        nbcoll_context_create(NBCOLL_ABI, NULL, &context) != NBCOLL_OK ||
        nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){2, 3}, NBCOLL_ONCE, 1) != NBCOLL_OK ||
        nbcoll_allreduce(&matrix[0][1], &matrix[0][2], 1, nbcoll_type_of(&column.type), NBCOLL_SUM, comm,
                         NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_allreduce(second, mean, 2, NBCOLL_DOUBLE, nbcoll_average(), comm, NBCOLL_FOREVER) != NBCOLL_OK ||
        nbcoll_allreduce(NBCOLL_IN_PLACE, second, 2, NBCOLL_DOUBLE, nbcoll_sum_reproducible(), comm, NBCOLL_FOREVER) !=
            NBCOLL_OK ||
        nbcoll_context_free(context) != NBCOLL_OK || nbcoll_loopback_free(world) != NBCOLL_OK)
        return 1;
    return !(matrix[0][2] == 2 && matrix[1][2] == 5 && second[0] == 2 && mean[0] == 2);
}
