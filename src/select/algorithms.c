/* SPDX-License-Identifier: BSD-3-Clause
 * The table of algorithms, the choice among them, and the way from an algorithm to a schedule. */
#include "../host/host.h"
#include "../reduce/reduce.h"
#include "../schedule/schedule.h"
#include "nbcoll/pattern.h"
#include "select.h"

/* Append-only within an operation: the one for small data first, the one for large data second.
 * X(OPERATION, function, name, flags): nbcolli_<function> is defined in src/algorithms, in the file of that name, or in
 * that of the builder which it shares with others. */
#define NBCOLLI_ALGORITHM_LIST(X, REORDERS, REPRODUCIBLE, COUNTS, SEGMENT, ARITY, PORTS, SPLIT, LEADERS, NODES,        \
                               EXPOSES, DOMAINS, TOLERANT, TOGETHER)                                                   \
    X(BARRIER, barrier_dissemination, dissemination, 0)                                                                \
    X(BARRIER, barrier_slots, slots, EXPOSES)                                                                          \
    X(BARRIER, barrier_binomial, binomial, 0)                                                                          \
    X(BARRIER, barrier_gather_bcast, gather_bcast, 0)                                                                  \
    X(BARRIER, barrier_two_roots, two_roots, 0)                                                                        \
    X(BARRIER, barrier_recursive_doubling, recursive_doubling, 0)                                                      \
    X(BARRIER, barrier_dissemination_ports, dissemination_ports, PORTS)                                                \
    X(BARRIER, barrier_hierarchical, hierarchical, NODES | LEADERS | EXPOSES)                                          \
    X(BARRIER, barrier_hierarchical_domains, hierarchical_domains, DOMAINS | LEADERS | 2 * EXPOSES)                    \
    X(BCAST, bcast_binomial, binomial, SPLIT | TOLERANT)                                                               \
    X(BCAST, bcast_scatter_ring, scatter_ring, TOLERANT)                                                               \
    X(BCAST, bcast_slots, slots, EXPOSES | TOGETHER)                                                                   \
    X(BCAST, bcast_slots_chain, slots_chain, EXPOSES | SEGMENT)                                                        \
    X(BCAST, bcast_spanning_tree, spanning_tree, TOLERANT)                                                             \
    X(BCAST, bcast_flat, flat, TOLERANT)                                                                               \
    X(BCAST, bcast_flat_sequential, flat_sequential, 0)                                                                \
    X(BCAST, bcast_tree, tree, ARITY | TOLERANT)                                                                       \
    X(BCAST, bcast_tree_pipelined, tree_pipelined, ARITY | SEGMENT | TOLERANT)                                         \
    X(BCAST, bcast_chain_pipelined, chain_pipelined, SEGMENT | TOLERANT)                                               \
    X(BCAST, bcast_hierarchical, hierarchical, ARITY | SEGMENT | NODES | LEADERS | EXPOSES)                            \
    X(BCAST, bcast_hierarchical_domains, hierarchical_domains, ARITY | SEGMENT | DOMAINS | LEADERS | 2 * EXPOSES)      \
    X(SCATTER, scatter_binomial, binomial, SPLIT)                                                                      \
    X(SCATTER, scatter_flat, flat, 0)                                                                                  \
    X(SCATTER, scatter_slots, slots, EXPOSES)                                                                          \
    X(SCATTER, scatter_spanning_tree, spanning_tree, 0)                                                                \
    X(SCATTER, scatter_flat_sequential, flat_sequential, 0)                                                            \
    X(SCATTER, scatter_hierarchical, hierarchical, NODES | LEADERS | EXPOSES)                                          \
    X(GATHER, gather_binomial, binomial, SPLIT)                                                                        \
    X(GATHER, gather_flat, flat, 0)                                                                                    \
    X(GATHER, gather_slots, slots, EXPOSES)                                                                            \
    X(GATHER, gather_spanning_tree, spanning_tree, 0)                                                                  \
    X(GATHER, gather_flat_sequential, flat_sequential, 0)                                                              \
    X(GATHER, gather_hierarchical, hierarchical, NODES | LEADERS | EXPOSES)                                            \
    X(ALLGATHER, allgather_bruck, bruck, 0)                                                                            \
    X(ALLGATHER, allgather_ring, ring, TOLERANT)                                                                       \
    X(ALLGATHER, allgather_slots, slots, EXPOSES | TOGETHER)                                                           \
    X(ALLGATHER, allgather_flat, flat, TOLERANT)                                                                       \
    X(ALLGATHER, allgather_recursive_doubling, recursive_doubling, 0)                                                  \
    X(ALLGATHER, allgather_ring_sequential, ring_sequential, 0)                                                        \
    X(ALLGATHER, allgather_gather_bcast, gather_bcast, 0)                                                              \
    X(ALLGATHER, allgather_exchange, exchange, PORTS)                                                                  \
    X(ALLGATHER, allgather_exchange_pipelined, exchange_pipelined, PORTS | TOLERANT)                                   \
    X(ALLGATHER, allgather_bruck_ports, bruck_ports, PORTS)                                                            \
    X(ALLGATHER, allgather_bruck_pipelined, bruck_pipelined, PORTS | TOLERANT)                                         \
    X(ALLGATHER, allgather_two_roots, two_roots, 0)                                                                    \
    X(ALLGATHER, allgather_binomial, binomial, 0)                                                                      \
    X(ALLGATHER, allgather_cayley, cayley, PORTS | TOLERANT)                                                           \
    X(ALLGATHER, allgather_hierarchical, hierarchical, PORTS | NODES | LEADERS | EXPOSES)                              \
    X(ALLGATHER, allgather_hierarchical_groups, hierarchical_groups, PORTS | NODES | LEADERS | EXPOSES)                \
    X(REDUCE, reduce_binomial, binomial, REPRODUCIBLE | SPLIT)                                                         \
    X(REDUCE, reduce_pairwise, pairwise, 0)                                                                            \
    X(REDUCE, reduce_scatter_owners, owners, REPRODUCIBLE)                                                             \
    X(REDUCE, reduce_slots, slots, EXPOSES)                                                                            \
    X(REDUCE, combine_flat, flat, 0)                                                                                   \
    X(REDUCE, combine_flat_sequential, flat_sequential, 0)                                                             \
    X(REDUCE, reduce_spanning_tree, spanning_tree, 0)                                                                  \
    X(REDUCE, reduce_hierarchical, hierarchical, REORDERS | SEGMENT | NODES | LEADERS | EXPOSES)                       \
    X(REDUCE, reduce_hierarchical_ordered, hierarchical_ordered, SEGMENT | NODES | LEADERS | EXPOSES)                  \
    X(REDUCE, reduce_hierarchical_domains, hierarchical_domains, REORDERS | SEGMENT | DOMAINS | LEADERS | EXPOSES)     \
    X(ALLREDUCE, allreduce_recursive_doubling, recursive_doubling, 0)                                                  \
    X(ALLREDUCE, allreduce_ring, ring, REORDERS)                                                                       \
    X(ALLREDUCE, allreduce_groups, groups, REPRODUCIBLE)                                                               \
    X(ALLREDUCE, reduce_scatter_owners, owners, REPRODUCIBLE)                                                          \
    X(ALLREDUCE, allreduce_slots, slots, EXPOSES)                                                                      \
    X(ALLREDUCE, combine_flat, flat, 0)                                                                                \
    X(ALLREDUCE, allreduce_binomial, binomial, REPRODUCIBLE | SPLIT)                                                   \
    X(ALLREDUCE, allreduce_recursive_doubling_sequential, recursive_doubling_sequential, 0)                            \
    X(ALLREDUCE, allreduce_two_roots, two_roots, REPRODUCIBLE)                                                         \
    X(ALLREDUCE, allreduce_reduce_bcast, reduce_bcast, 0)                                                              \
    X(ALLREDUCE, allreduce_halving, halving, 0)                                                                        \
    X(ALLREDUCE, allreduce_hierarchical, hierarchical, REORDERS | SEGMENT | NODES | LEADERS | EXPOSES)                 \
    X(ALLREDUCE, allreduce_hierarchical_ordered, hierarchical_ordered, SEGMENT | NODES | LEADERS | EXPOSES)            \
    X(ALLREDUCE, allreduce_hierarchical_domains, hierarchical_domains,                                                 \
      REORDERS | SEGMENT | DOMAINS | LEADERS | 2 * EXPOSES)                                                            \
    X(ALLREDUCE, allreduce_slots_owners, slots_owners, 2 * EXPOSES | TOGETHER)                                         \
    X(SCATTERV, scatterv_binomial, binomial, COUNTS)                                                                   \
    X(SCATTERV, scatter_flat, flat, 0)                                                                                 \
    X(SCATTERV, scatter_flat_sequential, flat_sequential, 0)                                                           \
    X(SCATTERV, scatterv_spanning_tree, spanning_tree, COUNTS)                                                         \
    X(SCATTERV, scatter_hierarchical, hierarchical, COUNTS | NODES | LEADERS | EXPOSES)                                \
    X(GATHERV, gatherv_binomial, binomial, COUNTS)                                                                     \
    X(GATHERV, gather_flat, flat, 0)                                                                                   \
    X(GATHERV, gather_flat_sequential, flat_sequential, 0)                                                             \
    X(GATHERV, gatherv_spanning_tree, spanning_tree, COUNTS)                                                           \
    X(GATHERV, gather_hierarchical, hierarchical, COUNTS | NODES | LEADERS | EXPOSES)                                  \
    X(ALLGATHERV, allgather_bruck, bruck, COUNTS)                                                                      \
    X(ALLGATHERV, allgather_ring, ring, COUNTS | TOLERANT)                                                             \
    X(ALLGATHERV, allgather_flat, flat, COUNTS | TOLERANT)                                                             \
    X(ALLGATHERV, allgather_recursive_doubling, recursive_doubling, COUNTS)                                            \
    X(ALLGATHERV, allgather_ring_sequential, ring_sequential, COUNTS)                                                  \
    X(ALLGATHERV, allgather_gather_bcast, gather_bcast, COUNTS)                                                        \
    X(ALLGATHERV, allgather_exchange, exchange, COUNTS | PORTS)                                                        \
    X(ALLGATHERV, allgather_exchange_pipelined, exchange_pipelined, COUNTS | PORTS | TOLERANT)                         \
    X(ALLGATHERV, allgather_bruck_ports, bruck_ports, COUNTS | PORTS)                                                  \
    X(ALLGATHERV, allgather_bruck_pipelined, bruck_pipelined, COUNTS | PORTS | TOLERANT)                               \
    X(ALLGATHERV, allgather_two_roots, two_roots, COUNTS)                                                              \
    X(ALLGATHERV, allgather_binomial, binomial, COUNTS)                                                                \
    X(ALLGATHERV, allgather_cayley, cayley, COUNTS | PORTS | TOLERANT)                                                 \
    X(ALLGATHERV, allgather_hierarchical, hierarchical, COUNTS | PORTS | NODES | LEADERS | EXPOSES)                    \
    X(ALLGATHERV, allgather_hierarchical_groups, hierarchical_groups, COUNTS | PORTS | NODES | LEADERS | EXPOSES)      \
    X(ALLTOALL, alltoall_bruck, bruck, 0)                                                                              \
    X(ALLTOALL, alltoall_pairwise, pairwise, 0)                                                                        \
    X(ALLTOALL, alltoall_flat, flat, 0)                                                                                \
    X(ALLTOALL, alltoall_slots, slots, EXPOSES)                                                                        \
    X(ALLTOALL, alltoall_flat_sequential, flat_sequential, 0)                                                          \
    X(ALLTOALL, alltoall_flat_sequential_sends, flat_sequential_sends, 0)                                              \
    X(ALLTOALL, alltoall_flat_sequential_receives, flat_sequential_receives, 0)                                        \
    X(ALLTOALL, alltoall_hierarchical, hierarchical, NODES | LEADERS | EXPOSES)                                        \
    X(ALLTOALLV, alltoall_flat, flat, 0)                                                                               \
    X(ALLTOALLV, alltoall_pairwise, pairwise, 0)                                                                       \
    X(ALLTOALLV, alltoall_flat_sequential, flat_sequential, 0)                                                         \
    X(ALLTOALLV, alltoall_flat_sequential_sends, flat_sequential_sends, 0)                                             \
    X(ALLTOALLV, alltoall_flat_sequential_receives, flat_sequential_receives, 0)                                       \
    X(ALLTOALLW, alltoall_flat, flat, 0)                                                                               \
    X(ALLTOALLW, alltoall_pairwise, pairwise, 0)                                                                       \
    X(ALLTOALLW, alltoall_flat_sequential, flat_sequential, 0)                                                         \
    X(ALLTOALLW, alltoall_flat_sequential_sends, flat_sequential_sends, 0)                                             \
    X(ALLTOALLW, alltoall_flat_sequential_receives, flat_sequential_receives, 0)                                       \
    X(REDUCE_SCATTER, reduce_scatter_binomial, binomial, REPRODUCIBLE)                                                 \
    X(REDUCE_SCATTER, reduce_scatter_owners, owners, REPRODUCIBLE)                                                     \
    X(REDUCE_SCATTER, reduce_scatter_halving, halving, REORDERS)                                                       \
    X(REDUCE_SCATTER, reduce_scatter_halving_sequential, halving_sequential, REORDERS)                                 \
    X(REDUCE_SCATTER, reduce_scatter_ring, ring, REORDERS)                                                             \
    X(REDUCE_SCATTER, reduce_scatter_ring_sequential, ring_sequential, REORDERS)                                       \
    X(REDUCE_SCATTER, reduce_scatter_hierarchical, hierarchical, REORDERS | NODES | LEADERS | EXPOSES)                 \
    X(REDUCE_SCATTER, reduce_scatter_hierarchical_ordered, hierarchical_ordered, NODES | LEADERS | EXPOSES)            \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_binomial, binomial, REPRODUCIBLE)                                           \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_owners, owners, REPRODUCIBLE)                                               \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving, halving, REORDERS)                                                 \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_halving_sequential, halving_sequential, REORDERS)                           \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring, ring, REORDERS)                                                       \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_ring_sequential, ring_sequential, REORDERS)                                 \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical, hierarchical, REORDERS | NODES | LEADERS | EXPOSES)           \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_hierarchical_ordered, hierarchical_ordered, NODES | LEADERS | EXPOSES)      \
    X(SCAN, scan_recursive_doubling, recursive_doubling, REPRODUCIBLE)                                                 \
    X(SCAN, scan_linear, linear, 0)                                                                                    \
    X(SCAN, combine_flat, flat, 0)                                                                                     \
    X(SCAN, scan_hierarchical, hierarchical, SEGMENT | NODES | LEADERS | EXPOSES)                                      \
    X(EXSCAN, scan_recursive_doubling, recursive_doubling, REPRODUCIBLE)                                               \
    X(EXSCAN, exscan_linear, linear, 0)                                                                                \
    X(EXSCAN, combine_flat, flat, 0)                                                                                   \
    X(EXSCAN, scan_hierarchical, hierarchical, SEGMENT | NODES | LEADERS | EXPOSES)

/* The list with its flags: their short names are parameters above. */
#define NBCOLLI_ALGORITHMS(X)                                                                                          \
    NBCOLLI_ALGORITHM_LIST(X, NBCOLL_ALGORITHM_REORDERS, NBCOLL_ALGORITHM_REPRODUCIBLE, NBCOLL_ALGORITHM_COUNTS,       \
                           NBCOLL_ALGORITHM_SEGMENT, NBCOLL_ALGORITHM_ARITY, NBCOLL_ALGORITHM_PORTS,                   \
                           NBCOLL_ALGORITHM_SPLIT, NBCOLL_ALGORITHM_LEADERS, NBCOLL_ALGORITHM_NODES,                   \
                           NBCOLL_ALGORITHM_EXPOSES(1), NBCOLL_ALGORITHM_NODES | NBCOLL_ALGORITHM_DOMAINS,             \
                           NBCOLL_ALGORITHM_ARRIVAL_TOLERANT, NBCOLL_ALGORITHM_TOGETHER)

#define NBCOLLI_ALGORITHM_BUILD(OPERATION, function, name, flags) nbcoll_build nbcolli_##function;
NBCOLLI_ALGORITHMS(NBCOLLI_ALGORITHM_BUILD)

#define NBCOLLI_ALGORITHM_ENTRY(OPERATION, function, name, flags)                                                      \
    {sizeof(nbcoll_algorithm), #name, NBCOLL_OPERATION_##OPERATION, nbcolli_##function, flags, NULL},
static const nbcoll_algorithm nbcolli_algorithm_table[] = {NBCOLLI_ALGORITHMS(NBCOLLI_ALGORITHM_ENTRY)};

static const nbcoll_algorithm *const nbcolli_algorithm_end =
    nbcolli_algorithm_table + sizeof nbcolli_algorithm_table / sizeof *nbcolli_algorithm_table;

const nbcoll_algorithm *nbcoll_algorithm_at(nbcoll_operation operation, unsigned i)
{
    for (const nbcoll_algorithm *entry = nbcolli_algorithm_table; entry < nbcolli_algorithm_end; entry++)
        if (entry->operation == operation && !i--)
            return entry;
    return NULL;
}

/* Relays work without a schedule. */
static void nbcolli_relays_no_schedule(nbcoll_builder *b, const nbcoll_args *a)
{
    (void)a;
    nbcoll_builder_fail(b, NBCOLL_ERR_UNSUPPORTED);
}

#define NBCOLLI_RELAYS_ENTRY(OPERATION)                                                                                \
    {sizeof(nbcoll_algorithm), "relays", NBCOLL_OPERATION_##OPERATION, nbcolli_relays_no_schedule,                     \
     NBCOLL_ALGORITHM_ARRIVAL_TOLERANT, NULL}
static const nbcoll_algorithm nbcolli_relays_table[] = {NBCOLLI_RELAYS_ENTRY(ALLGATHER), NBCOLLI_RELAYS_ENTRY(BCAST)};

const nbcoll_algorithm *nbcolli_algorithm_relays(nbcoll_operation operation)
{
    for (size_t i = 0; i < sizeof nbcolli_relays_table / sizeof *nbcolli_relays_table; i++)
        if (nbcolli_relays_table[i].operation == operation)
            return &nbcolli_relays_table[i];
    return NULL;
}

const nbcoll_algorithm *nbcoll_algorithm_find(nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *relays = nbcolli_algorithm_relays(operation);
    if (name && relays && !strcmp(relays->name, name))
        return relays;
    for (const nbcoll_algorithm *entry = nbcolli_algorithm_table; name && entry < nbcolli_algorithm_end; entry++)
        if (entry->operation == operation && !strcmp(entry->name, name))
            return entry;
    return NULL;
}

nbcoll_status nbcolli_algorithm_suits(const nbcoll_algorithm *algorithm, const nbcoll_args *a)
{
    const nbcolli_kind *kind = nbcolli_kind_of(a->operation);
    int has_all_counts = a->counts && kind->blocks != NBCOLLI_OWN;

    if (algorithm == nbcolli_algorithm_relays(a->operation))
        return NBCOLL_ERR_UNSUPPORTED; /* not by a schedule */
    if (kind->reduces && (algorithm->flags & NBCOLL_ALGORITHM_REORDERS) && !nbcolli_commutes(a->reduction.op))
        return NBCOLL_ERR_OP;
    return (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) && !has_all_counts ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_OK;
}

/* "<operation>/<algorithm>", as far as a schedule's name goes. */
static void nbcolli_algorithm_name(nbcoll_builder *b, const nbcoll_algorithm *algorithm)
{
    const char *parts[] = {nbcoll_operation_name(algorithm->operation), "/", algorithm->name};
    char name[64];
    size_t used = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *c = parts[i]; *c && used < sizeof name - 1; c++)
            name[used++] = *c;
    name[used] = '\0';
    nbcoll_set_name(b, name);
}

#define NBCOLLI_AGREEMENT (1u << 30) /* numbers of its messages: those of the algorithm are as they would be alone */

/* Of NBCOLL_CHECKED: a barrier by dissemination. Whoever gets a message of it compares what its sender has called, and
 * passes nothing on where that differs: so nobody comes behind it who has not heard from all that they have called the
 * same. */
static void nbcolli_build_agreement(nbcoll_builder *b)
{
    const nbcoll_addr nothing = {NBCOLL_BUFFER_SCRATCH, 0};
    nbcoll_step heard = NBCOLL_START;

    for (int k = 0; k < nbcoll_rounds(b->ranks); k++) {
        nbcoll_step said = nbcoll_add_send(b, nbcoll_dissemination_to(b->rank, k, b->ranks), nothing, 0);
        nbcoll_step hear = nbcoll_add_recv(b, nbcoll_dissemination_from(b->rank, k, b->ranks), nothing, 0);
        nbcoll_set_number(b, said, NBCOLLI_AGREEMENT + (uint32_t)k);
        nbcoll_set_number(b, hear, NBCOLLI_AGREEMENT + (uint32_t)k);
        nbcoll_after(b, said, heard);
        heard = nbcoll_add_join(b);
        nbcoll_after(b, heard, hear);
        nbcoll_after(b, heard, said);
    }
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
}

nbcoll_status nbcoll_build_schedule(const nbcoll_algorithm *algorithm, const nbcoll_args *a,
                                    const nbcoll_builder_config *config, nbcoll_schedule **out)
{
    nbcoll_algorithm whole = {0};
    nbcoll_args args = {0};
    nbcoll_builder *b;

    if (!algorithm || !a || !out)
        return NBCOLL_ERR_NULL;
    if (algorithm->size < offsetof(nbcoll_algorithm, flags) || nbcolli_copy_tagged(&args, a, sizeof args) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    nbcolli_copy_tagged(&whole, algorithm, sizeof whole);
    if (!whole.build || !whole.name)
        return NBCOLL_ERR_NULL;
    if (whole.operation != args.operation)
        return NBCOLL_ERR_ARGUMENT;
    nbcoll_builder_config c = {0};
    if (!config)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.cells && (whole.flags >> 16 > c.cells || !nbcolli_table_suffices(whole.flags, (size_t)c.ranks)))
        c.shares = NULL;
    nbcoll_status status = nbcoll_builder_open(&c, &b);
    if (status != NBCOLL_OK)
        return status;
    status = nbcoll_args_complete(&args, b->rank, b->ranks);
    if (status == NBCOLL_OK)
        status = nbcolli_algorithm_suits(&whole, &args);
    if (status != NBCOLL_OK) { /* not the builder's */
        nbcoll_builder_finish(b, NULL);
        return status;
    }
    nbcolli_algorithm_name(b, &whole);
    nbcoll_set_fingerprint(b, nbcolli_fingerprint(&args, b->ranks));
    if (c.flags & NBCOLL_CHECKED && args.operation != NBCOLL_OPERATION_BARRIER)
        nbcolli_build_agreement(b);
    if (args.packs)
        nbcolli_build_packed(b, &whole, &args);
    else
        whole.build(b, &args);
    return nbcoll_builder_finish(b, out);
}
