/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of brief schedules: see brief.h. */
#include "brief.h"

#include "cells.h"
#include "credit.h"
#include "finish.h"
#include "phase.h"
#include "../2_wire/channel.h"

static inline int nbcolli_brief_line(nbcolli_run *run, nbcolli_op *op, const nbcolli_brief *b)
{
    nbcolli_pair *pair = op->pair;

    if (!nbcolli_channel_is_open(op, pair, run->tag) ||
        !nbcolli_channel_send(op, pair, run->tag, nbcolli_brief_at(run, b->left, b->left_at), b->bytes))
        return 0;
    op->phase = NBCOLLI_SETTLED;
    return 1;
}

/* 0: it goes on by itself. */
static inline int nbcolli_brief_send(nbcolli_run *run, const nbcolli_brief *b)
{
    nbcolli_op *op = &run->op[b->op];

    if (nbcolli_brief_line(run, op, b))
        return 1;
    nbcolli_channel_find(op); /* another run may have opened it */
    if (nbcolli_brief_line(run, op, b))
        return 1;
    run->is_worn = 1;
    nbcolli_send_start(op);
    return 0;
}

static inline void nbcolli_brief_receive(nbcolli_run *run, const nbcolli_brief *b)
{
    nbcolli_op *op = &run->op[b->op];

    op->phase = NBCOLLI_POSTED;
    if (op->unexpected || op->pair->seen != op->pair->over) {
        run->is_worn = 1;
        nbcolli_recv_start(op);
    }
}

static inline void nbcolli_brief_reduce(nbcolli_run *run, const nbcolli_brief *b, nbcoll_step step)
{
    nbcoll_reduction how = run->schedule->step[step].reduction;
    nbcolli_reduce(how, nbcolli_brief_at(run, b->to, b->to_at), nbcolli_brief_at(run, b->left, b->left_at),
                   nbcolli_brief_at(run, b->right, b->right_at), b->bytes / nbcolli_packed_size(how.type));
}

/* The end of an operation that went well, where nothing else is to be looked after. */
static inline void nbcolli_brief_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcoll_context *c = comm->context;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = nbcolli_slot_of(comm, run->tag);

    if (r->creating || r->done || r->detached || slot->failed || comm->queued || c->flags & NBCOLL_ANY_THREAD) {
        nbcolli_run_finish(run);
        return;
    }
    if (comm->area)
        nbcolli_mark_end(comm, run->tag);
    slot->active = NULL;
    run->state = NBCOLLI_RUN_POOLED;
    run->next = run->schedule->idle;
    run->schedule->idle = run;
    /* relaxed: as in nbcolli_operation_over */
    atomic_store_explicit(&comm->ended, atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    comm->active--;
    c->active--;
    r->status = NBCOLL_OK;
    r->run = NULL;
    r->outcome = NBCOLL_OK;
    atomic_store_explicit(&r->state, r->persistent ? NBCOLLI_REQUEST_OVER : NBCOLLI_REQUEST_ENDED,
                          memory_order_release); /* publishes the buffers */
}

void nbcolli_brief_advance(nbcolli_run *run)
{
    nbcolli_ready *ready = &run->lane[NBCOLL_LANE_ANY];

    while (ready->head < ready->tail) {
        nbcoll_step step = run->ready[ready->head];
        const nbcolli_brief *b = &run->schedule->brief[step];
        if (run->status != NBCOLL_OK)
            return;
        ready->head++;
        if (b->kind == NBCOLL_RECV) {
            nbcolli_brief_receive(run, b);
            continue;
        }
        if (b->kind == NBCOLL_SEND && !nbcolli_brief_send(run, b))
            continue;
        if (b->kind == NBCOLL_COPY)
            nbcolli_brief_copy(nbcolli_brief_at(run, b->to, b->to_at), nbcolli_brief_at(run, b->left, b->left_at),
                               b->bytes);
        else if (b->kind == NBCOLL_REDUCE)
            nbcolli_brief_reduce(run, b, step);
        nbcolli_brief_end(run, b);
    }
    if (run->remaining == 0 && run->status == NBCOLL_OK)
        nbcolli_brief_finish(run);
}
