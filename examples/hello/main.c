/* SPDX-License-Identifier: BSD-3-Clause
 * The smallest program for several processes: each rank says hello when all have come. Start it by
 *
 *     nbcoll run -n 4 hello
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    if (status == NBCOLL_OK)
        status = nbcoll_barrier(comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        printf("hello from rank %d of %d\n", nbcoll_comm_rank(comm), nbcoll_comm_size(comm));
    else
        fprintf(stderr, "hello: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
