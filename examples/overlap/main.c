/* SPDX-License-Identifier: BSD-3-Clause
 * Overlap: a sum over all ranks is started, travels while the rank computes, and is waited for when it is needed. The
 * computation looks in now and then (nbcoll_test), so that the library can go on. Start it by
 *
 *     nbcoll run -n 4 overlap
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

enum { NUMBERS = 100000, PIECES = 50 };

static double mine[NUMBERS], sum[NUMBERS];

/* One piece of work that has nothing to do with the sum: terms of a series for pi. */
static double compute(int piece)
{
    double part = 0;
    for (int i = piece * 100000; i < (piece + 1) * 100000; i++)
        part += (i % 2 ? -4.0 : 4.0) / (2.0 * i + 1);
    return part;
}

static nbcoll_status run(nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), right = 0;
    nbcoll_request request;
    double pi = 0;

    for (int i = 0; i < NUMBERS; i++)
        mine[i] = rank + i;
    nbcoll_status status = nbcoll_iallreduce(mine, sum, NUMBERS, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &request);
    if (status != NBCOLL_OK)
        return status;
    for (int piece = 0; piece < PIECES; piece++) { /* until the end, sum may not be read, nor either be written */
        pi += compute(piece);
        status = nbcoll_test(&request); /* OK, too, when the request has ended before */
        if (status != NBCOLL_OK && status != NBCOLL_PENDING)
            return status;
    }
    status = nbcoll_wait(&request, NBCOLL_FOREVER);
    for (int i = 0; i < NUMBERS; i++)
        right += sum[i] == (double)ranks * i + ranks * (ranks - 1) / 2;
    if (status == NBCOLL_OK)
        printf("rank %d: pi is about %.5f; meanwhile %d of %d sums over %d ranks have become right\n", rank, pi, right,
               NUMBERS, ranks);
    return status;
}

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "overlap: %s\n", nbcoll_status_text(status));
    nbcoll_context_free(context);
    return status != NBCOLL_OK;
}
