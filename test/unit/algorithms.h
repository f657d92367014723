/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of algorithms share: kinds of operations, arguments, and the first two algorithms of each. */
#ifndef TEST_UNIT_ALGORITHMS_H
#define TEST_UNIT_ALGORITHMS_H

#include "../../src/select/select.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

#define BIT(name) (UINT64_C(1) << NBCOLL_OPERATION_##name)

static inline int is_one_of(nbcoll_operation operation, uint64_t bits)
{
    return (int)(bits >> operation & 1);
}

__attribute__((unused)) /* not every test has a use for each */
static const uint64_t scatters = BIT(SCATTER) | BIT(SCATTERV), gathers = BIT(GATHER) | BIT(GATHERV),
                      allgathers = BIT(ALLGATHER) | BIT(ALLGATHERV),
                      alltoalls = BIT(ALLTOALL) | BIT(ALLTOALLV) | BIT(ALLTOALLW),
                      reduce_scatters = BIT(REDUCE_SCATTER) | BIT(REDUCE_SCATTER_BLOCK),
                      rooted = BIT(BCAST) | BIT(SCATTER) | BIT(SCATTERV) | BIT(GATHER) | BIT(GATHERV) | BIT(REDUCE),
                      reductions = BIT(REDUCE) | BIT(ALLREDUCE) | BIT(SCAN) | BIT(EXSCAN) | BIT(REDUCE_SCATTER) |
                                   BIT(REDUCE_SCATTER_BLOCK),
                      known = BIT(SCATTERV) | BIT(GATHERV) | BIT(ALLGATHERV) | BIT(REDUCE_SCATTER),
                      rows = BIT(ALLTOALLV) | BIT(ALLTOALLW),
                      placed = BIT(SCATTERV) | BIT(GATHERV) | BIT(ALLGATHERV) | BIT(ALLTOALLV) | BIT(ALLTOALLW);

static inline int has_root(nbcoll_operation operation)
{
    return is_one_of(operation, rooted);
}

static inline int reduces(nbcoll_operation operation)
{
    return is_one_of(operation, reductions);
}

static inline nbcoll_args args_of(const nbcoll_algorithm *algorithm, size_t count, int root)
{
    return (nbcoll_args){.size = sizeof(nbcoll_args),
                         .operation = algorithm->operation,
                         .root = root,
                         .count = count,
                         .reduction = {NBCOLL_INT64, NBCOLL_SUM}};
}

static inline const nbcoll_algorithm *small_one(int operation)
{
    return nbcoll_algorithm_at((nbcoll_operation)operation, 0);
}

static inline const nbcoll_algorithm *large_one(int operation)
{
    return nbcoll_algorithm_at((nbcoll_operation)operation, 1);
}

#endif
