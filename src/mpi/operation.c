/* SPDX-License-Identifier: BSD-3-Clause
 * What the calls have in common. What a call passes, and its end, are the MPI's: an error goes to the communicator's
 * handler. A call that the MPI is to refuse goes to the MPI, which does so before it communicates. */
#include "door.h"

int door_serves(door_operation *o, MPI_Comm comm, size_t bytes)
{
    if (comm == MPI_COMM_NULL)
        return 0;
    door_fate fate = door_only_blocks && o->form != DOOR_BLOCKING
                         ? DOOR_FATE_FORM
                         : door_comm(comm, o->form != DOOR_NONBLOCKING, &o->state);
    if (fate == DOOR_FATE_SERVED && door_slower(o->form, o->call, bytes))
        fate = DOOR_FATE_SLOWER;
    else if (fate == DOOR_FATE_SERVED && o->form == DOOR_BLOCKING && door_compares(&o->state->calls))
        fate = DOOR_FATE_COMPARED;
    if (fate != DOOR_FATE_SERVED) {
        door_count(o, fate);
        return 0;
    }
    if (!atomic_load_explicit(&o->state->is_used, memory_order_relaxed))
        atomic_store_explicit(&o->state->is_used, true, memory_order_relaxed);
    o->comm = comm;
    o->ours = o->state->comm;
    o->neighbors = o->state->neighbors;
    o->error = MPI_SUCCESS;
    o->status = NBCOLL_OK;
    o->type = NBCOLL_BYTE;
    o->lacks = o->r.lacks = false;
    return nbcoll_comm_size(o->ours);
}

size_t door_bytes(int count, MPI_Datatype type)
{
    bool plain;
    return count > 0 && type != MPI_DATATYPE_NULL ? (size_t)count * door_type_bytes(type, &plain) : 0;
}

bool door_bad(int count, MPI_Datatype type)
{
    return count < 0 || type == MPI_DATATYPE_NULL;
}

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

void door_sides(door_operation *o, const door_blocks *send, const door_blocks *recv, int own, bool as_is)
{
    static const door_blocks none = {.user = "", .n = 0, .type = MPI_BYTE};
    o->own = own;
    o->in_place = send && send->user == MPI_IN_PLACE;
    bool well = door_view_open(&o->send, send && !o->in_place ? send : &none, as_is);
    well &= door_view_open(&o->recv, recv ? recv : &none, as_is);
    if (!well)
        o->status = NBCOLL_ERR_MEMORY;
    if (o->in_place)
        o->send.data = NBCOLL_IN_PLACE;
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
           : o->status == NBCOLL_ERR_COUNT    ? MPI_ERR_COUNT
           : o->status == NBCOLL_ERR_BUFFER   ? MPI_ERR_BUFFER
           : o->status == NBCOLL_ERR_MISMATCH ? MPI_ERR_TRUNCATE
                                              : MPI_ERR_OTHER;
}

int door_raise(const door_operation *o, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(o->comm, error);
    return error;
}

static nbcoll_status start_move(door_operation *o)
{
    void *from = o->send.data, *to = o->recv.data;
    /* of a call with a root that is another rank `recv` is empty, and of a scatter `send` */
    bool is_root = nbcoll_comm_rank(o->ours) == o->root;
    const door_view *all = o->call == DOOR_Scatter ? (is_root ? &o->send : &o->recv) : is_root ? &o->recv : &o->send;
    switch (o->call) {
    case DOOR_Barrier:
        return DOOR_START(barrier, o->ours);
    case DOOR_Bcast:
        return is_root ? DOOR_START(bcast, from, o->send.bytes, o->type, o->root, o->ours)
                       : DOOR_START(bcast, to, o->recv.bytes, o->type, o->root, o->ours);
    case DOOR_Gather:
        return DOOR_START(gather, from, to, all->bytes, o->type, o->root, o->ours);
    case DOOR_Gatherv:
        return DOOR_START(gatherv, from, o->send.bytes, to, o->recv.counts, o->recv.displs, o->type, o->root,
                          o->ours);
    case DOOR_Scatter:
        return DOOR_START(scatter, from, to, all->bytes, o->type, o->root, o->ours);
    case DOOR_Scatterv:
        return DOOR_START(scatterv, from, o->send.counts, o->send.displs, to, o->recv.bytes, o->type, o->root,
                          o->ours);
    case DOOR_Allgather:
        return DOOR_START(allgather, from, to, o->recv.bytes, o->type, o->ours);
    case DOOR_Allgatherv:
        return DOOR_START(allgatherv, from, to, o->recv.counts, o->recv.displs, o->type, o->ours);
    case DOOR_Alltoall:
        return DOOR_START(alltoall, from, to, o->recv.bytes, o->type, o->ours);
    default: /* alltoallw, too, is an alltoallv of bytes */
        return DOOR_START(alltoallv, from, o->send.counts, o->send.displs, to, o->recv.counts, o->recv.displs,
                          o->type, o->ours);
    }
}

static nbcoll_status start_neighbors(door_operation *o)
{
    void *from = o->send.data, *to = o->recv.data;
    switch (o->call) {
    case DOOR_Neighbor_allgather:
        if (!o->recv.counts)
            return DOOR_START(neighbor_allgather, from, to, o->send.bytes, o->type, o->neighbors);
        /* fall through */
    case DOOR_Neighbor_allgatherv:
        return DOOR_START(neighbor_allgatherv, from, o->send.bytes, to, o->recv.counts, o->recv.displs, o->type,
                          o->neighbors);
    case DOOR_Neighbor_alltoall:
        if (!o->recv.counts)
            return DOOR_START(neighbor_alltoall, from, to, o->send.bytes, o->type, o->neighbors);
        /* fall through */
    default:
        return DOOR_START(neighbor_alltoallv, from, o->send.counts, o->send.displs, to, o->recv.counts, o->recv.displs,
                          o->type, o->neighbors);
    }
}

nbcoll_status door_start(door_operation *o)
{
    void *from = o->send.data, *to = o->recv.data;
    switch (o->call) {
    case DOOR_Reduce:
        return DOOR_START(reduce, from, to, o->count, o->r.type, o->r.op, o->root, o->ours);
    case DOOR_Allreduce:
        return DOOR_START(allreduce, from, to, o->count, o->r.type, o->r.op, o->ours);
    case DOOR_Reduce_scatter:
        return DOOR_START(reduce_scatter, from, to, nbcoll_ints(o->counts), o->r.type, o->r.op, o->ours);
    case DOOR_Reduce_scatter_block:
        return DOOR_START(reduce_scatter_block, from, to, o->count, o->r.type, o->r.op, o->ours);
    case DOOR_Scan:
        return DOOR_START(scan, from, to, o->count, o->r.type, o->r.op, o->ours);
    case DOOR_Exscan:
        return DOOR_START(exscan, from, to, o->count, o->r.type, o->r.op, o->ours);
    default:
        return o->call < DOOR_Neighbor_allgather ? start_move(o) : start_neighbors(o);
    }
}

int door_run(door_operation *o)
{
    door_load(o);
    if (o->status == NBCOLL_OK)
        o->status = door_start(o);
    if (o->status == NBCOLL_ERR_MEMORY)
        door_give_up_any(o);
    door_store(o);
    door_close(o);
    door_count(o, DOOR_FATE_SERVED);
    return door_raise(o, door_error(o));
}
