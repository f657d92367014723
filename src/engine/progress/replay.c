/* SPDX-License-Identifier: BSD-3-Clause
 * Replays: see replay.h. */
#include "replay.h"

#include "progress.h"
#include "../wire/control.h"
#include "../exposures/cells.h"
#include "../run/brief.h"
#include "../run/glance.h"
#include "../run/pool.h"
#include "../comm/requests.h"
#include "../match/ask.h"

/* Of one thread; a signal handler sees it around all that is done inside (lock.h). */
static inline void nbcolli_replay_enter(nbcoll_context *c)
{
    atomic_store_explicit(&c->lock, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void nbcolli_replay_leave(nbcoll_context *c)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&c->lock, 0, memory_order_relaxed);
}

/* 0: it cannot go as a line. */
static inline int nbcolli_replay_send(const nbcolli_move *m, uint64_t history)
{
    nbcolli_pair *pair = m->op->pair;

    return m->op->opened == pair->epoch && pair->credits > 0 && pair->stalls == pair->told &&
           nbcolli_channel_send(m->op, pair, history, m->left, m->bytes);
}

static inline nbcolli_replay nbcolli_replay_take(const nbcolli_move *m, uint64_t history)
{
    const nbcolli_op *op = m->op;
    const nbcolli_link *link = op->post.link;

    if (op->opened != op->pair->version)
        return NBCOLLI_REPLAY_STOPS;
    int32_t credits = link->lines.take(link->endpoint, op->post.peer, op->channel - 1, history, m->to, m->bytes);
    if (credits < 0)
        return credits == -1 ? NBCOLLI_REPLAY_WAITS : NBCOLLI_REPLAY_STOPS;
    nbcolli_pair *pair = m->op->pair;
    pair->credits += credits;
    if (++pair->owed > pair->most_owed)
        nbcolli_credits_send(m->op->post.link, m->op->post.peer);
    return NBCOLLI_REPLAY_GOES;
}

/* It waits, or has stopped, at `m`. */
static __attribute__((noinline)) nbcoll_status nbcolli_replay_rests(nbcolli_request *r, const nbcolli_move *m,
                                                                    nbcolli_replay how)
{
    r->kept->at = m;
    nbcolli_replay_leave(r->context);
    return how == NBCOLLI_REPLAY_WAITS ? NBCOLL_AGAIN : NBCOLL_PENDING;
}

static inline void nbcolli_replay_over(const nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;

    nbcolli_mark_end(comm, nbcolli_slot_of(comm, r->tag), r->tag);
    /* relaxed: as in nbcolli_operation_over */
    atomic_store_explicit(&comm->ended, atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static int nbcolli_is_final(const nbcoll_schedule *s, nbcoll_step step)
{
    return s->brief[step].kind == NBCOLL_FETCH && !s->brief[step].after_count && !s->before[step];
}

/* Sets the run to where the replay has brought it, as the general way would have. */
static __attribute__((noinline)) void nbcolli_replay_unfold(nbcoll_context *c, nbcolli_request *r)
{
    nbcolli_run *run = r->kept;
    const nbcoll_schedule *s = run->schedule;
    nbcolli_ready *ready = &run->lane[NBCOLL_LANE_ANY];

    c->replaying = NULL;
    run->comm->active++;
    c->active++;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* of one thread */
    r->run = run;
    if (run->is_worn)
        nbcolli_run_restore(run);
    else
        nbcolli_run_rewind(run);
    nbcolli_run_begin(run, r);
    run->cells = run->parts = 0;
    for (const nbcolli_move *m = run->move; m != run->at; m++) {
        if (m->op)
            m->op->phase = NBCOLLI_SETTLED;
        run->cells += m->kind == NBCOLL_EXPOSE ? s->brief[m->step].cells : 0;
        run->finals += nbcolli_is_final(s, m->step);
        nbcolli_brief_end(run, m->step, &s->brief[m->step]);
    }
    ready->head = ready->tail = 0;
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++)
        if (run->before[i] == 0 && !nbcolli_is_final(s, i))
            run->ready[ready->tail++] = i;
    run->state = NBCOLLI_RUN_ACTIVE;
    nbcolli_slot_of(run->comm, run->tag)->active = run;
    c->bytes_left = NBCOLL_PASS_BYTES;
    nbcolli_brief_advance(run);
    nbcolli_drain(c);
}

/* A start that waits at `m`, or cannot go on there. */
static inline nbcoll_status nbcolli_replay_begins(nbcolli_request *r, const nbcolli_move *m, nbcolli_replay how)
{
    r->kept->at = m;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* of one thread */
    r->context->replaying = r;
    if (how == NBCOLLI_REPLAY_STOPS)
        nbcolli_replay_unfold(r->context, r);
    nbcolli_replay_leave(r->context);
    return NBCOLL_OK;
}

void nbcolli_replay_give_way(nbcoll_context *c)
{
    nbcolli_replay_enter(c);
    nbcolli_replay_unfold(c, c->replaying);
}

nbcoll_status nbcolli_replay_start(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    uint64_t tag = comm->next_tag;
    const nbcolli_move *m = r->kept->move;

    nbcolli_replay_enter(r->context);
    comm->next_tag = comm->taken = tag + 1;
    r->tag = tag;
    r->history = comm->history;
    comm->history = nbcolli_history_after(r->history, r->schedule->raised);
    nbcolli_note_started(comm, tag, comm->history);
    for (;; m++)
        if (m->kind == NBCOLL_SEND) {
            if (!nbcolli_replay_send(m, r->history))
                return nbcolli_replay_begins(r, m, NBCOLLI_REPLAY_STOPS);
        } else if (m->kind == NBCOLL_RECV)
            return nbcolli_replay_begins(r, m, NBCOLLI_REPLAY_WAITS);
        else if (m->kind == NBCOLL_JOIN)
            break;
        else if (m->kind == NBCOLL_REDUCE)
            m->combines(m->to, m->left, m->right, m->bytes);
        else if (m->kind == NBCOLL_COPY)
            nbcolli_brief_copy(m->to, m->left, m->bytes);
        else {
            nbcolli_replay how = nbcolli_glance_start(r, m);
            if (how != NBCOLLI_REPLAY_GOES)
                return nbcolli_replay_begins(r, m, how);
        }
    nbcolli_replay_over(r);
    nbcolli_list_end(r->context, r);
    r->status = r->outcome = NBCOLL_OK;
    atomic_store_explicit(&r->state, nbcolli_ended_state(r), memory_order_release); /* publishes the buffers */
    nbcolli_replay_leave(r->context);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_restart(nbcoll_start_block *at)
{
    nbcolli_request *r = (nbcolli_request *)at;
    return nbcolli_can_replay(r->context, r->comm) ? nbcolli_replay_start(r) : NBCOLL_AGAIN;
}

static __attribute__((noinline)) void nbcolli_replay_pass(nbcoll_context *c)
{
    c->till_pass = NBCOLLI_REPLAY_PASSES;
    nbcolli_pass(c);
}

nbcoll_status nbcolli_replay_look(nbcolli_request *r)
{
    const nbcolli_move *m = r->kept->at;
    nbcolli_replay how;

    nbcolli_replay_enter(r->context);
    for (;; m++)
        if (m->kind == NBCOLL_RECV) {
            if ((how = nbcolli_replay_take(m, r->history)) != NBCOLLI_REPLAY_GOES)
                return nbcolli_replay_rests(r, m, how);
        } else if (m->kind == NBCOLL_JOIN)
            break;
        else if (m->kind == NBCOLL_SEND) {
            if (!nbcolli_replay_send(m, r->history))
                return nbcolli_replay_rests(r, m, NBCOLLI_REPLAY_STOPS);
        } else if (m->kind == NBCOLL_REDUCE)
            m->combines(m->to, m->left, m->right, m->bytes);
        else if (m->kind == NBCOLL_COPY)
            nbcolli_brief_copy(m->to, m->left, m->bytes);
        else {
            how = nbcolli_glance_replay(r, m);
            if (how != NBCOLLI_REPLAY_GOES)
                return nbcolli_replay_rests(r, r->kept->at, how);
            m = r->kept->at - 1;
        }
    nbcolli_replay_over(r);
    r->context->replaying = NULL;
    if (--r->context->till_pass == 0)
        nbcolli_replay_pass(r->context);
    nbcolli_replay_leave(r->context);
    return NBCOLL_OK;
}
