/* SPDX-License-Identifier: BSD-3-Clause
 * Verifying algorithms: one case, or many, the smallest first. */
#include "nbcoll/inline/host.h"
#include "nbcoll/verify.h"

typedef struct grid_shares {
    int rank, node;
} grid_shares;

static int grid_shares_with(void *user, int peer)
{
    const grid_shares *g = user;
    return g->rank / g->node == peer / g->node;
}

static nbcoll_status grid_build(const nbcoll_algorithm *algorithm, const nbcoll_args *a, int ranks, int node,
                                const nbcoll_host *host, nbcoll_schedule **schedules)
{
    nbcoll_status status = NBCOLL_OK;
    for (int rank = 0; rank < ranks && status == NBCOLL_OK; rank++) {
        grid_shares shares = {rank, node};
        nbcoll_builder_config config = {.size = sizeof config,
                                        .host = host,
                                        .rank = rank,
                                        .ranks = ranks,
                                        .shares = node > 0 ? grid_shares_with : NULL,
                                        .shares_user = &shares};
        status = nbcoll_build_schedule(algorithm, a, &config, &schedules[rank]);
    }
    return status;
}

static nbcoll_status grid_prove(const nbcoll_algorithm *algorithm, const nbcoll_args *a, int ranks,
                                const nbcoll_host *host, nbcoll_schedule **schedules, nbcoll_refutation *out)
{
    nbcoll_algorithm known = {0};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status status = nbcolli_copy_tagged(&known, algorithm, sizeof known);
    if (status == NBCOLL_OK)
        status = nbcoll_meaning_of(a, ranks, known.flags, &meaning);
    if (status != NBCOLL_OK)
        return status;
    return nbcoll_verify((const nbcoll_schedule *const *)schedules, &meaning, host, out);
}

nbcoll_status nbcoll_verify_algorithm(const nbcoll_algorithm *algorithm, const nbcoll_args *a, int ranks, int node,
                                      const nbcoll_host *host, nbcoll_refutation *out)
{
    nbcoll_host memory = {0};
    if (!algorithm || !a)
        return NBCOLL_ERR_NULL;
    if (host && host->size && nbcolli_copy_tagged(&memory, host, sizeof memory) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (ranks < 1)
        return NBCOLL_ERR_RANK;
    size_t bytes = (size_t)ranks * sizeof(nbcoll_schedule *);
    nbcoll_schedule **schedules = nbcolli_alloc(&memory, bytes, sizeof *schedules);
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < ranks; rank++)
        schedules[rank] = NULL;
    nbcoll_status status = grid_build(algorithm, a, ranks, node, host, schedules);
    if (status == NBCOLL_OK)
        status = grid_prove(algorithm, a, ranks, host, schedules, out);
    for (int rank = 0; rank < ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
    nbcolli_free(&memory, schedules, bytes);
    return status;
}

static int grid_has_root(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_SCATTER ||
           operation == NBCOLL_OPERATION_GATHER || operation == NBCOLL_OPERATION_REDUCE;
}

/* All counts of one number of ranks and one root. */
static nbcoll_status grid_counts(const nbcoll_algorithm *algorithm, const nbcoll_grid *g, nbcoll_args *a, int ranks,
                                 nbcoll_refutation *out)
{
    nbcoll_status status = NBCOLL_OK;
    for (size_t i = 0; i < g->counts && status == NBCOLL_OK; i++) {
        a->count = g->count[i];
        if (g->visit)
            g->visit(g->user, a, ranks);
        status = nbcoll_verify_algorithm(algorithm, a, ranks, g->node, g->host, out);
    }
    return status;
}

nbcoll_status nbcoll_verify_grid(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, nbcoll_args *a, int *ranks,
                                 nbcoll_refutation *out)
{
    nbcoll_grid g = {0};
    nbcoll_status status = NBCOLL_OK;
    if (!algorithm || !grid || !a || !ranks)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&g, grid, sizeof g) != NBCOLL_OK || g.fewest < 1)
        return NBCOLL_ERR_CONFIG;
    if (g.counts && !g.count)
        return NBCOLL_ERR_NULL;
    for (int n = g.fewest; n <= g.most && status == NBCOLL_OK; n++) {
        int roots = grid_has_root(algorithm->operation) ? n : 1;
        int fixed = g.root >= 0 && grid_has_root(algorithm->operation);
        *ranks = n;
        for (int root = fixed ? g.root : 0; root < roots && status == NBCOLL_OK; root++) {
            a->root = root;
            status = grid_counts(algorithm, &g, a, n, out);
            if (fixed)
                break;
        }
    }
    return status;
}
