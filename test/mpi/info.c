/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators that one rank switches off by the info key `nbcoll`: one at its making, its duplicates, and one later,
 * while an operation is under way. Values are right, and another communicator is served. Each has calls of its own, by
 * which the report tells them apart. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failed;

static void expect(const char *what, int is, int wanted)
{
    if (is != wanted) {
        printf("%s is %d, not %d\n", what, is, wanted);
        failed = 1;
    }
}

int main(int argc, char *argv[])
{
    MPI_Info info;
    MPI_Comm off, copy, twin, later, on;
    MPI_Request request = MPI_REQUEST_NULL;
    int rank, size, n, sum = 0, one = 1, all[64], back[64];
    int nonblocking = argc > 1 && strcmp(argv[1], "nonblocking") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_create(&info);
    MPI_Info_set(info, "nbcoll", rank == 1 ? "off" : "on");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &off);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, off);
    expect("the sum", sum, size);
    MPI_Comm_dup(off, &copy);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, copy);
    expect("the last block", all[size - 1], size - 1);

    MPI_Comm_idup(off, &twin, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoall(all, 1, MPI_INT, back, 1, MPI_INT, twin);
    expect("what rank 0 sent", back[0], rank);

    MPI_Comm_dup(MPI_COMM_WORLD, &later);
    n = rank;
    MPI_Bcast(&n, 1, MPI_INT, 0, later);
    expect("the first broadcast", n, 0);
    sum = 0;
    if (nonblocking && rank > 0)
        MPI_Ireduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, later, &request);
    else if (nonblocking)
        MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, later, &request);
    MPI_Comm_set_info(later, info);
    n = rank;
    MPI_Scatter(all, 1, MPI_INT, rank ? &n : MPI_IN_PLACE, 1, MPI_INT, 0, later);
    expect("the block", n, rank);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("what was under way", sum, nonblocking && rank == 0 ? size : 0);

    MPI_Info_set(info, "nbcoll", "on");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &on);
    MPI_Barrier(on);
    MPI_Comm_free(&off);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&later);
    MPI_Comm_free(&on);
    MPI_Info_free(&info);
    MPI_Finalize();
    return failed;
}
