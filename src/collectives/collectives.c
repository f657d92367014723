/* SPDX-License-Identifier: BSD-3-Clause
 * The collectives as a program calls them: each in three forms over one path, which checks, finds the schedule and
 * starts it. What an operation needs of its arguments is said here, once. */
#include "nbcoll/inline/context.h"

typedef enum form { NOW, LATER, AND_WAIT } form;

/* How a call is to be carried out. */
typedef struct manner {
    form form;
    nbcoll_request *request; /* NOW, LATER */
    uint64_t timeout;        /* AND_WAIT */
} manner;

#define STARTED(request) ((manner){NOW, request, 0})
#define PREPARED(request) ((manner){LATER, request, 0})
#define WAITED(timeout) ((manner){AND_WAIT, NULL, timeout})

static nbcoll_status carry_out(nbcoll_args *a, const void *send, void *recv, nbcoll_comm *comm, manner how)
{
    nbcoll_request mine, *request = how.form == AND_WAIT ? &mine : how.request;
    nbcoll_context *c = comm->context;
    nbcoll_schedule *schedule;
    nbcoll_status s = nbcoll_args_complete(a, comm->rank, comm->size);

    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_schedule(comm, a, &schedule);
    if (s == NBCOLL_OK)
        s = nbcolli_begin(schedule, send, recv, comm, how.form == LATER, request);
    s = nbcolli_leave(c, s);
    return s == NBCOLL_OK && how.form == AND_WAIT ? nbcolli_wait_or_leave(request, how.timeout) : s;
}

/* Checks what does not depend on the operation. */
static nbcoll_status usable(const nbcoll_comm *comm, int root, const manner *how)
{
    if (!comm || (how->form != AND_WAIT && !how->request))
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(comm->context))
        return NBCOLL_ERR_FORKED;
    return root < 0 || root >= comm->size ? NBCOLL_ERR_ROOT : NBCOLL_OK;
}

/* A buffer that the rank uses: there unless empty, and in place only where the operation allows it. */
static int bad(const void *buffer, size_t count, int may_be_in_place)
{
    return buffer == NBCOLL_IN_PLACE ? !may_be_in_place : !buffer && count;
}

/* ---- barrier, bcast -------------------------------------------------------------------------------------------- */

static nbcoll_status barrier(nbcoll_comm *comm, manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_BARRIER};
    nbcoll_status s = usable(comm, 0, &how);
    return s == NBCOLL_OK ? carry_out(&a, NULL, NULL, comm, how) : s;
}

static nbcoll_status bcast(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm, manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_BCAST, .root = root, .count = count,
                     .reduction = {type, NBCOLL_SUM}};
    nbcoll_status s = usable(comm, root, &how);
    if (s == NBCOLL_OK && bad(buffer, count, 0))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, NULL, buffer, comm, how) : s;
}

/* ---- scatter, gather, allgather -------------------------------------------------------------------------------- */

static nbcoll_status scatter(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                             nbcoll_comm *comm, manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_SCATTER, .root = root, .count = count,
                     .reduction = {type, NBCOLL_SUM}, .in_place = recv == NBCOLL_IN_PLACE};
    nbcoll_status s = usable(comm, root, &how);
    int at_root = s == NBCOLL_OK && comm->rank == root;
    if (s == NBCOLL_OK && ((at_root && bad(send, count, 0)) || bad(recv, count, at_root)))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, send, a.in_place ? NULL : recv, comm, how) : s;
}

static nbcoll_status gather(const void *send, void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                            manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_GATHER, .root = root, .count = count,
                     .reduction = {type, NBCOLL_SUM}, .in_place = send == NBCOLL_IN_PLACE};
    nbcoll_status s = usable(comm, root, &how);
    int at_root = s == NBCOLL_OK && comm->rank == root;
    if (s == NBCOLL_OK && ((at_root && bad(recv, count, 0)) || bad(send, count, at_root)))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, a.in_place ? NULL : send, recv, comm, how) : s;
}

static nbcoll_status allgather(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_comm *comm,
                               manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLGATHER, .count = count,
                     .reduction = {type, NBCOLL_SUM}, .in_place = send == NBCOLL_IN_PLACE};
    nbcoll_status s = usable(comm, 0, &how);
    if (s == NBCOLL_OK && (bad(recv, count, 0) || bad(send, count, 1)))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, a.in_place ? NULL : send, recv, comm, how) : s;
}

/* ---- reduce, allreduce ----------------------------------------------------------------------------------------- */

static nbcoll_status reduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op, int root,
                            nbcoll_comm *comm, manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_REDUCE, .root = root, .count = count,
                     .reduction = {type, op}, .in_place = send == NBCOLL_IN_PLACE};
    nbcoll_status s = usable(comm, root, &how);
    int at_root = s == NBCOLL_OK && comm->rank == root;
    if (s == NBCOLL_OK && ((at_root && bad(recv, count, 0)) || bad(send, count, at_root)))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, a.in_place ? NULL : send, recv, comm, how) : s;
}

static nbcoll_status allreduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                               nbcoll_comm *comm, manner how)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLREDUCE, .count = count,
                     .reduction = {type, op}, .in_place = send == NBCOLL_IN_PLACE};
    nbcoll_status s = usable(comm, 0, &how);
    if (s == NBCOLL_OK && (bad(recv, count, 0) || bad(send, count, 1)))
        s = NBCOLL_ERR_BUFFER;
    return s == NBCOLL_OK ? carry_out(&a, a.in_place ? NULL : send, recv, comm, how) : s;
}

/* ---- the three forms ------------------------------------------------------------------------------------------- */

nbcoll_status nbcoll_ibarrier(nbcoll_comm *comm, nbcoll_request *request)
{
    return barrier(comm, STARTED(request));
}

nbcoll_status nbcoll_barrier_init(nbcoll_comm *comm, nbcoll_request *request)
{
    return barrier(comm, PREPARED(request));
}

nbcoll_status nbcoll_barrier(nbcoll_comm *comm, uint64_t timeout)
{
    return barrier(comm, WAITED(timeout));
}

nbcoll_status nbcoll_ibcast(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                            nbcoll_request *request)
{
    return bcast(buffer, count, type, root, comm, STARTED(request));
}

nbcoll_status nbcoll_bcast_init(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                nbcoll_request *request)
{
    return bcast(buffer, count, type, root, comm, PREPARED(request));
}

nbcoll_status nbcoll_bcast(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm, uint64_t timeout)
{
    return bcast(buffer, count, type, root, comm, WAITED(timeout));
}

nbcoll_status nbcoll_iscatter(const void *send, void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                              nbcoll_request *request)
{
    return scatter(send, recv, count, type, root, comm, STARTED(request));
}

nbcoll_status nbcoll_scatter_init(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                  nbcoll_comm *comm, nbcoll_request *request)
{
    return scatter(send, recv, count, type, root, comm, PREPARED(request));
}

nbcoll_status nbcoll_scatter(const void *send, void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                             uint64_t timeout)
{
    return scatter(send, recv, count, type, root, comm, WAITED(timeout));
}

nbcoll_status nbcoll_igather(const void *send, void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                             nbcoll_request *request)
{
    return gather(send, recv, count, type, root, comm, STARTED(request));
}

nbcoll_status nbcoll_gather_init(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                 nbcoll_comm *comm, nbcoll_request *request)
{
    return gather(send, recv, count, type, root, comm, PREPARED(request));
}

nbcoll_status nbcoll_gather(const void *send, void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                            uint64_t timeout)
{
    return gather(send, recv, count, type, root, comm, WAITED(timeout));
}

nbcoll_status nbcoll_iallgather(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_comm *comm,
                                nbcoll_request *request)
{
    return allgather(send, recv, count, type, comm, STARTED(request));
}

nbcoll_status nbcoll_allgather_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_comm *comm,
                                    nbcoll_request *request)
{
    return allgather(send, recv, count, type, comm, PREPARED(request));
}

nbcoll_status nbcoll_allgather(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_comm *comm,
                               uint64_t timeout)
{
    return allgather(send, recv, count, type, comm, WAITED(timeout));
}

nbcoll_status nbcoll_ireduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op, int root,
                             nbcoll_comm *comm, nbcoll_request *request)
{
    return reduce(send, recv, count, type, op, root, comm, STARTED(request));
}

nbcoll_status nbcoll_reduce_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op, int root,
                                 nbcoll_comm *comm, nbcoll_request *request)
{
    return reduce(send, recv, count, type, op, root, comm, PREPARED(request));
}

nbcoll_status nbcoll_reduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op, int root,
                            nbcoll_comm *comm, uint64_t timeout)
{
    return reduce(send, recv, count, type, op, root, comm, WAITED(timeout));
}

nbcoll_status nbcoll_iallreduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                nbcoll_comm *comm, nbcoll_request *request)
{
    return allreduce(send, recv, count, type, op, comm, STARTED(request));
}

nbcoll_status nbcoll_allreduce_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                    nbcoll_comm *comm, nbcoll_request *request)
{
    return allreduce(send, recv, count, type, op, comm, PREPARED(request));
}

nbcoll_status nbcoll_allreduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                               nbcoll_comm *comm, uint64_t timeout)
{
    return allreduce(send, recv, count, type, op, comm, WAITED(timeout));
}
