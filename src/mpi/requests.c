/* SPDX-License-Identifier: BSD-3-Clause
 * Nonblocking operations. Their requests are generalised ones of the MPI, which the end of nbcoll's operation
 * completes: so the MPI's own calls wait for them and for messages together. */
#include "operation.h"

static door_operation *spare; /* of a program of one thread */

door_operation *door_new(door_form form, door_call call, door_operation *local)
{
    door_operation *o = door_threads || !spare ? malloc(sizeof *o) : spare;
    bool is_local = !o;
    if (!door_threads)
        spare = NULL;
    o = is_local ? local : o;
    o->is_local = is_local;
    o->keeps = false;
    o->next = NULL;
    o->form = form;
    o->call = call;
    o->r.user = MPI_OP_NULL;
    o->element = MPI_DATATYPE_NULL;
    return o;
}

void door_delete(door_operation *o)
{
    if (o->is_local)
        return;
    if (door_threads || spare)
        free(o);
    else
        spare = o;
}

bool door_keep(door_operation *o)
{
    bool well = door_view_keep(&o->recv) && (o->form == DOOR_NONBLOCKING || door_view_keep(&o->send));
    if (well && o->r.user != MPI_OP_NULL)
        well = door_keep_type(o->r.element, &o->element) == MPI_SUCCESS;
    o->keeps = well && door_keep_op(o->r.user);
    return o->keeps;
}

void door_release(door_operation *o)
{
    door_close(o);
    door_free_type(&o->element);
    if (o->keeps)
        door_free_op(o->r.user);
}

/* The MPI asks how it went, when it has been completed. */
static int on_query(void *extra, MPI_Status *status)
{
    const door_operation *o = extra;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return door_error(o);
}

/* After its end, in the call that waited: a communicator may go with it, which it may not everywhere inside `done`. */
static int on_free(void *extra)
{
    door_operation *o = extra;
    door_state_leave(o->state);
    door_delete(o);
    return MPI_SUCCESS;
}

/* A collective operation cannot be cancelled. */
static int on_cancel(void *extra, int is_complete)
{
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

/* It has ended. Completed, it is the MPI's, which may free it at once. */
static void end(door_operation *o, nbcoll_status status)
{
    MPI_Request handle = o->handle;
    o->status = status;
    door_store(o);
    door_release(o);
    PMPI_Grequest_complete(handle);
}

static void on_done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    door_enter();
    end(user, status);
    door_leave();
}

/* It could not be started, and nobody waits for it. */
static int refuse(door_operation *o)
{
    o->status = NBCOLL_ERR_MEMORY;
    door_give_up_any(o);
    int error = door_raise(o, door_error(o));
    door_release(o);
    door_delete(o);
    return error;
}

int door_begin(door_operation *o, MPI_Request *request)
{
    door_load(o);
    if (!o->lacks && !door_keep(o))
        door_lack(o);
    if (o->is_local || o->status != NBCOLL_OK ||
        PMPI_Grequest_start(on_query, on_free, on_cancel, o, &o->handle) != MPI_SUCCESS)
        return refuse(o);
    door_count(o, DOOR_FATE_SERVED);
    door_state_use(o->state);
    *request = o->handle;
    nbcoll_status status = door_start(o);
    if (status == NBCOLL_OK)
        status = nbcoll_test(&o->request);
    else if (status == NBCOLL_ERR_MEMORY)
        door_give_up_any(o);
    if (status == NBCOLL_PENDING)
        nbcoll_on_done(o->request, on_done, o);
    else
        end(o, status); /* its wait tells an error */
    return MPI_SUCCESS;
}
