/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A persistent neighbourhood exchange of elements with gaps, round a ring. In MPI_Start the last rank's MPI_Pack fails.
 * The operation ends on all ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "shared.h"

static int fails, failed_packs;

/* The program's comes before the MPI's. */
int PMPI_Pack(const void *in, int n, MPI_Datatype type, void *out, int size, int *at, MPI_Comm comm)
{
    static int (*call)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    if (!call)
        *(void **)&call = dlsym(RTLD_NEXT, "PMPI_Pack");
    failed_packs += fails;
    return fails ? MPI_ERR_NO_MEM : call(in, n, type, out, size, at, comm);
}

int main(int argc, char *argv[])
{
    static int from[64], to[64];
    int rank, size, periodic = 1, done = 0, wrong;
    MPI_Comm ring;
    MPI_Datatype gaps;
    MPI_Request request;
    alarm(20);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    INIT(Neighbor_alltoall)(from, 10, gaps, to, 10, gaps, ring, MPI_INFO_NULL, &request);
    fails = rank == size - 1;
    MPI_Start(&request);
    fails = 0;
    while (!done) /* unlike MPI_Wait, it calls no error handler */
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    wrong = rank == size - 1 && !failed_packs;
    puts("ended");
    fflush(stdout);
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
