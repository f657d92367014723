/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent operations. An MPI does not start a generalised request again, so each has a persistent receive from this
 * rank itself: MPI_Start starts both, and the end of nbcoll's operation sends the message. The MPI's own calls wait for
 * it. A communicator of its own serves each, since the ranks may start them in different orders. */
#include <pthread.h>

#include "operation.h"

#ifdef DOOR_INIT

enum { LISTS = 64, TAGS = 32000 }; /* every MPI has as many tags */

static door_operation *lists[LISTS]; /* by handle */
static atomic_int live;              /* in them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_used[TAGS];
static char nothing[2];

static door_operation **list_of(MPI_Request handle)
{
    return &lists[((uintptr_t)handle >> 4) % LISTS];
}

static door_operation *find(MPI_Request handle, bool take)
{
    if (!atomic_load(&live))
        return NULL;
    pthread_mutex_lock(&lock);
    door_operation **at = list_of(handle);
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    door_operation *o = *at;
    if (o && take) {
        *at = o->next;
        atomic_fetch_sub(&live, 1);
    }
    pthread_mutex_unlock(&lock);
    return o;
}

static void put(door_operation *o)
{
    pthread_mutex_lock(&lock);
    door_operation **at = list_of(o->handle);
    o->next = *at;
    *at = o;
    atomic_fetch_add(&live, 1);
    pthread_mutex_unlock(&lock);
}

/* A tag that no other has, above that of progress.c; 0: there is none. */
static int take_tag(void)
{
    int tag = 1;
    pthread_mutex_lock(&lock);
    while (tag < TAGS && is_used[tag])
        tag++;
    if (tag < TAGS)
        is_used[tag] = true;
    pthread_mutex_unlock(&lock);
    return tag < TAGS ? tag : 0;
}

static void drop(door_operation *o)
{
    while (nbcoll_request_free(&o->request) == NBCOLL_ERR_BUSY) /* its callback returns on another thread */
        door_progress();
    while (nbcoll_neighbors_free(o->neighbors) == NBCOLL_ERR_BUSY)
        door_progress();
    while (nbcoll_comm_free(o->ours) == NBCOLL_ERR_BUSY)
        door_progress();
    door_release(o);
    door_state_leave(o->state);
    pthread_mutex_lock(&lock);
    is_used[o->tag] = false;
    pthread_mutex_unlock(&lock);
    door_delete(o);
}

/* An error shows as a message that is too long. */
static void end(door_operation *o, nbcoll_status status)
{
    MPI_Request sent;
    int tag = o->tag;
    o->status = status;
    door_store(o);
    if (PMPI_Isend(nothing, door_ready(o) ? 0 : 1, MPI_BYTE, 0, tag, door_self(), &sent) == MPI_SUCCESS)
        PMPI_Request_free(&sent);
}

static void on_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    door_enter();
    end(user, status);
    door_leave();
}

static bool make(door_operation *o)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    bool well = !o->is_local && door_ready(o) && !o->send.lacks && !o->recv.lacks && door_keep(o);
    config.slots = 1;
    o->tag = take_tag();
    if (o->call >= DOOR_Neighbor_allgather) {
        nbcoll_comm *ours = o->ours;
        o->ours = NULL;
        o->neighbors = door_neighbors(o->comm, ours);
        well = o->neighbors && well;
    } else {
        nbcoll_comm *ours = o->ours;
        nbcoll_request request;
        o->ours = NULL;
        nbcoll_status status = nbcoll_comm_idup_with(ours, &config, &o->ours, &request);
        o->neighbors = NULL;
        if (status == NBCOLL_ERR_MEMORY)
            door_give_up(ours, nbcoll_comm_rank(ours) == 0);
        well = status == NBCOLL_OK && nbcoll_wait(&request, NBCOLL_FOREVER) == NBCOLL_OK && well;
    }
    return well && o->tag && door_start(o) == NBCOLL_OK && nbcoll_on_done(o->request, on_done, o) == NBCOLL_OK &&
           PMPI_Recv_init(nothing + 1, 0, MPI_BYTE, 0, o->tag, door_self(), &o->handle) == MPI_SUCCESS;
}

bool door_persist(door_operation *o, MPI_Request *request)
{
    MPI_Comm comm = o->comm;
    o->handle = MPI_REQUEST_NULL;
    door_state_use(o->state); /* its communicator is needed to give up a rank */
    bool well = make(o);
    if (door_all(comm, well)) {
        door_count(o, DOOR_FATE_SERVED);
        put(o);
        *request = o->handle;
        return true;
    }
    if (o->handle != MPI_REQUEST_NULL)
        PMPI_Request_free(&o->handle);
    door_count(o, DOOR_FATE_UNMADE);
    drop(o);
    return false;
}

/* The MPI may give it another handle. */
static int start(door_operation *o, MPI_Request *request)
{
    int error = PMPI_Start(request);
    if (error != MPI_SUCCESS)
        return error;
    if (*request != o->handle) {
        find(o->handle, true);
        o->handle = *request;
        put(o);
    }
    o->error = MPI_SUCCESS;
    o->status = NBCOLL_OK;
    door_load(o);
    nbcoll_status status = door_ready(o) ? nbcoll_start(&o->request) : NBCOLL_OK;
    if (!door_ready(o) || status == NBCOLL_ERR_MEMORY)
        door_give_up_any(o);
    if (!door_ready(o) || status != NBCOLL_OK)
        end(o, status);
    return MPI_SUCCESS;
}

int MPI_Start(MPI_Request *request)
{
    door_operation *o = request ? find(*request, false) : NULL;
    return o ? start(o, request) : PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request requests[])
{
    if (!atomic_load(&live))
        return PMPI_Startall(n, requests);
    for (int i = 0, error; i < n; i++) {
        error = MPI_Start(&requests[i]);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request)
{
    door_operation *o = request ? find(*request, true) : NULL;
    int error = PMPI_Request_free(request);
    if (o)
        drop(o);
    return error;
}

#endif
