/* SPDX-License-Identifier: BSD-3-Clause
 * What a small operation costs a rank for each of its peers when nobody waits: by cells, and by messages. All ranks
 * live in one process over shm, and one thread steps them. Of each algorithm, the nanoseconds of all ranks' start and
 * tests, divided by the pairs of ranks that it joins; medians of batches of 1000. For an instruction count of one
 * algorithm:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_*" bench/peers 8 bcast slots
 *
 * measured_root* is rank 0 alone, measured_leaf* all others. Arguments: [ranks [operation algorithm]]. */
#include "nbcoll/select.h"

#include "calls.h"
#include "stepped.h"

enum { BATCH = 1000, BATCHES = 21, MOST = STEPPED_MOST, WARM = 100 };

typedef struct contest {
    nbcoll_operation operation;
    const char *algorithm;
} contest;

static const contest contests[] = {
    {NBCOLL_OPERATION_BCAST, "slots"},
    {NBCOLL_OPERATION_BCAST, "flat"},
    {NBCOLL_OPERATION_SCATTER, "slots"},
    {NBCOLL_OPERATION_SCATTER, "flat"},
    {NBCOLL_OPERATION_GATHER, "slots"},
    {NBCOLL_OPERATION_GATHER, "flat"},
    {NBCOLL_OPERATION_REDUCE, "slots"},
    {NBCOLL_OPERATION_REDUCE, "flat"},
    {NBCOLL_OPERATION_BARRIER, "slots"},
    {NBCOLL_OPERATION_BARRIER, "gather_bcast"},
    {NBCOLL_OPERATION_BARRIER, "dissemination_ports"},
    {NBCOLL_OPERATION_ALLREDUCE, "slots"},
    {NBCOLL_OPERATION_ALLREDUCE, "flat"},
    {NBCOLL_OPERATION_ALLGATHER, "slots"},
    {NBCOLL_OPERATION_ALLGATHER, "flat"},
    {NBCOLL_OPERATION_ALLTOALL, "slots"},
    {NBCOLL_OPERATION_ALLTOALL, "flat"},
};

typedef struct member {
    stepped at;
    double data[MOST], result[MOST];
} member;

static member m[MOST];
static stepped *rank_of[MOST];

/* A duplicate whose calls are served by the contest's algorithm. */
static nbcoll_status duplicate(const contest *c, int ranks, nbcoll_comm *of[])
{
    nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(c->operation, c->algorithm)};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    config.rules = &rule;
    config.rule_count = 1;
    if (!rule.algorithm)
        return NBCOLL_ERR_UNSUPPORTED;
    for (int i = 0; i < ranks; i++)
        must(nbcoll_comm_idup_with(m[i].at.comm, &config, &of[i], &m[i].at.request));
    stepped_finish(rank_of, ranks);
    return NBCOLL_OK;
}

/* Pairs of ranks that an operation joins, where it is done directly. */
static int pairs(nbcoll_operation operation, int ranks)
{
    switch (operation) {
    case NBCOLL_OPERATION_BARRIER:
    case NBCOLL_OPERATION_ALLREDUCE:
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLTOALL:
        return ranks * (ranks - 1);
    default:
        return ranks - 1;
    }
}

static __attribute__((noinline)) void measured_root_start(member *one)
{
    __asm__ volatile("# root"); /* so that it is not made one with the leaf's */
    must(nbcoll_start(&one->at.request));
}

static __attribute__((noinline)) void measured_leaf_start(member *one)
{
    __asm__ volatile("# leaf");
    must(nbcoll_start(&one->at.request));
}

static __attribute__((noinline)) int measured_root_test(member *one)
{
    __asm__ volatile("# root");
    return nbcoll_test(&one->at.request) == NBCOLL_PENDING;
}

static __attribute__((noinline)) int measured_leaf_test(member *one)
{
    __asm__ volatile("# leaf");
    return nbcoll_test(&one->at.request) == NBCOLL_PENDING;
}

/* Those whose part needs nothing go first, so that few looks are in vain. */
static void batch(int ranks, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        int left[MOST], waiting = ranks;
        measured_root_start(&m[0]);
        for (int r = 1; r < ranks; r++)
            measured_leaf_start(&m[r]);
        for (int r = 0; r < ranks; r++)
            left[r] = 1;
        while (waiting)
            for (int r = 0; r < ranks; r++) {
                if (!left[r] || (r ? measured_leaf_test(&m[r]) : measured_root_test(&m[r])))
                    continue;
                left[r] = 0;
                waiting--;
            }
    }
}

static void run(const contest *c, int ranks, int times_it)
{
    nbcoll_comm *comm[MOST];
    double took[BATCHES];

    if (duplicate(c, ranks, comm) != NBCOLL_OK)
        return;
    for (int i = 0; i < ranks; i++) {
        double *result = c->operation == NBCOLL_OPERATION_BCAST ? m[i].data : m[i].result;
        must(call_init(&(call){c->operation, m[i].data, result, 1, NBCOLL_DOUBLE, comm[i]}, &m[i].at.request));
    }
    if (!times_it) {
        batch(ranks, BATCH);
    } else {
        batch(ranks, WARM);
        for (int b = 0; b < BATCHES; b++) {
            double at = now();
            batch(ranks, BATCH);
            took[b] = (now() - at) / BATCH / pairs(c->operation, ranks);
        }
        double usual = median(took, BATCHES);
        printf("%-10s %-20s %3d ranks %8.1f ns a pair (min %.1f)\n", nbcoll_operation_name(c->operation), c->algorithm,
               ranks, usual, took[0]);
    }
    for (int i = 0; i < ranks; i++) {
        must(nbcoll_request_free(&m[i].at.request));
        must(nbcoll_comm_free(comm[i]));
    }
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 8;

    if (ranks < 2 || ranks > MOST)
        return 1;
    for (int i = 0; i < ranks; i++)
        rank_of[i] = &m[i].at;
    stepped_open(rank_of, ranks);
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++)
        if (argc < 4)
            run(&contests[i], ranks, 1);
        else if (!strcmp(argv[2], nbcoll_operation_name(contests[i].operation)) &&
                 !strcmp(argv[3], contests[i].algorithm))
            run(&contests[i], ranks, 0);
    return 0;
}
