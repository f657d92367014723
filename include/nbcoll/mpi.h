/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mpi: the transport between the ranks of a communicator of an MPI, by its nonblocking sends and receives. Any MPI-3
 * will do. A program that has MPI opens nbcoll over it:
 *
 *     MPI_Comm_dup(MPI_COMM_WORLD, &own);
 *     nbcoll_mpi_config config = {.size = sizeof config, .comm = &own};
 *     nbcoll_mpi_open(&config, &endpoint);
 *     nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
 *     ... collectives ...
 *     nbcoll_context_free(context);
 *     MPI_Comm_free(&own);
 *
 * A runtime that has a communicator of its own, whose messages have tags below 100, gives .first_tag = 100. One whose
 * MPI processes hold several ranks each, as the conformance test does with all in one, gives them as a list:
 *
 *     static const int process[] = {0, 0, 1, 1};       ranks 0 and 1 lie in process 0
 *     nbcoll_mpi_config config = {.size = sizeof config, .comm = &own, .process = process, .rank = rank, .ranks = 4};
 *
 * Messages are copied at both ends: a post is done at once. The transport keeps `receives` receives posted for all
 * ranks together. A rank has at most `credits` messages under way to another one; what finds no receive waits in the
 * MPI. Nothing blocks, and nobody sleeps: MPI has no descriptor, so a waiting core looks again and again, and yields.
 *
 * What MPI cannot say. Nobody hears of a process that has died: most MPIs end the whole job then, and by its default
 * MPI_ERRORS_ARE_FATAL so does each error of the communicator. In another MPI an operation with a dead rank waits until
 * its deadline. A rank that closes its endpoint says so to all others. What is sent to it afterwards, or has not
 * arrived there, stays in the MPI until the communicator is freed. Its sender's memory for it is lost if the MPI sends
 * messages of config.payload only when they are received (its eager limit is below it).
 *
 * Threads. Where the MPI's level is MPI_THREAD_MULTIPLE, the endpoint may be used by one thread at a time. Below, only
 * the thread that has opened it reaches the MPI: with MPI_THREAD_FUNNELED that must be the main thread. Calls of
 * another thread, such as a driver, find nothing (a post: NOT_NOW), and where another one closes the endpoint, its
 * receives stay posted and its memory is lost. A child of fork must not use it.
 *
 * This part of nbcoll is optional, and the core knows nothing of it. It is compiled for one MPI, which it calls by its
 * PMPI names: the libraries nbcoll_mpi_openmpi and nbcoll_mpi_mpich (pkg-config: the same names; CMake:
 * nbcoll::mpi_openmpi, nbcoll::mpi_mpich). A program is linked with one of them. For another MPI its mpicc compiles
 * transports/mpi/mpi.c.
 */
#include "transport.h"

#ifndef NBCOLL_MPI_H
#define NBCOLL_MPI_H

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_mpi_open NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_mpi_open)
#endif

NBCOLLI_BEGIN

/* What 0 or null means stands in brackets. All but rank and host must be the same on all ranks. */
typedef struct nbcoll_mpi_config {
    size_t size;
    const void *comm; /* points to an MPI_Comm between processes of one group. It is read by the call; the communicator
                         must last until the endpoint is closed. Nobody else uses the tags from first_tag on */
    const int *process; /* of each rank the process in comm; read by the call [rank and ranks are those of comm] */
    int rank, ranks;    /* only with process */
    int first_tag;      /* as many tags from here on as a process has ranks at most [0] */
    uint32_t credits;   /* messages under way from one rank to another, 2 to 1024 [64] */
    uint32_t receives;  /* posted at a time, for messages of all ranks, 1 to 1024 [64] */
    uint32_t payload;   /* of a message, a multiple of 8 from 256 to 65536 [3840: with the headers it is below the eager
                           limit of both MPIs]: limits.payload */
    nbcoll_level price; /* of messages; beta_ps 0: [2 us, 300 ns of processor time, 0.2 ns a byte] */
    nbcoll_host host;   /* its alloc and free */
} nbcoll_mpi_config;

/* Opens the endpoint of a rank. Waits for nobody: what is sent before the receiver has opened its endpoint waits in the
 * MPI, so the communicator must be fresh, or the tags never used before. MPI is initialised, and the calling thread may
 * call it. Errors, with nothing left: NULL; CONFIG (size, or a value out of its range, or the tags exceed MPI_TAG_UB);
 * RANK (rank or a process is none); MEMORY; TRANSPORT: the MPI refused a call. */
NBCOLL_API nbcoll_status nbcoll_mpi_open(const nbcoll_mpi_config *config, nbcoll_endpoint **out);

NBCOLLI_END
#endif
