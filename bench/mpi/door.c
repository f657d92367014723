/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective of MPI in every form, by its own name and by that of the profiling interface, in turns: where a door
 * (src/mpi) is loaded before the MPI, the first is the door's and the second the MPI's.
 *
 *     LD_PRELOAD=libnbcoll_openmpi.so mpirun -n 2 bench/mpi/door_openmpi [rounds [name or form]]
 *
 * A line for each cell: microseconds of a call (the median of the rounds, of the slowest rank) as the MPI has it and
 * through the door, the median of the rounds' ratios, and its 95 % interval. The lines at the end sum up. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define INIT(x, Name, ...) x##MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(x, Name, ...) x##MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define INIT(x, Name, ...) ((void)0)
#define NO_INIT
#endif

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS, ROUNDS = 201, RANKS = 64, LARGEST = 1 << 20 };
#define BATCH 1000.0 /* us */

static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
static int ranks, rank, n, zero, counts[RANKS], displs[RANKS], bytes[RANKS];
static MPI_Aint places[RANKS];
static MPI_Datatype types[RANKS];
static MPI_Comm ring;
static double *f, *t;

#define D MPI_DOUBLE
#define W MPI_COMM_WORLD
#define CALLS(X)                                                                                                       \
    X(Barrier, barrier, W)                                                                                             \
    X(Bcast, bcast, t, n, D, 0, W)                                                                                     \
    X(Gather, gather, f, n, D, t, n, D, 0, W)                                                                          \
    X(Gatherv, gatherv, f, n, D, t, counts, displs, D, 0, W)                                                           \
    X(Scatter, scatter, f, n, D, t, n, D, 0, W)                                                                        \
    X(Scatterv, scatterv, f, counts, displs, D, t, n, D, 0, W)                                                         \
    X(Allgather, allgather, f, n, D, t, n, D, W)                                                                       \
    X(Allgatherv, allgatherv, f, n, D, t, counts, displs, D, W)                                                        \
    X(Alltoall, alltoall, f, n, D, t, n, D, W)                                                                         \
    X(Alltoallv, alltoallv, f, counts, displs, D, t, counts, displs, D, W)                                             \
    X(Alltoallw, alltoallw, f, counts, bytes, types, t, counts, bytes, types, W)                                       \
    X(Reduce, reduce, f, t, n, D, MPI_SUM, 0, W)                                                                       \
    X(Allreduce, allreduce, f, t, n, D, MPI_SUM, W)                                                                    \
    X(Reduce_scatter, reduce_scatter, f, t, counts, D, MPI_SUM, W)                                                     \
    X(Reduce_scatter_block, reduce_scatter_block, f, t, n, D, MPI_SUM, W)                                              \
    X(Scan, scan, f, t, n, D, MPI_SUM, W)                                                                              \
    X(Exscan, exscan, f, t, n, D, MPI_SUM, W)                                                                          \
    X(Neighbor_allgather, neighbor_allgather, f, n, D, t, n, D, ring)                                                  \
    X(Neighbor_allgatherv, neighbor_allgatherv, f, n, D, t, counts, displs, D, ring)                                   \
    X(Neighbor_alltoall, neighbor_alltoall, f, n, D, t, n, D, ring)                                                    \
    X(Neighbor_alltoallv, neighbor_alltoallv, f, counts, displs, D, t, counts, displs, D, ring)                        \
    X(Neighbor_alltoallw, neighbor_alltoallw, f, counts, places, types, t, counts, places, types, ring)

/* So many calls, through the door or not. */
#define RUN(Name, name, ...)                                                                                           \
    static void run_##Name(int form, int door, long calls)                                                             \
    {                                                                                                                  \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        if (form == BLOCKING) {                                                                                        \
            for (long i = 0; i < calls; i++)                                                                           \
                door ? MPI_##Name(__VA_ARGS__) : PMPI_##Name(__VA_ARGS__);                                             \
        } else if (form == NONBLOCKING) {                                                                              \
            for (long i = 0; i < calls; i++) {                                                                         \
                door ? MPI_I##name(__VA_ARGS__, &request) : PMPI_I##name(__VA_ARGS__, &request);                       \
                MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static MPI_Request init_##Name(int door)                                                                           \
    {                                                                                                                  \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        if (door)                                                                                                      \
            INIT(, Name, __VA_ARGS__);                                                                                 \
        else                                                                                                           \
            INIT(P, Name, __VA_ARGS__);                                                                                \
        return request;                                                                                                \
    }
CALLS(RUN)

static const struct {
    const char *name;
    void (*run)(int form, int door, long calls);
    MPI_Request (*init)(int door);
} table[] = {
#define ROW(Name, name, ...) {#Name, run_##Name, init_##Name},
    CALLS(ROW)};
enum { TABLE = sizeof table / sizeof *table };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(int c, int form, int door, long calls, MPI_Request *request)
{
    double mine, most;
    PMPI_Barrier(W);
    double start = PMPI_Wtime();
    if (form == PERSISTENT)
        for (long i = 0; i < calls; i++) {
            door ? MPI_Start(request) : PMPI_Start(request);
            MPI_Wait(request, MPI_STATUS_IGNORE);
        }
    else
        table[c].run(form, door, calls);
    mine = (PMPI_Wtime() - start) * 1e6;
    PMPI_Allreduce(&mine, &most, 1, D, MPI_MAX, W);
    return most / (double)calls;
}

/* Its ratio; *low: of the interval. */
static double cell(int c, int form, int rounds, double *low)
{
    double us[2][ROUNDS], ratio[ROUNDS];
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int door = 0; door < 2 && form == PERSISTENT; door++)
        request[door] = table[c].init(door);
    for (int door = 0; door < 2; door++)
        measure(c, form, door, 3, &request[door]);
    double trial = measure(c, form, 0, 10, &request[0]);
    long calls = trial < BATCH / 10 ? (long)(BATCH / trial) : 10;
    PMPI_Bcast(&calls, 1, MPI_LONG, 0, W);
    for (int i = 0; i < rounds; i++) {
        for (int turn = 0; turn < 2; turn++)
            us[(turn + i) % 2][i] = measure(c, form, (turn + i) % 2, calls, &request[(turn + i) % 2]);
        ratio[i] = us[1][i] / us[0][i];
    }
    for (int door = 0; door < 2 && form == PERSISTENT; door++)
        MPI_Request_free(&request[door]);
    int off = (int)(0.98 * sqrt(rounds)); /* of the interval's ends from the median, in ranks */
    off = off > rounds / 2 ? rounds / 2 : off;
    for (int door = 0; door < 2; door++)
        qsort(us[door], (size_t)rounds, sizeof us[door][0], ascending);
    qsort(ratio, (size_t)rounds, sizeof ratio[0], ascending);
    *low = ratio[rounds / 2 - off];
    if (rank == 0)
        printf("%-12s%-22s%8zu %10.2f %10.2f  %5.2f  %5.2f to %.2f\n", forms[form], table[c].name,
               strcmp(table[c].name, "Barrier") ? (size_t)n * sizeof(double) : 0, us[0][rounds / 2], us[1][rounds / 2],
               ratio[rounds / 2], *low, ratio[rounds / 2 + off]);
    return ratio[rounds / 2];
}

static void prepare(int count)
{
    n = count;
    for (int i = 0; i < ranks; i++) {
        counts[i] = n;
        displs[i] = i * n;
        bytes[i] = displs[i] * (int)sizeof *f;
        places[i] = bytes[i];
        types[i] = D;
    }
}

int main(int argc, char *argv[])
{
    static const int sizes[] = {1, 64, 4096, LARGEST / sizeof(double)};
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    const char *only = argc > 2 ? argv[2] : NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(W, &ranks);
    MPI_Comm_rank(W, &rank);
    if (rounds < 1 || rounds > ROUNDS || ranks > RANKS)
        MPI_Abort(W, 1);
    MPI_Cart_create(W, 1, &ranks, &zero, 0, &ring);
    f = calloc((size_t)ranks + 2, LARGEST);
    t = calloc((size_t)ranks + 2, LARGEST);
    if (rank == 0)
        printf("%-12s%-22s%8s %10s %10s  %5s  95 %%\n", "form", "call", "bytes", "MPI us", "door us", "ratio");
    for (int form = 0; form < FORMS; form++) {
        double ratios[TABLE * 4];
        int cells = 0, above = 0;
#ifdef NO_INIT
        if (form == PERSISTENT)
            break;
#endif
        for (int c = 0; c < TABLE; c++)
            for (int s = 0; s < (c ? 4 : 1); s++) {
                double low;
                if (only && strcmp(only, table[c].name) != 0 && strcmp(only, forms[form]) != 0)
                    continue;
                prepare(sizes[s]);
                ratios[cells++] = cell(c, form, rounds, &low);
                above += low > 1.1;
            }
        qsort(ratios, (size_t)cells, sizeof *ratios, ascending);
        if (rank == 0 && cells)
            printf("%s: %d cells, median %.2f, most %.2f, reliably above 1.1: %d\n", forms[form], cells,
                   ratios[cells / 2], ratios[cells - 1], above);
    }
    MPI_Comm_free(&ring);
    free(f);
    free(t);
    MPI_Finalize();
    return 0;
}
