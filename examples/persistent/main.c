/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent requests: an operation that is needed many times is described once and started many times, on the same
 * buffers. Here the two ends of a rod are held at different temperatures; each rank has a piece of it, and in each
 * round the ranks exchange the ends of their pieces and how much has changed, until nothing changes any more. Start it
 * by
 *
 *     nbcoll run -n 4 persistent
 *
 * or without `nbcoll run`, as one rank.
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

enum { CELLS = 8, RANKS_MOST = NBCOLL_SHM_RANKS };

static double cell[CELLS + 2]; /* with the neighbours' ends around it */
static double ends[2], all_ends[RANKS_MOST][2], change, most;

/* One round between two exchanges. */
static void smooth(int rank, int ranks)
{
    double before = cell[0] = rank > 0 ? all_ends[rank - 1][1] : 100;

    cell[CELLS + 1] = rank + 1 < ranks ? all_ends[rank + 1][0] : 0;
    change = 0;
    for (int i = 1; i <= CELLS; i++) {
        double now = (before + cell[i + 1]) / 2, by = now > cell[i] ? now - cell[i] : cell[i] - now;
        before = cell[i];
        cell[i] = now;
        change = by > change ? by : change;
    }
}

static nbcoll_status run(nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), rounds = 0;
    nbcoll_request request[2] = {NBCOLL_REQUEST_NULL, NBCOLL_REQUEST_NULL};
    nbcoll_status status = nbcoll_allgather_init(ends, all_ends, 2, NBCOLL_DOUBLE, comm, &request[0]);

    if (status == NBCOLL_OK)
        status = nbcoll_allreduce_init(&change, &most, 1, NBCOLL_DOUBLE, NBCOLL_MAX, comm, &request[1]);
    for (change = most = 1; status == NBCOLL_OK && most > 1e-9; rounds++) {
        ends[0] = cell[1];
        ends[1] = cell[CELLS];
        for (int i = 0; i < 2 && status == NBCOLL_OK; i++)
            status = nbcoll_start(&request[i]);
        if (status == NBCOLL_OK)
            status = nbcoll_wait_all(2, request, NULL, NBCOLL_FOREVER);
        smooth(rank, ranks);
    }
    if (status == NBCOLL_OK && rank == 0)
        printf("in balance after %d rounds: the first cell has %.3f degrees\n", rounds, cell[1]);
    for (int i = 0; i < 2; i++)
        nbcoll_request_free(&request[i]);
    return status;
}

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join_or_alone(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "persistent: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
