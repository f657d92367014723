/* SPDX-License-Identifier: BSD-3-Clause */
#include "small.h"

#include "credit.h"
#include "phase.h"
#include "pool.h"
#include "step.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../exposures/cells.h"
#include "../../host/host.h"

/* Wakes `n` ranks, of which `one` is any, if they are all others of the endpoint. Else does nothing. */
static inline int nbcolli_wakes_all(const nbcoll_comm *comm, int one, ptrdiff_t n)
{
    const nbcolli_link *link = comm->peer[one].link;

    if (n + 1 != link->endpoint->ranks)
        return 0;
    link->transport.shared->wake(link->endpoint, -1);
    return 1;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Sends it as a line, if one has gone before in the pair's epoch. */
static inline nbcolli_replay nbcolli_move_send(const nbcolli_move *m, uint64_t history)
{
    nbcolli_pair *pair = m->op->pair;

    return m->op->opened == pair->epoch && nbcolli_channel_send(m->op, pair, history, m->left, m->bytes)
               ? NBCOLLI_REPLAY_GOES : NBCOLLI_REPLAY_STOPS;
}

/* For a run that is no replay: a move that does not go at once goes on as an op, with the phases of all ops. */
static __attribute__((noinline)) nbcolli_replay nbcolli_move_start(nbcolli_run *run, const nbcolli_move *m,
                                                                   nbcolli_replay how)
{
    nbcolli_op *op = m->op;
    int looks = 0; /* a send, for the answer of its receiver, who may know the channel */

    if (how == NBCOLLI_REPLAY_WAITS && !run->comm->departed) { /* a fetch of a part not shown yet */
        op->phase = NBCOLLI_LOOKING;
        op->cell = 0;
        nbcolli_watch(op);
        return how;
    }
    if (m->kind == NBCOLL_SEND) { /* another run may have opened the channel */
        nbcolli_channel *c = nbcolli_channel_find(op);
        if (c && c->is_known && nbcolli_channel_send(op, op->pair, run->request->history, m->left, m->bytes)) {
            op->opened = op->pair->epoch;
            return NBCOLLI_REPLAY_GOES;
        }
        looks = c && !c->is_known && op->pair->credits > 0 && ++c->unheard == NBCOLLI_CHANNEL_UNHEARD;
        if (looks)
            c->unheard = 0;
    }
    run->is_worn |= m->kind == NBCOLL_SEND || m->kind == NBCOLL_EXPOSE;
    if (looks)
        nbcolli_is_short(op);
    else
        nbcolli_op_start(op);
    return NBCOLLI_REPLAY_WAITS;
}

/* In a replay: takes its line from the sender's ring. */
static inline nbcolli_replay nbcolli_recv_take(const nbcolli_move *m, uint64_t history)
{
    const nbcolli_op *op = m->op;
    const nbcolli_link *link = op->post.link;

    if (op->opened != op->pair->version)
        return NBCOLLI_REPLAY_STOPS;
    int32_t credits = link->lines.take(link->endpoint, op->post.peer, op->channel, history, m->to, m->bytes);
    if (credits < 0)
        return credits == -1 ? NBCOLLI_REPLAY_WAITS : NBCOLLI_REPLAY_STOPS;
    nbcolli_pair *pair = m->op->pair;
    pair->credits += credits;
    if (++pair->owed > pair->most_owed)
        nbcolli_credits_send(m->op->post.link, m->op->post.peer);
    return NBCOLLI_REPLAY_GOES;
}

/* ---- owners ------------------------------------------------------------------------------------------------------ */

/* May the run write its cells, with one part for each reader? Then notes the readers, before it shows them anything:
 * they may acknowledge at once. */
static inline int nbcolli_small_reuse(nbcolli_run *run, nbcolli_slot *slot, const nbcoll_step_view *v)
{
    nbcoll_comm *comm = run->comm;
    const nbcoll_part *part = v->parts;
    size_t n = v->part_count;
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
    nbcolli_cell_promise(run, v);
    return 1;
}

/* Shows what the move exposes. */
static __attribute__((noinline)) nbcolli_replay nbcolli_move_show(nbcolli_run *run, const nbcolli_move *m)
{
    const nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[m->step];
    const nbcoll_part *part = v->parts;
    size_t n = v->part_count;

    if (comm->departed || !nbcolli_small_reuse(run, run->slot, v))
        return NBCOLLI_REPLAY_STOPS;
    nbcolli_cell *cell = nbcolli_cell_at(comm, run->slot, comm->rank, run->cells);
    run->cells += m->cells;
    nbcolli_cell_inline(run, cell, v, m->readers, m->left, m->bytes);
    atomic_store(&cell->stamp, run->tag + 1);
    if (!nbcolli_wakes_all(comm, part->peer, (ptrdiff_t)n))
        for (const nbcoll_part *p = part; p < part + n; p++)
            nbcolli_shared_wake(comm, p->peer);
    return NBCOLLI_REPLAY_GOES;
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

/* The bytes that the move fetches, if the owner's first cell, which is shown, holds them; else null. */
static inline const unsigned char *nbcolli_small_found(const nbcolli_run *run, const nbcolli_cell *cell,
                                                       const nbcolli_move *m)
{
    const nbcoll_comm *comm = run->comm;
    uint64_t readers = cell->readers;

    if (cell->kind != NBCOLLI_INLINED || cell->mark != nbcolli_run_stamp(run) || cell->first != m->number ||
        cell->parts != m->bytes)
        return NULL;
    if (readers)
        return readers & comm->reader_bit ? cell->payload : NULL;
    size_t at = nbcolli_spread_at(m->peer, comm->rank, m->bytes);
    return at < comm->config.cells * sizeof *cell ? (const unsigned char *)cell + at : NULL;
}

/* Uses the part that the move fetches, if the owner's first cell holds it. The caller acknowledges it. */
NBCOLLI_ALWAYS_INLINE nbcolli_replay nbcolli_move_fetch(nbcolli_run *run, const nbcolli_move *m)
{
    const nbcolli_cell *cell = nbcolli_cell_at(run->comm, run->slot, m->peer, 0);

    if (atomic_load(&cell->stamp) != run->tag + 1)
        return NBCOLLI_REPLAY_WAITS;
    const char *found = (const char *)nbcolli_small_found(run, cell, m);
    if (!found)
        return NBCOLLI_REPLAY_STOPS;
    if (m->kind == NBCOLL_FETCH)
        nbcolli_small_copy(m->to, found, m->bytes);
    else if (m->is_left)
        m->combines(m->to, found, m->to, m->bytes);
    else
        m->combines(m->to, m->to, found, m->bytes);
    return NBCOLLI_REPLAY_GOES;
}

/* Acknowledges these moves' parts, one of each owner. */
static __attribute__((noinline)) void nbcolli_acknowledge_all(const nbcolli_run *run, uint64_t fetched)
{
    const nbcoll_comm *comm = run->comm;
    int owner = -1, owners = 0;

    for (uint64_t left = fetched; left; left &= left - 1, owners++) {
        owner = run->move[__builtin_ctzll(left)].peer;
        atomic_store(nbcolli_word(comm, run->slot, comm->rank, owner), run->none + 1);
    }
    if (!nbcolli_wakes_all(comm, owner, owners))
        for (; fetched; fetched &= fetched - 1)
            nbcolli_shared_wake(comm, run->move[__builtin_ctzll(fetched)].peer);
}

/* After the last look: an acknowledgement would hold up later looks, each of which may miss the cache. */
static inline void nbcolli_moves_acknowledge(const nbcolli_run *run, uint64_t fetched)
{
    const nbcoll_comm *comm = run->comm;
    int owner = run->move[__builtin_ctzll(fetched)].peer;

    if (fetched & (fetched - 1)) {
        nbcolli_acknowledge_all(run, fetched);
        return;
    }
    atomic_store(nbcolli_word(comm, run->slot, comm->rank, owner), run->none + 1);
    nbcolli_shared_wake(comm, owner);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* The first move that can begin, or the end. Of the final fetches only one is watched at a time, so that a pass in vain
 * looks once, however many are missing; once a rank has left all are watched, since some may never come. */
static inline const nbcolli_move *nbcolli_moves_next(nbcolli_run *run)
{
    uint64_t may = run->status == NBCOLL_OK ? run->left & ~run->begun : 0;

    if (run->left & run->begun & run->finals && !run->comm->departed)
        may &= ~run->finals;
    for (; may; may &= may - 1) {
        const nbcolli_move *m = &run->move[__builtin_ctzll(may)];
        if (m->needs & run->left)
            continue;
        run->begun |= m->bit;
        return m;
    }
    return &run->move[__builtin_ctzll(run->moves + 1)];
}

static nbcolli_replay nbcolli_replay_cells(nbcolli_request *r, const nbcolli_move *m);
static nbcolli_replay nbcolli_replay_cells_on(nbcolli_request *r, const nbcolli_move *m);

static inline int nbcolli_move_fetches(const nbcolli_move *m)
{
    return m->kind == NBCOLL_FETCH || m->kind == NBCOLL_FETCH_REDUCE;
}

/* Executes moves, from `m` on, as far as possible; returns how the last one went. A replay uses the run that its
 * request keeps. When it begins it does not look for anything from others: it waits there. Without `cells` the loop
 * leaves the moves from the first exposure or fetch on to a function with them, so that it needs fewer registers. */
NBCOLLI_ALWAYS_INLINE nbcolli_replay nbcolli_moves_go(nbcolli_request *r, const nbcolli_move *m, int is_replay,
                                                      int looks, int cells)
{
    nbcolli_replay how;
    uint64_t fetched = 0; /* and not acknowledged */

    for (;; m = is_replay ? m + 1 : nbcolli_moves_next(r->run)) {
        how = NBCOLLI_REPLAY_GOES;
        if (cells && m->kind == NBCOLL_EXPOSE)
            how = nbcolli_move_show(is_replay ? r->kept : r->run, m);
        else if (cells && looks && nbcolli_move_fetches(m)) {
            if (is_replay)
                how = nbcolli_move_fetch(r->kept, m);
            else if (r->run->schedule->widest > 1) /* the owner shows this rank several, which count in turn */
                how = NBCOLLI_REPLAY_STOPS;
            else
                how = nbcolli_move_fetch(r->run, m);
            fetched |= how == NBCOLLI_REPLAY_GOES ? m->bit : 0;
        } else if (looks && m->kind == NBCOLL_RECV) /* what a look comes to first is asked for first */
            how = is_replay ? nbcolli_recv_take(m, r->history) : NBCOLLI_REPLAY_STOPS;
        else if (looks && m->kind == NBCOLLI_MOVES_END)
            break;
        else if (m->kind == NBCOLL_SEND)
            how = nbcolli_move_send(m, r->history);
        else if (m->kind == NBCOLL_RECV)
            how = NBCOLLI_REPLAY_WAITS;
        else if (m->kind == NBCOLLI_MOVES_END)
            break;
        else if (m->kind == NBCOLL_REDUCE)
            m->combines(m->to, m->left, m->right, m->bytes);
        else if (!m->op) /* a COPY; or a JOIN, which copies no byte */
            nbcolli_small_copy(m->to, m->left, m->bytes);
        else if (!looks && nbcolli_move_fetches(m))
            how = NBCOLLI_REPLAY_WAITS;
        else
            return looks ? nbcolli_replay_cells_on(r, m) : nbcolli_replay_cells(r, m);
        if (how != NBCOLLI_REPLAY_GOES && is_replay)
            break;
        if (is_replay || (how != NBCOLLI_REPLAY_GOES && nbcolli_move_start(r->run, m, how) != NBCOLLI_REPLAY_GOES))
            continue;
        if (m->op)
            m->op->phase = NBCOLLI_SETTLED;
        r->run->left &= ~m->bit;
    }
    if (fetched)
        nbcolli_moves_acknowledge(is_replay ? r->kept : r->run, fetched);
    if (is_replay && how != NBCOLLI_REPLAY_GOES)
        r->kept->at = m;
    return how;
}

static __attribute__((noinline)) nbcolli_replay nbcolli_replay_cells(nbcolli_request *r, const nbcolli_move *m)
{
    nbcolli_run_is_of(r->kept, r->tag); /* tells the run its tag */
    return nbcolli_moves_go(r, m, 1, 0, 1);
}

static __attribute__((noinline)) nbcolli_replay nbcolli_replay_cells_on(nbcolli_request *r, const nbcolli_move *m)
{
    nbcolli_run_is_of(r->kept, r->tag);
    return nbcolli_moves_go(r, m, 1, 1, 1);
}

void nbcolli_small_advance(nbcolli_run *run)
{
    if (run->left)
        nbcolli_moves_go(run->request, nbcolli_moves_next(run), 0, 1, 1);
    if (!run->left && run->status == NBCOLL_OK)
        nbcolli_run_finish(run);
}

/* Inline where it is compiled with its callers: as nbcolli_take_own. */
__attribute__((always_inline)) nbcolli_replay nbcolli_small_replay(nbcolli_request *r, int looks)
{
    return nbcolli_moves_go(r, looks ? r->kept->at : r->kept->move, 1, looks, 0);
}

inline nbcolli_replay nbcolli_small_replay(nbcolli_request *r, int looks);
