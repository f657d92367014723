/* SPDX-License-Identifier: BSD-3-Clause
 * The way of a call that packs nothing, inline: what its function knows of it when it is compiled, as its form, takes
 * no instructions. Small calls take less time than all that could be asked of them here. */
#include "door.h"

#define DOOR_INLINE static inline __attribute__((always_inline))

DOOR_INLINE void door_count(door_operation *o, door_fate fate)
{
    atomic_ullong *n = &door_counted[o->form][o->call][fate];
    o->fate = fate;
    if (door_threads)
        atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    else
        atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Whether the MPI refuses these. */
DOOR_INLINE bool door_bad(int count, MPI_Datatype type)
{
    return count < 0 || type == MPI_DATATYPE_NULL;
}

/* The number of ranks of the communicator of nbcoll's that serves a call with blocks, or a vector, of so many bytes; 0:
 * it passes, and is counted so. MPI_COMM_NULL is not counted. */
DOOR_INLINE int door_serves(door_operation *o, MPI_Comm comm, size_t bytes)
{
    if (comm == MPI_COMM_NULL)
        return 0;
    door_fate fate = door_only_blocks && o->form != DOOR_BLOCKING
                         ? DOOR_FATE_FORM
                         : door_comm(comm, o->form != DOOR_NONBLOCKING, &o->state);
    if (fate == DOOR_FATE_SERVED && door_slower[o->form][o->call] && door_slower_at(o->form, o->call, bytes))
        fate = DOOR_FATE_SLOWER;
    else if (fate == DOOR_FATE_SERVED && door_is_timed && o->form == DOOR_BLOCKING && door_compares(&o->state->calls))
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

#define BLOCKS(buffer, blocks, elements, of)                                                                           \
    (&(door_blocks){.user = buffer, .n = blocks, .count = elements, .type = of})
#define VECTOR(buffer, blocks, numbers, spots, of)                                                                     \
    (&(door_blocks){.user = buffer, .n = blocks, .counts = numbers, .displs = spots, .type = of})

#define TYPED(buffer, blocks, numbers, spots, of)                                                                      \
    (&(door_blocks){.user = buffer, .n = blocks, .counts = numbers, .displs = spots, .types = of})

/* A side whose blocks have one length, in the program's buffer, or that has none. False: this is another. */
DOOR_INLINE bool door_view_plain(door_view *view, const door_blocks *blocks)
{
    const door_plain *plain = NULL;
    if (blocks && (blocks->counts || blocks->is_listed || blocks->user == MPI_BOTTOM))
        return false;
    if (blocks && blocks->count > 0 && blocks->n > 0) {
        plain = door_plain_of(blocks->type);
        if (!plain)
            return false;
    }
    view->bytes = plain ? (size_t)blocks->count * plain->bytes : 0;
    view->data = (void *)(uintptr_t)(blocks ? blocks->user : "");
    view->counts = view->arrays = NULL;
    view->packed = NULL;
    view->kept = NULL;
    view->lacks = false;
    return true;
}

/* Opens both sides; a null one is not used. In place, `own` block of what is received is what is sent. */
DOOR_INLINE void door_sides(door_operation *o, const door_blocks *send, const door_blocks *recv, int own, bool as_is)
{
    o->own = own;
    o->in_place = send && send->user == MPI_IN_PLACE;
    o->is_plain = (o->in_place ? door_view_plain(&o->send, NULL) : door_view_plain(&o->send, send)) &&
                  door_view_plain(&o->recv, recv);
    if (!o->is_plain)
        door_open(o, o->in_place ? NULL : send, recv, as_is);
    if (o->in_place)
        o->send.data = NBCOLL_IN_PLACE;
}

/* Starts `name` of nbcoll's, in a form. `name` and the arguments are those of the blocking one, without the
 * timeout. */
#define DOOR_START(name, ...)                                                                                          \
    (form == DOOR_BLOCKING      ? nbcoll_##name(__VA_ARGS__, NBCOLL_FOREVER)                                           \
     : form == DOOR_NONBLOCKING ? nbcoll_i##name(__VA_ARGS__, &o->request)                                             \
                                : nbcoll_##name##_init(__VA_ARGS__, &o->request))

DOOR_INLINE nbcoll_status door_start_move(door_operation *o, door_form form, door_call call)
{
    void *from = o->send.data, *to = o->recv.data;
    /* of a call with a root that is another rank `recv` is empty, and of a scatter `send` */
    bool is_root = nbcoll_comm_rank(o->ours) == o->root;
    const door_view *all = call == DOOR_Scatter ? (is_root ? &o->send : &o->recv) : is_root ? &o->recv : &o->send;
    switch (call) {
    case DOOR_Barrier:
        return DOOR_START(barrier, o->ours);
    case DOOR_Bcast:
        return is_root ? DOOR_START(bcast, from, o->send.bytes, o->type, o->root, o->ours)
                       : DOOR_START(bcast, to, o->recv.bytes, o->type, o->root, o->ours);
    case DOOR_Gather:
        return DOOR_START(gather, from, to, all->bytes, o->type, o->root, o->ours);
    case DOOR_Gatherv:
        return DOOR_START(gatherv, from, o->send.bytes, to, o->recv.counts, o->recv.displs, o->type, o->root, o->ours);
    case DOOR_Scatter:
        return DOOR_START(scatter, from, to, all->bytes, o->type, o->root, o->ours);
    case DOOR_Scatterv:
        return DOOR_START(scatterv, from, o->send.counts, o->send.displs, to, o->recv.bytes, o->type, o->root, o->ours);
    case DOOR_Allgather:
        return DOOR_START(allgather, from, to, o->recv.bytes, o->type, o->ours);
    case DOOR_Allgatherv:
        return DOOR_START(allgatherv, from, to, o->recv.counts, o->recv.displs, o->type, o->ours);
    case DOOR_Alltoall:
        return DOOR_START(alltoall, from, to, o->recv.bytes, o->type, o->ours);
    default: /* alltoallw, too, is an alltoallv of bytes */
        return DOOR_START(alltoallv, from, o->send.counts, o->send.displs, to, o->recv.counts, o->recv.displs, o->type,
                          o->ours);
    }
}

DOOR_INLINE nbcoll_status door_start_neighbors(door_operation *o, door_form form, door_call call)
{
    void *from = o->send.data, *to = o->recv.data;
    switch (call) {
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

/* Starts it: its status. Blocking, that is its end. */
DOOR_INLINE nbcoll_status door_start_as(door_operation *o, door_form form, door_call call)
{
    void *from = o->send.data, *to = o->recv.data;
    switch (call) {
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
        return call < DOOR_Neighbor_allgather ? door_start_move(o, form, call) : door_start_neighbors(o, form, call);
    }
}

/* All of a blocking one, whose sides are open. Returns an MPI error. */
DOOR_INLINE int door_run(door_operation *o, door_call call)
{
    if (!o->is_plain)
        door_load(o);
    if (o->status == NBCOLL_OK)
        o->status = door_start_as(o, DOOR_BLOCKING, call);
    if (!o->is_plain || o->status != NBCOLL_OK)
        return door_end(o);
    door_count(o, DOOR_FATE_SERVED);
    return MPI_SUCCESS;
}

/* The functions of a collective: blocking, nonblocking, persistent. `describe` is a function of the operation and the
 * arguments, false for one that passes. */
#define DOOR_FORMS(Name, lower, describe, parameters, arguments)                                                       \
    int MPI_##Name(parameters)                                                                                         \
    {                                                                                                                  \
        door_operation o;                                                                                              \
        o.form = DOOR_BLOCKING;                                                                                        \
        o.call = DOOR_##Name;                                                                                          \
        o.fate = DOOR_FATE_COUNT;                                                                                      \
        uint64_t begun = door_is_timed ? door_clock() : 0;                                                             \
        int error = describe(&o, arguments) ? door_run(&o, DOOR_##Name) : PMPI_##Name(arguments);                      \
        if (begun)                                                                                                     \
            door_took(&o, begun);                                                                                      \
        return error;                                                                                                  \
    }                                                                                                                  \
    int MPI_I##lower(parameters, MPI_Request *request)                                                                 \
    {                                                                                                                  \
        door_operation local, *o = door_new(DOOR_NONBLOCKING, DOOR_##Name, &local);                                    \
        if (describe(o, arguments))                                                                                    \
            return door_begin(o, request);                                                                             \
        door_delete(o);                                                                                                \
        return PMPI_I##lower(arguments, request);                                                                      \
    }                                                                                                                  \
    DOOR_FORM_INIT(Name, describe, P(parameters), P(arguments))
#ifdef DOOR_INIT
#define DOOR_FORM_INIT(Name, describe, parameters, arguments)                                                          \
    int DOOR_INIT(Name)(parameters, MPI_Info info, MPI_Request * request)                                              \
    {                                                                                                                  \
        door_operation local, *o = door_new(DOOR_PERSISTENT, DOOR_##Name, &local);                                     \
        if (!describe(o, arguments))                                                                                   \
            door_delete(o);                                                                                            \
        else if (door_persist(o, request))                                                                             \
            return MPI_SUCCESS;                                                                                        \
        return DOOR_PINIT(Name)(arguments, info, request);                                                             \
    }
#else
#define DOOR_FORM_INIT(Name, describe, parameters, arguments)
#endif
