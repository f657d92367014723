/* SPDX-License-Identifier: BSD-3-Clause
 * The seventeen prototypes in their three forms. See call.h. */
#include "call.h"
#include "elements.h"

/* The arguments of a call, with those of its form at the end. */
#define MOVED(prefix, name, suffix, ...) return prefix##name##suffix(a->send, a->recv, a->count, type, __VA_ARGS__)
#define COMBINED(prefix, name, suffix, ...) MOVED(prefix, name, suffix, op, __VA_ARGS__)
#define CALL(prefix, suffix, ...)                                                                                      \
    const passed *a = &c->of[rank].passes;                                                                             \
    const vector *s = &a->sent, *r = &a->received;                                                                     \
    nbcoll_type type = element_type(c->c.type);                                                                        \
    nbcoll_op op = element_op(c->c.op);                                                                                \
    switch (c->c.what) {                                                                                               \
    case NBCOLL_OPERATION_BARRIER: return prefix##barrier##suffix(__VA_ARGS__);                                        \
    case NBCOLL_OPERATION_BCAST: return prefix##bcast##suffix(a->recv, a->count, type, c->c.root, __VA_ARGS__);        \
    case NBCOLL_OPERATION_SCATTER: MOVED(prefix, scatter, suffix, c->c.root, __VA_ARGS__);                             \
    case NBCOLL_OPERATION_GATHER: MOVED(prefix, gather, suffix, c->c.root, __VA_ARGS__);                               \
    case NBCOLL_OPERATION_ALLGATHER: MOVED(prefix, allgather, suffix, __VA_ARGS__);                                    \
    case NBCOLL_OPERATION_ALLTOALL: MOVED(prefix, alltoall, suffix, __VA_ARGS__);                                      \
    case NBCOLL_OPERATION_REDUCE: COMBINED(prefix, reduce, suffix, c->c.root, __VA_ARGS__);                            \
    case NBCOLL_OPERATION_ALLREDUCE: COMBINED(prefix, allreduce, suffix, __VA_ARGS__);                                 \
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK: COMBINED(prefix, reduce_scatter_block, suffix, __VA_ARGS__);           \
    case NBCOLL_OPERATION_SCAN: COMBINED(prefix, scan, suffix, __VA_ARGS__);                                           \
    case NBCOLL_OPERATION_EXSCAN: COMBINED(prefix, exscan, suffix, __VA_ARGS__);                                       \
    case NBCOLL_OPERATION_REDUCE_SCATTER:                                                                              \
        return prefix##reduce_scatter##suffix(a->send, a->recv, s->counts, type, op, __VA_ARGS__);                     \
    case NBCOLL_OPERATION_SCATTERV:                                                                                    \
        return prefix##scatterv##suffix(a->send, s->counts, s->displs, a->recv, a->count, type, c->c.root,             \
                                        __VA_ARGS__);                                                                  \
    case NBCOLL_OPERATION_GATHERV:                                                                                     \
        return prefix##gatherv##suffix(a->send, a->count, a->recv, r->counts, r->displs, type, c->c.root,              \
                                       __VA_ARGS__);                                                                   \
    case NBCOLL_OPERATION_ALLGATHERV:                                                                                  \
        return prefix##allgatherv##suffix(a->send, a->recv, r->counts, r->displs, type, __VA_ARGS__);                  \
    case NBCOLL_OPERATION_ALLTOALLV:                                                                                   \
        return prefix##alltoallv##suffix(a->send, s->counts, s->displs, a->recv, r->counts, r->displs, type,           \
                                         __VA_ARGS__);                                                                 \
    case NBCOLL_OPERATION_ALLTOALLW:                                                                                   \
        return prefix##alltoallw##suffix(a->send, s->counts, s->displs, s->types, a->recv, r->counts, r->displs,       \
                                         r->types, __VA_ARGS__);                                                       \
    default: return NBCOLL_ERR_ARGUMENT;                                                                               \
    }

nbcoll_status call_start(const call *c, int rank, nbcoll_comm *comm, nbcoll_request *request)
{
    CALL(nbcoll_i, , comm, request)
}

nbcoll_status call_init(const call *c, int rank, nbcoll_comm *comm, nbcoll_request *request)
{
    CALL(nbcoll_, _init, comm, request)
}

nbcoll_status call_blocking(const call *c, int rank, nbcoll_comm *comm, uint64_t timeout)
{
    CALL(nbcoll_, , comm, timeout)
}
