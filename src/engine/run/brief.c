/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of brief schedules: see brief.h. */
#include "brief.h"

#include "credit.h"
#include "finish.h"
#include "glance.h"
#include "phase.h"
#include "pool.h"
#include "../wire/channel.h"
#include "../exposures/cells.h"

static inline int nbcolli_brief_line(nbcolli_run *run, nbcolli_op *op, const nbcolli_brief *b)
{
    nbcolli_pair *pair = op->pair;

    if (!nbcolli_channel_is_open(op, pair) ||
        !nbcolli_channel_send(op, pair, run->request->history, nbcolli_brief_at(run, b->left, b->left_at), b->bytes))
        return 0;
    op->opened = op->epoch;
    op->phase = NBCOLLI_SETTLED;
    return 1;
}

/* Another run may have opened the channel; else it goes as a message, by itself. */
static __attribute__((noinline)) int nbcolli_brief_send_slowly(nbcolli_run *run, nbcolli_op *op, const nbcolli_brief *b)
{
    nbcolli_channel_find(op);
    if (nbcolli_brief_line(run, op, b))
        return 1;
    run->is_worn = 1;
    nbcolli_send_start(op);
    return 0;
}

static __attribute__((noinline)) void nbcolli_brief_receive_slowly(nbcolli_run *run, nbcolli_op *op)
{
    run->is_worn = 1;
    nbcolli_recv_start(op);
}

static inline void nbcolli_brief_reduce(nbcolli_run *run, const nbcolli_brief *b, nbcoll_step step)
{
    nbcolli_reduce_kernel_of(run->schedule->step[step].reduction)(
        (char *)nbcolli_brief_at(run, b->to, b->to_at), (char *)nbcolli_brief_at(run, b->left, b->left_at),
        (char *)nbcolli_brief_at(run, b->right, b->right_at), b->bytes);
}

/* Can the next start replay it: has it gone in lines, and can they be taken? Was what it fetched found at a glance, one
 * part of each owner's? */
static int nbcolli_brief_can_replay(const nbcolli_run *run)
{
    for (const nbcolli_move *m = run->move; m->kind != NBCOLL_JOIN; m++) {
        const nbcolli_op *op = m->op;
        if ((m->kind == NBCOLL_SEND && op->opened != op->pair->epoch) ||
            (m->kind == NBCOLL_RECV && (op->opened != op->pair->version || !op->post.link->lines.take)) ||
            ((m->kind == NBCOLL_FETCH || m->kind == NBCOLL_FETCH_REDUCE) && op->opened != 1))
            return 0;
    }
    return run->schedule->widest <= 1;
}

/* The end of a run that nobody keeps. */
static __attribute__((noinline)) void nbcolli_brief_leave(nbcolli_run *run, nbcolli_request *r)
{
    if (!r->kept && run->schedule->kept < NBCOLLI_KEPT && nbcolli_brief_can_replay(run))
        nbcolli_run_keep(run, r);
    else
        nbcolli_run_shelve(run);
}

/* The end of an operation that went well. */
static inline void nbcolli_brief_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcoll_context *c = comm->context;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = nbcolli_slot_of(comm, run->tag);

    if (r->is_heeded || slot->failed || comm->queued || c->flags & NBCOLL_ANY_THREAD) {
        nbcolli_run_finish(run); /* there is more to look after */
        return;
    }
    if (comm->area)
        nbcolli_mark_end(comm, slot, run->tag);
    slot->active = NULL;
    run->state = NBCOLLI_RUN_POOLED;
    if (!run->keeper)
        nbcolli_brief_leave(run, r);
    /* relaxed: as in nbcolli_operation_over */
    atomic_store_explicit(&comm->ended, atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    comm->active--;
    c->active--;
    c->driven.ended++;
    nbcolli_list_end(c, r);
    r->run = NULL;
    r->status = NBCOLL_OK;
    r->outcome = NBCOLL_OK;
    atomic_store_explicit(&r->state, nbcolli_ended_state(r), memory_order_release); /* publishes the buffers */
}

static int nbcolli_brief_fetch(nbcolli_op *op, const nbcolli_brief *b)
{
    op->phase = NBCOLLI_LOOKING;
    op->cell = op->vain = op->opened = 0;
    op->suspect = 0;
    return nbcolli_glance(op, b);
}

/* Looks at the final fetches in turn, up to the first that finds nothing, which is watched: so a pass in vain looks
 * once, however many are missing. Once a rank has left all are looked at: some may be in vain for ever. */
static void nbcolli_brief_finals(nbcolli_run *run)
{
    const nbcoll_schedule *s = run->schedule;
    int all = run->comm->departed;

    if (run->looking && !all)
        return;
    run->looking = NULL;
    run->is_worn |= all;
    while (run->finals < s->finals && run->status == NBCOLL_OK) {
        nbcoll_step step = s->final[run->finals];
        nbcolli_op *op = &run->op[s->brief[step].op];
        if (nbcolli_brief_fetch(op, &s->brief[step]))
            nbcolli_brief_end(run, step, &s->brief[step]);
        else if (op->phase == NBCOLLI_LOOKING && !all) {
            run->looking = op;
            return;
        }
        run->finals++;
    }
}

void nbcolli_brief_look(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcolli_brief *b = &run->schedule->brief[op->step];

    if (nbcolli_glance(op, b))
        nbcolli_brief_end(run, op->step, b);
    if (run->looking == op && (op->phase != NBCOLLI_LOOKING || run->comm->departed)) {
        run->looking = NULL;
        run->finals++;
        nbcolli_brief_finals(run);
    }
}

/* 0: the step has not ended yet. */
static inline int nbcolli_brief_step(nbcolli_run *run, const nbcolli_brief *b, nbcoll_step step)
{
    if (b->kind == NBCOLL_RECV) {
        nbcolli_op *op = &run->op[b->op];
        op->phase = NBCOLLI_POSTED;
        if (op->unexpected || nbcolli_is_later(op->pair->seen, op->pair->over))
            nbcolli_brief_receive_slowly(run, op);
        return 0;
    }
    if (b->kind == NBCOLL_SEND) {
        nbcolli_op *op = &run->op[b->op];
        return nbcolli_brief_line(run, op, b) || nbcolli_brief_send_slowly(run, op, b);
    }
    if (b->kind == NBCOLL_COPY)
        nbcolli_brief_copy(nbcolli_brief_at(run, b->to, b->to_at), nbcolli_brief_at(run, b->left, b->left_at),
                           b->bytes);
    else if (b->kind == NBCOLL_REDUCE)
        nbcolli_brief_reduce(run, b, step);
    else if (b->kind == NBCOLL_EXPOSE)
        return nbcolli_brief_expose(&run->op[b->op], b);
    else if (b->kind != NBCOLL_JOIN)
        return nbcolli_brief_fetch(&run->op[b->op], b);
    return 1;
}

void nbcolli_brief_advance(nbcolli_run *run)
{
    nbcolli_ready *ready = &run->lane[NBCOLL_LANE_ANY];
    const nbcolli_brief *steps = run->schedule->brief;

    while (ready->head < ready->tail && run->status == NBCOLL_OK) {
        nbcoll_step step = run->ready[ready->head++];
        if (nbcolli_brief_step(run, &steps[step], step))
            nbcolli_brief_end(run, step, &steps[step]);
    }
    if (run->remaining && run->schedule->finals)
        nbcolli_brief_finals(run);
    if (run->remaining == 0 && run->status == NBCOLL_OK) {
        run->finals = 0;
        nbcolli_brief_finish(run);
    }
}
