/* SPDX-License-Identifier: BSD-3-Clause
 * The MPI's entries, and gloo's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "against.h"

/* Open MPI 4 has persistent collectives under a prefix of its own. */
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name) MPIX_##name##_init
#define HAVE_PERSISTENT 1
#elif MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#define HAVE_PERSISTENT 1
#else
#define HAVE_PERSISTENT 0
#endif

typedef struct call {
    MPI_Request request[TURNS];
} call;

void theirs_init(int *argc, char ***argv, int *rank, int *ranks, char name[256])
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    MPI_Get_library_version(version, &length);
#ifdef OPEN_MPI
    snprintf(name, 256, "Open MPI %d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined MPICH_VERSION
    snprintf(name, 256, "MPICH %s", MPICH_VERSION);
#else
    snprintf(name, 256, "%.*s", (int)strcspn(version, ",\n\""), version);
#endif
}

void theirs_share(void *bytes, int n)
{
    MPI_Bcast(bytes, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

nbcoll_status theirs_exchange(void *user, const void *mine, void *all, size_t bytes)
{
    (void)user;
    int status = MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    return status == MPI_SUCCESS ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

int theirs_yield(void)
{
#ifdef OPEN_MPI
    const char *yields = getenv("OMPI_MCA_mpi_yield_when_idle");
    return yields && yields[0] == '1';
#else
    return 0;
#endif
}

void theirs_finish(void)
{
    MPI_Finalize();
}

/* X(OPERATION, Name, name, arguments up to the communicator) */
#define COUNT (int)c->count
#define VECTOR COUNT, MPI_FLOAT
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, Barrier, barrier, MPI_COMM_WORLD)                                                                       \
    X(BCAST, Bcast, bcast, recv, VECTOR, 0, MPI_COMM_WORLD)                                                            \
    X(SCATTER, Scatter, scatter, send, VECTOR, recv, VECTOR, 0, MPI_COMM_WORLD)                                        \
    X(GATHER, Gather, gather, send, VECTOR, recv, VECTOR, 0, MPI_COMM_WORLD)                                           \
    X(ALLGATHER, Allgather, allgather, send, VECTOR, recv, VECTOR, MPI_COMM_WORLD)                                     \
    X(REDUCE, Reduce, reduce, send, recv, VECTOR, MPI_SUM, 0, MPI_COMM_WORLD)                                          \
    X(ALLREDUCE, Allreduce, allreduce, send, recv, VECTOR, MPI_SUM, MPI_COMM_WORLD)                                    \
    X(ALLTOALL, Alltoall, alltoall, send, VECTOR, recv, VECTOR, MPI_COMM_WORLD)

#define BLOCK_CASE(OPERATION, Name, name, ...)                                                                         \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return MPI_##Name(__VA_ARGS__);
#define START_CASE(OPERATION, Name, name, ...)                                                                         \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return MPI_I##name(__VA_ARGS__, request);

static int call_blocking(entry *e, int turn)
{
    const cell *c = e->cell;
    float *send = e->buffers->send[turn], *recv = e->buffers->recv[turn];
    switch (c->operation) {
        CALL_LIST(BLOCK_CASE)
    default:
        return MPI_ERR_OTHER;
    }
}

static int start(const cell *c, float *send, float *recv, MPI_Request *request)
{
    switch (c->operation) {
        CALL_LIST(START_CASE)
    default:
        return MPI_ERR_OTHER;
    }
}

static int call_nonblocking(entry *e, int turn)
{
    MPI_Request request;
    int status = start(e->cell, e->buffers->send[turn], e->buffers->recv[turn], &request);
    return status == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : status;
}

static int call_persistent(entry *e, int turn)
{
    call *k = e->user;
    int status = MPI_Start(&k->request[turn]);
    return status == MPI_SUCCESS ? MPI_Wait(&k->request[turn], MPI_STATUS_IGNORE) : status;
}

#if HAVE_PERSISTENT
#define INIT_CASE(OPERATION, Name, name, ...)                                                                          \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, request);

static int init(const cell *c, float *send, float *recv, MPI_Request *request)
{
    switch (c->operation) {
        CALL_LIST(INIT_CASE)
    default:
        return MPI_ERR_OTHER;
    }
}
#else
static int init(const cell *c, float *send, float *recv, MPI_Request *request)
{
    (void)c, (void)send, (void)recv, (void)request;
    return MPI_ERR_OTHER;
}
#endif

#ifndef MPICH_NUMVERSION
#define MPICH_NUMVERSION 99999999
#endif

/* Some of MPICH 4.0 do their work once; among more than two ranks they then fail on one, and the others wait for it. */
static int is_hopeless(nbcoll_operation operation)
{
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return MPICH_NUMVERSION < 40100000 && ranks > 2 &&
           (operation == NBCOLL_OPERATION_SCATTER || operation == NBCOLL_OPERATION_GATHER ||
            operation == NBCOLL_OPERATION_ALLGATHER);
}

static int open_requests(entry *e)
{
    call *k = e->user;
    int status = is_hopeless(e->cell->operation) ? MPI_ERR_OTHER : MPI_SUCCESS;
    for (int i = 0; i < e->cell->turns && status == MPI_SUCCESS; i++)
        status = init(e->cell, e->buffers->send[i], e->buffers->recv[i], &k->request[i]);
    return status;
}

static void close_call(entry *e)
{
    call *k = e->user;
    for (int i = 0; e->form == PERSISTENT && i < e->cell->turns; i++)
        if (k->request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&k->request[i]);
    free(k);
}

static void progress(void *user)
{
    int flag;
    (void)user;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int theirs_entry(entry *e, form which)
{
    static int (*const calls[FORMS])(entry *, int) = {call_blocking, call_nonblocking, call_persistent};
    call *k = calloc(1, sizeof *k);
    if (!k)
        return -1;
    for (int i = 0; i < TURNS; i++)
        k->request[i] = MPI_REQUEST_NULL;
    e->library = "mpi";
    e->form = which;
    e->form_name = form_names[which];
    e->user = k;
    e->open = which == PERSISTENT ? open_requests : NULL;
    e->call = calls[which];
    e->close = close_call;
    e->progress = progress;
    return 0;
}

/* ---- gloo -------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_GLOO
static int call_gloo(entry *e, int turn)
{
    (void)turn;
    return gloo_call(e->user);
}

static void close_gloo(entry *e)
{
    gloo_free(e->user);
}

int gloo_entry(entry *e)
{
    const cell *c = e->cell;
    e->library = "gloo";
    e->form_name = "prepared";
    e->call = call_gloo;
    e->close = close_gloo;
    e->user = c->turns > 1 ? NULL
                           : gloo_prepare(nbcoll_operation_name(c->operation), e->buffers->send[0],
                                          e->buffers->recv[0], c->count);
    return e->user ? 0 : -1;
}
#else
int gloo_open(int rank, int ranks, const char *interface, const char *directory)
{
    (void)rank, (void)ranks, (void)interface, (void)directory;
    return -1;
}

int gloo_entry(entry *e)
{
    (void)e;
    return -1;
}
#endif
