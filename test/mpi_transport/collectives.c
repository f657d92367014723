/* SPDX-License-Identifier: BSD-3-Clause
 * All seventeen collectives with random arguments over transports/mpi, one after the other and several at once, between
 * the processes of MPI_COMM_WORLD; then rank 1 leaves, and the others are told. */
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <nbcoll/mpi.h>

#include "crew.h"
#include "operation.h"

#define SECOND UINT64_C(1000000000)
enum { ROUNDS = 3, AT_ONCE = 12, VICTIM = 1 };

static int rank, ranks;

static operation next(uint64_t *random, int i, size_t most)
{
    operation o = operation_random(random, ranks, most);
    o.what = (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT);
    o.counts_known = 0;
    return o;
}

static void one_after_the_other(nbcoll_comm *comm, uint64_t *random, size_t most)
{
    for (int i = 0; i < ROUNDS * NBCOLL_OPERATION_COUNT; i++) {
        operation o = next(random, i, most);
        share s = share_make(&o, rank, ranks);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, comm, 60 * SECOND));
        operation_check(&o, &s, rank, ranks);
        share_free(&s);
    }
}

static void at_once(nbcoll_comm *comm, uint64_t *random, size_t most)
{
    nbcoll_request request[AT_ONCE];
    operation o[AT_ONCE];
    share s[AT_ONCE];

    for (int round = 0; round < ROUNDS * NBCOLL_OPERATION_COUNT; round += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            o[i] = next(random, round + i, most);
            s[i] = share_make(&o[i], rank, ranks);
            CHECK_STATUS(NBCOLL_OK, operation_start(&o[i], &s[i], comm, &request[i]));
        }
        for (int i = 0; i < AT_ONCE; i++) {
            CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request[i], 60 * SECOND));
            operation_check(&o[i], &s[i], rank, ranks);
            share_free(&s[i]);
        }
    }
}

static void leave(nbcoll_context *context, nbcoll_comm *comm)
{
    int64_t own = rank, sum;
    nbcoll_failure failure = {0};
    nbcoll_status status;

    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 60 * SECOND));
    if (rank != VICTIM) {
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST,
                     nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 60 * SECOND));
        nbcoll_comm_failure(comm, &failure);
        CHECK(failure.rank == VICTIM);
    }
    while ((status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
    CHECK_STATUS(NBCOLL_OK, status);
}

/* A name: as little as may be. */
int main(int argc, char **argv)
{
    nbcoll_mpi_config config = {.size = sizeof config};
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    MPI_Comm own;
    uint64_t random = 38;

    (void)argv;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    config.comm = &own;
    if (argc > 1) {
        config.credits = 2;
        config.receives = 1;
        config.payload = 256;
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_mpi_open(&config, &endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, endpoint, NULL, &comm, 60 * SECOND));
    one_after_the_other(comm, &random, 200);
    one_after_the_other(comm, &random, 30000);
    at_once(comm, &random, 3000);
    leave(context, comm);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}
