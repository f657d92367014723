/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures and fetches of brief runs: see glance.h. */
#include "glance.h"

#include "expose.h"
#include "step.h"
#include "../exposures/cells.h"

#define NBCOLLI_GLANCES 8u /* in vain: then it is asked whether the owner has ended the operation without it, or left  \
                            */

static inline nbcolli_slot *nbcolli_glance_slot(nbcolli_run *run)
{
    if (run->placed != run->tag + 1) {
        run->placed = run->tag + 1;
        run->slot = nbcolli_slot_of(run->comm, run->tag);
        run->none = nbcolli_word_of(run->comm, run->tag, 0);
    }
    return run->slot;
}

static inline nbcolli_cell *nbcolli_glance_cell(nbcolli_run *run, int owner, uint32_t cell)
{
    const nbcoll_comm *comm = run->comm;
    return (nbcolli_cell *)(void *)(comm->area[owner] + nbcolli_glance_slot(run)->at + comm->layout.cells) + cell;
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
    nbcolli_run *run = op->run;

    if (nbcolli_glance_slot(run)->exposed != run->tag + 1) /* none of this run's has been shown */
        run->cells = run->parts = 0;
    run->is_worn = 1;
    op->phase = NBCOLLI_REUSING;
    nbcolli_expose_next(op);
    return 0;
}

static inline void nbcolli_glance_fill(const nbcolli_run *run, nbcolli_cell *cell, const nbcolli_brief *b,
                                       const nbcoll_step_view *v)
{
    cell->mark = nbcolli_run_stamp(run);
    if (!b->readers) {
        nbcolli_cell_spread(run, cell, v);
        return;
    }
    cell->kind = NBCOLLI_ALIKE;
    cell->readers = b->readers;
    cell->first = v->parts->number;
    cell->parts = b->bytes;
    nbcolli_brief_copy(cell->payload, nbcolli_brief_at(run, b->left, b->left_at), b->bytes);
}

/* May the run write its cells, of which it has `n` readers now, who get one part each? Then notes these, before they
 * are shown anything: by then it may be acknowledged. */
static inline int nbcolli_glance_reuse(nbcolli_run *run, nbcolli_slot *slot, const nbcoll_part *part, size_t n)
{
    nbcoll_comm *comm = run->comm;
    uint64_t before;
    int reader;

    if (slot->exposed != run->tag + 1) { /* the first of this run */
        run->cells = run->parts = 0;
        int is_all = n + 1 == (size_t)comm->size;
        if (!part->number && (is_all || (n == 1 && part->peer + 1 < (int)NBCOLLI_SHOWN_ALL))) {
            if (slot->exposed && nbcolli_first_reading(comm, slot, slot->exposed - 1) >= 0)
                return 0;
            slot->exposed = run->tag + 1;
            *slot->shown_to = (uint16_t)(is_all ? NBCOLLI_SHOWN_ALL : (unsigned)part->peer + 1);
            return 1;
        }
    }
    if (!nbcolli_may_reuse(comm, run->tag, &before, &reader))
        return 0;
    uint16_t *exposed = slot->shown_to - comm->rank;
    uint16_t count = (uint16_t)(part->number + 1);
    for (const nbcoll_part *p = part; p < part + n; p++)
        if (exposed[p->peer] < count)
            exposed[p->peer] = count;
    return 1;
}

/* Shows what the step exposes. 0: that cannot be now, and nothing has happened. */
static inline int nbcolli_glance_show(nbcolli_run *run, nbcolli_slot *slot, nbcoll_step step)
{
    const nbcoll_comm *comm = run->comm;
    const nbcolli_brief *b = &run->schedule->brief[step];
    const nbcoll_step_view *v = &run->schedule->step[step];
    const nbcoll_part *part = v->parts;
    size_t n = v->part_count;

    if (comm->departed || !nbcolli_glance_reuse(run, slot, part, n))
        return 0;
    nbcolli_cell *cell = (nbcolli_cell *)(void *)(comm->area[comm->rank] + slot->at + comm->layout.cells) + run->cells;
    run->cells += b->cells;
    nbcolli_glance_fill(run, cell, b, v);
    atomic_store(&cell->stamp, run->tag + 1);
    if (nbcolli_wakes_all(comm, part->peer, (ptrdiff_t)n))
        return 1;
    for (const nbcoll_part *p = part; p < part + n; p++)
        nbcolli_shared_wake(comm, p->peer);
    return 1;
}

int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b)
{
    (void)b;
    if (!nbcolli_glance_show(op->run, nbcolli_glance_slot(op->run), op->step))
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
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(comm->area[comm->rank] + run->slot->row) + owner;

    atomic_store(word, run->none + 1);
    nbcolli_shared_wake(comm, owner);
}

/* What the step fetches, if the cell, which is the owner's `n`th and shown, holds that; else null. */
static inline const unsigned char *nbcolli_glance_found(const nbcolli_run *run, const nbcolli_cell *cell, uint32_t n,
                                                        const nbcolli_brief *b)
{
    const nbcoll_comm *comm = run->comm;
    uint32_t kind = cell->kind;

    if (cell->mark != nbcolli_run_stamp(run) || cell->first != b->number || cell->parts != b->bytes)
        return NULL;
    if (kind == NBCOLLI_ALIKE)
        return cell->readers >> comm->rank % 64 & 1 ? cell->payload : NULL;
    if (kind != NBCOLLI_SPREAD)
        return NULL;
    size_t at = nbcolli_spread_at((int)b->peer, comm->rank, b->bytes);
    return at < (comm->config.cells - n) * sizeof *cell ? (const unsigned char *)cell + at : NULL;
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
    const unsigned char *found = nbcolli_glance_found(run, cell, op->cell, b);
    if (!found)
        return nbcolli_glance_slowly(op);
    nbcolli_glance_use(run, op, b, found);
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

static nbcolli_replay nbcolli_glance_replay_show(nbcolli_run *run, const nbcolli_move *m)
{
    nbcolli_slot *slot = nbcolli_glance_slot(run);
    int is_shown = !slot->failed && nbcolli_glance_show(run, slot, m->step);

    run->at = m + is_shown;
    return is_shown ? NBCOLLI_REPLAY_GOES : NBCOLLI_REPLAY_STOPS;
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
static __attribute__((noinline)) void nbcolli_moves_acknowledge(nbcolli_run *run, const nbcolli_move *m,
                                                                const nbcolli_move *end)
{
    const nbcolli_brief *brief = run->schedule->brief;
    const nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(comm->area[comm->rank] + run->slot->row);
    uint64_t done = run->none + 1;
    int owner = -1, owners = 0;

    for (const nbcolli_move *n = m; n != end; n++)
        if (nbcolli_move_fetches(n)) {
            owner = (int)brief[n->step].peer;
            owners++;
            atomic_store(&word[owner], done);
        }
    if (owners == 1)
        nbcolli_shared_wake(comm, owner);
    if (owners <= 1 || nbcolli_wakes_all(comm, owner, owners))
        return;
    for (; m != end; m++)
        if (nbcolli_move_fetches(m))
            nbcolli_shared_wake(comm, (int)brief[m->step].peer);
}

static inline nbcolli_replay nbcolli_move_fetch(nbcolli_run *run, const nbcolli_move *m, const nbcolli_brief *b,
                                                size_t cells)
{
    const nbcolli_cell *cell = (const nbcolli_cell *)(const void *)(run->comm->area[b->peer] + cells);

    if (atomic_load(&cell->stamp) != run->tag + 1)
        return NBCOLLI_REPLAY_WAITS;
    const unsigned char *found = nbcolli_glance_found(run, cell, 0, b);
    if (!found)
        return NBCOLLI_REPLAY_STOPS;
    nbcolli_move_use(m, found);
    return NBCOLLI_REPLAY_GOES;
}

/* All are looked at before one is acknowledged: an acknowledgement would hold up the looks behind it, of which each may
 * take a line's way. */
static __attribute__((noinline)) nbcolli_replay nbcolli_glance_at_more(nbcolli_run *run, const nbcolli_move *first,
                                                                       const nbcolli_move *m, size_t cells)
{
    const nbcolli_brief *brief = run->schedule->brief;
    nbcolli_replay how = NBCOLLI_REPLAY_GOES;

    for (;; m++)
        if (nbcolli_move_fetches(m)) {
            if ((how = nbcolli_move_fetch(run, m, &brief[m->step], cells)) != NBCOLLI_REPLAY_GOES)
                break;
        } else if (m->kind == NBCOLL_REDUCE)
            m->combines(m->to, m->left, m->right, m->bytes);
        else if (m->kind == NBCOLL_COPY)
            nbcolli_brief_copy(m->to, m->left, m->bytes);
        else
            break;
    run->at = m;
    nbcolli_moves_acknowledge(run, first, m);
    return how;
}

static inline nbcolli_replay nbcolli_glance_in_turn(nbcolli_run *run, const nbcolli_move *m)
{
    const nbcoll_comm *comm = run->comm;
    const nbcolli_brief *b = &run->schedule->brief[m->step];
    const nbcolli_slot *slot = nbcolli_glance_slot(run);
    size_t cells = slot->at + comm->layout.cells;

    nbcolli_replay how = slot->failed ? NBCOLLI_REPLAY_STOPS : nbcolli_move_fetch(run, m, b, cells);
    run->at = m + (how == NBCOLLI_REPLAY_GOES);
    if (how != NBCOLLI_REPLAY_GOES)
        return how;
    if (m[1].kind != NBCOLL_JOIN)
        return nbcolli_glance_at_more(run, m, m + 1, cells);
    nbcolli_glance_acknowledge(run, (int)b->peer);
    return how;
}

/* The run of a request that replays, which does not know yet of what. */
static inline nbcolli_run *nbcolli_glance_run(const nbcolli_request *r)
{
    r->kept->tag = r->tag;
    return r->kept;
}

__attribute__((noinline)) nbcolli_replay nbcolli_glance_replay(const nbcolli_request *r, const nbcolli_move *m)
{
    nbcolli_run *run = nbcolli_glance_run(r);
    return m->kind == NBCOLL_EXPOSE ? nbcolli_glance_replay_show(run, m) : nbcolli_glance_in_turn(run, m);
}

__attribute__((noinline)) nbcolli_replay nbcolli_glance_start(const nbcolli_request *r, const nbcolli_move *m)
{
    nbcolli_run *run = nbcolli_glance_run(r);
    run->at = m;
    return m->kind == NBCOLL_EXPOSE ? nbcolli_glance_replay_show(run, m) : NBCOLLI_REPLAY_WAITS;
}
