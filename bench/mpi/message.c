/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of nbcoll beside those of an MPI, in one process, by turns: half a round trip, and the time of a message
 * with 64 in flight; blocking, nonblocking and persistent. Two ranks, which the MPI's launcher binds to a core each:
 *
 *     mpirun -n 2 --bind-to core message_openmpi [rounds]
 *
 * A line for each size and form: microseconds of either, medians over the rounds, and the median of their ratios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>
#include <nbcoll/message.h>
#include <nbcoll/shm.h>

enum { WINDOW = 64, MOST = 1 << 20, ROUNDS_MOST = 1001, TAG = 3 };

static int rank;
static nbcoll_messages *m;
static unsigned char *out, *in;

static void must(int is_well, const char *what)
{
    if (!is_well) {
        fprintf(stderr, "rank %d: %s failed\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

#define OURS(call) must((call) == NBCOLL_OK, #call)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- what is measured: so many iterations with messages of so many bytes ------------------------------------- */

typedef void measure(size_t bytes, int iterations);

static void our_blocking(size_t bytes, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        if (rank == 0)
            OURS(nbcoll_send(out, bytes, NBCOLL_BYTE, 1, TAG, m, NBCOLL_FOREVER));
        OURS(nbcoll_recv(in, bytes, NBCOLL_BYTE, !rank, TAG, m, NULL, NBCOLL_FOREVER));
        if (rank == 1)
            OURS(nbcoll_send(out, bytes, NBCOLL_BYTE, 0, TAG, m, NBCOLL_FOREVER));
    }
}

static void their_blocking(size_t bytes, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        if (rank == 0)
            MPI_Send(out, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, (int)bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

/* The receive is posted before the send. */
static void our_nonblocking(size_t bytes, int iterations)
{
    nbcoll_request q[2];
    for (int i = 0; i < iterations; i++) {
        OURS(nbcoll_irecv(in, bytes, NBCOLL_BYTE, !rank, TAG, m, NULL, &q[0]));
        if (rank == 1)
            OURS(nbcoll_wait(&q[0], NBCOLL_FOREVER));
        OURS(nbcoll_isend(out, bytes, NBCOLL_BYTE, !rank, TAG, m, &q[1]));
        OURS(nbcoll_wait(&q[1], NBCOLL_FOREVER));
        if (rank == 0)
            OURS(nbcoll_wait(&q[0], NBCOLL_FOREVER));
    }
}

static void their_nonblocking(size_t bytes, int iterations)
{
    MPI_Request q[2];
    for (int i = 0; i < iterations; i++) {
        MPI_Irecv(in, (int)bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &q[0]);
        if (rank == 1)
            MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        MPI_Isend(out, (int)bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &q[1]);
        MPI_Wait(&q[1], MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    }
}

static void our_persistent(size_t bytes, int iterations)
{
    nbcoll_request q[2];
    OURS(nbcoll_recv_init(in, bytes, NBCOLL_BYTE, !rank, TAG, m, NULL, &q[0]));
    OURS(nbcoll_send_init(out, bytes, NBCOLL_BYTE, !rank, TAG, m, &q[1]));
    for (int i = 0; i < iterations; i++) {
        OURS(nbcoll_start(&q[0]));
        if (rank == 1)
            OURS(nbcoll_wait(&q[0], NBCOLL_FOREVER));
        OURS(nbcoll_start(&q[1]));
        OURS(nbcoll_wait(&q[1], NBCOLL_FOREVER));
        if (rank == 0)
            OURS(nbcoll_wait(&q[0], NBCOLL_FOREVER));
    }
    OURS(nbcoll_request_free(&q[0]));
    OURS(nbcoll_request_free(&q[1]));
}

static void their_persistent(size_t bytes, int iterations)
{
    MPI_Request q[2];
    MPI_Recv_init(in, (int)bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &q[0]);
    MPI_Send_init(out, (int)bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &q[1]);
    for (int i = 0; i < iterations; i++) {
        MPI_Start(&q[0]);
        if (rank == 1)
            MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        MPI_Start(&q[1]);
        MPI_Wait(&q[1], MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

/* A window of messages one way, then an answer. */
static void our_window(size_t bytes, int iterations)
{
    nbcoll_request q[WINDOW];
    for (int i = 0; i < iterations; i++) {
        for (int k = 0; k < WINDOW; k++)
            if (rank == 0)
                OURS(nbcoll_isend(out, bytes, NBCOLL_BYTE, 1, TAG, m, &q[k]));
            else
                OURS(nbcoll_irecv(in, bytes, NBCOLL_BYTE, 0, TAG, m, NULL, &q[k]));
        OURS(nbcoll_wait_all(WINDOW, q, NULL, NBCOLL_FOREVER));
        if (rank == 0)
            OURS(nbcoll_recv(in, 4, NBCOLL_BYTE, 1, TAG, m, NULL, NBCOLL_FOREVER));
        else
            OURS(nbcoll_send(out, 4, NBCOLL_BYTE, 0, TAG, m, NBCOLL_FOREVER));
    }
}

static void their_window(size_t bytes, int iterations)
{
    MPI_Request q[WINDOW];
    MPI_Status ended[WINDOW];
    for (int i = 0; i < iterations; i++) {
        for (int k = 0; k < WINDOW; k++)
            if (rank == 0)
                MPI_Isend(out, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &q[k]);
            else
                MPI_Irecv(in, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &q[k]);
        MPI_Waitall(WINDOW, q, ended);
        if (rank == 0)
            MPI_Recv(in, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(out, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

static double batch(measure *what, size_t bytes, int iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    what(bytes, iterations / 10 + 1);
    double begin = now();
    what(bytes, iterations);
    return (now() - begin) / iterations;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int n)
{
    qsort(of, (size_t)n, sizeof *of, by_size);
    return of[n / 2];
}

static void compare(const char *name, measure *ours, measure *theirs, size_t bytes, int per, int rounds)
{
    static double us[ROUNDS_MOST], them[ROUNDS_MOST], ratio[ROUNDS_MOST];
    int iterations = bytes >= 100000 ? 40 : bytes >= 10000 ? 400 : per > 2 ? 400 : 4000;

    for (int i = 0; i < rounds; i++) {
        us[i] = batch(ours, bytes, iterations) / per;
        them[i] = batch(theirs, bytes, iterations) / per;
        ratio[i] = us[i] / them[i];
    }
    if (rank == 0)
        printf("%-12s %8zu %10.3f %10.3f %8.2f\n", name, bytes, median(us, rounds), median(them, rounds),
               median(ratio, rounds));
}

static void open_ours(nbcoll_context **context)
{
    nbcoll_shm_config config = {.size = sizeof config, .ranks = 2, .rank = rank};
    nbcoll_endpoint *endpoint;
    nbcoll_comm *comm;

    if (rank == 0)
        OURS(nbcoll_shm_id_make(&config.id));
    MPI_Bcast(&config.id, sizeof config.id, MPI_BYTE, 0, MPI_COMM_WORLD);
    OURS(nbcoll_shm_open(&config, &endpoint));
    OURS(nbcoll_context_create(NBCOLL_ABI, NULL, context));
    OURS(nbcoll_comm_create(*context, endpoint, NULL, &comm, NBCOLL_FOREVER));
    OURS(nbcoll_messages_open(comm, NULL, &m, NBCOLL_FOREVER));
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1024, 16384, 1 << 20};
    nbcoll_context *context;
    int rounds = argc > 1 ? atoi(argv[1]) : 21, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(ranks == 2 && rounds > 0 && rounds < ROUNDS_MOST, "starting with two ranks");
    open_ours(&context);
    out = aligned_alloc(4096, MOST);
    in = aligned_alloc(4096, MOST);
    memset(out, 1, MOST);
    memset(in, 2, MOST);
    if (rank == 0)
        printf("%-12s %8s %10s %10s %8s\n", "", "bytes", "nbcoll us", "MPI us", "ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        compare("blocking", our_blocking, their_blocking, sizes[i], 2, rounds);
        compare("nonblocking", our_nonblocking, their_nonblocking, sizes[i], 2, rounds);
        compare("persistent", our_persistent, their_persistent, sizes[i], 2, rounds);
        if (sizes[i] <= 16384)
            compare("64 in flight", our_window, their_window, sizes[i], WINDOW, rounds);
    }
    OURS(nbcoll_messages_close(m));
    MPI_Barrier(MPI_COMM_WORLD);
    OURS(nbcoll_context_free(context));
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
