/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of algorithms share: arguments, and the first two algorithms of each operation. */
#ifndef TEST_UNIT_ALGORITHMS_H
#define TEST_UNIT_ALGORITHMS_H

#include "nbcoll/inline/select.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static inline nbcoll_args args_of(const nbcoll_algorithm *algorithm, size_t count, int root)
{
    return (nbcoll_args){.size = sizeof(nbcoll_args),
                         .operation = algorithm->operation,
                         .root = root,
                         .count = count,
                         .reduction = {NBCOLL_INT64, NBCOLL_SUM}};
}

static inline int has_root(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_SCATTER ||
           operation == NBCOLL_OPERATION_GATHER || operation == NBCOLL_OPERATION_REDUCE;
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
