/* SPDX-License-Identifier: BSD-3-Clause
 * A thread rank over shm with a communicator for each number of levels that binomial trees leave to the caller. */
#ifndef BENCH_SPLITS_H
#define BENCH_SPLITS_H

#include "nbcoll/select.h"
#include "ranks.h"

enum { SPLITS = 4 };

/* comm[S] splits broadcasts and reduces at S levels. */
static inline nbcoll_context *open_splits(const nbcoll_shm_id *id, int rank, int ranks, nbcoll_comm *comm[SPLITS])
{
    nbcoll_context *context;

    for (unsigned split = 0; split < SPLITS; split++) {
        const nbcoll_rule rules[] = {
            {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial"), .split = split},
            {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "binomial"), .split = split}};
        nbcoll_comm_config with = NBCOLL_COMM_DEFAULTS;
        with.rules = rules;
        with.rule_count = 2;
        if (split)
            must(nbcoll_comm_dup_with(comm[0], &with, &comm[split], NBCOLL_FOREVER));
        else
            comm[0] = open_shm(id, rank, ranks, NBCOLL_ANY_THREAD, &with, &context);
    }
    return context;
}

#endif
