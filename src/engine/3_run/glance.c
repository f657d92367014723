/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures and fetches of brief runs: see glance.h. */
#include "glance.h"

#include "cells.h"
#include "expose.h"
#include "step.h"

#define NBCOLLI_GLANCES 8u /* in vain: then it is asked whether the owner has ended the operation without it, or left  \
                            */

/* The run's slot in a rank's part. */
static inline unsigned char *nbcolli_glance_at(nbcolli_run *run, int rank)
{
    nbcoll_comm *comm = run->comm;

    if (run->placed != run->tag + 1) {
        run->placed = run->tag + 1;
        run->slot_at = comm->layout.slots + run->tag % comm->config.slots * comm->layout.stride;
        run->none = nbcolli_word_of(comm, run->tag, 0);
    }
    return comm->area[rank] + run->slot_at;
}

static inline nbcolli_cell *nbcolli_glance_cell(nbcolli_run *run, int owner, uint32_t cell)
{
    return (nbcolli_cell *)(void *)(nbcolli_glance_at(run, owner) + run->comm->layout.cells) + cell;
}

/* ---- owners ------------------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) int nbcolli_brief_expose_slowly(nbcolli_op *op)
{
    op->run->is_worn = 1;
    op->phase = NBCOLLI_REUSING;
    op->moved = 0;
    op->keys = 0;
    op->suspect = 0;
    nbcolli_expose_next(op);
    return 0;
}

int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    uint16_t *exposed = comm->exposed + run->tag % comm->config.slots * (size_t)comm->size;
    uint16_t count = (uint16_t)(v->parts->number + 1);
    uint64_t before;
    int reader;

    if (nbcolli_slot_of(comm, run->tag)->exposed != run->tag + 1) /* the first of this run */
        run->cells = run->parts = 0;
    if (comm->departed || !nbcolli_may_reuse(comm, run->tag, &before, &reader))
        return nbcolli_brief_expose_slowly(op);
    nbcolli_cell *cell = nbcolli_glance_cell(run, comm->rank, run->cells++);
    cell->kind = NBCOLLI_ALIKE;
    cell->readers = b->readers;
    cell->first = v->parts->number;
    cell->parts = b->bytes;
    cell->fingerprint = run->schedule->fingerprint;
    nbcolli_brief_copy(cell->payload, nbcolli_brief_at(run, b->left, b->left_at), b->bytes);
    for (uint32_t i = 0; i < v->part_count; i++) /* before it is shown: by then it may be acknowledged */
        if (exposed[v->parts[i].peer] < count)
            exposed[v->parts[i].peer] = count;
    atomic_store(&cell->stamp, run->tag + 1);
    for (uint32_t i = 0; i < v->part_count; i++)
        nbcolli_shared_wake(comm, v->parts[i].peer);
    op->phase = NBCOLLI_SETTLED;
    return 1;
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int nbcolli_glance_slowly(nbcolli_op *op)
{
    nbcolli_fetch_next(op);
    if (op->phase != NBCOLLI_LOOKING)
        op->run->is_worn = 1;
    return 0;
}

static inline void nbcolli_glance_use(nbcolli_run *run, const nbcolli_op *op, const nbcolli_brief *b,
                                      const unsigned char *found)
{
    unsigned char *to = nbcolli_brief_at(run, b->to, b->to_at);

    if (b->kind == NBCOLL_FETCH) {
        nbcolli_brief_copy(to, found, b->bytes);
        return;
    }
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    int is_left = v->side == NBCOLL_LEFT;
    nbcolli_reduce(v->reduction, to, is_left ? found : to, is_left ? to : found,
                   b->bytes / nbcolli_packed_size(v->reduction.type));
}

/* Says, by its word, that this rank has fetched what the owner showed it first. */
static inline void nbcolli_glance_acknowledge(nbcolli_run *run, int owner)
{
    nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(comm->area[comm->rank] + run->slot_at) + owner;

    atomic_store(word, run->none + 1);
    nbcolli_shared_wake(comm, owner);
}

int nbcolli_glance(nbcolli_op *op, const nbcolli_brief *b)
{
    nbcolli_run *run = op->run;
    const nbcoll_comm *comm = run->comm;
    int owner = (int)b->peer;
    const nbcolli_cell *cell = nbcolli_glance_cell(run, owner, op->cell);

    if (op->cell >= comm->config.cells)
        return nbcolli_glance_slowly(op);
    if (atomic_load(&cell->stamp) != run->tag + 1) {
        if (comm->departed || ++op->vain % NBCOLLI_GLANCES == 0)
            return nbcolli_glance_slowly(op);
        nbcolli_watch(op);
        return 0;
    }
    if (cell->kind != NBCOLLI_ALIKE || cell->fingerprint != run->schedule->fingerprint ||
        !(cell->readers >> comm->rank % 64 & 1) || cell->first != b->number || cell->parts != b->bytes)
        return nbcolli_glance_slowly(op);
    nbcolli_glance_use(run, op, b, cell->payload);
    op->phase = NBCOLLI_SETTLED;
    if (run->schedule->widest > 1)
        nbcolli_acknowledge(run, owner);
    else
        nbcolli_glance_acknowledge(run, owner);
    return 1;
}
