/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks on several machines. Those that can share memory are a node; between nodes nbcoll's messages are the MPI's. */
#include <limits.h>
#include <nbcoll/mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "door.h"

enum { LAST }; /* the tag of a rank's last message to each other one */

static MPI_Comm node = MPI_COMM_NULL, between = MPI_COMM_NULL;
static int count = 1;
static const nbcoll_transport *messages;

static uint32_t hash(uint32_t so_far, const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    while (bytes-- > 0)
        so_far = (so_far ^ *at++) * UINT32_C(16777619);
    return so_far;
}

/* Ranks of one machine that have different ones share no memory, or cannot read each other's. */
static int place(void)
{
    static const char *const spaces[] = {"/proc/self/ns/net", "/proc/self/ns/pid"};
    struct utsname name;
    struct stat space;
    uint32_t sum = UINT32_C(2166136261);
    if (uname(&name) == 0)
        sum = hash(sum, name.nodename, sizeof name.nodename);
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (stat(spaces[i], &space) == 0)
            sum = hash(sum, &space.st_ino, sizeof space.st_ino);
    return (int)(sum & INT_MAX);
}

bool door_nodes_find(bool are_several)
{
    MPI_Comm machine;
    int rank, is_first;
    node = MPI_COMM_WORLD;
    if (!are_several)
        return true;
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) != MPI_SUCCESS ||
        PMPI_Comm_split(machine, place(), 0, &node) != MPI_SUCCESS || PMPI_Comm_free(&machine) != MPI_SUCCESS)
        return false;
    PMPI_Comm_rank(node, &rank);
    is_first = rank == 0;
    return PMPI_Allreduce(&is_first, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
}

MPI_Comm door_node(void)
{
    return node;
}

int door_nodes(void)
{
    return count;
}

/* While the endpoint calls the MPI, that does not call nbcoll; and where the MPI takes no call while it calls nbcoll,
 * nothing moves between nodes. */
static bool may_call(void)
{
    return !door_only_blocks || !door_is_called();
}

static nbcoll_posted post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload, size_t bytes,
                          nbcoll_work *work)
{
    if (!may_call())
        return NBCOLL_POST_NOT_NOW;
    door_enter();
    nbcoll_posted said = messages->post(ep, peer, header, payload, bytes, work);
    door_leave();
    return said;
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    ep->busy = ep->patient = 0;
    if (!may_call())
        return;
    door_enter();
    messages->progress(ep, found);
    door_leave();
}

nbcoll_endpoint *door_between(void)
{
    static nbcoll_transport guarded;
    nbcoll_endpoint *endpoint = NULL;
    nbcoll_mpi_config config = {.size = sizeof config, .comm = &between, .first_tag = LAST + 1};
    if (PMPI_Comm_dup(MPI_COMM_WORLD, &between) != MPI_SUCCESS || nbcoll_mpi_open(&config, &endpoint) != NBCOLL_OK)
        return NULL;
    messages = endpoint->transport;
    guarded = *messages;
    guarded.post = post;
    guarded.progress = progress;
    endpoint->transport = &guarded;
    return endpoint;
}

/* Receives what `from` has sent before its last message. */
static void drain(int from)
{
    MPI_Status status;
    do {
        int bytes = 0;
        if (PMPI_Probe(from, MPI_ANY_TAG, between, &status) != MPI_SUCCESS)
            return;
        PMPI_Get_count(&status, MPI_BYTE, &bytes);
        void *memory = malloc((size_t)bytes + 1);
        PMPI_Recv(memory, memory ? bytes : 0, MPI_BYTE, from, status.MPI_TAG, between, MPI_STATUS_IGNORE);
        free(memory);
    } while (status.MPI_TAG != LAST);
}

/* Endpoints have left at different times. What came to one that had left before is received here, since MPICH names at
 * its end what was not. */
static void drain_all(void)
{
    int rank, ranks;
    PMPI_Comm_rank(between, &rank);
    PMPI_Comm_size(between, &ranks);
    for (int i = 1; i < ranks; i++) {
        MPI_Request last;
        int is_sent = PMPI_Isend(NULL, 0, MPI_BYTE, (rank + i) % ranks, LAST, between, &last) == MPI_SUCCESS;
        drain((rank + ranks - i) % ranks);
        if (is_sent)
            PMPI_Wait(&last, MPI_STATUS_IGNORE);
    }
}

void door_nodes_end(void)
{
    if (between != MPI_COMM_NULL) {
        drain_all();
        PMPI_Comm_free(&between);
    }
    if (node != MPI_COMM_NULL && node != MPI_COMM_WORLD)
        PMPI_Comm_free(&node);
}
