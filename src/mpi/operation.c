/* SPDX-License-Identifier: BSD-3-Clause
 * What the calls have in common. What a call passes, and its end, are the MPI's: an error goes to the communicator's
 * handler. A call that the MPI is to refuse goes to the MPI, which does so before it communicates. */
#include "operation.h"

bool door_any_bad(int n, const int counts[], MPI_Datatype type)
{
    bool is = !counts || type == MPI_DATATYPE_NULL;
    for (int i = 0; i < n && !is; i++)
        is = counts[i] < 0;
    return is;
}

bool door_bad_vector(const door_blocks *b)
{
    bool is = b->n > 0 && (door_any_bad(b->n, b->counts, b->types ? MPI_BYTE : b->type) || (!b->displs && !b->places));
    for (int i = 0; b->types && i < b->n && !is; i++)
        is = b->types[i] == MPI_DATATYPE_NULL;
    return is;
}

/* An operation whose type cannot be packed ends wherever it has not ended yet, before anything that depends on this
 * rank's data has. */
static nbcoll_status no_pack(void *user, const void *elements, void *packed, size_t count)
{
    (void)user, (void)elements, (void)packed, (void)count;
    return NBCOLL_ERR_MEMORY;
}

static nbcoll_status no_unpack(void *user, const void *packed, void *elements, size_t count)
{
    return no_pack(user, packed, elements, count);
}

static const nbcoll_host_type lacking = {
    .size = sizeof lacking, .extent = 1, .packed = 1, .pack = no_pack, .unpack = no_unpack};

void door_lack(door_operation *o)
{
    static char places[2]; /* nothing is read or written there */
    o->lacks = true;
    o->type = nbcoll_type_of(&lacking);
    o->send.data = o->in_place ? NBCOLL_IN_PLACE : &places[0];
    o->recv.data = o->recv.data == NBCOLL_IN_PLACE ? NBCOLL_IN_PLACE : &places[1];
    o->r.host_type.packed = o->r.bytes;
    o->r.host_type.pack = no_pack;
    o->r.host_type.unpack = no_unpack;
}

void door_give_up(nbcoll_comm *comm, int other)
{
    door_enter();
    nbcoll_comm_declare_lost(comm, other);
    door_leave();
}

void door_give_up_any(const door_operation *o)
{
    door_give_up(o->state->comm, nbcoll_comm_rank(o->state->comm) == 0);
}

void door_open(door_operation *o, const door_blocks *send, const door_blocks *recv, bool as_is)
{
    const door_blocks *none = BLOCKS("", 0, 0, MPI_BYTE);
    bool well = door_view_open(&o->send, send ? send : none, as_is);
    if (!door_view_open(&o->recv, recv ? recv : none, as_is) || !well)
        o->status = NBCOLL_ERR_MEMORY;
}

bool door_ready(const door_operation *o)
{
    return o->error == MPI_SUCCESS && o->status == NBCOLL_OK;
}

void door_load(door_operation *o)
{
    bool lacks = o->send.lacks || o->recv.lacks;
    if (door_ready(o) && !lacks)
        o->error = o->in_place ? door_view_load(&o->recv, o->own) : door_view_load(&o->send, -1);
    if (lacks || o->error != MPI_SUCCESS)
        door_lack(o);
}

void door_store(door_operation *o)
{
    if (door_ready(o) && !o->lacks)
        o->error = door_view_store(&o->recv, -1);
}

void door_close(door_operation *o)
{
    door_view_close(&o->send);
    door_view_close(&o->recv);
}

int door_error(const door_operation *o)
{
    if (door_ready(o) || o->error != MPI_SUCCESS)
        return o->error;
    return o->lacks || o->r.lacks || o->status == NBCOLL_ERR_MEMORY ? MPI_ERR_NO_MEM
           : o->status == NBCOLL_ERR_COUNT                          ? MPI_ERR_COUNT
           : o->status == NBCOLL_ERR_BUFFER                         ? MPI_ERR_BUFFER
           : o->status == NBCOLL_ERR_MISMATCH                       ? MPI_ERR_TRUNCATE
                                                                    : MPI_ERR_OTHER;
}

int door_raise(const door_operation *o, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(o->comm, error);
    return error;
}

nbcoll_status door_start(door_operation *o)
{
    return door_start_as(o, o->form, o->call);
}

int door_end(door_operation *o)
{
    if (o->status == NBCOLL_ERR_MEMORY)
        door_give_up_any(o);
    door_store(o);
    door_close(o);
    door_count(o, DOOR_FATE_SERVED);
    return door_raise(o, door_error(o));
}
