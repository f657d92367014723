/* SPDX-License-Identifier: BSD-3-Clause
 * The algorithms of all collectives, for who asks for one by its number or its name. */
#include "tables.h"

#include <stddef.h>
#include <string.h>

static const nbcolli_algorithms *nbcolli_algorithms_of(nbcoll_operation operation)
{
    static const nbcolli_algorithms *const of[] = {
        [NBCOLL_OPERATION_BARRIER] = &nbcolli_algorithms_barrier,
        [NBCOLL_OPERATION_BCAST] = &nbcolli_algorithms_bcast,
        [NBCOLL_OPERATION_SCATTER] = &nbcolli_algorithms_scatter,
        [NBCOLL_OPERATION_GATHER] = &nbcolli_algorithms_gather,
        [NBCOLL_OPERATION_ALLGATHER] = &nbcolli_algorithms_allgather,
        [NBCOLL_OPERATION_REDUCE] = &nbcolli_algorithms_reduce,
        [NBCOLL_OPERATION_ALLREDUCE] = &nbcolli_algorithms_allreduce,
        [NBCOLL_OPERATION_SCATTERV] = &nbcolli_algorithms_scatterv,
        [NBCOLL_OPERATION_GATHERV] = &nbcolli_algorithms_gatherv,
        [NBCOLL_OPERATION_ALLGATHERV] = &nbcolli_algorithms_allgatherv,
        [NBCOLL_OPERATION_ALLTOALL] = &nbcolli_algorithms_alltoall,
        [NBCOLL_OPERATION_ALLTOALLV] = &nbcolli_algorithms_alltoallv,
        [NBCOLL_OPERATION_ALLTOALLW] = &nbcolli_algorithms_alltoallw,
        [NBCOLL_OPERATION_REDUCE_SCATTER] = &nbcolli_algorithms_reduce_scatter,
        [NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK] = &nbcolli_algorithms_reduce_scatter_block,
        [NBCOLL_OPERATION_SCAN] = &nbcolli_algorithms_scan,
        [NBCOLL_OPERATION_EXSCAN] = &nbcolli_algorithms_exscan,
    };
    _Static_assert(sizeof of / sizeof *of == NBCOLL_OPERATION_COUNT, "each operation has its own");
    return (unsigned)operation < NBCOLL_OPERATION_COUNT ? of[operation] : NULL;
}

const nbcoll_algorithm *nbcoll_algorithm_at(nbcoll_operation operation, unsigned i)
{
    const nbcolli_algorithms *all = nbcolli_algorithms_of(operation);
    return all && i < all->count ? &all->algorithm[i] : NULL;
}

const nbcoll_algorithm *nbcoll_algorithm_find(nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *algorithm = nbcolli_algorithm_relays(operation);
    if (!name || (algorithm && !strcmp(algorithm->name, name)))
        return name ? algorithm : NULL;
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++)
        if (!strcmp(algorithm->name, name))
            return algorithm;
    return NULL;
}

nbcoll_status nbcoll_select(const nbcoll_terms *terms, const nbcoll_args *args, nbcoll_choice *out)
{
    int is_read = args && args->size >= offsetof(nbcoll_args, segment);
    return nbcolli_select(terms, args, is_read ? nbcolli_algorithms_of(args->operation) : NULL, out);
}

nbcoll_status nbcoll_predict(const nbcoll_terms *terms, const nbcoll_args *args, const nbcoll_algorithm *algorithm,
                             uint64_t *ns)
{
    const nbcolli_algorithms *all = algorithm ? nbcolli_algorithms_of(algorithm->operation) : NULL;
    nbcolli_cost_formula *cost = NULL;
    for (unsigned i = 0; all && i < all->count; i++)
        if (&all->algorithm[i] == algorithm)
            cost = all->cost[i];
    return nbcolli_predict(terms, args, algorithm, cost, ns);
}
