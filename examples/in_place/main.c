/* SPDX-License-Identifier: BSD-3-Clause
 * In place: one buffer instead of two. An allreduce replaces each rank's contribution by the result; in an allgather
 * each rank's contribution already stands where its result belongs. Each rank chooses for itself: here the last one
 * does not. Start it by
 *
 *     nbcoll run -n 4 in_place
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

static nbcoll_status run(nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), is_last = rank == ranks - 1;
    int own[3] = {rank, 1, -rank}, total[3], share[NBCOLL_SHM_RANKS];

    /* How much have all ranks, and how many are they? */
    if (!is_last)
        for (int i = 0; i < 3; i++)
            total[i] = own[i];
    nbcoll_status status = nbcoll_allreduce(is_last ? own : NBCOLL_IN_PLACE, total, 3, NBCOLL_INT, NBCOLL_SUM, comm,
                                            NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return status;

    /* What has each? */
    int mine = 10 * rank + total[1];
    if (!is_last)
        share[rank] = mine;
    status = nbcoll_allgather(is_last ? &mine : NBCOLL_IN_PLACE, share, 1, NBCOLL_INT, comm, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return status;
    printf("rank %d: %d of %d ranks, sum %d; shares", rank, rank + 1, total[1], total[0]);
    for (int r = 0; r < ranks; r++)
        printf(" %d", share[r]);
    putchar('\n');
    return NBCOLL_OK;
}

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "in_place: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
