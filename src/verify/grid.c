/* SPDX-License-Identifier: BSD-3-Clause
 * Verifying algorithms: one case, or many, the smallest first. */
#include "case.h"
#include "proof.h"

static nbcoll_status nbcolli_grid_prove(const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                                        const nbcoll_host *host, nbcoll_schedule **schedules, nbcoll_refutation *out)
{
    nbcoll_algorithm known = {0};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status status = nbcolli_copy_tagged(&known, algorithm, sizeof known);
    if (status == NBCOLL_OK)
        status = nbcoll_meaning_of(c, known.flags, &meaning);
    if (status != NBCOLL_OK)
        return status;
    return nbcoll_verify((const nbcoll_schedule *const *)schedules, &meaning, host, out);
}

/* The caller's host, and where the words of a builder's error go. */
typedef struct nbcolli_grid_listener {
    nbcoll_host theirs;
    nbcoll_refutation *out;
} nbcolli_grid_listener;

static void *nbcolli_grid_alloc(void *user, size_t bytes, size_t align)
{
    return nbcolli_alloc(&((nbcolli_grid_listener *)user)->theirs, bytes, align);
}

static void nbcolli_grid_free(void *user, void *memory, size_t bytes)
{
    nbcolli_free(&((nbcolli_grid_listener *)user)->theirs, memory, bytes);
}

static void nbcolli_grid_log(void *user, nbcoll_status status, const char *text)
{
    const nbcolli_grid_listener *l = user;
    nbcoll_refutation why = {.flaw = NBCOLL_FLAW_NONE};
    strncpy(why.text, text, sizeof why.text - 1);
    nbcolli_refutation_give(&why, l->out);
    if (l->theirs.log)
        l->theirs.log(l->theirs.user, status, text);
}

nbcoll_status nbcoll_verify_algorithm(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_host *host,
                                      nbcoll_refutation *out)
{
    nbcolli_grid_listener listener = {.out = out};
    nbcoll_host memory = {.size = sizeof memory,
                          .user = &listener,
                          .alloc = nbcolli_grid_alloc,
                          .free = nbcolli_grid_free,
                          .log = nbcolli_grid_log};
    nbcoll_case taken;
    if (!algorithm || !c)
        return NBCOLL_ERR_NULL;
    if (host && host->size && nbcolli_copy_tagged(&listener.theirs, host, sizeof listener.theirs) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (out && out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_case_take(c, &taken);
    if (status != NBCOLL_OK)
        return status;
    size_t bytes = (size_t)taken.ranks * sizeof(nbcoll_schedule *);
    nbcoll_schedule **schedules = nbcolli_alloc(&memory, bytes, sizeof *schedules);
    if (!schedules)
        return NBCOLL_ERR_MEMORY;
    for (int rank = 0; rank < taken.ranks; rank++)
        schedules[rank] = NULL;
    status = nbcolli_case_build(algorithm, &taken, &memory, schedules);
    if (status == NBCOLL_OK)
        status = nbcolli_grid_prove(algorithm, &taken, &memory, schedules, out);
    for (int rank = 0; rank < taken.ranks; rank++)
        if (schedules[rank])
            nbcoll_schedule_free(schedules[rank]);
    nbcolli_free(&memory, schedules, bytes);
    return status;
}

/* A walk over the cases. */
typedef struct nbcolli_grid_walk {
    const nbcoll_algorithm *algorithm;
    nbcoll_grid grid;
    nbcoll_case *at;
    nbcoll_refutation *out;
} nbcolli_grid_walk;

static nbcoll_status nbcolli_grid_case(const nbcolli_grid_walk *w)
{
    nbcoll_case taken;
    nbcoll_status status = nbcolli_case_take(w->at, &taken);
    if (status != NBCOLL_OK)
        return status;
    if (w->grid.visit)
        w->grid.visit(w->grid.user, w->at);
    return w->grid.only_visit ? NBCOLL_OK : nbcoll_verify_algorithm(w->algorithm, w->at, w->grid.host, w->out);
}

/* Can the blocks be like this, and is it another case than those before? */
static int nbcolli_grid_has_form(const nbcolli_grid_walk *w, int form)
{
    nbcolli_block_kind blocks = (nbcolli_block_kind)nbcolli_kind_of(w->at->operation)->blocks;
    int apart = form & 1, known = form & 2;
    if (apart && w->at->operation == NBCOLL_OPERATION_REDUCE_SCATTER)
        return 0;
    if (blocks != NBCOLLI_PROMISED)
        return !known;
    return known || !(w->algorithm->flags & NBCOLL_ALGORITHM_COUNTS);
}

/* All forms of blocks. */
static nbcoll_status nbcolli_grid_blocks(const nbcolli_grid_walk *w)
{
    nbcoll_status status = NBCOLL_OK;
    if (!w->grid.all_blocks || nbcolli_kind_of(w->at->operation)->blocks == NBCOLLI_EQUAL)
        return nbcolli_grid_case(w);
    for (int spread = 0; spread < NBCOLL_SPREAD_COUNT; spread++)
        for (int form = 0; form < 4 && status == NBCOLL_OK; form++) {
            if (!nbcolli_grid_has_form(w, form))
                continue;
            w->at->spread = (nbcoll_spread)spread;
            w->at->apart = form & 1;
            w->at->known = form >> 1;
            status = nbcolli_grid_case(w);
        }
    return status;
}

/* All roots and counts of so many ranks. */
static nbcoll_status nbcolli_grid_roots(const nbcolli_grid_walk *w)
{
    nbcoll_status status = NBCOLL_OK;
    int has_root = nbcolli_kind_of(w->algorithm->operation)->has_root, is_fixed = has_root && w->grid.root >= 0;
    int first = is_fixed ? w->grid.root : 0, last = is_fixed ? w->grid.root : has_root ? w->at->ranks - 1 : 0;
    for (int root = first; root <= last && root < w->at->ranks; root++)
        for (size_t i = 0; i < w->grid.counts && status == NBCOLL_OK; i++) {
            w->at->root = root;
            w->at->count = w->grid.count[i];
            status = nbcolli_grid_blocks(w);
            if (status != NBCOLL_OK)
                return status;
        }
    return status;
}

static nbcoll_status nbcolli_grid_walk_all(const nbcolli_grid_walk *w)
{
    nbcoll_status status = NBCOLL_OK;
    for (int ranks = w->grid.fewest; ranks <= w->grid.most && status == NBCOLL_OK; ranks++) {
        nbcoll_nodes *nodes = NULL;
        w->at->ranks = ranks;
        if (w->grid.placement) {
            status = nbcoll_nodes_place(w->grid.placement, ranks, w->grid.host, &nodes);
            w->at->nodes = nodes;
        }
        if (status == NBCOLL_OK)
            status = nbcolli_grid_roots(w);
        if (w->grid.placement)
            w->at->nodes = NULL;
        nbcoll_nodes_free(nodes);
    }
    return status;
}

nbcoll_status nbcoll_verify_grid(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, nbcoll_case *c,
                                 nbcoll_refutation *out)
{
    nbcoll_algorithm known = {0};
    nbcolli_grid_walk walk = {.algorithm = &known, .at = c, .out = out};
    if (!algorithm || !grid || !c)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&walk.grid, grid, sizeof walk.grid) != NBCOLL_OK || walk.grid.fewest < 1 ||
        nbcolli_copy_tagged(&known, algorithm, sizeof known) != NBCOLL_OK || c->size < offsetof(nbcoll_case, segment) ||
        (walk.grid.placement && c->size < sizeof *c))
        return NBCOLL_ERR_CONFIG;
    if (walk.grid.counts && !walk.grid.count)
        return NBCOLL_ERR_NULL;
    if ((unsigned)known.operation >= NBCOLL_OPERATION_COUNT || known.operation != c->operation)
        return NBCOLL_ERR_ARGUMENT;
    return nbcolli_grid_walk_all(&walk);
}
