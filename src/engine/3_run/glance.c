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

/* Wakes `n` ranks, of which `one` is any, if they are all others of the endpoint. Else does nothing. */
static inline int nbcolli_wakes_all(const nbcoll_comm *comm, int one, ptrdiff_t n)
{
    const nbcolli_link *link = comm->peer[one].link;

    if (n + 1 != link->endpoint->ranks)
        return 0;
    link->transport.shared->wake(link->endpoint, -1);
    return 1;
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

static void nbcolli_glance_fill(const nbcolli_run *run, nbcolli_cell *cell, nbcoll_step step)
{
    const nbcolli_brief *b = &run->schedule->brief[step];

    cell->kind = NBCOLLI_ALIKE;
    cell->readers = b->readers;
    cell->first = run->schedule->step[step].parts->number;
    cell->parts = b->bytes;
    cell->fingerprint = run->schedule->fingerprint;
    nbcolli_brief_copy(cell->payload, nbcolli_brief_at(run, b->left, b->left_at), b->bytes);
}

int nbcolli_glance_show(nbcolli_run *run, nbcoll_step step)
{
    nbcoll_comm *comm = run->comm;
    const nbcoll_part *part = run->schedule->step[step].parts, *end = part + run->schedule->step[step].part_count;
    uint16_t *exposed = comm->exposed + run->tag % comm->config.slots * (size_t)comm->size;
    uint16_t count = (uint16_t)(part->number + 1);
    uint64_t before;
    int reader;

    if (nbcolli_slot_of(comm, run->tag)->exposed != run->tag + 1) /* the first of this run */
        run->cells = run->parts = 0;
    if (comm->departed || !nbcolli_may_reuse(comm, run->tag, &before, &reader))
        return 0;
    nbcolli_cell *cell = nbcolli_glance_cell(run, comm->rank, run->cells++);
    nbcolli_glance_fill(run, cell, step);
    for (const nbcoll_part *p = part; p < end; p++) /* before it is shown: by then it may be acknowledged */
        if (exposed[p->peer] < count)
            exposed[p->peer] = count;
    atomic_store(&cell->stamp, run->tag + 1);
    if (nbcolli_wakes_all(comm, part->peer, end - part))
        return 1;
    for (const nbcoll_part *p = part; p < end; p++)
        nbcolli_shared_wake(comm, p->peer);
    return 1;
}

int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b)
{
    (void)b;
    if (!nbcolli_glance_show(op->run, op->step))
        return nbcolli_brief_expose_slowly(op);
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
    const char *it = (const char *)found, *own = (const char *)to;
    int is_left = v->side == NBCOLL_LEFT;
    nbcolli_reduce_kernel_of(v->reduction)((char *)to, is_left ? it : own, is_left ? own : it, b->bytes);
}

/* Says, by its word, that this rank has fetched what the owner showed it first. */
static inline void nbcolli_glance_acknowledge(nbcolli_run *run, int owner)
{
    nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(comm->area[comm->rank] + run->slot_at) + owner;

    atomic_store(word, run->none + 1);
    nbcolli_shared_wake(comm, owner);
}

/* Does a cell that is shown hold what the step fetches? */
static inline int nbcolli_glance_fits(const nbcolli_run *run, const nbcolli_cell *cell, const nbcolli_brief *b)
{
    return cell->kind == NBCOLLI_ALIKE && cell->fingerprint == run->schedule->fingerprint &&
           cell->readers >> run->comm->rank % 64 & 1 && cell->first == b->number && cell->parts == b->bytes;
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
    if (!nbcolli_glance_fits(run, cell, b))
        return nbcolli_glance_slowly(op);
    nbcolli_glance_use(run, op, b, cell->payload);
    op->phase = NBCOLLI_SETTLED;
    op->opened = 1;
    if (run->schedule->widest > 1)
        nbcolli_acknowledge(run, owner);
    else
        nbcolli_glance_acknowledge(run, owner);
    return 1;
}

/* ---- replays ----------------------------------------------------------------------------------------------------- */

static inline int nbcolli_move_fetches(const nbcolli_move *m)
{
    return m->kind == NBCOLL_FETCH || m->kind == NBCOLL_FETCH_REDUCE;
}

static inline void nbcolli_move_use(const nbcolli_move *m, const unsigned char *found)
{
    if (m->kind == NBCOLL_FETCH)
        nbcolli_brief_copy(m->to, found, m->bytes);
    else if (m->left)
        m->combines(m->to, m->left, (const char *)found, m->bytes);
    else
        m->combines(m->to, (const char *)found, m->to, m->bytes);
}

/* Says of the fetches among [m, end) that they are done. */
static inline void nbcolli_moves_acknowledge(nbcolli_run *run, const nbcolli_move *m, const nbcolli_move *end)
{
    const nbcolli_brief *brief = run->schedule->brief;
    const nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)nbcolli_glance_at(run, comm->rank);
    uint64_t done = run->none + 1;
    int owner = -1, owners = 0;

    for (const nbcolli_move *n = m; n != end; n++)
        if (nbcolli_move_fetches(n)) {
            owner = (int)brief[n->step].peer;
            owners++;
            atomic_store(&word[owner], done);
        }
    if (owners == 0 || nbcolli_wakes_all(comm, owner, owners))
        return;
    for (; m != end; m++)
        if (nbcolli_move_fetches(m))
            nbcolli_shared_wake(comm, (int)brief[m->step].peer);
}

/* All are looked at before one is acknowledged: an acknowledgement would hold up the looks behind it, of which each may
 * take a line's way. */
const nbcolli_move *nbcolli_glance_in_turn(nbcolli_run *run, const nbcolli_move *m, int *is_other)
{
    const nbcolli_brief *brief = run->schedule->brief;
    const nbcoll_comm *comm = run->comm;
    const nbcolli_move *first = m;
    size_t cells = (size_t)(nbcolli_glance_at(run, comm->rank) - comm->area[comm->rank]) + comm->layout.cells;
    uint64_t stamp = run->tag + 1;

    for (*is_other = 0;; m++)
        if (nbcolli_move_fetches(m)) {
            const nbcolli_cell *cell = (const nbcolli_cell *)(const void *)(comm->area[brief[m->step].peer] + cells);
            if (atomic_load(&cell->stamp) != stamp)
                break;
            *is_other = !nbcolli_glance_fits(run, cell, &brief[m->step]);
            if (*is_other)
                break;
            nbcolli_move_use(m, cell->payload);
        } else if (m->kind == NBCOLL_REDUCE)
            m->combines(m->to, m->left, m->right, m->bytes);
        else if (m->kind == NBCOLL_COPY)
            nbcolli_brief_copy(m->to, m->left, m->bytes);
        else
            break;
    nbcolli_moves_acknowledge(run, first, m);
    return m;
}
