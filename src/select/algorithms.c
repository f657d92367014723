/* SPDX-License-Identifier: BSD-3-Clause
 * The table of algorithms, the choice among them, and the way from an algorithm to a schedule. */
#include "nbcoll/inline/host.h"
#include "nbcoll/inline/select.h"

/* Append-only within an operation: the one for small data first, the one for large data second.
 * X(OPERATION, operation, name, flags): src/algorithms/<operation>_<name>.c defines nbcolli_<operation>_<name>. */
#define ALGORITHM_LIST(X)                                                                                              \
    X(BARRIER, barrier, dissemination, 0)                                                                              \
    X(BARRIER, barrier, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                            \
    X(BCAST, bcast, binomial, 0)                                                                                       \
    X(BCAST, bcast, scatter_ring, 0)                                                                                   \
    X(BCAST, bcast, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                                \
    X(BCAST, bcast, slots_chain, NBCOLL_ALGORITHM_EXPOSES(1))                                                          \
    X(SCATTER, scatter, binomial, 0)                                                                                   \
    X(SCATTER, scatter, flat, 0)                                                                                       \
    X(SCATTER, scatter, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                            \
    X(GATHER, gather, binomial, 0)                                                                                     \
    X(GATHER, gather, flat, 0)                                                                                         \
    X(GATHER, gather, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                              \
    X(ALLGATHER, allgather, bruck, 0)                                                                                  \
    X(ALLGATHER, allgather, ring, 0)                                                                                   \
    X(ALLGATHER, allgather, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                        \
    X(REDUCE, reduce, binomial, 0)                                                                                     \
    X(REDUCE, reduce, pairwise, 0)                                                                                     \
    X(REDUCE, reduce, slots, NBCOLL_ALGORITHM_EXPOSES(1))                                                              \
    X(ALLREDUCE, allreduce, recursive_doubling, 0)                                                                     \
    X(ALLREDUCE, allreduce, ring, NBCOLL_ALGORITHM_REORDERS)                                                           \
    X(ALLREDUCE, allreduce, slots, NBCOLL_ALGORITHM_EXPOSES(1))

#define SLOTS_COMBINE 4096 /* bytes of a vector up to which reductions go through slots */

#define ALGORITHM_BUILD(OPERATION, operation, name, flags) nbcoll_build nbcolli_##operation##_##name;
ALGORITHM_LIST(ALGORITHM_BUILD)

#define ALGORITHM_ENTRY(OPERATION, operation, name, flags)                                                             \
    {sizeof(nbcoll_algorithm), #name, NBCOLL_OPERATION_##OPERATION, nbcolli_##operation##_##name, flags},
static const nbcoll_algorithm algorithm_table[] = {ALGORITHM_LIST(ALGORITHM_ENTRY)};

static const nbcoll_algorithm *const algorithm_end = algorithm_table + sizeof algorithm_table / sizeof *algorithm_table;

const nbcoll_algorithm *nbcoll_algorithm_at(nbcoll_operation operation, unsigned i)
{
    for (const nbcoll_algorithm *entry = algorithm_table; entry < algorithm_end; entry++)
        if (entry->operation == operation && !i--)
            return entry;
    return NULL;
}

const nbcoll_algorithm *nbcoll_algorithm_find(nbcoll_operation operation, const char *name)
{
    for (const nbcoll_algorithm *entry = algorithm_table; name && entry < algorithm_end; entry++)
        if (entry->operation == operation && !strcmp(entry->name, name))
            return entry;
    return NULL;
}

const nbcoll_algorithm *nbcolli_select(const nbcoll_args *a, int ranks, size_t large, int shared)
{
    int combines = a->operation == NBCOLL_OPERATION_REDUCE || a->operation == NBCOLL_OPERATION_ALLREDUCE;
    int has_blocks = a->operation == NBCOLL_OPERATION_SCATTER || a->operation == NBCOLL_OPERATION_GATHER ||
                     a->operation == NBCOLL_OPERATION_ALLGATHER;
    size_t bytes = has_blocks ? a->bytes * (size_t)ranks : a->bytes;
    /* Every reduction there is commutes, so that those that reorder are eligible too. */
    const nbcoll_algorithm *chosen = bytes >= large ? nbcoll_algorithm_at(a->operation, 1) : NULL;
    if (chosen && chosen->flags >> 16) /* there is no second one of messages alone */
        chosen = NULL;
    if (shared && !(combines && bytes > SLOTS_COMBINE)) /* one rank combines: many short vectors, not long ones */
        chosen = nbcoll_algorithm_find(a->operation, "slots");
    return chosen ? chosen : nbcoll_algorithm_at(a->operation, 0);
}

/* "<operation>/<algorithm>", as far as a schedule's name goes. */
static void algorithm_name(nbcoll_builder *b, const nbcoll_algorithm *algorithm)
{
    const char *parts[] = {nbcoll_operation_name(algorithm->operation), "/", algorithm->name};
    char name[64];
    size_t used = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && used < sizeof name - 1; c++)
            name[used++] = *c;
    name[used] = '\0';
    nbcoll_name(b, name);
}

nbcoll_status nbcoll_build_schedule(const nbcoll_algorithm *algorithm, const nbcoll_args *a,
                                    const nbcoll_builder_config *config, nbcoll_schedule **out)
{
    nbcoll_args args = {0};
    nbcoll_builder *b;

    if (!algorithm || !a || !out)
        return NBCOLL_ERR_NULL;
    if (algorithm->size < offsetof(nbcoll_algorithm, flags) || nbcolli_copy_tagged(&args, a, sizeof args) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!algorithm->build || !algorithm->name)
        return NBCOLL_ERR_NULL;
    if (algorithm->operation != args.operation)
        return NBCOLL_ERR_ARGUMENT;
    nbcoll_builder_config c = {0};
    if (!config)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.cells && algorithm->size >= sizeof *algorithm && algorithm->flags >> 16 > c.cells)
        c.shares = NULL;
    nbcoll_status status = nbcoll_builder_open(&c, &b);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&args, b->rank, b->ranks);
    if (status == NBCOLL_OK) {
        algorithm->build(b, &args);
        algorithm_name(b, algorithm);
        nbcoll_fingerprint(b, nbcolli_fingerprint(&args));
    }
    nbcoll_builder_fail(b, status);
    return nbcoll_builder_finish(b, out);
}
