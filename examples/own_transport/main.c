/* SPDX-License-Identifier: BSD-3-Clause
 * A transport of your own (socket.c), and a sum over it:
 *
 *     nbcoll run -n 4 own_transport
 *
 * Of the launcher's variables only name, rank and number of ranks are used. Without the launcher, and with the argument
 * `check`, the program asks the conformance suite whether the transport keeps its contract: between ranks of one
 * process, and between processes, where ranks are killed and call exec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <nbcoll/conformance.h>
#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

#include "bootstrap.h"
#include "socket.h"

enum { NUMBERS = 100000 };

/* ---- a sum ----------------------------------------------------------------------------------------------------- */

static nbcoll_status open_launched(nbcoll_endpoint **endpoint)
{
    nbcoll_shm_config found = {.size = sizeof found};
    int fd[NBCOLL_SHM_RANKS];
    nbcoll_status status = nbcoll_launch_read(&found);
    if (status == NBCOLL_OK)
        status = socket_connect(found.id.text, found.rank, found.ranks, fd);
    return status != NBCOLL_OK ? status : socket_open(found.rank, found.ranks, fd, endpoint);
}

static nbcoll_status sum(nbcoll_comm *comm)
{
    static int64_t mine[NUMBERS], all[NUMBERS];
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), right = 0;

    for (int i = 0; i < NUMBERS; i++)
        mine[i] = rank + i;
    nbcoll_status status = nbcoll_allreduce(mine, all, NUMBERS, NBCOLL_INT64, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    for (int i = 0; i < NUMBERS; i++)
        right += all[i] == (int64_t)ranks * i + ranks * (ranks - 1) / 2;
    if (status == NBCOLL_OK)
        printf("rank %d: %d of %d sums over %d ranks are right\n", rank, right, NUMBERS, ranks);
    return status;
}

static int run(void)
{
    nbcoll_endpoint *endpoint;
    nbcoll_context *context = NULL;
    nbcoll_comm *comm;

    nbcoll_status status = open_launched(&endpoint);
    if (status == NBCOLL_OK)
        status = nbcoll_context_create(NBCOLL_ABI, NULL, &context);
    if (status == NBCOLL_OK)
        status = nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = sum(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "own_transport: %s\n", nbcoll_status_text(status));
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last messages are on their way */
    return status != NBCOLL_OK;
}

/* ---- its test -------------------------------------------------------------------------------------------------- */

static void *make_pairs(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    int *fd = malloc((size_t)ranks * (size_t)ranks * sizeof *fd);
    (void)c;
    if (fd && socket_pairs(ranks, fd) == NBCOLL_OK)
        for (int rank = 0; rank < ranks; rank++)
            socket_open(rank, ranks, fd + rank * ranks, &end[rank]);
    return fd;
}

static void *make_name(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_shm_id *id = malloc(sizeof *id);
    (void)c;
    (void)ranks;
    (void)end;
    if (id)
        nbcoll_shm_id_make(id);
    return id;
}

static nbcoll_endpoint *open_named(const nbcoll_conformance *c, void *name, int rank, int ranks)
{
    nbcoll_endpoint *endpoint = NULL;
    int fd[NBCOLL_SHM_RANKS];
    (void)c;
    if (socket_connect(name, rank, ranks, fd) == NBCOLL_OK)
        socket_open(rank, ranks, fd, &endpoint);
    return endpoint;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    (void)c;
    free(made);
}

/* As if a connection had failed. */
static void lose(const nbcoll_conformance *c, void *made, nbcoll_endpoint *ep, int peer)
{
    const int *fd = made;
    (void)c;
    shutdown(fd[ep->rank * ep->ranks + peer], SHUT_RDWR);
}

static int check(void)
{
    const uint32_t promises = NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_REFUSES;
    const nbcoll_conformance here = {.size = sizeof here, .name = "socket", .promises = promises, .make = make_pairs,
                                     .destroy = destroy, .result = nbcoll_conformance_print, .lose = lose};
    nbcoll_conformance processes = here;
    processes.name = "socket, processes";
    processes.make = make_name;
    processes.open = open_named;
    processes.payload = 4096;
    processes.lost_ms = 100;
    return nbcoll_conformance_run(&here) != 0 || nbcoll_conformance_run(&processes) != 0;
}

int main(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "check") == 0 ? check() : run();
}
