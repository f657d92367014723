/* SPDX-License-Identifier: BSD-3-Clause
 * The measurement of uKACC (Nomura et al., section V) over an MPI: a broadcast that rank 0 starts 5 ms after the
 * others, which multiply matrices meanwhile and test after each product. What starts it:
 *
 *     chain      examples/chain, 16 pieces as a graph, of nbcoll over transports/mpi
 *     nbcoll     nbcoll_ibcast, over the same
 *     MPI        MPI_Ibcast
 *
 *     alone      us from the first start to the end on the last rank, nobody computes: the least of all rounds
 *     lost       1 - t(the same products alone) / t(these products) on the last rank, in processor time: the median
 *     ended      us from rank 0's start to the last rank's end: the least
 *
 * All take turns. mpirun -n 2 chain_openmpi [credits and receives [payload]], one rank a core. */
#include <mpi.h>

#include "../../examples/chain/chain.h"
#include "../timing.h"
#include "nbcoll/mpi.h"

enum { ROUNDS = 31, PIECES = 16, SIZES = 3, MATRIX = 48, WAIT_US = 5000 };
static const size_t sizes[SIZES] = {12500, 125000, 1250000}; /* bytes; the paper's */
typedef enum way { CHAIN, NBCOLL, THE_MPI, WAYS } way;
static const char *const ways[WAYS] = {"chain", "nbcoll", "MPI"};

typedef union started {
    nbcoll_request nbcoll;
    MPI_Request mpi;
} started;

static double a[MATRIX][MATRIX], b[MATRIX][MATRIX], c[MATRIX][MATRIX];
static int rank, ranks;
static nbcoll_comm *comm;

static void multiply(void)
{
    for (int i = 0; i < MATRIX; i++)
        for (int k = 0; k < MATRIX; k++)
            for (int j = 0; j < MATRIX; j++)
                c[i][j] += a[i][k] * b[k][j];
}

static void start(way how, nbcoll_schedule *s, void *data, size_t bytes, started *q)
{
    if (how == CHAIN)
        must(nbcoll_schedule_start(s, NULL, data, comm, &q->nbcoll));
    else if (how == NBCOLL)
        must(nbcoll_ibcast(data, bytes, NBCOLL_BYTE, 0, comm, &q->nbcoll));
    else
        MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &q->mpi);
}

/* Nanoseconds of this thread: what other programs take does not count. */
static double own_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int is_over(way how, started *q)
{
    int flag;
    if (how != THE_MPI)
        return nbcoll_test(&q->nbcoll) != NBCOLL_PENDING;
    MPI_Test(&q->mpi, &flag, MPI_STATUS_IGNORE);
    return flag;
}

/* us from the first's beginning (or the barrier) to the last's end: the clocks are one. */
static double alone(way how, nbcoll_schedule *s, void *data, size_t bytes)
{
    started q;
    double from, to, span[2];

    MPI_Barrier(MPI_COMM_WORLD);
    from = now();
    start(how, s, data, bytes, &q);
    while (!is_over(how, &q))
        ;
    to = now();
    MPI_Allreduce((double[]){-from, to}, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (span[0] + span[1]) / 1e3;
}

static void beside(way how, nbcoll_schedule *s, void *data, size_t bytes, double *lost, double *took)
{
    started q;
    int products = 0;
    double own[2] = {0, 0}, span[2];

    MPI_Barrier(MPI_COMM_WORLD);
    double from = now();
    if (rank == 0)
        for (double until = from + WAIT_US * 1e3; now() < until;)
            ;
    double begun = own_time();
    own[0] = rank == 0 ? -now() : -1e300;
    start(how, s, data, bytes, &q);
    while (!is_over(how, &q))
        if (rank > 0) {
            multiply();
            products++;
        }
    double to = own_time();
    own[1] = now();
    for (int i = 0; i < products; i++)
        multiply();
    double bare = own_time() - to;
    MPI_Allreduce(own, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *lost = 1 - bare / (to - begun);
    *took = (span[0] + span[1]) / 1e3;
}

static double least(double *sample)
{
    median(sample, ROUNDS); /* sorts */
    return sample[0];
}

static void measure(size_t bytes)
{
    static double pure[WAYS][ROUNDS], lost[WAYS][ROUNDS], took[WAYS][ROUNDS];
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_BCAST,
                        .count = bytes,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM},
                        .segment = bytes / PIECES};
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_schedule *s;
    void *data = calloc(1, bytes);

    must(nbcoll_build_schedule(&chain_algorithms[0], &args, &config, &s));
    for (int i = -3; i < ROUNDS; i++)
        for (int how = 0; how < WAYS; how++) {
            int at = i < 0 ? 0 : i;
            pure[how][at] = alone((way)how, s, data, bytes);
            beside((way)how, s, data, bytes, &lost[how][at], &took[how][at]);
        }
    must(nbcoll_schedule_free(s));
    free(data);
    for (int how = 0; how < WAYS && rank == ranks - 1; how++)
        printf("%8zu  %-8s %9.1f %7.1f%% %9.1f\n", bytes, ways[how], least(pure[how]), 100 * median(lost[how], ROUNDS),
               least(took[how]));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    nbcoll_mpi_config config = {.size = sizeof config};
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    MPI_Comm own;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    config.comm = &own;
    config.credits = config.receives = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    config.payload = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    must(nbcoll_mpi_open(&config, &endpoint));
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    must(nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER));
    if (rank == ranks - 1)
        printf("%8s  %-8s %9s %8s %9s\n", "bytes", "way", "alone, us", "lost", "ended, us");
    for (int i = 0; i < SIZES; i++)
        measure(sizes[i]);
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}
