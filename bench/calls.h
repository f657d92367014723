/* SPDX-License-Identifier: BSD-3-Clause
 * The call of an operation that a benchmark names: of count elements, which are summed where they are combined; from or
 * to rank 0. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include "nbcoll/schedule.h"

typedef struct call {
    nbcoll_operation operation;
    void *send, *recv;
    size_t count;
    nbcoll_type type;
    nbcoll_comm *comm;
} call;

/* X(OPERATION, name, what goes before the communicator) */
#define CALL_VECTOR c->count, c->type
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, barrier, )                                                                                              \
    X(BCAST, bcast, c->recv, CALL_VECTOR, 0, )                                                                         \
    X(SCATTER, scatter, c->send, c->recv, CALL_VECTOR, 0, )                                                            \
    X(GATHER, gather, c->send, c->recv, CALL_VECTOR, 0, )                                                              \
    X(ALLGATHER, allgather, c->send, c->recv, CALL_VECTOR, )                                                           \
    X(REDUCE, reduce, c->send, c->recv, CALL_VECTOR, NBCOLL_SUM, 0, )                                                  \
    X(ALLREDUCE, allreduce, c->send, c->recv, CALL_VECTOR, NBCOLL_SUM, )                                               \
    X(ALLTOALL, alltoall, c->send, c->recv, CALL_VECTOR, )

#define CALL_BLOCK(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION: return nbcoll_##name(__VA_ARGS__ c->comm, timeout);
#define CALL_START(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION: return nbcoll_i##name(__VA_ARGS__ c->comm, request);
#define CALL_INIT(OPERATION, name, ...)                                                                                \
    case NBCOLL_OPERATION_##OPERATION: return nbcoll_##name##_init(__VA_ARGS__ c->comm, request);
#define CALL_SWITCH(X)                                                                                                 \
    switch (c->operation) {                                                                                            \
        CALL_LIST(X)                                                                                                   \
    default: return NBCOLL_ERR_ARGUMENT;                                                                               \
    }

static inline nbcoll_status call_blocking(const call *c, uint64_t timeout)
{
    CALL_SWITCH(CALL_BLOCK)
}

static inline nbcoll_status call_start(const call *c, nbcoll_request *request)
{
    CALL_SWITCH(CALL_START)
}

static inline nbcoll_status call_init(const call *c, nbcoll_request *request)
{
    CALL_SWITCH(CALL_INIT)
}

#endif
