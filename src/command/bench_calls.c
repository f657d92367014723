/* SPDX-License-Identifier: BSD-3-Clause
 * Each operation as `nbcoll bench` calls it: blocks are equal, nothing is in place. */
#include <stdlib.h>

#include "bench.h"

/* X(OPERATION, name, what goes before the communicator). */
#define TYPE c->plan->at.reduction.type
#define VECTOR c->plan->at.count, TYPE
#define OP c->plan->at.reduction.op
#define ROOT c->plan->at.root
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, barrier, )                                                                                              \
    X(BCAST, bcast, recv, VECTOR, ROOT, )                                                                              \
    X(SCATTER, scatter, send, recv, VECTOR, ROOT, )                                                                    \
    X(GATHER, gather, send, recv, VECTOR, ROOT, )                                                                      \
    X(ALLGATHER, allgather, send, recv, VECTOR, )                                                                      \
    X(REDUCE, reduce, send, recv, VECTOR, OP, ROOT, )                                                                  \
    X(ALLREDUCE, allreduce, send, recv, VECTOR, OP, )                                                                  \
    X(SCATTERV, scatterv, send, c->counts, c->displs, recv, VECTOR, ROOT, )                                            \
    X(GATHERV, gatherv, send, c->plan->at.count, recv, c->counts, c->displs, TYPE, ROOT, )                             \
    X(ALLGATHERV, allgatherv, send, recv, c->counts, c->displs, TYPE, )                                                \
    X(ALLTOALL, alltoall, send, recv, VECTOR, )                                                                        \
    X(ALLTOALLV, alltoallv, send, c->counts, c->displs, recv, c->counts, c->displs, TYPE, )                            \
    X(ALLTOALLW, alltoallw, send, c->counts, c->offsets, c->types, recv, c->counts, c->offsets, c->types, )            \
    X(REDUCE_SCATTER, reduce_scatter, send, recv, c->counts, TYPE, OP, )                                               \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, send, recv, VECTOR, OP, )                                            \
    X(SCAN, scan, send, recv, VECTOR, OP, )                                                                            \
    X(EXSCAN, exscan, send, recv, VECTOR, OP, )

#define CALL(OPERATION, name, ...)                                                                                     \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return request ? nbcoll_i##name(__VA_ARGS__ comm, request) : nbcoll_##name(__VA_ARGS__ comm, BENCH_DEADLINE);

nbcoll_status bench_perform(const bench_call *c, size_t entry, void *send, void *recv, nbcoll_request *request)
{
    nbcoll_comm *comm = c->comm[entry];
    switch (c->plan->at.operation) {
        CALL_LIST(CALL)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

size_t bench_buffer_bytes(const bench_plan *plan)
{
    size_t blocks = command_is(plan->at.operation, COMMAND_BLOCKS) ? (size_t)plan->at.ranks : 1;
    return plan->at.count * nbcoll_type_size(plan->at.reduction.type) * blocks;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* A communicator for the calls of an entry. */
static nbcoll_comm *make_comm(const bench_plan *plan, bench_shared *shared, const bench_entry *entry,
                              nbcoll_comm *parent, command_chosen *chosen)
{
    const nbcoll_algorithm *algorithm = entry->choice.algorithm;
    nbcoll_rule forced = command_rule(&entry->choice);
    nbcoll_case at = plan->at;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_comm *comm;
    config.rules = algorithm ? &forced : plan->rules->rules;
    config.rule_count = algorithm ? 1 : plan->rules->count;
    at.known |= algorithm && algorithm->flags & NBCOLL_ALGORITHM_COUNTS;
    config.flags = at.known ? NBCOLL_COUNTS_KNOWN : 0;
    bench_must(shared, nbcoll_comm_dup_with(parent, &config, &comm, BENCH_TIMEOUT));
    bench_must(shared, nbcoll_comm_terms(comm, &terms));
    bench_must(shared, command_choose(plan->rules, &terms, &at, chosen));
    if (algorithm && chosen->choice.algorithm != algorithm)
        bench_must(shared, NBCOLL_ERR_UNSUPPORTED); /* it cannot serve the call */
    return comm;
}

void bench_call_open(bench_call *c, const bench_plan *plan, bench_shared *shared, nbcoll_comm *comm,
                     command_chosen chosen[])
{
    size_t ranks = (size_t)plan->at.ranks, element = nbcoll_type_size(plan->at.reduction.type);
    command_chosen one;
    *c = (bench_call){.plan = plan, .counts = calloc(3 * ranks, sizeof *c->counts),
                      .types = calloc(ranks, sizeof *c->types)};
    if (!c->counts || !c->types)
        bench_must(shared, NBCOLL_ERR_MEMORY);
    c->displs = c->counts + ranks;
    c->offsets = c->displs + ranks;
    for (size_t i = 0; i < ranks; i++) {
        c->counts[i] = plan->at.count;
        c->displs[i] = i * plan->at.count;
        c->offsets[i] = i * plan->at.count * element;
        c->types[i] = plan->at.reduction.type;
    }
    for (size_t e = 0; e < plan->entries; e++)
        c->comm[e] = make_comm(plan, shared, &plan->entry[e], comm, chosen ? &chosen[e] : &one);
}

void bench_call_close(bench_call *c)
{
    for (size_t e = 0; e < c->plan->entries; e++)
        nbcoll_comm_free(c->comm[e]); /* where a message is still to be handed over, it ends with its context */
    free(c->counts);
    free(c->types);
}
