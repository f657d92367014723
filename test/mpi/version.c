/* SPDX-License-Identifier: BSD-3-Clause
 *
 * version TEXT: a sum over all ranks, of an MPI that calls itself so. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char *text;

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, text);
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int main(int argc, char *argv[])
{
    int rank, size, sum = 0;
    text = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
