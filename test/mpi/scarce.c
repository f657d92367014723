/* SPDX-License-Identifier: BSD-3-Clause
 *
 * scarce K CALL: in one collective call, and the wait for it, the last rank's door, with the library in it, has memory
 * K times, and then none. All ranks come back from it, and from another one. An error has the class MPI_ERR_NO_MEM on
 * that rank. Prints how often memory was asked for, and whether there was an error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000, ROOM = 1 << 16 };

static int asked, granted, armed;

/* Whether memory for what has called from there is refused. */
static int refuses(const void *caller)
{
    Dl_info of;
    if (!armed || !dladdr(caller, &of) || !of.dli_fname || !strstr(of.dli_fname, "libnbcoll_"))
        return 0;
    return asked++ >= granted;
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* The program's come before those of all libraries. */
void *malloc(size_t bytes)
{
    static void *(*call)(size_t);
    if (!call)
        *(void **)&call = next("malloc");
    return refuses(__builtin_return_address(0)) ? NULL : call(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    static void *(*call)(size_t, size_t);
    if (!call)
        *(void **)&call = next("calloc");
    return refuses(__builtin_return_address(0)) ? NULL : call(n, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    static void *(*call)(size_t, size_t);
    if (!call)
        *(void **)&call = next("aligned_alloc");
    return refuses(__builtin_return_address(0)) ? NULL : call(align, bytes);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

static int from[ROOM], to[ROOM];
static MPI_Datatype gaps;

static int collective(const char *call, int root, int size, MPI_Comm comm, MPI_Op op, MPI_Request *request)
{
    MPI_Comm made;
    int counts[64], displs[64];
    MPI_Datatype types[64];
    for (int i = 0; i < size; i++) {
        counts[i] = N;
        displs[i] = 8 * N * i;
        types[i] = gaps;
    }
    if (strcmp(call, "bcast") == 0)
        return MPI_Bcast(from, N, gaps, root, comm);
    if (strcmp(call, "allreduce") == 0)
        return MPI_Allreduce(from, to, N, gaps, op, comm);
    if (strcmp(call, "alltoallw") == 0)
        return MPI_Alltoallw(from, counts, displs, types, to, counts, displs, types, comm);
    if (strcmp(call, "ibcast") == 0)
        return MPI_Ibcast(from, N, gaps, root, comm, request);
    if (strcmp(call, "iallreduce") == 0)
        return MPI_Iallreduce(from, to, N, gaps, op, comm, request);
    if (strcmp(call, "dup") == 0)
        return MPI_Comm_dup(MPI_COMM_WORLD, &made);
    exit(2);
}

int main(int argc, char *argv[])
{
    MPI_Op op;
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    int rank, size, error, class, failed = 0;
    if (argc < 3)
        return 2;
    alarm(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    MPI_Op_create(add, 1, &op);
    granted = atoi(argv[1]);
    armed = rank == size - 1;
    error = collective(argv[2], size - 1, size, comm, op, &request);
    if (error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    armed = 0;
    MPI_Error_class(error, &class);
    if (rank == size - 1) {
        failed = error != MPI_SUCCESS && (asked <= granted || class != MPI_ERR_NO_MEM);
        printf("asked %d: %s, class %d\n", asked, error == MPI_SUCCESS ? "well" : "an error", class);
    }
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, comm);
    MPI_Finalize();
    return failed;
}
