/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads under MPI_THREAD_MULTIPLE: each has a communicator of its own, with which it makes, uses and frees others,
 * while it exchanges messages; and requests that one thread has started end in another. Every value is checked. */
#include "shared.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 3, OPEN = 6, LARGE = 1 << 15 };

static int rank, size, rounds;
static atomic_int failed;
static MPI_Comm comms[THREADS];

static void expect(const char *what, int is, int is_to_be)
{
    if (is != is_to_be && atomic_fetch_add(&failed, 1) < 10)
        printf("rank %d: %s: %d, not %d\n", rank, what, is, is_to_be);
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *big = malloc(2 * LARGE * sizeof(int)), a[OPEN], b[OPEN], sum = size * (size - 1) / 2;
    MPI_Comm comm = comms[me], made;
    MPI_Request requests[OPEN + 2], again;
    int in = 0, out = 0;
    INIT(Allreduce)(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &again);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < LARGE; i++)
            big[i] = rank * 1000 + round;
        MPI_Irecv(big + LARGE, LARGE, MPI_INT, left, me, comm, &requests[OPEN]);
        for (int i = 0; i < OPEN; i++) {
            a[i] = rank + i + me + round;
            MPI_Iallreduce(&a[i], &b[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
        }
        MPI_Isend(big, LARGE, MPI_INT, right, me, comm, &requests[OPEN + 1]);
        in = rank + round;
        MPI_Start(&again);
        int root = round % size, value = rank == root ? round : -1;
        MPI_Bcast(&value, 1, MPI_INT, root, comm);
        expect("bcast", value, round);
        MPI_Waitall(OPEN + 2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < OPEN; i++)
            expect("iallreduce", b[i], sum + size * (i + me + round));
        expect("message", big[2 * LARGE - 1], left * 1000 + round);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
        expect("persistent", out, sum + size * round);
        if (round % 8 == me) {
            MPI_Comm_dup(comm, &made);
            MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, made);
            expect("duplicate", value, sum);
            MPI_Ibcast(big, LARGE, MPI_INT, root, made, &requests[0]);
            MPI_Comm_free(&made);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            expect("ibcast", big[LARGE - 1], root * 1000 + round);
        }
    }
    MPI_Request_free(&again);
    free(big);
    return NULL;
}

static MPI_Request handed[64];

static void *wait_for(void *argument)
{
    int first = (int)(intptr_t)argument * 16;
    MPI_Waitall(16, &handed[first], MPI_STATUSES_IGNORE);
    return NULL;
}

int main(int argc, char *argv[])
{
    pthread_t threads[4];
    int provided, values[64];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect("the level of threads", provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        MPI_Iallreduce(&rank, &values[i], 1, MPI_INT, MPI_MAX, comms[i % THREADS], &handed[i]);
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, wait_for, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        expect("handed over", values[i], size - 1);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return failed != 0;
}
