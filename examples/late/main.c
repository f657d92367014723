/* SPDX-License-Identifier: BSD-3-Clause
 * Where the time goes when one rank comes late to each sum: all others wait for it. Start it by
 *
 *     nbcoll run -n 4 --timeline trace late 2 5       rank 2 is late by 5 ms each time
 *     nbcoll timeline trace --svg picture.svg
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

enum { SUMS = 3 };

int main(int argc, char *argv[])
{
    nbcoll_context *context;
    nbcoll_comm *comm;
    int late = argc > 1 ? atoi(argv[1]) : 0;
    long ms = argc > 2 ? atol(argv[2]) : 5;
    struct timespec by = {ms / 1000, ms % 1000 * 1000000};
    double mine = 1, sum = 0;

    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    for (int i = 0; i < SUMS && status == NBCOLL_OK; i++) {
        if (nbcoll_comm_rank(comm) == late)
            nanosleep(&by, NULL); /* as if it had more to compute */
        status = nbcoll_allreduce(&mine, &sum, 1, NBCOLL_DOUBLE, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    }
    if (status != NBCOLL_OK)
        fprintf(stderr, "late: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
