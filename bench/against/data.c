/* SPDX-License-Identifier: BSD-3-Clause
 * What the buffers hold before an operation, and must hold after it. All numbers are whole and small: sums are exact.
 */
#include "against.h"

int has_blocks(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_SCATTER || operation == NBCOLL_OPERATION_GATHER ||
           operation == NBCOLL_OPERATION_ALLGATHER || operation == NBCOLL_OPERATION_ALLTOALL;
}

size_t buffer_floats(const cell *c, int ranks)
{
    return c->count * (has_blocks(c->operation) ? (size_t)ranks : 1);
}

/* Element i of what a rank sends. */
static float sent(int rank, size_t i, int salt)
{
    return (float)((size_t)(rank + 1) * 31 + i * 7 % 1009 + (size_t)salt * 5);
}

void data_fill(const cell *c, int rank, int ranks, int salt, float *send, float *recv)
{
    size_t n = buffer_floats(c, ranks);
    for (size_t i = 0; i < n; i++) {
        send[i] = sent(rank, i, salt);
        recv[i] = -1;
    }
    if (c->operation == NBCOLL_OPERATION_BCAST && rank == 0) /* which has one buffer */
        for (size_t i = 0; i < n; i++)
            recv[i] = send[i];
}

static float summed(int ranks, size_t i, int salt)
{
    float sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += sent(r, i, salt);
    return sum;
}

/* Element i of what a rank receives. */
static float received(const cell *c, int rank, int ranks, size_t i, int salt)
{
    size_t block = c->count ? i / c->count : 0, rest = c->count ? i % c->count : 0;
    switch (c->operation) {
    case NBCOLL_OPERATION_BCAST:
        return sent(0, i, salt);
    case NBCOLL_OPERATION_SCATTER:
        return sent(0, (size_t)rank * c->count + i, salt);
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER:
        return sent((int)block, rest, salt);
    case NBCOLL_OPERATION_ALLTOALL:
        return sent((int)block, (size_t)rank * c->count + rest, salt);
    default:
        return summed(ranks, i, salt);
    }
}

long data_wrong(const cell *c, int rank, int ranks, int salt, const float *recv)
{
    int is_rooted = c->operation == NBCOLL_OPERATION_GATHER || c->operation == NBCOLL_OPERATION_REDUCE;
    size_t n = c->operation == NBCOLL_OPERATION_SCATTER ? c->count : buffer_floats(c, ranks);
    if (c->operation == NBCOLL_OPERATION_BARRIER || (is_rooted && rank != 0))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (recv[i] != received(c, rank, ranks, i, salt))
            return (long)i;
    return -1;
}
