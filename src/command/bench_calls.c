/* SPDX-License-Identifier: BSD-3-Clause
 * Each operation as `nbcoll bench` calls it: blocks are equal, nothing is in place. */
#include <stdlib.h>

#include "bench.h"

/* X(OPERATION, name, what goes before the communicator). */
#define VECTOR c->plan->count, c->plan->reduction.type
#define OP c->plan->reduction.op
#define ROOT c->plan->root
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, barrier, )                                                                                              \
    X(BCAST, bcast, recv, VECTOR, ROOT, )                                                                              \
    X(SCATTER, scatter, send, recv, VECTOR, ROOT, )                                                                    \
    X(GATHER, gather, send, recv, VECTOR, ROOT, )                                                                      \
    X(ALLGATHER, allgather, send, recv, VECTOR, )                                                                      \
    X(REDUCE, reduce, send, recv, VECTOR, OP, ROOT, )                                                                  \
    X(ALLREDUCE, allreduce, send, recv, VECTOR, OP, )                                                                  \
    X(SCATTERV, scatterv, send, c->counts, c->displs, recv, VECTOR, ROOT, )                                            \
    X(GATHERV, gatherv, send, c->plan->count, recv, c->counts, c->displs, c->plan->reduction.type, ROOT, )             \
    X(ALLGATHERV, allgatherv, send, recv, c->counts, c->displs, c->plan->reduction.type, )                             \
    X(ALLTOALL, alltoall, send, recv, VECTOR, )                                                                        \
    X(ALLTOALLV, alltoallv, send, c->counts, c->displs, recv, c->counts, c->displs, c->plan->reduction.type, )         \
    X(ALLTOALLW, alltoallw, send, c->counts, c->offsets, c->types, recv, c->counts, c->offsets, c->types, )            \
    X(REDUCE_SCATTER, reduce_scatter, send, recv, c->counts, c->plan->reduction.type, OP, )                            \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, send, recv, VECTOR, OP, )                                            \
    X(SCAN, scan, send, recv, VECTOR, OP, )                                                                            \
    X(EXSCAN, exscan, send, recv, VECTOR, OP, )

#define START_CALL(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return nbcoll_i##name(__VA_ARGS__ c->comm, request);
#define BLOCK_CALL(OPERATION, name, ...)                                                                               \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return nbcoll_##name(__VA_ARGS__ c->comm, timeout);

nbcoll_status bench_start(const bench_call *c, void *send, void *recv, nbcoll_request *request)
{
    if (c->schedule)
        return nbcoll_schedule_start(c->schedule, send, recv, c->comm, request);
    switch (c->plan->operation) {
        CALL_LIST(START_CALL)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

nbcoll_status bench_block(const bench_call *c, void *send, void *recv, uint64_t timeout)
{
    nbcoll_request request;
    if (c->schedule) {
        nbcoll_status status = bench_start(c, send, recv, &request);
        return status == NBCOLL_OK ? nbcoll_wait(&request, timeout) : status;
    }
    switch (c->plan->operation) {
        CALL_LIST(BLOCK_CALL)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

int bench_can_force(nbcoll_operation operation)
{
    return operation != NBCOLL_OPERATION_SCATTERV && operation != NBCOLL_OPERATION_GATHERV &&
           operation != NBCOLL_OPERATION_ALLTOALLV && operation != NBCOLL_OPERATION_ALLTOALLW;
}

int bench_has_root(nbcoll_operation operation)
{
    switch (operation) {
    case NBCOLL_OPERATION_BCAST:
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_REDUCE:
    case NBCOLL_OPERATION_SCATTERV:
    case NBCOLL_OPERATION_GATHERV:
        return 1;
    default:
        return 0;
    }
}

static int has_blocks(nbcoll_operation operation)
{
    switch (operation) {
    case NBCOLL_OPERATION_BARRIER:
    case NBCOLL_OPERATION_BCAST:
    case NBCOLL_OPERATION_REDUCE:
    case NBCOLL_OPERATION_ALLREDUCE:
    case NBCOLL_OPERATION_SCAN:
    case NBCOLL_OPERATION_EXSCAN:
        return 0;
    default:
        return 1;
    }
}

size_t bench_buffer_bytes(const bench_plan *plan)
{
    size_t blocks = has_blocks(plan->operation) ? (size_t)plan->ranks : 1;
    return plan->count * nbcoll_type_size(plan->reduction.type) * blocks;
}

static nbcoll_status build(bench_call *c, const nbcoll_algorithm *algorithm)
{
    const bench_plan *plan = c->plan;
    int are_known =
        plan->operation == NBCOLL_OPERATION_ALLGATHERV || plan->operation == NBCOLL_OPERATION_REDUCE_SCATTER;
    nbcoll_args args = {.size = sizeof args,
                        .operation = plan->operation,
                        .root = plan->root,
                        .count = plan->count,
                        .reduction = plan->reduction,
                        .counts = are_known ? c->counts : NULL};
    nbcoll_builder_config config = {.size = sizeof config,
                                    .rank = nbcoll_comm_rank(c->comm),
                                    .ranks = plan->ranks,
                                    .shares = nbcoll_comm_shares,
                                    .shares_user = c->comm,
                                    .cells = ((nbcoll_comm_config)NBCOLL_COMM_DEFAULTS).cells};
    return nbcoll_build_schedule(algorithm, &args, &config, &c->schedule);
}

nbcoll_status bench_call_open(bench_call *c, const bench_plan *plan, const nbcoll_algorithm *algorithm,
                              nbcoll_comm *comm)
{
    size_t ranks = (size_t)plan->ranks, element = nbcoll_type_size(plan->reduction.type);
    *c = (bench_call){.plan = plan, .comm = comm};
    c->counts = calloc(ranks, sizeof *c->counts);
    c->displs = calloc(ranks, sizeof *c->displs);
    c->offsets = calloc(ranks, sizeof *c->offsets);
    c->types = calloc(ranks, sizeof *c->types);
    if (!c->counts || !c->displs || !c->offsets || !c->types)
        return NBCOLL_ERR_MEMORY;
    for (size_t i = 0; i < ranks; i++) {
        c->counts[i] = plan->count;
        c->displs[i] = i * plan->count;
        c->offsets[i] = i * plan->count * element;
        c->types[i] = plan->reduction.type;
    }
    return algorithm ? build(c, algorithm) : NBCOLL_OK;
}

void bench_call_close(bench_call *c)
{
    nbcoll_schedule_free(c->schedule);
    free(c->counts);
    free(c->displs);
    free(c->offsets);
    free(c->types);
}
