/* SPDX-License-Identifier: BSD-3-Clause
 * A thread rank over shm with a communicator for each number of levels that binomial trees leave to the caller. */
#ifndef BENCH_SPLITS_H
#define BENCH_SPLITS_H

#include "nbcoll/select.h"
#include "nbcoll/shm.h"
#include "timing.h"

enum { SPLITS = 4 };

/* comm[S] splits broadcasts and reduces at S levels. */
static inline nbcoll_context *open_splits(const nbcoll_shm_id *id, int rank, int ranks, nbcoll_comm *comm[SPLITS])
{
    nbcoll_shm_config shm = {.size = sizeof shm, .id = *id, .rank = rank, .ranks = ranks};
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD};
    nbcoll_context *context;
    nbcoll_endpoint *ep;

    must(nbcoll_shm_open(&shm, &ep));
    must(nbcoll_context_create(NBCOLL_ABI, &config, &context));
    for (unsigned split = 0; split < SPLITS; split++) {
        const nbcoll_rule rules[] = {
            {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial"), .split = split},
            {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "binomial"), .split = split}};
        nbcoll_comm_config with = NBCOLL_COMM_DEFAULTS;
        with.rules = rules;
        with.rule_count = 2;
        must(split ? nbcoll_comm_dup_with(comm[0], &with, &comm[split], NBCOLL_FOREVER)
                   : nbcoll_comm_create(context, ep, &with, &comm[0], NBCOLL_FOREVER));
    }
    return context;
}

#endif
